/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds a region may be killed at any moment, be it its owner, a reader or
 * somebody else; descriptors are inherited, kept over exec, and lost in
 * sockets. Nothing is left of it then.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "region.h"

#define SIZE	(64 * SMALL_PAGE)
#define LARGE	(256UL << 20)

static const char *self;

static int module_users(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

static void open_regions_keep_the_module_loaded(void)
{
	int before = module_users(), dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *q;

	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	check(q != MAP_FAILED);
	close(dev);
	check_int(module_users(), before + 1);
	check_int(syscall(SYS_delete_module, "sonde", O_NONBLOCK), -1);
	check_int(errno, EAGAIN);
	close(fd);
	check_int(module_users(), before + 1);
	check_int(syscall(SYS_delete_module, "sonde", O_NONBLOCK), -1);
	check_int(errno, EAGAIN);
	check_int(munmap(q, SIZE), 0);
	check_int(module_users(), before);
	check_int(pages_pinned(), 0);
}

/* The other half of the test below, in the new program. */
static int after_exec(const char *number)
{
	int fd = atoi(number);

	check_region_pattern(fd, SIZE, 5);
	check_int(pwrite(fd, "after exec", 10, 0), 10);
	return 0;
}

/* Of the holder, not of the owner. */
static void a_region_survives_exec_if_it_is_told_to(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), number[16];
	pid_t pid;

	fill_pattern(p, SIZE, 5);
	fd = dup(export_region(dev, p, SIZE, READ_WRITE));	/* no O_CLOEXEC */
	snprintf(number, sizeof(number), "%d", fd);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(self, self, "--after-exec", number, (char *)NULL);
		check_msg(0, "exec %s: %s", self, strerror(errno));
	}
	join_child(pid);
	check(!memcmp(p, "after exec", 10));
}

static void a_region_in_flight_when_both_ends_die_goes(void)
{
	const unsigned long before = await_none_pinned();
	time_t deadline = time(NULL) + 60;
	int users = module_users(), i;

	for (i = 0; i < 20; i++) {
		int sock[2], ready[2];
		pid_t a, b;

		check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
		check_int(pipe(ready), 0);
		fflush(stdout);
		a = fork();
		if (!a) {
			int dev = open_node(MAIN_NODE);
			int fd = export_region(dev, map_small(SIZE), SIZE, READ_WRITE);

			send_fd(sock[0], fd);
			/* And in the region's own socket, the device as well. */
			send_fd(sock[0], dev);
			send_fd(sock[0], sock[1]);
			send_fd(sock[1], sock[0]);
			tell(ready[1]);
			pause();
		}
		b = fork();
		if (!b)
			pause();
		await(ready[0]);
		check(pages_pinned() > before);
		close(sock[0]);
		close(sock[1]);
		close(ready[0]);
		close(ready[1]);
		kill(i & 1 ? a : b, SIGKILL);
		kill(i & 1 ? b : a, SIGKILL);
		check_int(waitpid(a, NULL, 0), a);
		check_int(waitpid(b, NULL, 0), b);
	}
	/* Sockets that hold each other go when the next one is closed. */
	while (pages_pinned() != before && time(NULL) < deadline) {
		int sock[2];

		check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
		close(sock[0]);
		close(sock[1]);
	}
	check_int(pages_pinned(), before);
	check_int(module_users(), users);
}

/* ---- killed in each command --------------------------------------------- */

static struct {
	int dev, fd;
	char *p, *buf;
} victim;

static void do_export_and_close(void)
{
	close(try_export(victim.dev, victim.p, 16 << 20, READ_WRITE));
}

static void do_copy(void)
{
	(void)!pread(victim.fd, victim.buf, 16 << 20, 0);
	(void)!pwrite(victim.fd, victim.buf, 16 << 20, 0);
}

static void do_map(void)
{
	void *q = mmap(NULL, 16 << 20, PROT_READ, MAP_SHARED, victim.fd, 0);

	munmap(q, 16 << 20);
}

static void do_copyv_with_slots(void)
{
	struct sonde_slots slots = {
		.size = sizeof(slots), .regions = (uintptr_t)&victim.fd, .nregions = 1,
	};
	struct sonde_copy c[64];
	struct sonde_copyv args = {
		.size = sizeof(args), .copies = (uintptr_t)c, .ncopies = 64,
	};
	int i;

	do_ioctl(victim.dev, SONDE_IOC_SLOTS, &slots);
	for (i = 0; i < 64; i++)
		c[i] = (struct sonde_copy){
			.flags = SONDE_COPY_SLOT | (i & 1 ? SONDE_COPY_WRITE : 0),
			.addr = (uintptr_t)victim.buf, .len = 1 << 20,
			.offset = i * 4096,
		};
	do_ioctl(victim.dev, SONDE_IOC_COPYV, &args);
}

