/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SONDE_COPYV_ASYNC: batches that a kernel worker copies. */
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "region.h"

#define SIZE	(64UL << 10)
#define LARGE	(64UL << 20)

static struct sonde_copy piece(int region, uint32_t flags, uint64_t offset,
			       void *addr, uint64_t len)
{
	return (struct sonde_copy){
		.region = region, .flags = flags, .offset = offset,
		.addr = (uintptr_t)addr, .len = len, .result = 12345,
	};
}

static struct sonde_copyv batch_of(struct sonde_copy *c, uint32_t n,
				   volatile uint64_t *status, int event)
{
	return (struct sonde_copyv){
		.size = sizeof(struct sonde_copyv), .flags = SONDE_COPYV_ASYNC,
		.copies = (uintptr_t)c, .ncopies = n, .status = (uintptr_t)status,
		.eventfd = event,
	};
}

static int queue(int dev, struct sonde_copy *c, uint32_t n,
		 volatile uint64_t *status, int event)
{
	struct sonde_copyv args = batch_of(c, n, status, event);

	return do_ioctl(dev, SONDE_IOC_COPYV, &args);
}

static void await_status(const volatile uint64_t *status, uint32_t n)
{
	time_t deadline = time(NULL) + 60;

	while (!*status && time(NULL) < deadline)
		sched_yield();
	check_msg(*status == (SONDE_STATUS_COMPLETE | n), "status %#llx",
		  (unsigned long long)*status);
}

static void a_worker_copies_both_ways(void)
{
	int dev = open_node(MAIN_NODE), fd, event = eventfd(0, EFD_CLOEXEC);
	char *p = map_scattered(SIZE), *buf = map_scattered(SIZE);
	struct pollfd pfd = { .fd = event, .events = POLLIN };
	volatile uint64_t status = 0;
	struct sonde_copy c[4];
	uint64_t count;

	fill_pattern(p, SIZE, 1);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	c[0] = piece(fd, 0, 101, buf + 3, 20000);
	c[1] = piece(fd, 0, 5, buf + 30000, 1);
	c[2] = piece(fd, SONDE_COPY_WRITE, 40003, buf + 3, 9999);
	c[3] = piece(fd, 0, SIZE, buf, 0);
	check_int(queue(dev, c, 4, &status, event), 0);
	check_int(poll(&pfd, 1, 60000), 1);
	check_int(read(event, &count, 8), 8);
	check_int(count, 1);
	await_status(&status, 4);
	check_int(c[0].result, 20000);
	check_int(c[1].result, 1);
	check_int(c[2].result, 9999);
	check_int(c[3].result, 0);
	check_pattern(buf + 3, 20000, 101, 1);
	check_pattern(buf + 30000, 1, 5, 1);
	check_pattern(p + 40003, 9999, 101, 1);
	check_pattern(p, 40003, 0, 1);
	check_pattern(p + 50002, SIZE - 50002, 50002, 1);
	check_int(buf[2], 0);
	check_int(buf[20003], 0);
}

static void results_are_those_of_a_call_that_waits(void)
{
	int dev = open_node(MAIN_NODE), r, gone;
	char *p = map_small(SIZE), *q = map_small(SIZE), *buf = map_small(SIZE);
	volatile uint64_t status = 0;
	size_t i;

	memset(p, 1, SIZE);
	r = export_region(dev, p, SIZE, SONDE_REGION_READ);
	gone = export_region(dev, q, SIZE, READ_WRITE);
	check_int(munmap(q, SIZE), 0);
	{
		struct sonde_copy c[] = {
			piece(r, 0, 0, buf, 10),
			piece(r, SONDE_COPY_WRITE, 0, buf, 10),
			piece(gone, 0, 0, buf, 10),
			piece(-1, 0, 0, buf, 10),
			piece(dev, 0, 0, buf, 10),
			piece(r, 4, 0, buf, 10),
			piece(0, SONDE_COPY_SLOT, 0, buf, 10),
			piece(r, 0, 1, buf, SIZE),
			piece(r, 0, UINT64_MAX, buf, 2),
			piece(r, 0, 0, (void *)0xffff888000000000UL, 1),
			piece(r, 0, 0, (void *)-1UL, 1),
			piece(r, 0, 0, q, 1),
			piece(r, 0, 5, buf, 10),
		};
		const int64_t want[] = {
			10, -EBADF, -ESTALE, -EBADF, -EINVAL, -EINVAL, -EBADF, -EINVAL,
			-EINVAL, -EFAULT, -EFAULT, -EFAULT, 10,
		};

		check_int(queue(dev, c, ARRAY_SIZE(c), &status, -1), 0);
		await_status(&status, ARRAY_SIZE(c));
		for (i = 0; i < ARRAY_SIZE(c); i++)
			check_msg(c[i].result == want[i], "copy %zu: %lld, not %lld",
				  i, (long long)c[i].result, (long long)want[i]);
	}
}

