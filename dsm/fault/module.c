// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Segments of the module: misses are events, first writes are noted and twinned by the
 * kernel without a signal or a message, lists of pages are one call. See sonde(4).
 *
 * There is room for a twin of every page, so none is ever lacking; memory comes only as it
 * is used. Twins that are not needed any more are given back together, at the latest
 * before written pages are asked for again.
 *
 * Events are taken from a ring that the module fills (SONDE_DSM_RING): no call, and no
 * wake-up of who has not said that it sleeps. The few that find no room there are read.
 *
 * Pages that are written in one interval after the other the module keeps writable, with
 * their twin: who releases has put into that what was sent (SONDE_DSM_KEEP).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sonde.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

#define BATCH	512		/* entries of a list that is made here */
#define EVENTS	32

struct segment {
	struct dsm_fault f;
	size_t bytes;
	unsigned char *twins;
	struct sonde_dsm_copy *table;	/* NULL: the module does not copy from peers */
	struct sonde_dsm_events *ring;	/* NULL: the module has none */
	uint32_t *twin;			/* of a page that was told as written */
	uint32_t idle[BATCH];		/* pages whose twin is not needed any more */
	size_t nidle;
	struct sonde_dsm_written written[BATCH];
	struct sonde_dsm_event events[EVENTS];
	size_t at, nevents;
};

static int fail(struct segment *s, const char *what)
{
	return dsm_why(s->f.why, sizeof(s->f.why), -errno, "%s: %s", what, strerror(errno));
}

/* ---- pages ---- */

static void *page(struct dsm_fault *fault, uint32_t page)
{
	return fault->alias + (size_t)page * fault->config.unit;
}

static int protect(struct dsm_fault *fault, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	static const uint32_t protection[] = {
		[DSM_NONE] = SONDE_DSM_NONE, [DSM_READ] = SONDE_DSM_READ,
		[DSM_WRITE] = SONDE_DSM_WRITE,
	};
	struct sonde_dsm_protect args = { .size = sizeof(args), .protection = protection[prot] };

	for (; n; n -= args.npages, pages += args.npages) {
		args.pages = (uintptr_t)pages;
		args.npages = n < SONDE_DSM_LIST ? (uint32_t)n : SONDE_DSM_LIST;
		if (ioctl(fault->fd, SONDE_IOC_DSM_PROTECT, &args))
			return fail((struct segment *)fault, "SONDE_IOC_DSM_PROTECT");
	}
	return 0;
}

/* ---- what was written ---- */

static int give_back(struct segment *s)
{
	struct sonde_dsm_untwin args = {
		.size = sizeof(args), .pages = (uintptr_t)s->idle, .npages = (uint32_t)s->nidle,
	};

	if (!s->nidle)
		return 0;
	s->nidle = 0;
	return ioctl(s->f.fd, SONDE_IOC_DSM_UNTWIN, &args) ?
	       fail(s, "SONDE_IOC_DSM_UNTWIN") : 0;
}

static int collect(struct segment *s, uint32_t *pages, size_t room)
{
	struct sonde_dsm_collect args = {
		.size = sizeof(args), .written = (uintptr_t)s->written, .room = (uint32_t)room,
	};

	if (ioctl(s->f.fd, SONDE_IOC_DSM_COLLECT, &args))
		return fail(s, "SONDE_IOC_DSM_COLLECT");
	s->f.unseen += args.unseen;
	for (uint32_t i = 0; i < args.count; i++) {
		pages[i] = s->written[i].page;
		s->twin[pages[i]] = s->written[i].twin;
	}
	return (int)args.count;
}

static ssize_t written(struct dsm_fault *fault, uint32_t *pages, size_t room)
{
	struct segment *s = (struct segment *)fault;
	size_t n = 0, asked;
	int got = give_back(s);

	if (got)
		return got;
	do {
		asked = room - n < BATCH ? room - n : BATCH;
		got = collect(s, pages + n, asked);
		/* What has been taken is to be told. */
		if (got < 0)
			return n ? (ssize_t)n : got;
		n += (size_t)got;
	} while (n < room && (size_t)got == asked);
	return (ssize_t)n;
}

