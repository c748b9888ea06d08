/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a probe said of a machine, as a line of text and back. */
#ifndef TESTS_SIM_ANSWER_H
#define TESTS_SIM_ANSWER_H

#include "verdict.h"

#define ANSWER_LEVELS	(2 * MACHINE_LEVELS)
#define ANSWER_TEXT	1024

/**
 * struct answer - what it said, and took
 * @found: @n levels, nearest first
 * @seconds: of the machine's time
 * @loads: simulated
 */
struct answer {
	unsigned int n;
	struct found found[ANSWER_LEVELS];
	double seconds;
	uint64_t loads;
};

/* To @text, of ANSWER_TEXT bytes; numbers to the last bit. */
void answer_format(const struct answer *a, char *text);

/* 0, -EINVAL (not such a line). */
int answer_parse(const char *text, struct answer *a);

#endif