static void calls_that_make_no_sense_are_refused(void)
{
	int dev = open_node(MAIN_NODE), null = open("/dev/null", O_RDWR), i;
	int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);
	char *buf = map_small(SIZE);
	struct sonde_copy c = piece(fd, 0, 0, buf, 10);
	uint64_t status[2] = { 0 };
	const struct sonde_copyv good = batch_of(&c, 1, status, -1);
	struct sonde_copyv bad[8];
	const int want[8] = {
		-EINVAL, -EINVAL, -EINVAL, -EINVAL, -EBADF, -EFAULT, -EFAULT, -EINVAL,
	};
	const unsigned long before = pages_pinned();

	for (i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].ncopies = 0;
	bad[1].ncopies = SONDE_COPYV_COPIES + 1;
	bad[2].status += 4;
	bad[3].eventfd = null;
	bad[4].eventfd = 999;
	bad[5].status = 0;
	bad[6].copies = 4096;
	bad[7].cpu = 100000;
	for (i = 0; i < 8; i++) {
		struct sonde_copyv args = bad[i];

		check_msg(do_ioctl(dev, SONDE_IOC_COPYV, &args) == want[i], "%d", i);
		check(!memcmp(&args, &bad[i], sizeof(args)));
	}
	check_int(pages_pinned(), before);
	check(!status[0] && c.result == 12345);
}

static void only_cpus_of_the_caller_work_for_it(void)
{
	int dev = open_node(MAIN_NODE);
	int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);
	char *buf = map_small(SIZE);
	struct sonde_copy c = piece(fd, 0, 0, buf, 10);
	volatile uint64_t status = 0;
	struct sonde_copyv args = batch_of(&c, 1, &status, -1);
	cpu_set_t set;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		tap_skip("one processor");
	args.cpu = 1;
	check_int(do_ioctl(dev, SONDE_IOC_COPYV, &args), 0);
	await_status(&status, 1);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	check_int(sched_setaffinity(0, sizeof(set), &set), 0);
	check_int(do_ioctl(dev, SONDE_IOC_COPYV, &args), -EPERM);
}

