// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_PREFETCH: hardware prefetchers off while somebody measures.
 *
 * Only switches that the processor's vendor documents are touched, and of their
 * registers only the bits of prefetchers:
 *
 *   Intel, Nehalem to Emerald Rapids: MSR 1A4h, bits 0 to 3, shared by the
 *	threads of a core (SDM 4, MISC_FEATURE_CONTROL; "Disclosure of Hardware
 *	Prefetcher Control on Some Intel Processors"). Not hybrid processors.
 *   Intel, Core 2: IA32_MISC_ENABLE, bits 9, 19, 37 and 39 (SDM 4, table for
 *	06_0FH and 06_17H).
 *   AMD: MSR C000_0108h where CPUID 80000021h, EAX bit 13, says that it is there
 *	(APM 2 and 3, Prefetch Control; Zen 4 and later).
 *
 * The unit is a core, whose threads may share the register or have one each: all
 * of them are written. Wishes are counted for each prefetcher; a file's own are
 * in its struct sonde_wishes. The first wish for a core reads its register, and
 * what is written from then on is that value with bits set; so it is also what
 * is written when the last wish is gone.
 *
 * wishes_lock protects all of it. It is taken within the hotplug lock, as the
 * hotplug callbacks run within that.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/topology.h>
#include <linux/uaccess.h>

#include <asm/msr.h>
#include <asm/processor.h>

#include "sonde.h"
#include "measure.h"
#include "trace.h"

static_assert(sizeof(struct sonde_prefetch) == 24);
static_assert(sizeof(struct sonde_prefetch) >= SONDE_PREFETCH_SIZE_VER0);

#define NPREFETCHERS	5

/**
 * struct prefetch_switch - where a processor has its switches
 * @msr: the register
 * @bits: of it, by the number of the prefetcher; 1 is off; 0: there is none
 */
struct prefetch_switch {
	u32 msr;
	u64 bits[NPREFETCHERS];
};

#define L1_STREAM	0
#define L1_STRIDE	1
#define L1_REGION	2
#define L2_STREAM	3
#define L2_PAIR		4

static_assert(SONDE_PREFETCH_L2_PAIR == BIT(L2_PAIR));

static const struct prefetch_switch intel_switch = {
	.msr = 0x1a4,
	.bits = {
		[L2_STREAM] = BIT_ULL(0),
		[L2_PAIR] = BIT_ULL(1),
		[L1_STREAM] = BIT_ULL(2),
		[L1_STRIDE] = BIT_ULL(3),
	},
};

static const struct prefetch_switch core2_switch = {
	.msr = 0x1a0,
	.bits = {
		[L2_STREAM] = BIT_ULL(9),
		[L2_PAIR] = BIT_ULL(19),
		[L1_STREAM] = BIT_ULL(37),
		[L1_STRIDE] = BIT_ULL(39),
	},
};

static const struct prefetch_switch amd_switch = {
	.msr = 0xc0000108,
	.bits = {
		[L1_STREAM] = BIT_ULL(0),
		[L1_STRIDE] = BIT_ULL(1),
		[L1_REGION] = BIT_ULL(2),
		[L2_STREAM] = BIT_ULL(3),
		[L2_PAIR] = BIT_ULL(5),
	},
};

/* Of Intel's family 6; by number, as the names of them change. */
static const u8 intel_models[] = {
	0x1a, 0x1e, 0x1f, 0x2e,			/* Nehalem */
	0x25, 0x2c, 0x2f,			/* Westmere */
	0x2a, 0x2d,				/* Sandy Bridge */
	0x3a, 0x3e,				/* Ivy Bridge */
	0x3c, 0x3f, 0x45, 0x46,			/* Haswell */
	0x3d, 0x47, 0x4f, 0x56,			/* Broadwell */
	0x4e, 0x5e, 0x55,			/* Skylake, Cascade and Cooper Lake */
	0x8e, 0x9e, 0xa5, 0xa6,			/* Kaby, Coffee, Comet Lake */
	0x6a, 0x6c, 0x7d, 0x7e,			/* Ice Lake */
	0x8c, 0x8d, 0xa7,			/* Tiger Lake, Rocket Lake */
	0x8f, 0xcf,				/* Sapphire, Emerald Rapids */
};

static const u8 core2_models[] = { 0x0f, 0x17 };

/**
 * struct core - a core that the prefetchers belong to
 * @original: the register as it was found, while there are wishes
 * @nwishes: for each prefetcher, how many files want it off
 */
struct core {
	u64 original;
	u32 nwishes[NPREFETCHERS];
};

/**
 * struct sonde_wishes - what a file wants off
 * @ncores: entries of @off
 * @off: SONDE_PREFETCH_* of each core, by its number
 */
struct sonde_wishes {
	unsigned int ncores;
	u8 off[];
};

static DEFINE_MUTEX(wishes_lock);
static DEFINE_PER_CPU(struct core, cores);
/*
 * One more than the number of the CPU's core, which is that of the thread of it
 * that was seen first; 0 if the CPU was never online. It stays when CPUs go.
 */
static DEFINE_PER_CPU(unsigned int, core_number);
static const struct prefetch_switch *prefetch_switch;	/* NULL: none known */
static int hotplug_state;

/* ---- the register ------------------------------------------------------- */

/**
 * struct access - to the register of a CPU, run there
 * @value: to write, or what was read
 * @is_write: which
 * @err: 0, or what the CPU said to it
 */
struct access {
	u64 value;
	bool is_write;
	int err;
};

static void access_here(void *arg)
{
	struct access *a = arg;
	u64 back;

	if (!a->is_write) {
		a->err = rdmsrq_safe(prefetch_switch->msr, &a->value);
		return;
	}
	a->err = wrmsrq_safe(prefetch_switch->msr, a->value);
	if (!a->err)
		a->err = rdmsrq_safe(prefetch_switch->msr, &back);
	/* Some hypervisors swallow what is written. */
	if (!a->err && back != a->value)
		a->err = -EIO;
}

static int read_register(unsigned int cpu, u64 *value)
{
	struct access a = { 0 };

	if (smp_call_function_single(cpu, access_here, &a, 1) || a.err)
		return -EOPNOTSUPP;
	*value = a.value;
	return 0;
}

static int write_register(unsigned int cpu, u64 value)
{
	struct access a = { .value = value, .is_write = true };

	if (smp_call_function_single(cpu, access_here, &a, 1) || a.err)
		return -EOPNOTSUPP;
	return 0;
}

/* ---- cores -------------------------------------------------------------- */

static unsigned int core_of(unsigned int cpu)
{
	return per_cpu(core_number, cpu) - 1;
}

static bool is_thread_of(unsigned int cpu, unsigned int core)
{
	return per_cpu(core_number, cpu) == core + 1;
}

static bool is_wished(const struct core *core)
{
	return memchr_inv(core->nwishes, 0, sizeof(core->nwishes));
}

/* What the register of a core is to be. */
static u64 wished_value(const struct core *core)
{
	u64 value = core->original;
	int i;

	for (i = 0; i < NPREFETCHERS; i++)
		if (core->nwishes[i])
			value |= prefetch_switch->bits[i];
	return value;
}

static int write_core(unsigned int number)
{
	const u64 value = wished_value(per_cpu_ptr(&cores, number));
	unsigned int cpu;
	int ret = 0;

	for_each_online_cpu(cpu)
		if (is_thread_of(cpu, number))
			ret = write_register(cpu, value) ?: ret;
	return ret;
}

/* The register as it is before the first wish: the same for all threads. */
static int read_core(unsigned int number)
{
	struct core *core = per_cpu_ptr(&cores, number);
	bool is_first = true;
	unsigned int cpu;
	u64 value;
	int ret;

	for_each_online_cpu(cpu) {
		if (!is_thread_of(cpu, number))
			continue;
		ret = read_register(cpu, &value);
		if (ret)
			return ret;
		if (!is_first && value != core->original)
			return -EBUSY;
		core->original = value;
		is_first = false;
	}
	return 0;
}

static void count_wishes(struct core *core, u8 before, u8 after)
{
	int i;

	for (i = 0; i < NPREFETCHERS; i++)
		core->nwishes[i] += !!(after & BIT(i)) - !!(before & BIT(i));
}

/* Within the hotplug lock and wishes_lock. */
static int set_wishes(struct sonde_wishes *wishes, unsigned int number, u8 off)
{
	struct core *core = per_cpu_ptr(&cores, number);
	const u8 before = wishes->off[number];
	int ret = 0;

	if (!is_wished(core)) {
		if (!off)
			return 0;
		ret = read_core(number);
		if (ret)
			return ret;
	}
	count_wishes(core, before, off);
	ret = write_core(number);
	if (ret) {
		count_wishes(core, off, before);
		write_core(number);
		return ret;
	}
	wishes->off[number] = off;
	return 0;
}

/* ---- CPUs that come and go ---------------------------------------------- */

static unsigned int find_core(unsigned int cpu)
{
	unsigned int sibling;

	for_each_cpu(sibling, topology_sibling_cpumask(cpu))
		if (per_cpu(core_number, sibling))
			return per_cpu(core_number, sibling);
	return per_cpu(core_number, cpu) ?: cpu + 1;
}

static int prefetch_online(unsigned int cpu)
{
	struct core *core;

	mutex_lock(&wishes_lock);
	per_cpu(core_number, cpu) = find_core(cpu);
	core = per_cpu_ptr(&cores, core_of(cpu));
	if (is_wished(core))
		write_register(cpu, wished_value(core));
	mutex_unlock(&wishes_lock);
	return 0;
}

/* Where the threads share the register the others still want what was wished. */
static int prefetch_offline(unsigned int cpu)
{
	unsigned int number = core_of(cpu), sibling;
	struct core *core = per_cpu_ptr(&cores, number);

	mutex_lock(&wishes_lock);
	if (is_wished(core)) {
		write_register(cpu, core->original);
		for_each_online_cpu(sibling)
			if (sibling != cpu && is_thread_of(sibling, number))
				write_register(sibling, wished_value(core));
	}
	mutex_unlock(&wishes_lock);
	return 0;
}

/* ---- which switch ------------------------------------------------------- */

static bool is_model(const u8 *models, size_t n)
{
	return memchr(models, boot_cpu_data.x86_model, n);
}

static const struct prefetch_switch *find_switch(void)
{
	if (boot_cpu_data.x86_vendor == X86_VENDOR_INTEL &&
	    boot_cpu_data.x86 == 6) {
		if (is_model(intel_models, sizeof(intel_models)))
			return &intel_switch;
		if (is_model(core2_models, sizeof(core2_models)))
			return &core2_switch;
	}
	if (boot_cpu_data.x86_vendor == X86_VENDOR_AMD &&
	    boot_cpu_data.extended_cpuid_level >= 0x80000021 &&
	    cpuid_eax(0x80000021) & BIT(13))
		return &amd_switch;
	return NULL;
}

/**
 * sonde_prefetch_init() - begin to watch CPUs that come and go
 *
 * Return: 0 or -errno.
 */
int __init sonde_prefetch_init(void)
{
	prefetch_switch = find_switch();
	if (!prefetch_switch)
		return 0;
	hotplug_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "sonde:prefetch",
					  prefetch_online, prefetch_offline);
	return min(hotplug_state, 0);
}

