/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_IOC_CHASE: that windows are taken along the cycle that was asked for, on
 * the CPUs that were asked for and at the same time; that what disturbs them is
 * told; and that whatever is asked for, nobody else is disturbed for long.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "chase.h"

#define PAGES	64
#define LINES	1024U	/* of them the cycle has */
#define WINDOWS	200U
#define STEPS	256U

static struct sonde_lane one_lane(uint32_t *places, uint32_t n,
				  struct sonde_window *out, uint32_t nout)
{
	return (struct sonde_lane){
		.places = (uintptr_t)places, .nplaces = n, .steps = STEPS,
		.windows = (uintptr_t)out, .nwindows = nout,
	};
}

static void check_windows(const struct sonde_window *w, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		check(w[i].ticks && w[i].chain && w[i].reads);
		check(!(w[i].flags & ~(SONDE_WINDOW_NMI | SONDE_WINDOW_SMI |
				       SONDE_WINDOW_GAP)));
		if (i)
			check(w[i].begin >= w[i - 1].begin + w[i - 1].ticks);
	}
}

static void windows_follow_each_other(void)
{
	struct sonde_window w[WINDOWS + 1];
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w, WINDOWS);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	memset(w, 0xa5, sizeof(w));
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	check_int(lane.done, WINDOWS);
	check(lane.slices >= 1 && lane.slices <= WINDOWS * 8);
	check(lane.longest > 0);
	check_windows(w, WINDOWS);
	check(w[WINDOWS].begin == 0xa5a5a5a5a5a5a5a5);
}

static void measures_in_the_callers_thread_if_that_is_bound(void)
{
	struct sonde_window w[WINDOWS];
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w, WINDOWS);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	unsigned int cpu, n = count_cpus();

	for (cpu = 0; cpu < n; cpu++) {
		check_int(bind_to(cpu), 0);
		lane.cpu = cpu;
		check_int(chase_lanes(fd, memory, &lane, 1), 0);
		check_int(lane.done, WINDOWS);
		check_windows(w, WINDOWS);
	}
}

static void goes_on_along_the_last_cycle(void)
{
	struct sonde_window w[WINDOWS];
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, NULL, 0);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	struct sonde_lane on = one_lane(NULL, 0, w, WINDOWS);

	check_int(chase_lanes(fd, memory, &on, 1), -EINVAL);	/* no cycle yet */
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	check_int(chase_lanes(fd, memory, &on, 1), 0);
	on.skip = 12345;
	check_int(chase_lanes(fd, memory, &on, 1), 0);
	check_int(on.done, WINDOWS);
	/* A failure takes the cycle away. */
	lane.places = 4096;
	check_int(chase_lanes(fd, memory, &lane, 1), -EFAULT);
	check_int(chase_lanes(fd, memory, &on, 1), -EINVAL);
}

static int flush_lane(int fd, int memory, struct sonde_lane *lane)
{
	struct sonde_chase args = {
		.size = sizeof(args), .flags = SONDE_CHASE_FLUSH, .memory = memory,
		.nlanes = 1, .lanes = (uintptr_t)lane,
	};

	return do_ioctl(fd, SONDE_IOC_CHASE, &args);
}

static void flushed_lines_stay_on_their_cycle(void)
{
	struct sonde_window w[WINDOWS];
	uint32_t *places = make_places(0, LINES);
	struct sonde_lane lane = one_lane(places, LINES, NULL, 0);
	struct sonde_lane on = one_lane(NULL, 0, w, WINDOWS), flush = lane;
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	check_int(flush_lane(fd, memory, &flush), 0);	/* before any cycle */
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	check_int(flush_lane(fd, memory, &flush), 0);
	check_int(flush.done, 0);
	check_int(chase_lanes(fd, memory, &on, 1), 0);
	check_int(on.done, WINDOWS);
	check_windows(w, WINDOWS);
}

