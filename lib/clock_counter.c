// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * clock_counter - the counter of this processor, and whether it is a clock
 *
 * How it is read, and what is fenced there, is in core.h.
 */
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

#include "../kmod/core.h"
#include "clock.h"

#define AVAILABLE_PATH "/sys/devices/system/clocksource/clocksource0/available_clocksource"

/* CPUID leaves: Intel SDM 2A "CPUID", AMD APM 3 E.4.6. */
#define LEAF_VERSION	0x1
#define LEAF_TSC	0x15
#define LEAF_FREQUENCY	0x16
#define LEAF_POWER	0x80000007
/* From VMware, adopted by KVM, Xen and bhyve: kHz of the guest's counter in EAX. */
#define LEAF_GUEST	0x40000000
#define LEAF_GUEST_TSC	0x40000010

static double claim_of_cpuid(clock_cpuid_fn cpuid, int is_guest)
{
	uint32_t r[4], base[4];

	/* First: leaf 15h may be the host's, and the counter scaled for the guest. */
	if (is_guest) {
		cpuid(LEAF_GUEST, r);
		if (r[0] >= LEAF_GUEST_TSC && r[0] < LEAF_GUEST + 0x10000) {
			cpuid(LEAF_GUEST_TSC, r);
			if (r[0])
				return r[0] * 1e3;
		}
	}
	cpuid(LEAF_TSC, r);
	if (!r[0] || !r[1])
		return 0;
	if (r[2])
		return (double)r[2] * r[1] / r[0];
	/* The crystal is not told: the counter runs at the base frequency. */
	cpuid(LEAF_FREQUENCY, base);
	return (base[0] & 0xffff) * 1e6;
}

void clock_facts_of_cpuid(clock_cpuid_fn cpuid, struct clock_facts *facts)
{
	uint32_t r[4];

	facts->name = "tsc";
	cpuid(LEAF_POWER, r);
	facts->is_invariant = r[3] >> 8 & 1;
	cpuid(LEAF_VERSION, r);
	facts->is_guest = r[2] >> 31 & 1;
	facts->claimed_hz = claim_of_cpuid(cpuid, facts->is_guest);
}

enum clock_verdict clock_verdict_of(const char *available)
{
	static const char tsc[] = "tsc";
	size_t n = sizeof(tsc) - 1;

	if (!*available)
		return CLOCK_KERNEL_SILENT;
	for (const char *at = available; (at = strstr(at, tsc)); at += n)
		if ((at == available || at[-1] == ' ') && (!at[n] || at[n] == ' ' || at[n] == '\n'))
			return CLOCK_KERNEL_OFFERS;
	return CLOCK_KERNEL_REJECTS;
}

const char *clock_judge(const struct clock_facts *facts)
{
	if (!facts->name)
		return "no counter of this processor is known to the library";
	if (!facts->is_invariant)
		return "the processor does not promise that its counter runs at a constant rate "
		       "(CPUID 80000007h, EDX bit 8)";
	if (facts->verdict == CLOCK_KERNEL_REJECTS && !facts->is_guest)
		return "the kernel has found the counter unstable (" AVAILABLE_PATH
		       " does not list tsc)";
	return NULL;
}

int clock_must_compare_cpus(const struct clock_facts *facts)
{
	return facts->verdict != CLOCK_KERNEL_OFFERS;
}

#ifdef __x86_64__
static void cpuid_here(uint32_t leaf, uint32_t regs[4])
{
	memset(regs, 0, 4 * sizeof(*regs));
	/* Leaves of hypervisors are beyond the last that the processor names. */
	if ((leaf & 0xffff0000) == LEAF_GUEST)
		__cpuid_count(leaf, 0, regs[0], regs[1], regs[2], regs[3]);
	else
		__get_cpuid_count(leaf, 0, &regs[0], &regs[1], &regs[2], &regs[3]);
}

static enum clock_verdict ask_kernel(void)
{
	char text[256];
	ssize_t n;
	int fd = open(AVAILABLE_PATH, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return CLOCK_KERNEL_SILENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return clock_verdict_of(text);
}

void clock_gather_facts(struct clock_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
	clock_facts_of_cpuid(cpuid_here, facts);
	facts->verdict = ask_kernel();
}

uint64_t clock_read_counter(void)
{
	return core_ticks();
}

#elif defined(__aarch64__)
/* The architecture promises the generic timer's rate; Linux keeps time by it. */
void clock_gather_facts(struct clock_facts *facts)
{
	uint64_t hz;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	*facts = (struct clock_facts){
		.name = "cntvct",
		.is_invariant = 1,
		.verdict = CLOCK_KERNEL_OFFERS,
		.claimed_hz = (double)hz,
	};
}

uint64_t clock_read_counter(void)
{
	return core_ticks();
}

#else
void clock_gather_facts(struct clock_facts *facts)
{
	memset(facts, 0, sizeof(*facts));
}

uint64_t clock_read_counter(void)
{
	return clock_read_monotonic_raw();
}
#endif

static void wait_for_loads(void)
{
#ifdef __x86_64__
	__asm__ volatile("lfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb ishld\n\tisb" : : : "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* The vDSO fences its own read in front only, a system call not at all. */
uint64_t clock_read_monotonic_raw(void)
{
	struct timespec now;

	wait_for_loads();
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	wait_for_loads();
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
