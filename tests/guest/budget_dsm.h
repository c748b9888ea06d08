/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the budget about segments, beside the same by SIGSEGV and mprotect(2) on
 * two mappings of a memfd. A row is a whole turn, told of one page of it, as what is done
 * to a page must be undone before it can be done again:
 *
 * write	a first write with its twin, the list of what was written, protected again,
 *		and the twin given back
 * keep	the same of a page that is kept writable (SONDE_DSM_KEEP), so without a fault
 * look	of such a page that was not written: that the list is asked for
 * switch	two turns of write after which a page is kept, and the end of that by a
 *		protection: what that is more than the same where pages are not kept; of so
 *		few that neither of the two is longer than a tick, or ticks would differ
 * accessed	the question whether a page was accessed, of one that was
 * miss		a page is void, read, copied into by whoever serves it, and readable; another
 *		thread serves a segment, so this has the switches to it and back
 * miss-ring	the same where events are in memory and an eventfd wakes who sleeps
 * copy		the same of a page that is offered: the kernel copies it from another segment
 * shut		the same of a page that may be written unnoticed there, so it is shut first
 * protect	a list of pages that lie apart is protected from writing, and opened again
 *
 * This process has exported no memory yet. Where it has, there is an MMU notifier, for
 * which each page of a list is zapped, and no page is kept.
 */
#ifndef TESTS_GUEST_BUDGET_DSM_H
#define TESTS_GUEST_BUDGET_DSM_H

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#define DSM_PAGES	1024
#define DSM_LIST	512	/* every second one */
#define DSM_SWITCHES	128
#define DSM_MISSES	32
#define DSM_LOOKS	4
#define DSM_END		1	/* of no list: a miss of it ends who serves them */

static struct {
	int fd, home, kept, ringed, wake, served;
	bool is_ready, is_trapped;
	char *view, *alias, *twins, *weak, *weak_alias, *home_view, *kept_view;
	char *ringed_view, *ringed_alias, *served_view;
	struct sonde_dsm_events *ring;
	struct sonde_dsm_copy *table, *home_table;
	uint32_t list[DSM_LIST];
	struct sonde_dsm_written written[DSM_LIST + 1];
	pthread_t server;
} dsm;

static void *map_dsm(int fd, uint64_t offset)
{
	const size_t len = offset == SONDE_DSM_EVENTS ? SMALL : offset == SONDE_DSM_TABLE ?
			   DSM_PAGES * sizeof(struct sonde_dsm_copy) : DSM_PAGES * SMALL;
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		die("mapping of a segment");
	return p;
}

static void protect_of(int fd, uint32_t *pages, uint32_t n, uint32_t protection)
{
	struct sonde_dsm_protect args = {
		.size = sizeof(args), .protection = protection,
		.pages = (uintptr_t)pages, .npages = n,
	};

	if (ioctl(fd, SONDE_IOC_DSM_PROTECT, &args))
		die("SONDE_IOC_DSM_PROTECT");
}

static void protect_dsm(uint32_t *pages, uint32_t n, uint32_t protection)
{
	protect_of(dsm.fd, pages, n, protection);
}

static void *serve_misses(void *arg)
{
	struct sonde_dsm_event event;

	(void)arg;
	while (read(dsm.fd, &event, sizeof(event)) == sizeof(event)) {
		memcpy(dsm.alias + event.page * SMALL, dsm.twins, SMALL);
		protect_dsm(&event.page, 1, SONDE_DSM_READ);
		if (event.page == DSM_END)
			return NULL;
	}
	return NULL;
}

/* Until its end was served. */
static void *serve_ring(void *arg)
{
	struct sonde_dsm_event event = { 0 };
	eventfd_t count;

	(void)arg;
	while (event.page != DSM_END) {
		dsm.ring->sleeps = 1;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (__atomic_load_n(&dsm.ring->put, __ATOMIC_ACQUIRE) == dsm.ring->taken &&
		    eventfd_read(dsm.wake, &count))
			return NULL;
		dsm.ring->sleeps = 0;
		while (__atomic_load_n(&dsm.ring->put, __ATOMIC_ACQUIRE) != dsm.ring->taken) {
			event = dsm.ring->events[dsm.ring->taken % SONDE_DSM_EVENTS_ROOM];
			__atomic_store_n(&dsm.ring->taken, dsm.ring->taken + 1, __ATOMIC_RELEASE);
			memcpy(dsm.ringed_alias + event.page * SMALL, dsm.twins, SMALL);
			protect_of(dsm.ringed, &event.page, 1, SONDE_DSM_READ);
		}
	}
	return NULL;
}

