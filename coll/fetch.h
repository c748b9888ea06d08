/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fetch - a copy out of memory that another processor has written
 *
 * Each line is far, so what counts is how many are under way at once. Four places of
 * the source are copied together, each with prefetches ahead of it: up to twice as quick
 * as memcpy(), which takes byte strings for so much: bench/crossing. Eight places would
 * meet in the same sets of a first level of 8 ways. Nothing is prefetched past a place:
 * behind the last one somebody may be writing.
 */
#ifndef SONDE_COLL_FETCH_H
#define SONDE_COLL_FETCH_H

#include <stddef.h>
#include <string.h>

#define COLL_FETCH_LINE		64
#define COLL_FETCH_PLACES	4
#define COLL_FETCH_AHEAD	512	/* bytes: 256 does as well, 1,024 less */
#define COLL_FETCH_LEAST	8192	/* below, places are too short to be worth it */

/* A function of its own, so that samples tell of it. */
static __attribute__((noinline, unused)) void coll_fetch(char *to, const char *from, size_t len)
{
	const size_t part = len < COLL_FETCH_LEAST ? 0 :
			    len / (COLL_FETCH_PLACES * COLL_FETCH_LINE) * COLL_FETCH_LINE;
	const size_t done = COLL_FETCH_PLACES * part;

	for (size_t at = 0; at < part; at += COLL_FETCH_LINE)
		for (size_t p = at; p < done; p += part) {
			if (at + COLL_FETCH_AHEAD < part)
				__builtin_prefetch(from + p + COLL_FETCH_AHEAD);
			memcpy(to + p, from + p, COLL_FETCH_LINE);
		}
	memcpy(to + done, from + done, len - done);
}

#endif
