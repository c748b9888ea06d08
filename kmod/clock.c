// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_CLOCK: what the kernel knows of the counter, what a read of it costs,
 * in which steps it goes, and whether that of one CPU is that of another.
 *
 * Two CPUs are compared by messages. The one that asks reads its counter, writes
 * a number, waits until the other has written it back, and reads again; the other
 * reads its own in between. Each read is fenced, so the three happened in that
 * order: other - second <= offset <= other - first. Over many rounds the offset
 * lies in the intersection of all these intervals, whatever either way took.
 */
#include <linux/build_bug.h>
#include <linux/delay.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

#include <asm/cpufeature.h>
#include <asm/processor.h>
#include <asm/tsc.h>

#include "sonde.h"
#include "core.h"
#include "measure.h"
#include "trace.h"

static_assert(sizeof(struct sonde_clock_cpu) == 40);
static_assert(sizeof(struct sonde_clocks) == 64);
static_assert(sizeof(struct sonde_clocks) >= SONDE_CLOCK_SIZE_VER0);

#define READS		127	/* of which the median is taken */
#define GROUPS		31	/* of differences: see measure_step() */
#define GROUP		16
#define ROUNDS		500	/* messages there and back */
#define MEET_US		2000000	/* without an answer, until it is given up */
#define ANSWER_US	50	/* for an answer, interrupts off */
#define WATCH_MS	100	/* from the first watching to the second */

/* ---- the counter alone -------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

static u64 measure_cost(void)
{
	u64 ticks[READS], before, after;
	unsigned long irq;
	int i;

	for (i = 0; i < READS; i++) {
		local_irq_save(irq);
		before = core_ticks();
		after = core_ticks();
		local_irq_restore(irq);
		ticks[i] = after - before;
	}
	sort(ticks, READS, sizeof(*ticks), compare, NULL);
	return ticks[READS / 2];
}

static u64 find_gcd(u64 a, u64 b)
{
	u64 rest;

	while (b) {
		div64_u64_rem(a, b, &rest);
		a = b;
		b = rest;
	}
	return a;
}

/* The counter's advance over @work steps of a loop. */
static u64 advance(unsigned int work)
{
	u64 before = core_ticks();

	for (; work; work--)
		barrier();
	return core_ticks() - before;
}

/*
 * The greatest common divisor of differences of many lengths. One that is no
 * multiple, as where a hypervisor adjusts the counter, would spoil it, so it is
 * taken of groups, and the median group's counts.
 */
static u64 measure_step(void)
{
	u64 steps[GROUPS] = { 0 };
	unsigned int i;

	for (i = 0; i < GROUPS * GROUP; i++)
		steps[i / GROUP] = find_gcd(steps[i / GROUP],
					    advance(i * 7 % 61));
	sort(steps, GROUPS, sizeof(*steps), compare, NULL);
	return steps[GROUPS / 2];
}

/*
 * Leaf 40000010h first: under a hypervisor leaf 15h may be the host's, and the
 * counter scaled for the guest. As the library does.
 */
static u64 read_cpuid_hz(void)
{
	u32 eax, ebx, ecx, edx;

	if (boot_cpu_has(X86_FEATURE_HYPERVISOR)) {
		cpuid(0x40000000, &eax, &ebx, &ecx, &edx);
		if (eax >= 0x40000010 && eax < 0x40010000)
			return cpuid_eax(0x40000010) * 1000ULL;
	}
	if (boot_cpu_data.cpuid_level < 0x15)
		return 0;
	cpuid(0x15, &eax, &ebx, &ecx, &edx);
	return eax && ebx && ecx ? div_u64((u64)ecx * ebx, eax) : 0;
}

static void describe_counter(struct sonde_clocks *args)
{
	args->flags = 0;
	if (boot_cpu_has(X86_FEATURE_CONSTANT_TSC) &&
	    boot_cpu_has(X86_FEATURE_NONSTOP_TSC))
		args->flags |= SONDE_CLOCK_INVARIANT;
	if (!check_tsc_unstable())
		args->flags |= SONDE_CLOCK_STABLE;
	if (boot_cpu_has(X86_FEATURE_TSC_KNOWN_FREQ))
		args->flags |= SONDE_CLOCK_TOLD;
	args->counter = SONDE_COUNTER_TSC;
	args->hz = (u64)tsc_khz * 1000;
	args->cpuid_hz = read_cpuid_hz();
	args->cost = measure_cost();
	args->step = measure_step();
}

