/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments of a distributed shared memory: what a page allows, twins, lists,
 * events, and system calls on shared pages.
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include "dsm_writers.h"
#include "region.h"

#define PAGES	64U
#define TWINS	16U

static const uint32_t units[] = { 4096, 16384, 1 << 20 };

/* ---- what a page allows ------------------------------------------------- */

static void pages_begin_as_zeros_that_may_be_read(void)
{
	struct sonde_dsm_event event;
	struct segment s;
	size_t u, i;

	for (u = 0; u < ARRAY_SIZE(units); u++) {
		s = make_segment(PAGES, TWINS, units[u]);
		for (i = 0; i < (size_t)PAGES * s.unit; i += 512)
			check_int(s.view[i], 0);
		check(!next_event(&s, &event));
		check_int(told(&s, "misses"), 0);
		end_segment(&s);
	}
}

static void a_first_write_is_noted_with_what_was_there_before(void)
{
	struct sonde_dsm_written w[4];
	struct segment s;
	size_t u;

	for (u = 0; u < ARRAY_SIZE(units); u++) {
		s = make_segment(PAGES, TWINS, units[u]);
		memset(s.alias + 5 * (size_t)s.unit, 7, s.unit);
		page_at(&s, 5)[0] = 8;
		page_at(&s, 5)[s.unit - 1] = 9;
		check_int(told(&s, "writes"), 1);
		check_int(collect(&s, w, 4), 1);
		check_int(w[0].page, 5);
		check(w[0].twin < TWINS);
		check_int(s.twins[w[0].twin * (size_t)s.unit], 7);
		check_int(s.twins[(w[0].twin + 1) * (size_t)s.unit - 1], 7);
		check_int(s.alias[5 * (size_t)s.unit], 8);
		check_int(s.alias[6 * (size_t)s.unit - 1], 9);
		check_int(collect(&s, w, 4), 0);
		end_segment(&s);
	}
}

static void what_was_collected_is_noted_anew(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct sonde_dsm_written w;
	uint32_t twin;

	page_at(&s, 3)[10] = 1;
	check_int(collect(&s, &w, 1), 1);
	twin = w.twin;
	/* With a twin that has not been given back: that one, as user space left it. */
	s.twins[twin * SMALL_PAGE + 10] = 77;
	page_at(&s, 3)[10] = 2;
	untwin(&s, 3);
	check_int(collect(&s, &w, 1), 1);
	check_int(w.page, 3);
	check_int(w.twin, twin);
	check_int(s.twins[twin * SMALL_PAGE + 10], 77);
	untwin(&s, 3);
	check_int(told(&s, "twins-free"), TWINS);
	/* Else a new one. */
	page_at(&s, 3)[10] = 3;
	check_int(collect(&s, &w, 1), 1);
	check_int(s.twins[w.twin * SMALL_PAGE + 10], 2);
	untwin(&s, 3);
	untwin(&s, 3);
	check_int(told(&s, "twins-free"), TWINS);
	end_segment(&s);
}

static void writes_are_noted_as_the_protection_says(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct sonde_dsm_written w[8];

	protect(&s, 0, SONDE_DSM_NOTE);
	protect(&s, 1, SONDE_DSM_WRITE);
	page_at(&s, 0)[0] = 1;
	page_at(&s, 1)[0] = 1;
	page_at(&s, 2)[0] = 1;
	check_int(collect(&s, w, 8), 2);
	check_int(w[0].page, 0);
	check_int(w[0].twin, SONDE_DSM_NO_TWIN);
	check_int(w[1].page, 2);
	check(w[1].twin != SONDE_DSM_NO_TWIN);
	/* What could be written unnoticed cannot any more. */
	protect(&s, 1, SONDE_DSM_READ);
	page_at(&s, 1)[0] = 2;
	check_int(collect(&s, w, 8), 1);
	check_int(w[0].page, 1);
	check_int(s.twins[w[0].twin * SMALL_PAGE], 1);
	/* What is written and shut then is on the list all the same. */
	page_at(&s, 7)[0] = 1;
	protect(&s, 7, SONDE_DSM_NONE);
	check_int(collect(&s, w, 8), 1);
	check_int(w[0].page, 7);
	check_int(s.twins[w[0].twin * SMALL_PAGE], 0);
	end_segment(&s);
}

