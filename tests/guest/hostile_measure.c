/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls of the measuring commands, from several processes of several
 * threads on the same memory, while descriptors are closed under them, a CPU goes
 * and comes, and processes are killed at any moment. Each call must end with a
 * result that its documentation names, write nothing behind its answer, and walk
 * only where it may: the kernel would not survive the rest.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "chase.h"
#include "hostile.h"

#define CALLERS		2
#define PAGES		32
#define MEMORIES	4
#define PLACES		512
#define WINDOWS		64
#define GUARD		4
#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

/* What came of all calls; shared by all processes. */
static struct tally {
	_Atomic unsigned long calls, ok, refused;
	_Atomic unsigned long chases, clocks, prefetches;
} *tally;

static int memories[MEMORIES];

/* @results ends with 0, which is always one of them. */
static void judge(const char *what, int ret, const int *results)
{
	tally->calls++;
	if (ret)
		tally->refused++;
	else
		tally->ok++;
	for (; ret && *results; results++)
		if (ret == *results)
			return;
	if (ret)
		violated("%s: result %d", what, ret);
}

/* A value that is good, or at some bound, or anything. */
static uint64_t odd(struct rng *r, uint64_t good, uint64_t bound)
{
	switch (below(r, 200)) {
	case 0: return 0;
	case 1: return bound;
	case 2: return bound + 1;
	case 3: return draw(r);
	case 4: return UINT64_MAX >> below(r, 64);
	default: return good;
	}
}

static uint64_t odd_address(struct rng *r, void *good)
{
	static const uint64_t nowhere[] = {
		0, 8, 0xffff888000000000UL, -64UL, 1UL << 60,
	};

	return one_in(r, 60) ? nowhere[below(r, ARRAY_SIZE(nowhere))] :
			       (uintptr_t)good;
}

static void bind_to_both(void)
{
	cpu_set_t both;

	CPU_ZERO(&both);
	CPU_SET(0, &both);
	CPU_SET(1, &both);
	sched_setaffinity(0, sizeof(both), &both);
}

/* ---- CHASE -------------------------------------------------------------- */

struct chase_call {
	struct sonde_chase args;
	struct sonde_lane lanes[2];
	struct sonde_event events[2];
	uint32_t places[2][PLACES];
	struct sonde_window windows[2][WINDOWS + GUARD];
	uint64_t counts[2][2 * (WINDOWS + GUARD)];
};

static void random_lane(struct rng *r, struct chase_call *c, int i, int cpu)
{
	struct sonde_lane *lane = &c->lanes[i];
	uint32_t k;

	memset(lane, 0, sizeof(*lane));
	for (k = 0; k < PLACES; k++)
		c->places[i][k] = below(r, PAGES * PAGE_PLACES);
	if (one_in(r, 30))
		c->places[i][below(r, PLACES)] = draw(r);
	lane->cpu = odd(r, one_in(r, 20) ? below(r, 2) : (unsigned int)(cpu + i) % 2, 2);
	lane->places = one_in(r, 8) ? 0 : odd_address(r, c->places[i]);
	lane->nplaces = lane->places ? odd(r, 1 + below(r, PLACES), PLACES) : 0;
	if (lane->nplaces > PLACES)	/* what lies behind is anything */
		lane->nplaces = odd(r, 1, SONDE_CHASE_LOADS);
	lane->steps = odd(r, 1 + below(r, 3000), SONDE_CHASE_LOADS);
	lane->skip = odd(r, below(r, 10000), 100000);
	lane->nwindows = odd(r, below(r, WINDOWS), WINDOWS);
	lane->windows = odd_address(r, c->windows[i]);
	/* An answer larger than ours must not be written to memory of others. */
	if (lane->nwindows > WINDOWS)
		lane->windows = 8;
	lane->counts = odd_address(r, c->counts[i]);
	lane->done = draw(r);
	lane->longest = draw(r);
}

static void check_guard(const struct chase_call *c)
{
	const unsigned char *p;
	int i;

	for (i = 0; i < 2; i++) {
		for (p = (void *)&c->windows[i][WINDOWS];
		     p < (unsigned char *)&c->windows[i][WINDOWS + GUARD]; p++)
			if (*p != 0xa5)
				violated("written behind the windows");
		for (p = (void *)&c->counts[i][2 * WINDOWS];
		     p < (unsigned char *)&c->counts[i][2 * (WINDOWS + GUARD)]; p++)
			if (*p != 0xa5)
				violated("written behind the counts");
	}
}

