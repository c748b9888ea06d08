// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * userfaultfd whose write protection the kernel lifts by itself (Linux 6.7): the first
 * write to a page is a short fault that no user code hears of, and PAGEMAP_SCAN takes the
 * list of such pages and protects them again, in one step. Misses are events.
 *
 * What was written cannot be asked for a twin any more, so a twin is kept of each page
 * that came from elsewhere; one that was never kept is of a page that began as zeros.
 *
 * A page that is taken away leaves an entry in the page table that tells whether it was
 * written until then: the scan finds that too.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "uffd.h"

/* Linux 6.7; older headers are enough to build. */
#ifndef PAGEMAP_SCAN
#define PAGEMAP_SCAN		_IOWR('f', 16, struct pm_scan_arg)
#define PAGE_IS_WRITTEN		(1 << 1)
#define PM_SCAN_WP_MATCHING	(1 << 0)
#define PM_SCAN_CHECK_WPASYNC	(1 << 1)

struct page_region {
	__u64 start, end, categories;
};

struct pm_scan_arg {
	__u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	__u64 category_inverted, category_mask, category_anyof_mask, return_mask;
};
#endif

#define REGIONS	256
#define BLOCK	((size_t)2 << 20)	/* bytes that are scanned or left out together */

enum {
	PROT = 3,		/* enum dsm_prot */
	MISS_READ = 4,		/* an event told of it */
	MISS_WRITE = 8,
	KEPT = 16,		/* the slot has what a twin is to be; zeros without a slot */
	OUT = 32,		/* the twin is in use */
	OPEN = 64,		/* was DSM_WRITE before it was DSM_NONE: not to be told */
};

struct async {
	struct dsm_uffd u;
	uint8_t *state;
	size_t block, blocks;
	uint32_t *noticed;	/* by block: pages that are DSM_READ */
	bool *voided;		/* by block: pages became DSM_NONE since the last scan */
	bool *touched;		/* by block: the file has pages there */
	size_t hole, hole_end;	/* bytes of the file that are not there, in one protect() */
	int pagemap;
	pthread_mutex_t lock;	/* next() may be called beside all others */
	struct page_region regions[REGIONS];
};

struct list {
	uint32_t *pages;
	size_t n, room;
};

static enum dsm_prot prot_of(const struct async *a, uint32_t page)
{
	return a->state[page] & PROT;
}

static size_t block_of(const struct async *a, uint32_t page)
{
	return page * (size_t)a->u.m.f.config.unit / a->block;
}

/* ---- what was written ---- */

/* Once a block is touched it stays so; between blocks that are not there is one question. */
static void find_touched(struct async *a)
{
	for (size_t b = 0; b < a->blocks; b++) {
		off_t data;

		if (a->touched[b])
			continue;
		data = lseek(a->u.m.file, (off_t)(b * a->block), SEEK_DATA);
		if (data < 0)
			return;
		b = (size_t)data / a->block;
		a->touched[b] = true;
	}
}

static bool is_scanned(const struct async *a, size_t b)
{
	return a->touched[b] && (a->noticed[b] || a->voided[b]);
}

/* Pages of more than one page of the kernel are told once, though each of these is found. */
static void take(struct async *a, struct list *list, const struct page_region *r)
{
	size_t unit = a->u.m.f.config.unit, base = (uintptr_t)a->u.m.f.view;
	uint32_t page = (uint32_t)((r->start - base) / unit);

	for (; page * unit < r->end - base; page++) {
		if (a->state[page] & OPEN || prot_of(a, page) == DSM_WRITE ||
		    (list->n && list->pages[list->n - 1] == page))
			continue;
		if (prot_of(a, page) == DSM_NONE)
			a->state[page] |= KEPT;
		list->pages[list->n++] = page;
	}
}

/* Asked for this alone, the kernel also finds written pages that it has taken away. */
static int scan(struct async *a, size_t from, size_t to, struct list *list)
{
	uintptr_t view = (uintptr_t)a->u.m.f.view;
	struct pm_scan_arg arg = {
		.size = sizeof(arg), .flags = PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC,
		.start = view + from, .end = view + to,
		.vec = (uintptr_t)a->regions, .vec_len = REGIONS,
		.category_mask = PAGE_IS_WRITTEN, .return_mask = PAGE_IS_WRITTEN,
	};
	int found;

	while (arg.start < arg.end && list->n < list->room) {
		arg.max_pages = list->room - list->n;
		found = ioctl(a->pagemap, PAGEMAP_SCAN, &arg);
		if (found < 0 && errno == EINTR)
			continue;
		if (found < 0)
			return dsm_why(a->u.m.f.why, sizeof(a->u.m.f.why), -errno,
				       "PAGEMAP_SCAN: %s", strerror(errno));
		for (int i = 0; i < found; i++)
			take(a, list, &a->regions[i]);
		arg.start = arg.walk_end;
	}
	return 0;
}

