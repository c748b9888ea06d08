/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mmap() of a region: what is seen there, what may be done with it, and that it
 * stays whatever becomes of the owner.
 */
#include <linux/futex.h>
#include <linux/memfd.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "region.h"

#define SIZE	(64 * SMALL_PAGE)

static char *map_region(int fd, size_t len, int prot, off_t offset)
{
	char *p = mmap(NULL, len, prot, MAP_SHARED, fd, offset);

	check_msg(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

static int try_map(int fd, size_t len, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, len, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, len);
	return 0;
}

static void both_see_the_same_memory(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_scattered(SIZE), *q;

	fill_pattern(p, SIZE, 1);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	check_int(check_region(dev, fd).flags, 0);
	q = map_region(fd, SIZE, PROT_READ | PROT_WRITE, 0);
	check_pattern(q, SIZE, 0, 1);
	fill_pattern(q, SIZE, 2);
	check_pattern(p, SIZE, 0, 2);
	fill_pattern(p, SIZE, 3);
	check_pattern(q, SIZE, 0, 3);
}

static void a_piece_is_the_right_piece(void)
{
	int dev = open_node(MAIN_NODE), fd, i;
	char *p = map_scattered(SIZE), *q;

	fill_pattern(p, SIZE, 4);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	for (i = 0; i < 64; i += 7) {
		q = map_region(fd, (64 - i) * SMALL_PAGE, PROT_READ, i * SMALL_PAGE);
		check_pattern(q, (64 - i) * SMALL_PAGE, i * SMALL_PAGE, 4);
		check_int(munmap(q, (64 - i) * SMALL_PAGE), 0);
	}
}

static void a_huge_page_is_mapped_as_it_is(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_huge(2 * HUGE_PAGE), *q;

	fill_pattern(p, 2 * HUGE_PAGE, 5);
	fd = export_region(dev, p, 2 * HUGE_PAGE, READ_WRITE);
	q = map_region(fd, 2 * HUGE_PAGE, PROT_READ | PROT_WRITE, 0);
	check_pattern(q, 2 * HUGE_PAGE, 0, 5);
	q[HUGE_PAGE] = 77;
	check_int(p[HUGE_PAGE], 77);
}

static sig_atomic_t faults;

static void count_fault(int sig)
{
	(void)sig;
	faults++;
	_exit(33);
}

/* Reads a page in a child that dies of it, one way or another. */
static int fate_of_reader(const volatile char *p)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, count_fault);
		(void)*p;
		_exit(0);
	}
	check_int(waitpid(pid, &status, 0), pid);
	check(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What page tables take, in KiB. */
static long table_kib(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib = -1;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPTE: %ld", &kib) == 1)
			break;
	check(f && kib >= 0);
	fclose(f);
	return kib;
}

#define HUGE_PAGES	16
#define HUGE_SIZE	(HUGE_PAGES * HUGE_PAGE)

/* A region of huge pages, where the kernel has them; @p: out: the owner's. */
static int export_huge(int dev, char **p)
{
	struct sonde_export args;

	*p = map_huge(HUGE_SIZE);
	fill_pattern(*p, HUGE_SIZE, 23);
	args = export_of(*p, HUGE_SIZE, READ_WRITE);
	check_int(do_ioctl(dev, SONDE_IOC_EXPORT, &args), 0);
	if (args.runs > HUGE_PAGES)
		tap_skip("no huge pages to be had");
	return args.fd;
}

static void huge_pages_are_mapped_by_huge_entries(void)
{
	int dev = open_node(MAIN_NODE), fd, i;
	char *p, *q, *to;
	long before;

	fd = export_huge(dev, &p);
	/* Where its huge pages are aligned, which kernels see to since 5.18. */
	to = map_huge(HUGE_SIZE);
	munmap(to, HUGE_SIZE);
	before = table_kib();
	q = mmap(to, HUGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	check(q == to);
	for (i = 0; i < HUGE_PAGES; i++)
		check_int(q[i * HUGE_PAGE + 5], p[i * HUGE_PAGE + 5]);
	check_msg(table_kib() < before + HUGE_PAGES * 4, "%ld KiB of page tables",
		  table_kib() - before);
	check_pattern(q, HUGE_SIZE, 0, 23);
	fill_pattern(q, HUGE_SIZE, 24);
	check_pattern(p, HUGE_SIZE, 0, 24);
}

static void room_is_found_where_huge_pages_fit(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p, *q;

	if (replaces_after_mprotect())
		tap_skip("before 5.18 only for DAX");
	fd = export_huge(dev, &p);
	q = map_region(fd, HUGE_SIZE, PROT_READ, 0);
	check_int((uintptr_t)q % HUGE_PAGE, 0);
	q = map_region(fd, HUGE_SIZE - 3 * SMALL_PAGE, PROT_READ, 3 * SMALL_PAGE);
	check_int((uintptr_t)q % HUGE_PAGE, 3 * SMALL_PAGE);
	check_pattern(q, HUGE_SIZE - 3 * SMALL_PAGE, 3 * SMALL_PAGE, 23);
}

/* All that makes the kernel drop a huge entry, or look at one. */
static void a_part_of_a_huge_page_may_be_anything(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p, *q, *to;
	size_t from = HUGE_PAGE + 7 * SMALL_PAGE;

	fd = export_huge(dev, &p);
	q = map_region(fd, HUGE_SIZE, PROT_READ | PROT_WRITE, 0);
	check_pattern(q, HUGE_SIZE, 0, 23);
	check_int(mprotect(q + from, SMALL_PAGE, PROT_READ), 0);
	check_pattern(q, HUGE_SIZE, 0, 23);
	check_int(mprotect(q + from, SMALL_PAGE, PROT_NONE), 0);
	check_pattern(q, from, 0, 23);
	check_int(fate_of_reader(q), 33);
	check_int(mprotect(q, HUGE_SIZE, PROT_READ | PROT_WRITE), 0);
	fill_pattern(q, HUGE_SIZE, 25);
	check_pattern(p, HUGE_SIZE, 0, 25);
	check_int(mprotect(q, HUGE_SIZE, PROT_READ), 0);
	check_pattern(q, HUGE_SIZE, 0, 25);
	check_int(mprotect(q, HUGE_SIZE, PROT_READ | PROT_WRITE), 0);
	fill_pattern(q, HUGE_SIZE, 26);
	check_pattern(p, HUGE_SIZE, 0, 26);
	check_int(munmap(q + 3 * HUGE_PAGE + 5 * SMALL_PAGE, SMALL_PAGE), 0);
	check_pattern(q, 3 * HUGE_PAGE + 5 * SMALL_PAGE, 0, 26);
	/* To where nothing is aligned any more. */
	to = map_huge(5 * HUGE_PAGE) + 3 * SMALL_PAGE;
	to = mremap(q + 4 * HUGE_PAGE, 4 * HUGE_PAGE, 4 * HUGE_PAGE,
		    MREMAP_MAYMOVE | MREMAP_FIXED, to);
	check(to != MAP_FAILED);
	check_pattern(to, 4 * HUGE_PAGE, 4 * HUGE_PAGE, 26);
	fill_pattern(to, 4 * HUGE_PAGE, 27);
	check_pattern(p + 4 * HUGE_PAGE, 4 * HUGE_PAGE, 0, 27);
	check_int(mlock(q, HUGE_PAGE), 0);
	check_int(madvise(q, HUGE_PAGE, MADV_DONTNEED), -1);
	check_pattern(q + 8 * HUGE_PAGE, 8 * HUGE_PAGE, 8 * HUGE_PAGE, 26);
}

static void only_whole_pages_of_it_are_mapped(void)
{
	int dev = open_node(MAIN_NODE), fd, i;
	char *p = map_small(SIZE);
	const size_t edges[][3] = {	/* offset, length, errno */
		{ 0, SIZE + 1, ENXIO }, { SMALL_PAGE, SIZE, ENXIO },
		{ SIZE, 1, ENXIO }, { 1UL << 62, SMALL_PAGE, ENXIO },
		{ INT64_MAX & ~0xfffUL, 1, EOVERFLOW },
	};

	memset(p, 1, SIZE);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	for (i = 0; i < (int)ARRAY_SIZE(edges); i++) {
		int ret = try_map(fd, edges[i][1], PROT_READ, MAP_SHARED, edges[i][0]);

		check_msg(ret == -ENXIO || ret == -EOVERFLOW, "%d: %d", i, ret);
	}
	check_int(try_map(fd, SMALL_PAGE, PROT_READ, MAP_PRIVATE, 0), -EINVAL);
	/* What lies beside an odd region on its pages is nobody's business. */
	fd = export_region(dev, p + 8, SIZE - 8, READ_WRITE);
	check_int(check_region(dev, fd).first, 8);
	check_int(try_map(fd, SMALL_PAGE, PROT_READ, MAP_SHARED, 0), -EINVAL);
	fd = export_region(dev, p, SMALL_PAGE + 8, READ_WRITE);
	check_int(try_map(fd, SMALL_PAGE, PROT_READ, MAP_SHARED, 0), 0);
	check_int(try_map(fd, SMALL_PAGE + 8, PROT_READ, MAP_SHARED, 0), -ENXIO);
	fd = export_region(dev, p, 8, READ_WRITE);
	check_int(try_map(fd, 8, PROT_READ, MAP_SHARED, 0), -ENXIO);
}

static void nobody_writes_without_the_right(void)
{
	int dev = open_node(MAIN_NODE), fd, file;
	char *p = map_small(SIZE), *q;

	fill_pattern(p, SIZE, 6);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check_int(try_map(fd, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, 0), -EACCES);
	q = map_region(fd, SIZE, PROT_READ, 0);
	check_int(mprotect(q, SIZE, PROT_READ | PROT_WRITE), -1);
	check_int(errno, EACCES);
	check_pattern(q, SIZE, 0, 6);
	/* Nor on real pages, of a file that the owner may write to. */
	file = memfd_create("region", MFD_ALLOW_SEALING);
	check_int(ftruncate(file, SIZE), 0);
	check_int(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	fill_pattern(p, SIZE, 7);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	check_int(check_region(dev, fd).flags, SONDE_REGION_REAL);
	check_int(try_map(fd, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, 0), -EACCES);
	q = map_region(fd, SIZE, PROT_READ, 0);
	check_int(mprotect(q, SIZE, PROT_READ | PROT_WRITE), -1);
	check_int(errno, EACCES);
	check_pattern(q, SIZE, 0, 7);
	check_int(mprotect(q, SIZE, PROT_NONE), 0);
	check_int(mprotect(q, SIZE, PROT_READ), 0);
	check_pattern(q, SIZE, 0, 7);
}

static void protection_may_be_changed_within_the_rights(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_scattered(SIZE), *q;

	fill_pattern(p, SIZE, 8);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = map_region(fd, SIZE, PROT_NONE, 0);
	check_int(mprotect(q, SIZE, PROT_READ), 0);
	check_pattern(q, SIZE, 0, 8);
	check_int(mprotect(q, SIZE, PROT_READ | PROT_WRITE), 0);
	fill_pattern(q, SIZE, 9);
	check_pattern(p, SIZE, 0, 9);
	check_int(mprotect(q, SIZE / 2, PROT_NONE), 0);
	check_pattern(q + SIZE / 2, SIZE / 2, SIZE / 2, 9);
	check_int(mprotect(q, SIZE / 2, PROT_READ | PROT_WRITE), 0);
	fill_pattern(q, SIZE, 10);
	check_pattern(p, SIZE, 0, 10);
}

static void a_part_may_be_unmapped_or_moved(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_scattered(SIZE), *q, *to;

	fill_pattern(p, SIZE, 11);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = map_region(fd, SIZE, PROT_READ | PROT_WRITE, 0);
	close(fd);
	check_int(munmap(q + 5 * SMALL_PAGE, 3 * SMALL_PAGE), 0);
	check_pattern(q, 5 * SMALL_PAGE, 0, 11);
	check_pattern(q + 8 * SMALL_PAGE, SIZE - 8 * SMALL_PAGE, 8 * SMALL_PAGE, 11);
	to = mremap(q, 5 * SMALL_PAGE, 5 * SMALL_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    map_small(5 * SMALL_PAGE));
	check(to != MAP_FAILED);
	check_pattern(to, 5 * SMALL_PAGE, 0, 11);
	to[0] = 99;
	check_int(p[0], 99);
	check(mremap(to, 5 * SMALL_PAGE, 6 * SMALL_PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	check_int(madvise(to, SMALL_PAGE, MADV_DONTNEED), -1);
	check_int(to[0], 99);
	check_int(madvise(to, SMALL_PAGE, MADV_DOFORK), -1);
	check_int(munmap(to, 5 * SMALL_PAGE), 0);
	check_int(munmap(q + 8 * SMALL_PAGE, SIZE - 8 * SMALL_PAGE), 0);
}

static void a_child_does_not_inherit_the_mapping(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *q;

	fill_pattern(p, SIZE, 12);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = map_region(fd, SIZE, PROT_READ, 0);
	check_int(fate_of_reader(p), 0);
	check_int(fate_of_reader(q), 33);
}

/* ---- real pages --------------------------------------------------------- */

/* That the kernel takes its pages. */
static void check_real(char *q)
{
	struct iovec iov = { q, SMALL_PAGE };
	char buf[SMALL_PAGE];
	int pipe_fd[2];

	check_int(pipe(pipe_fd), 0);
	check_int(vmsplice(pipe_fd[1], &iov, 1, 0), SMALL_PAGE);
	check_int(read(pipe_fd[0], buf, SMALL_PAGE), SMALL_PAGE);
	check(!memcmp(buf, q, SMALL_PAGE));
	close(pipe_fd[0]);
	close(pipe_fd[1]);
}

/* A shared futex is known by the file that its page is of. */
static void check_futex(char *q)
{
	struct timespec none = { 0 };

	check_int(syscall(SYS_futex, q, FUTEX_WAIT, *(int *)(void *)q, &none, NULL, 0), -1);
	check_int(errno, ETIMEDOUT);
}

static void memory_of_the_module_is_mapped_as_real_pages(void)
{
	struct sonde_alloc memory = {
		.size = sizeof(memory), .npages = 64, .node = -1,
	};
	int dev = open_node(MAIN_NODE), fd;
	char *p, *q;

	check_int(do_ioctl(open_node(PROBE_NODE), SONDE_IOC_ALLOC, &memory), 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
	check(p != MAP_FAILED);
	fill_pattern(p, SIZE, 13);
	fd = export_region(dev, p + 2 * SMALL_PAGE, SIZE - 2 * SMALL_PAGE, READ_WRITE);
	check_int(check_region(dev, fd).flags, SONDE_REGION_REAL);
	q = map_region(fd, SIZE - 3 * SMALL_PAGE, PROT_READ | PROT_WRITE, SMALL_PAGE);
	check_pattern(q, SIZE - 3 * SMALL_PAGE, 3 * SMALL_PAGE, 13);
	check_real(q);
	check_futex(q);
	q[0] = 88;
	check_int(p[3 * SMALL_PAGE], 88);
	close(memory.fd);
	munmap(p, SIZE);
	check_int(q[0], 88);
	check_int(region_error(dev, fd), ESTALE);
	fd = export_region(dev, q, SMALL_PAGE, SONDE_REGION_READ);
	munmap(q, SIZE - 3 * SMALL_PAGE);
	close(fd);
}

static void to_read_is_enough_for_memory_of_the_module(void)
{
	struct sonde_alloc memory = {
		.size = sizeof(memory), .npages = 64, .node = -1,
	};
	int dev = open_node(MAIN_NODE), fd;
	char *p, *q;

	check_int(do_ioctl(open_node(PROBE_NODE), SONDE_IOC_ALLOC, &memory), 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
	fill_pattern(p, SIZE, 14);
	fd = export_region(dev, p, SIZE, SONDE_REGION_READ);
	q = map_region(fd, SIZE, PROT_READ, 0);
	check_pattern(q, SIZE, 0, 14);
	check_int(mprotect(q, SIZE, PROT_READ | PROT_WRITE), -1);
}

/* A region of the memfd that is at @p, from byte @from to its end. */
static void check_real_memfd(int dev, char *p, size_t from, uint32_t rights,
			     bool is_real)
{
	int fd = export_region(dev, p + from, SIZE - from, rights);
	int flags = check_region(dev, fd).flags;
	char *q = map_region(fd, SIZE - from, PROT_READ, 0);

	check_int(flags, is_real ? SONDE_REGION_REAL : 0);
	check_pattern(q, SIZE - from, from, 15);
	if (is_real) {
		check_real(q);
		check_futex(q);
	}
	munmap(q, SIZE - from);
	close(fd);
}

static void a_sealed_memfd_is_mapped_as_real_pages(void)
{
	int dev = open_node(MAIN_NODE), file = memfd_create("r", MFD_ALLOW_SEALING), fd;
	char *p, *q;

	check_int(ftruncate(file, SIZE), 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	fill_pattern(p, SIZE, 15);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	check_int(check_region(dev, fd).flags, 0);
	close(fd);
	check_int(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	check_real_memfd(dev, p, SMALL_PAGE, SONDE_REGION_READ, true);
	/* To write only if there is no more of the file, and never will be. */
	check_real_memfd(dev, p, 0, READ_WRITE, false);
	check_int(fcntl(file, F_ADD_SEALS, F_SEAL_GROW), 0);
	check_real_memfd(dev, p, SMALL_PAGE, READ_WRITE, false);
	check_real_memfd(dev, p, 0, READ_WRITE, true);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = map_region(fd, SIZE, PROT_READ | PROT_WRITE, 0);
	q[7] = 55;
	check_int(p[7], 55);
	munmap(p, SIZE);
	close(file);
	close(fd);
	check_int(q[7], 55);
}

/*
 * remap_file_pages() shows another piece of the file that a mapping is of: it
 * must not be one of which the region is only a part.
 */
static void nobody_reaches_beyond_a_region_by_remapping(void)
{
	int dev = open_node(MAIN_NODE), probe = open_node(PROBE_NODE), i;
	int file = memfd_create("r", MFD_ALLOW_SEALING);
	struct sonde_alloc memory = {
		.size = sizeof(memory), .npages = 64, .node = -1,
	};
	char *of[2], *q;

	check_int(ftruncate(file, SIZE), 0);
	check_int(fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	check_int(do_ioctl(probe, SONDE_IOC_ALLOC, &memory), 0);
	of[0] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	of[1] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, memory.fd, 0);
	for (i = 0; i < 2; i++) {
		int fd;

		fill_pattern(of[i], SIZE, 22);
		fd = export_region(dev, of[i] + 4 * SMALL_PAGE, 2 * SMALL_PAGE,
				   READ_WRITE);
		q = map_region(fd, 2 * SMALL_PAGE, PROT_READ | PROT_WRITE, 0);
		check(syscall(SYS_remap_file_pages, q, SMALL_PAGE, 0, 9, 0));
		check(syscall(SYS_remap_file_pages, q, SMALL_PAGE, 0, 4, 0));
		/* Its second page it may show in the place of its first. */
		if (!syscall(SYS_remap_file_pages, q, SMALL_PAGE, 0, 1, 0))
			check_pattern(q, SMALL_PAGE, 5 * SMALL_PAGE, 22);
		check_pattern(q + SMALL_PAGE, SMALL_PAGE, 5 * SMALL_PAGE, 22);
	}
}

/* Without the seal the pages are kept, not the file: it may go at any time. */
static void a_file_may_be_cut_under_a_mapping(void)
{
	int dev = open_node(MAIN_NODE), file = memfd_create("r", 0), fd;
	char *p, *q;

	check_int(ftruncate(file, SIZE), 0);
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	fill_pattern(p, SIZE, 16);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = map_region(fd, SIZE, PROT_READ | PROT_WRITE, 0);
	check_int(ftruncate(file, 0), 0);
	check_pattern(q, SIZE, 0, 16);
	fill_pattern(q, SIZE, 17);
	check_pattern(q, SIZE, 0, 17);
	munmap(p, SIZE);
	close(file);
	check_pattern(q, SIZE, 0, 17);
	check_int(region_error(dev, fd), ESTALE);
}

/* That is the limit of memory that is somebody's heap. */
static void special_entries_are_not_for_the_kernel(void)
{
	int dev = open_node(MAIN_NODE), fd, pipe_fd[2];
	char *p = map_small(SIZE), *q;
	struct iovec iov = { NULL, SMALL_PAGE };

	memset(p, 1, SIZE);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = iov.iov_base = map_region(fd, SIZE, PROT_READ, 0);
	check_int(pipe(pipe_fd), 0);
	check_int(vmsplice(pipe_fd[1], &iov, 1, 0), -1);
	check_int(errno, EFAULT);
	check_int(try_export(dev, q, SIZE, SONDE_REGION_READ), -EFAULT);
	/* But to copy from and to it with a system call is all right. */
	check_int(write(pipe_fd[1], q, 100), 100);
	check_int(pread(fd, map_region(fd, SIZE, PROT_WRITE, 0), 100, 0), 100);
}

/* ---- the owner goes ----------------------------------------------------- */

static void a_mapping_outlives_its_owner(void)
{
	int dev = open_node(MAIN_NODE), sock[2], fd, status;
	char *p, *q;
	pid_t pid;

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		p = map_small(SIZE);
		fill_pattern(p, SIZE, 18);
		send_fd(sock[1], export_region(dev, p, SIZE, READ_WRITE));
		pause();
	}
	fd = receive_fd(sock[0]);
	q = map_region(fd, SIZE, PROT_READ | PROT_WRITE, 0);
	kill(pid, SIGKILL);
	check_int(waitpid(pid, &status, 0), pid);
	check_int(region_error(dev, fd), EOWNERDEAD);
	check_int(try_map(fd, SIZE, PROT_READ, MAP_SHARED, 0), -EOWNERDEAD);
	check_pattern(q, SIZE, 0, 18);
	fill_pattern(q, SIZE, 19);
	check_pattern(q, SIZE, 0, 19);
	close(fd);
	check_pattern(q, SIZE, 0, 19);
}

static void a_mapping_keeps_what_its_owner_unmaps(void)
{
	int dev = open_node(MAIN_NODE), fd;
	char *p = map_small(SIZE), *q;

	fill_pattern(p, SIZE, 20);
	fd = export_region(dev, p, SIZE, READ_WRITE);
	q = map_region(fd, SIZE, PROT_READ | PROT_WRITE, 0);
	check(mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		   MAP_FIXED, -1, 0) == p);
	fill_pattern(p, SIZE, 21);
	check_pattern(q, SIZE, 0, 20);
	check_int(region_error(dev, fd), ESTALE);
	check_int(revoke_region(dev, fd), 0);
	check_pattern(q, SIZE, 0, 20);
}

static const struct tap_test tests[] = {
	TAP_TEST(both_see_the_same_memory),
	TAP_TEST(a_piece_is_the_right_piece),
	TAP_TEST(a_huge_page_is_mapped_as_it_is),
	TAP_TEST(huge_pages_are_mapped_by_huge_entries),
	TAP_TEST(room_is_found_where_huge_pages_fit),
	TAP_TEST(a_part_of_a_huge_page_may_be_anything),
	TAP_TEST(only_whole_pages_of_it_are_mapped),
	TAP_TEST(nobody_writes_without_the_right),
	TAP_TEST(protection_may_be_changed_within_the_rights),
	TAP_TEST(a_part_may_be_unmapped_or_moved),
	TAP_TEST(a_child_does_not_inherit_the_mapping),
	TAP_TEST(memory_of_the_module_is_mapped_as_real_pages),
	TAP_TEST(to_read_is_enough_for_memory_of_the_module),
	TAP_TEST(a_sealed_memfd_is_mapped_as_real_pages),
	TAP_TEST(nobody_reaches_beyond_a_region_by_remapping),
	TAP_TEST(a_file_may_be_cut_under_a_mapping),
	TAP_TEST(special_entries_are_not_for_the_kernel),
	TAP_TEST(a_mapping_outlives_its_owner),
	TAP_TEST(a_mapping_keeps_what_its_owner_unmaps),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
