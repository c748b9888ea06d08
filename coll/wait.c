// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * wait - for a line of another rank: spin, then yield, then sleep
 *
 * Where each rank has a processor of its own the line comes soon: spinning
 * costs nobody anything. Where ranks outnumber processors the one that is
 * waited for may need this very processor: yield at once. Who waits long waits
 * for a rank that computes: sleep, so that it has the processor.
 *
 * A sleeper may not be missed: it says that it sleeps, then looks once more at
 * the line; a writer writes the line, then looks whether somebody sleeps. Both
 * have a full fence between the two, so one of them sees the other.
 *
 * MPI must go on meanwhile: another rank may have to finish a send to this one
 * before it can get here, and a rendezvous needs both sides. So MPI is looked at
 * from time to time (by a probe for what never comes), and sleep is short.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "segment.h"

#define SPINS		2000	/* some 40 us: longer than any exchange without copies */
#define SPINS_LEAST	16
#define YIELDS_A_POKE	16	/* looks between two looks at MPI */
#define YIELD_NS	1000000	/* then sleep: five times dearer than a yield that works */
#define SLEEP_NS	1000000	/* the longest that MPI is not looked at */
#define SLEEPS_A_LOOK	64	/* sleeps between two looks whether the other lives */

static inline void pause_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#else
	atomic_signal_fence(memory_order_seq_cst);
#endif
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void poke(const struct coll_segment *seg)
{
	int flag;

	PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, seg->comm, &flag, MPI_STATUS_IGNORE);
	if (seg->idle)
		seg->idle(seg->idle_of);
}

/*
 * How long is learned: other programs may have a rank's processor though there
 * are enough of them. A spin in vain halves the next, one that pays lengthens it.
 */
static int spin(struct coll_segment *seg, int from, uint64_t step)
{
	const int most = seg->is_crowded ? SPINS_LEAST : SPINS;

	if (seg->spins > most)
		seg->spins = most;
	for (int i = 0; i < seg->spins; i++) {
		if (coll_is_posted(seg, from, step)) {
			seg->spins += seg->spins / 8 + 1;
			return 1;
		}
		pause_cpu();
	}
	seg->spins = seg->spins / 2 > SPINS_LEAST ? seg->spins / 2 : SPINS_LEAST;
	return 0;
}

static int yield(const struct coll_segment *seg, int from, uint64_t step)
{
	const int64_t begin = now_ns();

	do {
		for (int i = 0; i < YIELDS_A_POKE; i++) {
			if (coll_is_posted(seg, from, step))
				return 1;
			sched_yield();
		}
		poke(seg);
	} while (now_ns() - begin < YIELD_NS);
	return 0;
}

static void sleep_once(struct coll_segment *seg, int from, uint64_t step)
{
	const struct timespec most = { .tv_nsec = SLEEP_NS };
	struct coll_bell *bell = coll_bell(seg, seg->me);
	struct coll_head *head = coll_head(seg);

	atomic_fetch_add_explicit(&head->sleepers, 1, memory_order_relaxed);
	atomic_store_explicit(&bell->is_asleep, 1, memory_order_relaxed);
	/* Partner: coll_wake(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!coll_is_posted(seg, from, step))
		syscall(SYS_futex, &bell->is_asleep, FUTEX_WAIT, 1, &most, NULL, 0);
	atomic_store_explicit(&bell->is_asleep, 0, memory_order_relaxed);
	atomic_fetch_sub_explicit(&head->sleepers, 1, memory_order_relaxed);
}

/* A number may be another process's by now: then this waits on, as before. */
static int has_ended(int pid)
{
	struct pollfd poller = { .events = POLLIN };
	int ended;

	if (!pid)
		return 0;
	poller.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poller.fd < 0)
		return errno == ESRCH;
	ended = poll(&poller, 1, 0) == 1;
	close(poller.fd);
	return ended;
}

int coll_wait_slowly(struct coll_segment *seg, int from, uint64_t step)
{
	if (spin(seg, from, step) || yield(seg, from, step))
		return 0;
	for (unsigned int i = 1; !coll_is_posted(seg, from, step); i++) {
		sleep_once(seg, from, step);
		poke(seg);
		if (!(i % SLEEPS_A_LOOK) && has_ended(seg->pids[from]) &&
		    !coll_is_posted(seg, from, step))
			return -EOWNERDEAD;
	}
	return 0;
}

void coll_wake(struct coll_segment *seg)
{
	/* Partner: sleep_once(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&coll_head(seg)->sleepers, memory_order_relaxed))
		return;
	for (int i = 0; i < seg->n; i++) {
		_Atomic uint32_t *is_asleep = &coll_bell(seg, i)->is_asleep;

		if (i != seg->me && atomic_load_explicit(is_asleep, memory_order_relaxed) &&
		    atomic_exchange_explicit(is_asleep, 0, memory_order_relaxed))
			syscall(SYS_futex, is_asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
}

void coll_post_all(struct coll_segment *seg, uint64_t step)
{
	for (int k = 1; k < seg->n; k++)
		coll_post(seg, (seg->me + k) % seg->n, step);
	coll_wake(seg);
}
