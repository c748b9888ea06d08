/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was found, held against the truth. */
#ifndef TESTS_SIM_VERDICT_H
#define TESTS_SIM_VERDICT_H

#include <stdint.h>

#include "corpus.h"

/* From here on an answer that is wrong is confidently wrong. */
#define VERDICT_CONFIDENT 0.95

enum verdict {
	VERDICT_RIGHT,
	VERDICT_UNKNOWN,	/* something is not told, and nothing that is told is wrong */
	VERDICT_WRONG,		/* with less confidence */
	VERDICT_CONFIDENTLY_WRONG,
	VERDICTS
};

/* What an answer has to tell to be right. */
enum scope {
	SCOPE_ALL,	/* size, ways and line */
	SCOPE_SIZE,	/* the size; nothing else is looked at */
};

/**
 * struct found - what a probe said of a level
 * @size: bytes, 0: not told
 * @ways: 0: not told
 * @line: bytes, 0: not told
 * @confidence: 0 to 1
 * @least: bytes that it is not smaller than; 0: not told
 */
struct found {
	uint64_t size;
	unsigned int ways, line;
	double confidence;
	uint64_t least;
};

/* @found NULL: the probe does not know of such a level, and says nothing wrong of it. */
enum verdict verdict_of(const struct corpus_cache *truth, const struct found *found,
			enum scope scope);

/* "right"... */
const char *verdict_name(enum verdict v);

#endif
