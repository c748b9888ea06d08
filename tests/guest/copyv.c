/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SONDE_IOC_COPYV and SONDE_IOC_SLOTS: many copies in one call. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "region.h"

#define SIZE	(64UL << 10)
#define MANY	1000

static int try_copyv(int dev, struct sonde_copy *copies, uint32_t n, uint32_t *done)
{
	struct sonde_copyv args = {
		.size = sizeof(args), .copies = (uintptr_t)copies, .ncopies = n,
		.done = 77,
	};
	int ret = do_ioctl(dev, SONDE_IOC_COPYV, &args);

	if (done)
		*done = args.done;
	return ret;
}

static void copyv(int dev, struct sonde_copy *copies, uint32_t n)
{
	uint32_t done;

	check_int(try_copyv(dev, copies, n, &done), 0);
	check_int(done, n);
}

/* The result of one copy. */
static int64_t copy(int dev, struct sonde_copy c)
{
	c.result = 12345;
	copyv(dev, &c, 1);
	return c.result;
}

static int set_slots(int dev, uint32_t first, const int *fds, uint32_t n,
		     uint32_t *done)
{
	struct sonde_slots args = {
		.size = sizeof(args), .regions = (uintptr_t)fds, .first = first,
		.nregions = n,
	};
	int ret = do_ioctl(dev, SONDE_IOC_SLOTS, &args);

	if (done)
		*done = args.done;
	return ret;
}

static struct sonde_copy piece(int region, uint32_t flags, uint64_t offset,
			       void *addr, uint64_t len)
{
	return (struct sonde_copy){
		.region = region, .flags = flags, .offset = offset,
		.addr = (uintptr_t)addr, .len = len,
	};
}

static void a_batch_copies_both_ways(void)
{
	int dev = open_node(MAIN_NODE), a, b;
	char *p = map_small(SIZE), *q = map_small(SIZE), *buf = map_small(SIZE);
	struct sonde_copy c[4];

	fill_pattern(p, SIZE, 1);
	fill_pattern(q, SIZE, 2);
	a = export_region(dev, p, SIZE, READ_WRITE);
	b = export_region(dev, q, SIZE, READ_WRITE);
	c[0] = piece(a, 0, 100, buf, 9000);
	c[1] = piece(b, 0, 200, buf + 9000, 1);
	c[2] = piece(b, SONDE_COPY_WRITE, 20000, buf, 9001);
	c[3] = piece(a, 0, SIZE, buf, 0);
	copyv(dev, c, 4);
	check_int(c[0].result, 9000);
	check_int(c[1].result, 1);
	check_int(c[2].result, 9001);
	check_int(c[3].result, 0);
	check_pattern(buf, 9000, 100, 1);
	check_pattern(buf + 9000, 1, 200, 2);
	check_pattern(q + 20000, 9000, 100, 1);
	check_pattern(q, 20000, 0, 2);
	check_pattern(q + 29001, SIZE - 29001, 29001, 2);
}

/* A whole alltoall: a piece of each of many regions, in one call. */
static void many_copies_are_one_call(void)
{
	static struct sonde_copy c[MANY];
	int dev = open_node(MAIN_NODE), fds[50], i;
	char *p = map_small(50 * SIZE), *buf = map_small(MANY * 128);

	for (i = 0; i < 50; i++) {
		fill_pattern(p + i * SIZE, SIZE, i);
		fds[i] = export_region(dev, p + i * SIZE, SIZE, SONDE_REGION_READ);
	}
	check_int(set_slots(dev, 100, fds, 50, NULL), 0);
	for (i = 0; i < MANY; i++)
		c[i] = piece(i & 1 ? fds[i % 50] : 100 + i % 50,
			     i & 1 ? 0 : SONDE_COPY_SLOT, i * 61, buf + i * 128, 128);
	copyv(dev, c, MANY);
	for (i = 0; i < MANY; i++) {
		check_int(c[i].result, 128);
		check_pattern(buf + i * 128, 128, i * 61, i % 50);
	}
}

