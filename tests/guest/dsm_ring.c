/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_DSM_RING: events are in memory, wake who sleeps once, are never lost for want
 * of room, and whatever user space writes there does no harm.
 */
#include <signal.h>

#include "dsm.h"

#define ROOM	SONDE_DSM_EVENTS_ROOM
#define PAGES	(ROOM + 44U)

static struct segment make_ringed(void)
{
	struct segment s = make_segment_with(SONDE_DSM_RING, PAGES, PAGES, SMALL_PAGE);
	uint32_t pages[PAGES], i;

	for (i = 0; i < PAGES; i++)
		pages[i] = i;
	check_int(try_protect(&s, pages, PAGES, SONDE_DSM_NONE), 0);
	return s;
}

static void await_put(const struct segment *s, uint32_t n)
{
	while (__atomic_load_n(&s->ring->put, __ATOMIC_ACQUIRE) != n)
		sched_yield();
}

static void check_event(const struct segment *s, uint32_t page, uint32_t flags)
{
	struct sonde_dsm_event event;

	check(take_event(s, &event));
	check_int(event.page, page);
	check_int(event.flags, flags);
}

static void check_none(const struct segment *s)
{
	struct sonde_dsm_event event;

	check(!take_event(s, &event));
	check(!next_event(s, &event));
}

/* How often who slept was woken since that was asked. */
static uint64_t wakes(const struct segment *s)
{
	eventfd_t n = 0;

	if (eventfd_read(s->wake, &n))
		check_int(errno, EAGAIN);
	return n;
}

/* Touches the first @n pages, each of which is answered, its event left where it is. */
static void touch_pages(struct segment *s, uint32_t n)
{
	const unsigned long long misses = told(s, "misses");
	struct touch t;
	uint32_t i;

	for (i = 0; i < n; i++) {
		begin_touch(&t, page_at(s, i), false, 0);
		while (told(s, "misses") < misses + i + 1)
			sched_yield();
		protect(s, i, SONDE_DSM_READ);
		end_touch(&t);
		protect(s, i, SONDE_DSM_NONE);
	}
}

static void events_come_without_a_call(void)
{
	struct segment s = make_ringed();
	struct touch reader, writer;

	begin_touch(&reader, page_at(&s, 3), false, 0);
	await_put(&s, 1);
	begin_touch(&writer, page_at(&s, 4), true, 7);
	await_put(&s, 2);
	check_int(told(&s, "events"), 2);
	check_event(&s, 3, 0);
	check_event(&s, 4, SONDE_DSM_EVENT_WRITE);
	check_none(&s);
	check_int(told(&s, "events"), 0);
	check(!reader.done && !writer.done);
	protect(&s, 3, SONDE_DSM_READ);
	protect(&s, 4, SONDE_DSM_READ);
	end_touch(&reader);
	end_touch(&writer);
	check_int(s.alias[4 * SMALL_PAGE], 7);
	check_int(told(&s, "overflows"), 0);
	end_segment(&s);
}

static void who_sleeps_is_woken_once(void)
{
	struct segment s = make_ringed();
	struct pollfd p = { .fd = s.wake, .events = POLLIN };
	struct touch first, second;

	touch_pages(&s, 3);
	check_int(wakes(&s), 0);
	__atomic_store_n(&s.ring->sleeps, 1, __ATOMIC_SEQ_CST);
	begin_touch(&first, page_at(&s, 3), false, 0);
	check_int(poll(&p, 1, 60000), 1);
	check_int(s.ring->sleeps, 0);
	begin_touch(&second, page_at(&s, 4), false, 0);
	await_put(&s, 5);
	check_int(wakes(&s), 1);
	protect(&s, 3, SONDE_DSM_READ);
	protect(&s, 4, SONDE_DSM_READ);
	end_touch(&first);
	end_touch(&second);
	check_int(wakes(&s), 0);
	end_segment(&s);
}

static void what_finds_no_room_is_read(void)
{
	struct segment s = make_ringed();
	struct sonde_dsm_event event;
	struct touch t;
	uint32_t i;

	touch_pages(&s, PAGES - 1);
	check_int(s.ring->put, ROOM);
	check_int(told(&s, "overflows"), PAGES - 1 - ROOM);
	__atomic_store_n(&s.ring->sleeps, 1, __ATOMIC_SEQ_CST);
	begin_touch(&t, page_at(&s, PAGES - 1), false, 0);
	while (!*(volatile uint32_t *)&s.ring->listed || told(&s, "misses") < PAGES)
		sched_yield();
	/* Those that were answered are left out there, but not in the ring. */
	check(next_event(&s, &event));
	check_int(event.page, PAGES - 1);
	check_int(s.ring->listed, 0);
	check_int(wakes(&s), 1);
	for (i = 0; i < ROOM; i++)
		check_event(&s, i, 0);
	check_none(&s);
	protect(&s, PAGES - 1, SONDE_DSM_READ);
	end_touch(&t);
	touch_pages(&s, 1);
	check_event(&s, 0, 0);
	check_int(s.ring->put, ROOM + 1);
	end_segment(&s);
}

