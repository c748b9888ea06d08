// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every interleaving of threads and messages of small programs: no value lost, no
 * deadlock, no lock in two places, nothing left over.
 *
 * search [long]
 */
#include <inttypes.h>
#include <string.h>

#include "small.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	bool all = argc > 1 && !strcmp(argv[1], "long");
	int failed = 0;

	printf("1..%zu\n", NSMALL);
	for (size_t i = 0; i < NSMALL; i++) {
		struct search s = { .most = 50000000 };
		struct program p;
		bool good;

		if (small[i].slow && !all) {
			printf("ok %zu - %s # SKIP in check-dsm-long\n", i + 1, small[i].name);
			continue;
		}
		small_program(&p, &small[i]);
		good = search_run(&s, &p) && s.complete;
		printf("%sok %zu - every interleaving: %s\n", good ? "" : "not ", i + 1,
		       small[i].name);
		printf("# %" PRIu64 " states, %" PRIu64 " transitions, %" PRIu64
		       " ends, at most %" PRIu32 " steps\n", s.states, s.transitions, s.ends,
		       s.deepest);
		fflush(stdout);
		failed |= !good;
	}
	return failed;
}
