/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For each kind of memory that a process can have: SONDE_IOC_FRAMES says what
 * /proc/self/pagemap says, of 10,000 pages, and the order of the translation
 * is the one that the kernel tells elsewhere.
 */
#include <dirent.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <linux/userfaultfd.h>

#include "pagemap.h"

#define PAGES		10240UL		/* 40 MiB, 20 huge pages */
#define SIZE		(PAGES * SMALL_PAGE)
#define HUGE		(512 * SMALL_PAGE)
#define GIGA		(512 * HUGE)

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT		21
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL	102
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB		(21U << 26)
#define MAP_HUGE_1GB		(30U << 26)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY	1
#endif

static const struct expect present_small = { 1, 1, 0, 1 };
static const struct expect present_huge = { 1, 1, 9, 1 };
static const struct expect absent = { 1, 0, ANY, ANY };
static const struct expect unmapped = { 0, 0, ANY, ANY };
static const struct expect small_or_absent = { 1, ANY, 0, 1 };
static const struct expect anything = { ANY, ANY, ANY, ANY };

/* ---- making memory ------------------------------------------------------ */

static char *map(size_t size, int prot, int flags, int fd)
{
	char *p = mmap(NULL, size, prot, flags, fd, 0);

	check_msg(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

/* Anonymous memory that starts on a huge page's boundary. */
static char *map_aligned(size_t size, int advice)
{
	char *p = map(size + HUGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	size_t skip = -(uintptr_t)p & (HUGE - 1);

	if (skip)
		check_int(munmap(p, skip), 0);
	check_int(munmap(p + skip + size, HUGE - skip), 0);
	check_int(madvise(p + skip, size, advice), 0);
	return p + skip;
}

static void write_pages(char *p, size_t n, size_t step)
{
	size_t i;

	for (i = 0; i < n; i += step)
		p[i * SMALL_PAGE] = (char)i;
}

static void read_pages(const char *p, size_t n, size_t step)
{
	volatile char c;
	size_t i;

	for (i = 0; i < n; i += step)
		c = p[i * SMALL_PAGE];
	(void)c;
}

static char *map_small(void)
{
	char *p = map_aligned(SIZE, MADV_NOHUGEPAGE);

	write_pages(p, PAGES, 1);
	return p;
}

static char *map_thp(void)
{
	char *p = map_aligned(SIZE, MADV_HUGEPAGE);

	write_pages(p, PAGES, 1);
	return p;
}

/* Bytes of [p, p + size) that smaps counts as mapped by huge entries. */
static size_t smaps_huge(const char *p, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long start, end, kb, sum = 0;
	bool inside = false;
	char line[512];

	check(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			inside = start >= (uintptr_t)p &&
				 end <= (uintptr_t)p + size;
		else if (inside && (sscanf(line, "AnonHugePages: %lu", &kb) == 1 ||
				    sscanf(line, "ShmemPmdMapped: %lu", &kb) == 1 ||
				    sscanf(line, "FilePmdMapped: %lu", &kb) == 1))
			sum += kb;
	}
	fclose(f);
	return sum * 1024;
}

/* The pages that we say are huge are those that smaps counts. */
static void check_huge(const char *p, size_t size, const struct seen *seen)
{
	check_int(seen->order[9] * SMALL_PAGE, smaps_huge(p, size));
}

/* ---- anonymous ---------------------------------------------------------- */

static void anonymous_pages(void)
{
	struct seen seen;

	compare(map_small(), PAGES, &present_small, &seen);
	check_int(seen.present, PAGES);
}

static void anonymous_pages_touched_here_and_there(void)
{
	char *p = map_aligned(SIZE, MADV_NOHUGEPAGE);
	struct seen seen;

	write_pages(p, PAGES, 3);
	read_pages(p, PAGES, 7);	/* the zero page */
	compare(p, PAGES, &small_or_absent, &seen);
	check_int(seen.present, PAGES / 3 + 1 + PAGES / 7 + 1 - (PAGES / 21 + 1));
}

static void zero_pages(void)
{
	char *p = map_aligned(SIZE, MADV_NOHUGEPAGE);
	struct seen seen;

	read_pages(p, PAGES, 1);
	compare(p, PAGES, &present_small, &seen);
}

static void pages_shared_with_a_child_by_fork(void)
{
	char *p = map_small();
	struct seen seen;
	pid_t pid = fork();

	if (!pid) {
		write_pages(p, PAGES, 2);
		compare(p, PAGES, &present_small, &seen);
		_exit(0);
	}
	compare(p, PAGES, &present_small, &seen);
	join_child(pid);
	compare(p, PAGES, &present_small, &seen);
}

static void freed_and_dropped_pages(void)
{
	char *p = map_small();
	struct seen seen;

	check_int(madvise(p, SIZE / 2, MADV_DONTNEED), 0);
	check_int(madvise(p + SIZE / 2, SIZE / 4, MADV_FREE), 0);
	compare(p, PAGES, &small_or_absent, &seen);
	compare(p, PAGES / 2, &absent, &seen);
}

/* ---- huge --------------------------------------------------------------- */

static void transparent_huge_pages(void)
{
	char *p = map_thp();
	struct seen seen;

	compare(p, PAGES, &present_huge, &seen);
	check_huge(p, SIZE, &seen);
}

static void the_huge_zero_page(void)
{
	char *p = map_aligned(SIZE, MADV_HUGEPAGE);
	struct seen seen;

	read_pages(p, PAGES, 512);
	compare(p, PAGES, &present_huge, &seen);
}

static void transparent_huge_pages_mapped_in_pieces(void)
{
	char *p = map_thp();
	struct seen seen;
	size_t i;

	/* Every other huge page loses its last page: the rest is mapped small. */
	for (i = 0; i < PAGES; i += 1024)
		check_int(madvise(p + (i + 511) * SMALL_PAGE, SMALL_PAGE,
				  MADV_DONTNEED), 0);
	compare(p, PAGES, &(struct expect){ 1, ANY, ANY, 1 }, &seen);
	check_int(seen.present, PAGES - PAGES / 1024);
	check_int(seen.order[9], PAGES / 2);
	check_int(seen.order[0], PAGES / 2 - PAGES / 1024);
	check_huge(p, SIZE, &seen);
}

static char *map_hugetlb(size_t size, int flags)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | MAP_HUGETLB | flags, -1, 0);

	if (p == MAP_FAILED)
		tap_skip("no memory in huge pages: %s", strerror(errno));
	return p;
}

static char *map_hugetlb_2m(int flags)
{
	if (!write_file("/proc/sys/vm/nr_hugepages", "24"))
		tap_skip("this kernel has no hugetlb");
	return map_hugetlb(SIZE, flags | MAP_HUGE_2MB);
}

static void private_hugetlb_pages(void)
{
	char *p = map_hugetlb_2m(MAP_PRIVATE);
	struct seen seen;

	write_pages(p, PAGES, 512);
	compare(p, PAGES, &present_huge, &seen);
}

static void shared_hugetlb_pages_some_untouched(void)
{
	char *p = map_hugetlb_2m(MAP_SHARED);
	struct seen seen;

	write_pages(p, PAGES, 1024);
	compare(p, PAGES, &(struct expect){ 1, ANY, 9, 1 }, &seen);
	check_int(seen.present, PAGES / 2);
	read_pages(p, PAGES, 512);
	compare(p, PAGES, &present_huge, &seen);
}

static void protected_hugetlb_pages(void)
{
	char *p = map_hugetlb_2m(MAP_PRIVATE);
	struct seen seen;

	write_pages(p, PAGES, 512);
	check_int(mprotect(p, SIZE, PROT_NONE), 0);
	compare(p, PAGES, &present_huge, &seen);
}

static void gigantic_hugetlb_pages(void)
{
	static const struct expect giga = { 1, 1, 18, 1 };
	struct seen seen;
	char *p;

	if (!write_file("/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages",
			"1"))
		tap_skip("no 1 GiB pages here");
	p = map_hugetlb(GIGA, MAP_PRIVATE | MAP_HUGE_1GB);
	compare(p, PAGES, &absent, &seen);
	p[0] = 1;
	compare(p, PAGES, &giga, &seen);
	compare(p + GIGA - SIZE, PAGES, &giga, &seen);
	check_int(mprotect(p, GIGA, PROT_NONE), 0);
	compare(p + GIGA / 2, PAGES, &giga, &seen);
}

/* ---- not accessible ----------------------------------------------------- */

static void guard_ranges_never_touched(void)
{
	struct seen seen;

	compare(map(SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1), PAGES,
		&absent, &seen);
}

static void protected_pages_that_are_there(void)
{
	char *p = map_small();
	struct seen seen;

	check_int(mprotect(p, SIZE, PROT_NONE), 0);
	compare(p, PAGES, &present_small, &seen);
}

static void protected_huge_pages_that_are_there(void)
{
	char *p = map_thp();
	struct seen seen;

	/* smaps does not count them once they are protected. */
	compare(p, PAGES, &present_huge, &seen);
	check_huge(p, SIZE, &seen);
	check_int(mprotect(p, SIZE, PROT_NONE), 0);
	compare(p, PAGES, &present_huge, &seen);
}

static void guard_markers(void)
{
	char *p = map_small();
	struct seen seen;

	if (madvise(p, SIZE / 2, MADV_GUARD_INSTALL))
		tap_skip("no MADV_GUARD_INSTALL: %s", strerror(errno));
	compare(p, PAGES, &small_or_absent, &seen);
	check_int(seen.present, PAGES / 2);
}

static void holes_between_mappings(void)
{
	char *p = map_small();
	struct seen seen;
	size_t i;

	for (i = 0; i < PAGES; i += 16)
		check_int(munmap(p + i * SMALL_PAGE, 4 * SMALL_PAGE), 0);
	compare(p, PAGES, &(struct expect){ ANY, ANY, 0, 1 }, &seen);
	check_int(seen.present, PAGES / 16 * 12);
	check_int(munmap(p, SIZE), 0);
	compare(p, PAGES, &unmapped, &seen);
}

/* ---- files -------------------------------------------------------------- */

/* Another file system's pages than tmpfs's: the C library, many times over. */
static const char *library_path(void)
{
	static char path[512];
	char line[700];
	FILE *f = fopen("/proc/self/maps", "r");

	check(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "/libc.so") || strstr(line, "/libc-2.")) {
			check_int(sscanf(line, "%*s %*s %*s %*s %*s %511s",
					 path), 1);
			break;
		}
	fclose(f);
	return path;
}