/* ---- one CPU against another -------------------------------------------- */

/**
 * struct duel - two CPUs that send each other messages
 * @ping: the number that the reference has sent; written by it alone
 * @pong: the number that came back; written by the other alone
 * @ticks: the other's counter, written before @pong
 * @low: the offset is at least that
 * @high: and at most that
 * @rounds: answered messages
 */
struct duel {
	u32 ping ____cacheline_aligned;
	u32 pong ____cacheline_aligned;
	u64 ticks;
	s64 low ____cacheline_aligned;
	s64 high;
	u32 rounds;
};

/*
 * Waits until *@at is @number (@is true) or something else (false), interrupts
 * off, so not for long.
 */
static bool wait_for(const u32 *at, u32 number, bool is, u64 patience)
{
	u64 begin = rdtsc();

	/* Pairs with the release of whoever writes the number. */
	while ((smp_load_acquire(at) == number) != is) {
		if (rdtsc() - begin > patience)
			return false;
		cpu_relax();
	}
	return true;
}

/* One message; false if no answer came in time. */
static bool send_message(struct duel *d, u32 number, u64 patience)
{
	u64 first, second, other;
	unsigned long irq;
	bool came;

	local_irq_save(irq);
	first = core_ticks();
	smp_store_release(&d->ping, number);
	came = wait_for(&d->pong, number, true, patience);
	second = core_ticks();
	other = d->ticks;
	local_irq_restore(irq);
	if (!came)
		return false;
	d->low = max_t(s64, d->low, other - second);
	d->high = min_t(s64, d->high, other - first);
	d->rounds++;
	return true;
}

/* Each number is used once: a late answer is not taken for that of another. */
static void send_messages(struct sonde_meeting *m, struct duel *d)
{
	const u64 patience = sonde_us_to_ticks(ANSWER_US);
	u64 answered = core_ticks();
	u32 number = 0;

	while (d->rounds < ROUNDS && !sonde_meeting_err(m)) {
		if (send_message(d, ++number, patience))
			answered = core_ticks();
		else if (core_ticks() - answered > sonde_us_to_ticks(MEET_US))
			sonde_meeting_give_up(m, -EAGAIN);
		cond_resched();
	}
	sonde_meeting_count(&m->finished);
}

static u32 answer_message(struct duel *d, u32 last, u64 patience)
{
	unsigned long irq;

	local_irq_save(irq);
	if (wait_for(&d->ping, last, false, patience)) {
		last = READ_ONCE(d->ping);
		d->ticks = core_ticks();
		smp_store_release(&d->pong, last);
	}
	local_irq_restore(irq);
	return last;
}

static void answer_messages(struct sonde_meeting *m, struct duel *d)
{
	const u64 patience = sonde_us_to_ticks(ANSWER_US);
	u32 last = 0;

	while (!atomic_read(&m->finished) && !sonde_meeting_err(m)) {
		last = answer_message(d, last, patience);
		cond_resched();
	}
}

static void fight(struct sonde_meeting *m, unsigned int i, void *ctx)
{
	if (i)
		answer_messages(m, ctx);
	else
		send_messages(m, ctx);
}

static int compare_cpus(struct duel *d, unsigned int reference, unsigned int cpu)
{
	const unsigned int cpus[] = { reference, cpu };
	struct sonde_meeting m = { .n = 2, .work = fight, .ctx = d };

	d->ping = 0;
	d->pong = 0;
	d->low = S64_MIN;
	d->high = S64_MAX;
	d->rounds = 0;
	return sonde_meeting_run(&m, cpus);
}

/* ---- all CPUs ----------------------------------------------------------- */

/**
 * struct watching - a CPU's offset at a time
 * @when: the reference's counter
 * @low: at least
 * @high: at most
 */
struct watching {
	u64 when;
	s64 low;
	s64 high;
};

static int watch(struct duel *d, const struct sonde_clocks *args,
		 struct sonde_clock_cpu *cpu, struct watching *out)
{
	int ret = compare_cpus(d, args->reference, cpu->cpu);

	if (ret)
		return ret;
	out->when = core_ticks();
	out->low = d->low;
	out->high = d->high;
	cpu->rounds += d->rounds;
	return 0;
}

/* In ticks per 10^9; differences and times are far from overflowing. */
static s64 per_billion(s64 ticks, u64 interval)
{
	return interval ? div64_s64(ticks * 1000000000LL, interval) : 0;
}

