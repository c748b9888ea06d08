/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A region never shows what its owner has no longer: what loses it, what does
 * not, and that it is what the owner has afterwards. The owner here is also who
 * copies, but where that matters.
 */
#include <linux/aio_abi.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "region.h"

#define SIZE	(64 * SMALL_PAGE)

static int dev;

/* A region of small pages with a pattern in them. */
struct owned {
	char *p;
	size_t len;
	int fd;
};

static struct owned own(char *p, size_t len)
{
	struct owned o = { .p = p, .len = len };

	dev = open_node(MAIN_NODE);
	fill_pattern(p, len, 1);
	o.fd = export_region(dev, p, len, READ_WRITE);
	return o;
}

static struct owned own_small(void)
{
	return own(map_small(SIZE), SIZE);
}

/* That it is there, shows what its owner has, and can be written through. */
static void check_alive(const struct owned *o, unsigned int seed)
{
	check_state(dev, o->fd, 0);
	check_region_pattern(o->fd, o->len, seed);
	fill_pattern(o->p, o->len, seed + 1);
	check_region_pattern(o->fd, o->len, seed + 1);
	check_int(pwrite(o->fd, "changed", 7, o->len / 2), 7);
	check(!memcmp(o->p + o->len / 2, "changed", 7));
	fill_pattern(o->p, o->len, seed);
}

/* That it is lost for good: also when all looks as it was. */
static void check_lost(const struct owned *o, int error)
{
	check_state(dev, o->fd, error);
	check_int(pwrite(o->fd, "x", 1, 0), -1);
	check_int(errno, error);
	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, o->fd, 0) == MAP_FAILED);
	check_int(errno, error);
}

/* ---- what loses it ------------------------------------------------------ */

static void munmap_of_all_loses_it(void)
{
	struct owned o = own_small();

	check_int(munmap(o.p, o.len), 0);
	check_lost(&o, ESTALE);
}

static void munmap_of_its_last_page_loses_it(void)
{
	struct owned o = own_small();

	check_int(munmap(o.p + o.len - SMALL_PAGE, SMALL_PAGE), 0);
	check_lost(&o, ESTALE);
}

static void munmap_beside_it_does_not(void)
{
	char *p = map_small(SIZE + 2 * SMALL_PAGE);
	struct owned o = own(p + SMALL_PAGE, SIZE);

	check_int(munmap(p, SMALL_PAGE), 0);
	check_int(munmap(p + SMALL_PAGE + SIZE, SMALL_PAGE), 0);
	check_alive(&o, 1);
}

