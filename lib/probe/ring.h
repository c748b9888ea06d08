/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The order in which a chase visits the lines of a working set.
 *
 * Every line once a turn, so that a cache either holds the set or does not.
 * Random, so that no stride, next-line or page-crossing prefetcher learns it.
 * But a random order over many pages measures the TLB, and a random order
 * within a few pages feeds the prefetchers that fetch neighbours: when a page's
 * 64 lines are visited in one go, most of them are there before their turn
 * (36 cycles instead of 102 on an Emerald Rapids third level). So a turn is
 * several sweeps; a sweep visits RING_VISIT lines of each page, and goes from
 * one small group of pages to the next, so that a translation is used
 * RING_VISIT times before it can be lost. What is left of the TLB's cost is
 * known: a RING_VISIT-th of a miss a load, which the caller subtracts.
 */
#ifndef SONDE_LIB_PROBE_RING_H
#define SONDE_LIB_PROBE_RING_H

#include <stddef.h>
#include <stdint.h>
#include "../rng.h"

#define RING_VISIT	8	/* lines of a page in one sweep */
#define RING_GROUP	32	/* pages of a group: fits in any first-level TLB */

/*
 * The lines of @chunks[0..@n) in walking order, METER_CHUNK_LINES of each, to
 * @lines.
 */
void ring_sweeps(struct sonde_rng *rng, const uint32_t *chunks, size_t n, uint32_t *lines);

/*
 * One line of each of the @n pages that begin at @chunks[0..@n), in random order
 * to @lines. The line moves on from page to page, so that the lines spread
 * evenly over the sets of a cache.
 */
void ring_one_a_page(struct sonde_rng *rng, const uint32_t *chunks, size_t n, uint32_t *lines);

#endif
