// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job to be watched: named memory, each process its own part of it, locks. With "race"
 * all processes but the first write the same eight bytes, too, the second with a lock; with
 * "read" the second writes these and the third reads another byte of the page.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sonde/dsm.h>

#define ROWS	24u
#define TURNS	6u

struct all {
	uint64_t sum;
	sonde_dsm_mutex_t mutex;
	uint8_t raced[64];
};

sonde_dsm_mutex_t watch_lock = SONDE_DSM_MUTEX_INITIALIZER;

/* What names may not be. */
static int check_names(const void *p, size_t size)
{
	int on_stack = 0;

	return sonde_dsm_name(&on_stack, sizeof(on_stack), "stack") != EINVAL ||
	       sonde_dsm_name(p, 0, "nothing") != EINVAL || sonde_dsm_name(p, size, "") != EINVAL ||
	       sonde_dsm_name(p, SIZE_MAX, "too much") != EINVAL;
}

/* Rows of the next process are read, one's own are written. */
static void work(uint8_t *grid, struct all *all, unsigned int me, unsigned int n)
{
	size_t unit = sonde_dsm_unit();

	for (unsigned int turn = 0; turn < TURNS; turn++) {
		uint64_t sum = 0;

		for (unsigned int row = me; row < ROWS; row += n)
			memset(grid + row * unit, (int)(turn + row + 1), unit);
		sonde_dsm_barrier_all(1);
		for (unsigned int row = (me + 1) % n; row < ROWS; row += n)
			sum += grid[row * unit];
		sonde_dsm_mutex_lock(&all->mutex);
		all->sum += sum;
		sonde_dsm_mutex_unlock(&all->mutex);
		sonde_dsm_barrier_all(1);
	}
}

static void race(struct all *all, unsigned int me)
{
	if (me == 1)
		sonde_dsm_mutex_lock(&watch_lock);
	if (me)
		memset(all->raced + 8, (int)me, 8);
	sonde_dsm_barrier_all(1);
	if (me == 1)
		sonde_dsm_mutex_unlock(&watch_lock);
}

static int read_beside(struct all *all, unsigned int me)
{
	int found = 0;

	/* All copies are old. */
	if (!me)
		all->raced[63] = 1;
	sonde_dsm_barrier_all(1);
	if (me == 1)
		memset(all->raced + 8, 1, 8);
	else if (me == 2)
		found = all->raced[63];
	sonde_dsm_barrier_all(1);
	return me == 2 && found != 1;
}

int main(int argc, char **argv)
{
	size_t bytes = 0;
	unsigned int me, n;
	uint8_t *grid = NULL;
	struct all *all = NULL;
	int err = sonde_dsm_init(NULL);

	if (err) {
		fprintf(stderr, "watch: %s; SONDE_DSM_DEBUG=1 says more\n", strerror(err));
		return 1;
	}
	me = sonde_dsm_process();
	n = sonde_dsm_processes();
	bytes = ROWS * sonde_dsm_unit();
	if (!me) {
		grid = sonde_dsm_calloc(1, bytes);
		if (sonde_dsm_alloc((void **)&all, 64, sizeof(*all), 0) || !grid)
			return 1;
		memset(all, 0, sizeof(*all));
		err = sonde_dsm_name(grid, bytes, "grid") ||
		      sonde_dsm_name(all, sizeof(*all), "all \"in\" one\n") ||
		      check_names(grid, bytes);
	}
	grid = sonde_dsm_from_first(grid);
	all = sonde_dsm_from_first(all);
	work(grid, all, me, n);
	if (argc > 1 && !strcmp(argv[1], "race"))
		race(all, me);
	if (argc > 1 && !strcmp(argv[1], "read"))
		err |= read_beside(all, me);
	if (!me)
		printf("sum %llu\n", (unsigned long long)all->sum);
	return sonde_dsm_exit() || err ? 1 : 0;
}