static void *twin(struct dsm_fault *fault, uint32_t page)
{
	struct segment *s = (struct segment *)fault;

	return s->twins + (size_t)s->twin[page] * fault->config.unit;
}

static void untwin(struct dsm_fault *fault, uint32_t page)
{
	struct segment *s = (struct segment *)fault;

	if (s->twin[page] == SONDE_DSM_NO_TWIN)
		return;
	s->twin[page] = SONDE_DSM_NO_TWIN;
	s->idle[s->nidle++] = page;
	/* An error is told by the next written(), of which it is the concern. */
	if (s->nidle == BATCH)
		give_back(s);
}

/* ---- copies from other processes ---- */

static int peers(struct dsm_fault *fault, const int *fds, uint32_t n)
{
	struct sonde_dsm_peers args = {
		.size = sizeof(args), .fds = (uintptr_t)fds, .npeers = n,
	};

	if (n > SONDE_DSM_PEERS_MAX)
		return dsm_why(fault->why, sizeof(fault->why), -E2BIG,
			       "the module copies between at most %u processes",
			       SONDE_DSM_PEERS_MAX);
	return ioctl(fault->fd, SONDE_IOC_DSM_PEERS, &args) ?
	       fail((struct segment *)fault, "SONDE_IOC_DSM_PEERS") : 0;
}

/* A page whose twin the kernel still has would not be filled. */
static void offer(struct dsm_fault *fault, uint32_t page, uint32_t home, uint64_t least)
{
	struct segment *s = (struct segment *)fault;
	struct sonde_dsm_copy *c = &s->table[page];

	give_back(s);
	__atomic_store_n(&c->got, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->least, least, __ATOMIC_RELAXED);
	/* Partner: the module's fault. */
	__atomic_store_n(&c->peer, home + 1, __ATOMIC_RELEASE);
}

