// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Litmus tests of the memory model, by every interleaving: outcomes that must never
 * be, and outcomes that must be possible (else the test would prove nothing). x is in
 * page 0, the others in pages of other homes.
 */
#include <stdio.h>
#include <string.h>

#include "small.h"

#define LITMUS_THREADS	4

#define X	0
#define Y	1
#define F	2
#define G	3

/* Registers of the threads, four each; -1: any. */
struct outcome {
	signed char reg[LITMUS_THREADS][2];
};

struct litmus {
	const char *name;
	uint32_t processes;
	uint32_t n[LITMUS_THREADS];
	struct op ops[LITMUS_THREADS][SMALL_OPS];
	struct outcome never, possible;
};

#define ANY	{ -1, -1 }

static const struct litmus litmus[] = {
	{ "message passing by a lock", 2, { 4, 4 }, {
		T(STORE(X, 1), LOCK(1), STORE(F, 1), UNLOCK(1)),
		T(LOCK(1), LOAD(F, 0), UNLOCK(1), LOAD(X, 1)) },
	  { { ANY, { 1, 0 }, ANY, ANY } }, { { ANY, { 1, 1 }, ANY, ANY } } },
	{ "message passing by a barrier", 2, { 2, 2 }, {
		T(STORE(X, 1), BARRIER),
		T(BARRIER, LOAD(X, 0)) },
	  { { ANY, { 0, -1 }, ANY, ANY } }, { { ANY, { 1, -1 }, ANY, ANY } } },
	{ "store buffering inside of locks", 2, { 6, 6 }, {
		T(LOCK(0), STORE(X, 1), UNLOCK(0), LOCK(0), LOAD(Y, 0), UNLOCK(0)),
		T(LOCK(0), STORE(Y, 1), UNLOCK(0), LOCK(0), LOAD(X, 0), UNLOCK(0)) },
	  { { { 0, -1 }, { 0, -1 }, ANY, ANY } }, { { { 1, -1 }, { 1, -1 }, ANY, ANY } } },
	{ "store buffering without locks may happen", 2, { 2, 2 }, {
		T(STORE(X, 1), LOAD(Y, 0)),
		T(STORE(Y, 1), LOAD(X, 0)) },
	  { { { 2, -1 }, ANY, ANY, ANY } }, { { { 0, -1 }, { 0, -1 }, ANY, ANY } } },
	{ "transitivity across two locks", 3, { 4, 6, 4 }, {
		T(STORE(X, 1), LOCK(0), STORE(F, 1), UNLOCK(0)),
		T(LOCK(0), LOAD(F, 0), UNLOCK(0), LOCK(1), STORE_REG(G, 0), UNLOCK(1)),
		T(LOCK(1), LOAD(G, 0), UNLOCK(1), LOAD(X, 1)) },
	  { { ANY, ANY, { 1, 0 }, ANY } }, { { ANY, ANY, { 1, 1 }, ANY } } },
	{ "transitivity across a barrier and a lock", 3, { 2, 4, 4 }, {
		T(STORE(X, 1), BARRIER),
		T(BARRIER, LOCK(2), STORE(F, 1), UNLOCK(2)),
		T(BARRIER, LOCK(2), LOAD(X, 0), UNLOCK(2)) },
	  { { ANY, ANY, { 0, -1 }, ANY } }, { { ANY, ANY, { 1, -1 }, ANY } } },
	{ "coherence: a lock's second holder does not read backwards", 2, { 3, 6 }, {
		T(LOCK(0), STORE(X, 1), UNLOCK(0)),
		T(LOCK(0), LOAD(X, 0), UNLOCK(0), LOCK(0), LOAD(X, 1), UNLOCK(0)) },
	  { { ANY, { 1, 0 }, ANY, ANY } }, { { ANY, { 0, 1 }, ANY, ANY } } },
	{ "message passing by a range", 2, { 2, 3 }, {
		T(STORE(X, 1), RELEASE(0, 1, 0)),
		T(LOAD(X, 1), ACQUIRE(0, 1, 0), LOAD(X, 0)) },
	  { { ANY, { 0, -1 }, ANY, ANY } }, { { ANY, { 1, 0 }, ANY, ANY } } },
	{ "message passing by ranges, transitive in their pages", 3, { 2, 2, 3 }, {
		T(STORE(X, 1), RELEASE(0, 1, 0)),
		T(ACQUIRE(0, 2, 0), RELEASE(0, 2, 1)),
		T(LOAD(X, 1), ACQUIRE(0, 1, 1), LOAD(X, 0)) },
	  { { ANY, ANY, { 0, -1 }, ANY } }, { { ANY, ANY, { 1, 0 }, ANY } } },
	{ "a range orders no other page", 2, { 4, 3 }, {
		T(STORE(Y, 1), STORE(X, 1), RELEASE(0, 1, 0), RELEASE(1, 1, 1)),
		T(ACQUIRE(0, 1, 0), LOAD(X, 0), LOAD(Y, 1)) },
	  { { ANY, { 0, -1 }, ANY, ANY } }, { { ANY, { 1, 0 }, ANY, ANY } } },
	{ "a lock does not hand on what a range ordered", 3, { 2, 4, 4 }, {
		T(STORE(X, 1), RELEASE(0, 1, 0)),
		T(ACQUIRE(0, 1, 0), LOCK(2), STORE(F, 1), UNLOCK(2)),
		T(LOCK(2), LOAD(F, 0), UNLOCK(2), LOAD(X, 1)) },
	  { { ANY, ANY, { 2, -1 }, ANY } }, { { ANY, ANY, { 1, 0 }, ANY } } },
	{ "independent writes may be seen in different orders without their locks", 4,
	  { 3, 3, 4, 4 }, {
		T(LOCK(0), STORE(X, 1), UNLOCK(0)),
		T(LOCK(1), STORE(Y, 1), UNLOCK(1)),
		T(LOCK(0), UNLOCK(0), LOAD(X, 0), LOAD(Y, 1)),
		T(LOCK(1), UNLOCK(1), LOAD(Y, 0), LOAD(X, 1)) },
	  { { ANY, ANY, { 2, -1 }, ANY } }, { { ANY, ANY, { 1, 0 }, { 1, 0 } } } },
};

