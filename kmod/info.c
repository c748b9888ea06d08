// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_INFO: what the module can do, and what user space needs to know
 * of the machine before it begins.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <asm/cpufeature.h>
#include <asm/tsc.h>

#include "sonde.h"
#include "trace.h"

static_assert(sizeof(struct sonde_info) == 80);
static_assert(sizeof(struct sonde_info) >= SONDE_INFO_SIZE_VER0);
static_assert(sizeof(SONDE_VERSION) <= sizeof_field(struct sonde_info, version));

/*
 * A counter is named only if it is one clock: constant in rate, running in
 * deep sleep and the same on all CPUs.
 */
static void describe_counter(struct sonde_info *info)
{
	if (!boot_cpu_has(X86_FEATURE_CONSTANT_TSC) ||
	    !boot_cpu_has(X86_FEATURE_NONSTOP_TSC) || check_tsc_unstable()) {
		info->counter = SONDE_COUNTER_NONE;
		return;
	}
	info->counter = SONDE_COUNTER_TSC;
	info->counter_hz = (u64)tsc_khz * 1000;
}

/**
 * sonde_ioc_info() - serve SONDE_IOC_INFO
 * @sf: the open file
 * @uarg: the caller's struct sonde_info
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL or -E2BIG.
 */
int sonde_ioc_info(const struct sonde_file *sf, void __user *uarg, size_t usize)
{
	struct sonde_info info;
	int ret;

	ret = sonde_arg_get(&info, sizeof(info), SONDE_INFO_SIZE_VER0, uarg,
			    usize);
	if (ret)
		return ret;

	memset(&info, 0, sizeof(info));
	info.size = usize;
	info.abi = SONDE_ABI;
	info.features = sf->node->features;
	info.rights = sf->rights;
	info.page_size = PAGE_SIZE;
	info.max_pages = sonde_max_pages;
	info.colour_bits = sonde_colour_bits;
	describe_counter(&info);
	strscpy(info.version, SONDE_VERSION, sizeof(info.version));
	trace_sonde_info(sf->node->features & SONDE_FEAT_FRAMES, info.rights);

	if (copy_to_user(uarg, &info, min(usize, sizeof(info))))
		return -EFAULT;
	return 0;
}