static void each_copy_has_its_own_result(void)
{
	int dev = open_node(MAIN_NODE), r, wr, gone, null = open("/dev/null", O_RDWR);
	char *p = map_small(SIZE), *q = map_small(SIZE), *buf = map_small(SIZE);
	char *hole = map_small(2 * SMALL_PAGE);

	check_int(munmap(hole + SMALL_PAGE, SMALL_PAGE), 0);
	memset(p, 1, SIZE);
	r = export_region(dev, p, SIZE, SONDE_REGION_READ);
	wr = export_region(dev, p, SIZE, SONDE_REGION_WRITE);
	gone = export_region(dev, q, SIZE, READ_WRITE);
	check_int(munmap(q, SIZE), 0);
	{
		struct sonde_copy c[] = {
			piece(r, 0, 0, buf, 10),
			piece(r, SONDE_COPY_WRITE, 0, buf, 10),
			piece(wr, 0, 0, buf, 10),
			piece(gone, 0, 0, buf, 10),
			piece(-1, 0, 0, buf, 10),
			piece(null, 0, 0, buf, 10),
			piece(dev, 0, 0, buf, 10),
			piece(r, 4, 0, buf, 10),
			piece(0, SONDE_COPY_SLOT, 0, buf, 10),
			piece(r, 0, 1, buf, SIZE),
			piece(r, 0, UINT64_MAX, buf, 2),
			piece(r, 0, 2, buf, UINT64_MAX),
			piece(r, 0, 0, hole, 2 * SMALL_PAGE),
			piece(r, 0, 0, hole + SMALL_PAGE, 1),
			piece(r, 0, 0, (void *)0xffff888000000000UL, 1),
			piece(r, 0, 0, (void *)-1UL, 1),
			piece(wr, SONDE_COPY_WRITE, 0, (void *)-1UL, 4096),
			piece(gone, 0, 0, buf, 0),
			piece(r, 0, 0, buf, 10),
		};
		const int64_t want[] = {
			10, -EBADF, -EBADF, -ESTALE, -EBADF, -EINVAL, -EINVAL, -EINVAL,
			-EBADF, -EINVAL, -EINVAL, -EINVAL, SMALL_PAGE, -EFAULT,
			-EFAULT, -EFAULT, -EFAULT, -ESTALE, 10,
		};
		size_t i;

		copyv(dev, c, ARRAY_SIZE(c));
		for (i = 0; i < ARRAY_SIZE(c); i++)
			check_msg(c[i].result == want[i], "copy %zu: %lld, not %lld",
				  i, (long long)c[i].result, (long long)want[i]);
	}
}

static void calls_that_make_no_sense_are_refused(void)
{
	int dev = open_node(MAIN_NODE), i;
	int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);
	char *buf = map_small(SIZE);
	struct sonde_copy c = piece(fd, 0, 0, buf, 10);
	const struct sonde_copyv good = {
		.size = sizeof(good), .copies = (uintptr_t)&c, .ncopies = 1,
		.done = 77,
	};
	struct sonde_copyv bad[6];

	for (i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].flags = 1U << 31;
	bad[1].ncopies = SONDE_COPYV_COPIES + 1;
	bad[2].status = (uintptr_t)buf;
	bad[3].eventfd = 1;
	bad[4].cpu = 1;
	bad[5].size = 48;
	for (i = 0; i < 6; i++) {
		struct sonde_copyv args = bad[i];

		check_int(do_ioctl(dev, SONDE_IOC_COPYV, &args), -EINVAL);
		check(!memcmp(&args, &bad[i], sizeof(args)));
	}
	copyv(dev, NULL, 0);
}

/* Of the array only results are written, and none beyond what is told. */
static void a_bad_array_ends_the_call_where_it_is_bad(void)
{
	int dev = open_node(MAIN_NODE);
	int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);
	char *p = map_small(2 * SMALL_PAGE), *buf = map_small(SIZE);
	struct sonde_copy *c = (void *)p;
	uint32_t done, i, fits = SMALL_PAGE / sizeof(*c);

	check_int(munmap(p + SMALL_PAGE, SMALL_PAGE), 0);
	for (i = 0; i < fits; i++)
		c[i] = piece(fd, 0, 0, buf, 1);
	check_int(try_copyv(dev, c, 2 * fits, &done), -EFAULT);
	check(done <= fits && done + 16 > fits);
	for (i = 0; i < fits; i++)
		check_int(c[i].result, i < done ? 1 : 0);
	check_int(try_copyv(dev, (void *)-64L, 1, &done), -EFAULT);
	check_int(done, 0);
	check_int(mprotect(p, SMALL_PAGE, PROT_READ), 0);
	check_int(try_copyv(dev, c, 1, &done), -EFAULT);
	check_int(done, 0);
}

/* ---- slots -------------------------------------------------------------- */

static void a_slot_keeps_its_region(void)
{
	int dev = open_node(MAIN_NODE), fd, none = -1;
	const unsigned long before = await_none_pinned();
	char *p = map_small(SIZE), buf[100];

	fill_pattern(p, SIZE, 3);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	check_int(set_slots(dev, 0, &fd, 1, NULL), 0);
	check_int(set_slots(dev, SONDE_SLOTS - 1, &fd, 1, NULL), 0);
	close(fd);
	check_int(copy(dev, piece(0, SONDE_COPY_SLOT, 5, buf, 100)), 100);
	check_pattern(buf, 100, 5, 3);
	check_int(set_slots(dev, 0, &none, 1, NULL), 0);
	check_int(copy(dev, piece(0, SONDE_COPY_SLOT, 5, buf, 100)), -EBADF);
	check_int(copy(dev, piece(SONDE_SLOTS - 1, SONDE_COPY_SLOT, 9, buf, 100)), 100);
	check_int(copy(dev, piece(-1, SONDE_COPY_SLOT, 9, buf, 100)), -EBADF);
	check_int(copy(dev, piece(SONDE_SLOTS, SONDE_COPY_SLOT, 9, buf, 100)), -EBADF);
	/* Slots are those of one open file. */
	check_int(copy(open_node(MAIN_NODE),
		       piece(SONDE_SLOTS - 1, SONDE_COPY_SLOT, 9, buf, 1)), -EBADF);
	close(dev);
	await_pinned(before);
}