static void the_list_comes_in_parts(void)
{
	struct segment s = make_segment(PAGES, PAGES, SMALL_PAGE);
	struct sonde_dsm_written w[PAGES];
	uint32_t i, n = 0, got;

	for (i = 0; i < PAGES; i++)
		page_at(&s, (i * 37) % PAGES)[i] = 1;
	while ((got = collect(&s, w + n, 7)))
		n += got;
	check_int(n, PAGES);
	for (i = 0; i < PAGES; i++)
		check_int(w[i].page, (i * 37) % PAGES);
	end_segment(&s);
}

/* ---- misses ------------------------------------------------------------- */

#define CROWD	6

static void one_event_tells_of_all_that_wait(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct sonde_dsm_event event;
	struct touch t[CROWD];
	int i;

	protect(&s, 9, SONDE_DSM_NONE);
	for (i = 0; i < CROWD; i++)
		begin_touch(&t[i], page_at(&s, 9) + i, false, 0);
	event = await_event(&s);
	check_int(event.page, 9);
	check_int(event.flags, 0);
	for (i = 0; i < 1000; i++)
		sched_yield();
	check(!next_event(&s, &event));
	for (i = 0; i < CROWD; i++)
		check(!t[i].done);
	memset(s.alias + 9 * SMALL_PAGE, 42, SMALL_PAGE);
	protect(&s, 9, SONDE_DSM_READ);
	for (i = 0; i < CROWD; i++)
		check_int(end_touch(&t[i]), 42);
	check(!next_event(&s, &event));
	end_segment(&s);
}

static void reads_and_writes_are_told_apart(void)
{
	struct segment s = make_segment(PAGES, TWINS, 16384);
	struct sonde_dsm_event a, b;
	struct sonde_dsm_written w;
	struct touch reader, writer;

	protect(&s, 1, SONDE_DSM_NONE);
	begin_touch(&reader, page_at(&s, 1), false, 0);
	a = await_event(&s);
	begin_touch(&writer, page_at(&s, 1) + 16383, true, 5);
	b = await_event(&s);
	check(a.page == 1 && !a.flags);
	check(b.page == 1 && b.flags == SONDE_DSM_EVENT_WRITE);
	memset(s.alias + 16384, 4, 16384);
	protect(&s, 1, SONDE_DSM_READ);
	check_int(end_touch(&reader), 4);
	end_touch(&writer);
	check_int(collect(&s, &w, 1), 1);
	check_int(s.twins[w.twin * 16384 + 16383], 4);
	check_int(s.alias[2 * 16384 - 1], 5);
	end_segment(&s);
}

static void a_page_that_is_taken_again_is_told_again(void)
{
	struct segment s = make_segment(PAGES, PAGES, SMALL_PAGE);
	struct touch t;
	int i;

	for (i = 0; i < 100; i++) {
		uint32_t page = i * 7 % PAGES;

		protect(&s, page, SONDE_DSM_NONE);
		begin_touch(&t, page_at(&s, page), i & 1, i);
		check_int(await_event(&s).page, page);
		s.alias[page * SMALL_PAGE] = i;
		protect(&s, page, SONDE_DSM_READ);
		check_int(end_touch(&t), i);
	}
	check(told(&s, "misses") >= 100);
	end_segment(&s);
}

static void events_can_be_waited_for_in_read(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct sonde_dsm_event events[PAGES];
	struct touch t[CROWD];
	ssize_t got = 0, n;
	int i;

	check_int(read(s.fd, events, sizeof(events[0]) - 1), -1);
	check_int(errno, EINVAL);
	check_int(fcntl(s.fd, F_SETFL, 0), 0);
	for (i = 0; i < CROWD; i++) {
		protect(&s, i, SONDE_DSM_NONE);
		begin_touch(&t[i], page_at(&s, i), false, 0);
	}
	while (got < CROWD) {
		n = read(s.fd, events + got, sizeof(events) - got * sizeof(events[0]));
		check(n > 0 && !(n % sizeof(events[0])));
		got += n / sizeof(events[0]);
	}
	check_int(got, CROWD);
	for (i = 0; i < CROWD; i++) {
		protect(&s, events[i].page, SONDE_DSM_READ);
		end_touch(&t[events[i].page]);
	}
	end_segment(&s);
}

