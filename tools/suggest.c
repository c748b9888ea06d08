// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * suggest - which word was meant
 *
 * Optimal string alignment distance (Damerau 1964, Levenshtein 1966): letters
 * left out, added, changed, or two neighbours swapped.
 */
#include <string.h>
#include "cli.h"

#define LONGEST 24

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t measure_distance(const char *a, const char *b)
{
	size_t d[LONGEST + 1][LONGEST + 1];
	size_t la = strlen(a), lb = strlen(b);

	if (la > LONGEST || lb > LONGEST)
		return LONGEST;
	for (size_t i = 0; i <= la; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= lb; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= la; i++) {
		for (size_t j = 1; j <= lb; j++) {
			size_t changed = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			d[i][j] = smaller(smaller(d[i - 1][j], d[i][j - 1]) + 1, changed);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = smaller(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[la][lb];
}

const char *cli_suggest(const char *word, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t least = 3;

	for (size_t i = 0; i < n; i++) {
		size_t distance = measure_distance(word, words[i]);

		if (distance >= least || distance * 2 >= strlen(words[i]))
			continue;
		least = distance;
		best = words[i];
	}
	return best;
}