/* What the cheapest handler does: it knows of the access what the row is about. */
static void on_segv(int sig, siginfo_t *info, void *context)
{
	char *at = (char *)((uintptr_t)info->si_addr & ~(SMALL - 1));
	const size_t offset = at - dsm.weak;

	(void)sig;
	(void)context;
	if (offset >= DSM_PAGES * SMALL)
		_exit(1);
	if (dsm.is_trapped) {
		memcpy(dsm.weak_alias + offset, dsm.twins, SMALL);
		mprotect(at, SMALL, PROT_READ);
	} else {
		memcpy(dsm.twins + offset, dsm.weak_alias + offset, SMALL);
		mprotect(at, SMALL, PROT_READ | PROT_WRITE);
	}
}

/* A segment that all pages can be copied from, all of them there. */
static void make_home(int dev)
{
	struct sonde_dsm_create args = {
		.size = sizeof(args), .flags = SONDE_DSM_PEERS, .npages = DSM_PAGES, .unit = SMALL,
	};
	struct sonde_dsm_peers peers = {
		.size = sizeof(peers), .fds = (uintptr_t)&dsm.home, .npeers = 1,
	};
	uint32_t i;

	if (ioctl(dev, SONDE_IOC_DSM_CREATE, &args))
		die("SONDE_IOC_DSM_CREATE");
	dsm.home = args.fd;
	dsm.home_view = map_dsm(dsm.home, SONDE_DSM_VIEW);
	dsm.home_table = map_dsm(dsm.home, SONDE_DSM_TABLE);
	dsm.table = map_dsm(dsm.fd, SONDE_DSM_TABLE);
	if (ioctl(dsm.fd, SONDE_IOC_DSM_PEERS, &peers))
		die("SONDE_IOC_DSM_PEERS");
	for (i = 0; i < DSM_LIST; i++) {
		protect_of(dsm.home, &dsm.list[i], 1, SONDE_DSM_WRITE);
		dsm.home_view[dsm.list[i] * SMALL] = 1;
		dsm.home_table[dsm.list[i]].version = 1;
	}
}

/* A segment that keeps pages writable, all of them there. */
static void make_kept(int dev)
{
	struct sonde_dsm_create args = {
		.size = sizeof(args), .flags = SONDE_DSM_KEEP, .npages = DSM_PAGES,
		.ntwins = DSM_PAGES, .unit = SMALL,
	};

	if (ioctl(dev, SONDE_IOC_DSM_CREATE, &args))
		die("SONDE_IOC_DSM_CREATE");
	dsm.kept = args.fd;
	dsm.kept_view = map_dsm(dsm.kept, SONDE_DSM_VIEW);
	memset(map_dsm(dsm.kept, SONDE_DSM_ALIAS), 1, DSM_PAGES * SMALL);
	memset(map_dsm(dsm.kept, SONDE_DSM_TWINS), 1, DSM_PAGES * SMALL);
}

/* A segment whose events are in memory. */
static void make_ringed(int dev)
{
	struct sonde_dsm_create args = {
		.size = sizeof(args), .flags = SONDE_DSM_RING, .npages = DSM_PAGES, .unit = SMALL,
	};

	dsm.wake = args.eventfd = eventfd(0, EFD_CLOEXEC);
	if (dsm.wake < 0 || ioctl(dev, SONDE_IOC_DSM_CREATE, &args))
		die("SONDE_IOC_DSM_CREATE");
	dsm.ringed = args.fd;
	dsm.ringed_view = map_dsm(dsm.ringed, SONDE_DSM_VIEW);
	dsm.ringed_alias = map_dsm(dsm.ringed, SONDE_DSM_ALIAS);
	dsm.ring = map_dsm(dsm.ringed, SONDE_DSM_EVENTS);
	memset(dsm.ringed_alias, 1, DSM_PAGES * SMALL);
}