/* Maps the library in a row until @PAGES pages are there. */
static char *map_library(int prot, int flags)
{
	const char *path = library_path();
	char *area = map(SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	size_t done, len;

	if (size <= (off_t)SMALL_PAGE)
		tap_skip("no C library to map ('%s')", path);
	size &= ~(SMALL_PAGE - 1);
	for (done = 0; done < SIZE; done += len) {
		len = SIZE - done < (size_t)size ? SIZE - done : (size_t)size;
		check(mmap(area + done, len, prot, flags | MAP_FIXED, fd, 0) !=
		      MAP_FAILED);
	}
	close(fd);
	return area;
}

static void private_file_pages(void)
{
	char *p = map_library(PROT_READ, MAP_PRIVATE);
	struct seen seen;

	read_pages(p, PAGES, 1);
	compare(p, PAGES, &present_small, &seen);
}

static void private_file_pages_some_written(void)
{
	char *p = map_library(PROT_READ | PROT_WRITE, MAP_PRIVATE);
	struct seen seen;

	write_pages(p, PAGES, 5);
	compare(p, PAGES, &small_or_absent, &seen);
	check(seen.present >= PAGES / 5);
}

static void shared_file_pages(void)
{
	char *p = map_library(PROT_READ, MAP_SHARED);
	struct seen seen;

	read_pages(p, PAGES, 1);
	compare(p, PAGES, &present_small, &seen);
}

static void shared_memory_pages(void)
{
	char *p = map(SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1);
	struct seen seen;

	write_pages(p, PAGES, 2);
	compare(p, PAGES, &(struct expect){ 1, ANY, ANY, 1 }, &seen);
	check(seen.present >= PAGES / 2);
	check_huge(p, SIZE, &seen);
}

static void memfd_pages_in_and_beyond_the_file(void)
{
	int fd = memfd_create("frames", MFD_CLOEXEC);
	struct seen seen;
	char *p;

	check(fd >= 0);
	check_int(ftruncate(fd, SIZE), 0);
	p = map(SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	write_pages(p, PAGES, 1);
	compare(p, PAGES, &(struct expect){ 1, 1, ANY, 1 }, &seen);
	check_huge(p, SIZE, &seen);
	check_int(ftruncate(fd, SIZE / 2), 0);
	compare(p + SIZE / 2, PAGES / 2, &absent, &seen);
}

static void huge_memfd_pages(void)
{
	static const char knob[] =
		"/sys/kernel/mm/transparent_hugepage/shmem_enabled";
	int fd = memfd_create("frames", MFD_CLOEXEC);
	struct seen seen;
	char *p;

	check(fd >= 0);
	if (!write_file(knob, "advise"))
		tap_skip("no huge pages in shared memory");
	check_int(ftruncate(fd, SIZE + HUGE), 0);
	p = map(SIZE + HUGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	check_int(madvise(p, SIZE + HUGE, MADV_HUGEPAGE), 0);
	write_pages(p, PAGES, 1);
	compare(p, PAGES, &(struct expect){ 1, 1, ANY, 1 }, &seen);
	check(seen.order[9] >= PAGES / 2);
	check_huge(p, SIZE + HUGE, &seen);
}

/* ---- elsewhere ---------------------------------------------------------- */

/* A disk of RAM to swap to; the guest's own files lie on tmpfs. */
static const char *swap_device(void)
{
	if (!access("/dev/zram0", F_OK) ||
	    !system("modprobe zram >/dev/null 2>&1")) {
		write_file("/sys/block/zram0/disksize", "134217728");
		return "/dev/zram0";
	}
	if (!system("modprobe brd rd_nr=1 rd_size=131072 >/dev/null 2>&1"))
		return "/dev/ram0";
	return NULL;
}

static void swapped_out_pages(void)
{
	const char *dev = swap_device();
	char *p = map_small();
	struct seen seen;
	char cmd[100];

	if (!dev)
		tap_skip("no zram and no brd to swap to");
	snprintf(cmd, sizeof(cmd), "/sbin/mkswap %s >/dev/null 2>&1", dev);
	check_msg(!system(cmd), "%s", cmd);
	check_msg(!swapon(dev, 0), "swapon %s: %s", dev, strerror(errno));
	check_int(madvise(p, SIZE, MADV_PAGEOUT), 0);
	compare(p, PAGES, &small_or_absent, &seen);
	check_msg(seen.present < PAGES / 2, "%zu pages are still there",
		  seen.present);
	read_pages(p, PAGES, 3);
	compare(p, PAGES, &small_or_absent, &seen);
	check_int(swapoff(dev), 0);
	compare(p, PAGES, &present_small, &seen);
}

static int open_userfaultfd(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		tap_skip("no userfaultfd: %s", strerror(errno));
	if (ioctl(fd, UFFDIO_API, &api))
		tap_skip("userfaultfd lacks a feature: %s", strerror(errno));
	return fd;
}

static void protect_by_userfaultfd(int fd, char *p)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)p, SIZE },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = {
		.range = { (uintptr_t)p, SIZE },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};

	if (ioctl(fd, UFFDIO_REGISTER, &reg) ||
	    ioctl(fd, UFFDIO_WRITEPROTECT, &wp))
		tap_skip("cannot write-protect this by userfaultfd: %s",
			 strerror(errno));
}