#define NLITMUS	(sizeof(litmus) / sizeof(*litmus))

struct tally {
	const struct litmus *l;
	bool broken, possible;
};

static bool matches(const struct outcome *o, const struct run *r, uint32_t threads)
{
	for (uint32_t g = 0; g < threads; g++)
		for (int k = 0; k < 2; k++)
			if (o->reg[g][k] >= 0 && o->reg[g][k] != r->reg[g][k])
				return false;
	return true;
}

static void look(void *ctx, const struct run *r)
{
	struct tally *t = ctx;

	t->broken |= matches(&t->l->never, r, t->l->processes);
	t->possible |= matches(&t->l->possible, r, t->l->processes);
}

int main(void)
{
	int failed = 0;

	printf("1..%zu\n", NLITMUS);
	for (size_t i = 0; i < NLITMUS; i++) {
		const struct litmus *l = &litmus[i];
		struct tally t = { .l = l };
		struct search s = { .most = 20000000, .at_end = look, .ctx = &t };
		struct program p = {
			.world = { .processes = l->processes, .threads = 1, .pages = 4,
				   .unit = 4096 },
			.nplaces = 4,
			.address = { 0, 4096, 8192, 12288 },
			.barrier_threads = 1,
		};
		bool good;

		for (uint32_t g = 0; g < LITMUS_THREADS; g++) {
			p.ops[g] = (struct op *)l->ops[g];
			p.nops[g] = l->n[g];
		}
		good = search_run(&s, &p) && s.complete && !t.broken && t.possible;
		printf("%sok %zu - %s\n", good ? "" : "not ", i + 1, l->name);
		printf("# %llu states, %llu ends%s%s\n", (unsigned long long)s.states,
		       (unsigned long long)s.ends, t.broken ? ", what must never be was there" : "",
		       t.possible ? "" : ", what must be possible was not there");
		fflush(stdout);
		failed |= !good;
	}
	return failed;
}