static void refuses_to_flush_and_to_walk_at_once(void)
{
	struct sonde_window w[2];
	uint32_t *places = make_places(0, LINES);
	const struct sonde_lane good = one_lane(places, LINES, NULL, 0);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	struct sonde_lane lane = good;
	struct sonde_chase two = {
		.size = sizeof(two), .flags = SONDE_CHASE_FLUSH, .memory = memory,
		.nlanes = 2, .lanes = (uintptr_t)(struct sonde_lane[]){ good, good },
	};

	((struct sonde_lane *)(uintptr_t)two.lanes)[1].cpu = 1;
	check_int(do_ioctl(fd, SONDE_IOC_CHASE, &two), -EINVAL);
	two.nlanes = 1;
	two.flags |= SONDE_CHASE_FLUSH << 1;
	check_int(do_ioctl(fd, SONDE_IOC_CHASE, &two), -EINVAL);
	lane.skip = 1;
	check_int(flush_lane(fd, memory, &lane), -EINVAL);
	lane = one_lane(places, LINES, w, 2);
	check_int(flush_lane(fd, memory, &lane), -EINVAL);
	lane = one_lane(NULL, 0, NULL, 0);
	check_int(flush_lane(fd, memory, &lane), -EINVAL);
	lane = good;
	places[LINES - 1] = PAGES * PAGE_PLACES;
	check_int(flush_lane(fd, memory, &lane), -EINVAL);
	lane.places = 4096;
	check_int(flush_lane(fd, memory, &lane), -EFAULT);
	places[LINES - 1] = 0;
	lane = good;
	check_int(flush_lane(fd, memory, &lane), 0);
}

static void a_long_window_is_taken_in_pieces(void)
{
	struct sonde_window w[4];
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w, 4);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	uint32_t reads = 0, i;

	lane.steps = 1 << 22;
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	check_int(lane.done, 4);
	for (i = 0; i < 4; i++)
		reads += w[i].reads;
	check(reads > 8);
	check(lane.slices > 4 && lane.slices <= reads);
}

/* Larger cycles cost more where there are caches; here: that all is walked. */
static void every_place_of_the_memory_can_be_linked(void)
{
	const uint32_t n = PAGES * PAGE_PLACES;
	uint32_t *places = calloc(n, sizeof(*places)), i;
	struct sonde_window w[8];
	struct sonde_lane lane = one_lane(places, n, w, 8);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	for (i = 0; i < n; i++)
		places[i] = n - 1 - i;
	lane.skip = 3 * n + 1;
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	/* Twice in one cycle: shorter, but still one. */
	for (i = 0; i < n; i++)
		places[i] = i % 7;
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	check_int(lane.done, 8);
}

/* Windows of each were taken while the other took its own. */
static bool is_overlapping(const struct sonde_window *a,
			   const struct sonde_window *b, uint32_t n)
{
	return a[0].begin < b[n - 1].begin && b[0].begin < a[n - 1].begin;
}

/* Who emulates the CPUs may take one away for longer than all windows last. */
static void lanes_run_at_the_same_time(void)
{
	static struct sonde_window w[2][WINDOWS * 10];
	const uint32_t n = WINDOWS * 10;
	struct sonde_lane lanes[2] = {
		one_lane(make_places(0, LINES), LINES, w[0], n),
		one_lane(make_places(LINES, LINES), LINES, w[1], n),
	};
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE), tries = 0;

	need_two_cpus();
	lanes[1].cpu = 1;
	/* One has more to do before it can begin. */
	lanes[1].skip = 1 << 20;
	do {
		check(tries++ < 20);
		check_int(chase_lanes(fd, memory, lanes, 2), 0);
		check_int(lanes[0].done, n);
		check_int(lanes[1].done, n);
		check_windows(w[0], n);
		check_windows(w[1], n);
	} while (!is_overlapping(w[0], w[1], n));
}