static void userfaultfd_protected_pages(void)
{
	int fd = open_userfaultfd(0);
	char *p = map_small();
	struct seen seen;

	protect_by_userfaultfd(fd, p);
	compare(p, PAGES, &present_small, &seen);
}

static void userfaultfd_markers_in_shared_memory(void)
{
	int fd = open_userfaultfd(1 << 12);	/* WP_HUGETLBFS_SHMEM */
	char *p = map(SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1);
	struct seen seen;

	write_pages(p, PAGES / 2, 1);
	protect_by_userfaultfd(fd, p);
	compare(p, PAGES, &small_or_absent, &seen);
	check_int(seen.present, PAGES / 2);
	check_int(madvise(p, SIZE, MADV_DONTNEED), 0);
	compare(p, PAGES, &absent, &seen);
}

/* Memory of the firmware below 1 MiB: no struct page behind it. */
static void device_mappings(void)
{
	const size_t each = 0x60000 / SMALL_PAGE;
	int fd = open("/dev/mem", O_RDONLY | O_CLOEXEC);
	struct seen seen;
	size_t i;
	char *p;

	if (fd < 0)
		tap_skip("no /dev/mem: %s", strerror(errno));
	for (i = 0; i < PAGES; i += each) {
		p = mmap(NULL, each * SMALL_PAGE, PROT_READ, MAP_SHARED, fd,
			 0xa0000);
		if (p == MAP_FAILED)
			tap_skip("/dev/mem cannot be mapped: %s",
				 strerror(errno));
		compare(p, each, &absent, &seen);
	}
}

