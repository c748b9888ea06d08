/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a diff costs: for every variant and shape of change, nanoseconds of encoding
 * a 4 KiB page and of applying it, all variants by turns in each round, pages of one
 * set that fits in L2. Inside the interval are the calls and a loop over the set;
 * nothing is subtracted. Printed are medians over the rounds, and the median of the
 * scalar variant over that of each.
 *
 * dsm_diff [ROUNDS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sonde/stats.h>

#include "../dsm/diff/diff.h"
#include "../lib/rng.h"

#define UNIT	4096u
#define PAGES	32u
#define MOST	1001
#define SHAPES	5
#define KINDS	4

static const char *const shapes[SHAPES] = {
	"nothing", "one byte", "64 words in a run", "every second word", "all",
};

static uint8_t pages[PAGES][UNIT], twins[PAGES][UNIT];
static uint64_t masks[UNIT / DSM_BLOCK];
static uint8_t *out[PAGES];
static size_t lens[PAGES];
static double encode_ns[KINDS][MOST], apply_ns[KINDS][MOST];

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void change(uint8_t *page, const uint8_t *twin, int shape)
{
	static const unsigned int first[SHAPES] = { 0, 100, 1024, 0, 0 };
	static const unsigned int last[SHAPES] = { 0, 101, 1280, UNIT, UNIT };

	memcpy(page, twin, UNIT);
	for (unsigned int i = first[shape]; i < last[shape]; i++)
		if (shape != 3 || i / 4 % 2)
			page[i] ^= 0x5a;
}

static void measure(const struct dsm_diff_ops *ops, double *encode, double *apply)
{
	double start = now_ns(), middle;

	for (unsigned int i = 0; i < PAGES; i++)
		lens[i] = dsm_diff_encode(ops, pages[i], twins[i], UNIT, masks, out[i]);
	middle = now_ns();
	for (unsigned int i = 0; i < PAGES; i++)
		if (lens[i] && dsm_diff_apply(ops, pages[i], NULL, UNIT, out[i], lens[i]))
			exit(1);
	*encode = (middle - start) / PAGES;
	*apply = (now_ns() - middle) / PAGES;
}

static double median(double *v, int n)
{
	sonde_stats_sort(v, (size_t)n);
	return sonde_stats_median(v, (size_t)n);
}

static void show(int shape, int rounds)
{
	const struct dsm_diff_ops *const *v = dsm_diff_variants();
	double base_encode = 0, base_apply = 0;

	for (int k = 0; v[k] && k < KINDS; k++) {
		double e = median(encode_ns[k], rounds), a = median(apply_ns[k], rounds);

		base_encode = k ? base_encode : e;
		base_apply = k ? base_apply : a;
		printf("%-20s %-8s %6zu bytes  encode %7.0f ns (%5.2f)  apply %7.0f ns (%5.2f)\n",
		       shapes[shape], v[k]->name, lens[0], e, base_encode / e, a, base_apply / a);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 201;
	struct sonde_rng rng;

	if (rounds < 1 || rounds > MOST) {
		fprintf(stderr, "dsm_diff: rounds are 1 to %d\n", MOST);
		return 2;
	}
	sonde_rng_seed(&rng, 1);
	for (unsigned int i = 0; i < PAGES; i++) {
		out[i] = malloc(dsm_diff_bound(UNIT));
		if (!out[i])
			return 1;
		for (unsigned int k = 0; k < UNIT; k++)
			twins[i][k] = (uint8_t)sonde_rng_next(&rng);
	}
	for (int shape = 0; shape < SHAPES; shape++) {
		const struct dsm_diff_ops *const *v = dsm_diff_variants();

		for (unsigned int i = 0; i < PAGES; i++)
			change(pages[i], twins[i], shape);
		for (int round = 0; round < rounds; round++)
			for (int k = 0; v[k] && k < KINDS; k++)
				measure(v[k], &encode_ns[k][round], &apply_ns[k][round]);
		show(shape, rounds);
	}
	return 0;
}
