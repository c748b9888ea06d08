/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The capacity of a level by set sampling: lines that share a set of the level
 * above stand for all, so a thousandth of the level's size is walked. Says where
 * the cost begins to rise and where it has risen; ways are not needed for that.
 */
#ifndef SONDE_LIB_PROBE_REACH_H
#define SONDE_LIB_PROBE_REACH_H

#include "hunt.h"

#define REACH_POINTS	48

/**
 * struct reach - lines of one class of the level above, and what a load costs
 * @n: points
 * @lines: of each
 * @cycles: a load, without what translation costs
 * @hit: cycles of a hit in the level
 * @rises: whether the pool overflows the level
 * @begins: most lines that cost no more than a hit; 0 if even the fewest do
 * @ends: fewest lines that cost as much as the flat end of the curve; 0 if there
 *        is no such end
 * @beyond: cycles at that end
 */
struct reach {
	unsigned int n;
	unsigned int lines[REACH_POINTS];
	double cycles[REACH_POINTS];
	double hit;
	int rises;
	unsigned int begins, ends;
	double beyond;
};

/* 0, -ENOMEM, -ECANCELED. The hunt has the pool, @above and its first level. */
int reach_take(struct hunt *h, struct reach *r);

#endif
