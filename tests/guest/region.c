/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a region is: the export, its rights, copies by read() and write() in
 * all their forms, and where they are refused.
 */
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

#include "region.h"

#define SIZE	(300UL << 10)	/* some runs, some steps of nothing */

static void a_region_shows_what_its_owner_has(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE);

	fill_pattern(p, SIZE, 1);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	check_region_pattern(fd, SIZE, 1);
	fill_pattern(p, SIZE, 2);
	check_region_pattern(fd, SIZE, 2);
}

static void what_is_written_to_it_its_owner_has(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *q = map_small(SIZE);

	fill_pattern(q, SIZE, 3);
	fd = export_region(dev, p, SIZE, SONDE_REGION_WRITE);
	check_int(pwrite(fd, q, SIZE, 0), SIZE);
	check_pattern(p, SIZE, 0, 3);
	check_int(pwrite(fd, "abc", 3, 5000), 3);
	check(!memcmp(p + 5000, "abc", 3));
	check_pattern(p, 5000, 0, 3);
	check_pattern(p + 5003, SIZE - 5003, 5003, 3);
}

/* Begin and end at any byte, over the borders of pages. */
static void odd_pieces_of_odd_regions_are_exact(void)
{
	static const size_t starts[] = { 0, 1, 4095, 2049 };
	static const size_t lens[] = { 1, 7, 4096, 4097, 12287, 70001 };
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *buf = map_small(SIZE);
	size_t i, k, at, n;

	fill_pattern(p, SIZE, 4);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (k = 0; k < ARRAY_SIZE(lens); k++) {
			fd = export_region(dev, p + starts[i], lens[k],
					   SONDE_REGION_READ);
			for (at = 0; at < lens[k]; at += 1 + lens[k] / 5) {
				n = lens[k] - at;
				memset(buf, 0x5a, n + 8);
				check_int(pread(fd, buf, n, at), n);
				check_pattern(buf, n, starts[i] + at, 4);
				check_int(buf[n], 0x5a);
			}
			close(fd);
		}
	}
}

static void reading_stops_at_the_end(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), buf[200];

	fill_pattern(p, SIZE, 5);
	fd = export_region(dev, p, 5000, READ_WRITE);
	check_int(pread(fd, buf, 200, 4900), 100);
	check_pattern(buf, 100, 4900, 5);
	check_int(pread(fd, buf, 200, 5000), 0);
	check_int(pread(fd, buf, 200, INT64_MAX - 200), 0);
	check_int(pread(fd, buf, 0, 0), 0);
	check_int(pwrite(fd, "0123456789", 10, 4995), 5);
	check(!memcmp(p + 4995, "01234", 5));
	check_pattern(p + 5000, 200, 5000, 5);
	check_int(pwrite(fd, buf, 1, 5000), -1);
	check_int(errno, ENOSPC);
	check_int(pwrite(fd, buf, 1, INT64_MAX - 1), -1);
	check_int(pwrite(fd, buf, 0, 5000), 0);
	check_int(pread(fd, buf, 1, -1), -1);
	check_int(errno, EINVAL);
}

static void the_position_moves(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), buf[100];

	fill_pattern(p, SIZE, 6);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	check_int(read(fd, buf, 100), 100);
	check_int(read(fd, buf, 100), 100);
	check_pattern(buf, 100, 100, 6);
	check_int(write(fd, "xyz", 3), 3);
	check(!memcmp(p + 200, "xyz", 3));
	check_int(lseek(fd, 0, SEEK_CUR), 203);
	check_int(lseek(fd, 0, SEEK_END), SIZE);
	check_int(read(fd, buf, 1), 0);
	check_int(lseek(fd, -1, SEEK_CUR), SIZE - 1);
	check_int(read(fd, buf, 10), 1);
	check_int(lseek(fd, -1, SEEK_SET), -1);
	check_int(errno, EINVAL);
	check_int(lseek(fd, SIZE + 1, SEEK_SET), -1);
	check_int(errno, EINVAL);
}