static void lists_that_cannot_be_told_are_not_lost(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct sonde_dsm_event event;
	struct sonde_dsm_written w[8];
	char *nowhere = map_small(SMALL_PAGE);
	struct touch t;
	uint32_t n;

	check_int(mprotect(nowhere, SMALL_PAGE, PROT_READ), 0);
	page_at(&s, 1)[0] = 1;
	page_at(&s, 2)[0] = 2;
	check_int(try_collect(&s, (void *)nowhere, 8, &n), -EFAULT);
	check_int(try_collect(&s, w, 8, &n), 0);
	check_int(n, 2);
	check_int(s.twins[w[0].twin * SMALL_PAGE], 0);
	protect(&s, 3, SONDE_DSM_NONE);
	begin_touch(&t, page_at(&s, 3), false, 0);
	while (!told(&s, "events"))
		sched_yield();
	check_int(read(s.fd, nowhere, 8), -1);
	check_int(errno, EFAULT);
	check(next_event(&s, &event));
	check_int(event.page, 3);
	protect(&s, 3, SONDE_DSM_READ);
	end_touch(&t);
	end_segment(&s);
}

/* ---- no twin left ------------------------------------------------------- */

static void a_write_without_a_free_twin_is_an_event_and_waits(void)
{
	struct segment s = make_segment(PAGES, 2, SMALL_PAGE);
	struct sonde_dsm_written w[4];
	struct sonde_dsm_event event;
	struct touch t;
	int round;

	for (round = 0; round < 2; round++) {
		page_at(&s, 0)[0] = page_at(&s, 1)[0] = 1;
		check_int(told(&s, "twins-free"), 0);
		check_int(page_at(&s, 2)[0], 0);
		begin_touch(&t, page_at(&s, 2), true, 3);
		event = await_event(&s);
		check(event.page == 2 && event.flags == SONDE_DSM_EVENT_WRITE);
		check(!t.done);
		if (round) {
			/* It may be written unnoticed then. */
			protect(&s, 2, SONDE_DSM_WRITE);
			end_touch(&t);
			check_int(collect(&s, w, 4), 2);
		} else {
			check_int(collect(&s, w, 4), 2);
			check(!t.done);
			untwin(&s, 1);
			end_touch(&t);
			check_int(collect(&s, w, 4), 1);
			check_int(w[0].page, 2);
			check_int(s.twins[w[0].twin * SMALL_PAGE], 0);
			untwin(&s, 2);
			protect(&s, 2, SONDE_DSM_READ);
			s.alias[2 * SMALL_PAGE] = 0;
		}
		untwin(&s, 0);
		untwin(&s, 1);
	}
	check_int(told(&s, "twins-free"), 2);
	end_segment(&s);
}

static void without_twins_each_write_is_an_event(void)
{
	struct segment s = make_segment(PAGES, 0, SMALL_PAGE);
	struct touch t;

	begin_touch(&t, page_at(&s, 2), true, 3);
	check_int(await_event(&s).flags, SONDE_DSM_EVENT_WRITE);
	protect(&s, 2, SONDE_DSM_WRITE);
	end_touch(&t);
	end_segment(&s);
}

/* ---- siblings on other processors --------------------------------------- */

/* Reads a page all the time, through a translation that its processor keeps. */
static void *look_at_pages(void *arg)
{
	volatile char *at = page_at(&run.s, 0);

	(void)arg;
	while (!run.stop) {
		check(at[0] != 13);
		check(at[3 * SMALL_PAGE] != 13);
		run.looks++;
	}
	return NULL;
}

