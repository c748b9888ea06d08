/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_IOC_ALLOC: that the pages are what was asked for, held against
 * /proc/self/pagemap, and what is refused. What the memory is as a file is in
 * memory.c.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include "alloc.h"

/* Gets it, checks it against pagemap, gives it back. */
static void check_alloc(int probe, struct request *rq)
{
	uint64_t *frames, npages = rq->args.npages;
	char *p;

	check_int(alloc(probe, rq), 0);
	check(rq->args.fd >= 0);
	p = map_memory(rq->args.fd, npages);
	frames = frames_of(p, npages);
	check_int(rq->args.off_colour, rq->nwanted ? count_off_colour(rq, frames) : 0);
	check_runs(rq, frames);
	free(frames);
	check_int(munmap(p, npages * SMALL_PAGE), 0);
	close(rq->args.fd);
}

/* ---- colours ------------------------------------------------------------ */

static void allocations_have_only_the_wanted_colours(void)
{
	static const unsigned int all_bits[] = { 4, 6, 8 };
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(all_bits); i++) {
		const unsigned int n = 1U << all_bits[i];
		const unsigned int some[] = { 1, 4, n };

		for (j = 0; j < ARRAY_SIZE(some); j++) {
			ask_colours(&rq, 2 * some[j] + 61, all_bits[i]);
			want_some(&rq, some[j]);
			check_alloc(probe, &rq);
			check_msg(!rq.args.off_colour, "%u of %u colours: %llu off",
				  some[j], n,
				  (unsigned long long)rq.args.off_colour);
		}
	}
}

static void each_single_colour_can_be_had(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	unsigned int colour;

	for (colour = 0; colour < 64; colour++) {
		ask_colours(&rq, 5, 6);
		want(&rq, colour);
		check_alloc(probe, &rq);
		check_int(rq.args.off_colour, 0);
	}
}

/* Without masks, as SONDE_IOC_FRAMES tells them. */
static void colours_are_those_of_frames_unless_masks_are_given(void)
{
	int probe = open_node(PROBE_NODE);
	struct sonde_frame frames[50];
	static struct request rq;
	char *p;
	size_t i;

	ask_colours(&rq, ARRAY_SIZE(frames), get_info(probe).colour_bits);
	want_some(&rq, 3);
	rq.args.nmasks = 0;
	rq.args.masks = 0;
	check_int(alloc(probe, &rq), 0);
	p = map_memory(rq.args.fd, ARRAY_SIZE(frames));
	check_int(get_frames(probe, p, ARRAY_SIZE(frames), frames, 0, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		check(frames[i].flags & SONDE_FRAME_COLOUR);
		check_int(frames[i].colour, rq.wanted[i % 3]);
	}
}

static void a_colour_can_be_any_parity_of_frame_bits(void)
{
	static const uint64_t masks[][5] = {
		{ 0x11, 0x22, 0x44, 0x88 },
		{ 0x1111, 0x222, 0x8004, 0x108 },
		/* As of a last level: bits over all of memory. */
		{ 0x1b5f5, 0x2eb5f, 0x3cccc, 0x7 },
		{ 0x300, 0x1200, 0x2400, 0x4800, 0x9000 },
	};
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		const unsigned int bits = masks[i][4] ? 5 : 4;

		for (j = 1; j <= 1U << bits; j = 3 * j + 1) {
			ask_colours(&rq, 40, bits);
			memcpy(rq.masks, masks[i], sizeof(masks[i]));
			want_some(&rq, j);
			check_alloc(probe, &rq);
			check_int(rq.args.off_colour, 0);
		}
	}
}

/* The pool is the same: pages sorted by one function serve another. */
static void one_file_serves_different_ideas_of_colours(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	unsigned int i;

	for (i = 0; i < 12; i++) {
		ask_colours(&rq, 30 + i, 3 + i % 5);
		rq.masks[0] |= i << 8;
		want_some(&rq, 1 + i % 3);
		check_alloc(probe, &rq);
		check_int(rq.args.off_colour, 0);
	}
}