static void vectors_copy_the_same(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *q = map_small(SIZE);
	struct iovec iov[3] = {
		{ q, 1 }, { q + 10000, 9999 }, { q + 100, 5000 },
	};

	fill_pattern(p, SIZE, 7);
	fd = export_region(dev, p + 3, SIZE - 3, READ_WRITE);
	check_int(preadv(fd, iov, 3, 4000), 15000);
	check_pattern(q, 1, 4003, 7);
	check_pattern(q + 10000, 9999, 4004, 7);
	check_pattern(q + 100, 5000, 14003, 7);
	check_int(preadv(fd, iov, 3, SIZE - 3 - 10), 10);
	check_int(preadv(fd, iov, 3, SIZE), 0);
	fill_pattern(q, SIZE, 8);
	check_int(pwritev(fd, iov, 3, 50000), 15000);
	check_pattern(p + 50003, 1, 0, 8);
	check_pattern(p + 50004, 9999, 10000, 8);
	check_pattern(p + 60003, 5000, 100, 8);
	check_int(pwritev(fd, iov, 3, SIZE), -1);
	check_int(errno, ENOSPC);
	check_int(lseek(fd, 7, SEEK_SET), 7);
	check_int(readv(fd, iov, 1), 1);
	check_int(lseek(fd, 0, SEEK_CUR), 8);
	check_int(munmap(q + 8192, SIZE - 8192), 0);
	check_int(preadv(fd, iov, 3, 0), 1);
}

static void a_bad_buffer_is_efault_or_short(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *q = map_small(SIZE);

	fill_pattern(p, SIZE, 9);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	check_int(munmap(q + 8192, SIZE - 8192), 0);
	check_int(pread(fd, q, SIZE, 0), 8192);
	check_pattern(q, 8192, 0, 9);
	check_int(pread(fd, q + 8192, 100, 0), -1);
	check_int(errno, EFAULT);
	check_int(pread(fd, (void *)0xffff888000000000UL, 100, 0), -1);
	check_int(errno, EFAULT);
	check_int(pwrite(fd, (void *)0xffff888000000000UL, 100, 0), -1);
	check_int(errno, EFAULT);
	check_int(pwrite(fd, q, SIZE, 0), 8192);
	check_int(pwrite(fd, q + 8192, 5, 0), -1);
	check_int(errno, EFAULT);
	check_int(mprotect(q, 4096, PROT_READ), 0);
	check_int(pread(fd, q, 100, 0), -1);
	check_int(errno, EFAULT);
	check_pattern(p, SIZE, 0, 9);
}

static void pages_of_hugetlb_are_as_good(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = mmap(NULL, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		       MAP_ANONYMOUS | MAP_HUGETLB, -1, 0), *q;

	if (p == MAP_FAILED)
		tap_skip("no huge pages: %s", strerror(errno));
	fill_pattern(p, 2 * HUGE_PAGE, 14);
	fd = export_region(dev, p + SMALL_PAGE, 2 * HUGE_PAGE - SMALL_PAGE, READ_WRITE);
	q = mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, fd, HUGE_PAGE);
	check(q != MAP_FAILED);
	check_pattern(q, SMALL_PAGE, HUGE_PAGE + SMALL_PAGE, 14);
	check_int(pwrite(fd, "huge", 4, HUGE_PAGE - SMALL_PAGE - 2), 4);
	check(!memcmp(p + HUGE_PAGE - 2, "huge", 4));
	check_int(munmap(p, 2 * HUGE_PAGE), 0);
	check_state(dev, fd, ESTALE);
}

/* ---- rights ------------------------------------------------------------- */

static void rights_are_held_to(void)
{
	int dev = open_node(MAIN_NODE), r, wr;
	char *p = map_small(SIZE), c;
	char path[40];

	fill_pattern(p, SIZE, 10);
	r = export_region(dev, p, SIZE, SONDE_REGION_READ);
	wr = export_region(dev, p, SIZE, SONDE_REGION_WRITE);
	check_int(pwrite(r, "x", 1, 0), -1);
	check_int(errno, EBADF);
	check_int(pread(wr, &c, 1, 0), -1);
	check_int(errno, EBADF);
	check(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, r, 0) == MAP_FAILED);
	check_int(errno, EACCES);
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, wr, 0) == MAP_FAILED);
	check_int(errno, EACCES);
	check_int(check_region(dev, r).rights, SONDE_REGION_READ);
	check_int(check_region(dev, wr).rights, SONDE_REGION_WRITE);
	/* Nobody gets more rights by opening it once more. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r);
	check(open(path, O_RDWR) < 0);
	check(fcntl(r, F_SETFL, O_RDWR) < 0 || pwrite(r, "x", 1, 0) == -1);
	check_pattern(p, SIZE, 0, 10);
}

static void what_the_owner_may_not_do_nobody_may(void)
{
	int dev = open_node(MAIN_NODE), file, fd;
	char *p = map_small(SIZE), *q;

	fill_pattern(p, SIZE, 11);
	check_int(mprotect(p + 8192, 4096, PROT_READ), 0);
	check_int(try_export(dev, p, SIZE, SONDE_REGION_WRITE), -EACCES);
	check_int(try_export(dev, p, SIZE, READ_WRITE), -EACCES);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check_region_pattern(fd, SIZE, 11);
	close(fd);
	check_int(mprotect(p + 8192, 4096, PROT_NONE), 0);
	check_int(try_export(dev, p, SIZE, SONDE_REGION_READ), -EACCES);
	/* A file that was opened to read. */
	file = open("/proc/self/exe", O_RDONLY);
	q = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	check(q != MAP_FAILED);
	check_int(try_export(dev, q, 4096, SONDE_REGION_WRITE), -EACCES);
	fd = export_region(dev, q, 4096, SONDE_REGION_READ);
	check_int(pread(fd, p, 4096, 0), 4096);
	check(!memcmp(p, q, 4096));
}