/* Every page holds 13 only while nobody may look. */
static void siblings_see_nothing_of_what_they_may_not(void)
{
	const uint32_t pages[] = { 0, 3, 9 };
	struct sonde_dsm_event event;
	pthread_t thread;
	uint64_t looks;
	int i;

	run.s = make_segment(PAGES, TWINS, SMALL_PAGE);
	run.stop = 0;
	check_int(pthread_create(&thread, NULL, look_at_pages, NULL), 0);
	for (i = 0; i < 300; i++) {
		looks = run.looks;
		while (run.looks < looks + 3)
			sched_yield();
		check_int(try_protect(&run.s, pages, 3, SONDE_DSM_NONE), 0);
		run.s.alias[0] = run.s.alias[3 * SMALL_PAGE] = 13;
		event = await_event(&run.s);
		check(event.page == 0 || event.page == 3);
		run.s.alias[0] = run.s.alias[3 * SMALL_PAGE] = 1;
		check_int(try_protect(&run.s, pages, 3, SONDE_DSM_READ), 0);
	}
	run.stop = 1;
	check_int(pthread_join(thread, NULL), 0);
}

static void no_write_is_lost_between_twin_and_list(void)
{
	no_write_is_lost(0, SMALL_PAGE, 8, 8);
	no_write_is_lost(0, 16384, 4, 4);
}

static void no_write_is_lost_where_twins_are_few(void)
{
	no_write_is_lost(0, SMALL_PAGE, 16, 3);
}

/* Devices that share the address space are to be told too: another way. */
static void neither_where_others_watch_the_address_space(void)
{
	int dev = open_node(MAIN_NODE);
	int fd = export_region(dev, map_small(SMALL_PAGE), SMALL_PAGE, SONDE_REGION_READ);

	no_write_is_lost(0, SMALL_PAGE, 8, 8);
	siblings_see_nothing_of_what_they_may_not();
	close(fd);
}

/* ---- the kernel's own accesses ------------------------------------------ */

static struct {
	struct segment s;
	int in, out;
	ssize_t got;
	pthread_t thread;
} call;

static void begin_call(void *(*run_call)(void *), uint32_t page, uint32_t protection)
{
	protect(&call.s, page, protection);
	check_int(pthread_create(&call.thread, NULL, run_call, NULL), 0);
}

static void *call_read(void *arg)
{
	(void)arg;
	call.got = read(call.in, page_at(&call.s, 1) - 100, 200);
	return NULL;
}

