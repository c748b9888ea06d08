// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * network - figures 2 to 5 of Kumar, Mamidala and Panda (2008), between two nodes
 *
 * Bandwidth: 1, 2, 4, ... pairs of ranks of two nodes send and receive at the same
 * time. Inside the interval: windows of messages both ways; outside: a barrier
 * before. Pairs take turns; medians.
 *
 * Copies: as aggregation does it, ranks copy what they have just written to where
 * it is sent from; as distribution does it, they copy what has just been received
 * to where it belongs. The same bytes and the same number of copies. Inside the
 * interval: a rank's own copies alone.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../algorithms.h"
#include "tune.h"

#define WINDOW		16
#define ROUNDS		7
#define COPIES_MOST	((size_t)16 << 10)
#define COPY_ROUNDS	31
/* What aggregated blocks of the sizes that the rules choose for have. */
#define CLASS_FROM	((size_t)256)
#define CLASS_TO	((size_t)4 << 10)

/**
 * struct link - of this rank
 * @index: local rank, if it is one of a pair; else -1
 * @peer: the rank with the same index on the other node
 */
struct link {
	struct tune *t;
	struct tune_network *net;
	int npairs, index, peer;
	char *out, *in;
};

static void find_peer(struct link *l)
{
	const struct coll_plan *plan = l->t->plan;

	l->npairs = plan->nodes[0].n < plan->nodes[1].n ? plan->nodes[0].n : plan->nodes[1].n;
	l->index = plan->inode < 2 && plan->lrank < l->npairs ? plan->lrank : -1;
	l->peer = l->index < 0 ? -1 : plan->nodes[!plan->inode].ranks[l->index];
}

/* ---- bandwidth ----------------------------------------------------------- */

static void exchange_window(const struct link *l, size_t bytes)
{
	MPI_Request requests[2 * WINDOW];
	MPI_Status statuses[2 * WINDOW];
	int n = 0;

	for (int i = 0; i < WINDOW; i++)
		PMPI_Irecv(l->in + (size_t)i * bytes, (int)bytes, MPI_BYTE, l->peer, COLL_TAG,
			   l->t->plan->comm, &requests[n++]);
	for (int i = 0; i < WINDOW; i++)
		PMPI_Isend(l->out + (size_t)i * bytes, (int)bytes, MPI_BYTE, l->peer, COLL_TAG,
			   l->t->plan->comm, &requests[n++]);
	PMPI_Waitall(n, requests, statuses);
}

/* Seconds a window, of the slowest of so many pairs. */
static double time_pairs(const struct link *l, int pairs, size_t bytes, int windows)
{
	double took = 0, slowest, begin;

	PMPI_Barrier(l->t->plan->comm);
	if (l->index >= 0 && l->index < pairs) {
		begin = MPI_Wtime();
		for (int i = 0; i < windows; i++)
			exchange_window(l, bytes);
		took = (MPI_Wtime() - begin) / windows;
	}
	PMPI_Allreduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, l->t->plan->comm);
	return slowest;
}

static void measure_size(const struct link *l, int s, double seconds)
{
	struct tune_network *net = l->net;
	const double turn = seconds / (net->npairs * ROUNDS);
	double times[TUNE_PAIRS][ROUNDS];
	int windows[TUNE_PAIRS];

	for (int p = 0; p < net->npairs; p++) {
		double once;

		time_pairs(l, net->pairs[p], net->sizes[s], 1);
		once = time_pairs(l, net->pairs[p], net->sizes[s], 1);
		windows[p] = once > 0 && turn > once ? (int)fmin(turn / once, 1000) : 1;
	}
	for (int r = 0; r < ROUNDS; r++)
		for (int p = 0; p < net->npairs; p++)
			times[p][r] = time_pairs(l, net->pairs[p], net->sizes[s], windows[p]);
	for (int p = 0; p < net->npairs; p++)
		net->mbs[s][p] = 2e-6 * net->pairs[p] * WINDOW * (double)net->sizes[s] /
				 tune_median(times[p], ROUNDS);
}

/* ---- copies -------------------------------------------------------------- */

/**
 * struct ground - memory that the node's ranks share
 * @of: of each: what it sends from, then what it receives in
 */
struct ground {
	MPI_Win window;
	char **of;
	size_t half;
};

static int open_ground(const struct link *l, struct ground *g)
{
	struct coll_plan *plan = l->t->plan;
	char *mine;
	int err;

	g->half = (size_t)l->npairs * COPIES_MOST;
	g->of = calloc((size_t)plan->lsize, sizeof(*g->of));
	err = coll_agree(plan, g->of ? 0 : -ENOMEM);
	if (!err)
		err = coll_agree(plan, PMPI_Win_allocate_shared((MPI_Aint)(2 * g->half), 1,
								MPI_INFO_NULL, plan->node, &mine,
								&g->window) ? -EIO : 0);
	for (int i = 0; i < plan->lsize && !err; i++) {
		MPI_Aint bytes;
		int unit;

		PMPI_Win_shared_query(g->window, i, &bytes, &unit, &g->of[i]);
	}
	if (!err)
		memset(mine, 1, 2 * g->half);
	else
		free(g->of);
	return err;
}

