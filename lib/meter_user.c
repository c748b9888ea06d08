// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The machine below us, measured from user space.
 *
 * Inside a window's interval: `steps` dependent loads, one jump for every
 * METER_UNROLL of them, and one serialised read of the clock, whose median cost
 * is subtracted. Not inside: the chain, the bookkeeping, the call itself.
 *
 * The chain is 1024 dependent register additions, a core cycle each on every
 * processor this runs on. It adds a register and not a constant: some cores
 * fold additions of constants away at renaming.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "free_memory.h"
#include "meter.h"

#define CHAIN_ROUNDS	64
#define CHAIN_UNROLL	16
/* A pause this long is not the walk's own: a load takes a tenth of it. */
#define GAP_S		1e-6

struct meter_user {
	struct meter meter;
	const struct sonde_clock *clk;
	cpu_set_t before;	/* where the thread might run until open */
	int nice;		/* and how nicely */
	char *pool;
	size_t pool_bytes;
	void *at;		/* where the walk stands */
	uint64_t overhead;	/* ticks of a clock read */
};

#define REP4(x)  x x x x
#define REP16(x) REP4(REP4(x))

/* Assembly, so that neither -O0 nor a sanitizer gets between two loads. */
static void *walk(void *at, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i += METER_UNROLL) {
#if defined(__x86_64__)
		__asm__ volatile(REP16("mov (%0), %0\n\t") : "+r"(at) : : "memory");
#elif defined(__aarch64__)
		__asm__ volatile(REP16("ldr %0, [%0]\n\t") : "+r"(at) : : "memory");
#else
		REP16(at = *(void *volatile *)at;)
#endif
	}
	return at;
}

static void chain(void)
{
	unsigned long a = 1, b = 3;

	for (unsigned int i = 0; i < CHAIN_ROUNDS; i++) {
#if defined(__x86_64__)
		__asm__ volatile(REP16("add %1, %0\n\t") : "+r"(a) : "r"(b));
#elif defined(__aarch64__)
		__asm__ volatile(REP16("add %0, %0, %1\n\t") : "+r"(a) : "r"(b));
#else
		REP16(a += b; __asm__ volatile("" : "+r"(a));)
#endif
	}
}

static struct meter_user *to_user(struct meter *m)
{
	return (struct meter_user *)(void *)m;
}

static void drop_pages(struct meter_user *u)
{
	if (u->pool)
		munmap(u->pool, u->pool_bytes);
	u->pool = NULL;
}

/*
 * Base pages on purpose: then a page is a unit that the operating system placed
 * by itself, and the cost of translation is the same at every size.
 */
static int user_pages(struct meter *m, size_t chunks)
{
	struct meter_user *u = to_user(m);
	size_t bytes = chunks * METER_CHUNK;
	char *pool;

	drop_pages(u);
	pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool == MAP_FAILED)
		return -ENOMEM;
	madvise(pool, bytes, MADV_NOHUGEPAGE);
	/* Touched with something: equal pages may be merged, zero pages shared. */
	for (size_t i = 0; i < bytes; i += METER_CHUNK)
		*(uint64_t *)(void *)(pool + i) = i + 1;
	u->pool = pool;
	u->pool_bytes = bytes;
	return 0;
}

static void user_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct meter_user *u = to_user(m);
	char *first = u->pool + (size_t)places[0] * METER_PLACE;
	char *next;

	for (size_t i = 0; i < n; i++) {
		next = i + 1 < n ? u->pool + (size_t)places[i + 1] * METER_PLACE : first;
		*(void **)(void *)(u->pool + (size_t)places[i] * METER_PLACE) = next;
	}
	u->at = first;
}

static uint64_t timed(struct meter_user *u, uint64_t start)
{
	uint64_t ticks = sonde_clock_now(u->clk) - start;

	return ticks > u->overhead ? ticks - u->overhead : 1;
}

static void user_chase(struct meter *m, uint64_t skip, unsigned int steps,
		       struct meter_window *out, size_t nout)
{
	struct meter_user *u = to_user(m);
	void *at = walk(u->at, skip);
	uint64_t start;

	for (size_t i = 0; i < nout; i++) {
		start = sonde_clock_now(u->clk);
		chain();
		out[i].chain = timed(u, start);

		start = sonde_clock_now(u->clk);
		at = walk(at, steps);
		out[i].ticks = timed(u, start);
		out[i].begin = start;
	}
	u->at = at;
}

static double user_now(struct meter *m)
{
	return (double)sonde_clock_now(to_user(m)->clk) * m->tick_ns / 1e9;
}

static double user_gaps(struct meter *m, double seconds)
{
	double start = user_now(m), last = start, now;
	unsigned int gaps = 0;

	do {
		now = user_now(m);
		gaps += now - last > GAP_S;
		last = now;
	} while (now - start < seconds);
	return gaps / (now - start);
}

static void user_close(struct meter *m)
{
	struct meter_user *u = to_user(m);

	drop_pages(u);
	sched_setaffinity(0, sizeof(u->before), &u->before);
	setpriority(PRIO_PROCESS, 0, u->nice);
	free(u);
}

static const struct meter_ops user_ops = {
	.pages = user_pages,
	.link = user_link,
	.chase = user_chase,
	.gaps = user_gaps,
	.now = user_now,
	.close = user_close,
};

/* CPUID 1, ECX bit 31: every hypervisor sets it, no processor does. */
static int is_guest(void)
{
#if defined(__x86_64__)
	unsigned int a, b, c = 0, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
#else
	return access("/sys/hypervisor/type", F_OK) == 0;
#endif
}

int meter_user_open(struct meter **m, const struct sonde_clock *clk, unsigned int cpu)
{
	struct meter_user *u;
	cpu_set_t one;
	int err;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->meter = (struct meter){
		.ops = &user_ops,
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
		/* Half: a measurement must not push others out. */
		.max_bytes = free_memory("") / 2,
		.chain_cycles = CHAIN_ROUNDS * CHAIN_UNROLL,
		.tick_ns = sonde_clock_ns(clk, 1),
		.is_guest = is_guest(),
	};
	u->clk = clk;
	u->overhead = (uint64_t)sonde_clock_info(clk)->overhead_ticks;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_getaffinity(0, sizeof(u->before), &u->before) ||
	    sched_setaffinity(0, sizeof(one), &one)) {
		/* EINVAL: offline, or outside the cpuset. */
		err = errno == EINVAL ? -EPERM : -errno;
		free(u);
		return err;
	}
	/*
	 * Who shares the CPU also empties its caches: ask for most of it, which
	 * only root gets. Not real time, which would lock others out.
	 */
	u->nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, -20);
	*m = &u->meter;
	return 0;
}
