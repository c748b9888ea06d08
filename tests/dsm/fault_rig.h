/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fault back end at work: one process with a home of its pages beside it. Misses fetch
 * from there, releases send diffs there, as the core does it; threads that fault wait for
 * a server that has the back end for itself. What is lost on the way is missing at home.
 */
#ifndef SONDE_TESTS_FAULT_RIG_H
#define SONDE_TESTS_FAULT_RIG_H

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../dsm/fault/fault.h"
#include "../unit/tap.h"

static const char *const rig_names[] = { "module", "uffd-async", "uffd-sigbus", "sigsegv" };

#define RIG_NAMES	(sizeof(rig_names) / sizeof(rig_names[0]))

static const char *rig_here[RIG_NAMES];
static int rig_count;

/* A thread that waits, on its own stack. */
struct rig_miss {
	struct rig_miss *next;
	uint32_t page;
	bool write;
	atomic_int done;
};

struct rig {
	struct dsm_fault *f;
	uint32_t pages, unit;
	unsigned char *home;
	const struct dsm_diff_ops *diff;
	uint64_t *masks;
	unsigned char *encoded, *snapshot;
	uint8_t *prot, *dirty;
	void **twin;
	uint32_t *list;
	pthread_mutex_t lock;	/* of the back end and all above */
	pthread_t server;
	int wake;
	_Atomic(struct rig_miss *) misses;
	atomic_bool stop;
	atomic_uint served;
};

static inline bool rig_has(const struct rig *r, unsigned int cap)
{
	return r->f->caps & cap;
}

static inline unsigned char *rig_view(const struct rig *r, uint32_t page)
{
	return r->f->view + (size_t)page * r->unit;
}

static inline unsigned char *rig_alias(const struct rig *r, uint32_t page)
{
	return r->f->ops->page(r->f, page);
}

static inline unsigned char *rig_home(const struct rig *r, uint32_t page)
{
	return r->home + (size_t)page * r->unit;
}

static inline void rig_protect(struct rig *r, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	if (r->f->ops->protect(r->f, pages, n, prot))
		ck_abort_msg("protect: %s", r->f->why);
	for (size_t i = 0; i < n; i++)
		r->prot[pages[i]] = prot;
}

static inline void rig_set(struct rig *r, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	pthread_mutex_lock(&r->lock);
	rig_protect(r, pages, n, prot);
	pthread_mutex_unlock(&r->lock);
}

static inline void rig_mark(struct rig *r, uint32_t page)
{
	if (r->dirty[page])
		return;
	r->dirty[page] = true;
	r->twin[page] = r->f->ops->twin(r->f, page);
	ck_assert_ptr_nonnull(r->twin[page]);
}

/* Writes that nobody heard of; returns how many pages, in r->list. */
static inline ssize_t rig_collect(struct rig *r)
{
	ssize_t n;

	if (!rig_has(r, DSM_FAULT_WRITES))
		return 0;
	n = r->f->ops->written(r->f, r->list, r->pages);
	if (n < 0)
		ck_abort_msg("written: %s", r->f->why);
	for (ssize_t i = 0; i < n; i++)
		rig_mark(r, r->list[i]);
	return n;
}

static inline void rig_fetch(struct rig *r, uint32_t page)
{
	if (r->twin[page])
		dsm_diff_merge(r->diff, rig_alias(r, page), r->twin[page], rig_home(r, page),
			       r->unit, r->masks);
	else
		memcpy(rig_alias(r, page), rig_home(r, page), r->unit);
	rig_protect(r, &page, 1, DSM_READ);
}

static inline void rig_serve(struct rig *r, uint32_t page, bool write)
{
	pthread_mutex_lock(&r->lock);
	atomic_fetch_add(&r->served, 1);
	if (r->prot[page] == DSM_NONE)
		rig_fetch(r, page);
	if (write && r->prot[page] != DSM_WRITE && !rig_has(r, DSM_FAULT_WRITES)) {
		rig_mark(r, page);
		rig_protect(r, &page, 1, DSM_WRITE);
	}
	pthread_mutex_unlock(&r->lock);
}

