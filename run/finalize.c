// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * finalize - MPI_Finalize of MPICH 4.0 over UCX, without its hang
 *
 * There each rank closes its endpoints, which flushes them, and then blocks in
 * the process manager's barrier, where it polls UCX no more. A flush that needs
 * an answer of such a rank (a connection still being made) never ends: see
 * pmodels/mpich#6596. Here everything is flushed while everybody still polls:
 *
 *   flush     what this rank has sent is out
 *   barrier   so is what everybody sent; each connection that this barrier and
 *             the next one need has been asked for
 *   flush     those connections are made, both ways, by ranks that are here or
 *             in the next barrier, so they answer
 *   barrier   everybody has done so
 *   flush     only the last barrier's few bytes are on their way, over
 *             connections that are made: this needs nobody's answer
 *
 * Then there is nothing left for the disconnects to wait for, and they are not
 * done: the worker closes its endpoints when it is destroyed, after the process
 * manager's barrier.
 *
 * Only in an MPICH with UCX; elsewhere MPI's own goes unchanged. With more than
 * one worker in a rank its disconnects are done, since only one is flushed.
 */
#include <errno.h>
#include <stddef.h>
#include <time.h>
#include "yield.h"

/* Handles of MPICH's ABI (mpi.h), the same from 3.1 on. */
#define MPICH_COMM_WORLD 0x44000000
#define MPICH_COMM_SELF 0x44000001
#define MPICH_BYTE 0x4c00010d
#define MPI_ERR_OTHER 15
/* MPI_Status is 5 of them. */
#define STATUS_INTS 8

/* UCX's status of an operation under way, and pointers that are errors
 * (ucs/type/status.h). */
#define UCX_INPROGRESS 1
#define UCX_IS_ERROR(request) ((uintptr_t)(request) >= (uintptr_t)-100)

/* The last flush ends by itself; a broken transport is not to hold the job. */
#define LAST_FLUSH_S 10
/* Calls of MPI_Test without one poll of UCX: this MPI does not poll there. */
#define MOST_TESTS 10000

/**
 * struct mpich - what is called behind the profiling interface
 */
struct mpich {
	int (*initialized)(int *flag);
	int (*finalized)(int *flag);
	int (*barrier)(int comm);
	int (*irecv)(void *buf, int count, int type, int source, int tag, int comm, int *request);
	int (*test)(int *request, int *flag, void *status);
	int (*cancel)(int *request);
	int (*wait)(int *request, void *status);
};

/**
 * struct flusher - UCX's functions for it, and the flush under way
 * @steps: polls seen since it was asked for
 */
static struct flusher {
	void *(*start)(ucp_worker_h worker, unsigned int flags, void (*done)(void *, int));
	int (*check)(void *request);
	void (*free)(void *request);
	void *request;
	_Atomic unsigned long steps;
} flusher;

_Atomic int flush_state;
/* Set before the flushes are over, read by the disconnects of the same thread. */
static _Atomic int is_settled;

static void ignore_end(void *request, int status)
{
	(void)request;
	(void)status;
}

/*
 * One step, by the thread that polls and under its lock. The state is written
 * with release for the thread that waits in flush_all().
 */
void step_flush(ucp_worker_h worker)
{
	int state = atomic_load_explicit(&flush_state, memory_order_acquire);
	int next = state;

	atomic_fetch_add_explicit(&flusher.steps, 1, memory_order_relaxed);
	if (state == FLUSH_WANTED) {
		flusher.request = flusher.start(worker, 0, ignore_end);
		next = !flusher.request ? FLUSH_DONE :
		       UCX_IS_ERROR(flusher.request) ? FLUSH_FAILED : FLUSH_UNDER_WAY;
	} else if (state == FLUSH_UNDER_WAY) {
		int status = flusher.check(flusher.request);

		if (status == UCX_INPROGRESS)
			return;
		flusher.free(flusher.request);
		next = status ? FLUSH_FAILED : FLUSH_DONE;
	}
	if (next != state)
		atomic_store_explicit(&flush_state, next, memory_order_release);
}

static double read_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/*
 * Poll by testing a request that never ends, until the flush has ended.
 *
 * Return: 0, -EIO (UCX says no), -ENOSYS (UCX is not polled from there) or
 * -ETIMEDOUT after @seconds; no deadline if that is 0.
 */
static int poll_flush(const struct mpich *mpi, int *request, double seconds)
{
	double end = read_seconds() + seconds;
	int status[STATUS_INTS];

	for (unsigned long tests = 0;; tests++) {
		int flag, state;

		if (mpi->test(request, &flag, status))
			return -EIO;
		state = atomic_load_explicit(&flush_state, memory_order_acquire);
		if (state == FLUSH_DONE || state == FLUSH_FAILED)
			return state == FLUSH_DONE ? 0 : -EIO;
		if (tests > MOST_TESTS && !atomic_load(&flusher.steps))
			return -ENOSYS;
		if (seconds > 0 && read_seconds() > end)
			return -ETIMEDOUT;
	}
}

