// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * memory-print - bandwidth, contention and latency under load, as text
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "memory.h"

/* Pairs that are named one by one. */
#define NAMED_MOST	12

char *describe_gbs(char buf[TEXT_LEN], double bytes_s)
{
	if (bytes_s > 0)
		snprintf(buf, TEXT_LEN, "%.*f", bytes_s < 9.95e9 ? 2 : 1, bytes_s / 1e9);
	else
		snprintf(buf, TEXT_LEN, "-");
	return buf;
}

const char *describe_class_kind(const struct sonde_memory_class *c)
{
	return c->has_overhead ? "overhead" : "no overhead";
}

void describe_class_ratio(const struct sonde_memory_class *c, char *buf, size_t len)
{
	if (c->npairs > 1)
		snprintf(buf, len, "%.2f (%.2f to %.2f)", c->ratio, c->ratio_low, c->ratio_high);
	else
		snprintf(buf, len, "%.2f", c->ratio);
}

char *describe_class_pairs(const struct sonde_memory_report *r, size_t class)
{
	char *text = NULL;
	size_t len, n = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	for (size_t i = 0; i < r->npairs; i++) {
		const struct sonde_memory_pair *p = &r->pairs[i];

		if (p->group == (int)class && n++ < NAMED_MOST)
			fprintf(out, "%s%u+%u", n > 1 ? " " : "", p->cpu[0], p->cpu[1]);
	}
	if (n > NAMED_MOST)
		fprintf(out, " ... (%zu measured)", n);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int is_same_memory(const struct sonde_memory_reference *a,
			  const struct sonde_memory_reference *b)
{
	return a->node == b->node && a->pages == b->pages;
}

/* A row for each kind of memory; what there is of it follows each other. */
static void print_references(const struct sonde_memory_report *r)
{
	char node[16], gbs[TEXT_LEN];

	printf("CPU %u by itself, GB/s\n\n  node  pages", r->cpus[0]);
	for (int k = 0; k < SONDE_STREAMS; k++)
		printf("  %8s", sonde_stream_name((enum sonde_stream)k));
	for (size_t i = 0; i < r->nreferences; i++) {
		const struct sonde_memory_reference *first = &r->references[i];
		double rates[SONDE_STREAMS] = { 0 };

		snprintf(node, sizeof(node), "%d", first->node);
		for (; i < r->nreferences && is_same_memory(first, &r->references[i]); i++)
			rates[r->references[i].kind] = r->references[i].rate.bytes_s;
		i--;
		printf("\n  %-4s  %-5s", first->node < 0 ? "own" : node,
		       first->pages == SONDE_PAGES_HUGE ? "huge" : "base");
		for (int k = 0; k < SONDE_STREAMS; k++)
			printf("  %8s", describe_gbs(gbs, rates[k]));
	}
	putchar('\n');
}

static int print_classes(const struct sonde_memory_report *r)
{
	char ratio[TEXT_LEN], *pairs;

	puts("\nTwo CPUs that copy at the same time: what each gets of what it gets alone\n\n"
	     "  class  gets                               CPUs");
	for (size_t c = 0; c < r->nclasses; c++) {
		describe_class_ratio(&r->classes[c], ratio, sizeof(ratio));
		pairs = describe_class_pairs(r, c);
		if (!pairs)
			return -ENOMEM;
		printf("  %-5zu  %-20s  %-11s  %s\n", c, ratio, describe_class_kind(&r->classes[c]),
		       pairs);
		free(pairs);
	}
	if (!r->nclasses)
		puts("  cannot be told here: no two were proven to run at the same time");
	return 0;
}

static int print_curve(const char *name, const struct sonde_memory_curve *curve)
{
	char *cpus, gbs[TEXT_LEN];

	if (!curve->npoints)
		return 0;
	cpus = text_cpus(curve->cpus, curve->ncpus);
	if (!cpus)
		return -ENOMEM;
	printf("\n  %s (CPUs %s)\n    cores", name, cpus);
	free(cpus);
	for (size_t i = 0; i < curve->npoints; i++)
		printf("  %6u", curve->cores[i]);
	printf("\n    GB/s ");
	for (size_t i = 0; i < curve->npoints; i++)
		printf("  %6s", describe_gbs(gbs, curve->rate[i].bytes_s));
	putchar('\n');
	return 0;
}

static int print_curves(const struct sonde_memory_report *r)
{
	char name[32];
	int err = 0;

	puts("\nWhat cores copy together");
	for (size_t c = 0; c < r->nclasses && !err; c++) {
		snprintf(name, sizeof(name), "class %zu", c);
		err = print_curve(name, &r->classes[c].curve);
	}
	return err ? err : print_curve("all", &r->all);
}

static void print_loads(const struct sonde_memory_report *r)
{
	char gbs[TEXT_LEN], ns[TEXT_LEN];

	printf("\nLatency of a load of CPU %u (%s pages) while the others read\n\n"
	       "  GB/s    latency\n", r->cpus[0],
	       r->load_pages == SONDE_PAGES_HUGE ? "huge" : "base");
	for (size_t i = 0; i < r->nloads; i++)
		printf("  %-6s  %s\n", r->loads[i].bytes_s > 0
		       ? describe_gbs(gbs, r->loads[i].bytes_s) : "0",
		       text_ns(ns, r->loads[i].latency_ns));
}

int print_memory(const struct machine *m)
{
	const struct sonde_memory_report *r = m->memory;
	char size[TEXT_LEN], *cpus = text_cpus(r->cpus, r->ncpus);
	int err = 0;

	if (!cpus)
		return -ENOMEM;
	printf("Memory seen from CPUs %s (%s): loops with %s, %s for each CPU\n\n", cpus,
	       sonde_topology_cpu_model(m->topo), r->vectors, text_size(size, r->buffer_bytes));
	free(cpus);
	print_references(r);
	if (r->ncpus > 1) {
		err = print_classes(r);
		if (!err)
			err = print_curves(r);
	}
	if (!err)
		print_loads(r);
	for (size_t i = 0; i < r->nnotes && !err; i++)
		printf("%snote: %s\n", i ? "" : "\n", r->notes[i]);
	return err;
}

int show_memory(const struct machine *m, int json)
{
	if (json) {
		sonde_profile_dump(m->profile, stdout);
	} else if (print_memory(m)) {
		cli_error("not enough memory for the table");
		return CLI_FAILED;
	}
	return CLI_DONE;
}
