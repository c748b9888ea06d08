/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_IOC_FRAMES as a call: its limits, its errors and how far it came, and
 * what a caller without CAP_SYS_ADMIN is told. frames_kinds.c holds the answers
 * against pagemap for each kind of memory.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "pagemap.h"

#define PAGES	10240UL
#define SIZE	(PAGES * SMALL_PAGE)

static struct sonde_frame entries[PAGES];

static char *map_pages(size_t n, int flags)
{
	char *p = mmap(NULL, n * SMALL_PAGE, PROT_READ | PROT_WRITE,
		       MAP_ANONYMOUS | flags, -1, 0);
	size_t i;

	check(p != MAP_FAILED);
	check_int(madvise(p, n * SMALL_PAGE, MADV_NOHUGEPAGE), 0);
	for (i = 0; i < n; i++)
		p[i * SMALL_PAGE] = (char)i;
	return p;
}

static uint32_t colour_mask(int fd)
{
	return (1U << get_info(fd).colour_bits) - 1;
}

/* ---- limits ------------------------------------------------------------- */

static void refuses_no_pages_and_too_many(void)
{
	int fd = open_node(PROBE_NODE);
	uint64_t max = get_info(fd).max_pages;
	char *p = map_pages(1, MAP_PRIVATE);
	struct sonde_frame *big = mmap(NULL, max * sizeof(*big),
				       PROT_READ | PROT_WRITE, MAP_PRIVATE |
				       MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	check(big != MAP_FAILED);
	check_int(get_frames(fd, p, 0, entries, 0, NULL), -EINVAL);
	check_int(get_frames(fd, p, max + 1, big, 0, NULL), -EINVAL);
	check_int(get_frames(fd, p, 1ULL << 52, big, 0, NULL), -EINVAL);
	check_int(get_frames(fd, p, UINT64_MAX, big, 0, NULL), -EINVAL);
	check_int(get_frames(fd, p, max, big, 0, NULL), 0);
	check(big[0].flags & SONDE_FRAME_PRESENT);
}

static void refuses_an_unaligned_address(void)
{
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(2, MAP_PRIVATE);
	size_t i;

	for (i = 1; i < SMALL_PAGE; i++)
		check_int(get_frames(fd, p + i, 1, entries, 0, NULL), -EINVAL);
	check_int(get_frames(fd, p, 1, entries, 0, NULL), 0);
}

/* One past the last page a process can have; it depends on the processor. */
static uintptr_t address_limit(int fd)
{
	uintptr_t end57 = (1UL << 56) - SMALL_PAGE;

	if (!get_frames(fd, (void *)(end57 - SMALL_PAGE), 1, entries, 0, NULL))
		return end57;
	return (1UL << 47) - SMALL_PAGE;
}

static void refuses_a_range_that_leaves_the_address_space(void)
{
	int fd = open_node(PROBE_NODE);
	uintptr_t end = address_limit(fd);
	uintptr_t last = end - SMALL_PAGE;

	check_int(get_frames(fd, (void *)last, 1, entries, 0, NULL), 0);
	check_int(entries[0].flags, 0);
	check_int(get_frames(fd, (void *)last, 2, entries, 0, NULL), -EINVAL);
	check_int(get_frames(fd, (void *)end, 1, entries, 0, NULL), -EINVAL);
	check_int(get_frames(fd, (void *)-SMALL_PAGE, 1, entries, 0, NULL),
		  -EINVAL);
	check_int(get_frames(fd, (void *)-SMALL_PAGE, 2, entries, 0, NULL),
		  -EINVAL);
	check_int(get_frames(fd, (void *)0xffff888000000000UL, 1, entries, 0,
			     NULL), -EINVAL);
}

static void refuses_unknown_flags(void)
{
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(1, MAP_PRIVATE);
	int bit;

	for (bit = 1; bit < 32; bit++)
		check_int(get_frames(fd, p, 1, entries, 1U << bit, NULL),
			  -EINVAL);
	check_int(get_frames(fd, p, 1, entries, UINT32_MAX, NULL), -EINVAL);
}

static void a_refusal_writes_nothing(void)
{
	struct sonde_frames args = {
		.size = sizeof(args), .npages = 1, .addr = 1, .done = 77,
		.entries = (uintptr_t)entries,
	};
	const struct sonde_frames before = args;

	memset(entries, 0xa5, sizeof(entries));
	check_int(do_ioctl(open_node(PROBE_NODE), SONDE_IOC_FRAMES, &args),
		  -EINVAL);
	check(!memcmp(&args, &before, sizeof(args)));
	check_int(entries[0].flags, 0xa5a5);
}

static void takes_a_longer_struct_with_a_zero_tail(void)
{
	struct { struct sonde_frames args; uint64_t more[4]; } big = {
		.args = { .size = sizeof(big), .npages = 1,
			  .entries = (uintptr_t)entries, },
	};
	const unsigned long cmd = _IOC(_IOC_READ | _IOC_WRITE, SONDE_IOC_MAGIC,
				       1, sizeof(big));
	int fd = open_node(PROBE_NODE);

	big.args.addr = (uintptr_t)map_pages(1, MAP_PRIVATE);
	check_int(do_ioctl(fd, cmd, &big), 0);
	check_int(big.args.done, 1);
	big.more[3] = 1;
	check_int(do_ioctl(fd, cmd, &big), -E2BIG);
}

/* ---- where the answer goes ---------------------------------------------- */

static void an_answer_that_fits_nowhere_is_efault(void)
{
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(2, MAP_PRIVATE);
	static const uintptr_t nowhere[] = {
		0, 8, 0xffff888000000000UL, -4096UL, -16UL, 1UL << 60,
	};
	uint64_t done;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		done = 77;
		check_int(get_frames(fd, p, 2, (void *)nowhere[i], 0, &done),
			  -EFAULT);
		check_int(done, 0);
	}
	check_int(mprotect(p + SMALL_PAGE, SMALL_PAGE, PROT_READ), 0);
	check_int(get_frames(fd, p, 2, (void *)(p + SMALL_PAGE), 0, &done),
		  -EFAULT);
	check_int(done, 0);
}

