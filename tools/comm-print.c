// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * comm-print - latencies, layers and what messages cost, as text
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "comm.h"

/* A matrix of more places is for pictures and programs. */
#define MATRIX_MOST	16
/* Groups that are named one by one. */
#define GROUPS_MOST	12

void describe_place(const struct sonde_comm_place *p, char *buf, size_t len)
{
	if (p->rank >= 0)
		snprintf(buf, len, "rank %d", p->rank);
	else
		snprintf(buf, len, "CPU %d", p->cpu);
}

void describe_comm_method(const struct sonde_comm_matrix *m, char *buf, size_t len)
{
	char size[TEXT_LEN];
	const char *name = sonde_comm_method_name(m->method);

	if (m->bytes)
		snprintf(buf, len, "%s%s%s, %s", name, *m->via ? " by " : "", m->via,
			 text_size(size, m->bytes));
	else
		snprintf(buf, len, "%s", name);
}

static const char *explain(enum sonde_comm_method method)
{
	static const char *const texts[SONDE_COMM_METHODS] = {
		[SONDE_COMM_LINE] = "a load of a line that the other one has just stored to",
		[SONDE_COMM_FLAG] = "half a round trip of one word",
		[SONDE_COMM_SHM] = "half a round trip, copied into shared memory and out of it",
		[SONDE_COMM_COPY] = "half a round trip, copied once from the other's memory",
		[SONDE_COMM_MPI] = "half a round trip of a message",
	};

	return texts[method];
}

static int get_number(const struct sonde_comm_place *p)
{
	return p->rank >= 0 ? p->rank : p->cpu;
}

/* Numbers of the places of a group; to be freed. NULL for want of memory. */
static char *list_group(const struct sonde_comm_report *r, const struct sonde_comm_layer *l,
			size_t group)
{
	unsigned int *numbers = calloc(r->nplaces, sizeof(*numbers));
	char *text = NULL;
	size_t n = 0;

	if (!numbers)
		return NULL;
	for (size_t i = 0; i < r->nplaces; i++)
		if (l->group[i] == group)
			numbers[n++] = (unsigned int)get_number(&r->places[i]);
	/* They ascend, as places do. */
	text = text_cpus(numbers, n);
	free(numbers);
	return text;
}

/* "0-3 | 4-7", to be freed; NULL for want of memory. */
static char *list_groups(const struct sonde_comm_report *r, const struct sonde_comm_layer *l)
{
	char *text = NULL, *group;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int err = !out;

	for (size_t g = 0; g < l->ngroups && g < GROUPS_MOST && !err; g++) {
		group = list_group(r, l, g);
		err = !group;
		if (group)
			fprintf(out, "%s%s", g ? " | " : "", group);
		free(group);
	}
	if (out && l->ngroups > GROUPS_MOST)
		fprintf(out, " | ... (%zu groups)", l->ngroups);
	if (out)
		err |= fclose(out) != 0;
	if (!err)
		return text;
	free(text);
	return NULL;
}

static void print_matrix(const struct sonde_comm_report *r, const struct sonde_comm_matrix *m)
{
	const size_t n = r->nplaces;
	char time[TEXT_LEN];

	if (n > MATRIX_MOST || n < 3)
		return;
	printf("\n%10s", "");
	for (size_t b = 0; b < n; b++)
		printf("  %7d", get_number(&r->places[b]));
	for (size_t a = 0; a < n; a++) {
		printf("\n  %8d", get_number(&r->places[a]));
		for (size_t b = 0; b < n; b++)
			printf("  %7s", a == b ? "" : text_time(time, m->ns[a * n + b]));
	}
	putchar('\n');
}

static int print_layers(const struct sonde_comm_report *r, const struct sonde_comm_matrix *m)
{
	char time[TEXT_LEN], low[TEXT_LEN], high[TEXT_LEN], range[3 * TEXT_LEN], *groups;

	if (!m->nlayers) {
		puts("\n  cannot be told here: the CPUs are too busy");
		return 0;
	}
	printf("\n  layer  latency   of its pairs            pairs  groups\n");
	for (size_t i = 0; i < m->nlayers; i++) {
		const struct sonde_comm_layer *l = &m->layers[i];

		groups = list_groups(r, l);
		if (!groups)
			return -ENOMEM;
		if (l->nmeasured > 1)
			snprintf(range, sizeof(range), "%s to %s", text_time(low, l->ns_low),
				 text_time(high, l->ns_high));
		else
			snprintf(range, sizeof(range), "-");
		printf("  %-5zu  %-8s  %-22s  %5zu  %s\n", i, text_time(time, l->ns), range,
		       l->npairs, groups);
		free(groups);
	}
	return 0;
}