/* In the signal handler of the thread that met the page. */
static inline void rig_fault(void *ctx, uint32_t page, bool writes)
{
	struct rig *r = ctx;
	struct rig_miss miss = { .page = page, .write = writes };
	uint64_t one = 1;

	miss.next = atomic_load(&r->misses);
	while (!atomic_compare_exchange_weak(&r->misses, &miss.next, &miss))
		;
	if (write(r->wake, &one, sizeof(one)) != sizeof(one))
		abort();
	while (!atomic_load(&miss.done))
		syscall(SYS_futex, &miss.done, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static inline void rig_answer(struct rig *r)
{
	struct rig_miss *miss = atomic_exchange(&r->misses, NULL), *next;

	for (; miss; miss = next) {
		next = miss->next;
		rig_serve(r, miss->page, miss->write);
		atomic_store(&miss->done, 1);
		syscall(SYS_futex, &miss->done, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static inline void *rig_server(void *arg)
{
	struct rig *r = arg;
	struct dsm_fault_event event;
	uint64_t count;
	int err;

	while (!atomic_load(&r->stop)) {
		dsm_fault_wait(r->f, r->wake);
		if (read(r->wake, &count, sizeof(count)) == sizeof(count))
			rig_answer(r);
		while (rig_has(r, DSM_FAULT_EVENTS) && (err = r->f->ops->next(r->f, &event))) {
			ck_assert_msg(err == 1, "next: %s", r->f->why);
			rig_serve(r, event.page, event.write);
		}
	}
	return NULL;
}

static inline void *rig_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	ck_assert_ptr_nonnull(p);
	return p;
}

static inline struct rig *rig_create(const char *name, uint32_t pages, uint32_t unit)
{
	struct rig *r = rig_alloc(1, sizeof(*r));
	struct dsm_fault_config config = {
		.pages = pages, .unit = unit, .ctx = r, .fault = rig_fault,
	};
	char why[1000] = "";

	if (dsm_fault_create(&r->f, name, &config, why, sizeof(why)))
		ck_abort_msg("%s", why);
	r->pages = pages;
	r->unit = unit;
	r->diff = dsm_diff_best();
	r->home = rig_alloc(pages, unit);
	r->masks = rig_alloc(dsm_diff_masks(unit), sizeof(*r->masks));
	r->encoded = rig_alloc(1, dsm_diff_bound(unit));
	r->snapshot = rig_alloc(1, unit);
	r->prot = rig_alloc(pages, 1);
	memset(r->prot, DSM_READ, pages);
	r->dirty = rig_alloc(pages, 1);
	r->twin = rig_alloc(pages, sizeof(*r->twin));
	r->list = rig_alloc(pages, sizeof(*r->list));
	pthread_mutex_init(&r->lock, NULL);
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_ge(r->wake, 0);
	ck_assert_int_eq(0, pthread_create(&r->server, NULL, rig_server, r));
	return r;
}

static inline void rig_destroy(struct rig *r)
{
	uint64_t one = 1;

	atomic_store(&r->stop, true);
	ck_assert_int_eq(sizeof(one), write(r->wake, &one, sizeof(one)));
	pthread_join(r->server, NULL);
	r->f->ops->destroy(r->f);
	close(r->wake);
	free(r->home);
	free(r->masks);
	free(r->encoded);
	free(r->snapshot);
	free(r->prot);
	free(r->dirty);
	free(r->twin);
	free(r->list);
	free(r);
}

/* What a page has that its home lacks goes there; the rest of it is left alone. */
static inline void rig_send(struct rig *r, uint32_t page)
{
	size_t len;

	memcpy(r->snapshot, rig_alias(r, page), r->unit);
	len = dsm_diff_encode(r->diff, r->snapshot, r->twin[page], r->unit, r->masks, r->encoded);
	if (len)
		ck_assert_int_eq(0, dsm_diff_apply(r->diff, rig_home(r, page), NULL, r->unit,
						   r->encoded, len));
	memcpy(r->twin[page], r->snapshot, r->unit);
	r->f->ops->untwin(r->f, page);
	r->twin[page] = NULL;
	r->dirty[page] = false;
}

/* All that was written; returns how many pages, in r->list. */
static inline size_t rig_release(struct rig *r)
{
	size_t n = 0, open = 0;

	pthread_mutex_lock(&r->lock);
	rig_collect(r);
	for (uint32_t page = 0; page < r->pages; page++)
		if (r->dirty[page] && r->prot[page] == DSM_WRITE)
			r->list[open++] = page;
	rig_protect(r, r->list, open, DSM_READ);
	for (uint32_t page = 0; page < r->pages; page++) {
		if (!r->dirty[page])
			continue;
		rig_send(r, page);
		r->list[n++] = page;
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

static inline void rig_void(struct rig *r, const uint32_t *pages, size_t n)
{
	pthread_mutex_lock(&r->lock);
	rig_protect(r, pages, n, DSM_NONE);
	rig_collect(r);
	pthread_mutex_unlock(&r->lock);
}

/* Those that work here; says why of the others. */
static inline void rig_look(void)
{
	struct dsm_fault_config config = { .pages = 1, .unit = 4096, .fault = rig_fault };

	for (size_t i = 0; i < RIG_NAMES; i++) {
		struct dsm_fault *f;
		char why[1000] = "";

		if (dsm_fault_create(&f, rig_names[i], &config, why, sizeof(why))) {
			why[strcspn(why, "\n")] = '\0';
			tap_left_out(why);
			continue;
		}
		f->ops->destroy(f);
		rig_here[rig_count++] = rig_names[i];
	}
}

#endif