static int flush_all(const struct mpich *mpi, double seconds)
{
	int status[STATUS_INTS];
	int request, err;
	char nothing;

	if (mpi->irecv(&nothing, 0, MPICH_BYTE, 0, 0, MPICH_COMM_SELF, &request))
		return -EIO;
	atomic_store_explicit(&flusher.steps, 0, memory_order_relaxed);
	atomic_store_explicit(&flush_state, FLUSH_WANTED, memory_order_release);
	err = poll_flush(mpi, &request, seconds);
	/* A request of UCX that has not ended stays with its worker. */
	atomic_store(&flush_state, FLUSH_NONE);
	if (!mpi->cancel(&request))
		mpi->wait(&request, status);
	return err;
}

static int find_functions(struct mpich *mpi, const void *caller)
{
	*(void **)&mpi->initialized = find_next("PMPI_Initialized", caller);
	*(void **)&mpi->finalized = find_next("PMPI_Finalized", caller);
	*(void **)&mpi->barrier = find_next("PMPI_Barrier", caller);
	*(void **)&mpi->irecv = find_next("PMPI_Irecv", caller);
	*(void **)&mpi->test = find_next("PMPI_Test", caller);
	*(void **)&mpi->cancel = find_next("PMPI_Cancel", caller);
	*(void **)&mpi->wait = find_next("PMPI_Wait", caller);
	*(void **)&flusher.start = find_next("ucp_worker_flush_nb", caller);
	*(void **)&flusher.check = find_next("ucp_request_check_status", caller);
	*(void **)&flusher.free = find_next("ucp_request_free", caller);
	return mpi->initialized && mpi->finalized && mpi->barrier && mpi->irecv &&
	       mpi->test && mpi->cancel && mpi->wait && flusher.start && flusher.check &&
	       flusher.free;
}

/* Is this a place where settling is right? The same answer in every rank: no
 * matter what this one has done so far. */
static int can_settle(struct mpich *mpi, const void *caller)
{
	int begun = 0, over = 0;

	return get_settings()->settles && find_functions(mpi, caller) && is_in_mpich(*(void **)&mpi->barrier) &&
	       !mpi->initialized(&begun) && begun && !mpi->finalized(&over) && !over;
}

/* Every rank does the same barriers, whatever its flushes say. */
static void settle(const void *caller)
{
	struct mpich mpi;
	int err, last;

	if (!can_settle(&mpi, caller))
		return;
	err = flush_all(&mpi, 0);
	if (mpi.barrier(MPICH_COMM_WORLD))
		return;
	last = flush_all(&mpi, 0);
	err = err ? err : last;
	if (mpi.barrier(MPICH_COMM_WORLD))
		return;
	last = flush_all(&mpi, LAST_FLUSH_S);
	if (!err && !workers_differ() && (!last || last == -ETIMEDOUT)) {
		atomic_store(&is_settled, 1);
		atomic_store(&counters.settled, 1);
	}
}

YIELD_EXPORT void *ucp_disconnect_nb(ucp_ep_h ep);
YIELD_EXPORT void *ucp_disconnect_nb(ucp_ep_h ep)
{
	void *(*next)(ucp_ep_h ep) = NULL;

	if (atomic_load(&is_settled)) {
		atomic_fetch_add_explicit(&counters.kept, 1, memory_order_relaxed);
		return NULL;
	}
	*(void **)&next = find_next("ucp_disconnect_nb", __builtin_return_address(0));
	return next ? next(ep) : NULL;
}

/*
 * A tool may stand between the program and MPI and communicate when it ends: it
 * then calls PMPI_Finalize, and that is the place to settle.
 */
YIELD_EXPORT int MPI_Finalize(void);
YIELD_EXPORT int MPI_Finalize(void)
{
	const void *caller = __builtin_return_address(0);
	void *next = find_next("MPI_Finalize", caller);
	int (*finalize)(void) = NULL;

	if (next && next == find_next("PMPI_Finalize", caller))
		settle(caller);
	*(void **)&finalize = next;
	return finalize ? finalize() : MPI_ERR_OTHER;
}

YIELD_EXPORT int PMPI_Finalize(void);
YIELD_EXPORT int PMPI_Finalize(void)
{
	const void *caller = __builtin_return_address(0);
	int (*finalize)(void) = NULL;

	settle(caller);
	*(void **)&finalize = find_next("PMPI_Finalize", caller);
	return finalize ? finalize() : MPI_ERR_OTHER;
}
