// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sharing - who shares which cache: measure it, and say it in words
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/servet.h>
#include "describe.h"
#include "sharing.h"
#include "text.h"

/* Groups that are named one by one. */
#define NAMED_MOST	8

static int watch_probe(void *ctx, double done, const char *what)
{
	(void)ctx;
	cli_progress(done, what);
	return cli_stop_requested();
}

static int refuse(int err)
{
	switch (err) {
	case -ENODATA:
		return CLI_CANNOT_MEASURE;
	case -ENOMEM:
		cli_error("not enough memory to compare CPUs; raise the limit (ulimit -v, the "
			  "cgroup's memory.max)");
		return CLI_FAILED;
	case -EPERM:
		cli_error("may not run on all of these CPUs any more");
		return CLI_FAILED;
	default:
		cli_error("cannot compare CPUs: %s", strerror(-err));
		return CLI_FAILED;
	}
}

int machine_keep_sharing(struct machine *m)
{
	if (!sonde_profile_set_sharing(m->profile, m->sharing, m->topo))
		return CLI_DONE;
	cli_error("not enough memory for the profile");
	return CLI_FAILED;
}

int machine_measure_sharing(struct machine *m, const struct measure_options *options,
			    const unsigned int *cpus, size_t ncpus, int all_pairs)
{
	struct sonde_share_options how = {
		.cpus = cpus,
		.ncpus = ncpus,
		.meter = options->meter,
		.caches = m->caches,
		.max_bytes = options->max_bytes,
		.seed = options->seed,
		.all_pairs = all_pairs,
		.progress = watch_probe,
		.recorder = m->recorder,
	};
	int err = (options->method == METHOD_SERVET ? sonde_servet_share : sonde_probe_share)(
		m->clk, &how, &m->sharing);

	cli_progress_end();
	if (cli_stop_requested())
		return CLI_FAILED;
	if (err)
		return refuse(err);
	return machine_keep_sharing(m);
}

static void add(char *buf, size_t len, const char *text)
{
	size_t at = strlen(buf);

	snprintf(buf + at, len - at, "%s", text);
}

static void describe_groups(const struct sonde_share_level *level, char *buf, size_t len)
{
	size_t nprivate = 0, nunknown = 0;
	char more[64];

	for (size_t i = 0; i < level->ngroups; i++) {
		nprivate += level->groups[i].verdict == SONDE_SHARE_NO;
		nunknown += level->groups[i].verdict == SONDE_SHARE_UNKNOWN;
	}
	*buf = '\0';
	if (nprivate && nprivate == level->ngroups) {
		add(buf, len, "each CPU its own");
		return;
	}
	if (nunknown)
		add(buf, len, nunknown == level->ngroups ? "cannot be told: "
							 : "cannot be told of those with a ?: ");
	for (size_t i = 0; i < level->ngroups && i < NAMED_MOST; i++) {
		add(buf, len, i ? " | " : "");
		add(buf, len, level->groups[i].cpus);
		if (level->groups[i].verdict == SONDE_SHARE_UNKNOWN && nunknown < level->ngroups)
			add(buf, len, "?");
	}
	if (level->ngroups > NAMED_MOST) {
		snprintf(more, sizeof(more), " | ... (%zu groups)", level->ngroups);
		add(buf, len, more);
	}
}

static void describe_trust(const struct sonde_share_level *level, struct sharing_row *row)
{
	double confidence = 1, discarded = 0;
	unsigned int samples = 0;

	for (size_t i = 0; i < level->ngroups; i++) {
		const struct sonde_share_group *g = &level->groups[i];

		if (g->confidence < confidence)
			confidence = g->confidence;
		discarded += g->discarded / (double)level->ngroups;
		samples += g->samples;
	}
	if (!(confidence > 0) || !level->ngroups)
		return;
	snprintf(row->confidence, sizeof(row->confidence), "%.2f", confidence);
	snprintf(row->samples, sizeof(row->samples), "%u", samples);
	snprintf(row->discarded, sizeof(row->discarded), "%.1f %%", 100 * discarded);
}

static int describe_row(const struct machine *m, const struct sonde_share_level *level,
			struct sharing_row *row)
{
	struct sonde_share_level claimed = { .level = level->level };
	int err = sonde_share_claimed(m->sharing, m->topo, level->level, &claimed);

	if (err && err != -ENODATA)
		return err;
	snprintf(row->level, sizeof(row->level), "L%u", level->level);
	describe_groups(level, row->measured, sizeof(row->measured));
	describe_trust(level, row);
	describe_groups(&claimed, row->claimed, sizeof(row->claimed));
	row->agrees = sonde_share_agrees(level, &claimed);
	sonde_share_level_clear(&claimed);
	return 0;
}