static void a_sealed_memfd_is_not_written_to(void)
{
	int dev = open_node(MAIN_NODE), fd, file;
	char *p;

	file = memfd_create("sealed", MFD_ALLOW_SEALING);
	check(file >= 0);
	check_int(ftruncate(file, SIZE), 0);
	check_int(pwrite(file, "content", 7, 0), 7);
	check_int(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK), 0);
	p = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, file, 0);
	if (p == MAP_FAILED)	/* shared not before 6.7 */
		p = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, file, 0);
	check(p != MAP_FAILED);
	check_int(try_export(dev, p, SIZE, SONDE_REGION_WRITE), -EACCES);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check_int(pread(fd, (char[7]){ 0 }, 7, 0), 7);
	check_int(pwrite(file, "x", 1, 0), -1);
	check_int(errno, EPERM);
}

/* What a filesystem writes back must not change under it. */
static void a_file_of_a_disk_is_not_written_to(void)
{
	static const char *const places[] = { "/var/tmp", "/root", "/" };
	int dev = open_node(MAIN_NODE), file = -1, fd;
	char path[100], *p;
	size_t i;

	/* Overlayfs over tmpfs has pages of tmpfs; a ramfs is no such thing. */
	mkdir("/tmp/ramfs", 0700);
	if (!mount("none", "/tmp/ramfs", "ramfs", 0, NULL))
		file = open("/tmp/ramfs/file", O_RDWR | O_CREAT, 0600);
	for (i = 0; file < 0 && i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof(path), "%s/sonde-region", places[i]);
		file = open(path, O_RDWR | O_CREAT, 0600);
	}
	check(file >= 0);
	check_int(ftruncate(file, 8192), 0);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	check(p != MAP_FAILED);
	p[0] = 1;
	check_int(try_export(dev, p, 8192, SONDE_REGION_WRITE), -EOPNOTSUPP);
	fd = export_region(dev, p, 8192, SONDE_REGION_READ);
	close(fd);
	munmap(p, 8192);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	check(p != MAP_FAILED);
	fd = export_region(dev, p, 8192, READ_WRITE);
	check_int(pwrite(fd, "x", 1, 0), 1);
	check_int(p[0], 'x');
	close(fd);
	close(file);
	munmap(p, 8192);
	umount2("/tmp/ramfs", MNT_DETACH);
}

/* ---- what is refused ---------------------------------------------------- */