static void conclude(struct sonde_clock_cpu *cpu, const struct watching *first,
		     const struct watching *second)
{
	const u64 interval = second->when - first->when;
	s64 least = second->low - first->high, most = second->high - first->low;

	cpu->offset = first->low + (first->high - first->low) / 2;
	/* A drift within the watching can make the bounds cross. */
	cpu->error = abs(first->high - first->low) / 2 + 1;
	cpu->drift = per_billion(least + (most - least) / 2, interval);
	cpu->drift_error = per_billion(abs(most - least) / 2, interval) + 1;
}

static int watch_all(struct sonde_clocks *args, struct sonde_clock_cpu *cpus,
		     struct watching *seen, struct duel *d)
{
	struct watching second;
	u32 i;
	int ret;

	for (i = 0; i < args->ncpus; i++) {
		ret = watch(d, args, &cpus[i], &seen[i]);
		if (ret)
			return ret;
	}
	/* Woken by any signal; only a fatal one ends it. */
	msleep_interruptible(WATCH_MS);
	if (fatal_signal_pending(current))
		return -EINTR;
	for (i = 0; i < args->ncpus; i++) {
		ret = watch(d, args, &cpus[i], &second);
		if (ret)
			return ret;
		conclude(&cpus[i], &seen[i], &second);
		args->done++;
	}
	return 0;
}

static int check_cpus(const struct sonde_clocks *args,
		      const struct sonde_clock_cpu *cpus)
{
	int ret = sonde_check_cpu(args->reference);
	u32 i;

	for (i = 0; i < args->ncpus && !ret; i++)
		ret = cpus[i].cpu == args->reference ? -EINVAL :
		      sonde_check_cpu(cpus[i].cpu);
	return ret;
}

static int get_cpus(const struct sonde_clocks *args,
		    struct sonde_clock_cpu *cpus)
{
	u32 i;

	if (copy_from_user(cpus, u64_to_user_ptr(args->cpus),
			   args->ncpus * sizeof(*cpus)))
		return -EFAULT;
	for (i = 0; i < args->ncpus; i++)
		cpus[i] = (struct sonde_clock_cpu){ .cpu = cpus[i].cpu };
	return check_cpus(args, cpus);
}

static int compare_all(struct sonde_clocks *args)
{
	struct sonde_clock_cpu *cpus;
	struct watching *seen;
	struct duel *d;
	int ret = -ENOMEM;

	cpus = kvmalloc_array(args->ncpus, sizeof(*cpus), GFP_KERNEL_ACCOUNT);
	seen = kvmalloc_array(args->ncpus, sizeof(*seen), GFP_KERNEL_ACCOUNT);
	d = kmalloc(sizeof(*d), GFP_KERNEL_ACCOUNT);
	if (cpus && seen && d)
		ret = get_cpus(args, cpus);
	if (!ret)
		ret = watch_all(args, cpus, seen, d);
	if (args->done && copy_to_user(u64_to_user_ptr(args->cpus), cpus,
				       args->done * sizeof(*cpus))) {
		args->done = 0;
		ret = -EFAULT;
	}
	kfree(d);
	kvfree(seen);
	kvfree(cpus);
	return ret;
}

static int check_clocks(const struct sonde_clocks *args)
{
	if (args->flags || args->ncpus > nr_cpu_ids ||
	    !args->ncpus != !args->cpus)
		return -EINVAL;
	return args->ncpus && !tsc_khz ? -EOPNOTSUPP : 0;
}

/**
 * sonde_ioc_clock() - serve SONDE_IOC_CLOCK
 * @sf: the open file
 * @uarg: the caller's struct sonde_clocks
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EPERM, -EOPNOTSUPP, -ENOMEM, -EAGAIN or
 * -EINTR.
 */
int sonde_ioc_clock(const struct sonde_file *sf, void __user *uarg,
		    size_t usize)
{
	struct sonde_clocks args;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_CLOCK_SIZE_VER0, uarg,
			    usize);
	if (!ret)
		ret = check_clocks(&args);
	if (ret)
		return ret;
	args.done = 0;
	describe_counter(&args);
	if (args.ncpus)
		ret = compare_all(&args);
	trace_sonde_clock(args.ncpus, args.done, ret);
	if (ret && !args.done)
		return ret;
	if (copy_to_user(uarg, &args, min(usize, sizeof(args))))
		return -EFAULT;
	return ret;
}