static void done_tells_how_far_an_answer_came(void)
{
	const size_t pages = 4, size = sizeof(struct sonde_frame);
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(PAGES, MAP_PRIVATE);
	char *out = map_pages(pages + 1, MAP_PRIVATE);
	size_t skip, fits, i;
	uint64_t done;

	check_int(munmap(out + pages * SMALL_PAGE, SMALL_PAGE), 0);
	check_int(get_frames(fd, p, PAGES, entries, 0, NULL), 0);
	for (skip = 0; skip < 3 * SMALL_PAGE; skip += 1000) {
		const struct sonde_frame *got = (void *)(out + skip);

		memset(out, 0xa5, pages * SMALL_PAGE);
		fits = (pages * SMALL_PAGE - skip) / size;
		check_int(get_frames(fd, p, PAGES, (void *)got, 0, &done),
			  -EFAULT);
		/* The kernel may stop a few bytes early, never late. */
		check_msg(done <= fits && done + 4 >= fits,
			  "done %llu of %zu that fit", (unsigned long long)done,
			  fits);
		for (i = 0; i < done; i++)
			check(!memcmp(&got[i], &entries[i], size));
		for (i = 0; i < skip; i++)
			check_int((unsigned char)out[i], 0xa5);
	}
}

static void done_that_cannot_be_written_is_efault(void)
{
	char *page = map_pages(1, MAP_PRIVATE);
	struct sonde_frames *args = (void *)page;

	*args = (struct sonde_frames){
		.size = sizeof(*args), .npages = 1, .addr = (uintptr_t)page,
		.entries = (uintptr_t)entries, .done = 77,
	};
	check_int(mprotect(page, SMALL_PAGE, PROT_READ), 0);
	check_int(do_ioctl(open_node(PROBE_NODE), SONDE_IOC_FRAMES, args),
		  -EFAULT);
	check_int(args->done, 77);
}

static void the_answer_may_lie_in_the_range_asked_for(void)
{
	int fd = open_node(PROBE_NODE);
	size_t pages = PAGES * sizeof(struct sonde_frame) / SMALL_PAGE;
	char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct sonde_frame *out;
	size_t i, present = 0;
	uint64_t done;

	check(p != MAP_FAILED);
	check_int(madvise(p, SIZE, MADV_NOHUGEPAGE), 0);
	out = (void *)(p + (PAGES - pages) * SMALL_PAGE);
	/* Writing the answer faults in what is looked at last. */
	check_int(get_frames(fd, p, PAGES, (void *)out, 0, &done), 0);
	check_int(done, PAGES);
	for (i = 0; i < PAGES; i++) {
		check(out[i].flags & SONDE_FRAME_MAPPED);
		check(i >= PAGES - pages ||
		      !(out[i].flags & SONDE_FRAME_PRESENT));
		present += !!(out[i].flags & SONDE_FRAME_PRESENT);
	}
	check(present > 0);
}

static void one_range_may_span_many_mappings_and_holes(void)
{
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(PAGES, MAP_PRIVATE);
	size_t i;

	for (i = 0; i < PAGES; i += 8) {
		check_int(munmap(p + i * SMALL_PAGE, SMALL_PAGE), 0);
		check_int(mprotect(p + (i + 2) * SMALL_PAGE, SMALL_PAGE,
				   PROT_READ), 0);
		check_int(madvise(p + (i + 5) * SMALL_PAGE, SMALL_PAGE,
				  MADV_DONTNEED), 0);
	}
	check_int(get_frames(fd, p, PAGES, entries, 0, NULL), 0);
	for (i = 0; i < PAGES; i++) {
		check_int(!!(entries[i].flags & SONDE_FRAME_MAPPED), i % 8 != 0);
		check_int(!!(entries[i].flags & SONDE_FRAME_PRESENT),
			  i % 8 != 0 && i % 8 != 5);
	}
}

