/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Which of many CPUs belong together, from comparisons of two: fewer than every
 * one with every other.
 *
 *  1. All at once: who is not disturbed while all others work is alone. That
 *     settles private caches in one measurement, and is then tried on one other
 *     CPU each.
 *  2. Each of the rest is compared with one representative a group: first with
 *     the group at the distance at which the last match was, then with the
 *     previous CPU's. Before the others are gone through, it is tried beside all
 *     their representatives at once: not disturbed, it is the first of a new
 *     group; disturbed, halving them finds the one.
 *  3. Pairs that were not compared are, at random, within groups and across. What
 *     contradicts makes the groups unsure, never right.
 *
 * n CPUs in g groups thus take about n + 2 g comparisons and g (1 + log2 g) pooled
 * ones; without a pooled test n + g * g / 2.
 */
#ifndef SONDE_LIB_PROBE_GROUPS_H
#define SONDE_LIB_PROBE_GROUPS_H

#include <stddef.h>
#include "../rng.h"

/**
 * struct groups_ops - how CPUs are compared
 * @same: whether @a and @b belong together: 1, 0, -ENODATA (cannot be told), or
 *        an error that ends the search
 * @alone: for each of the first @nwanted of @cpus[0..@n), 1 or all, to @out: 1 if
 *         it belongs to none of the others, 0 if it does, GROUPS_NO_WORD; that
 *         the others do not belong together is known if @nwanted is 1. 0,
 *         -EOPNOTSUPP (no such test), or an error that ends the search. May be
 *         NULL
 * @placed: @n CPUs have their group; an error ends the search. May be NULL
 */
struct groups_ops {
	int (*same)(void *ctx, unsigned int a, unsigned int b);
	int (*alone)(void *ctx, const unsigned int *cpus, size_t n, size_t nwanted,
		     unsigned char *out);
	int (*placed)(void *ctx, size_t n);
};

#define GROUPS_NO_WORD	2

/*
 * Groups of @cpus[0..@n), ascending: @group[i] is the index of the first CPU of
 * i's group; @unsure[i] whether something contradicts that, the same for all of
 * a group. 0, -ENOMEM, or what an operation said.
 */
int groups_find(const struct groups_ops *ops, void *ctx, struct sonde_rng *rng,
		const unsigned int *cpus, size_t n, size_t *group, unsigned char *unsure);

#endif
