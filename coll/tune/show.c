// SPDX-License-Identifier: LGPL-2.1-or-later
/* show - a row as soon as a size is done: launchers hand on lines, and no terminal */
#include <stdio.h>

#include "tune.h"

static const char *say_bytes(size_t bytes, char text[24])
{
	const int shift = bytes >= 1 << 20 && bytes % (1 << 20) == 0 ? 20 :
			  bytes >= 1 << 10 && bytes % (1 << 10) == 0 ? 10 : 0;
	const char *const units[] = { "B", "KiB", "MiB" };

	snprintf(text, 24, "%zu %s", bytes >> shift, units[shift / 10]);
	return text;
}

void tune_show_head(const struct tune *t)
{
	const struct coll_plan *plan = t->plan;

	printf("%d ranks on %d node%s", t->size, plan->nnodes, plan->nnodes > 1 ? "s" : "");
	if (plan->nnodes > 1)
		printf(" (up to %d each, %s)", plan->most, coll_mapping_name(plan->mapping));
	printf(", %d compositions, %g s\n", t->ncandidates, t->options.budget_s);
	if (plan->nnodes == 1)
		printf("One node: there is no network to measure.\n");
	fflush(stdout);
}

static void show_row(const char *what, const struct tune_point *p)
{
	printf("%10s %11.2f %11.2f %11.2f %7.2f  %s%s\n", what, p->us_mpi, p->us_usual, p->us,
	       p->ratio_mpi, p->best, p->is_usual ? " (usual)" : "");
	fflush(stdout);
}

void tune_show_point(const struct tune *t, const struct tune_point *p)
{
	char bytes[24];

	if (p == t->points || p->is_in_place != p[-1].is_in_place)
		printf("\n%s\n%10s %11s %11s %11s %7s  %s\n", p->is_in_place ? "In place" :
		       "Blocks, microseconds a call", "bytes", "MPI", "usual", "best", "of MPI",
		       "best");
	show_row(say_bytes(p->bytes, bytes), p);
}

void tune_show_v(const struct tune *t)
{
	const struct tune_mix *mix = &t->mix;
	char from[24], to[24];

	printf("\nMPI_Alltoallv, blocks of %s to %s in the mean, microseconds for %d calls\n"
	       "%10s %11s %11s %11s %7s  %s\n", say_bytes(mix->sizes[0], from),
	       say_bytes(mix->sizes[mix->n - 1], to), tune_count_mix(t), "", "MPI", "usual", "best",
	       "of MPI", "best");
	show_row("mixed", &t->v);
}

static void show_class(const struct tune_network *net)
{
	static const char *const classes[COLL_NICS] = {
		[COLL_NIC_UNKNOWN] = "which does not tell its class",
		[COLL_NIC_ONLOAD] = "as where ranks move bytes themselves",
		[COLL_NIC_HYBRID] = "as where the adapter keeps up with several ranks",
		[COLL_NIC_OFFLOAD] = "as where the adapter does it all, and ranks queue up",
	};

	if (net->npairs < 2) {
		printf("One rank on a node: the class of the network cannot be told.\n");
		return;
	}
	printf("%d pairs have %.2f times the bandwidth of one, %s: %s\n",
	       net->pairs[net->npairs - 1], net->bandwidths, net->is_crowded ?
	       "which says little where ranks share processors" : classes[net->is.nic],
	       coll_nic_name(net->is.nic));
	printf("Handing out costs %.2f times what collecting does: %s\n", net->copies,
	       coll_distribution_name(net->is.distribution));
}

void tune_show_network(const struct tune *t)
{
	const struct tune_network *net = &t->network;
	char bytes[24];

	printf("\nNetwork, MB/s of pairs of ranks in both directions; copies, microseconds\n"
	       "%10s", "bytes");
	for (int p = 0; p < net->npairs; p++)
		printf(" %5d pair%s", net->pairs[p], net->pairs[p] > 1 ? "s" : " ");
	printf(" %11s %11s\n", "collect", "hand out");
	for (int s = 0; s < net->nsizes; s++) {
		printf("%10s", say_bytes(net->sizes[s], bytes));
		for (int p = 0; p < net->npairs; p++)
			printf(" %11.1f", net->mbs[s][p]);
		if (net->collect_us[s] > 0)
			printf(" %11.2f %11.2f", net->collect_us[s], net->hand_out_us[s]);
		putchar('\n');
	}
	show_class(net);
	fflush(stdout);
}

static void show_kind(const struct tune *t, int is_in_place)
{
	struct tune_rule rules[TUNE_CLASSES];
	int n = tune_make_rules_of(t->points, t->npoints, is_in_place, rules);
	char from[24], to[24];

	for (int i = 0; i < n; i++)
		printf("  %10s to %8s%s  %-22s %s\n", say_bytes(rules[i].from, from),
		       say_bytes(rules[i].to, to), is_in_place ? ", in place" : "", rules[i].name,
		       rules[i].why);
}

void tune_show_rules(const struct tune *t)
{
	struct tune_rule v;

	printf("\nRules\n");
	show_kind(t, 0);
	show_kind(t, 1);
	tune_make_rules(&t->v, 1, &v);
	printf("  %-22s  %-22s %s\n", "MPI_Alltoallv", v.name, v.why);
}