static void only_private_memory_is_taken(void)
{
	struct sonde_window w[1];
	struct sonde_lane lane = one_lane(make_places(0, 16), 16, w, 1);
	int fd = open_node(PROBE_NODE);

	check_int(chase_lanes(fd, alloc_memory(fd, PAGES, 0), &lane, 1), -EINVAL);
	check_int(chase_lanes(fd, fd, &lane, 1), -EINVAL);
	check_int(chase_lanes(fd, open("/dev/null", O_RDWR), &lane, 1), -EINVAL);
	check_int(chase_lanes(fd, -1, &lane, 1), -EBADF);
}

/* Memory that the caller could map would be a way to send the module anywhere. */
static void private_memory_cannot_be_mapped(void)
{
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, memory, 0) ==
	      MAP_FAILED);
	check_int(errno, EACCES);
}

static void refuses_what_is_out_of_bounds(void)
{
	static struct sonde_window w[WINDOWS];
	uint32_t *places = make_places(0, 16);
	const struct sonde_lane good = one_lane(places, 16, w, 1);
	struct sonde_lane bad[] = {
		good, good, good, good, good, good, good, good, good, good,
	};
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	size_t i;

	bad[0].nplaces = 0;
	bad[1].places = 0;
	bad[2].nplaces = SONDE_CHASE_LOADS + 1;
	bad[3].nwindows = SONDE_CHASE_WINDOWS + 1;
	bad[4].steps = 0;
	bad[5].steps = SONDE_CHASE_LOADS + 1;
	bad[6].skip = SONDE_CHASE_LOADS;
	bad[7].skip = UINT64_MAX;
	bad[8].steps = UINT32_MAX, bad[8].nwindows = UINT32_MAX;
	bad[9].cpu = UINT32_MAX;
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		check_msg(chase_lanes(fd, memory, &bad[i], 1) == -EINVAL,
			  "number %zu was taken", i);
	places[7] = PAGES * PAGE_PLACES;
	bad[0] = good;
	check_int(chase_lanes(fd, memory, bad, 1), -EINVAL);
	places[7] = UINT32_MAX;
	check_int(chase_lanes(fd, memory, bad, 1), -EINVAL);
	check_int(chase_lanes(fd, memory, bad, 0), -EINVAL);
	check_int(chase_lanes(fd, memory, bad, UINT32_MAX), -EINVAL);
	check_int(w[0].ticks, 0);
}

static void lanes_are_bounded_together(void)
{
	static struct sonde_window w[1];
	struct sonde_lane lanes[2] = {
		one_lane(make_places(0, 16), 16, w, SONDE_CHASE_WINDOWS / 2 + 1),
		one_lane(make_places(16, 16), 16, w, SONDE_CHASE_WINDOWS / 2),
	};
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	need_two_cpus();
	lanes[1].cpu = 1;
	check_int(chase_lanes(fd, memory, lanes, 2), -EINVAL);
	lanes[1].cpu = 0;
	lanes[0].nwindows = 0;
	lanes[1].nwindows = 0;
	check_int(chase_lanes(fd, memory, lanes, 2), -EINVAL);	/* one CPU twice */
}

static void stays_on_the_callers_cpus(void)
{
	struct sonde_window w[1];
	struct sonde_lane lane = one_lane(make_places(0, 16), 16, w, 1);
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	need_two_cpus();
	check_int(bind_to(0), 0);
	lane.cpu = 1;
	check_int(chase_lanes(fd, memory, &lane, 1), -EPERM);
	lane.cpu = 0;
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
}