/* Pages that are there, and a list whose pages have others between them. */
static void make_dsm(void)
{
	struct sonde_dsm_create args = {
		.size = sizeof(args), .flags = SONDE_DSM_PEERS, .npages = DSM_PAGES,
		.ntwins = DSM_PAGES, .unit = SMALL,
	};
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	int dev, weak;
	uint32_t i;

	if (dsm.is_ready)
		return;
	dsm.is_ready = true;
	dev = open("/dev/sonde", O_RDWR | O_CLOEXEC);
	weak = memfd_create("weak", MFD_CLOEXEC);
	if (dev < 0 || ioctl(dev, SONDE_IOC_DSM_CREATE, &args))
		die("SONDE_IOC_DSM_CREATE");
	dsm.fd = args.fd;
	dsm.view = map_dsm(dsm.fd, SONDE_DSM_VIEW);
	dsm.alias = map_dsm(dsm.fd, SONDE_DSM_ALIAS);
	dsm.twins = map_dsm(dsm.fd, SONDE_DSM_TWINS);
	if (weak < 0 || ftruncate(weak, DSM_PAGES * SMALL) || sigaction(SIGSEGV, &action, NULL))
		die("a memfd with a handler");
	dsm.weak = map_dsm(weak, 0);
	dsm.weak_alias = map_dsm(weak, 0);
	for (i = 0; i < DSM_LIST; i++)
		dsm.list[i] = 2 * i;
	memset(dsm.weak, 1, DSM_PAGES * SMALL);
	memset(dsm.weak_alias, 1, DSM_PAGES * SMALL);
	memset(dsm.alias, 1, DSM_PAGES * SMALL);
	memset(dsm.twins, 1, DSM_PAGES * SMALL);
	protect_dsm(dsm.list, DSM_LIST, SONDE_DSM_READ);
	make_home(dev);
	make_kept(dev);
	make_ringed(dev);
	close(dev);
}

/* With room for one page more, so that it is the end of the list. */
static int count_written(int fd)
{
	struct sonde_dsm_collect collect = {
		.size = sizeof(collect), .written = (uintptr_t)dsm.written, .room = DSM_LIST + 1,
	};

	return ioctl(fd, SONDE_IOC_DSM_COLLECT, &collect) ? -1 : (int)collect.count;
}

static int write_turn(int fd, char *view, uint32_t n)
{
	struct sonde_dsm_untwin untwin = {
		.size = sizeof(untwin), .pages = (uintptr_t)dsm.list, .npages = n,
	};
	uint32_t i;

	for (i = 0; i < n; i++)
		((volatile char *)view)[dsm.list[i] * SMALL] = 2;
	if (count_written(fd) != (int)n)
		return -1;
	return ioctl(fd, SONDE_IOC_DSM_UNTWIN, &untwin);
}

static int call_dsm_write(const struct target *t)
{
	(void)t;
	make_dsm();
	return write_turn(dsm.fd, dsm.view, DSM_LIST);
}

static int call_dsm_keep(const struct target *t)
{
	(void)t;
	make_dsm();
	return write_turn(dsm.kept, dsm.kept_view, DSM_LIST);
}

static int call_dsm_look(const struct target *t)
{
	int i, failed = call_dsm_keep(t);

	for (i = 0; i < DSM_LOOKS; i++)
		failed |= count_written(dsm.kept);
	return failed;
}

/* Protected from all else between: then none of the list is kept. */
static int switch_turns(int fd, char *view)
{
	protect_of(fd, dsm.list, DSM_SWITCHES, SONDE_DSM_NOTE);
	protect_of(fd, dsm.list, DSM_SWITCHES, SONDE_DSM_READ);
	if (write_turn(fd, view, DSM_SWITCHES) || write_turn(fd, view, DSM_SWITCHES))
		return -1;
	protect_of(fd, dsm.list, DSM_SWITCHES, SONDE_DSM_READ);
	return 0;
}

static int call_dsm_switch(const struct target *t)
{
	(void)t;
	make_dsm();
	return switch_turns(dsm.kept, dsm.kept_view);
}

static int call_dsm_no_switch(const struct target *t)
{
	(void)t;
	make_dsm();
	return switch_turns(dsm.fd, dsm.view);
}

static int call_dsm_accessed(const struct target *t)
{
	static uint8_t is[DSM_LIST];
	struct sonde_dsm_accessed args = {
		.size = sizeof(args), .pages = (uintptr_t)dsm.list, .npages = DSM_LIST,
		.accessed = (uintptr_t)is,
	};
	int i, failed;

	(void)t;
	make_dsm();
	for (i = 0; i < DSM_LIST; i++)
		(void)((volatile char *)dsm.view)[dsm.list[i] * SMALL];
	failed = ioctl(dsm.fd, SONDE_IOC_DSM_ACCESSED, &args);
	return failed || !is[0] || !is[DSM_LIST - 1];
}