/* Everything that the loader and the kernel put there: vdso, vvar, stack... */
static void the_process_itself(void)
{
	struct { char *start; size_t pages; } areas[500];
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	size_t n = 0, pages = 0, i;
	struct seen seen;
	char line[700];

	check(f);
	while (n < ARRAY_SIZE(areas) && fgets(line, sizeof(line), f)) {
		check_int(sscanf(line, "%lx-%lx ", &start, &end), 2);
		if ((long)start < 0)
			continue;	/* vsyscall: the kernel's half */
		areas[n].start = (char *)start;
		areas[n++].pages = (end - start) / SMALL_PAGE;
	}
	fclose(f);
	while (pages < PAGES)
		for (i = 0; i < n; i++) {
			/* fopen's buffer may be gone: mapped or not. */
			compare(areas[i].start, areas[i].pages, &anything, &seen);
			pages += areas[i].pages;
		}
}

static void pages_that_move_while_asked_for(void)
{
	char *p = map_small();
	struct seen seen;
	pid_t pid;
	int i;

	/* Holes, so that compaction has something to do. */
	for (i = 0; i < (int)PAGES; i += 4)
		check_int(madvise(p + i * SMALL_PAGE, SMALL_PAGE, MADV_DONTNEED),
			  0);
	if (access("/proc/sys/vm/compact_memory", W_OK))
		tap_skip("this kernel does not compact memory");
	pid = fork();
	if (!pid) {
		for (;;)
			write_file("/proc/sys/vm/compact_memory", "1");
	}
	for (i = 0; i < 10; i++)
		compare(p, PAGES, &small_or_absent, &seen);
	kill(pid, SIGKILL);
	check_int(waitpid(pid, NULL, 0), pid);
}

