/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of segments share: a segment with its views, and its calls. */
#ifndef TESTS_GUEST_DSM_H
#define TESTS_GUEST_DSM_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

#include "nodes.h"

struct segment {
	int fd;
	uint32_t npages, ntwins, unit;
	char *view, *alias, *twins;
	struct sonde_dsm_events *ring;	/* with SONDE_DSM_RING, and what who sleeps reads */
	int wake;
};

static struct sonde_dsm_create create_of(uint64_t npages, uint64_t ntwins, uint32_t unit)
{
	return (struct sonde_dsm_create){
		.size = sizeof(struct sonde_dsm_create), .npages = npages,
		.ntwins = ntwins, .unit = unit, .fd = -1,
	};
}

/* The descriptor, or -errno. */
__attribute__((unused))
static int try_create(uint64_t npages, uint64_t ntwins, uint32_t unit)
{
	struct sonde_dsm_create args = create_of(npages, ntwins, unit);
	int dev = open_node(MAIN_NODE), ret;

	ret = do_ioctl(dev, SONDE_IOC_DSM_CREATE, &args);
	close(dev);
	return ret ? ret : args.fd;
}

static char *map_segment(int fd, size_t len, uint64_t offset)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	check_msg(p != MAP_FAILED, "offset %#llx: %s", (unsigned long long)offset,
		  strerror(errno));
	return p;
}

/* With events to be had without waiting; SONDE_DSM_* for @flags. */
__attribute__((unused))
static struct segment make_segment_with(uint32_t flags, uint32_t npages, uint32_t ntwins,
					uint32_t unit)
{
	struct sonde_dsm_create args = create_of(npages, ntwins, unit);
	struct segment s = { .npages = npages, .ntwins = ntwins, .unit = unit };
	int dev = open_node(MAIN_NODE);

	args.flags = flags;
	if (flags & SONDE_DSM_RING) {
		s.wake = args.eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		check(s.wake >= 0);
	}
	check_int(do_ioctl(dev, SONDE_IOC_DSM_CREATE, &args), 0);
	close(dev);
	s.fd = args.fd;
	check_int(fcntl(s.fd, F_SETFL, O_NONBLOCK), 0);
	s.view = map_segment(s.fd, (size_t)npages * unit, SONDE_DSM_VIEW);
	s.alias = map_segment(s.fd, (size_t)npages * unit, SONDE_DSM_ALIAS);
	if (ntwins)
		s.twins = map_segment(s.fd, (size_t)ntwins * unit, SONDE_DSM_TWINS);
	if (flags & SONDE_DSM_RING)
		s.ring = (void *)map_segment(s.fd, sizeof(*s.ring), SONDE_DSM_EVENTS);
	return s;
}

__attribute__((unused))
static struct segment make_segment(uint32_t npages, uint32_t ntwins, uint32_t unit)
{
	return make_segment_with(0, npages, ntwins, unit);
}

__attribute__((unused))
static void end_segment(struct segment *s)
{
	check_int(munmap(s->view, (size_t)s->npages * s->unit), 0);
	check_int(munmap(s->alias, (size_t)s->npages * s->unit), 0);
	if (s->ntwins)
		check_int(munmap(s->twins, (size_t)s->ntwins * s->unit), 0);
	if (s->ring) {
		check_int(munmap(s->ring, sizeof(*s->ring)), 0);
		check_int(close(s->wake), 0);
	}
	check_int(close(s->fd), 0);
}

__attribute__((unused))
static int try_protect(const struct segment *s, const uint32_t *pages, uint32_t n,
		       uint32_t protection)
{
	struct sonde_dsm_protect args = {
		.size = sizeof(args), .protection = protection,
		.pages = (uintptr_t)pages, .npages = n,
	};

	return do_ioctl(s->fd, SONDE_IOC_DSM_PROTECT, &args);
}

__attribute__((unused))
static void protect(const struct segment *s, uint32_t page, uint32_t protection)
{
	check_int(try_protect(s, &page, 1, protection), 0);
}

__attribute__((unused))
static int try_collect(const struct segment *s, struct sonde_dsm_written *written,
		       uint32_t room, uint32_t *count)
{
	struct sonde_dsm_collect args = {
		.size = sizeof(args), .written = (uintptr_t)written, .room = room,
	};
	int ret = do_ioctl(s->fd, SONDE_IOC_DSM_COLLECT, &args);

	check_int(args.room, room);
	*count = args.count;
	return ret;
}

