/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contention: CPUs walk sets of which one fits a cache and two do not. Who
 * shares it with another one misses. Only windows that were proven to overlap
 * count: overlap.h.
 */
#ifndef SONDE_LIB_PROBE_CONTEND_H
#define SONDE_LIB_PROBE_CONTEND_H

#include "share.h"

/**
 * struct contend - what one CPU saw
 * @alone: cycles a load by itself
 * @beside: cycles a load while all others of the test walked; 0 if no overlap
 *          was proven
 * @missed: share of loads that missed because of that
 */
struct contend {
	double alone, beside, missed;
};

/* Most CPUs that can be tested at once. */
size_t contend_most(const struct share *s, const struct share_plan *plan);

/*
 * All of @cpus[0..@n) at once, and what each saw to @out. 0; -EOPNOTSUPP (no test
 * for this level, or @n is more than contend_most()), -ENOMEM, -ECANCELED, or
 * what meter_ops.together said.
 */
int contend_take(struct share *s, const struct share_plan *plan, const unsigned int *cpus,
		 size_t n, struct contend *out);

/*
 * Whether some of the @n that were together have this cache in common: 1, 0, or
 * -ENODATA if that cannot be told.
 */
int contend_judge(const struct share_plan *plan, const struct contend *seen, size_t n);

#endif
