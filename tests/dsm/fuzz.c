// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random race-free programs under random schedules, with messages of different pairs
 * in any order and some twice, against the sequential oracle.
 *
 * fuzz [FIRST [HOW_MANY]]: programs of these seeds; what fails is shrunk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../dsm/sim/random.h"

#define USUAL	3000

int main(int argc, char **argv)
{
	uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? 1 : USUAL;
	struct random_tally t = { 0 };
	unsigned int failed = 0;
	char why[160];

	printf("1..2\n");
	for (uint64_t seed = first; seed < first + n && failed < 5; seed++) {
		if (random_run(seed, why, &t))
			continue;
		printf("# seed %" PRIu64 ": %s; again: %s %" PRIu64 "\n", seed, why, argv[0], seed);
		if (!failed++)
			random_shrink(seed);
	}
	printf("%sok 1 - race-free programs read what was written last\n", failed ? "not " : "");
	printf("# %" PRIu64 " programs, %" PRIu64 " steps, %" PRIu64 " messages, %" PRIu64
	       " bytes checked\n", t.runs, t.steps, t.messages, t.checked);
	printf("# %" PRIu64 " duplicates, %" PRIu64 " merges, %" PRIu64 " pages asked for again, %"
	       PRIu64 " deferred, %" PRIu64 " handovers, %" PRIu64 " collections, %" PRIu64
	       " copies, %" PRIu64 " lists of pages\n", t.duplicates, t.merges, t.refetches,
	       t.deferred, t.handovers, t.collections, t.fills, t.lists);
	printf("# possible races with reads, all of them false sharing: %" PRIu64 "\n",
	       t.pages_told);
	/* A fuzzer that does not get there finds nothing there. */
	if (n < 1000)
		printf("ok 2 # SKIP too few programs to meet every path\n");
	else
		printf("%sok 2 - every path of the protocol was met\n",
		       t.duplicates && t.merges && t.refetches && t.deferred && t.handovers &&
		       t.collections && t.fills && t.lists ? "" : "not ");
	return failed != 0;
}