static const struct tap_test tests[] = {
	TAP_TEST(anonymous_pages),
	TAP_TEST(anonymous_pages_touched_here_and_there),
	TAP_TEST(zero_pages),
	TAP_TEST(pages_shared_with_a_child_by_fork),
	TAP_TEST(freed_and_dropped_pages),
	TAP_TEST(transparent_huge_pages),
	TAP_TEST(the_huge_zero_page),
	TAP_TEST(transparent_huge_pages_mapped_in_pieces),
	TAP_TEST(private_hugetlb_pages),
	TAP_TEST(shared_hugetlb_pages_some_untouched),
	TAP_TEST(protected_hugetlb_pages),
	TAP_TEST(gigantic_hugetlb_pages),
	TAP_TEST(guard_ranges_never_touched),
	TAP_TEST(protected_pages_that_are_there),
	TAP_TEST(protected_huge_pages_that_are_there),
	TAP_TEST(guard_markers),
	TAP_TEST(holes_between_mappings),
	TAP_TEST(private_file_pages),
	TAP_TEST(private_file_pages_some_written),
	TAP_TEST(shared_file_pages),
	TAP_TEST(shared_memory_pages),
	TAP_TEST(memfd_pages_in_and_beyond_the_file),
	TAP_TEST(huge_memfd_pages),
	TAP_TEST(swapped_out_pages),
	TAP_TEST(userfaultfd_protected_pages),
	TAP_TEST(userfaultfd_markers_in_shared_memory),
	TAP_TEST(device_mappings),
	TAP_TEST(the_process_itself),
	TAP_TEST(pages_that_move_while_asked_for),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