static void print_points(const struct sonde_comm_layer *l)
{
	char half[TEXT_LEN], gap[TEXT_LEN], send[TEXT_LEN], receive[TEXT_LEN], size[TEXT_LEN];
	char rate[TEXT_LEN];

	puts("       bytes     latency         gap        send     receive      MB/s");
	for (size_t i = 0; i < l->npoints; i++) {
		const struct sonde_comm_point *p = &l->points[i];

		/* Sizes between powers of two are for the fit. */
		if (p->bytes & (p->bytes - 1))
			continue;
		snprintf(rate, sizeof(rate), p->gap_ns > 0 ? "%.1f" : "-",
			 (double)p->bytes / p->gap_ns * 1e3);
		printf("  %10s  %10s  %10s  %10s  %10s  %8s\n", text_size(size, p->bytes),
		       text_time(half, p->ns), text_time(gap, p->gap_ns),
		       text_time(send, p->send_ns), text_time(receive, p->receive_ns), rate);
	}
}

static void print_loggp(const struct sonde_loggp *l)
{
	char a[TEXT_LEN], b[TEXT_LEN], c[TEXT_LEN], from[TEXT_LEN], to[TEXT_LEN];

	printf("  LogGP: L %s, o of the sender %s, of the receiver %s%s%s%s\n",
	       text_time(a, l->latency_ns), text_time(b, l->send_ns),
	       text_time(c, l->receive_ns), *l->why ? " (" : "", l->why, *l->why ? ")" : "");
	for (size_t i = 0; i < l->nsegments; i++) {
		const struct sonde_loggp_segment *s = &l->segments[i];

		printf("    %s to %s: g %s, G %.4g ns; half a round trip %s + %.4g ns a byte "
		       "(%.0f %% off)\n", text_size(from, (uint64_t)s->from_bytes),
		       text_size(to, (uint64_t)s->to_bytes),
		       s->gap_ns >= 0 ? text_time(a, s->gap_ns) : "-", s->byte_ns,
		       text_time(b, s->start_ns), s->per_byte_ns, 100 * s->error);
	}
}

static void print_loads(const struct sonde_comm_layer *l)
{
	if (!l->nloads)
		return;
	printf("  pairs at the same time, what each gets of what it gets alone:");
	for (size_t i = 0; i < l->nloads; i++)
		printf("%s %u: %.2f", i ? "," : "", l->loads[i].pairs, l->loads[i].ratio);
	putchar('\n');
}

static void print_curves(const struct sonde_comm_report *r, const struct sonde_comm_matrix *m)
{
	char a[TEXT_LEN], b[TEXT_LEN];

	for (size_t i = 0; i < m->nlayers; i++) {
		const struct sonde_comm_layer *l = &m->layers[i];

		if (!l->npoints && !l->nloads)
			continue;
		describe_place(&r->places[l->pair[0]], a, sizeof(a));
		describe_place(&r->places[l->pair[1]], b, sizeof(b));
		printf("\n  Layer %zu, %s and %s\n", i, a, b);
		if (l->npoints)
			print_points(l);
		if (l->loggp.nsegments)
			print_loggp(&l->loggp);
		print_loads(l);
	}
}

static void print_head(const struct sonde_comm_report *r)
{
	const int is_job = r->places[0].rank >= 0;
	unsigned int nodes = 0;

	for (size_t i = 0; i < r->nplaces; i++)
		if (r->places[i].node >= nodes)
			nodes = r->places[i].node + 1;
	if (is_job)
		printf("Communication between %zu ranks on %u %s\n", r->nplaces, nodes,
		       nodes == 1 ? "node" : "nodes");
	else
		printf("Communication between %zu CPUs\n", r->nplaces);
}

int print_comm(const struct sonde_comm_report *r, int has_curves)
{
	char name[2 * TEXT_LEN + 64];
	int err = 0;

	print_head(r);
	for (size_t i = 0; i < r->nmatrices && !err; i++) {
		describe_comm_method(&r->matrices[i], name, sizeof(name));
		printf("\n%s: %s\n", name, explain(r->matrices[i].method));
		print_matrix(r, &r->matrices[i]);
		err = print_layers(r, &r->matrices[i]);
		if (!err && has_curves)
			print_curves(r, &r->matrices[i]);
	}
	for (size_t i = 0; i < r->nnotes && !err; i++)
		printf("%snote: %s\n", i ? "" : "\n", r->notes[i]);
	return err;
}