static void call_chase(struct rng *r, int fd, struct chase_call *c)
{
	static const int results[] = {
		-EFAULT, -EINVAL, -EBADF, -EPERM, -ENOMEM, -EAGAIN, 0,
	};
	int ret, i, cpu = below(r, 2);

	memset(c->windows, 0xa5, sizeof(c->windows));
	memset(c->counts, 0xa5, sizeof(c->counts));
	c->args = (struct sonde_chase){
		.size = sizeof(c->args),
		.flags = one_in(r, 50) ? draw(r) :
			 one_in(r, 6) ? SONDE_CHASE_FLUSH : 0,
		.memory = one_in(r, 60) ? (int)below(r, 40) - 2 :
			  memories[below(r, MEMORIES)],
		.nlanes = odd(r, 1 + one_in(r, 3), 2),
		.lanes = odd_address(r, c->lanes),
		.nevents = one_in(r, 4) ? 1 + below(r, 2) : 0,
	};
	if (c->args.nlanes > 2)	/* what lies behind is anything */
		c->args.nlanes = UINT32_MAX - below(r, 5);
	c->args.events = c->args.nevents ? odd_address(r, c->events) : 0;
	for (i = 0; i < 2; i++) {
		c->events[i] = (struct sonde_event){
			.type = odd(r, PERF_TYPE_SOFTWARE, PERF_TYPE_BREAKPOINT),
			.config = below(r, 8),
		};
		random_lane(r, c, i, cpu);
		if (c->args.flags == SONDE_CHASE_FLUSH && !one_in(r, 8))
			c->lanes[i].nwindows = c->lanes[i].skip = 0;
	}
	if (c->args.nlanes == 1 && !one_in(r, 4))
		bind_to(cpu);
	else
		bind_to_both();
	ret = do_ioctl(fd, SONDE_IOC_CHASE, &c->args);
	tally->chases += !ret;
	check_guard(c);
	judge("CHASE", ret, results);
	for (i = 0; !ret && i < (int)c->args.nlanes; i++)
		if (c->lanes[i].done != c->lanes[i].nwindows)
			violated("CHASE: %u windows of %u", c->lanes[i].done,
				 c->lanes[i].nwindows);
}

/* ---- CLOCK and PREFETCH -------------------------------------------------- */

static void call_clock(struct rng *r, int fd)
{
	static const int results[] = {
		-EFAULT, -EINVAL, -EPERM, -ENOMEM, -EAGAIN, -EOPNOTSUPP, 0,
	};
	struct sonde_clock_cpu cpus[2] = { { .cpu = odd(r, 1, 2) } };
	struct sonde_clocks args = {
		.size = sizeof(args), .flags = one_in(r, 50),
		.reference = odd(r, 0, 2), .ncpus = odd(r, below(r, 2), 2),
	};
	int ret;

	args.cpus = args.ncpus ? odd_address(r, cpus) : 0;

	if (one_in(r, 3))
		bind_to(0);
	else
		bind_to_both();
	ret = do_ioctl(fd, SONDE_IOC_CLOCK, &args);
	tally->clocks += !ret;
	judge("CLOCK", ret, results);
	if (!ret && args.done != args.ncpus)
		violated("CLOCK: %u of %u CPUs", args.done, args.ncpus);
}

static void call_prefetch(struct rng *r, int fd)
{
	static const int results[] = {
		-EFAULT, -EINVAL, -EPERM, -EOPNOTSUPP, -EBUSY, 0,
	};
	struct sonde_prefetch args = {
		.size = sizeof(args), .flags = below(r, 3), .cpu = odd(r, below(r, 2), 2),
		.off = below(r, 32), .reserved = one_in(r, 50),
	};
	int ret = do_ioctl(fd, SONDE_IOC_PREFETCH, &args);

	tally->prefetches += !ret;
	judge("PREFETCH", ret, results);
}

/* ---- threads and processes ----------------------------------------------- */

static void *run_caller(void *arg)
{
	struct chase_call *c = calloc(1, sizeof(*c));
	struct rng r = { (uintptr_t)arg };
	int fd = open_node(PROBE_NODE);

	for (;;) {
		switch (below(&r, 40)) {
		case 0: call_clock(&r, fd); break;
		case 1: call_prefetch(&r, fd); break;
		case 2:
			/* With all that hangs off it. */
			close(fd);
			fd = open_node(PROBE_NODE);
			break;
		default: call_chase(&r, fd, c);
		}
	}
	return NULL;
}

/* Replaces memory under those who walk in it. */
static void run_closer(struct rng *r)
{
	int probe = open_node(PROBE_NODE), i, fd;

	for (;;) {
		i = below(r, MEMORIES);
		fd = alloc_memory(probe, PAGES, one_in(r, 5) ? 0 : SONDE_ALLOC_PRIVATE);
		dup3(fd, memories[i], O_CLOEXEC);
		close(fd);
		usleep(below(r, 20000));
	}
}

static void run_worker(uint64_t seed, bool root)
{
	struct rng r = { seed };
	pthread_t thread;
	int i, probe;

	/* Old kernels give 64 KiB. */
	setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){ 8 << 20, 8 << 20 });
	if (!root)
		become_nobody(probe_group());
	probe = open_node(PROBE_NODE);
	for (i = 0; i < MEMORIES; i++)
		memories[i] = alloc_memory(probe, PAGES, SONDE_ALLOC_PRIVATE);
	for (i = 0; i < CALLERS; i++)
		check_int(pthread_create(&thread, NULL, run_caller,
					 (void *)(draw(&r) | 1)), 0);
	run_closer(&r);
}

/* A CPU goes and comes. */
static void toggle_cpu(struct rng *r)
{
	if (one_in(r, 3)) {
		write_file(ONLINE, "0");
		write_file(ONLINE, "1");
	}
}

static void print_counts(void)
{
	printf("# %lu calls, %lu refused; %lu chases, %lu clocks, %lu prefetches\n",
	       tally->calls, tally->refused, tally->chases, tally->clocks,
	       tally->prefetches);
}

static bool saw_all(void)
{
	return tally->chases && tally->clocks && tally->refused;
}

int main(int argc, char **argv)
{
	static const struct hostile test = {
		.name = "hostile_measure", .seconds = 20, .workers = 3,
		.work = run_worker, .between = toggle_cpu,
		.print_counts = print_counts, .saw_all = saw_all,
	};

	tally = share_memory(sizeof(*tally));
	return hostile_main(argc, argv, &test);
}
