// SPDX-License-Identifier: LGPL-2.1-or-later
/* clock_module - the counter as the module sees it, SONDE_IOC_CLOCK */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sonde/clock.h>

#include "allowed_cpus.h"
#include "device.h"

/* The CPUs that the thread may run on but the first, which is the reference. */
static size_t list_cpus(struct sonde_clocks *args, struct sonde_clock_cpu *cpus)
{
	unsigned int allowed[CPU_SETSIZE];
	int n = allowed_cpus(allowed);

	if (n <= 0)
		return 0;
	args->reference = allowed[0];
	for (int i = 1; i < n; i++)
		cpus[i - 1].cpu = allowed[i];
	return (size_t)n - 1;
}

/* What was compared before CPUs could not be had together is worth telling. */
static int ask(const struct sonde_device *dev, struct sonde_clocks *args,
	       struct sonde_clock_cpu *cpus)
{
	size_t n = list_cpus(args, cpus);
	int err;

	args->ncpus = (uint32_t)n;
	args->cpus = n ? (uintptr_t)cpus : 0;
	err = device_command(dev, SONDE_IOC_CLOCK, args);
	if (!err || (err == -EAGAIN && args->done))
		return 0;
	/* The counter alone. */
	*args = (struct sonde_clocks){ .size = sizeof(*args), .reference = args->reference };
	return device_command(dev, SONDE_IOC_CLOCK, args);
}

static int fill(struct sonde_clock_kernel *kernel, const struct sonde_clocks *args,
		const struct sonde_clock_cpu *cpus)
{
	kernel->offsets = calloc(args->done + 1, sizeof(*kernel->offsets));
	if (!kernel->offsets)
		return -ENOMEM;
	kernel->hz = (double)args->hz;
	kernel->claimed_hz = (double)args->cpuid_hz;
	kernel->is_told = !!(args->flags & SONDE_CLOCK_TOLD);
	kernel->is_invariant = !!(args->flags & SONDE_CLOCK_INVARIANT);
	kernel->is_stable = !!(args->flags & SONDE_CLOCK_STABLE);
	kernel->overhead_ticks = (double)args->cost;
	kernel->step_ticks = args->step;
	kernel->reference = args->reference;
	kernel->noffsets = args->done;
	for (size_t i = 0; i < args->done; i++)
		kernel->offsets[i] = (struct sonde_clock_offset){
			.cpu = cpus[i].cpu,
			.offset_ticks = (double)cpus[i].offset,
			.error_ticks = (double)cpus[i].error,
			.drift_ppb = (double)cpus[i].drift,
			.drift_error_ppb = (double)cpus[i].drift_error,
		};
	return 0;
}

int sonde_clock_ask_kernel(struct sonde_clock_kernel **out)
{
	struct sonde_clocks args = { .size = sizeof(args) };
	struct sonde_clock_kernel *kernel = calloc(1, sizeof(*kernel));
	struct sonde_clock_cpu *cpus = calloc(CPU_SETSIZE, sizeof(*cpus));
	struct sonde_device *dev = NULL;
	int err = -ENOMEM;

	if (kernel && cpus)
		err = device_open_with(&dev, SONDE_NODE_PROBE, SONDE_FEAT_CLOCK, -EOPNOTSUPP);
	if (!err)
		err = ask(dev, &args, cpus);
	if (!err)
		err = fill(kernel, &args, cpus);
	sonde_device_close(dev);
	free(cpus);
	if (err)
		sonde_clock_kernel_free(kernel);
	else
		*out = kernel;
	return err;
}

void sonde_clock_kernel_free(struct sonde_clock_kernel *kernel)
{
	if (!kernel)
		return;
	free(kernel->offsets);
	free(kernel);
}