/*
 * Frames have no such high bit, so of the colours 0 and 1 there is only 0.
 * Wanted are both, so every second place cannot be filled.
 */
static void what_does_not_exist_is_refused_or_counted(void)
{
	int probe = open_node(PROBE_NODE);
	unsigned long before = pages_held();
	static struct request rq;

	ask_colours(&rq, 40, 1);
	rq.masks[0] = 1ULL << 40;
	want(&rq, 1);
	check_int(alloc(probe, &rq), -ENOSPC);
	check_int(rq.args.fd, -1);
	check_int(pages_held(), before);
	rq.args.flags = SONDE_ALLOC_PARTIAL;
	check_alloc(probe, &rq);
	check_int(rq.args.off_colour, 40);

	ask_colours(&rq, 41, 1);
	rq.masks[0] = 1ULL << 40;
	want_some(&rq, 2);
	check_int(alloc(probe, &rq), -ENOSPC);
	rq.args.flags = SONDE_ALLOC_PARTIAL;
	check_alloc(probe, &rq);
	check_int(rq.args.off_colour, 20);
}

/* More of one colour of 16 than all that may be held has. */
static void a_shortage_is_refused_or_counted(void)
{
	int probe = open_node(PROBE_NODE);
	unsigned long before = pages_held(), most = parameter("memory_pages");
	static struct request rq;
	int ret;

	ask_colours(&rq, most / 8, 4);
	want(&rq, 11);
	ret = alloc(probe, &rq);
	check_msg(ret == -EDQUOT || ret == -ENOMEM, "result %d", ret);
	check_int(pages_held(), before);
	rq.args.flags = SONDE_ALLOC_PARTIAL;
	check_alloc(probe, &rq);
	check(rq.args.off_colour > most / 32 && rq.args.off_colour < most / 8);
	close(probe);
	check_int(pages_held(), before);
}

/* ---- runs --------------------------------------------------------------- */

static void contiguous_memory_is_one_run(void)
{
	static const unsigned int sizes[] = { 1, 2, 3, 64, 100, 511, 512 };
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		ask_pages(&rq, sizes[i], SONDE_ALLOC_CONTIGUOUS);
		check_alloc(probe, &rq);
		check_int(rq.args.runs, 1);
		check_int(rq.args.longest, sizes[i]);
	}
}

/* Longer than any block of the kernel: one run only if neighbours are found. */
static void a_long_run_is_refused_or_told_in_pieces(void)
{
	unsigned long before = pages_held(), pages = parameter("memory_pages") / 4;
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	int ret;

	ask_pages(&rq, pages, SONDE_ALLOC_CONTIGUOUS);
	ret = alloc(probe, &rq);
	check_msg(!ret || ret == -ENOSPC, "result %d", ret);
	if (!ret) {
		check_int(rq.args.runs, 1);
		close(rq.args.fd);
	}
	check_int(pages_held(), before);
	ask_pages(&rq, pages, SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL);
	check_alloc(probe, &rq);
	check(rq.args.longest >= 512);
	printf("# %lu pages: one run %s; in part %llu runs, longest %llu\n", pages,
	       ret ? "refused" : "given", (unsigned long long)rq.args.runs,
	       (unsigned long long)rq.args.longest);
	check_int(pages_held(), before);
}

static void plain_memory_has_all_its_pages(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	unsigned int n;

	for (n = 1; n < 3000; n = 3 * n + 1) {
		ask_pages(&rq, n, 0);
		check_alloc(probe, &rq);
		check_int(rq.args.drawn, n);
	}
}