static void answers_that_cannot_be_written_are_efault(void)
{
	struct sonde_window w[4], *gone = mmap(NULL, SMALL_PAGE, PROT_NONE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sonde_lane lane = one_lane(make_places(0, 16), 16, gone, 4);
	struct sonde_chase args = {
		.size = sizeof(args), .nlanes = 1, .lanes = (uintptr_t)gone,
	};
	int fd = open_node(PROBE_NODE);

	args.memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	check_int(do_ioctl(fd, SONDE_IOC_CHASE, &args), -EFAULT);
	check_int(chase_lanes(fd, args.memory, &lane, 1), -EFAULT);
	lane = one_lane((void *)gone, 16, w, 4);
	check_int(chase_lanes(fd, args.memory, &lane, 1), -EFAULT);
}

/* ---- events ------------------------------------------------------------- */

static int chase_with_events(int fd, int memory, struct sonde_lane *lane,
			     struct sonde_event *events, uint32_t n)
{
	struct sonde_chase args = {
		.size = sizeof(args), .memory = memory, .nlanes = 1,
		.lanes = (uintptr_t)lane, .nevents = n,
		.events = (uintptr_t)events,
	};

	return do_ioctl(fd, SONDE_IOC_CHASE, &args);
}

/* Where the kernel has no TSC its clock has steps, and few windows see one. */
static void events_are_counted_for_each_window(void)
{
	struct sonde_window w[WINDOWS];
	uint64_t counts[WINDOWS][2], counted = 0;
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w, WINDOWS);
	struct sonde_event events[2] = {
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK },
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS },
	};
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	int tries = 0;
	uint32_t i;

	lane.counts = (uintptr_t)counts;
	check(get_info(fd).rights & SONDE_RIGHT_EVENTS);
	for (; !counted; tries++) {
		check_msg(tries < 10000, "no window saw time pass");
		check_int(chase_with_events(fd, memory, &lane, events, 2), 0);
		check_int(lane.done, WINDOWS);
		for (i = 0; i < WINDOWS; i++) {
			counted += counts[i][0];
			check_int(counts[i][1], 0);
		}
	}
	check(!events[0].error && !events[1].error);
}

static void an_event_that_cannot_be_counted_says_why(void)
{
	struct sonde_window w[WINDOWS];
	uint64_t counts[WINDOWS];
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w, WINDOWS);
	struct sonde_event event = { .type = PERF_TYPE_HW_CACHE, .config = 0xffffff };
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);

	lane.counts = (uintptr_t)counts;
	check_int(chase_with_events(fd, memory, &lane, &event, 1), 0);
	check(event.error > 0);
	check_int(lane.done, WINDOWS);
	check_int(counts[0], 0);
	event.error = 0;
	event.type = PERF_TYPE_TRACEPOINT;
	check_int(chase_with_events(fd, memory, &lane, &event, 1), -EINVAL);
	lane.counts = 0;
	event.type = PERF_TYPE_HARDWARE;
	check_int(chase_with_events(fd, memory, &lane, &event, 1), -EINVAL);
}

static void events_need_a_right(void)
{
	struct sonde_window w[1];
	uint64_t counts[1];
	struct sonde_lane lane = one_lane(make_places(0, 16), 16, w, 1);
	struct sonde_event event = { .type = PERF_TYPE_SOFTWARE };
	int fd, memory;

	lane.counts = (uintptr_t)counts;
	become_nobody(probe_group());
	fd = open_node(PROBE_NODE);
	memory = alloc_memory(fd, 4, SONDE_ALLOC_PRIVATE);
	check_int(chase_with_events(fd, memory, &lane, &event, 1), -EPERM);
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
}

/* ---- at the limit ------------------------------------------------------- */

static pid_t start_chase(int fd, int memory, unsigned int cpu, uint32_t steps,
			 uint32_t n)
{
	struct sonde_window *w = calloc(n, sizeof(*w));
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w, n);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	lane.cpu = cpu;
	lane.steps = steps;
	check_int(bind_to(cpu), 0);
	check_int(chase_lanes(fd, memory, &lane, 1), 0);
	check_int(lane.done, n);
	_exit(0);
}