static void exports_that_make_no_sense_are_refused(void)
{
	int dev = open_node(MAIN_NODE);
	char *p = map_small(3 * SMALL_PAGE);
	struct sonde_export bad[] = {
		export_of(p, 0, SONDE_REGION_READ),
		export_of(p, SMALL_PAGE, 0),
		export_of(p, SMALL_PAGE, 4),
		export_of(p, SMALL_PAGE, ~0U),
		export_of(p, SMALL_PAGE, SONDE_REGION_READ),
		export_of(p, SMALL_PAGE, SONDE_REGION_READ),
		export_of(p, UINT64_MAX, SONDE_REGION_READ),
		export_of(p, UINT64_MAX - (uintptr_t)p + 1, SONDE_REGION_READ),
		export_of((void *)-1UL, 1, SONDE_REGION_READ),
		export_of((void *)-1UL, 2, SONDE_REGION_READ),
		export_of((void *)0xffff888000000000UL, 4096, SONDE_REGION_READ),
		export_of(p, 1ULL << 63, SONDE_REGION_READ),
		export_of(p, 1ULL << 56, SONDE_REGION_READ),
	};
	size_t i;

	bad[4].flags = 1;
	bad[5].reserved = 1;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct sonde_export args = bad[i];
		int ret = do_ioctl(dev, SONDE_IOC_EXPORT, &args);

		check_msg(ret == -EINVAL, "%zu: %d", i, ret);
		check(!memcmp(&args, &bad[i], sizeof(args)));
	}
	check_int(munmap(p + SMALL_PAGE, SMALL_PAGE), 0);
	check_int(try_export(dev, p, 3 * SMALL_PAGE, SONDE_REGION_READ), -EFAULT);
	check_int(try_export(dev, p + SMALL_PAGE, 1, SONDE_REGION_READ), -EFAULT);
	check_int(try_export(dev, NULL, 1, SONDE_REGION_READ), -EFAULT);
}

static void argument_pages_may_be_hostile(void)
{
	static const unsigned long cmds[] = {
		SONDE_IOC_EXPORT, SONDE_IOC_REVOKE, SONDE_IOC_CHECK,
		SONDE_IOC_SLOTS, SONDE_IOC_COPYV,
	};
	int dev = open_node(MAIN_NODE), fd;
	unsigned long pinned = pages_pinned();
	char *p = map_small(2 * SMALL_PAGE);
	struct sonde_export *args = (void *)p;
	struct sonde_check *c = (void *)p;
	size_t i;

	check_int(munmap(p + SMALL_PAGE, SMALL_PAGE), 0);
	for (i = 0; i < ARRAY_SIZE(cmds); i++) {
		check_int(do_ioctl(dev, cmds[i], NULL), -EFAULT);
		check_int(do_ioctl(dev, cmds[i], (void *)-8UL), -EFAULT);
		check_int(do_ioctl(dev, cmds[i], p + SMALL_PAGE - 8), -EFAULT);
	}
	/* It cannot be told that it was done, so it is not. */
	*args = export_of(p, SMALL_PAGE, SONDE_REGION_READ);
	check_int(mprotect(p, SMALL_PAGE, PROT_READ), 0);
	check_int(do_ioctl(dev, SONDE_IOC_EXPORT, args), -EFAULT);
	check_int(pages_pinned(), pinned);
	check_int(mprotect(p, SMALL_PAGE, PROT_READ | PROT_WRITE), 0);
	fd = export_region(dev, p, SMALL_PAGE, SONDE_REGION_READ);
	*c = (struct sonde_check){ .size = sizeof(*c), .region = fd };
	check_int(mprotect(p, SMALL_PAGE, PROT_READ), 0);
	check_int(do_ioctl(dev, SONDE_IOC_CHECK, c), -EFAULT);
}

