// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parity.h"

#define BITS	64

/* Rows in reduced echelon form, each with a leading (highest) bit of its own. */
struct basis {
	uint64_t row[BITS];
	unsigned int lead[BITS];
	unsigned int n;
};

static uint64_t reduce(const struct basis *b, uint64_t x)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (x >> b->lead[i] & 1)
			x ^= b->row[i];
	return x;
}

/* 1 if @x was not in the span. */
static int add(struct basis *b, uint64_t x)
{
	unsigned int lead;

	x = reduce(b, x);
	if (!x)
		return 0;
	lead = BITS - 1 - (unsigned int)__builtin_clzll(x);
	for (unsigned int i = 0; i < b->n; i++)
		if (b->row[i] >> lead & 1)
			b->row[i] ^= x;
	b->lead[b->n] = lead;
	b->row[b->n++] = x;
	return 1;
}

static struct basis differences(const uint64_t *x, size_t n)
{
	struct basis b = { .n = 0 };

	for (size_t i = 1; i < n; i++)
		add(&b, x[i] ^ x[0]);
	return b;
}

unsigned int parity_rank(const uint64_t *x, size_t n)
{
	return differences(x, n).n;
}

/* The mask of free bit @bit: it, and each row's leading bit that depends on it. */
static uint64_t mask_of(const struct basis *b, unsigned int bit)
{
	uint64_t mask = 1ULL << bit;

	for (unsigned int i = 0; i < b->n; i++)
		if (b->row[i] >> bit & 1)
			mask |= 1ULL << b->lead[i];
	return mask;
}

static int is_leading(const struct basis *b, unsigned int bit)
{
	for (unsigned int i = 0; i < b->n; i++)
		if (b->lead[i] == bit)
			return 1;
	return 0;
}

/* What a mask makes of a space: its parities on the rows, as bits. */
static uint64_t image(const struct basis *space, uint64_t mask)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < space->n; i++)
		bits |= (uint64_t)__builtin_parityll(space->row[i] & mask) << i;
	return bits;
}

unsigned int parity_shared(const uint64_t *x, size_t n, const uint64_t *all, size_t nall,
			   uint64_t *masks, unsigned int max)
{
	const struct basis some = differences(x, n), space = differences(all, nall);
	struct basis told = { .n = 0 };
	uint64_t varies = 0, mask;
	unsigned int found = 0;

	for (size_t i = 1; i < nall; i++)
		varies |= all[i] ^ all[0];
	for (unsigned int bit = 0; bit < BITS && found < max; bit++) {
		if (!(varies >> bit & 1) || is_leading(&some, bit))
			continue;
		mask = mask_of(&some, bit);
		/* One that is the same for all, or follows from others, tells nothing. */
		if (add(&told, image(&space, mask)))
			masks[found++] = mask;
	}
	return found;
}
