/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers as vectors over GF(2): which parities of their bits are the same for
 * all of them. A cache index is bits of the address, or parities of them.
 */
#ifndef SONDE_LIB_PROBE_PARITY_H
#define SONDE_LIB_PROBE_PARITY_H

#include <stddef.h>
#include <stdint.h>

/* Dimension of the differences of @x[0..@n) to the first. */
unsigned int parity_rank(const uint64_t *x, size_t n);

/*
 * Masks such that the parity of (x & mask) is the same for all of @x[0..@n) but
 * not for all of @all[0..@nall): to @masks, at most @max, independent, with few
 * bits where that can be. Return: how many.
 */
unsigned int parity_shared(const uint64_t *x, size_t n, const uint64_t *all, size_t nall,
			   uint64_t *masks, unsigned int max);

#endif
