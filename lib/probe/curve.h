/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cost of a load over the size of the working set, and the part of it that is
 * address translation.
 */
#ifndef SONDE_LIB_PROBE_CURVE_H
#define SONDE_LIB_PROBE_CURVE_H

#include <stddef.h>
#include "plateau.h"
#include "sampler.h"

/* Working sets up to this many chunks are taken as runs, larger ones scattered. */
#define CURVE_RUN	64
#define CURVE_POINTS	192

/**
 * struct curve - what walks of many sizes cost
 * @n: sizes, ascending
 * @chunks: the sizes, in chunks; pages for a curve of translation
 * @sample: the walks
 * @net: cycles a load with translation subtracted; for a curve of translation
 *       the cycles that translation adds to a load
 */
struct curve {
	size_t n;
	double chunks[CURVE_POINTS];
	struct sample sample[CURVE_POINTS];
	double net[CURVE_POINTS];
};

/*
 * Walk working sets of one chunk to the whole pool, in random order, more than
 * once, for about @seconds; large ones are left out when the time is gone. 0,
 * -ECANCELED.
 */
int curve_take(struct sampler *s, double seconds, struct curve *c);

/*
 * Walk one line a page, @kind telling which pages: what that costs beyond as
 * many lines side by side (from @dense) is translation. 0, -ECANCELED.
 */
int curve_translation(struct sampler *s, enum walk_kind kind, const struct curve *dense,
		      double seconds, struct curve *c);

/* Fill @c->net from its samples and the curve of translation. */
void curve_subtract(const struct sampler *s, struct curve *c, const struct curve *translation);

/* Net cost of a walk over @chunks, interpolated. */
double curve_at(const struct curve *c, double chunks);

/* What translation adds to a load of a walk in sweeps over @chunks. */
double translation_cost(const struct sampler *s, const struct curve *translation, double chunks);

#endif