/* Where in it the kernel writes is its own affair, and what it believes is bounded. */
static void lies_in_the_ring_harm_nobody(void)
{
	struct segment s = make_ringed();
	static const uint32_t lies[] = { 1, 2, ROOM, ROOM + 1, 1U << 31 };
	struct sonde_dsm_event event;
	uint32_t i, put = 0;

	for (i = 0; i < ARRAY_SIZE(lies); i++) {
		memset(s.ring, 0xee, sizeof(*s.ring));
		s.ring->taken = put + lies[i];
		/* More taken than were put: it is full. */
		touch_pages(&s, 1);
		check(!next_event(&s, &event));
		check_int(s.ring->listed, 0);
		check_int(told(&s, "overflows"), i + 1);
		check(told(&s, "events") <= ROOM);
		/* The truth again: the kernel has counted on. */
		s.ring->taken = put++;
		touch_pages(&s, 1);
		check_int(s.ring->put, put);
		check_event(&s, 0, 0);
	}
	/* Fewer taken than were: what is told is told again. */
	s.ring->taken = put - 1;
	check_event(&s, 0, 0);
	check_none(&s);
	for (i = sizeof(*s.ring); i < SMALL_PAGE; i++)
		check_int(((char *)s.ring)[i], 0);
	end_segment(&s);
}

static void events_go_on_while_it_is_not_mapped(void)
{
	struct segment s = make_ringed();
	struct touch t;

	check_int(munmap(s.ring, sizeof(*s.ring)), 0);
	touch_pages(&s, 2);
	begin_touch(&t, page_at(&s, 2), true, 1);
	while (told(&s, "misses") < 3)
		sched_yield();
	s.ring = (void *)map_segment(s.fd, sizeof(*s.ring), SONDE_DSM_EVENTS);
	check_event(&s, 0, 0);
	check_event(&s, 1, 0);
	check_event(&s, 2, SONDE_DSM_EVENT_WRITE);
	protect(&s, 2, SONDE_DSM_READ);
	end_touch(&t);
	end_segment(&s);
}

/* Its owner has closed it; the segment has not. */
static void the_eventfd_may_be_closed(void)
{
	struct segment s = make_ringed();

	check_int(close(s.wake), 0);
	s.ring->sleeps = 1;
	touch_pages(&s, 1);
	check_int(s.ring->sleeps, 0);
	check_event(&s, 0, 0);
	s.wake = eventfd(0, 0);
	end_segment(&s);
}

static void a_child_has_no_ring(void)
{
	struct segment s = make_ringed();
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		(void)*(volatile uint32_t *)&s.ring->put;
		_exit(0);
	}
	check_int(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	touch_pages(&s, 1);
	check_event(&s, 0, 0);
	end_segment(&s);
}

static int create_with(uint32_t flags, int fd, uint32_t reserved)
{
	struct sonde_dsm_create args = create_of(4, 4, SMALL_PAGE);
	int dev = open_node(MAIN_NODE), ret;

	args.flags = flags;
	args.eventfd = fd;
	args.reserved = reserved;
	ret = do_ioctl(dev, SONDE_IOC_DSM_CREATE, &args);
	close(dev);
	return ret ? ret : args.fd;
}

static void refuses_what_is_no_eventfd(void)
{
	int fd = eventfd(0, 0), null = open("/dev/null", O_RDONLY);

	check_int(create_with(SONDE_DSM_RING, -1, 0), -EBADF);
	check_int(create_with(SONDE_DSM_RING, null, 0), -EINVAL);
	check_int(create_with(0, fd, 0), -EINVAL);
	check_int(create_with(SONDE_DSM_RING, fd, 1), -EINVAL);
	check_int(create_with(SONDE_DSM_RING << 1, 0, 0), -EINVAL);
	await_no_segments();
}

static bool maps(int fd, size_t len, int flags)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, SONDE_DSM_EVENTS);

	return p != MAP_FAILED && !munmap(p, len);
}

static void the_ring_is_one_page(void)
{
	int fd = eventfd(0, 0), s = create_with(SONDE_DSM_RING, fd, 0), none = create_with(0, 0, 0);

	check(maps(s, SMALL_PAGE, MAP_SHARED));
	check(!maps(s, 2 * SMALL_PAGE, MAP_SHARED));
	check_int(errno, ENXIO);
	check(!maps(s, SMALL_PAGE, MAP_PRIVATE));
	check_int(errno, EINVAL);
	check(!maps(none, SMALL_PAGE, MAP_SHARED));
	check_int(errno, ENXIO);
	close(s);
	close(none);
	await_no_segments();
}

/* As programs that were compiled before there were rings call it. */
static void a_short_struct_has_none(void)
{
	struct sonde_dsm_create args = create_of(4, 4, SMALL_PAGE);
	int dev = open_node(MAIN_NODE);

	args.size = 32;
	args.eventfd = -1;
	args.reserved = 1;
	check_int(do_ioctl(dev, _IOC(_IOC_READ | _IOC_WRITE, SONDE_IOC_MAGIC,
				     _IOC_NR(SONDE_IOC_DSM_CREATE), 32), &args), 0);
	check(!maps(args.fd, SMALL_PAGE, MAP_SHARED));
	close(args.fd);
	close(dev);
}

static const struct tap_test tests[] = {
	TAP_TEST(events_come_without_a_call),
	TAP_TEST(who_sleeps_is_woken_once),
	TAP_TEST(what_finds_no_room_is_read),
	TAP_TEST(lies_in_the_ring_harm_nobody),
	TAP_TEST(events_go_on_while_it_is_not_mapped),
	TAP_TEST(the_eventfd_may_be_closed),
	TAP_TEST(a_child_has_no_ring),
	TAP_TEST(refuses_what_is_no_eventfd),
	TAP_TEST(the_ring_is_one_page),
	TAP_TEST(a_short_struct_has_none),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
