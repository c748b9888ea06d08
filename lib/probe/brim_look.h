/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of a ring of a brim's lines misses. */
#ifndef SONDE_LIB_PROBE_BRIM_LOOK_H
#define SONDE_LIB_PROBE_BRIM_LOOK_H

#include "brim.h"

/* Lines that flush the level above, behind the @n places of a ring. */
void brim_put_flush(struct brim *b, size_t n);

/*
 * How many of @n @pages missed in one order of a ring of them, marked in b->missed; the last
 * @together in a row, if nothing else flushes the level above, so that the others do. -errno.
 */
ssize_t brim_look(struct brim *b, const uint32_t *pages, size_t n, size_t together);

/* The same in @orders of them until any misses, none marked before. */
ssize_t brim_look_in(struct brim *b, const uint32_t *pages, size_t n, size_t together,
		     unsigned int orders);

/* The same in as many orders as it takes to see any that misses, none together. */
ssize_t brim_look_for_any(struct brim *b, const uint32_t *pages, size_t n);

/* So many orders of @n lines. */
unsigned int brim_orders_to_see(const struct brim *b, size_t n);

/* Orders of @n with so many lines together; few will do where nothing stays in the level above. */
unsigned int brim_orders(const struct brim *b, size_t n, size_t lines, unsigned int least);

/* Unmark them. */
void brim_forget(struct brim *b, const uint32_t *pages, size_t n);

/* Those of @n pages that missed to the end. How many did not. */
size_t brim_part(const struct brim *b, uint32_t *pages, size_t n);

/* Some of the lines that are in and missed go, so few that hardly two are of one set. How many. */
size_t brim_give_way(struct brim *b);

#endif