static void *call_sendmsg(void *arg)
{
	struct iovec iov = { page_at(&call.s, 1) - 100, 200 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	(void)arg;
	call.got = sendmsg(call.out, &msg, 0);
	return NULL;
}

static void system_calls_wait_for_pages_as_programs_do(void)
{
	char buf[200], got[200];
	int sock[2];

	call.s = make_segment(PAGES, TWINS, SMALL_PAGE);
	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	call.in = sock[0];
	call.out = sock[0];
	memset(buf, 5, sizeof(buf));
	check_int(write(sock[1], buf, 200), 200);
	begin_call(call_read, 1, SONDE_DSM_NONE);
	check_int(await_event(&call.s).page, 1);
	memset(call.s.alias + SMALL_PAGE, 6, SMALL_PAGE);
	protect(&call.s, 1, SONDE_DSM_READ);
	check_int(pthread_join(call.thread, NULL), 0);
	check_int(call.got, 200);
	check(!memcmp(call.s.alias + SMALL_PAGE - 100, buf, 200));
	check_int(call.s.alias[SMALL_PAGE + 100], 6);
	/* Both pages were written, by the kernel. */
	check_int(told(&call.s, "written"), 2);

	begin_call(call_sendmsg, 1, SONDE_DSM_NONE);
	check_int(await_event(&call.s).flags, 0);
	memset(call.s.alias + SMALL_PAGE, 9, SMALL_PAGE);
	protect(&call.s, 1, SONDE_DSM_READ);
	check_int(pthread_join(call.thread, NULL), 0);
	check_int(call.got, 200);
	check_int(recv(sock[1], got, 200, MSG_WAITALL), 200);
	check(got[99] == 5 && got[100] == 9 && got[199] == 9);
	end_segment(&call.s);
}

static ssize_t vm_read(void *to, void *from)
{
	struct iovec local = { to, SMALL_PAGE }, remote = { from, SMALL_PAGE };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
}

/* What would go on using a page behind its protection is for the alias. */
static void what_works_on_pages_is_for_the_alias(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	char *buf = map_small(SMALL_PAGE);

	fill_pattern(s.alias, SMALL_PAGE, 3);
	check_int(vm_read(buf, s.alias), SMALL_PAGE);
	check_pattern(buf, SMALL_PAGE, 0, 3);
	check_int(vm_read(buf, s.view), -1);
	check_int(errno, EFAULT);
	/* Into the view is an access like any other. */
	check_int(vm_read(s.view + SMALL_PAGE, s.alias), SMALL_PAGE);
	check_pattern(s.alias + SMALL_PAGE, SMALL_PAGE, 0, 3);
	check_int(told(&s, "written"), 1);
	end_segment(&s);
}

static void o_direct_works_on_the_alias(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	int fd = open("/usr/bin/env", O_RDONLY | O_DIRECT), p[2];
	struct iovec iov = { s.alias, SMALL_PAGE };
	char *buf = map_small(SMALL_PAGE);

	fill_pattern(s.alias, SMALL_PAGE, 3);
	check_int(pipe(p), 0);
	/* The pipe takes the page itself. */
	check_int(vmsplice(p[1], &iov, 1, 0), SMALL_PAGE);
	check_int(read(p[0], buf, SMALL_PAGE), SMALL_PAGE);
	check_pattern(buf, SMALL_PAGE, 0, 3);
	if (fd < 0)
		tap_skip("no file that is opened with O_DIRECT: %s", strerror(errno));
	check_int(read(fd, s.alias + SMALL_PAGE, SMALL_PAGE), SMALL_PAGE);
	check(!memcmp(s.alias + SMALL_PAGE, "\177ELF", 4));
	close(fd);
	end_segment(&s);
}

/* Pinned for long, as verbs do it. */
static void the_alias_can_be_pinned_and_the_view_cannot(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	int dev = open_node(MAIN_NODE), fd;

	fill_pattern(s.alias, 8 * SMALL_PAGE, 3);
	fd = export_region(dev, s.alias, 8 * SMALL_PAGE, READ_WRITE);
	check_region_pattern(fd, 8 * SMALL_PAGE, 3);
	check_int(try_export(dev, s.view, SMALL_PAGE, SONDE_REGION_READ), -EFAULT);
	close(fd);
	end_segment(&s);
}

static void a_debugger_sees_what_is_there(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	int fd = open("/proc/self/mem", O_RDWR);
	char c = 0;

	check(fd >= 0);
	s.alias[3 * SMALL_PAGE + 5] = 7;
	protect(&s, 3, SONDE_DSM_NONE);
	check_int(pread(fd, &c, 1, (uintptr_t)page_at(&s, 3) + 5), 1);
	check_int(c, 7);
	check_int(pwrite(fd, &c, 1, (uintptr_t)page_at(&s, 3)), -1);
	check(!told(&s, "misses"));
	close(fd);
	end_segment(&s);
}

/* ---- mappings ----------------------------------------------------------- */

static unsigned int count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int lines = 0;
	int c;

	check(f);
	while ((c = fgetc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	return lines;
}

#define OWN_SECONDS	3600

/* SONDE_DSM_PAGES=1000000 in a guest with as much memory. */
static void no_protection_splits_a_mapping(void)
{
	const char *text = getenv("SONDE_DSM_PAGES");
	const uint32_t n = text ? strtoul(text, NULL, 0) : 20000, half = n / 2;
	struct segment s = make_segment(n, n, SMALL_PAGE);
	uint32_t *pages = calloc(half, sizeof(*pages)), i, at, part;
	unsigned int before;

	check(pages);
	if (text)
		alarm(OWN_SECONDS);
	for (i = 0; i < half; i++)
		pages[i] = 2 * i;
	for (i = 0; i < n; i++)
		check_int(page_at(&s, i)[0], 0);
	before = count_mappings();
	for (at = 0; at < half; at += part) {
		part = half - at < SONDE_DSM_LIST ? half - at : SONDE_DSM_LIST;
		check_int(try_protect(&s, pages + at, part, SONDE_DSM_WRITE), 0);
	}
	for (i = 0; i < n; i += 2)
		page_at(&s, i)[0] = 1;
	check_int(told(&s, "written"), 0);
	check_int(count_mappings(), before);
	for (i = 1; i < n; i += 2)
		page_at(&s, i)[0] = 1;
	check_int(told(&s, "written"), half);
	check_int(count_mappings(), before);
	printf("# %u pages, %u mappings\n", n, before);
	end_segment(&s);
}

static void the_view_is_mapped_whole_and_once(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	const size_t size = PAGES * SMALL_PAGE;
	char *elsewhere = map_small(size);

	check(mmap(NULL, size, PROT_READ, MAP_SHARED, s.fd, 0) == MAP_FAILED);
	check_int(errno, EBUSY);
	check(mmap(NULL, size, PROT_READ, MAP_PRIVATE, s.fd, 0) == MAP_FAILED);
	check_int(errno, EINVAL);
	check_int(munmap(s.view, SMALL_PAGE), -1);
	check_int(errno, EINVAL);
	check_int(munmap(s.view + SMALL_PAGE, size - SMALL_PAGE), -1);
	check_int(mprotect(s.view + SMALL_PAGE, SMALL_PAGE, PROT_NONE), -1);
	check(mremap(s.view, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
		     elsewhere) == MAP_FAILED);
	check(mremap(s.view, size, 2 * size, MREMAP_MAYMOVE) == MAP_FAILED);
	check(mremap(s.view, 0, size, MREMAP_MAYMOVE) == MAP_FAILED);
	check_int(madvise(s.view, size, MADV_DONTNEED), -1);
	check_int(madvise(s.view, size, MADV_DOFORK), -1);
	s.view[5] = 1;
	check_int(munmap(s.view, size), 0);
	check(mmap(NULL, size / 2, PROT_READ, MAP_SHARED, s.fd, 0) == MAP_FAILED);
	check_int(errno, EINVAL);
	/* What was written before is on the list, and it may be mapped anew. */
	check_int(told(&s, "written"), 1);
	s.view = map_segment(s.fd, size, SONDE_DSM_VIEW);
	check_int(s.view[5], 1);
	end_segment(&s);
}

/* Of the whole, on top of what pages allow. */
static void mprotect_of_the_whole_holds(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	const size_t size = PAGES * SMALL_PAGE;
	int p[2];

	s.view[0] = 1;
	check_int(mprotect(s.view, size, PROT_READ), 0);
	check_int(pipe(p), 0);
	check_int(write(p[1], "abc", 3), 3);
	check_int(read(p[0], s.view, 1), -1);
	check_int(errno, EFAULT);
	check_int(s.view[0], 1);
	check_int(mprotect(s.view, size, PROT_READ | PROT_WRITE), 0);
	check_int(read(p[0], s.view, 1), 1);
	check_int(s.view[0], 'a');
	check_int(told(&s, "writes"), 1);
	end_segment(&s);
}

static void mappings_of_what_is_not_there_are_refused(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	const size_t size = PAGES * SMALL_PAGE;
	static const uint64_t at[] = {
		SONDE_DSM_ALIAS + PAGES * SMALL_PAGE, SONDE_DSM_TWINS + TWINS * SMALL_PAGE,
		SONDE_DSM_ALIAS - SMALL_PAGE, SONDE_DSM_TWINS - SMALL_PAGE, SMALL_PAGE,
		1ULL << 62,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, s.fd, at[i]) ==
		      MAP_FAILED);
	check(mmap(NULL, size + SMALL_PAGE, PROT_READ, MAP_SHARED, s.fd,
		   SONDE_DSM_ALIAS) == MAP_FAILED);
	check_int(errno, ENXIO);
	/* Parts of what is there are not. */
	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, s.fd, SONDE_DSM_ALIAS +
		   size - SMALL_PAGE) != MAP_FAILED);
	end_segment(&s);
}