static void what_is_no_region_is_refused(void)
{
	int dev = open_node(MAIN_NODE), file = open("/dev/null", O_RDWR);
	const int bad[][2] = {
		{ -1, -EBADF }, { 1000, -EBADF }, { INT32_MIN, -EBADF },
		{ file, -EINVAL }, { dev, -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct sonde_check c = { .size = sizeof(c), .region = bad[i][0] };

		check_int(do_ioctl(dev, SONDE_IOC_CHECK, &c), bad[i][1]);
		check_int(revoke_region(dev, bad[i][0]), bad[i][1]);
	}
}

static void reserved_fields_must_be_zero(void)
{
	int dev = open_node(MAIN_NODE);
	int fd = export_region(dev, map_small(4096), 4096, READ_WRITE);
	struct sonde_revoke r = { .size = sizeof(r), .region = fd, .flags = 1 };
	struct sonde_check c = { .size = sizeof(c), .region = fd, .flags = 2 };

	check_int(do_ioctl(dev, SONDE_IOC_REVOKE, &r), -EINVAL);
	r.flags = 0;
	r.reserved = 1;
	check_int(do_ioctl(dev, SONDE_IOC_REVOKE, &r), -EINVAL);
	check_int(do_ioctl(dev, SONDE_IOC_CHECK, &c), -EINVAL);
	c.flags = 0;
	c.size--;
	check_int(do_ioctl(dev, SONDE_IOC_CHECK, &c), -EINVAL);
	check_int(region_error(dev, fd), 0);
	check_int(ioctl(fd, SONDE_IOC_CHECK, &c), -1);
	check_int(errno, ENOTTY);
}

/* ---- limits ------------------------------------------------------------- */

static void nobody_pins_more_than_memlock(void)
{
	int dev = open_node(MAIN_NODE), fd, other;
	struct rlimit limit = { 64 << 10, 64 << 10 };
	char *p = map_small(256UL << 20);

	check_int(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	become_nobody(NOBODY);
	check_int(try_export(dev, p, 256UL << 20, SONDE_REGION_READ), -ENOBUFS);
	check_int(try_export(dev, p, (64 << 10) + 1, SONDE_REGION_READ), -ENOBUFS);
	fd = export_region(dev, p, 40 << 10, READ_WRITE);
	check_int(try_export(dev, p, 28 << 10, SONDE_REGION_READ), -ENOBUFS);
	other = export_region(dev, p + (1 << 20), 24 << 10, SONDE_REGION_READ);
	close(fd);
	check_int(try_export(dev, p, 44 << 10, SONDE_REGION_READ), -ENOBUFS);
	fd = export_region(dev, p, 40 << 10, READ_WRITE);
	close(other);
	close(fd);
	fd = export_region(dev, p, 64 << 10, READ_WRITE);
}

static void all_regions_together_are_bounded(void)
{
	int dev = open_node(MAIN_NODE);
	unsigned long most = region_parameter("region_pages"), before;
	char *p = mmap(NULL, (most + 1) * SMALL_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(p != MAP_FAILED);
	before = pages_pinned();
	check_int(try_export(dev, p, (most + 1) * SMALL_PAGE, SONDE_REGION_READ),
		  -EDQUOT);
	check_int(pages_pinned(), before);
}

/* Writes a process's own number into a new group below the root. */
static bool enter_cgroup(const char *limit)
{
	const char *dir = "/sys/fs/cgroup/sonde-region";
	char path[100], pid[20];

	write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(dir, 0700) && errno != EEXIST)
		return false;
	snprintf(path, sizeof(path), "%s/memory.max", dir);
	if (!write_file(path, limit))
		return false;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	snprintf(pid, sizeof(pid), "%d", getpid());
	return write_file(path, pid);
}

static unsigned long cgroup_usage(void)
{
	FILE *f = fopen("/sys/fs/cgroup/sonde-region/memory.current", "r");
	unsigned long n;

	check(f && fscanf(f, "%lu", &n) == 1);
	fclose(f);
	return n;
}

/*
 * Pages belong to a group already; what is made for a region does then, too:
 * runs of scattered pages are 16 bytes each.
 */
static void exporting_in_a_cgroup(void)
{
	int dev = open_node(MAIN_NODE), fds[32], i;
	unsigned long before;
	char *p;

	if (!enter_cgroup("64M"))
		tap_skip("no memory controller");
	p = map_scattered(8 << 20);
	before = cgroup_usage();
	for (i = 0; i < 32; i++)
		fds[i] = export_region(dev, p, 8 << 20, SONDE_REGION_READ);
	check_msg(cgroup_usage() > before, "%lu bytes before, %lu after", before,
		  cgroup_usage());
	for (i = 0; i < 32; i++)
		close(fds[i]);
}

/* The limit bounds what export faults in: it ends the process, not the guest. */
static void exporting_too_much_for_a_cgroup(void)
{
	int dev = open_node(MAIN_NODE);
	char *p;

	if (!enter_cgroup("16M"))
		_exit(TAP_SKIPPED);
	p = map_small(64 << 20);
	try_export(dev, p, 64 << 20, READ_WRITE);
	_exit(0);
}

/* Asks for too much until it is killed, and is refused. */
static pid_t ask_for_too_much(void)
{
	size_t len = 64UL << 30;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		char *p = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			       MAP_NORESERVE, -1, 0);
		int dev = open_node(MAIN_NODE);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		check(p != MAP_FAILED);
		for (;;)
			check_int(try_export(dev, p, len, SONDE_REGION_READ),
				  -EDQUOT);
	}
	return pid;
}

static void who_asks_for_too_much_is_in_nobodys_way(void)
{
	int dev = open_node(MAIN_NODE), status;
	char *p = map_small(SMALL_PAGE);
	pid_t pid = ask_for_too_much();
	time_t deadline = time(NULL) + 5;

	while (time(NULL) < deadline)
		close(export_region(dev, p, SMALL_PAGE, SONDE_REGION_READ));
	check_int(waitpid(pid, &status, WNOHANG), 0);
	kill(pid, SIGKILL);
	check_int(waitpid(pid, &status, 0), pid);
}

