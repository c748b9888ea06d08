// SPDX-License-Identifier: GPL-2.0-or-later
#include "verdict.h"

/* 1: right, 0: not told, -1: wrong. */
static int compare(uint64_t truth, uint64_t found)
{
	if (!found)
		return 0;
	return found == truth ? 1 : -1;
}

enum verdict verdict_of(const struct corpus_cache *truth, const struct found *found,
			enum scope scope)
{
	int size, ways = 1, line = 1;

	if (!found)
		return VERDICT_UNKNOWN;
	size = compare(truth->bytes, found->size);
	if (!found->size && found->least > truth->bytes)
		size = -1;
	if (scope == SCOPE_ALL) {
		ways = compare(truth->ways, found->ways);
		line = compare(truth->line, found->line);
	}
	if (size < 0 || ways < 0 || line < 0)
		return found->confidence >= VERDICT_CONFIDENT ? VERDICT_CONFIDENTLY_WRONG :
								VERDICT_WRONG;
	return size && ways && line ? VERDICT_RIGHT : VERDICT_UNKNOWN;
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[VERDICTS] = {
		"right", "unknown", "wrong", "confidently wrong",
	};

	return names[v];
}