static void slots_are_set_as_far_as_they_are_right(void)
{
	int dev = open_node(MAIN_NODE);
	int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);
	int fds[4] = { fd, fd, 999, fd };
	struct sonde_slots args = {
		.size = sizeof(args), .regions = (uintptr_t)fds, .nregions = 4,
	};
	uint32_t done;
	char c;

	check_int(set_slots(dev, 0, fds, 4, &done), -EBADF);
	check_int(done, 2);
	check_int(copy(dev, piece(1, SONDE_COPY_SLOT, 0, &c, 1)), 1);
	check_int(copy(dev, piece(2, SONDE_COPY_SLOT, 0, &c, 1)), -EBADF);
	fds[2] = dev;
	check_int(set_slots(dev, 0, fds, 4, &done), -EINVAL);
	check_int(done, 2);
	check_int(set_slots(dev, 0, NULL, 1, &done), -EFAULT);
	check_int(set_slots(dev, SONDE_SLOTS, fds, 1, NULL), -EINVAL);
	check_int(set_slots(dev, SONDE_SLOTS, fds, 0, NULL), 0);
	check_int(set_slots(dev, 1, fds, UINT32_MAX, NULL), -EINVAL);
	check_int(set_slots(dev, UINT32_MAX, fds, 2, NULL), -EINVAL);
	args.flags = 1;
	check_int(do_ioctl(dev, SONDE_IOC_SLOTS, &args), -EINVAL);
	args.flags = 0;
	args.reserved = 1;
	check_int(do_ioctl(dev, SONDE_IOC_SLOTS, &args), -EINVAL);
}

static struct shared {
	int dev, fds[2];
	_Atomic int stop, wrong;
	_Atomic unsigned long copies;
} shared;

/* Each region is full of its own byte; what a slot holds changes all the time. */
static void *copy_by_slot(void *arg)
{
	unsigned char buf[5000];
	size_t i;

	(void)arg;
	while (!shared.stop) {
		struct sonde_copy c = piece(0, SONDE_COPY_SLOT, 0, buf, sizeof(buf));

		copyv(shared.dev, &c, 1);
		if (c.result == -EBADF)
			continue;
		shared.wrong |= c.result != sizeof(buf);
		for (i = 0; i < sizeof(buf); i++)
			shared.wrong |= buf[i] != buf[0] || (buf[i] != 1 && buf[i] != 2);
		shared.copies++;
	}
	return NULL;
}

static void slots_change_under_those_who_copy(void)
{
	char *p = map_small(SIZE), *q = map_small(SIZE);
	time_t deadline = time(NULL) + 30;
	pthread_t threads[2];
	int i, none = -1;

	memset(p, 1, SIZE);
	memset(q, 2, SIZE);
	shared.dev = open_node(MAIN_NODE);
	for (i = 0; i < 2; i++)
		check_int(pthread_create(&threads[i], NULL, copy_by_slot, NULL), 0);
	for (i = 0; i < 3000 || (shared.copies < 1000 && time(NULL) < deadline); i++) {
		int fd = export_region(shared.dev, i & 1 ? p : q, SIZE,
				       SONDE_REGION_READ);

		check_int(set_slots(shared.dev, 0, &fd, 1, NULL), 0);
		close(fd);
		if (!(i % 7))
			check_int(set_slots(shared.dev, 0, &none, 1, NULL), 0);
	}
	shared.stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	check(!shared.wrong);
	check_msg(shared.copies >= 1000, "%lu copies", shared.copies);
	close(shared.dev);
}

static void a_slot_in_flight_to_nobody_goes(void)
{
	const unsigned long before = await_none_pinned();
	int sock[2], dev = open_node(MAIN_NODE);
	int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);

	check_int(set_slots(dev, 7, &fd, 1, NULL), 0);
	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	send_fd(sock[0], dev);
	send_fd(sock[0], fd);
	close(fd);
	close(dev);
	check(pages_pinned() > before);
	close(sock[0]);
	close(sock[1]);
	check_int(pages_pinned(), before);
}

static const struct tap_test tests[] = {
	TAP_TEST(a_batch_copies_both_ways),
	TAP_TEST(many_copies_are_one_call),
	TAP_TEST(each_copy_has_its_own_result),
	TAP_TEST(calls_that_make_no_sense_are_refused),
	TAP_TEST(a_bad_array_ends_the_call_where_it_is_bad),
	TAP_TEST(a_slot_keeps_its_region),
	TAP_TEST(slots_are_set_as_far_as_they_are_right),
	TAP_TEST(slots_change_under_those_who_copy),
	TAP_TEST(a_slot_in_flight_to_nobody_goes),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