static int call_dsm_write_sigsegv(const struct target *t)
{
	int i, failed;

	(void)t;
	make_dsm();
	failed = mprotect(dsm.weak, DSM_PAGES * SMALL, PROT_READ);
	for (i = 0; i < DSM_LIST; i++)
		((volatile char *)dsm.weak)[dsm.list[i] * SMALL] = 2;
	return failed;
}

/* In a process of several threads other calls take longer. */
static void end_server(void)
{
	uint32_t end = DSM_END;

	if (!dsm.server)
		return;
	protect_of(dsm.served, &end, 1, SONDE_DSM_NONE);
	(void)((volatile char *)dsm.served_view)[end * SMALL];
	pthread_join(dsm.server, NULL);
	dsm.server = 0;
}

static int miss_turn(int fd, char *view, void *(*serve)(void *arg))
{
	int i;

	if (dsm.served != fd)
		end_server();
	dsm.served = fd;
	dsm.served_view = view;
	if (!dsm.server && pthread_create(&dsm.server, NULL, serve, NULL))
		return -1;
	protect_of(fd, dsm.list, DSM_MISSES, SONDE_DSM_NONE);
	for (i = 0; i < DSM_MISSES; i++)
		(void)((volatile char *)view)[dsm.list[i] * SMALL];
	return 0;
}

static int call_dsm_miss(const struct target *t)
{
	(void)t;
	make_dsm();
	return miss_turn(dsm.fd, dsm.view, serve_misses);
}

static int call_dsm_miss_ring(const struct target *t)
{
	(void)t;
	make_dsm();
	return miss_turn(dsm.ringed, dsm.ringed_view, serve_ring);
}

/* They are shut in the home from the first turn on. */
static int call_dsm_copy(const struct target *t)
{
	int i;

	(void)t;
	make_dsm();
	end_server();
	protect_dsm(dsm.list, DSM_MISSES, SONDE_DSM_NONE);
	for (i = 0; i < DSM_MISSES; i++) {
		dsm.table[dsm.list[i]].least = 1;
		dsm.table[dsm.list[i]].peer = 1;
	}
	for (i = 0; i < DSM_MISSES; i++)
		(void)((volatile char *)dsm.view)[dsm.list[i] * SMALL];
	for (i = 0; i < DSM_MISSES; i++)
		dsm.table[dsm.list[i]].peer = 0;
	return dsm.table[dsm.list[0]].got != 1;
}

/* Writes there, and the list of them, have them open again. */
static int call_dsm_shut(const struct target *t)
{
	struct sonde_dsm_collect collect = {
		.size = sizeof(collect), .written = (uintptr_t)dsm.written, .room = DSM_LIST,
	};
	int i;

	if (call_dsm_copy(t))
		return -1;
	for (i = 0; i < DSM_MISSES; i++)
		((volatile char *)dsm.home_view)[dsm.list[i] * SMALL] = 2;
	if (ioctl(dsm.home, SONDE_IOC_DSM_COLLECT, &collect))
		return -1;
	return collect.count != DSM_MISSES;
}

static int call_dsm_miss_sigsegv(const struct target *t)
{
	int i, failed = 0;

	(void)t;
	make_dsm();
	end_server();
	dsm.is_trapped = true;
	for (i = 0; i < DSM_MISSES; i++)
		failed |= mprotect(dsm.weak + dsm.list[i] * SMALL, SMALL, PROT_NONE);
	for (i = 0; i < DSM_MISSES; i++)
		(void)((volatile char *)dsm.weak)[dsm.list[i] * SMALL];
	dsm.is_trapped = false;
	return failed;
}

static int call_dsm_protect(const struct target *t)
{
	(void)t;
	make_dsm();
	protect_dsm(dsm.list, DSM_LIST, SONDE_DSM_WRITE);
	protect_dsm(dsm.list, DSM_LIST, SONDE_DSM_READ);
	return 0;
}

static int call_dsm_protect_mprotect(const struct target *t)
{
	int i, failed = 0;

	(void)t;
	make_dsm();
	for (i = 0; i < DSM_LIST; i++)
		failed |= mprotect(dsm.weak + dsm.list[i] * SMALL, SMALL, PROT_READ);
	for (i = 0; i < DSM_LIST; i++)
		failed |= mprotect(dsm.weak + dsm.list[i] * SMALL, SMALL,
				   PROT_READ | PROT_WRITE);
	return failed;
}

#endif
