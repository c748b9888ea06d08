/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: clock - a counter cheap enough to time a few hundred loads
 *
 * The processor's invariant counter where there is one, CLOCK_MONOTONIC_RAW
 * where there is not. Its frequency is calibrated against CLOCK_MONOTONIC_RAW,
 * its cost and step are measured, not assumed: on some processors it advances
 * in steps of tens of ticks.
 */
#ifndef SONDE_CLOCK_H
#define SONDE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_clock;

enum sonde_clock_source {
	SONDE_CLOCK_AUTO,		/* the counter if it is invariant */
	SONDE_CLOCK_COUNTER,		/* TSC, CNTVCT */
	SONDE_CLOCK_MONOTONIC_RAW,
};

/**
 * struct sonde_clock_info - what is known of a clock
 * @source: COUNTER or MONOTONIC_RAW
 * @name: "tsc", "cntvct", "monotonic-raw"
 * @hz: ticks a second, calibrated
 * @hz_low: lower end of the 95 % interval of @hz
 * @hz_high: upper end of it
 * @claimed_hz: what firmware or hypervisor says (CPUID 15h, 40000010h, CNTFRQ),
 *              0 if it does not
 * @overhead_ticks: ticks between two serialised reads back to back: means without
 *                  the slowest tenth, of some milliseconds, the least
 * @step_ticks: greatest common divisor of differences: the counter's step;
 *              0 if it never advances
 * @why: why the counter was not taken, NULL if it was
 */
struct sonde_clock_info {
	enum sonde_clock_source source;
	const char *name;
	double hz, hz_low, hz_high;
	double claimed_hz;
	double overhead_ticks;
	uint64_t step_ticks;
	const char *why;
};

/**
 * sonde_clock_open() - choose, calibrate and measure a clock
 * @clk: where the clock goes; untouched on failure
 * @source: one source, or SONDE_CLOCK_AUTO
 *
 * Takes about 50 ms, which the thread mostly sleeps: calibration brackets each
 * counter read between two CLOCK_MONOTONIC_RAW reads and keeps the tightest
 * brackets.
 *
 * Return: 0, -ENOTSUP (COUNTER was asked for, but there is none, it is not
 * invariant, or it proved not to be constant), -EINVAL, -ENOMEM.
 *
 * Since: 0.1
 */
int sonde_clock_open(struct sonde_clock **clk, enum sonde_clock_source source);

/** sonde_clock_close() - close; @clk may be NULL. Since: 0.1 */
void sonde_clock_close(struct sonde_clock *clk);

/** sonde_clock_info() - what was measured, owned by @clk. Since: 0.1 */
const struct sonde_clock_info *sonde_clock_info(const struct sonde_clock *clk);

/**
 * sonde_clock_now() - a serialised read
 *
 * Loads before it are done, loads after it have not begun; stores are not waited
 * for. Between two reads lie: the end of the first, what is between them, the
 * wait for its loads, and the beginning of the second. What the reads
 * themselves add is sonde_clock_info.overhead_ticks.
 *
 * Return: ticks. Since: 0.1
 */
uint64_t sonde_clock_now(const struct sonde_clock *clk);

/** sonde_clock_ns() - ticks as nanoseconds. Since: 0.1 */
double sonde_clock_ns(const struct sonde_clock *clk, double ticks);

/**
 * struct sonde_clock_offset - the counter of one CPU against the reference's
 * @cpu: which
 * @offset_ticks: its counter minus the reference's
 * @error_ticks: what @offset_ticks may be wrong by, at most
 * @drift_ppb: ticks it gains in 10^9 ticks
 * @drift_error_ppb: what @drift_ppb may be wrong by, at most
 */
struct sonde_clock_offset {
	unsigned int cpu;
	double offset_ticks, error_ticks;
	double drift_ppb, drift_error_ppb;
};

/**
 * struct sonde_clock_kernel - the processor's counter, seen from the kernel
 * @hz: the kernel's rate, 0 if it has none
 * @is_told: that was told by processor or hypervisor, not calibrated
 * @claimed_hz: what CPUID says, 0 if nothing
 * @is_invariant: constant in rate, running in deep sleep
 * @is_stable: the kernel has found nothing wrong with it
 * @overhead_ticks: median of a serialised read, interrupts off
 * @step_ticks: the counter's step
 * @reference: the CPU that the others were compared with
 * @offsets: @noffsets other CPUs
 * @noffsets: how many
 */
struct sonde_clock_kernel {
	double hz;
	int is_told;
	double claimed_hz;
	int is_invariant, is_stable;
	double overhead_ticks;
	uint64_t step_ticks;
	unsigned int reference;
	struct sonde_clock_offset *offsets;
	size_t noffsets;
};

/**
 * sonde_clock_ask_kernel() - have the module look at the counter
 * @out: where the answer goes, to be freed with sonde_clock_kernel_free();
 *       untouched on failure
 *
 * Compares the CPUs that the thread may run on with the first of them, by messages
 * there and back with interrupts off (SONDE_IOC_CLOCK in sonde(4)); takes some
 * tenths of a second. Two CPUs that could not be had at the same time end the
 * comparison: then @noffsets is less than the number of the others.
 *
 * Return: 0, what sonde_device_open() says where there is no module, -EOPNOTSUPP
 * (the module is older and does not look at clocks), -ENOMEM.
 *
 * Since: 0.1
 */
int sonde_clock_ask_kernel(struct sonde_clock_kernel **out);

/** sonde_clock_kernel_free() - free; @kernel may be NULL. Since: 0.1 */
void sonde_clock_kernel_free(struct sonde_clock_kernel *kernel);

#ifdef __cplusplus
}
#endif

#endif
