/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a profile is good for: a product of matrices in tiles that stay in a cache
 * whose size was measured. Beside it the same product without tiles, and in tiles of
 * another size. Sides alternate; medians and their spread are printed, of the processor's
 * time, which other programs take least from.
 *
 * An example too: make_tile() is all that a program needs.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sonde/profile.h>
#include <sonde/stats.h>

#define MOST_RUNS	99

struct matrices {
	size_t n;
	double *a, *b, *c;
};

/* A home folder may be shared by machines, and machines change. */
static void warn_if_stale(const struct sonde_profile *profile)
{
	struct sonde_topology *here;

	if (sonde_topology_open(&here))
		return;
	if (!sonde_profile_is_of(profile, here))
		fprintf(stderr, "tile: the profile is of another machine; run `sonde report --save`\n");
	sonde_topology_close(here);
}

/* The side of a tile by the profile: three of them are used together. */
static int make_tile(const char *path, unsigned int level, size_t *side)
{
	struct sonde_profile *profile;
	int err = sonde_profile_load(&profile, path);

	if (err) {
		fprintf(stderr, "tile: cannot read the profile: %s; run `sonde report --save`\n",
			strerror(-err));
		return err;
	}
	warn_if_stale(profile);
	err = sonde_profile_tile(profile, level, 3, sizeof(double), side);
	sonde_profile_free(profile);
	if (err)
		fprintf(stderr, "tile: the profile does not know level %u\n", level);
	return err;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Vectors of what the processor has, as a library would use: a scalar loop takes so long
 * that memory keeps up with it, whatever the tiles.
 */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void add_row(double *restrict c, const double *restrict b, double x, size_t n)
{
#pragma omp simd
	for (size_t j = 0; j < n; j++)
		c[j] += x * b[j];
}

/* c += a b, for rows i0 to i1, columns j0 to j1 and that part of the sum. */
static void multiply_part(const struct matrices *m, size_t i0, size_t i1, size_t k0, size_t k1,
			  size_t j0, size_t j1)
{
	for (size_t i = i0; i < i1; i++)
		for (size_t k = k0; k < k1; k++) {
			const double x = m->a[i * m->n + k];

			add_row(&m->c[i * m->n + j0], &m->b[k * m->n + j0], x, j1 - j0);
		}
}

/* A tile of the whole size is no tile. */
static void multiply(const struct matrices *m, size_t side)
{
	const size_t n = m->n;

	for (size_t i = 0; i < n; i += side)
		for (size_t k = 0; k < n; k += side)
			for (size_t j = 0; j < n; j += side)
				multiply_part(m, i, least(i + side, n), k, least(k + side, n), j,
					      least(j + side, n));
}

static double time_multiply(const struct matrices *m, size_t side)
{
	struct timespec begin, end;

	memset(m->c, 0, m->n * m->n * sizeof(double));
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	multiply(m, side);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
}

static int make_matrices(struct matrices *m, size_t n)
{
	m->n = n;
	m->a = malloc(n * n * sizeof(double));
	m->b = malloc(n * n * sizeof(double));
	m->c = malloc(n * n * sizeof(double));
	if (!m->a || !m->b || !m->c)
		return -ENOMEM;
	for (size_t i = 0; i < n * n; i++) {
		m->a[i] = (double)(i % 17) - 8;
		m->b[i] = (double)(i % 13) - 6;
	}
	return 0;
}

static void compare(const struct matrices *m, size_t side, const size_t *wrong, size_t nwrong,
		    size_t runs)
{
	size_t sides[16] = { side, m->n };
	double seconds[16][MOST_RUNS];
	const size_t n = nwrong + 2;
	double sum = 0;

	memcpy(&sides[2], wrong, nwrong * sizeof(*wrong));
	for (size_t r = 0; r < runs; r++)
		for (size_t s = 0; s < n; s++) {
			seconds[s][r] = time_multiply(m, sides[s]);
			sum += m->c[(r * n + s) * 7919 % (m->n * m->n)];
		}
	printf("%zu x %zu, %zu runs, alternating (sum %g)\n\n%-22s %8s %19s %18s\n", m->n, m->n,
	       runs, sum, "tile", "GFLOP/s", "ms [least..most]", "time of profile's");
	for (size_t s = 0; s < n; s++) {
		double *t = seconds[s], median, base = seconds[0][runs / 2];

		sonde_stats_sort(t, runs);
		median = t[runs / 2];
		printf("%5zu %-16s %8.2f %6.1f [%.1f..%.1f] %14.2f\n", sides[s],
		       s == 0 ? "by the profile" : s == 1 ? "none" : "wrong",
		       2 * (double)m->n * (double)m->n * (double)m->n / median * 1e-9, 1e3 * median,
		       1e3 * t[0], 1e3 * t[runs - 1], median / (s ? base : median));
	}
}

static int usage(void)
{
	fprintf(stderr, "usage: tile [-p PROFILE] [-l LEVEL] [-n SIDE] [-r RUNS] [WRONG-TILE...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	unsigned long level = 2, n = 1536, runs = 7;
	size_t side, wrong[14] = { 8, 512 }, nwrong = 2;
	struct matrices m;
	int option;

	while ((option = getopt(argc, argv, "p:l:n:r:")) != -1) {
		if (option == 'p')
			path = optarg;
		else if (option == 'l')
			level = strtoul(optarg, NULL, 10);
		else if (option == 'n')
			n = strtoul(optarg, NULL, 10);
		else if (option == 'r')
			runs = strtoul(optarg, NULL, 10);
		else
			return usage();
	}
	if (argc - optind > 14 || !level || n < 16 || n > 16384 || !runs || runs > MOST_RUNS)
		return usage();
	for (int i = optind; i < argc; i++) {
		wrong[i - optind] = strtoul(argv[i], NULL, 10);
		nwrong = (size_t)(i - optind) + 1;
		if (!wrong[i - optind])
			return usage();
	}
	if (make_tile(path, (unsigned int)level, &side))
		return 1;
	if (make_matrices(&m, n)) {
		fprintf(stderr, "tile: no memory for matrices of %lu x %lu\n", n, n);
		return 1;
	}
	compare(&m, side, wrong, nwrong, runs);
	free(m.a);
	free(m.b);
	free(m.c);
	return 0;
}
