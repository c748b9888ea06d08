/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls of the measuring commands, from several processes of several
 * threads on the same memory, while descriptors are closed under them, a CPU goes
 * and comes, and processes are killed at any moment. Each call must end with a
 * result that its documentation names, write nothing behind its answer, and walk
 * only where it may: the kernel would not survive the rest.
 *
 * hostile_measure [--seconds N] [--seed N]; SONDE_HOSTILE_SECONDS is another way.
 */
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "chase.h"

#define WORKERS		3
#define CALLERS		2
#define PAGES		32
#define MEMORIES	4
#define PLACES		512
#define WINDOWS		64
#define GUARD		4
#define DEFAULT_SECONDS	20
#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

/* What came of all calls; shared by all processes. */
static struct tally {
	_Atomic unsigned long calls, ok, refused;
	_Atomic unsigned long chases, clocks, prefetches;
	_Atomic int failed;
	char why[200];
} *tally;

static int memories[MEMORIES];

struct rng {
	uint64_t s;
};

static uint64_t draw(struct rng *r)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return r->s * 2685821657736338717ULL;
}

static uint64_t below(struct rng *r, uint64_t n)
{
	return (draw(r) >> 11) % n;
}

static bool one_in(struct rng *r, uint64_t n)
{
	return !below(r, n);
}

__attribute__((format(printf, 1, 2), noreturn))
static void violated(const char *fmt, ...)
{
	va_list ap;
	int none = 0;

	va_start(ap, fmt);
	if (atomic_compare_exchange_strong(&tally->failed, &none, 1))
		vsnprintf(tally->why, sizeof(tally->why), fmt, ap);
	va_end(ap);
	_exit(TAP_FAILED);
}

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
		.flags = one_in(r, 50) ? draw(r) : 0,
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

__attribute__((noreturn))
static void run_worker(uint64_t seed, bool root)
{
	struct rng r = { seed };
	pthread_t thread;
	int i, probe;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
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
	_exit(TAP_FAILED);
}

static pid_t start_worker(struct rng *r, int i)
{
	uint64_t seed = draw(r) | 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		run_worker(seed, i % 2);
	check(pid > 0);
	return pid;
}

/* Ends a worker; false if it had ended by itself or would not end. */
static bool kill_worker(pid_t pid)
{
	const struct timespec tick = { 0, 10000000 };
	int status, i;

	kill(pid, SIGKILL);
	for (i = 0; i < 3000; i++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
		nanosleep(&tick, NULL);
	}
	printf("# a worker does not die\n");
	return false;
}

static bool run_for(unsigned int seconds, uint64_t seed)
{
	struct rng r = { seed };
	time_t end = time(NULL) + seconds;
	pid_t pid[WORKERS];
	bool ok = true;
	int i;

	for (i = 0; i < WORKERS; i++)
		pid[i] = start_worker(&r, i);
	while (ok && !tally->failed && time(NULL) < end) {
		struct timespec t = { 0, 50000000L + below(&r, 900000000L) };

		nanosleep(&t, NULL);
		if (one_in(&r, 3)) {
			write_file(ONLINE, "0");
			write_file(ONLINE, "1");
		}
		i = below(&r, WORKERS);
		ok = kill_worker(pid[i]);
		pid[i] = start_worker(&r, i);
	}
	write_file(ONLINE, "1");
	for (i = 0; i < WORKERS; i++)
		ok &= kill_worker(pid[i]);
	return ok;
}

static int users_of_module(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	if (f && fscanf(f, "%d", &n) != 1)
		n = -1;
	if (f)
		fclose(f);
	return n;
}

static bool report(int n, bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", n, name);
	return ok;
}

static int run(unsigned int seconds, uint64_t seed)
{
	int users = users_of_module();
	bool alive, ok;

	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED)
		return EXIT_FAILURE;
	printf("1..4\n# %u s, --seed %llu\n", seconds, (unsigned long long)seed);
	alive = run_for(seconds, seed);
	printf("# %lu calls, %lu refused; %lu chases, %lu clocks, %lu prefetches\n",
	       tally->calls, tally->refused, tally->chases, tally->clocks,
	       tally->prefetches);
	if (tally->failed)
		printf("# %s\n", tally->why);
	ok = report(1, !tally->failed, "every_call_ends_as_documented");
	ok &= report(2, alive, "workers_die_when_killed_and_only_then");
	ok &= report(3, tally->chases && tally->clocks && tally->refused,
		     "calls_were_served_and_refused");
	ok &= report(4, users_of_module() == users, "no_file_is_left_open");
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static unsigned long long number(const char *what, const char *text)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || *end || end == text || *text == '-' || !n) {
		fprintf(stderr, "hostile_measure: %s needs a positive number, not '%s'\n",
			what, text);
		exit(2);
	}
	return n;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'S' },
		{ NULL, 0, NULL, 0 },
	};
	const char *env = getenv("SONDE_HOSTILE_SECONDS");
	unsigned int seconds = DEFAULT_SECONDS;
	struct timespec now;
	uint64_t seed;
	int opt;

	clock_gettime(CLOCK_REALTIME, &now);
	seed = (uint64_t)now.tv_sec * 1000003 + now.tv_nsec;
	if (env)
		seconds = number("SONDE_HOSTILE_SECONDS", env);
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (opt == 's')
			seconds = number("--seconds", optarg);
		else if (opt == 'S')
			seed = number("--seed", optarg);
		else
			return 2;
	}
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	keep_events_open();
	return run(seconds, seed);
}