/* Ends a process; its own deadline is the test's. */
static void kill_and_wait(pid_t pid)
{
	int status;

	check_int(kill(pid, SIGKILL), 0);
	check_int(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void wait_a_moment(void)
{
	const struct timespec t = { 0, 200000000 };

	nanosleep(&t, NULL);
}

static int users_of_module(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

static void a_kill_ends_a_call_in_the_middle(void)
{
	int before = users_of_module(), fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, NULL, 0);
	int i;

	for (i = 0; i < 5; i++) {
		pid_t pid = start_chase(fd, memory, 0, SONDE_CHASE_LOADS, 1);

		wait_a_moment();
		kill_and_wait(pid);
		/* The memory is free for the next. */
		check_int(chase_lanes(fd, memory, &lane, 1), 0);
	}
	close(memory);
	close(fd);
	check_int(users_of_module(), before);
}

static void a_kill_ends_all_lanes(void)
{
	static struct sonde_window w[2];
	struct sonde_lane lanes[2] = {
		one_lane(make_places(0, LINES), LINES, &w[0], 1),
		one_lane(make_places(LINES, LINES), LINES, &w[1], 1),
	};
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	pid_t pid;

	need_two_cpus();
	lanes[0].steps = lanes[1].steps = SONDE_CHASE_LOADS;
	lanes[1].cpu = 1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		chase_lanes(fd, memory, lanes, 2);
		_exit(0);
	}
	wait_a_moment();
	kill_and_wait(pid);
	lanes[0].steps = lanes[1].steps = STEPS;
	check_int(chase_lanes(fd, memory, lanes, 2), 0);
}

static struct watchdog {
	const char *path, *quick;
	char usual[32];
} watchdogs[] = {
	{ .path = "/proc/sys/kernel/watchdog_thresh", .quick = "5" },
	{ .path = "/proc/sys/kernel/hung_task_timeout_secs", .quick = "10" },
	{ .path = "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout", .quick = "5" },
};

static void quicken(struct watchdog *w)
{
	FILE *f = fopen(w->path, "r");

	w->usual[0] = '\0';
	if (!f)
		return;
	if (fgets(w->usual, sizeof(w->usual), f))
		write_file(w->path, w->quick);
	fclose(f);
}

/* A complaint would be in the kernel's log, which fails the run. */
static void the_largest_request_wakes_no_watchdog(void)
{
	int fd = open_node(PROBE_NODE);
	int a = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	int b = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	pid_t first, second;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(watchdogs); i++)
		quicken(&watchdogs[i]);
	first = start_chase(fd, a, 0, SONDE_CHASE_LOADS, 1);
	second = start_chase(fd, b, count_cpus() - 1,
			     SONDE_CHASE_LOADS / SONDE_CHASE_WINDOWS,
			     SONDE_CHASE_WINDOWS);
	join_child(first);
	join_child(second);
	/* What follows is about other things, and a host may be slow. */
	for (i = 0; i < ARRAY_SIZE(watchdogs); i++)
		if (watchdogs[i].usual[0])
			check(write_file(watchdogs[i].path, watchdogs[i].usual));
}

static void two_callers_take_turns_on_one_memory(void)
{
	int fd = open_node(PROBE_NODE), other = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	pid_t first, second;

	close(fd);	/* the memory does not need it */
	fd = open_node(PROBE_NODE);
	first = start_chase(fd, memory, 0, STEPS, 5000);
	second = start_chase(other, memory, count_cpus() - 1, STEPS, 5000);
	join_child(first);
	join_child(second);
}

/* ---- what disturbs ------------------------------------------------------ */

/* The kernel asks all other CPUs by NMI what they do. */
static void an_nmi_flags_the_windows_of_its_slice(void)
{
	static struct sonde_window w[20000];
	struct sonde_lane lane = one_lane(make_places(0, LINES), LINES, w,
					  ARRAY_SIZE(w));
	int fd = open_node(PROBE_NODE);
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	uint32_t flagged = 0, i, tries;
	pid_t pid;

	need_two_cpus();
	if (access("/proc/sysrq-trigger", W_OK))
		tap_skip("this kernel has no sysrq");
	fflush(stdout);
	pid = fork();
	if (!pid) {
		check_int(bind_to(0), 0);
		for (;;) {
			if (!write_file("/proc/sysrq-trigger", "l"))
				_exit(TAP_FAILED);
			wait_a_moment();
		}
	}
	check_int(bind_to(1), 0);
	lane.cpu = 1;
	lane.steps = 1024;
	for (tries = 0; tries < 30 && !flagged; tries++) {
		check_int(chase_lanes(fd, memory, &lane, 1), 0);
		for (i = 0; i < lane.done; i++)
			flagged += !!(w[i].flags & SONDE_WINDOW_NMI);
		check(flagged < lane.done);
		check(lane.disturbed >= flagged);
	}
	kill_and_wait(pid);
	printf("# %u of %u windows in try %u\n", flagged, lane.done, tries);
	check(flagged > 0);
}

