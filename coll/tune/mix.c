// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * mix - calls of MPI_Alltoallv of many sizes, in one go
 *
 * One rule is for blocks of any size, as no rank knows how large they are on others. So
 * what is measured is a mixture: calls whose blocks have 8, 64, 512, ... bytes in the
 * mean, each pair's any number from none to twice as many, and of each size so many
 * calls that by the usual rule all sizes take as long. What a composition takes for one
 * go, over what the usual one does, is then the mean of its ratios over sizes.
 */
#include <errno.h>
#include <stdlib.h>
#include <mpi.h>

#include "../../lib/rng.h"
#include "tune.h"

#define STEP		8
#define LARGEST		((size_t)64 << 10)	/* above they go as they are, or are read */
#define CALLS_MOST	64	/* of a size in one go */

/* From 0 to @most, the same for both ends. */
static size_t draw(const struct tune *t, int other, size_t most)
{
	const unsigned int low = (unsigned int)(other < t->rank ? other : t->rank);
	const unsigned int high = (unsigned int)(other < t->rank ? t->rank : other);
	uint64_t x = ((uint64_t)low << 32 | high) + most;

	return (size_t)(sonde_rng_splitmix(&x) % (most + 1));
}

static void fill_size(struct tune *t, int s)
{
	const size_t bytes = t->mix.sizes[s];
	const size_t most = 2 * bytes < t->options.max ? 2 * bytes : t->options.max;
	int *counts = t->mix.counts + s * t->size, *displs = t->mix.displs + s * t->size;
	int at = 0;

	for (int r = 0; r < t->size; r++) {
		counts[r] = (int)draw(t, r, most);
		displs[r] = at;
		at += counts[r];
	}
}

int tune_open_mix(struct tune *t)
{
	struct tune_mix *mix = &t->mix;
	const size_t most = t->options.max < LARGEST ? t->options.max : LARGEST;

	for (size_t bytes = t->options.min; !mix->n || (bytes <= most && mix->n < TUNE_MIX);
	     bytes *= STEP)
		mix->sizes[mix->n++] = bytes;
	mix->counts = calloc((size_t)(mix->n * t->size), sizeof(*mix->counts));
	mix->displs = calloc((size_t)(mix->n * t->size), sizeof(*mix->displs));
	if (coll_agree(t->plan, mix->counts && mix->displs ? 0 : -ENOMEM))
		return -ENOMEM;
	for (int s = 0; s < mix->n; s++) {
		mix->calls[s] = 1;
		fill_size(t, s);
	}
	return 0;
}

static void call_size(struct tune *t, int s, int calls)
{
	const int *counts = t->mix.counts + s * t->size, *displs = t->mix.displs + s * t->size;

	for (int i = 0; i < calls; i++)
		MPI_Alltoallv(t->send, counts, displs, MPI_BYTE, t->recv, counts, displs,
			      MPI_BYTE, t->comm);
}

void tune_call_mix(struct tune *t)
{
	for (int s = 0; s < t->mix.n; s++)
		call_size(t, s, t->mix.calls[s]);
}

int tune_count_mix(const struct tune *t)
{
	int calls = 0;

	for (int s = 0; s < t->mix.n; s++)
		calls += t->mix.calls[s];
	return calls;
}

void tune_weigh_mix(struct tune *t)
{
	double mine[TUNE_MIX] = { 0 }, all[TUNE_MIX], longest = 0;

	for (int s = 0; s < t->mix.n; s++) {
		double begin;

		call_size(t, s, 1);
		PMPI_Barrier(MPI_COMM_WORLD);
		begin = MPI_Wtime();
		call_size(t, s, 3);
		mine[s] = MPI_Wtime() - begin;
	}
	PMPI_Allreduce(mine, all, TUNE_MIX, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	for (int s = 0; s < t->mix.n; s++)
		longest = all[s] > longest ? all[s] : longest;
	for (int s = 0; s < t->mix.n; s++) {
		const double calls = all[s] > 0 ? longest / all[s] + 0.5 : 1;

		t->mix.calls[s] = calls < CALLS_MOST ? (int)calls : CALLS_MOST;
	}
}

void tune_close_mix(struct tune *t)
{
	free(t->mix.counts);
	free(t->mix.displs);
}