/* Both in microseconds, of this rank. */
static void time_copies(const struct link *l, const struct ground *g, size_t bytes,
			double *collect, double *hand_out)
{
	const struct coll_plan *plan = l->t->plan;
	const size_t all = (size_t)l->npairs * bytes, mine = (size_t)plan->lrank * bytes;
	double begin;

	memset(l->out, 1, all);
	PMPI_Barrier(plan->node);
	begin = MPI_Wtime();
	for (int i = 0; i < l->npairs && l->index >= 0; i++)
		memcpy(g->of[i] + mine, l->out + (size_t)i * bytes, bytes);
	*collect = (MPI_Wtime() - begin) * 1e6;
	PMPI_Barrier(plan->node);
	if (l->index >= 0)
		PMPI_Sendrecv(g->of[plan->lrank], (int)all, MPI_BYTE, l->peer, COLL_TAG,
			      g->of[plan->lrank] + g->half, (int)all, MPI_BYTE, l->peer, COLL_TAG,
			      plan->comm, MPI_STATUS_IGNORE);
	PMPI_Barrier(plan->node);
	begin = MPI_Wtime();
	for (int i = 0; i < l->npairs && l->index >= 0; i++)
		memcpy(l->in + (size_t)i * bytes, g->of[i] + g->half + mine, bytes);
	*hand_out = (MPI_Wtime() - begin) * 1e6;
}

static void measure_copies(const struct link *l, const struct ground *g, int s)
{
	double collect[COPY_ROUNDS], hand_out[COPY_ROUNDS], mine[2] = { 0, 0 }, sum[2];

	for (int r = 0; r < COPY_ROUNDS; r++)
		time_copies(l, g, l->net->sizes[s], &collect[r], &hand_out[r]);
	if (l->index >= 0) {
		mine[0] = tune_median(collect, COPY_ROUNDS);
		mine[1] = tune_median(hand_out, COPY_ROUNDS);
	}
	PMPI_Allreduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, l->t->plan->comm);
	l->net->collect_us[s] = sum[0] / (2 * l->npairs);
	l->net->hand_out_us[s] = sum[1] / (2 * l->npairs);
}

/* ---- all ----------------------------------------------------------------- */

/* Geometric means over the sizes that are chosen for; 0: not measured. */
static void classify(struct tune_network *net)
{
	double bandwidths = 0, copies = 0;
	int n = 0;

	for (int s = 0; s < net->nsizes; s++) {
		if (net->sizes[s] < CLASS_FROM || net->sizes[s] > CLASS_TO)
			continue;
		n++;
		bandwidths += log(net->mbs[s][net->npairs - 1] / net->mbs[s][0]);
		copies += log(net->hand_out_us[s] / net->collect_us[s]);
	}
	net->bandwidths = net->npairs > 1 ? exp(bandwidths / n) : 0;
	net->copies = net->npairs > 1 && isfinite(copies) ? exp(copies / n) : 0;
	net->is = coll_network_class(net->bandwidths, net->copies);
	/* Pairs that wait for a processor say nothing of the adapter. */
	if (net->is_crowded)
		net->is.nic = COLL_NIC_UNKNOWN;
}

static int run_link(struct link *l, double seconds)
{
	struct ground ground;
	int err = open_ground(l, &ground);

	if (err)
		return err;
	for (int s = 0; s < l->net->nsizes; s++) {
		if (!l->t->rank)
			cli_progress(0.1 * s / l->net->nsizes, "the network");
		measure_size(l, s, seconds / l->net->nsizes);
		if (l->net->sizes[s] <= COPIES_MOST && l->npairs > 1)
			measure_copies(l, &ground, s);
	}
	PMPI_Win_free(&ground.window);
	free(ground.of);
	return 0;
}

int tune_measure_network(struct tune *t, double seconds)
{
	static const size_t sizes[TUNE_SIZES] = { 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10 };
	struct link l = { .t = t, .net = &t->network };
	size_t room;
	int err;

	find_peer(&l);
	l.net->nsizes = TUNE_SIZES;
	l.net->is_crowded = t->plan->is_crowded;
	memcpy(l.net->sizes, sizes, sizeof(sizes));
	for (int k = 1; k < 2 * l.npairs && l.net->npairs < TUNE_PAIRS; k *= 2)
		l.net->pairs[l.net->npairs++] = k < l.npairs ? k : l.npairs;
	room = sizes[TUNE_SIZES - 1] * (size_t)(l.npairs > WINDOW ? l.npairs : WINDOW);
	l.out = calloc(1, room);
	l.in = calloc(1, room);
	err = coll_agree(t->plan, l.out && l.in ? 0 : -ENOMEM);
	if (!err)
		err = run_link(&l, seconds);
	free(l.out);
	free(l.in);
	if (err)
		return err;
	classify(l.net);
	/* It goes into the usual choices, which must be the same on all ranks. */
	PMPI_Bcast(&l.net->is, sizeof(l.net->is), MPI_BYTE, 0, t->plan->comm);
	t->plan->network = l.net->is;
	t->is_measured = 1;
	return 0;
}