static void *switch_cpu_off_and_on(void *arg)
{
	const char *path = "/sys/devices/system/cpu/cpu1/online";
	int i;

	(void)arg;
	for (i = 0; i < 6; i++)
		write_file(path, i % 2 ? "1" : "0");
	return NULL;
}

static void cpus_may_go_and_come(void)
{
	static struct sonde_window w[2][20];
	struct sonde_lane lanes[2] = {
		one_lane(make_places(0, LINES), LINES, w[0], 20),
		one_lane(make_places(LINES, LINES), LINES, w[1], 20),
	};
	int fd = open_node(PROBE_NODE), ret, again = 0, ok = 0, gone = 0;
	int memory = alloc_memory(fd, PAGES, SONDE_ALLOC_PRIVATE);
	pthread_t thread;

	need_two_cpus();
	if (access("/sys/devices/system/cpu/cpu1/online", W_OK))
		tap_skip("CPUs cannot be switched off here");
	lanes[0].steps = lanes[1].steps = 1 << 16;
	lanes[1].cpu = 1;
	check_int(pthread_create(&thread, NULL, switch_cpu_off_and_on, NULL), 0);
	while (pthread_tryjoin_np(thread, NULL)) {
		ret = chase_lanes(fd, memory, lanes, 2);
		ok += !ret;
		again += ret == -EAGAIN;
		/* When a CPU has gone it may have left the caller's mask, too. */
		gone += ret == -EINVAL || ret == -EPERM;
		check_msg(!ret || ret == -EAGAIN || ret == -EINVAL || ret == -EPERM,
			  "result %d", ret);
	}
	printf("# %d done, %d given up, %d refused\n", ok, again, gone);
	check_int(chase_lanes(fd, memory, lanes, 2), 0);
}

static const struct tap_test tests[] = {
	TAP_TEST(windows_follow_each_other),
	TAP_TEST(measures_in_the_callers_thread_if_that_is_bound),
	TAP_TEST(goes_on_along_the_last_cycle),
	TAP_TEST(flushed_lines_stay_on_their_cycle),
	TAP_TEST(refuses_to_flush_and_to_walk_at_once),
	TAP_TEST(a_long_window_is_taken_in_pieces),
	TAP_TEST(every_place_of_the_memory_can_be_linked),
	TAP_TEST(lanes_run_at_the_same_time),
	TAP_TEST(only_private_memory_is_taken),
	TAP_TEST(private_memory_cannot_be_mapped),
	TAP_TEST(refuses_what_is_out_of_bounds),
	TAP_TEST(lanes_are_bounded_together),
	TAP_TEST(stays_on_the_callers_cpus),
	TAP_TEST(answers_that_cannot_be_written_are_efault),
	TAP_TEST(events_are_counted_for_each_window),
	TAP_TEST(an_event_that_cannot_be_counted_says_why),
	TAP_TEST(events_need_a_right),
	TAP_TEST(a_kill_ends_a_call_in_the_middle),
	TAP_TEST(a_kill_ends_all_lanes),
	TAP_TEST(the_largest_request_wakes_no_watchdog),
	TAP_TEST(two_callers_take_turns_on_one_memory),
	TAP_TEST(an_nmi_flags_the_windows_of_its_slice),
	TAP_TEST(cpus_may_go_and_come),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