static void memory_is_on_the_node_that_was_asked_for(void)
{
	int probe = open_node(PROBE_NODE);
	struct sonde_frame frames[33];
	static struct request rq;
	char *p;
	size_t i;

	ask_colours(&rq, ARRAY_SIZE(frames), 4);
	want_some(&rq, 2);
	rq.args.node = 0;
	check_int(alloc(probe, &rq), 0);
	p = map_memory(rq.args.fd, ARRAY_SIZE(frames));
	check_int(get_frames(probe, p, ARRAY_SIZE(frames), frames, 0, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(frames); i++) {
		check(frames[i].flags & SONDE_FRAME_NODE);
		check_int(frames[i].node, 0);
	}
}

/* ---- zeroed ------------------------------------------------------------- */

static void check_zero(const char *p, size_t size)
{
	check(!p[0] && !memcmp(p, p + 1, size - 1));
}

static void memory_is_zero_also_when_its_pages_were_used_before(void)
{
	const size_t n = 600, size = n * SMALL_PAGE;
	static struct request rq;
	int round, probe = open_node(PROBE_NODE);
	char *p;

	for (round = 0; round < 30; round++) {
		if (round % 3 == 0) {
			ask_colours(&rq, n, 4);
			want_some(&rq, 4);
		} else {
			ask_pages(&rq, n, round % 3 == 1 ? 0 :
				  SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL);
		}
		check_int(alloc(probe, &rq), 0);
		p = map_memory(rq.args.fd, n);
		check_zero(p, size);
		memset(p, 0xa5, size);
		munmap(p, size);
		close(rq.args.fd);
		if (round % 10 == 9) {
			close(probe);
			probe = open_node(PROBE_NODE);
		}
	}
}

/* ---- the pool ----------------------------------------------------------- */

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

static int compare_times(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t time_alloc(int probe, struct request *rq)
{
	int64_t start = now_ns();

	check_int(alloc(probe, rq), 0);
	return now_ns() - start;
}

#define ROUNDS	9

/* Medians of a first call on a new file, one for another and one for the same. */
static void time_calls(unsigned int bits, int64_t medians[3])
{
	static int64_t took[3][ROUNDS];
	static struct request rq;
	int round, call, probe, fd[3];

	for (round = 0; round < ROUNDS; round++) {
		probe = open_node(PROBE_NODE);
		for (call = 0; call < 3; call++) {
			ask_colours(&rq, 64, bits);
			want(&rq, call == 1 ? 3 : 5);
			took[call][round] = time_alloc(probe, &rq);
			check_int(!rq.args.drawn, call > 0);
			fd[call] = rq.args.fd;
		}
		for (call = 0; call < 3; call++)
			close(fd[call]);
		close(probe);
	}
	for (call = 0; call < 3; call++) {
		qsort(took[call], ROUNDS, sizeof(int64_t), compare_times);
		medians[call] = took[call][ROUNDS / 2];
	}
}

static void a_second_allocation_is_ten_times_quicker(void)
{
	unsigned int bits;
	int64_t t[3];

	for (bits = 4; bits <= 8; bits += 2) {
		time_calls(bits, t);
		printf("# 64 pages of 1 of %u colours: first %" PRId64
		       " ns, another %.1f, the same %.1f times quicker\n",
		       1U << bits, t[0], (double)t[0] / t[1], (double)t[0] / t[2]);
		check(t[0] >= 10 * t[1]);
		check(t[0] >= 10 * t[2]);
	}
}

static void a_pool_keeps_no_more_than_it_may(void)
{
	unsigned long most = parameter("pool_pages"), before = pages_held();
	int probe = open_node(PROBE_NODE);
	static struct request rq;

	ask_colours(&rq, most / 12, 4);
	want(&rq, 1);
	check_int(alloc(probe, &rq), 0);
	check(rq.args.drawn > most);
	check(pages_held() - before <= most + rq.args.npages);
	close(rq.args.fd);
	close(probe);
	check_int(pages_held(), before);
}

static void pools_are_given_back_when_the_kernel_asks(void)
{
	unsigned long before = pages_held();
	int probe = open_node(PROBE_NODE);
	static struct request rq;

	ask_colours(&rq, 20, 6);
	want(&rq, 1);
	check_int(alloc(probe, &rq), 0);
	check(pages_held() > before + 20);
	/* All shrinkers are asked for all they have. */
	check(write_file("/proc/sys/vm/drop_caches", "2"));
	check_int(pages_held(), before + 20);
	check_alloc(probe, &rq);
	check_int(rq.args.off_colour, 0);
}

static void closing_the_device_empties_its_pool_and_keeps_the_memory(void)
{
	unsigned long before = pages_held();
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	char *p;

	ask_colours(&rq, 20, 6);
	want(&rq, 1);
	check_int(alloc(probe, &rq), 0);
	close(probe);
	check_int(pages_held(), before + 20);
	p = map_memory(rq.args.fd, 20);
	check_zero(p, 20 * SMALL_PAGE);
	close(rq.args.fd);
	check_int(pages_held(), before + 20);
	munmap(p, 20 * SMALL_PAGE);
	check_int(pages_held(), before);
}

/* ---- refusals ----------------------------------------------------------- */

/* Refused with @want, and nothing is changed, open or allocated. */
static void check_refused(int probe, struct request *rq, int want_errno)
{
	struct sonde_alloc before = rq->args;
	unsigned long held = pages_held();
	int next = dup(probe);

	close(next);
	check_int(alloc(probe, rq), want_errno);
	check(!memcmp(&before, &rq->args, sizeof(before)));
	check_int(pages_held(), held);
	check_int(fcntl(next, F_GETFD), -1);
}

static void refuses_what_makes_no_sense(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	unsigned int i;

	ask_pages(&rq, 0, 0);
	check_refused(probe, &rq, -EINVAL);
	for (i = 3; i < 32; i++) {
		ask_pages(&rq, 1, 1U << i);
		check_refused(probe, &rq, -EINVAL);
	}
	ask_pages(&rq, 1, 0);
	rq.args.reserved = 1;
	check_refused(probe, &rq, -EINVAL);
	for (i = 0; i < 3; i++) {
		ask_pages(&rq, 1, 0);
		rq.args.node = (const int[]){ -2, 1, 1 << 30 }[i];
		check_refused(probe, &rq, -EINVAL);
	}
	ask_colours(&rq, 1, 4);
	want(&rq, 1);
	rq.args.flags = SONDE_ALLOC_CONTIGUOUS;
	check_refused(probe, &rq, -EINVAL);
}

static void refuses_masks_and_colours_that_make_no_sense(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;

	ask_colours(&rq, 1, 4);		/* no colour */
	check_refused(probe, &rq, -EINVAL);
	want(&rq, 16);			/* there are 16 */
	check_refused(probe, &rq, -EINVAL);
	ask_colours(&rq, 1, 12);
	want(&rq, 0);
	rq.args.nmasks = SONDE_ALLOC_MASKS + 1;
	check_refused(probe, &rq, -EINVAL);
	rq.args.nmasks = 0;		/* but masks */
	check_refused(probe, &rq, -EINVAL);
	ask_pages(&rq, 1, 0);		/* masks, but no colours */
	rq.args.nmasks = 1;
	rq.args.masks = (uintptr_t)rq.masks;
	check_refused(probe, &rq, -EINVAL);
	ask_colours(&rq, 1, 3);
	want(&rq, 0);
	rq.masks[1] = 0;
	check_refused(probe, &rq, -EINVAL);
	rq.masks[1] = rq.masks[0] ^ rq.masks[2];	/* dependent */
	check_refused(probe, &rq, -EINVAL);
}

static void refuses_bad_addresses(void)
{
	static const uint64_t nowhere[] = {
		8, 0xffff888000000000ULL, (uint64_t)-8, 1ULL << 60,
	};
	int probe = open_node(PROBE_NODE);
	static struct request rq;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(nowhere); i++) {
		ask_colours(&rq, 1, 4);
		want(&rq, 1);
		rq.args.masks = nowhere[i];
		check_refused(probe, &rq, -EFAULT);
		ask_colours(&rq, 1, 4);
		want(&rq, 1);
		rq.args.colours = nowhere[i];
		check_refused(probe, &rq, -EFAULT);
	}
}

/* The answer cannot be written: the memory and its descriptor must go. */
static void an_answer_that_cannot_be_written_leaves_nothing(void)
{
	int probe = open_node(PROBE_NODE), next = dup(probe);
	unsigned long before = pages_held();
	struct sonde_alloc *args = mmap(NULL, SMALL_PAGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	close(next);
	check(args != MAP_FAILED);
	*args = (struct sonde_alloc){
		.size = sizeof(*args), .npages = 100, .node = -1,
	};
	check_int(mprotect(args, SMALL_PAGE, PROT_READ), 0);
	check_int(do_ioctl(probe, SONDE_IOC_ALLOC, args), -EFAULT);
	check_int(pages_held(), before);
	check_int(fcntl(next, F_GETFD), -1);
}

static void refuses_more_than_the_module_may_hold(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;

	ask_pages(&rq, parameter("memory_pages") + 1, 0);
	check_refused(probe, &rq, -EDQUOT);
	ask_pages(&rq, UINT64_MAX, 0);
	check_refused(probe, &rq, -EDQUOT);
	ask_pages(&rq, 1ULL << 52, SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL);
	check_refused(probe, &rq, -EDQUOT);
}

static void refuses_when_there_is_no_descriptor_left(void)
{
	int probe = open_node(PROBE_NODE);
	unsigned long before = pages_held();
	struct rlimit limit, none;
	static struct request rq;

	check_int(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 0, limit.rlim_max };
	ask_pages(&rq, 10, 0);
	check_int(setrlimit(RLIMIT_NOFILE, &none), 0);
	check_int(alloc(probe, &rq), -EMFILE);
	check_int(setrlimit(RLIMIT_NOFILE, &limit), 0);
	check_int(rq.args.fd, -1);
	check_int(pages_held(), before);
}

/* ---- whose memory it is ------------------------------------------------- */

static void limit_memlock(unsigned int pages)
{
	struct rlimit limit = { pages * SMALL_PAGE, pages * SMALL_PAGE };

	check_int(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
}

static void memory_counts_against_rlimit_memlock(void)
{
	gid_t group = probe_group();
	static struct request rq;
	int probe, first;
	char *p;

	limit_memlock(64);
	become_nobody(group);
	probe = open_node(PROBE_NODE);
	ask_pages(&rq, 65, 0);
	check_int(alloc(probe, &rq), -ENOBUFS);
	ask_pages(&rq, 60, 0);
	check_int(alloc(probe, &rq), 0);
	first = rq.args.fd;
	p = map_memory(first, 60);
	ask_pages(&rq, 5, 0);
	check_int(alloc(probe, &rq), -ENOBUFS);
	ask_pages(&rq, 4, 0);
	check_int(alloc(probe, &rq), 0);
	close(first);
	ask_pages(&rq, 1, 0);
	check_int(alloc(probe, &rq), -ENOBUFS);	/* it is still mapped */
	munmap(p, 60 * SMALL_PAGE);
	ask_pages(&rq, 60, 0);
	check_int(alloc(probe, &rq), 0);
}

/* After the test above, whose process has ended, all must be uncharged. */
static void rlimit_memlock_is_uncharged_at_exit(void)
{
	in_child(memory_counts_against_rlimit_memlock);
	in_child(memory_counts_against_rlimit_memlock);
}

static void root_is_not_limited_by_rlimit_memlock(void)
{
	int probe = open_node(PROBE_NODE);
	static struct request rq;

	limit_memlock(0);
	ask_pages(&rq, 100, 0);
	check_int(alloc(probe, &rq), 0);
}

/* Else the answer would tell bits of frames that FRAMES does not tell. */
static void who_may_not_see_frames_may_use_low_bits_only(void)
{
	gid_t group = probe_group();
	static struct request rq;
	int probe, roots = open_node(PROBE_NODE);

	become_nobody(group);
	probe = open_node(PROBE_NODE);
	ask_colours(&rq, 8, 2);
	want_some(&rq, 2);
	rq.masks[1] = 1 << 9 | 1 << 3;
	check_int(alloc(probe, &rq), 0);
	rq.masks[1] = 1 << 10;
	rq.args.fd = -1;
	check_int(alloc(probe, &rq), -EPERM);
	check_int(alloc(roots, &rq), 0);	/* as its opener may */
}

#define CGROUP	"/sys/fs/cgroup/sonde-alloc"

/* Moves this process to a group of its own that may have @bytes. */
static bool enter_small_group(const char *bytes)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return write_file("/sys/fs/cgroup/cgroup.subtree_control", "+memory") &&
	       (!mkdir(CGROUP, 0755) || errno == EEXIST) &&
	       write_file(CGROUP "/memory.max", bytes) &&
	       write_file(CGROUP "/cgroup.procs", pid);
}

static void ask_too_much_of_the_group(void)
{
	int probe = open_node(PROBE_NODE);
	unsigned long before = pages_held();
	static struct request rq;
	int ret;

	if (!enter_small_group("24M"))
		tap_skip("there is no memory controller");
	ask_pages(&rq, 10000, 0);
	ret = alloc(probe, &rq);
	if (!ret && !strcmp(getenv("SONDE_GUEST") ?: "", "5.10"))
		tap_skip("pages charged to a group cannot be mapped in 5.10");
	check_int(ret, -ENOMEM);
	ask_colours(&rq, 1000, 6);	/* 64000 pages of other colours */
	want(&rq, 3);
	check_int(alloc(probe, &rq), -ENOMEM);
	check_int(pages_held(), before);
	ask_pages(&rq, 1000, 0);
	check_int(alloc(probe, &rq), 0);
}

static void memory_counts_against_the_memory_cgroup(void)
{
	in_child(ask_too_much_of_the_group);
	rmdir(CGROUP);
}

static const struct tap_test tests[] = {
	TAP_TEST(allocations_have_only_the_wanted_colours),
	TAP_TEST(each_single_colour_can_be_had),
	TAP_TEST(colours_are_those_of_frames_unless_masks_are_given),
	TAP_TEST(a_colour_can_be_any_parity_of_frame_bits),
	TAP_TEST(one_file_serves_different_ideas_of_colours),
	TAP_TEST(what_does_not_exist_is_refused_or_counted),
	TAP_TEST(a_shortage_is_refused_or_counted),
	TAP_TEST(contiguous_memory_is_one_run),
	TAP_TEST(a_long_run_is_refused_or_told_in_pieces),
	TAP_TEST(plain_memory_has_all_its_pages),
	TAP_TEST(memory_is_on_the_node_that_was_asked_for),
	TAP_TEST(memory_is_zero_also_when_its_pages_were_used_before),
	TAP_TEST(a_second_allocation_is_ten_times_quicker),
	TAP_TEST(a_pool_keeps_no_more_than_it_may),
	TAP_TEST(pools_are_given_back_when_the_kernel_asks),
	TAP_TEST(closing_the_device_empties_its_pool_and_keeps_the_memory),
	TAP_TEST(refuses_what_makes_no_sense),
	TAP_TEST(refuses_masks_and_colours_that_make_no_sense),
	TAP_TEST(refuses_bad_addresses),
	TAP_TEST(an_answer_that_cannot_be_written_leaves_nothing),
	TAP_TEST(refuses_more_than_the_module_may_hold),
	TAP_TEST(refuses_when_there_is_no_descriptor_left),
	TAP_TEST(rlimit_memlock_is_uncharged_at_exit),
	TAP_TEST(root_is_not_limited_by_rlimit_memlock),
	TAP_TEST(who_may_not_see_frames_may_use_low_bits_only),
	TAP_TEST(memory_counts_against_the_memory_cgroup),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