__attribute__((unused))
static uint32_t collect(const struct segment *s, struct sonde_dsm_written *written,
			uint32_t room)
{
	uint32_t count;

	check_int(try_collect(s, written, room, &count), 0);
	return count;
}

__attribute__((unused))
static int try_untwin(const struct segment *s, const uint32_t *pages, uint32_t n)
{
	struct sonde_dsm_untwin args = {
		.size = sizeof(args), .pages = (uintptr_t)pages, .npages = n,
	};

	return do_ioctl(s->fd, SONDE_IOC_DSM_UNTWIN, &args);
}

__attribute__((unused))
static void untwin(const struct segment *s, uint32_t page)
{
	check_int(try_untwin(s, &page, 1), 0);
}

__attribute__((unused))
static int try_accessed(const struct segment *s, const uint32_t *pages, uint32_t n,
			uint8_t *accessed)
{
	struct sonde_dsm_accessed args = {
		.size = sizeof(args), .pages = (uintptr_t)pages,
		.accessed = (uintptr_t)accessed, .npages = n,
	};

	return do_ioctl(s->fd, SONDE_IOC_DSM_ACCESSED, &args);
}

/* Whether there is one in the ring. */
__attribute__((unused))
static bool take_event(const struct segment *s, struct sonde_dsm_event *event)
{
	const uint32_t taken = s->ring->taken;

	if (__atomic_load_n(&s->ring->put, __ATOMIC_ACQUIRE) == taken)
		return false;
	*event = s->ring->events[taken % SONDE_DSM_EVENTS_ROOM];
	__atomic_store_n(&s->ring->taken, taken + 1, __ATOMIC_RELEASE);
	return true;
}

/* Whether there is one now. */
__attribute__((unused))
static bool next_event(const struct segment *s, struct sonde_dsm_event *event)
{
	ssize_t got = read(s->fd, event, sizeof(*event));

	if (got < 0)
		check_int(errno, EAGAIN);
	else
		check_int(got, sizeof(*event));
	return got > 0;
}

__attribute__((unused))
static struct sonde_dsm_event await_event(const struct segment *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	struct sonde_dsm_event event;

	/* One that was answered before it is read is left out. */
	do {
		check_int(poll(&p, 1, 60000), 1);
		check_int(p.revents, POLLIN);
	} while (!next_event(s, &event));
	return event;
}

__attribute__((unused))
static char *page_at(const struct segment *s, uint32_t page)
{
	return s->view + (size_t)page * s->unit;
}

/* A number of /proc/self/fdinfo of the segment. */
__attribute__((unused))
static unsigned long long told(const struct segment *s, const char *what)
{
	unsigned long long value = 0;
	char path[64], line[128], name[64];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", s->fd);
	f = fopen(path, "r");
	check(f);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "sonde-%63[^:]: %llu", name, &value) == 2 &&
			!strcmp(name, what);
	fclose(f);
	check_msg(found, "no sonde-%s in %s", what, path);
	return value;
}

static long pages_of_segments(void)
{
	FILE *f = fopen("/sys/module/sonde/parameters/dsm_held", "r");
	long n = -1;

	check(f && fscanf(f, "%ld", &n) == 1);
	fclose(f);
	return n;
}

/* What the tests before have left may be on its way still. */
__attribute__((unused))
static void await_no_segments(void)
{
	time_t deadline = time(NULL) + 30;

	while (pages_of_segments() && time(NULL) < deadline)
		sched_yield();
	check_int(pages_of_segments(), 0);
}

/* ---- threads that touch pages ------------------------------------------- */

/* One access, and whether it is over. */
struct touch {
	pthread_t thread;
	volatile char *at;
	bool is_write;
	char value;		/* read, or to be written */
	_Atomic int done;
};

__attribute__((unused))
static void *do_touch(void *arg)
{
	struct touch *t = arg;

	if (t->is_write)
		*t->at = t->value;
	else
		t->value = *t->at;
	t->done = 1;
	return NULL;
}

__attribute__((unused))
static void begin_touch(struct touch *t, char *at, bool is_write, char value)
{
	t->at = at;
	t->is_write = is_write;
	t->value = value;
	t->done = 0;
	check_int(pthread_create(&t->thread, NULL, do_touch, t), 0);
}

/* What was read. */
__attribute__((unused))
static char end_touch(struct touch *t)
{
	check_int(pthread_join(t->thread, NULL), 0);
	check(t->done);
	return t->value;
}

#endif