static ssize_t written(struct dsm_fault *fault, uint32_t *pages, size_t room)
{
	struct async *a = (struct async *)fault;
	struct list list = { .pages = pages, .room = room };
	size_t b, end, to;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	find_touched(a);
	for (b = 0; b < a->blocks && list.n < room && !err; b = end) {
		for (end = b; end < a->blocks && is_scanned(a, end); end++)
			;
		if (end == b) {
			end++;
			continue;
		}
		to = end * a->block < a->u.m.bytes ? end * a->block : a->u.m.bytes;
		err = scan(a, b * a->block, to, &list);
		if (!err && list.n < room)
			memset(a->voided + b, 0, end - b);
	}
	pthread_mutex_unlock(&a->lock);
	return err ? err : (ssize_t)list.n;
}

/* ---- protection ---- */

static void set_state(struct async *a, uint32_t page, uint8_t state)
{
	size_t b = block_of(a, page);

	a->noticed[b] += (state & PROT) == DSM_READ;
	a->noticed[b] -= prot_of(a, page) == DSM_READ;
	a->state[page] = state;
}

/* Zeros, which need no memory to be kept. */
static bool is_hole(struct async *a, uint32_t page)
{
	size_t unit = a->u.m.f.config.unit, at = page * unit;
	off_t data;

	if (at < a->hole || at >= a->hole_end) {
		data = lseek(a->u.m.file, (off_t)at, SEEK_DATA);
		a->hole = at;
		a->hole_end = data < 0 ? a->u.m.bytes : (size_t)data;
	}
	return at + unit <= a->hole_end;
}

static void keep(struct async *a, uint32_t page)
{
	if (is_hole(a, page))
		dsm_memory_untwin(&a->u.m.f, page);
	else
		memcpy(dsm_memory_slot(&a->u.m, page), dsm_memory_page(&a->u.m.f, page),
		       a->u.m.f.config.unit);
}

static int withdraw(struct async *a, const uint32_t *pages, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t page = pages[i];
		uint8_t was = a->state[page];

		if ((was & PROT) == DSM_NONE)
			continue;
		a->voided[block_of(a, page)] = true;
		set_state(a, page, (uint8_t)(DSM_NONE | (was & OUT) |
			  ((was & PROT) == DSM_WRITE ? OPEN : 0)));
	}
	return dsm_uffd_remove(&a->u, pages, n);
}

/*
 * Pages first to first + n - 1, all of them @was. The kernel lifts the protection of what
 * becomes DSM_WRITE at the next write; nobody is told, so that is soon enough.
 */
static int grant(struct async *a, uint32_t first, size_t n, enum dsm_prot was, enum dsm_prot prot)
{
	size_t unit = a->u.m.f.config.unit, at = first * unit;
	bool twin = prot == DSM_READ;
	int err = 0;

	for (uint32_t page = first; twin && was == DSM_NONE && page < first + n; page++)
		if (!(a->state[page] & OUT))
			keep(a, page);
	if (was == DSM_NONE)
		err = dsm_uffd_install(&a->u, at, n * unit, prot == DSM_READ);
	else if (was == DSM_WRITE)
		err = dsm_uffd_protect(&a->u, at, n * unit, true);
	for (uint32_t page = first; !err && page < first + n; page++) {
		if (twin && was == DSM_WRITE && !(a->state[page] & OUT))
			keep(a, page);
		set_state(a, page, (uint8_t)(prot | (a->state[page] & OUT) | (twin ? KEPT : 0)));
	}
	return err;
}

static int grant_list(struct async *a, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	size_t first, i = 0;
	int err = 0;

	while (i < n && !err) {
		enum dsm_prot was = prot_of(a, pages[i]);

		for (first = i++; i < n; i++)
			if (pages[i] != pages[i - 1] + 1 || prot_of(a, pages[i]) != was)
				break;
		if (was != prot)
			err = grant(a, pages[first], i - first, was, prot);
	}
	return err;
}

static int protect(struct dsm_fault *fault, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	struct async *a = (struct async *)fault;
	int err;

	pthread_mutex_lock(&a->lock);
	a->hole_end = 0;
	err = prot == DSM_NONE ? withdraw(a, pages, n) : grant_list(a, pages, n, prot);
	pthread_mutex_unlock(&a->lock);
	return err;
}

/* ---- twins ---- */

static void *twin(struct dsm_fault *fault, uint32_t page)
{
	struct async *a = (struct async *)fault;

	pthread_mutex_lock(&a->lock);
	a->state[page] |= OUT;
	if (!(a->state[page] & KEPT))
		dsm_memory_twin(fault, page);
	else if (!a->u.m.slot[page])
		memset(dsm_memory_slot(&a->u.m, page), 0, fault->config.unit);
	pthread_mutex_unlock(&a->lock);
	return dsm_memory_slot(&a->u.m, page);
}

static void untwin(struct dsm_fault *fault, uint32_t page)
{
	struct async *a = (struct async *)fault;

	pthread_mutex_lock(&a->lock);
	a->state[page] &= (uint8_t)~OUT;
	if (!(a->state[page] & KEPT))
		dsm_memory_untwin(fault, page);
	pthread_mutex_unlock(&a->lock);
}

/* ---- misses ---- */

