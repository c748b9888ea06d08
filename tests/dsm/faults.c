// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The core with one deliberate fault at a time: the fuzzer or the search must find
 * each. First none, so that what is found is the fault.
 */
#include <stdio.h>

#include "../../dsm/core/faults.h"
#include "../../dsm/sim/random.h"
#include "small.h"

#define QUICK_SEEDS	1000u
#define MOST_SEEDS	8000u

static const char *const names[] = {
	"none",
#define X(name, what) what,
	DSM_FAULT_TABLE(X)
#undef X
};

/* The seed that finds it, or 0. */
static uint64_t fuzz(uint64_t first, uint64_t n, char *why)
{
	for (uint64_t seed = first; seed < first + n; seed++)
		if (!random_run(seed, why, NULL))
			return seed;
	return 0;
}

/* The program whose search finds it, or NULL. */
static const char *search(void)
{
	for (size_t i = 0; i < NSMALL; i++) {
		struct search s = { .most = 40000, .is_quiet = 1 };
		struct program p;

		small_program(&p, &small[i]);
		if (!search_run(&s, &p))
			return small[i].name;
	}
	return NULL;
}

int main(void)
{
	char why[160];
	int failed = 0;

	printf("1..%d\n", (int)DSM_FAULTS_END);
	dsm_fault_now = DSM_FAULT_NONE;
	failed = fuzz(1, QUICK_SEEDS, why) != 0;
	printf("%sok 1 - without a fault nothing is found\n", failed ? "not " : "");
	for (int f = DSM_FAULT_NONE + 1; f < DSM_FAULTS_END; f++) {
		const char *small_one = NULL;
		uint64_t seed;

		dsm_fault_now = (enum dsm_fault)f;
		seed = fuzz(1, QUICK_SEEDS, why);
		if (!seed)
			small_one = search();
		if (!seed && !small_one)
			seed = fuzz(QUICK_SEEDS + 1, MOST_SEEDS, why);
		printf("%sok %d - %s: found by ", seed || small_one ? "" : "not ", f + 1, names[f]);
		if (seed)
			printf("the fuzzer, seed %llu: %s\n", (unsigned long long)seed, why);
		else
			printf("%s\n", small_one ? "the search" : "nothing");
		fflush(stdout);
		failed |= !seed && !small_one;
	}
	return failed;
}
