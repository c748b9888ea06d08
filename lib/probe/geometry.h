/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Size, ways and line of every level by conflicts: the first by strides, each
 * further one by sets that overflow it, in lines that share a set of all levels
 * above. No step uses a frame number or a claim.
 */
#ifndef SONDE_LIB_PROBE_GEOMETRY_H
#define SONDE_LIB_PROBE_GEOMETRY_H

#include "reach.h"
#include "survey.h"

#define GEOMETRY_LEVELS	4

/**
 * struct level_geometry - a level
 * @size: bytes, 0 if not told
 * @low: bytes, at least
 * @high: bytes, at most; 0 if there is no telling
 * @confidence: that @size, or else the interval, is right
 * @colours: classes of pages, 0 if not told
 * @set_bytes: bytes of the level that one line of the pool stands for
 * @samples: windows taken for it
 * @discarded: of them, thrown away
 * @survey: how it was found; of the first level only ways and line
 * @reach: its capacity curve, from the third level on
 */
struct level_geometry {
	uint64_t size, low, high;
	double confidence;
	unsigned int colours;
	double set_bytes;
	uint64_t samples, discarded;
	struct survey survey;
	struct reach reach;
};

/**
 * struct geometry - a machine's caches
 * @first: the first level
 * @level: @nlevels, nearest first
 * @beyond: cycles of a load that misses all of them
 * @ends: whether that is memory, so there are no more levels
 * @ghz: core clock
 */
struct geometry {
	struct stride first;
	struct level_geometry level[GEOMETRY_LEVELS];
	size_t nlevels;
	double beyond;
	int ends;
	double ghz;
};

/*
 * 0, -ENOMEM, -ECANCELED. @max_bytes of memory at most, more than STRIDE_CHUNKS. Only the first
 * @levels are looked for; 0: all.
 */
int geometry_find(struct trial *t, size_t max_bytes, unsigned int levels, struct geometry *g);

#endif
