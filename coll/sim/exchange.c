// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * exchange - the three ways in which n members exchange blocks of m bytes
 *
 * Bruck, radix k: ceil(log_k n) rounds. In round j what is to travel a distance
 * whose digit j is d moves on by d k^j, d = 1 to k - 1, all of it in one message:
 *	T = log_k(n) (k - 1) (L + 2 o + g) + (k - 1) n / k log_k(n) m G + copies
 * with copies into and out of each message and a rotation before and after.
 *
 * Irecv-isend: all receives, all sends (to the next member first), one wait:
 *	T = (n - 1) max(o, g + m G) + L + o
 *
 * Pairwise: n - 1 rounds, each a send and a receive with its own wait; partners
 * are self ^ round where n is a power of two, else the next and the previous:
 *	T = (n - 1) (L + 2 o + m G)
 *
 * The first after Bruck et al. 1997, all after Thakur, Rabenseifner, Gropp 2005.
 */
#include "exchange.h"

static int is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

uint32_t exchange_count_blocks(uint32_t n, uint32_t radix, uint32_t place, uint32_t digit)
{
	uint64_t period = (uint64_t)place * radix, from = (uint64_t)place * digit;
	uint64_t rest = n % period, whole = n / period * place;

	if (rest <= from)
		return (uint32_t)whole;
	return (uint32_t)(whole + (rest - from < place ? rest - from : place));
}

/* Digits from 1 that a distance less than @n can have at @place. */
static uint32_t count_digits(const struct exchange *e, uint64_t place)
{
	uint64_t digits = (e->n - 1) / place;

	return digits < e->radix ? (uint32_t)digits : e->radix - 1;
}

/* A copy in, for each digit a receive and a send, a wait, a copy out. */
static uint64_t round_length(const struct exchange *e, uint64_t place)
{
	return 3 + 2 * (uint64_t)count_digits(e, place);
}

static uint64_t bruck_length(const struct exchange *e)
{
	uint64_t length = 2;

	for (uint64_t place = 1; place < e->n; place *= e->radix)
		length += round_length(e, place);
	return length;
}

static uint64_t round_bytes(const struct exchange *e, uint32_t place)
{
	return (e->n - exchange_count_blocks(e->n, e->radix, place, 0)) * e->bytes;
}

static void get_round(const struct exchange *e, uint32_t place, uint32_t round, uint64_t index,
		      struct a2a_op *op)
{
	uint64_t last = round_length(e, place) - 1;
	uint32_t digit = (uint32_t)((index + 1) / 2);
	uint64_t by = (uint64_t)digit * place;

	op->tag = round;
	if (index == 0 || index == last) {
		op->kind = A2A_COPY;
		op->cold = index == last;
		op->bytes = round_bytes(e, place);
	} else if (index == last - 1) {
		op->kind = A2A_WAIT;
	} else {
		op->kind = index % 2 ? A2A_RECV : A2A_SEND;
		op->peer = (uint32_t)((op->kind == A2A_SEND ? e->self + by : e->self + e->n - by) %
				      e->n);
		op->bytes = exchange_count_blocks(e->n, e->radix, place, digit) * e->bytes;
	}
}

static void get_bruck(const struct exchange *e, uint64_t index, struct a2a_op *op)
{
	uint32_t round = 0;

	for (uint64_t place = 1; index && place < e->n; place *= e->radix, round++) {
		if (index - 1 < round_length(e, place)) {
			get_round(e, (uint32_t)place, round, index - 1, op);
			return;
		}
		index -= round_length(e, place);
	}
	op->kind = A2A_COPY;
	op->bytes = e->n * e->bytes;
}

static void get_isend(const struct exchange *e, uint64_t index, struct a2a_op *op)
{
	uint32_t others = e->n - 1;
	uint32_t by = (uint32_t)(index % others) + 1;

	if (index == 2 * (uint64_t)others) {
		op->kind = A2A_WAIT;
		return;
	}
	op->kind = index < others ? A2A_RECV : A2A_SEND;
	op->peer = (op->kind == A2A_SEND ? e->self + by : e->self + e->n - by) % e->n;
	op->bytes = e->bytes;
}

static void get_pairwise(const struct exchange *e, uint64_t index, struct a2a_op *op)
{
	static const enum a2a_kind kinds[] = { A2A_RECV, A2A_SEND, A2A_WAIT };
	uint32_t by = (uint32_t)(index / 3) + 1;

	op->kind = kinds[index % 3];
	op->tag = by;
	op->bytes = op->kind == A2A_WAIT ? 0 : e->bytes;
	if (is_power_of_two(e->n))
		op->peer = e->self ^ by;
	else
		op->peer = (op->kind == A2A_SEND ? e->self + by : e->self + e->n - by) % e->n;
}

/* A member alone has its own block to copy. */
uint64_t exchange_length(const struct exchange *e)
{
	uint64_t others = e->n - 1;

	switch (others ? e->kind : A2A_TUNED) {
	case A2A_BRUCK:
		return bruck_length(e);
	case A2A_ISEND:
		return 1 + 2 * others + 1;
	case A2A_PAIRWISE:
		return 1 + 3 * others;
	default:
		return 1;
	}
}

void exchange_get(const struct exchange *e, uint64_t index, struct a2a_op *op)
{
	*op = (struct a2a_op){ .kind = A2A_COPY };
	if (e->kind == A2A_BRUCK && e->n > 1)
		get_bruck(e, index, op);
	else if (!index)
		op->bytes = e->bytes;
	else if (e->kind == A2A_ISEND)
		get_isend(e, index - 1, op);
	else
		get_pairwise(e, index - 1, op);
}
