// SPDX-License-Identifier: GPL-2.0-only
/*
 * What comes to a CPU though its interrupts are off: NMIs, which a handler of
 * our own counts, as kernels do not count them in one way, and SMIs, which
 * Intel's processors count (SDM 4, MSR_SMI_COUNT). Others leave a gap in time at
 * most.
 */
#include <linux/percpu.h>

#include <asm/msr.h>
#include <asm/nmi.h>
#include <asm/processor.h>

#include "compat.h"
#include "measure.h"

#define HANDLER	"sonde"

static DEFINE_PER_CPU(unsigned long, nmis);
static bool counts_smis __ro_after_init;

static int count_nmi(unsigned int type, struct pt_regs *regs)
{
	this_cpu_inc(nmis);
	return NMI_DONE;
}

/**
 * sonde_disturbance_init() - begin to count
 *
 * Return: 0 or -ENOMEM.
 */
int __init sonde_disturbance_init(void)
{
	u64 smis;

	counts_smis = boot_cpu_data.x86_vendor == X86_VENDOR_INTEL &&
		      !rdmsrq_safe(MSR_SMI_COUNT, &smis);
	return register_nmi_handler(NMI_LOCAL, count_nmi, 0, HANDLER);
}

/** sonde_disturbance_exit() - no longer count */
void sonde_disturbance_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, HANDLER);
}

/**
 * sonde_disturbance_read() - what has come to this CPU so far
 * @d: where it goes
 *
 * Interrupts are off.
 */
void sonde_disturbance_read(struct sonde_disturbance *d)
{
	d->nmis = this_cpu_read(nmis);
	if (!counts_smis || rdmsrq_safe(MSR_SMI_COUNT, &d->smis))
		d->smis = 0;
}

/**
 * sonde_disturbance_since() - what came since
 * @before: an earlier sonde_disturbance_read() on this CPU
 *
 * Return: SONDE_WINDOW_*.
 */
u32 sonde_disturbance_since(const struct sonde_disturbance *before)
{
	struct sonde_disturbance now;

	sonde_disturbance_read(&now);
	return (now.nmis != before->nmis ? SONDE_WINDOW_NMI : 0) |
	       (now.smis != before->smis ? SONDE_WINDOW_SMI : 0);
}
