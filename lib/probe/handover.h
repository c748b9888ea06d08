/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Hand-over: one CPU loads a set, another one reads it for the first time.
 *
 * If both use one cache of the level, the first read costs what a hit in it
 * costs; else what it costs from whatever the two do have in common, which is
 * further away. The reader's own hit is timed in the same sample.
 *
 *  - Linking a set stores to it, which takes it away from every other CPU: so the
 *    reader has none of it before, without being swept.
 *  - A hit in a nearer level says nothing of this one. So the loader, then the
 *    reader before its second read, walk a sweep that is larger than the nearer
 *    level. It also writes the set out of the loader's private caches, which
 *    matters twice: lines that are changed there are sent from core to core, and
 *    a last level that holds only what the private ones gave up (a victim cache,
 *    as most are now) does not have them yet.
 *  - One line of each pair only: fetching one brings the other. And with a sweep
 *    only those at a few offsets in a page, the same in the set and the sweep:
 *    they meet in a part of each cache's sets, as full as all of it would be, in
 *    an eighth of the time. Strangers empty a last level within milliseconds.
 *  - The reader has used one line of every page just before: a first read must
 *    not be the first translation.
 */
#ifndef SONDE_LIB_PROBE_HANDOVER_H
#define SONDE_LIB_PROBE_HANDOVER_H

#include "share.h"

/**
 * struct handover - one sample
 * @first: cycles a load of lines that the other CPU loaded
 * @again: cycles a load of the same, loaded by this CPU
 * @is_late: the first read came later after the load than the second after the first
 * @windows: timed
 * @discarded: of them
 */
struct handover {
	double first, again;
	int is_late;
	size_t windows, discarded;
};

/* One sample of @plan's level. 0, or what meter_ops.move said. */
int handover_take(struct share *s, const struct share_plan *plan, unsigned int from,
		  unsigned int to, struct handover *out);

/*
 * How far apart two CPUs are just now: cycles of a load on @to of lines that @from has
 * just changed. 0, or what meter_ops.move said.
 */
int handover_distance(struct share *s, unsigned int from, unsigned int to, double *cycles);

/*
 * Cycles of a load from memory on @cpu: the oldest lines of the whole pool just
 * written. 0, or what meter_ops.move said.
 */
int handover_cold(struct share *s, unsigned int cpu, double *cycles);

#endif