static void what_is_pinned_for_it_is_charged(void)
{
	int dev = open_node(MAIN_NODE), fd;
	struct rlimit limit = { 32 << 10, 32 << 10 };
	char *p = map_small(SIZE), *buf = map_small(SIZE);
	volatile uint64_t status = 0;
	struct sonde_copy c;

	fd = export_region(dev, p, SIZE, READ_WRITE);
	c = piece(fd, 0, 0, buf, SIZE);
	check_int(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	become_nobody(NOBODY);
	check_int(queue(dev, &c, 1, &status, -1), 0);
	await_status(&status, 1);
	check_int(c.result, -ENOBUFS);
	c.len = 8 << 10;
	status = 0;
	check_int(queue(dev, &c, 1, &status, -1), 0);
	await_status(&status, 1);
	check_int(c.result, 8 << 10);
	limit.rlim_cur = 4096;
	check_int(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	check_int(queue(dev, &c, 1, &status, -1), -ENOBUFS);
}

/* More than fit are refused; what is queued is cancelled when the file goes. */
static void closing_cancels_and_waits(void)
{
	static struct sonde_copy c[SONDE_COPYV_QUEUED + 1];
	static volatile uint64_t status[SONDE_COPYV_QUEUED + 1];
	int dev = open_node(MAIN_NODE), fd, i, n, ended = 0, cancelled = 0, refused = 0;
	unsigned long before;
	char *p = map_small(LARGE), *buf = map_small(LARGE);

	memset(p, 1, LARGE);
	memset(buf, 2, LARGE);
	before = pages_pinned();
	fd = export_region(dev, p, LARGE, READ_WRITE);
	for (n = 0; n <= SONDE_COPYV_QUEUED; n++) {
		/* The first ones keep the worker busy. */
		c[n] = piece(fd, 0, 0, buf, n < 8 ? LARGE / 8 : 4096);
		if (queue(dev, &c[n], 1, &status[n], -1)) {
			refused += errno == EAGAIN;
			break;
		}
	}
	close(fd);
	close(dev);
	/* All have ended when close() comes back, and nothing is held. */
	for (i = 0; i < n; i++) {
		check_int(status[i], SONDE_STATUS_COMPLETE | 1);
		ended += c[i].result > 0;
		cancelled += c[i].result == -ECANCELED;
		check(c[i].result > 0 || c[i].result == -ECANCELED);
	}
	printf("# %d ended, %d cancelled, %d refused\n", ended, cancelled, refused);
	check_int(ended + cancelled, n);
	await_pinned(before);
}

/* The kernel keeps what it needs; nobody is disturbed. */
static void memory_may_go_while_it_is_copied_to(void)
{
	int dev = open_node(MAIN_NODE), fd, event = eventfd(0, 0), i;
	char *p = map_small(LARGE / 8), *buf, *other;
	struct sonde_copy *c = (void *)map_small(SIZE);
	volatile uint64_t *status = (void *)map_small(SMALL_PAGE);
	uint64_t count;

	memset(p, 1, LARGE / 8);
	fd = export_region(dev, p, LARGE / 8, READ_WRITE);
	for (i = 0; i < 20; i++) {
		buf = map_small(LARGE / 8);
		c[0] = piece(fd, 0, 0, buf, LARGE / 8);
		check_int(queue(dev, c, 1, status, event), 0);
		munmap(buf, LARGE / 8);
		munmap(c, SIZE);
		munmap((void *)status, SMALL_PAGE);
		c = (void *)map_small(SIZE);
		status = (void *)map_small(SMALL_PAGE);
		other = map_small(LARGE / 8);
		check_int(read(event, &count, 8), 8);
		check(!*status && !c[0].result && !other[0]);
		munmap(other, LARGE / 8);
	}
}

static void the_killed_leave_no_work(void)
{
	const unsigned long before = await_none_pinned();
	struct timespec t = { 0 };
	int i;

	for (i = 0; i < 20; i++) {
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid) {
			int dev = open_node(MAIN_NODE);
			char *p = map_small(4 << 20), *buf = map_small(4 << 20);
			int fd = export_region(dev, p, 4 << 20, READ_WRITE);
			struct sonde_copy c = piece(fd, 0, 0, buf, 4 << 20);
			volatile uint64_t status = 0;

			for (;;)
				queue(dev, &c, 1, &status, -1);
		}
		t.tv_nsec = 20000000 + i * 3000000L;
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		check_int(waitpid(pid, NULL, 0), pid);
	}
	await_pinned(before);
}

static const struct tap_test tests[] = {
	TAP_TEST(a_worker_copies_both_ways),
	TAP_TEST(results_are_those_of_a_call_that_waits),
	TAP_TEST(calls_that_make_no_sense_are_refused),
	TAP_TEST(only_cpus_of_the_caller_work_for_it),
	TAP_TEST(what_is_pinned_for_it_is_charged),
	TAP_TEST(closing_cancels_and_waits),
	TAP_TEST(memory_may_go_while_it_is_copied_to),
	TAP_TEST(the_killed_leave_no_work),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