/* ---- arguments ---------------------------------------------------------- */

static void what_makes_no_sense_is_refused(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	uint32_t pages[2] = { 0, PAGES }, n;
	struct sonde_dsm_written w;

	check_int(try_create(0, 0, SMALL_PAGE), -EINVAL);
	check_int(try_create(1, 0, SMALL_PAGE / 2), -EINVAL);
	check_int(try_create(1, 0, 3 * SMALL_PAGE), -EINVAL);
	check_int(try_create(1, 0, 2 * SONDE_DSM_UNIT), -EINVAL);
	check_int(try_create(UINT64_MAX, 0, SMALL_PAGE), -EDQUOT);
	check_int(try_create(1, UINT64_MAX, SMALL_PAGE), -EDQUOT);
	check_int(try_create(1ULL << 27, 1ULL << 27, SONDE_DSM_UNIT), -EDQUOT);
	check_int(try_protect(&s, pages, 2, SONDE_DSM_NONE), -EINVAL);
	check_int(s.view[0], 0);
	check_int(try_protect(&s, pages, 1, SONDE_DSM_WRITE + 1), -EINVAL);
	check_int(try_protect(&s, pages, SONDE_DSM_LIST + 1, SONDE_DSM_READ), -EINVAL);
	check_int(try_protect(&s, (void *)1, 1, SONDE_DSM_READ), -EFAULT);
	check_int(try_protect(&s, NULL, 0, SONDE_DSM_READ), 0);
	check_int(try_untwin(&s, pages, 2), -EINVAL);
	check_int(try_collect(&s, &w, SONDE_DSM_LIST + 1, &n), -EINVAL);
	check_int(do_ioctl(s.fd, SONDE_IOC_INFO, &w), -ENOTTY);
	end_segment(&s);
}