static volatile sig_atomic_t alarms;

static void count_alarm(int sig)
{
	(void)sig;
	alarms++;
}

/* A process's first export, which must look at all of its many mappings. */
static void export_first(useconds_t us)
{
	const size_t n = 6000;
	struct sigaction act = { .sa_handler = count_alarm };
	struct itimerval timer = { .it_value.tv_usec = us };
	char *p = map_small(n * SMALL_PAGE);
	int dev = open_node(MAIN_NODE);
	size_t i;

	for (i = 0; i < n; i += 2)
		check_int(mprotect(p + i * SMALL_PAGE, SMALL_PAGE, PROT_READ), 0);
	sigaction(SIGALRM, &act, NULL);
	check_int(setitimer(ITIMER_REAL, &timer, NULL), 0);
	close(export_region(dev, p + SMALL_PAGE, SMALL_PAGE, READ_WRITE));
	while (!alarms)
		sched_yield();
}

static void a_signal_does_not_end_an_export(void)
{
	time_t deadline = time(NULL) + 20;
	useconds_t us;
	pid_t pid;

	for (us = 100; us < 10000 && time(NULL) < deadline; us = us * 4 / 3) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			export_first(us);
			_exit(0);
		}
		join_child(pid);
	}
}

static void a_cgroup_pays_and_is_held_to_its_limit(void)
{
	const unsigned long before = await_none_pinned();
	int status;
	pid_t pid;

	in_child(exporting_in_a_cgroup);
	fflush(stdout);
	pid = fork();
	if (!pid)
		exporting_too_much_for_a_cgroup();
	check_int(waitpid(pid, &status, 0), pid);
	check_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		  "64 MiB under a limit of 16: status %#x", status);
	check_int(pages_pinned(), before);
	rmdir("/sys/fs/cgroup/sonde-region");
}

/* ---- other processes ---------------------------------------------------- */

static void another_user_gets_what_it_is_given(void)
{
	int dev = open_node(MAIN_NODE), sock[2], fd;
	char *p = map_small(SIZE), buf[100], path[60];
	pid_t pid, parent = getpid();

	fill_pattern(p, SIZE, 12);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(fd);
		become_nobody(NOBODY);
		/* Without the descriptor there is no way to it. */
		check_int(pread(fd, buf, 1, 0), -1);
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", parent, fd);
		check(open(path, O_RDONLY) < 0);
		dev = open_node(MAIN_NODE);
		fd = receive_fd(sock[1]);
		check_region_pattern(fd, SIZE, 12);
		check_int(pwrite(fd, "x", 1, 0), -1);
		check_int(errno, EBADF);
		check(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
		check_int(revoke_region(dev, fd), -EPERM);
		check_int(check_region(dev, fd).rights, SONDE_REGION_READ);
		_exit(0);
	}
	send_fd(sock[0], fd);
	join_child(pid);
	check_int(region_error(dev, fd), 0);
}

static void the_device_may_be_closed_first(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE);

	fill_pattern(p, SIZE, 13);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	close(dev);
	check_region_pattern(fd, SIZE, 13);
	check_int(revoke_region(open_node(MAIN_NODE), fd), 0);
}

static void poll_and_fdinfo_tell_the_state(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), text[1000] = "", path[60];
	struct pollfd pfd = { .events = POLLIN | POLLOUT };
	FILE *f;

	memset(p, 1, SIZE);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	pfd.fd = fd;
	check_int(poll(&pfd, 1, 0), 1);
	check_int(pfd.revents, POLLIN);
	check_int(munmap(p, 4096), 0);
	check_int(poll(&pfd, 1, 0), 1);
	check(pfd.revents & POLLERR && pfd.revents & POLLHUP);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	check(f && fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	check(strstr(text, "sonde-bytes:\t307200\n"));
	check(strstr(text, "sonde-pages:\t75\n"));
	check(strstr(text, "sonde-state:\tstale\n"));
}

