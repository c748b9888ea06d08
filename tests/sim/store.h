/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sets of one cache or TLB: which lines they hold, and what they would
 * replace. Sets cost memory when they are first used, so that a large cache of
 * which little is touched is cheap. A set is one block of words: tags, then
 * whatever its policy remembers. Where only the order of lines counts, LRU and
 * FIFO, tags stand in that order and nothing else is remembered: a way is then a
 * line's place in it.
 */
#ifndef TESTS_SIM_STORE_H
#define TESTS_SIM_STORE_H

#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "journal.h"
#include "machine.h"

/* A line's tag is its number + 1; 0 is no line, and from here on they are nobody's. */
#define STORE_FOREIGN	0xff000000U

/**
 * struct store_tree - a tree of bits over some ways
 * @path: of each way, the bits on its way from the root
 * @away: of these, those that are 1 when the way was used last: 1 points right
 * @child: of each bit, left and right: another bit, or ~way
 */
struct store_tree {
	uint64_t path[MACHINE_WAYS], away[MACHINE_WAYS];
	int child[MACHINE_WAYS][2];
};

struct store {
	uint32_t *block;
	size_t bytes, sets;
	unsigned int ways;
	unsigned int padded;	/* tags of a block */
	unsigned int stride;	/* words of a block */
	enum machine_policy policy;
	int is_list;
	uint32_t clock;		/* stamps given, of DIP */
	uint32_t random;
	int selector;		/* of DIP: above 0 where LRU's leaders miss more */
	uint64_t all;		/* a bit a way */
	struct store_tree tree;
	struct journal *journal; /* of changes, NULL: nobody wants to know */
};

/* 0, -ENOMEM, -EINVAL (more ways than the policy has bits for). */
int store_open(struct store *s, size_t sets, unsigned int ways, enum machine_policy policy,
	       uint32_t seed);
void store_close(struct store *s);

/* Forget every line. */
void store_clear(struct store *s);

/* What was found out before about where lines are holds until the next of these three. */

/* The line in @way was used. */
void store_use(struct store *s, size_t set, unsigned int way);

/* Put @tag, which is not there, into the set: what it replaces, 0 if nothing. */
uint32_t store_fill(struct store *s, size_t set, uint32_t tag);

/* The way is empty from now on. */
void store_drop(struct store *s, size_t set, unsigned int way);

/* Tags that are compared at once; so many words behind the last set may be read. */
#define STORE_AT_ONCE	16

/* A bit for each of the STORE_AT_ONCE words @tags[0..) that is @tag. */
static inline uint32_t store_matches(const uint32_t *tags, uint32_t tag)
{
#ifdef __SSE2__
	const __m128i wanted = _mm_set1_epi32((int)tag), *words = (const void *)tags;
	__m128i low, high;

	low = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(words), wanted),
			      _mm_cmpeq_epi32(_mm_load_si128(words + 1), wanted));
	high = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(words + 2), wanted),
			       _mm_cmpeq_epi32(_mm_load_si128(words + 3), wanted));
	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high));
#else
	uint32_t matches = 0;

	for (unsigned int w = 0; w < STORE_AT_ONCE; w++)
		matches |= (uint32_t)(tags[w] == tag) << w;
	return matches;
#endif
}

/* The way that holds @tag, -1 if none does. */
static inline int store_find(const struct store *s, size_t set, uint32_t tag)
{
	const uint32_t *tags = s->block + set * s->stride;
	uint32_t found;

	for (unsigned int w = 0; w < s->ways; w += STORE_AT_ONCE) {
		found = store_matches(tags + w, tag);
		/* Behind the last way are other words. */
		if (s->ways - w < STORE_AT_ONCE)
			found &= (1U << (s->ways - w)) - 1;
		if (found)
			return (int)w + __builtin_ctz(found);
	}
	return -1;
}

/* What @way holds. */
static inline uint32_t store_tag(const struct store *s, size_t set, unsigned int way)
{
	return s->block[set * s->stride + way];
}

/* A word of the set that is the caller's, 0 at first. */
static inline uint32_t *store_word(struct store *s, size_t set)
{
	return s->block + set * s->stride + s->stride - 1;
}

#endif