static void looking_faults_nothing_in(void)
{
	int fd = open_node(PROBE_NODE);
	unsigned char here[64];
	size_t i;
	char *p = mmap(NULL, sizeof(here) * SMALL_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	check_int(get_frames(fd, p, sizeof(here), entries, 0, NULL), 0);
	check_int(mincore(p, sizeof(here) * SMALL_PAGE, here), 0);
	for (i = 0; i < sizeof(here); i++) {
		check_int(here[i] & 1, 0);
		check_int(entries[i].flags, SONDE_FRAME_MAPPED);
	}
}

/* ---- who is told what --------------------------------------------------- */

static void check_colours_only(const struct sonde_frame *got,
			       const struct sonde_frame *all, size_t n,
			       uint32_t mask)
{
	size_t i;

	for (i = 0; i < n; i++) {
		check_int(got[i].flags, all[i].flags & ~SONDE_FRAME_FRAME);
		check_int(got[i].frame, 0);
		check(all[i].flags & SONDE_FRAME_FRAME);
		check_int(got[i].colour, all[i].frame & mask);
		check_int(got[i].order, all[i].order);
		check_int(got[i].node, all[i].node);
	}
}

static void colours_alone_can_be_asked_for(void)
{
	static struct sonde_frame colours[PAGES];
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(PAGES, MAP_PRIVATE);

	check_int(mlock(p, SIZE), 0);
	check_int(get_frames(fd, p, PAGES, entries, 0, NULL), 0);
	check_int(get_frames(fd, p, PAGES, colours, SONDE_FRAMES_COLOURS, NULL),
		  0);
	check_colours_only(colours, entries, PAGES, colour_mask(fd));
}

/* A user's colours are the frames that root sees behind the same memory. */
static void without_cap_sys_admin_there_are_colours_only(void)
{
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(PAGES, MAP_SHARED);
	size_t bytes = PAGES * sizeof(struct sonde_frame);
	struct sonde_frame *theirs = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	gid_t group = probe_group();
	size_t i;
	pid_t pid;

	check(theirs != MAP_FAILED);
	check_int(mlock(p, SIZE), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		become_nobody(group);
		fd = open_node(PROBE_NODE);
		check_int(get_info(fd).rights, 0);
		for (i = 0; i < PAGES; i++)	/* mapped here, too */
			check_int(p[i * SMALL_PAGE], (char)i);
		check_int(get_frames(fd, p, PAGES, theirs, 0, NULL), 0);
		_exit(0);
	}
	join_child(pid);
	check_int(get_frames(fd, p, PAGES, entries, 0, NULL), 0);
	check_colours_only(theirs, entries, PAGES, colour_mask(fd));
}

static void a_file_that_a_user_opened_tells_root_no_frames(void)
{
	char *p = map_pages(1, MAP_PRIVATE);
	int fd;

	check_int(setresgid(-1, probe_group(), -1), 0);
	check_int(setresuid(-1, NOBODY, -1), 0);
	fd = open_node(PROBE_NODE);
	check_int(setresuid(-1, 0, -1), 0);
	check_int(get_frames(fd, p, 1, entries, 0, NULL), 0);
	check_int(entries[0].flags, SONDE_FRAME_MAPPED | SONDE_FRAME_PRESENT |
				    SONDE_FRAME_COLOUR | SONDE_FRAME_NODE);
	check_int(entries[0].frame, 0);
}

static void a_file_that_root_opened_goes_on_telling_frames(void)
{
	int fd = open_node(PROBE_NODE);
	char *p = map_pages(1, MAP_PRIVATE);

	become_nobody(NOBODY);
	check_int(get_frames(fd, p, 1, entries, 0, NULL), 0);
	check(entries[0].flags & SONDE_FRAME_FRAME);
	check(entries[0].frame);
}

static const struct tap_test tests[] = {
	TAP_TEST(refuses_no_pages_and_too_many),
	TAP_TEST(refuses_an_unaligned_address),
	TAP_TEST(refuses_a_range_that_leaves_the_address_space),
	TAP_TEST(refuses_unknown_flags),
	TAP_TEST(a_refusal_writes_nothing),
	TAP_TEST(takes_a_longer_struct_with_a_zero_tail),
	TAP_TEST(an_answer_that_fits_nowhere_is_efault),
	TAP_TEST(done_tells_how_far_an_answer_came),
	TAP_TEST(done_that_cannot_be_written_is_efault),
	TAP_TEST(the_answer_may_lie_in_the_range_asked_for),
	TAP_TEST(one_range_may_span_many_mappings_and_holes),
	TAP_TEST(looking_faults_nothing_in),
	TAP_TEST(colours_alone_can_be_asked_for),
	TAP_TEST(without_cap_sys_admin_there_are_colours_only),
	TAP_TEST(a_file_that_a_user_opened_tells_root_no_frames),
	TAP_TEST(a_file_that_root_opened_goes_on_telling_frames),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