static void a_sleeper_in_poll_is_woken(void)
{
	int dev = open_node(MAIN_NODE), sock[2];
	char *p = map_small(SIZE);
	struct pollfd pfd = { .events = 0 };
	pid_t pid;

	memset(p, 1, SIZE);
	pfd.fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		tell(sock[1]);
		check_int(poll(&pfd, 1, 60000), 1);
		check(pfd.revents & POLLERR);
		_exit(0);
	}
	await(sock[0]);
	check_int(revoke_region(dev, pfd.fd), 0);
	join_child(pid);
}

static void words_tell_without_a_call(void)
{
	int dev = open_node(MAIN_NODE);
	const volatile uint64_t *words = map_words(dev);
	char *p = map_small(SIZE);
	struct sonde_export a = export_of(p, SIZE, READ_WRITE), b = a;
	uint32_t word;

	memset(p, 1, SIZE);
	check_int(do_ioctl(dev, SONDE_IOC_EXPORT, &a), 0);
	check_int(do_ioctl(dev, SONDE_IOC_EXPORT, &b), 0);
	check(a.word != b.word && a.generation != b.generation);
	check_int(words[a.word], a.generation);
	check_int(words[b.word], b.generation);
	check(a.runs >= 1 && a.runs <= SIZE / SMALL_PAGE);
	check_int(revoke_region(dev, a.fd), 0);
	check(words[a.word] != a.generation);
	check_int(words[b.word], b.generation);
	word = b.word;
	close(b.fd);
	check(words[word] != b.generation);
	check_int(munmap(p, SIZE), 0);
	check(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, dev, 0) == MAP_FAILED);
	check_int(errno, EACCES);
	check(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, dev, 0) == MAP_FAILED);
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, dev,
		   SONDE_STATE_WORDS * sizeof(uint64_t)) == MAP_FAILED);
	check_int(errno, ENXIO);
	check_int(mprotect((void *)words, 4096, PROT_READ | PROT_WRITE), -1);
	check_int(errno, EACCES);
}

static void words_come_to_an_end(void)
{
	int dev = open_node(MAIN_NODE), n, *fds;
	struct rlimit limit = { SONDE_STATE_WORDS + 100, SONDE_STATE_WORDS + 100 };
	char *p = map_small(4096);

	check_int(setrlimit(RLIMIT_NOFILE, &limit), 0);
	fds = calloc(SONDE_STATE_WORDS, sizeof(*fds));
	for (n = 0; n < SONDE_STATE_WORDS; n++)
		fds[n] = export_region(dev, p, 1, SONDE_REGION_READ);
	check_int(try_export(dev, p, 1, SONDE_REGION_READ), -ENOSPC);
	close(fds[777]);
	fds[777] = export_region(dev, p, 1, SONDE_REGION_READ);
	check_int(close_range(3, ~0U, 0), 0);
}

static const struct tap_test tests[] = {
	TAP_TEST(a_region_shows_what_its_owner_has),
	TAP_TEST(what_is_written_to_it_its_owner_has),
	TAP_TEST(odd_pieces_of_odd_regions_are_exact),
	TAP_TEST(reading_stops_at_the_end),
	TAP_TEST(the_position_moves),
	TAP_TEST(vectors_copy_the_same),
	TAP_TEST(a_bad_buffer_is_efault_or_short),
	TAP_TEST(pages_of_hugetlb_are_as_good),
	TAP_TEST(rights_are_held_to),
	TAP_TEST(what_the_owner_may_not_do_nobody_may),
	TAP_TEST(a_sealed_memfd_is_not_written_to),
	TAP_TEST(a_file_of_a_disk_is_not_written_to),
	TAP_TEST(exports_that_make_no_sense_are_refused),
	TAP_TEST(argument_pages_may_be_hostile),
	TAP_TEST(what_is_no_region_is_refused),
	TAP_TEST(reserved_fields_must_be_zero),
	TAP_TEST(nobody_pins_more_than_memlock),
	TAP_TEST(all_regions_together_are_bounded),
	TAP_TEST(who_asks_for_too_much_is_in_nobodys_way),
	TAP_TEST(a_signal_does_not_end_an_export),
	TAP_TEST(a_cgroup_pays_and_is_held_to_its_limit),
	TAP_TEST(another_user_gets_what_it_is_given),
	TAP_TEST(the_device_may_be_closed_first),
	TAP_TEST(poll_and_fdinfo_tell_the_state),
	TAP_TEST(a_sleeper_in_poll_is_woken),
	TAP_TEST(words_tell_without_a_call),
	TAP_TEST(words_come_to_an_end),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
