/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can fail on a path fails in turn (fault injection): each allocation, and
 * where the kernel injects that too (CONFIG_FAULT_INJECTION_USERCOPY) each copy
 * from and to the caller. The call says ENOMEM or EFAULT, writes nothing more
 * than it says, leaves nothing open, and the next call works. Runs on a kernel
 * with CONFIG_FAILSLAB; elsewhere the file skips.
 */
#include "alloc.h"
#include "region.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define DEBUGFS		"/sys/kernel/debug/"
#define MOST_FAULTS	100
#define PAGES		2000

/* Whether pages fail, too: of the tables, and all that slabs are made of. */
static void let_pages_fail(bool do_fail)
{
	check(write_file(DEBUGFS "fail_page_alloc/min-order", do_fail ? "0" : "99"));
}

static int fail_nth;	/* FAIL_NTH, opened for the test that runs */

static void open_fail_nth(void)
{
	let_pages_fail(false);
	fail_nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	check(fail_nth >= 0);
}

/* From now on the @nth thing of this thread that can fail does; 0 ends it. */
static void arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* If still armed, the copy of this text may be what fails. */
	if (pwrite(fail_nth, text, len, 0) != len)
		check_int(pwrite(fail_nth, text, len, 0), len);
}

/* Ends it; returns whether something was made to fail. */
static bool disarm(void)
{
	char text[16] = "";
	ssize_t len = pread(fail_nth, text, sizeof(text) - 1, 0);

	check(len > 0 || errno == EFAULT);	/* that is what failed now */
	arm(0);
	return len > 0 && !atoi(text);
}

/*
 * Of all that is allocated only what is accounted to a memory cgroup by size
 * fails: that is what the module allocates. The kernel's own (for kmemleak's
 * objects, for a slab's list of who pays) comes and goes from call to call, and
 * would have the next call's nth failure be another one: some would be missed.
 * The caches are marked at boot, by slub_debug=A (see run).
 */
static bool choose_caches(void)
{
	int fd = open("/sys/kernel/slab/kmalloc-cg-64/failslab", O_RDONLY);
	char mark = '0';
	bool is_marked = fd >= 0 && read(fd, &mark, 1) == 1 && mark == '1';

	close(fd);
	return is_marked && write_file(DEBUGFS "failslab/cache-filter", "Y");
}

/* Not in the log: a fault that was injected; also where the call may sleep. */
static bool set_up_faults(void)
{
	write_file(DEBUGFS "fail_usercopy/verbose", "0");
	write_file(DEBUGFS "fail_page_alloc/verbose", "0");
	write_file(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N");
	return write_file(DEBUGFS "failslab/verbose", "0") &&
	       write_file(DEBUGFS "failslab/ignore-gfp-wait", "N") &&
	       choose_caches();
}

static int users_of_module(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

/* Some of what open(2) allocates on its way is dispensable: it may succeed. */
static void a_failing_open_leaves_nothing(void)
{
	int before = users_of_module();
	unsigned int nth, nomem = 0;
	bool failed = true;
	int fd, err;

	open_fail_nth();
	for (nth = 1; failed && nth < MOST_FAULTS; nth++) {
		arm(nth);
		fd = open(PROBE_NODE, O_RDWR | O_CLOEXEC);
		err = errno;
		failed = disarm();
		if (fd >= 0) {
			check_int(get_info(fd).abi, SONDE_ABI);
			close(fd);
		} else {
			check(failed);
			check(err == ENOMEM || err == EFAULT);
			nomem += err == ENOMEM;
		}
		check_int(users_of_module(), before);
	}
	printf("# %u of %u failed with ENOMEM\n", nomem, nth);
	check(!failed);
	check_int(nomem, 3);	/* the file, its pool, who may switch prefetchers */
}

/* Returns whether something failed; counts ENOMEM. */
static bool frames_with_fault(int fd, unsigned int nth, size_t n,
			      unsigned int *nomem)
{
	static struct sonde_frame entries[PAGES + 1]
		__attribute__((aligned(SMALL_PAGE)));
	uint64_t done;
	bool failed;
	size_t i;
	int ret;

	memset(entries, 0xa5, sizeof(entries));
	arm(nth);
	ret = get_frames(fd, entries, n, entries, 0, &done);
	failed = disarm();
	if (!failed)
		check_int(ret, 0);
	/* Accounting to the memory cgroup allocates, too, and can do without. */
	check_msg(!ret || ret == -ENOMEM || ret == -EFAULT, "result %d", ret);
	check(ret ? done < n : done == n);
	check(ret != -ENOMEM || !done);
	*nomem += ret == -ENOMEM;
	for (i = 0; i <= n; i++)
		check_msg((entries[i].flags == 0xa5a5) == (i >= done),
			  "entry %zu of %llu done", i, (unsigned long long)done);
	return failed;
}

static void failing_frames_write_what_they_say(void)
{
	static const size_t counts[] = { 1, 100, PAGES };
	int fd = open_node(PROBE_NODE);
	unsigned int nth, nomem;
	size_t i;

	open_fail_nth();
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		nomem = 0;
		for (nth = 1; frames_with_fault(fd, nth, counts[i], &nomem); nth++)
			check(nth < MOST_FAULTS);
		check_int(nomem, 1);	/* the buffer */
	}
}

static void info_allocates_nothing(void)
{
	struct sonde_info info;
	int fd = open_node(MAIN_NODE);
	unsigned int nth;
	bool failed = true;
	int ret;

	open_fail_nth();
	for (nth = 1; failed; nth++) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		arm(nth);
		ret = do_ioctl(fd, SONDE_IOC_INFO, &info);
		failed = disarm();
		check_int(ret, failed ? -EFAULT : 0);
		check(nth <= 3);	/* a copy in, a copy out, and none */
	}
	check_int(info.abi, SONDE_ABI);
}