/* MADV_FREE is a reason to doubt, each time; what is pinned is not taken. */
static void do_doubt_and_check(void)
{
	struct sonde_check c = { .size = sizeof(c), .region = victim.fd };

	madvise(victim.p, 16 << 20, MADV_FREE);
	do_ioctl(victim.dev, SONDE_IOC_CHECK, &c);
}

static void do_lose_and_export(void)
{
	int fd = try_export(victim.dev, victim.p, 16 << 20, READ_WRITE);

	madvise(victim.p, 16 << 20, MADV_DONTNEED);
	(void)!pread(fd, victim.buf, 100, 0);
	close(fd);
}

static void (*const doings[])(void) = {
	do_export_and_close, do_copy, do_map, do_copyv_with_slots,
	do_doubt_and_check, do_lose_and_export,
};

/* The victim owns what it works on, or it works on what a third one owns. */
static void work_until_killed(size_t what, bool is_owner, int inherited)
{
	victim.dev = open_node(MAIN_NODE);
	victim.p = map_huge(16 << 20);
	victim.buf = map_small(16 << 20);
	memset(victim.p, 1, 16 << 20);
	victim.fd = is_owner ? export_region(victim.dev, victim.p, 16 << 20, READ_WRITE) :
			       inherited;
	for (;;)
		doings[what]();
}

static void the_killed_leave_nothing(void)
{
	const unsigned long before = await_none_pinned();
	int users = module_users(), dev = open_node(MAIN_NODE), fd;
	char *p = map_small(16 << 20);
	struct timespec t = { 0 };
	size_t what;
	pid_t pid;
	int i;

	memset(p, 2, 16 << 20);
	fd = export_region(dev, p, 16 << 20, READ_WRITE);
	for (what = 0; what < ARRAY_SIZE(doings); what++) {
		for (i = 0; i < 12; i++) {
			fflush(stdout);
			pid = fork();
			if (!pid)
				work_until_killed(what, i & 1, fd);
			check(pid > 0);
			t.tv_nsec = 40000000 + i * 7000000L;	/* another point each time */
			nanosleep(&t, NULL);
			kill(pid, SIGKILL);
			check_int(waitpid(pid, NULL, 0), pid);
		}
	}
	check_int(region_error(dev, fd), 0);
	close(fd);
	close(dev);
	await_pinned(before);
	check_int(module_users(), users);
}

/* Others are not to pay for it that the kernel gives it no pages any more. */
static void a_reader_killed_while_it_looks_loses_nothing(void)
{
	int dev = open_node(MAIN_NODE), fd, i;
	const size_t len = 16 << 20;
	char *p = map_small(len), c;
	struct timespec t = { 0 };
	pid_t pid;

	memset(p, 1, len);
	fd = export_region(dev, p, len, SONDE_REGION_READ);
	for (i = 0; i < 30; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				(void)!pread(fd, &c, 1, 0);
		}
		check_int(madvise(p, len, MADV_FREE), 0);
		t.tv_nsec = 500000 + i * 200000L;
		nanosleep(&t, NULL);
		check_int(madvise(p, len, MADV_FREE), 0);
		kill(pid, SIGKILL);
		check_int(waitpid(pid, NULL, 0), pid);
		check_int(region_error(dev, fd), 0);
	}
}

/* ---- in the middle of a large copy -------------------------------------- */

/* What dies while a reader is in the middle of copying LARGE. */
enum who {
	OWNER, READER, THIRD
};

static volatile struct large {
	uint64_t begun;
	int64_t result;
	int error;
} *large;

static void read_large(int fd, char *to)
{
	ssize_t got;

	large->begun = 1;
	got = pread(fd, to, LARGE, 0);
	large->error = errno;
	large->result = got;
	_exit(0);
}

static void own_large(int sock, int dev)
{
	char *p = map_huge(LARGE);

	madvise(p, LARGE, MADV_NOHUGEPAGE);
	memset(p, 1, LARGE);
	send_fd(sock, export_region(dev, p, LARGE, READ_WRITE));
	pause();
}

/* @to is shared, so that it can be seen how far the copy is. */
static void kill_during_copy(enum who who, int fd, const pid_t *pids,
			     volatile char *to)
{
	time_t deadline = time(NULL) + 60;
	int status;

	(void)fd;
	while (!to[8 << 20] && time(NULL) < deadline)
		sched_yield();
	check_msg(to[8 << 20], "the copy did not begin");
	kill(pids[who], SIGKILL);
	check_int(waitpid(pids[who], &status, 0), pids[who]);
}

