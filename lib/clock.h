/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inside the library: the parts a clock is made of. Reading is a function
 * pointer everywhere but in sonde_clock_now(), so that tests can calibrate
 * counters that no machine has.
 */
#ifndef SONDE_LIB_CLOCK_H
#define SONDE_LIB_CLOCK_H

#include <stdint.h>
#include <sonde/clock.h>

/* ---- the counter of this processor, clock_counter.c ---------------------- */

/* What the kernel thinks of the counter. */
enum clock_verdict {
	CLOCK_KERNEL_SILENT,	/* it does not say */
	CLOCK_KERNEL_OFFERS,	/* it would keep time by it */
	CLOCK_KERNEL_REJECTS,
};

/**
 * struct clock_facts - what speaks for and against a counter
 * @name: "tsc", "cntvct"
 * @is_invariant: the processor promises a constant rate that never stops
 * @is_guest: a hypervisor says that it is there
 * @verdict: of the kernel
 * @claimed_hz: what firmware says, 0 if it does not
 */
struct clock_facts {
	const char *name;
	int is_invariant;
	int is_guest;
	enum clock_verdict verdict;
	double claimed_hz;
};

/* regs: eax, ebx, ecx, edx; zeros for leaves beyond the last. */
typedef void (*clock_cpuid_fn)(uint32_t leaf, uint32_t regs[4]);

/* What an x86 processor says of its counter. */
void clock_facts_of_cpuid(clock_cpuid_fn cpuid, struct clock_facts *facts);

/* What the kernel says, in the words of .../clocksource0/available_clocksource. */
enum clock_verdict clock_verdict_of(const char *available);

/* This machine's counter. */
void clock_gather_facts(struct clock_facts *facts);

/* Why the counter must not be taken; NULL if it may be. */
const char *clock_judge(const struct clock_facts *facts);

/* A guest's kernel that keeps time by other means says nothing about CPUs agreeing. */
int clock_must_compare_cpus(const struct clock_facts *facts);

uint64_t clock_read_counter(void);
uint64_t clock_read_monotonic_raw(void);

/* ---- what is measured of a counter, clock_measure.c ---------------------- */

typedef uint64_t (*clock_read_fn)(void);

/**
 * clock_calibrate() - the rate of a counter against CLOCK_MONOTONIC_RAW
 * @read: reads the counter
 * @info: .hz, .hz_low, .hz_high are filled in
 *
 * Return: 0, or -ERANGE: no constant rate fits what was read.
 */
int clock_calibrate(clock_read_fn read, struct sonde_clock_info *info);

/**
 * clock_compare_cpus() - does a counter show the same on all CPUs?
 * @read: reads the counter
 * @hz: its rate
 *
 * Visits the CPUs that the thread may run on, as many as it can in some
 * milliseconds, and goes back.
 *
 * Return: 0, or -ERANGE if a CPU is off by more than a reading can be wrong.
 */
int clock_compare_cpus(clock_read_fn read, double hz);

/* Ticks between two reads back to back, of a core at its fastest. */
double clock_measure_overhead(clock_read_fn read);

/* The step in which the counter advances; 0 if it stands still. */
uint64_t clock_measure_step(clock_read_fn read);

#endif