/*
 * Returns whether something failed; counts ENOMEM. What the kernel lacks for a
 * block or for the pool's reserve the call may do without.
 */
static bool alloc_with_fault(unsigned int nth, struct request *rq,
			     unsigned int *nomem)
{
	unsigned long before = pages_held();
	int probe = open_node(PROBE_NODE), ret;
	bool failed;

	rq->args.fd = -1;
	arm(nth);
	ret = alloc(probe, rq);
	failed = disarm();
	if (!failed)
		check_int(ret, 0);
	check_msg(!ret || ret == -ENOMEM || ret == -EFAULT || ret == -ENOSPC ||
		  ret == -ENFILE, "result %d", ret);
	*nomem += ret == -ENOMEM;
	if (!ret) {
		check(pages_held() >= before + rq->args.npages);
		close(rq->args.fd);
	} else {
		check_int(rq->args.fd, -1);
	}
	/* After EFAULT the pool may have kept something, but not for longer. */
	close(probe);
	check_int(pages_held(), before);
	return failed;
}

static void a_failing_alloc_leaves_nothing(void)
{
	/* The object and the array; with colours theirs, too, and the pool's. */
	static const unsigned int want[] = { 4, 4, 2, 2 };
	static struct request rqs[4];
	unsigned int nth, nomem;
	size_t i;

	ask_colours(&rqs[0], 40, 4);
	want_some(&rqs[0], 3);
	ask_colours(&rqs[1], 40, 4);
	want_some(&rqs[1], 3);
	rqs[1].args.flags = SONDE_ALLOC_PARTIAL;
	ask_pages(&rqs[2], 40, 0);
	ask_pages(&rqs[3], 40, SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL);
	open_fail_nth();
	for (i = 0; i < ARRAY_SIZE(rqs); i++) {
		nomem = 0;
		for (nth = 1; alloc_with_fault(nth, &rqs[i], &nomem); nth++)
			check(nth < MOST_FAULTS);
		printf("# request %zu: %u faults, %u ENOMEM\n", i, nth - 1, nomem);
		check_int(nomem, want[i]);
	}
}

/* A page of the page tables may be lacking in the middle of the mapping. */
static void a_failing_mmap_leaves_nothing(void)
{
	unsigned int nth, nomem = 0;
	static struct request rq;
	int probe = open_node(PROBE_NODE);
	unsigned long held;
	bool failed = true;
	void *p;

	ask_pages(&rq, 1500, 0);
	check_int(alloc(probe, &rq), 0);
	held = pages_held();
	open_fail_nth();
	let_pages_fail(true);
	for (nth = 1; failed; nth++) {
		check(nth < MOST_FAULTS);
		arm(nth);
		p = mmap(NULL, 1500 * SMALL_PAGE, PROT_READ, MAP_SHARED,
			 rq.args.fd, 0);
		failed = disarm();
		nomem += p == MAP_FAILED;
		check(failed || p != MAP_FAILED);
		if (p != MAP_FAILED)
			check_int(munmap(p, 1500 * SMALL_PAGE), 0);
		check_int(pages_held(), held);
	}
	check(nomem);
	close(rq.args.fd);
	check_int(pages_held(), held - 1500);
}