/* Levels that are only claimed follow those that were measured. */
int describe_sharing(const struct machine *m, struct sharing_row **out)
{
	size_t measured = m->sharing->nlevels, n = find_deepest(m);
	struct sharing_row *rows;
	int err;

	n = n > measured ? n : measured;
	rows = calloc(n + 1, sizeof(*rows));
	err = rows ? 0 : -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct sonde_share_level none = { .level = (unsigned int)i + 1 };

		err = describe_row(m, i < measured ? &m->sharing->levels[i] : &none, &rows[i]);
		if (i >= measured && !err)
			snprintf(rows[i].measured, sizeof(rows[i].measured), "not seen here");
	}
	if (err) {
		free(rows);
		return err;
	}
	*out = rows;
	return (int)n;
}

const char *name_agreement(const struct sharing_row *row)
{
	if (!*row->claimed)
		return "";
	return row->agrees < 0 ? "not comparable" : row->agrees ? "agrees" : "DISAGREES";
}

int describe_sharing_disagreement(const struct sharing_row *row, char *buf, size_t len)
{
	if (row->agrees)
		return 0;
	snprintf(buf, len, "%s: measured: %s; but the machine claims: %s", row->level,
		 row->measured, row->claimed);
	return 1;
}

static void print_table(const struct sharing_row *rows, int n)
{
	int measured = (int)strlen("shared by"), claimed = (int)strlen("claimed by hwloc");

	for (int i = 0; i < n; i++) {
		if ((int)strlen(rows[i].measured) > measured)
			measured = (int)strlen(rows[i].measured);
		if ((int)strlen(rows[i].claimed) > claimed)
			claimed = (int)strlen(rows[i].claimed);
	}
	printf("  level  %-*s  confidence  samples  discarded  claimed by hwloc\n", measured,
	       "shared by");
	for (int i = 0; i < n; i++) {
		printf("  %-5s  %-*s  %10s  %7s  %9s", rows[i].level, measured,
		       rows[i].measured, rows[i].confidence, rows[i].samples,
		       rows[i].discarded);
		if (*rows[i].claimed)
			printf("  %-*s  %s", claimed, rows[i].claimed, name_agreement(&rows[i]));
		putchar('\n');
	}
}

int print_sharing(const struct machine *m)
{
	const struct sonde_share_report *r = m->sharing;
	char text[3 * SHARING_LEN], *cpus = text_cpus(r->cpus, r->ncpus);
	struct sharing_row *rows;
	int n = cpus ? describe_sharing(m, &rows) : -ENOMEM, any = 0;

	if (n < 0) {
		free(cpus);
		return n;
	}
	printf("Caches shared by CPUs %s (%s): %zu comparisons of two, %zu of more\n\n", cpus,
	       sonde_topology_cpu_model(m->topo), r->npairs, r->pooled);
	free(cpus);
	for (int i = 0; i < n; i++) {
		if (!describe_sharing_disagreement(&rows[i], text, sizeof(text)))
			continue;
		printf("! %s\n", text);
		any = 1;
	}
	if (any)
		putchar('\n');
	print_table(rows, n);
	free(rows);
	for (size_t i = 0; i < r->nnotes; i++)
		printf("%snote: %s\n", i ? "" : "\n", r->notes[i]);
	return 0;
}

static void print_nearest(const struct sonde_share_report *r)
{
	printf("\nNearest common cache\n\n      ");
	for (size_t b = 0; b < r->ncpus; b++)
		printf(" %4u", r->cpus[b]);
	putchar('\n');
	for (size_t a = 0; a < r->ncpus; a++) {
		printf("  %4u", r->cpus[a]);
		for (size_t b = 0; b < r->ncpus; b++) {
			int level = sonde_share_nearest(r, r->cpus[a], r->cpus[b]);
			char cell[16] = "none";

			if (a == b)
				snprintf(cell, sizeof(cell), "-");
			else if (level)
				snprintf(cell, sizeof(cell), level < 0 ? "?" : "L%d", level);
			printf(" %4s", cell);
		}
		putchar('\n');
	}
}

void print_sharing_matrix(const struct sonde_share_report *r)
{
	print_nearest(r);
	printf("\nA load of a line, in cycles of the reader\n\n"
	       "  level   CPUs        first    again   beyond  contention  samples  shared\n");
	for (size_t i = 0; i < r->npairs; i++) {
		const struct sonde_share_pair *p = &r->pairs[i];
		char contention[16] = "-";

		if (p->contention > 0)
			snprintf(contention, sizeof(contention), "%.2f", p->contention);
		printf("  L%-5u  %4u %-4u %8.1f %8.1f %8.1f  %10s  %7u  %s\n", p->level,
		       p->cpu[0], p->cpu[1], p->first_cycles, p->again_cycles, p->beyond_cycles,
		       contention, p->samples, p->verdict == SONDE_SHARE_YES ? "yes" :
		       p->verdict == SONDE_SHARE_NO ? "no" : "cannot be told");
	}
}
