// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"

static struct sonde_latency latency_of(const struct geometry *g, double cycles)
{
	return (struct sonde_latency){ cycles / g->ghz, cycles, { cycles, cycles } };
}

static int put_sweeps(struct sonde_cache_level *out, const struct survey *s)
{
	out->sweeps = calloc(s->nsweeps + 1, sizeof(*out->sweeps));
	if (!out->sweeps)
		return -ENOMEM;
	for (unsigned int i = 0; i < s->nsweeps; i++) {
		const struct sweep *from = &s->sweep[i];
		struct sonde_cache_sweep *to = &out->sweeps[out->nsweeps++];

		*to = (struct sonde_cache_sweep){ from->offset, from->ways, from->n, NULL };
		to->misses = malloc((from->n + 1) * sizeof(*to->misses));
		if (!to->misses)
			return -ENOMEM;
		memcpy(to->misses, from->miss, (from->n + 1) * sizeof(*to->misses));
	}
	return 0;
}

static int put_reach(struct sonde_cache_level *out, const struct level_geometry *l)
{
	struct sonde_cache_reach *to = &out->reach;

	if (!l->reach.n || l->set_bytes <= 0)
		return 0;
	to->bytes = calloc(l->reach.n, sizeof(*to->bytes));
	to->cycles = calloc(l->reach.n, sizeof(*to->cycles));
	if (!to->bytes || !to->cycles)
		return -ENOMEM;
	to->n = l->reach.n;
	for (unsigned int i = 0; i < to->n; i++) {
		to->bytes[i] = l->reach.lines[i] * l->set_bytes;
		to->cycles[i] = l->reach.cycles[i];
	}
	return 0;
}

/* Misses of one line more than ways over those of strict LRU, mean of the classes. */
static double softness_of(const struct survey *s)
{
	double sum = 0;

	for (unsigned int i = 0; i < s->nsweeps; i++)
		sum += s->sweep[i].miss[s->sweep[i].ways + 1] / (s->sweep[i].ways + 1);
	return s->nsweeps ? sum / s->nsweeps : 0;
}

static void put_size(const struct level_geometry *l, struct sonde_cache_level *out)
{
	const struct survey *s = &l->survey;

	out->size = l->size;
	/* What lines of one set stand for hangs on the index; what a curve over sizes saw does not. */
	if (l->size || !out->size_high) {
		out->size_low = l->low;
		out->size_high = l->high;
		out->method = out->level == 1 ? SONDE_METHOD_STRIDES :
			      l->size ? SONDE_METHOD_CONFLICTS : SONDE_METHOD_SAMPLING;
	}
	out->confidence = l->confidence;
	out->ways = s->ways;
	out->line = s->line;
	if (l->size && out->line)
		out->sets = l->size / s->ways / out->line;
	out->colours = l->colours;
	out->softness = softness_of(s);
	out->holding = s->holding == HOLDING_ALSO ? SONDE_HOLDING_ALSO :
		       s->holding == HOLDING_OTHER ? SONDE_HOLDING_OTHER : SONDE_HOLDING_UNKNOWN;
}

/* What the curve could not tell of a level was said of what is told now. */
static void drop_notes(struct sonde_cache_report *report, unsigned int level)
{
	char prefix[32];
	size_t kept = 0;

	snprintf(prefix, sizeof(prefix), "level %u:", level);
	for (size_t i = 0; i < report->nnotes; i++) {
		if (strncmp(report->notes[i], prefix, strlen(prefix)) != 0)
			report->notes[kept++] = report->notes[i];
		else
			free(report->notes[i]);
	}
	report->nnotes = kept;
}

static int put_level(const struct geometry *g, size_t i, struct sonde_cache_level *out)
{
	const struct level_geometry *l = &g->level[i];
	int err;

	if (l->size || l->low || l->high)
		put_size(l, out);
	if (out->latency.cycles <= 0)
		out->latency = latency_of(g, l->survey.hit);
	out->samples = l->samples;
	out->discarded = l->samples ? (double)l->discarded / (double)l->samples : 0;
	err = put_sweeps(out, &l->survey);
	return err ? err : put_reach(out, l);
}

int answers_put(const struct geometry *g, struct sonde_cache_report *report)
{
	size_t n = g->nlevels > report->nlevels ? g->nlevels : report->nlevels;
	struct sonde_cache_level *levels = realloc(report->levels, (n + 1) * sizeof(*levels));
	int err = 0;

	if (!levels)
		return -ENOMEM;
	report->levels = levels;
	/* What the curve took for more levels was memory: nothing answers so slowly. */
	if (g->ends && report->nlevels > g->nlevels)
		report->nlevels = g->nlevels;
	for (size_t i = 0; i < g->nlevels && !err; i++) {
		if (i >= report->nlevels) {
			levels[i] = (struct sonde_cache_level){
				.level = (unsigned int)i + 1,
				.type = i ? SONDE_CACHE_UNIFIED : SONDE_CACHE_DATA,
			};
			report->nlevels = i + 1;
		}
		err = put_level(g, i, &levels[i]);
		if (levels[i].size)
			drop_notes(report, levels[i].level);
	}
	if (report->memory.ns <= 0 && g->ends)
		report->memory = latency_of(g, g->beyond);
	if (!report->core_hz)
		report->core_hz = g->ghz * 1e9;
	return err;
}