/* Returns whether something failed; counts ENOMEM. */
static bool chase_with_fault(int fd, int memory, unsigned int nlanes,
			     unsigned int nth, unsigned int *nomem)
{
	struct sonde_window w[2] = { { .reads = 77 }, { .reads = 77 } };
	uint32_t places[2] = { 0, 4 };
	struct sonde_lane lanes[2] = {
		{ .cpu = 0, .steps = 16, .places = (uintptr_t)&places[0],
		  .nplaces = 1, .windows = (uintptr_t)&w[0], .nwindows = 1 },
		{ .cpu = 1, .steps = 16, .places = (uintptr_t)&places[1],
		  .nplaces = 1, .windows = (uintptr_t)&w[1], .nwindows = 1 },
	};
	struct sonde_chase args = {
		.size = sizeof(args), .memory = memory, .nlanes = nlanes,
		.lanes = (uintptr_t)lanes,
	};
	bool failed;
	int ret;

	arm(nth);
	ret = do_ioctl(fd, SONDE_IOC_CHASE, &args);
	failed = disarm();
	if (!failed)
		check(!ret || ret == -EAGAIN);
	check_msg(!ret || ret == -ENOMEM || ret == -EFAULT || ret == -EAGAIN,
		  "result %d", ret);
	*nomem += ret == -ENOMEM;
	if (!ret)
		check(w[0].reads == 1 && lanes[0].done == 1);
	if (ret == -ENOMEM)
		check(w[0].reads == 77 && !lanes[0].done);
	return failed;
}

static void a_failing_chase_leaves_the_memory_usable(void)
{
	struct sonde_alloc memory = {
		.size = sizeof(memory), .flags = SONDE_ALLOC_PRIVATE,
		.npages = 4, .node = -1,
	};
	int fd = open_node(PROBE_NODE);
	unsigned int nth, nomem, nlanes;

	check_int(do_ioctl(fd, SONDE_IOC_ALLOC, &memory), 0);
	open_fail_nth();
	for (nlanes = 1; nlanes <= 2; nlanes++) {
		nomem = 0;
		for (nth = 1; chase_with_fault(fd, memory.fd, nlanes, nth, &nomem); nth++)
			check(nth < MOST_FAULTS);
		printf("# %u lanes: %u of %u failed with ENOMEM\n", nlanes, nomem, nth);
		check_int(nomem, 6);
	}
}

static void a_failing_comparison_of_clocks_writes_nothing(void)
{
	struct sonde_clock_cpu cpu = { .cpu = 1 };
	int fd = open_node(PROBE_NODE), ret;
	unsigned int nth, nomem = 0;
	bool failed = true;

	open_fail_nth();
	for (nth = 1; failed && nth < MOST_FAULTS; nth++) {
		struct sonde_clocks args = {
			.size = sizeof(args), .cpus = (uintptr_t)&cpu, .ncpus = 1,
		};

		arm(nth);
		ret = do_ioctl(fd, SONDE_IOC_CLOCK, &args);
		failed = disarm();
		check_msg(!ret || ret == -ENOMEM || ret == -EFAULT || ret == -EAGAIN,
			  "result %d", ret);
		nomem += ret == -ENOMEM;
		check(ret != -ENOMEM || (!args.done && !args.hz));
	}
	check(!failed);
	printf("# %u ENOMEM\n", nomem);
	check_int(nomem, 5);
}

/* Returns whether something failed; counts ENOMEM. */
static bool export_with_fault(int dev, char *p, size_t len, unsigned int nth,
			      unsigned int *nomem)
{
	struct sonde_export args = export_of(p, len, READ_WRITE);
	bool failed;
	int ret;

	arm(nth);
	ret = do_ioctl(dev, SONDE_IOC_EXPORT, &args);
	failed = disarm();
	if (!failed)
		check_int(ret, 0);
	check_msg(!ret || ret == -ENOMEM || ret == -EFAULT || ret == -ENFILE,
		  "result %d", ret);
	*nomem += ret == -ENOMEM;
	if (!ret) {
		check_region_pattern(args.fd, len, 1);
		close(args.fd);
	} else {
		check_int(args.fd, -1);
	}
	check_int(pages_pinned(), 0);
	return failed;
}

static void a_failing_export_leaves_nothing(void)
{
	int dev = open_node(MAIN_NODE);
	size_t len = 200 * SMALL_PAGE;
	unsigned int nth, nomem = 0;
	char *p = map_scattered(len);

	await_pinned(0);
	fill_pattern(p, len, 1);
	open_fail_nth();
	for (nth = 1; export_with_fault(dev, p, len, nth, &nomem); nth++)
		check(nth < MOST_FAULTS);
	printf("# %u faults, %u ENOMEM\n", nth - 1, nomem);
	check_int(nomem, 3);	/* the region, its runs, more runs */
}

