/* SPDX-License-Identifier: (GPL-2.0-only OR LGPL-2.1-or-later) */
/*
 * The measuring core: the loops that are timed and the read of the clock, one
 * text for the module and the library. A window is
 *
 *	chain | core_ticks() | core_walk() | core_ticks()
 *
 * Inside its interval: the dependent loads, one jump for every CORE_UNROLL of
 * them, and one serialised read of the clock, whose cost is subtracted by whoever
 * reports. Not inside: the chain, the bookkeeping.
 *
 * The loops are assembly on the processors that are known, so that neither a
 * compiler, whatever its options, nor a sanitizer gets between two loads.
 */
#ifndef SONDE_CORE_H
#define SONDE_CORE_H

/* Loads between two jumps; what is timed is a multiple of it. */
#define CORE_UNROLL		16
/* Core cycles that core_chain() takes. */
#define CORE_CHAIN_CYCLES	1024

#define CORE_REP1(x)	x
#define CORE_REP4(x)	x x x x
#define CORE_REP16(x)	CORE_REP4(CORE_REP4(x))

#if defined(__x86_64__)
#define CORE_LOADS(rep, at) \
	__asm__ volatile(rep("mov (%0), %0\n\t") : "+r"(at) : : "memory")
#elif defined(__aarch64__)
#define CORE_LOADS(rep, at) \
	__asm__ volatile(rep("ldr %0, [%0]\n\t") : "+r"(at) : : "memory")
#else
#define CORE_LOADS(rep, at)	rep((at) = *(void *volatile *)(at);)
#endif

/*
 * @steps loads from @at on, each of the address that the one before loaded.
 * Return: where they end.
 */
static inline void *core_walk(void *at, unsigned long long steps)
{
	for (; steps >= CORE_UNROLL; steps -= CORE_UNROLL)
		CORE_LOADS(CORE_REP16, at);
	for (; steps; steps--)
		CORE_LOADS(CORE_REP1, at);
	return at;
}

/*
 * The line of @at leaves all caches of all CPUs; core_flushed() waits until all have.
 * @is_weak: the processor has CLFLUSHOPT, which does not wait for the flush before.
 */
#if defined(__x86_64__)
#define CORE_FLUSHES	1
static inline void core_flush(const void *at, int is_weak)
{
	if (is_weak)
		__asm__ volatile("clflushopt (%0)" : : "r"(at) : "memory");
	else
		__asm__ volatile("clflush (%0)" : : "r"(at) : "memory");
}

static inline void core_flushed(void)
{
	__asm__ volatile("mfence" : : : "memory");
}
#elif defined(__aarch64__)
#define CORE_FLUSHES	1
static inline void core_flush(const void *at, int is_weak)
{
	(void)is_weak;
	__asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
}

static inline void core_flushed(void)
{
	__asm__ volatile("dsb ish" : : : "memory");
}
#else
#define CORE_FLUSHES	0
static inline void core_flush(const void *at, int is_weak)
{
	(void)at;
	(void)is_weak;
}

static inline void core_flushed(void)
{
}
#endif

/*
 * Dependent additions, a core cycle each on every processor this runs on. Of a
 * register and not of a constant: some cores fold constants away at renaming.
 */
static inline void core_chain(void)
{
	unsigned long a = 1, b = 3;
	unsigned int i;

	for (i = 0; i < CORE_CHAIN_CYCLES; i += CORE_UNROLL) {
#if defined(__x86_64__)
		__asm__ volatile(CORE_REP16("add %1, %0\n\t")
				 : "+r"(a) : "r"(b) : "cc");
#elif defined(__aarch64__)
		__asm__ volatile(CORE_REP16("add %0, %0, %1\n\t")
				 : "+r"(a) : "r"(b));
#else
		CORE_REP16(a += b; __asm__ volatile("" : "+r"(a));)
#endif
	}
}

/*
 * The processor's counter. Loads before it have their values, what follows has
 * not begun; stores are not waited for.
 *
 * x86: the first fence lets no read happen before the loads ahead of it have
 * their values (Intel SDM 4.3 "RDTSC"; AMD APM 3: on AMD it is so because Linux
 * makes LFENCE dispatch-serialising). The second holds back what follows. RDTSCP
 * would stand for the first fence only.
 *
 * arm64: ISB alone orders the read against instructions but not against loads
 * under way, so DSB ISHLD comes first.
 */
#if defined(__x86_64__)
static inline unsigned long long core_ticks(void)
{
	unsigned int low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence"
			 : "=a"(low), "=d"(high) : : "memory");
	return (unsigned long long)high << 32 | low;
}
#elif defined(__aarch64__)
static inline unsigned long long core_ticks(void)
{
	unsigned long long ticks;

	__asm__ volatile("dsb ishld\n\tisb\n\tmrs %0, cntvct_el0\n\tisb"
			 : "=r"(ticks) : : "memory");
	return ticks;
}
#endif

#endif