static void one_dies_in_the_middle_of_a_large_copy(void)
{
	int dev = open_node(MAIN_NODE), users = module_users(), sock[2], fd, i;
	char *to = mmap(NULL, LARGE, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum who who;
	pid_t pids[3];

	large = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(to != MAP_FAILED && large != MAP_FAILED);
	for (who = OWNER; who <= THIRD; who++) {
		madvise(to, LARGE, MADV_REMOVE);
		check_int(to[8 << 20], 0);
		check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
		fflush(stdout);
		pids[OWNER] = fork();
		if (!pids[OWNER])
			own_large(sock[1], dev);
		fd = receive_fd(sock[0]);
		pids[THIRD] = fork();
		if (!pids[THIRD])
			pause();
		large->begun = large->result = 0;
		pids[READER] = fork();
		if (!pids[READER])
			read_large(fd, to);
		kill_during_copy(who, fd, pids, to);
		if (who != READER)
			check_int(waitpid(pids[READER], NULL, 0), pids[READER]);
		for (i = OWNER; i <= THIRD; i += THIRD) {
			if (i == (int)who)
				continue;
			kill(pids[i], SIGKILL);
			check_int(waitpid(pids[i], NULL, 0), pids[i]);
		}
		printf("# %d died: result %lld\n", who, (long long)large->result);
		if (who == THIRD)
			check_int(large->result, LARGE);
		if (who == OWNER)
			check((large->result > 0 && large->result <= (int64_t)LARGE) ||
			      large->error == EOWNERDEAD);
		if (who == READER)
			check_int(large->result, 0);
		close(fd);
		close(sock[0]);
		close(sock[1]);
	}
	close(dev);
	await_pinned(0);
	check_int(module_users(), users - 1);
}

/* ---- whoever changes its memory while others copy ------------------------ */

static struct {
	_Atomic int stop;
	_Atomic unsigned long copies, stale;
	_Atomic int fd;
	int wrong;
} race;

static void *copy_all_the_time(void *arg)
{
	char *buf = map_small(SIZE);
	size_t i;

	(void)arg;
	while (!race.stop) {
		ssize_t got = pread(race.fd, buf, SIZE, 0);

		if (got < 0) {
			race.stale += errno == ESTALE;
			continue;
		}
		race.copies++;
		/* Each page is full of one number that was there at some time. */
		for (i = 1; i < (size_t)got; i++)
			race.wrong |= i % SMALL_PAGE && buf[i] != buf[i - 1];
	}
	return NULL;
}

static void the_owner_changes_all_while_others_copy(void)
{
	const unsigned long before = await_none_pinned();
	int dev = open_node(MAIN_NODE), i, fd = -1, was;
	time_t deadline = time(NULL) + 40;
	char *p = map_small(SIZE);
	pthread_t threads[2];

	memset(p, 1, SIZE);
	race.fd = export_region(dev, p, SIZE, READ_WRITE);
	for (i = 0; i < 2; i++)
		check_int(pthread_create(&threads[i], NULL, copy_all_the_time, NULL), 0);
	for (i = 0; (i < 500 || race.copies < 50 || race.stale < 20) &&
	     time(NULL) < deadline; i++) {
		switch (i % 3) {
		case 0:
			madvise(p, SIZE, MADV_DONTNEED);
			break;
		case 1:
			check(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
				   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == p);
			break;
		default:
			revoke_region(dev, race.fd);
		}
		sched_yield();
		was = race.fd;
		fd = export_region(dev, p, SIZE, READ_WRITE);
		race.fd = fd;
		close(was);
	}
	race.stop = 1;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("# %lu copies, %lu stale\n", race.copies, race.stale);
	check(!race.wrong);
	check(race.copies && race.stale);
	close(race.fd);
	check_int(pages_pinned(), before);
}

static const struct tap_test tests[] = {
	TAP_TEST(open_regions_keep_the_module_loaded),
	TAP_TEST(a_region_survives_exec_if_it_is_told_to),
	TAP_TEST(a_region_in_flight_when_both_ends_die_goes),
	TAP_TEST(the_killed_leave_nothing),
	TAP_TEST(a_reader_killed_while_it_looks_loses_nothing),
	TAP_TEST(one_dies_in_the_middle_of_a_large_copy),
	TAP_TEST(the_owner_changes_all_while_others_copy),
};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--after-exec"))
		return after_exec(argv[2]);
	self = argv[0];
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
