// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * print - results on standard output, as a person reads them
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "claims.h"
#include "text.h"
#include "describe.h"

#define NCOLUMNS 8

static const char *const headings[NCOLUMNS] = {
	"level", "measured", "latency", "", "confidence", "claimed", "by", "",
};

/* Latencies are compared, so they are set against the right. */
static const int is_right[NCOLUMNS] = { 0, 0, 1, 1, 0, 0, 0, 0 };

static const char *get_cell(const struct cache_row *row, int column)
{
	const char *const cells[NCOLUMNS] = {
		row->level, row->measured, row->ns, row->cycles,
		row->confidence, row->claimed, row->by, row->claim_verdict,
	};

	return cells[column];
}

static void measure_columns(const struct cache_row *rows, int n, int widths[NCOLUMNS])
{
	for (int c = 0; c < NCOLUMNS; c++) {
		widths[c] = (int)strlen(headings[c]);
		for (int i = 0; i < n; i++) {
			int width = (int)strlen(get_cell(&rows[i], c));

			if (width > widths[c])
				widths[c] = width;
		}
	}
}

/* No blanks at a line's end: they are copied into mails and diffs. */
static void print_row(const struct cache_row *row, const int widths[NCOLUMNS])
{
	int pending = 0;

	for (int c = 0; c < NCOLUMNS; c++) {
		const char *cell = row ? get_cell(row, c) : headings[c];
		int blanks = widths[c] - (int)strlen(cell);

		pending += 2;
		if (is_right[c]) {
			pending += blanks;
			blanks = 0;
		}
		if (*cell) {
			printf("%*s%s", pending, "", cell);
			pending = 0;
		}
		pending += blanks;
	}
	putchar('\n');
}

static void print_tlb(const struct machine *m)
{
	const struct sonde_cache_report *caches = m->caches;
	char text[CELL_LEN];

	for (size_t i = 0; i < caches->ntlb; i++)
		printf("%s %s\n", i ? "                    " : "\nAddress translation:",
		       describe_tlb_step(m, &caches->tlb[i], text, sizeof(text)));
}

static void print_notes(const struct sonde_cache_report *caches)
{
	for (size_t i = 0; i < caches->nnotes; i++)
		printf("%snote: %s\n", i ? "" : "\n", caches->notes[i]);
}

static int print_headlines(const struct machine *m)
{
	struct headline *headlines;
	int n = find_headlines(m, &headlines);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++)
		printf("! %s\n", headlines[i].text);
	if (n)
		putchar('\n');
	free(headlines);
	return 0;
}

int print_caches(const struct machine *m)
{
	struct cache_row *rows;
	int widths[NCOLUMNS];
	int n = describe_caches(m, &rows), err;
	char hz[TEXT_LEN];

	if (n < 0)
		return n;
	printf("Caches of CPU %u (%s)", m->caches->cpu, sonde_topology_cpu_model(m->topo));
	if (m->caches->core_hz > 0)
		printf(", core clock %s", text_hz(hz, m->caches->core_hz));
	printf("\n\n");
	err = print_headlines(m);
	if (err) {
		free(rows);
		return err;
	}
	measure_columns(rows, n, widths);
	print_row(NULL, widths);
	for (int i = 0; i < n; i++)
		print_row(&rows[i], widths);
	free(rows);
	print_tlb(m);
	print_notes(m->caches);
	return 0;
}

void print_curve(const struct sonde_cache_report *caches)
{
	printf("\n%12s %10s %10s %21s %8s %9s\n", "working set", "ns", "cycles",
	       "95 % interval", "windows", "discarded");
	for (size_t i = 0; i < caches->npoints; i++) {
		const struct sonde_cache_point *p = &caches->points[i];
		char size[TEXT_LEN];

		printf("%12s %10.3f %10.2f %10.2f %10.2f %8u %7.1f %%\n",
		       text_size(size, p->bytes), p->latency.ns, p->latency.cycles,
		       p->latency.cycles_ci.low, p->latency.cycles_ci.high, p->windows,
		       100 * p->discarded);
	}
}

void print_facts(const struct fact *facts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("  %-11s %s\n", facts[i].name, facts[i].value);
}

void print_backends(const struct machine *m)
{
	struct backend backends[NBACKENDS];

	describe_backends(m, backends);
	for (size_t i = 0; i < NBACKENDS; i++) {
		printf("  %-11s %s (%s)\n", backends[i].seam, backends[i].using,
		       backends[i].purpose);
		if (backends[i].why)
			printf("  %-11s %s\n", "", backends[i].why);
	}
}