/** sonde_prefetch_exit() - no file is open, so nobody wants anything */
void sonde_prefetch_exit(void)
{
	if (prefetch_switch)
		cpuhp_remove_state(hotplug_state);
}

/* ---- files -------------------------------------------------------------- */

/**
 * sonde_wishes_create() - for a file that has the right
 *
 * Return: without any wish; NULL if there is no memory.
 */
struct sonde_wishes *sonde_wishes_create(void)
{
	struct sonde_wishes *wishes;

	wishes = kzalloc(struct_size(wishes, off, nr_cpu_ids),
			 GFP_KERNEL_ACCOUNT);
	if (wishes)
		wishes->ncores = nr_cpu_ids;
	return wishes;
}

/**
 * sonde_wishes_destroy() - a file is closed: its wishes are gone
 * @wishes: or NULL
 *
 * Needs nothing of the process, which may be dying.
 */
void sonde_wishes_destroy(struct sonde_wishes *wishes)
{
	unsigned int number;

	if (!wishes)
		return;
	cpus_read_lock();
	mutex_lock(&wishes_lock);
	for (number = 0; number < wishes->ncores; number++)
		if (wishes->off[number])
			set_wishes(wishes, number, 0);
	mutex_unlock(&wishes_lock);
	cpus_read_unlock();
	kfree(wishes);
}