static void what_is_mapped_anew_there_is_something_else(void)
{
	struct owned o = own_small();
	char *q;

	q = mmap(o.p, o.len, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(q == o.p);
	fill_pattern(q, o.len, 1);	/* all the same */
	check_lost(&o, ESTALE);
	check_int(pread(export_region(dev, q, o.len, READ_WRITE), &q, 1, 0), 1);
}

static void dontneed_loses_it(void)
{
	struct owned o = own_small();

	check_int(madvise(o.p + SMALL_PAGE, SMALL_PAGE, MADV_DONTNEED), 0);
	check_lost(&o, ESTALE);
	check_int(o.p[SMALL_PAGE], 0);
	fill_pattern(o.p, o.len, 1);
	check_lost(&o, ESTALE);
}

static void dontneed_of_a_huge_page_loses_it(void)
{
	struct owned o = own(map_huge(HUGE_PAGE), HUGE_PAGE);

	check_int(madvise(o.p, HUGE_PAGE, MADV_DONTNEED), 0);
	check_lost(&o, ESTALE);
}

static void mremap_loses_it(void)
{
	struct owned o = own_small(), p = own_small(), q = own_small();
	char *to = map_small(o.len);

	check(mremap(o.p, o.len, o.len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	check_lost(&o, ESTALE);
	check(mremap(p.p, p.len, p.len / 2, 0) == p.p);
	check_lost(&p, ESTALE);
	to = mremap(q.p, q.len, q.len, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	if (to != MAP_FAILED)	/* since 5.7 */
		check_lost(&q, ESTALE);
	/* Onto it. */
	o = own_small();
	to = map_small(o.len);
	check(mremap(to, o.len, o.len, MREMAP_MAYMOVE | MREMAP_FIXED, o.p) == o.p);
	check_lost(&o, ESTALE);
}

static void revocation_loses_it(void)
{
	struct owned o = own_small();

	check_int(revoke_region(dev, o.fd), 0);
	check_lost(&o, ESTALE);
	check_int(revoke_region(dev, o.fd), 0);
	check_int(munmap(o.p, o.len), 0);
	check_lost(&o, ESTALE);
}

/* ---- files -------------------------------------------------------------- */

static struct owned own_file(int *file)
{
	char *p;

	*file = memfd_create("region", MFD_ALLOW_SEALING);
	check(*file >= 0);
	check_int(ftruncate(*file, SIZE), 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
	check(p != MAP_FAILED);
	return own(p, SIZE);
}

static void truncation_of_its_file_loses_it(void)
{
	int file;
	struct owned o = own_file(&file);

	check_alive(&o, 1);
	check_int(ftruncate(file, SIZE - SMALL_PAGE), 0);
	check_lost(&o, ESTALE);
	check_int(ftruncate(file, SIZE), 0);
	check_lost(&o, ESTALE);
}

static void a_hole_in_its_file_loses_it(void)
{
	int file;
	struct owned o = own_file(&file);

	check_int(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			    3 * SMALL_PAGE, SMALL_PAGE), 0);
	check_lost(&o, ESTALE);
	check_int(o.p[3 * SMALL_PAGE], 0);
}

static void a_file_shows_what_is_written_to_it(void)
{
	int file;
	struct owned o = own_file(&file);
	char buf[10];

	check_int(pwrite(file, "by the file", 11, 5000), 11);
	check_int(pread(o.fd, buf, 10, 5003), 10);
	check(!memcmp(buf, "the file", 8));
	check_int(pwrite(o.fd, "REGION", 6, 5007), 6);
	check_int(pread(file, buf, 10, 5003), 10);
	check(!memcmp(buf, "the REGION", 10));
}

/* ---- what does not lose it ---------------------------------------------- */

static void fork_and_write_leave_it_the_owners(void)
{
	struct owned o = own_small();
	int sock[2], i;
	pid_t pid;

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	for (i = 0; i < 3; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			fill_pattern(o.p, o.len, 77);	/* its own copy */
			tell(sock[1]);
			await(sock[1]);
			check_pattern(o.p, o.len, 0, 77);
			/* It is the parent's memory that the region shows. */
			check_region_pattern(o.fd, o.len, 1);
			check_int(revoke_region(dev, o.fd), -EPERM);
			_exit(0);
		}
		await(sock[0]);
		check_alive(&o, 1);
		tell(sock[0]);
		join_child(pid);
		check_alive(&o, 1);
	}
}

static void fork_splits_a_huge_page_and_leaves_it(void)
{
	struct owned o = own(map_huge(2 * HUGE_PAGE), 2 * HUGE_PAGE);
	const volatile uint64_t *words = map_words(dev);
	struct sonde_export a = export_of(o.p, o.len, SONDE_REGION_READ);
	pid_t pid;

	check_int(do_ioctl(dev, SONDE_IOC_EXPORT, &a), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		memset(o.p, 7, o.len);
		_exit(0);
	}
	fill_pattern(o.p, o.len, 2);
	join_child(pid);
	check_alive(&o, 2);
	/* A doubt is settled by asking, and the word tells so. */
	check_int(region_error(dev, a.fd), 0);
	check_int(words[a.word], a.generation);
}

static void do_nothing(void)
{
}

/* Of huge pages, which fork() splits: that casts a doubt. */
static struct owned own_huge(struct sonde_export *a)
{
	struct owned o = { .p = map_huge(2 * HUGE_PAGE), .len = 2 * HUGE_PAGE };

	dev = open_node(MAIN_NODE);
	fill_pattern(o.p, o.len, 1);
	*a = export_of(o.p, o.len, READ_WRITE);
	check_int(do_ioctl(dev, SONDE_IOC_EXPORT, a), 0);
	if (a->runs > 2)
		tap_skip("no huge pages to be had");
	o.fd = a->fd;
	return o;
}

/* mmap() cannot look, and must not show what the owner may have no longer. */
static void what_is_in_doubt_is_not_mapped(void)
{
	struct sonde_export a;
	struct owned o = own_huge(&a);
	const volatile uint64_t *words = map_words(dev);
	void *p;

	in_child(do_nothing);
	check_int(words[a.word], a.generation | SONDE_STATE_SUSPECT);
	p = mmap(NULL, o.len, PROT_READ, MAP_SHARED, o.fd, 0);
	check(p == MAP_FAILED);
	check_int(errno, EAGAIN);
	check_int(region_error(dev, o.fd), 0);
	p = mmap(NULL, o.len, PROT_READ, MAP_SHARED, o.fd, 0);
	check(p != MAP_FAILED);
	check_pattern(p, o.len, 0, 1);
	check_int(madvise(o.p, o.len, MADV_DONTNEED), 0);
	check(mmap(NULL, o.len, PROT_READ, MAP_SHARED, o.fd, 0) == MAP_FAILED);
	check(errno == EAGAIN || errno == ESTALE);
}

/* Who polls by AIO is told what the waker says, and nobody asks again. */
static void a_doubt_ends_no_poll(void)
{
	struct sonde_export a;
	struct owned o = own_huge(&a);
	struct iocb cb = {
		.aio_fildes = o.fd, .aio_lio_opcode = IOCB_CMD_POLL,
		.aio_buf = POLLPRI,
	}, *cbs[] = { &cb };
	struct timespec none = { 0 }, long_time = { .tv_sec = 30 };
	aio_context_t context = 0;
	struct io_event event;

	if (syscall(SYS_io_setup, 1, &context))
		tap_skip("no AIO: %s", strerror(errno));
	check_int(syscall(SYS_io_submit, context, 1, cbs), 1);
	in_child(do_nothing);
	check_int(region_error(dev, o.fd), 0);
	check_int(syscall(SYS_io_getevents, context, 1, 1, &event, &none), 0);
	check_int(munmap(o.p, SMALL_PAGE), 0);
	check_int(syscall(SYS_io_getevents, context, 1, 1, &event, &long_time), 1);
	check_int(event.res, POLLERR | POLLHUP);
	check_int(syscall(SYS_io_destroy, context), 0);
}

static void mprotect_leaves_it(void)
{
	struct owned o = own_small();

	check_int(mprotect(o.p, o.len, PROT_READ), 0);
	check_state(dev, o.fd, 0);
	check_int(mprotect(o.p, o.len, PROT_NONE), 0);
	check_state(dev, o.fd, 0);
	check_region_pattern(o.fd, o.len, 1);
	check_int(mprotect(o.p, o.len, PROT_READ | PROT_WRITE), 0);
	check_region_pattern(o.fd, o.len, 1);
	if (replaces_after_mprotect()) {
		o.p[0] = 'x';
		check_lost(&o, ESTALE);
		return;
	}
	check_alive(&o, 1);
}

static void soft_dirty_leaves_it(void)
{
	struct owned o = own_small();

	if (!write_file("/proc/self/clear_refs", "4"))
		tap_skip("no soft-dirty bits");
	check_alive(&o, 1);
	check(write_file("/proc/self/clear_refs", "1"));
	check_alive(&o, 1);
}

static void compaction_leaves_it(void)
{
	struct owned o = own(map_scattered(SIZE), SIZE);
	int file;
	struct owned m = own_file(&file);
	int i;

	for (i = 0; i < 3; i++) {
		if (!write_file("/proc/sys/vm/compact_memory", "1"))
			tap_skip("no compaction");
		check_alive(&o, 1);
		check_alive(&m, 1);
	}
}

static void advice_to_reclaim_leaves_it(void)
{
	struct owned o = own_small();
	int file;
	struct owned m = own_file(&file);

	if (madvise(o.p, o.len, MADV_PAGEOUT))
		tap_skip("no MADV_PAGEOUT");
	check_alive(&o, 1);
	check_int(madvise(o.p, o.len, MADV_COLD), 0);
	check_alive(&o, 1);
	check_int(madvise(m.p, m.len, MADV_PAGEOUT), 0);
	check_alive(&m, 1);
	check_int(madvise(o.p, o.len, MADV_FREE), 0);
	o.p[0] = o.p[0];
	check(region_error(dev, o.fd) == 0 || region_error(dev, o.fd) == ESTALE);
}

/* With a file on a loop device as swap, where there are both. */
static void swapping_leaves_it(void)
{
	struct owned o = own_small();
	char *other = map_small(64 << 20);
	size_t i;

	if (system("dd if=/dev/zero of=/tmp/sonde-swap bs=1M count=96 status=none && "
		   "modprobe -q loop && "
		   "losetup /dev/loop7 /tmp/sonde-swap && mkswap -q /dev/loop7") ||
	    swapon("/dev/loop7", 0))
		tap_skip("no swap to be had");
	memset(other, 1, 64 << 20);
	for (i = 0; i < 3; i++) {
		madvise(other, 64 << 20, MADV_PAGEOUT);
		check_int(madvise(o.p, o.len, MADV_PAGEOUT), 0);
		check_alive(&o, 1);
	}
	check_int(swapoff("/dev/loop7"), 0);
	check_int(system("losetup -d /dev/loop7; rm -f /tmp/sonde-swap"), 0);
	check_alive(&o, 1);
}

/* Where @p is after it was told to go to @node, or -EBUSY if it did not go. */
static int move_page(void *p, int node)
{
	int status = -EBUSY;
	long failed = syscall(SYS_move_pages, 0, 1UL, &p, &node, &status, 1 << 1);

	if (failed < 0)
		tap_skip("no move_pages: %s", strerror(errno));
	return failed ? -EBUSY : status;
}

static void migration_between_nodes_leaves_it(void)
{
	struct owned o = own_small();
	int file, node;
	struct owned m = own_file(&file);
	char *other = map_small(SMALL_PAGE);
	unsigned long one = 2;

	*other = 1;
	if (move_page(other, 1) != 1 || move_page(other, 0))
		tap_skip("there are no two nodes");
	for (node = 0; node < 2; node++) {
		check_int(move_page(other, node), node);
		/* Unless they are there: what is pinned is not moved. */
		check(move_page(o.p, node) == node || move_page(o.p, node) == -EBUSY);
		check(move_page(m.p, node) == node || move_page(m.p, node) == -EBUSY);
		check_alive(&o, 1);
		check_alive(&m, 1);
	}
	check(move_page(o.p, 0) == -EBUSY || move_page(o.p, 1) == -EBUSY);
	/* MPOL_BIND, MPOL_MF_MOVE: the whole of it. */
	syscall(SYS_mbind, o.p, o.len, 2, &one, 8, 1 << 1);
	syscall(SYS_mbind, m.p, m.len, 2, &one, 8, 1 << 1);
	check_alive(&o, 1);
	check_alive(&m, 1);
}

static void collapse_to_huge_pages_leaves_it(void)
{
	char *p = map_huge(2 * HUGE_PAGE);
	struct owned o;

	madvise(p, 2 * HUGE_PAGE, MADV_NOHUGEPAGE);
	memset(p, 1, 2 * HUGE_PAGE);
	o = own(p, 2 * HUGE_PAGE);
	madvise(p, 2 * HUGE_PAGE, MADV_HUGEPAGE);
	if (madvise(p, 2 * HUGE_PAGE, MADV_COLLAPSE) && errno == EINVAL)
		tap_skip("no MADV_COLLAPSE");
	check_alive(&o, 1);
}

static void splitting_a_huge_page_leaves_it(void)
{
	struct owned o = own(map_huge(2 * HUGE_PAGE), 2 * HUGE_PAGE);

	/* Protection of a part splits the mapping. */
	check_int(mprotect(o.p + SMALL_PAGE, SMALL_PAGE, PROT_READ), 0);
	check_region_pattern(o.fd, o.len, 1);
	check_int(mprotect(o.p + SMALL_PAGE, SMALL_PAGE, PROT_READ | PROT_WRITE), 0);
	check_region_pattern(o.fd, o.len, 1);
	if (replaces_after_mprotect())
		return;
	check_alive(&o, 1);
	write_file("/sys/kernel/debug/split_huge_pages", "1");
	check_alive(&o, 1);
}

static void memory_that_was_never_touched_is_the_owners(void)
{
	struct owned o = { .p = map_small(SIZE), .len = SIZE };

	dev = open_node(MAIN_NODE);
	/* Only to read: the page of zeroes must not be what is pinned. */
	o.fd = export_region(dev, o.p, SIZE, SONDE_REGION_READ);
	check_state(dev, o.fd, 0);
	fill_pattern(o.p, SIZE, 3);
	check_state(dev, o.fd, 0);
	check_region_pattern(o.fd, SIZE, 3);
}

static void a_private_mapping_of_a_file_is_the_owners(void)
{
	int file = open("/proc/self/exe", O_RDONLY);
	char *p = mmap(NULL, 2 * SMALL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE,
		       file, 0);
	char buf[2];
	int fd;

	check(p != MAP_FAILED);
	dev = open_node(MAIN_NODE);
	fd = export_region(dev, p, 2 * SMALL_PAGE, SONDE_REGION_READ);
	p[1] = 'x';
	check_state(dev, fd, 0);
	check_int(pread(fd, buf, 2, 0), 2);
	check_int(buf[0], 0x7f);
	check_int(buf[1], 'x');
}

/* ---- the owner goes ----------------------------------------------------- */

/* Forks an owner that hands over a region, and goes the way that @go says. */
static int orphan(void (*go)(void), pid_t *pid)
{
	int sock[2], fd;

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	fflush(stdout);
	*pid = fork();
	if (!*pid) {
		struct owned o = own_small();

		send_fd(sock[1], o.fd);
		await(sock[1]);
		go();
		_exit(0);
	}
	fd = receive_fd(sock[0]);
	dev = open_node(MAIN_NODE);
	check_state(dev, fd, 0);
	check_region_pattern(fd, SIZE, 1);
	tell(sock[0]);
	return fd;
}

static void go_by_exit(void)
{
	_exit(0);
}

static void go_by_kill(void)
{
	kill(getpid(), SIGKILL);
}

static void go_by_exec(void)
{
	execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void when_the_owner_exits_copies_say_so(void)
{
	int status, fd;
	pid_t pid;

	fd = orphan(go_by_exit, &pid);
	check_int(waitpid(pid, &status, 0), pid);
	check_state(dev, fd, EOWNERDEAD);
	fd = orphan(go_by_kill, &pid);
	check_int(waitpid(pid, &status, 0), pid);
	check_state(dev, fd, EOWNERDEAD);
}

static void when_the_owner_execs_copies_say_so(void)
{
	int status, fd;
	time_t deadline = time(NULL) + 30;
	pid_t pid;

	fd = orphan(go_by_exec, &pid);
	while (!region_error(dev, fd) && time(NULL) < deadline)
		sched_yield();
	check_state(dev, fd, EOWNERDEAD);
	kill(pid, SIGKILL);
	check_int(waitpid(pid, &status, 0), pid);
	check_state(dev, fd, EOWNERDEAD);
}

static void a_region_lost_before_stays_what_it_was(void)
{
	struct owned o = own_small();
	int status;
	pid_t pid;

	check_int(munmap(o.p, o.len), 0);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(0);
	check_int(waitpid(pid, &status, 0), pid);
	check_lost(&o, ESTALE);
}

/* A thread group's memory is not gone while one of its kin has it. */
static int sleep_for_ever(void *arg)
{
	(void)arg;
	pause();
	return 0;
}

static void memory_that_is_shared_lives_as_long_as_one_has_it(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	int sock[2], status, fd;
	pid_t pid, kin;

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct owned o = own_small();

		kin = clone(sleep_for_ever, stack + sizeof(stack),
			    CLONE_VM | CLONE_PARENT, NULL);
		check_int(write(sock[1], &kin, sizeof(kin)), sizeof(kin));
		send_fd(sock[1], o.fd);
		_exit(0);
	}
	check_int(read(sock[0], &kin, sizeof(kin)), sizeof(kin));
	fd = receive_fd(sock[0]);
	check_int(waitpid(pid, &status, 0), pid);
	dev = open_node(MAIN_NODE);
	check_state(dev, fd, 0);
	kill(kin, SIGKILL);
	check_int(waitpid(kin, &status, __WALL), kin);
	check_state(dev, fd, EOWNERDEAD);
}

static const struct tap_test tests[] = {
	TAP_TEST(munmap_of_all_loses_it),
	TAP_TEST(munmap_of_its_last_page_loses_it),
	TAP_TEST(munmap_beside_it_does_not),
	TAP_TEST(what_is_mapped_anew_there_is_something_else),
	TAP_TEST(dontneed_loses_it),
	TAP_TEST(dontneed_of_a_huge_page_loses_it),
	TAP_TEST(mremap_loses_it),
	TAP_TEST(revocation_loses_it),
	TAP_TEST(truncation_of_its_file_loses_it),
	TAP_TEST(a_hole_in_its_file_loses_it),
	TAP_TEST(a_file_shows_what_is_written_to_it),
	TAP_TEST(fork_and_write_leave_it_the_owners),
	TAP_TEST(fork_splits_a_huge_page_and_leaves_it),
	TAP_TEST(what_is_in_doubt_is_not_mapped),
	TAP_TEST(a_doubt_ends_no_poll),
	TAP_TEST(mprotect_leaves_it),
	TAP_TEST(soft_dirty_leaves_it),
	TAP_TEST(compaction_leaves_it),
	TAP_TEST(advice_to_reclaim_leaves_it),
	TAP_TEST(swapping_leaves_it),
	TAP_TEST(migration_between_nodes_leaves_it),
	TAP_TEST(collapse_to_huge_pages_leaves_it),
	TAP_TEST(splitting_a_huge_page_leaves_it),
	TAP_TEST(memory_that_was_never_touched_is_the_owners),
	TAP_TEST(a_private_mapping_of_a_file_is_the_owners),
	TAP_TEST(when_the_owner_exits_copies_say_so),
	TAP_TEST(when_the_owner_execs_copies_say_so),
	TAP_TEST(a_region_lost_before_stays_what_it_was),
	TAP_TEST(memory_that_is_shared_lives_as_long_as_one_has_it),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