/* The view lacks a page that may be used; that it was written must not be forgotten. */
static int restore(struct async *a, uint32_t page, uintptr_t address)
{
	size_t system = a->u.system, at = (address - (uintptr_t)a->u.m.f.view) / system * system;
	struct pm_scan_arg arg = {
		.size = sizeof(arg), .start = (uintptr_t)a->u.m.f.view + at,
		.end = (uintptr_t)a->u.m.f.view + at + system,
		.vec = (uintptr_t)a->regions, .vec_len = 1,
		.category_mask = PAGE_IS_WRITTEN, .return_mask = PAGE_IS_WRITTEN,
	};
	int dirty = prot_of(a, page) == DSM_WRITE ? 1 : ioctl(a->pagemap, PAGEMAP_SCAN, &arg);

	if (dirty < 0)
		return dsm_why(a->u.m.f.why, sizeof(a->u.m.f.why), -errno, "PAGEMAP_SCAN: %s",
			       strerror(errno));
	return dsm_uffd_install(&a->u, at, system, !dirty);
}

/* 1 if @event is news; a page and kind is told of once. */
static int take_event(struct async *a, uintptr_t address, struct dsm_fault_event *event)
{
	uint8_t kind = event->write ? MISS_WRITE : MISS_READ;
	int err = 0;

	pthread_mutex_lock(&a->lock);
	if (prot_of(a, event->page) != DSM_NONE) {
		err = restore(a, event->page, address);
	} else if (!(a->state[event->page] & kind)) {
		a->state[event->page] |= kind;
		err = 1;
	}
	pthread_mutex_unlock(&a->lock);
	return err;
}

static int next(struct dsm_fault *fault, struct dsm_fault_event *event)
{
	struct async *a = (struct async *)fault;
	struct uffd_msg msg;
	int err = 0;

	while (!err) {
		uintptr_t address;

		if (read(a->u.fd, &msg, sizeof(msg)) < 0) {
			if (errno == EINTR)
				continue;
			return errno == EAGAIN ? 0 : dsm_why(fault->why, sizeof(fault->why), -errno,
							     "userfaultfd: %s", strerror(errno));
		}
		if (msg.event != UFFD_EVENT_PAGEFAULT)
			continue;
		address = (uintptr_t)msg.arg.pagefault.address;
		event->page = (uint32_t)((address - (uintptr_t)fault->view) / fault->config.unit);
		event->write = msg.arg.pagefault.flags & UFFD_PAGEFAULT_FLAG_WRITE;
		err = take_event(a, address, event);
	}
	return err;
}

/* ---- life ---- */

static void destroy(struct dsm_fault *fault)
{
	struct async *a = (struct async *)fault;

	if (!a)
		return;
	dsm_uffd_destroy(&a->u);
	if (a->pagemap >= 0)
		close(a->pagemap);
	free(a->state);
	free(a->noticed);
	free(a->voided);
	free(a->touched);
	free(a);
}

static int count_pages(struct async *a, const struct dsm_fault_config *config)
{
	size_t bytes = (size_t)config->pages * config->unit;

	a->block = config->unit > BLOCK ? config->unit : BLOCK;
	a->blocks = (bytes + a->block - 1) / a->block;
	a->state = malloc(config->pages);
	a->noticed = calloc(a->blocks, sizeof(*a->noticed));
	a->voided = calloc(a->blocks, sizeof(*a->voided));
	a->touched = calloc(a->blocks, sizeof(*a->touched));
	if (!a->state || !a->noticed || !a->voided || !a->touched)
		return -ENOMEM;
	memset(a->state, DSM_READ | KEPT, config->pages);
	for (size_t b = 0; b < a->blocks; b++) {
		size_t left = bytes - b * a->block;

		a->noticed[b] = (uint32_t)((left < a->block ? left : a->block) / config->unit);
	}
	return 0;
}

static int create(struct dsm_fault **fault, const struct dsm_fault_config *config,
		  char *why, size_t len)
{
	struct async *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	a->u.fd = a->u.pidfd = -1;
	pthread_mutex_init(&a->lock, NULL);
	a->pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (a->pagemap < 0)
		err = dsm_why(why, len, -ENOTSUP, "/proc/self/pagemap: %s", strerror(errno));
	else
		err = count_pages(a, config);
	if (!err)
		err = dsm_uffd_create(&a->u, &dsm_fault_uffd_async, config, UFFD_FEATURE_WP_ASYNC,
				      true, why, len);
	if (err) {
		destroy(&a->u.m.f);
		return err;
	}
	a->u.m.f.wake = a->u.fd;
	*fault = &a->u.m.f;
	return 0;
}

const struct dsm_fault_ops dsm_fault_uffd_async = {
	.name = "uffd-async",
	.caps = DSM_FAULT_EVENTS | DSM_FAULT_WRITES | DSM_FAULT_SYSCALLS | DSM_FAULT_ONE_VMA,
	.create = create, .destroy = destroy,
	.page = dsm_memory_page, .protect = protect, .twin = twin, .untwin = untwin,
	.written = written, .next = next,
};