/* ---- the command -------------------------------------------------------- */

static u32 known_prefetchers(void)
{
	u32 known = 0;
	int i;

	for (i = 0; i < NPREFETCHERS; i++)
		if (prefetch_switch->bits[i])
			known |= BIT(i);
	return known;
}

static int tell_off(unsigned int cpu, u32 *off)
{
	u64 value;
	int i, ret = read_register(cpu, &value);

	*off = 0;
	for (i = 0; i < NPREFETCHERS && !ret; i++)
		if (value & prefetch_switch->bits[i])
			*off |= BIT(i);
	return ret;
}

/* Within the hotplug lock: the CPU stays. */
static int serve_prefetch(const struct sonde_file *sf,
			  struct sonde_prefetch *args)
{
	int ret = 0;

	if (args->cpu >= nr_cpu_ids || !cpu_online(args->cpu))
		return -EINVAL;
	if (mutex_lock_killable(&wishes_lock))
		return -EINTR;
	if (args->flags & SONDE_PREFETCH_SET)
		ret = set_wishes(sf->wishes, core_of(args->cpu), args->off);
	if (!ret)
		ret = tell_off(args->cpu, &args->off);
	mutex_unlock(&wishes_lock);
	return ret;
}

static int check_prefetch(const struct sonde_file *sf,
			  const struct sonde_prefetch *args)
{
	if (args->flags & ~SONDE_PREFETCH_SET || args->reserved)
		return -EINVAL;
	if (!(args->flags & SONDE_PREFETCH_SET) && args->off)
		return -EINVAL;
	if (!(sf->rights & SONDE_RIGHT_PREFETCH))
		return -EPERM;
	if (!prefetch_switch)
		return -EOPNOTSUPP;
	return args->off & ~known_prefetchers() ? -EINVAL : 0;
}

/**
 * sonde_ioc_prefetch() - serve SONDE_IOC_PREFETCH
 * @sf: the open file
 * @uarg: the caller's struct sonde_prefetch
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EPERM, -EOPNOTSUPP, -EBUSY or -EINTR.
 */
int sonde_ioc_prefetch(const struct sonde_file *sf, void __user *uarg,
		       size_t usize)
{
	struct sonde_prefetch args;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_PREFETCH_SIZE_VER0,
			    uarg, usize);
	if (!ret)
		ret = check_prefetch(sf, &args);
	if (ret)
		return ret;
	cpus_read_lock();
	ret = serve_prefetch(sf, &args);
	cpus_read_unlock();
	trace_sonde_prefetch(args.cpu, args.flags, args.off, ret);
	if (ret)
		return ret;
	args.known = known_prefetchers();
	if (copy_to_user(uarg, &args, min(usize, sizeof(args))))
		return -EFAULT;
	return 0;
}