static void a_failing_slot_is_not_set(void)
{
	int dev = open_node(MAIN_NODE), fd, ret;
	unsigned int nth, nomem = 0;
	bool failed = true;

	fd = export_region(dev, map_small(SMALL_PAGE), SMALL_PAGE, READ_WRITE);
	close(dev);
	open_fail_nth();
	for (nth = 1; failed; nth++) {
		struct sonde_slots args = {
			.size = sizeof(args), .regions = (uintptr_t)&fd,
			.nregions = 1,
		};

		/* One without any slots yet. */
		dev = open_node(MAIN_NODE);
		check(nth < MOST_FAULTS);
		arm(nth);
		ret = do_ioctl(dev, SONDE_IOC_SLOTS, &args);
		failed = disarm();
		if (!failed)
			check_int(ret, 0);
		check_msg(!ret || ret == -ENOMEM || ret == -EFAULT, "result %d", ret);
		nomem += ret == -ENOMEM;
		close(dev);
	}
	printf("# %u ENOMEM\n", nomem);
	check_int(nomem, 2);	/* the shelf, the slot */
}

static void a_failing_mapping_of_a_region_leaves_nothing(void)
{
	int dev = open_node(MAIN_NODE), fd;
	size_t len = 1500 * SMALL_PAGE;
	unsigned int nth, nomem = 0;
	char *p = map_small(len);
	bool failed = true;
	void *q;

	fd = export_region(dev, p, len, READ_WRITE);
	open_fail_nth();
	let_pages_fail(true);
	for (nth = 1; failed; nth++) {
		check(nth < MOST_FAULTS);
		arm(nth);
		q = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
		failed = disarm();
		nomem += q == MAP_FAILED;
		check(failed || q != MAP_FAILED);
		if (q != MAP_FAILED)
			check_int(munmap(q, len), 0);
	}
	check(nomem);
}

/* What the call cannot have is its error, what a copy cannot have its result. */
static bool queue_with_fault(int dev, struct sonde_copy *c, unsigned int nth,
			     unsigned int *nomem)
{
	volatile uint64_t status = 0;
	struct sonde_copyv args = {
		.size = sizeof(args), .flags = SONDE_COPYV_ASYNC,
		.copies = (uintptr_t)c, .ncopies = 1, .eventfd = -1,
		.status = (uintptr_t)&status,
	};
	time_t deadline = time(NULL) + 30;
	bool failed;
	int ret;

	c->result = 12345;
	arm(nth);
	ret = do_ioctl(dev, SONDE_IOC_COPYV, &args);
	failed = disarm();
	if (!failed)
		check_int(ret, 0);
	check_msg(!ret || ret == -ENOMEM || ret == -EFAULT, "result %d", ret);
	while (!ret && !status && time(NULL) < deadline)
		sched_yield();
	*nomem += ret == -ENOMEM || c->result == -ENOMEM;
	if (ret)
		check(!status && c->result == 12345);
	else
		check(c->result == (int64_t)c->len || (failed && c->result == -ENOMEM));
	return failed;
}

static void a_failing_batch_leaves_nothing(void)
{
	int dev = open_node(MAIN_NODE);
	size_t len = 200 * SMALL_PAGE;
	unsigned int nth, nomem = 0;
	char *p = map_scattered(len);
	struct sonde_copy c = { .addr = (uintptr_t)map_scattered(len), .len = len };

	await_pinned(0);
	c.region = export_region(dev, p, len, READ_WRITE);
	open_fail_nth();
	for (nth = 1; queue_with_fault(dev, &c, nth, &nomem); nth++)
		check(nth < MOST_FAULTS);
	printf("# %u faults, %u ENOMEM\n", nth - 1, nomem);
	check_int(nomem, 5);	/* the job, runs of all three, more runs */
	close(c.region);
	close(dev);
	await_pinned(0);
}

static const struct tap_test tests[] = {
	TAP_TEST(a_failing_open_leaves_nothing),
	TAP_TEST(failing_frames_write_what_they_say),
	TAP_TEST(info_allocates_nothing),
	TAP_TEST(a_failing_chase_leaves_the_memory_usable),
	TAP_TEST(a_failing_comparison_of_clocks_writes_nothing),
	TAP_TEST(a_failing_alloc_leaves_nothing),
	TAP_TEST(a_failing_mmap_leaves_nothing),
	TAP_TEST(a_failing_export_leaves_nothing),
	TAP_TEST(a_failing_slot_is_not_set),
	TAP_TEST(a_failing_mapping_of_a_region_leaves_nothing),
	TAP_TEST(a_failing_batch_leaves_nothing),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	if (access(FAIL_NTH, W_OK))
		return tap_skip_all("this kernel injects no faults (CONFIG_FAULT_INJECTION)");
	if (!set_up_faults())
		return tap_skip_all("no failslab, or no caches marked for it");
	return tap_main(tests, ARRAY_SIZE(tests));
}