/* The store before the load: the module writes got, then reads peer. */
static bool withdraw(struct dsm_fault *fault, uint32_t page, uint64_t *version)
{
	struct sonde_dsm_copy *c = &((struct segment *)fault)->table[page];
	struct sonde_dsm_untwin args = {
		.size = sizeof(args), .pages = (uintptr_t)&page, .npages = 1,
	};

	__atomic_store_n(&c->peer, 0, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*version = __atomic_load_n(&c->got, __ATOMIC_ACQUIRE);
	/* It has no twin to lose; the call waits for the thread that is at it. */
	if (*version == SONDE_DSM_COPYING && !ioctl(fault->fd, SONDE_IOC_DSM_UNTWIN, &args))
		*version = __atomic_load_n(&c->got, __ATOMIC_ACQUIRE);
	return *version;
}

/* What is in the page is written before. */
static void publish(struct dsm_fault *fault, uint32_t page, uint64_t version)
{
	__atomic_store_n(&((struct segment *)fault)->table[page].version, version,
			 __ATOMIC_RELEASE);
}

/* ---- misses ---- */

static bool ring_has(const struct sonde_dsm_events *ring)
{
	/* Partner: the module has written the event. */
	return __atomic_load_n(&ring->put, __ATOMIC_ACQUIRE) != ring->taken;
}

static bool is_listed(const struct sonde_dsm_events *ring)
{
	return __atomic_load_n(&ring->listed, __ATOMIC_RELAXED);
}

static bool take(struct sonde_dsm_events *ring, struct sonde_dsm_event *event)
{
	if (!ring_has(ring))
		return false;
	*event = ring->events[ring->taken % SONDE_DSM_EVENTS_ROOM];
	/* Partner: the module, before it writes another there. */
	__atomic_store_n(&ring->taken, ring->taken + 1, __ATOMIC_RELEASE);
	return true;
}

/* 1, 0 if there are none, or an error. */
static int read_events(struct segment *s)
{
	ssize_t got;

	do {
		got = read(s->f.fd, s->events, sizeof(s->events));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == EAGAIN ? 0 : fail(s, "events of the segment");
	s->nevents = (size_t)got / sizeof(s->events[0]);
	s->at = 0;
	return 1;
}

static int next(struct dsm_fault *fault, struct dsm_fault_event *event)
{
	struct segment *s = (struct segment *)fault;
	struct sonde_dsm_event e;
	int got;

	if (!s->ring || !take(s->ring, &e)) {
		if (s->at == s->nevents) {
			got = !s->ring || is_listed(s->ring) ? read_events(s) : 0;
			if (got <= 0)
				return got;
		}
		e = s->events[s->at++];
	}
	event->page = e.page;
	event->write = e.flags & SONDE_DSM_EVENT_WRITE;
	return 1;
}

static bool sleeps(struct dsm_fault *fault, bool sleeps)
{
	struct segment *s = (struct segment *)fault;

	__atomic_store_n(&s->ring->sleeps, sleeps, __ATOMIC_RELAXED);
	if (!sleeps)
		return true;
	/* Partner: the module puts an event, then looks who sleeps. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return !ring_has(s->ring) && !is_listed(s->ring) && s->at == s->nevents;
}

/* ---- life ---- */

static size_t bytes_of_table(const struct segment *s)
{
	return s->f.config.pages * sizeof(*s->table);
}

static void destroy(struct dsm_fault *fault)
{
	struct segment *s = (struct segment *)fault;

	if (!s)
		return;
	if (s->f.view)
		munmap(s->f.view, s->bytes);
	if (s->f.alias)
		munmap(s->f.alias, s->bytes);
	if (s->twins)
		munmap(s->twins, s->bytes);
	if (s->table)
		munmap(s->table, bytes_of_table(s));
	if (s->ring)
		munmap(s->ring, sizeof(*s->ring));
	if (s->f.caps & DSM_FAULT_RING && s->f.wake >= 0)
		close(s->f.wake);
	if (s->f.fd >= 0)
		close(s->f.fd);
	free(s->twin);
	free(s);
}

/* The device, of a module that has segments, and what else it has. */
static int open_device(uint64_t *features, char *why, size_t len)
{
	struct sonde_info info = { .size = sizeof(info) };
	int dev = open("/dev/sonde", O_RDWR | O_CLOEXEC);

	if (dev < 0)
		return dsm_why(why, len, -ENOTSUP, "/dev/sonde: %s: load the module sonde",
			       strerror(errno));
	*features = ioctl(dev, SONDE_IOC_INFO, &info) ? 0 : info.features;
	if (*features & SONDE_FEAT_DSM)
		return dev;
	close(dev);
	return dsm_why(why, len, -ENOTSUP, "the module has no segments: load a newer one");
}

static int make_wake(struct segment *s, struct sonde_dsm_create *args)
{
	if (!(args->flags & SONDE_DSM_RING))
		return 0;
	s->f.wake = args->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return s->f.wake < 0 ? -errno : 0;
}

static int open_segment(struct segment *s, char *why, size_t len)
{
	struct sonde_dsm_create args = {
		.size = sizeof(args), .npages = s->f.config.pages,
		.ntwins = s->f.config.pages, .unit = s->f.config.unit,
	};
	uint64_t features = 0;
	int dev = open_device(&features, why, len), err;

	if (dev < 0)
		return dev;
	if (features & SONDE_FEAT_DSM_PEERS)
		args.flags |= SONDE_DSM_PEERS;
	else
		s->f.caps &= ~DSM_FAULT_PEERS;
	if (features & SONDE_FEAT_DSM_KEEP)
		args.flags |= SONDE_DSM_KEEP;
	if (features & SONDE_FEAT_DSM_RING)
		args.flags |= SONDE_DSM_RING;
	else
		s->f.caps &= ~DSM_FAULT_RING;
	err = make_wake(s, &args);
	if (!err && ioctl(dev, SONDE_IOC_DSM_CREATE, &args))
		err = -errno;
	close(dev);
	switch (err) {
	case 0:
		s->f.fd = args.fd;
		if (!(s->f.caps & DSM_FAULT_RING))
			s->f.wake = args.fd;
		return fcntl(args.fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
	case -ENOBUFS:
		return dsm_why(why, len, -ENOTSUP, "RLIMIT_MEMLOCK is less than %zu MiB: "
			       "raise it (ulimit -l)", 2 * s->bytes >> 20);
	case -EDQUOT:
		return dsm_why(why, len, -ENOTSUP, "%zu MiB are more than the module's "
			       "dsm_pages has left: raise it", 2 * s->bytes >> 20);
	case -EINVAL:
		return dsm_why(why, len, -ENOTSUP, "the module has no pages of %u bytes",
			       s->f.config.unit);
	default:
		return dsm_why(why, len, err, "SONDE_IOC_DSM_CREATE: %s", strerror(-err));
	}
}

static void *map(struct segment *s, void *address, size_t bytes, uint64_t offset)
{
	void *p = mmap(address, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | (address ? MAP_FIXED_NOREPLACE : 0), s->f.fd, (off_t)offset);

	return p == MAP_FAILED ? NULL : p;
}

static int map_views(struct segment *s, char *why, size_t len)
{
	const bool copies = s->f.caps & DSM_FAULT_PEERS, has_ring = s->f.caps & DSM_FAULT_RING;

	s->f.view = map(s, s->f.config.address, s->bytes, SONDE_DSM_VIEW);
	if (s->f.view)
		s->f.alias = map(s, NULL, s->bytes, SONDE_DSM_ALIAS);
	if (s->f.alias)
		s->twins = map(s, NULL, s->bytes, SONDE_DSM_TWINS);
	if (s->twins && copies)
		s->table = map(s, NULL, bytes_of_table(s), SONDE_DSM_TABLE);
	if (s->twins && (s->table || !copies) && has_ring)
		s->ring = map(s, NULL, sizeof(*s->ring), SONDE_DSM_EVENTS);
	if (s->twins && (s->table || !copies) && (s->ring || !has_ring))
		return 0;
	if (errno == EEXIST)
		return dsm_why(why, len, -EEXIST, "something is mapped at %p already",
			       s->f.config.address);
	return dsm_why(why, len, -errno, "no room for %zu MiB: %s", s->bytes >> 20,
		       strerror(errno));
}

static int create(struct dsm_fault **fault, const struct dsm_fault_config *config,
		  char *why, size_t len)
{
	struct segment *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->f = (struct dsm_fault){
		.ops = &dsm_fault_module, .config = *config, .fd = -1, .wake = -1,
		.caps = dsm_fault_module.caps,
	};
	s->bytes = (size_t)config->pages * config->unit;
	s->twin = malloc(config->pages * sizeof(*s->twin));
	err = s->twin ? open_segment(s, why, len) : -ENOMEM;
	if (!err)
		err = map_views(s, why, len);
	if (err) {
		destroy(&s->f);
		return err;
	}
	for (uint32_t i = 0; i < config->pages; i++)
		s->twin[i] = SONDE_DSM_NO_TWIN;
	*fault = &s->f;
	return 0;
}

const struct dsm_fault_ops dsm_fault_module = {
	.name = "module",
	.caps = DSM_FAULT_EVENTS | DSM_FAULT_WRITES | DSM_FAULT_SYSCALLS | DSM_FAULT_ONE_VMA |
		DSM_FAULT_LISTS | DSM_FAULT_PEERS | DSM_FAULT_RING,
	.create = create,
	.destroy = destroy,
	.page = page,
	.protect = protect,
	.twin = twin,
	.untwin = untwin,
	.written = written,
	.next = next,
	.sleeps = sleeps,
	.peers = peers,
	.offer = offer,
	.withdraw = withdraw,
	.publish = publish,
};