static void who_may_not_lock_memory_may_not_have_a_segment(void)
{
	int dev = open_node(MAIN_NODE);
	struct sonde_dsm_create args = create_of(1 << 16, 0, SMALL_PAGE);

	become_nobody(NOBODY);
	check_int(do_ioctl(dev, SONDE_IOC_DSM_CREATE, &args), -ENOBUFS);
	args = create_of(4, 4, SMALL_PAGE);
	check_int(do_ioctl(dev, SONDE_IOC_DSM_CREATE, &args), 0);
}

static const struct tap_test tests[] = {
	TAP_TEST(pages_begin_as_zeros_that_may_be_read),
	TAP_TEST(a_first_write_is_noted_with_what_was_there_before),
	TAP_TEST(what_was_collected_is_noted_anew),
	TAP_TEST(writes_are_noted_as_the_protection_says),
	TAP_TEST(the_list_comes_in_parts),
	TAP_TEST(one_event_tells_of_all_that_wait),
	TAP_TEST(reads_and_writes_are_told_apart),
	TAP_TEST(a_page_that_is_taken_again_is_told_again),
	TAP_TEST(events_can_be_waited_for_in_read),
	TAP_TEST(lists_that_cannot_be_told_are_not_lost),
	TAP_TEST(a_write_without_a_free_twin_is_an_event_and_waits),
	TAP_TEST(without_twins_each_write_is_an_event),
	TAP_TEST(siblings_see_nothing_of_what_they_may_not),
	TAP_TEST(no_write_is_lost_between_twin_and_list),
	TAP_TEST(no_write_is_lost_where_twins_are_few),
	TAP_TEST(neither_where_others_watch_the_address_space),
	TAP_TEST(system_calls_wait_for_pages_as_programs_do),
	TAP_TEST(what_works_on_pages_is_for_the_alias),
	TAP_TEST(o_direct_works_on_the_alias),
	TAP_TEST(the_alias_can_be_pinned_and_the_view_cannot),
	TAP_TEST(a_debugger_sees_what_is_there),
	TAP_TEST(no_protection_splits_a_mapping),
	TAP_TEST(the_view_is_mapped_whole_and_once),
	TAP_TEST(mprotect_of_the_whole_holds),
	TAP_TEST(mappings_of_what_is_not_there_are_refused),
	TAP_TEST(what_makes_no_sense_is_refused),
	TAP_TEST(who_may_not_lock_memory_may_not_have_a_segment),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
