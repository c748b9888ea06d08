// SPDX-License-Identifier: LGPL-2.1-or-later
/* Requests to the progress thread, and sleep until they are answered. */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

void dsm_futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *until)
{
	/* The bitset form takes a point in time, not a span. */
	syscall(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, value, until, NULL,
		FUTEX_BITSET_MATCH_ANY);
}

/* The word may be gone by now: then nobody waits there, or somebody looks once in vain. */
void dsm_futex_wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
}

/* Safe in a signal handler. */
void dsm_submit(struct dsm_run *run, struct dsm_request *r)
{
	struct dsm_request *head = atomic_load_explicit(&run->inbox, memory_order_relaxed);

	if (run->is_timed) {
		r->begun_ns = dsm_now();
		r->thread = dsm_local ? (uint32_t)dsm_local->id : 0;
	}
	do
		r->next = head;
	while (!atomic_compare_exchange_weak_explicit(&run->inbox, &head, r, memory_order_release,
						      memory_order_relaxed));
	/* Whoever found it empty rings; the others came before it was looked at. */
	if (!head)
		dsm_bell_ring(run->transport->bell);
}

void dsm_answer(struct dsm_request *r, int result)
{
	if (r->is_nobodys) {
		free(r);
		return;
	}
	r->result = result;
	/* Partner: dsm_await(). From here on the request may be gone. */
	atomic_store_explicit(&r->is_done, 1, memory_order_release);
	dsm_futex_wake(&r->is_done);
}

uint64_t dsm_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_over(const struct timespec *until)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > until->tv_sec ||
	       (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

int dsm_await(struct dsm_run *run, struct dsm_request *r, const struct timespec *deadline)
{
	struct dsm_request cancel = { .kind = DSM_REQUEST_CANCEL, .target = r };

	while (!atomic_load_explicit(&r->is_done, memory_order_acquire)) {
		dsm_futex_wait(&r->is_done, 0, deadline);
		if (!deadline || !is_over(deadline) ||
		    atomic_load_explicit(&r->is_done, memory_order_acquire))
			continue;
		dsm_submit(run, &cancel);
		dsm_await(run, &cancel, NULL);
		deadline = NULL;
	}
	return r->result;
}

int dsm_do(struct dsm_run *run, enum dsm_event_kind kind, uint64_t id, uint64_t arg,
	   const struct timespec *deadline)
{
	struct dsm_request r = { .event = { .kind = kind, .id = id, .arg = arg } };

	dsm_submit(run, &r);
	return dsm_await(run, &r, deadline);
}

void dsm_call(struct dsm_run *run, void (*call)(struct dsm_run *run, void *ctx), void *ctx)
{
	struct dsm_request r = { .kind = DSM_REQUEST_CALL, .call = call, .ctx = ctx };

	dsm_submit(run, &r);
	dsm_await(run, &r, NULL);
}

int dsm_deadline(struct timespec *until, clockid_t clock, const struct timespec *deadline)
{
	struct timespec now, mono;
	int64_t ns;

	if (!deadline || deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000)
		return EINVAL;
	clock_gettime(clock, &now);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	if (deadline->tv_sec - now.tv_sec > 100000000)
		ns = 100000000LL * 1000000000;
	else
		ns = (int64_t)(deadline->tv_sec - now.tv_sec) * 1000000000 + deadline->tv_nsec -
		     now.tv_nsec;
	if (ns < 0)
		ns = 0;
	ns += mono.tv_nsec;
	*until = (struct timespec){ .tv_sec = mono.tv_sec + ns / 1000000000,
				    .tv_nsec = ns % 1000000000 };
	return 0;
}
