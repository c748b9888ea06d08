// SPDX-License-Identifier: GPL-2.0-or-later
/* Prefetchers and the module's clock, against a module that is played here. */
#include <errno.h>
#include <sched.h>
#include <sonde/clock.h>
#include <sonde/prefetch.h>

#include "fake_module.h"

static struct sonde_prefetch asked;
static uint32_t off_now;
static uint32_t most_cpus;	/* that CLOCK compares before it gives up */
static int clock_calls;

static int fake_prefetch(struct sonde_prefetch *args)
{
	asked = *args;
	if (args->cpu > 7) {
		errno = EINVAL;
		return -1;
	}
	if (args->flags & SONDE_PREFETCH_SET)
		off_now = args->off;
	args->off = off_now;
	args->known = 0x1b;
	return 0;
}

static int fake_clock(struct sonde_clocks *args)
{
	struct sonde_clock_cpu *cpus = (struct sonde_clock_cpu *)(uintptr_t)args->cpus;

	clock_calls++;
	ck_assert_uint_eq(!args->ncpus, !args->cpus);
	args->flags = SONDE_CLOCK_INVARIANT | SONDE_CLOCK_TOLD;
	args->hz = 2000000000;
	args->cost = 40;
	args->step = 2;
	for (; args->done < args->ncpus && args->done < most_cpus; args->done++) {
		ck_assert_uint_ne(cpus[args->done].cpu, args->reference);
		cpus[args->done].offset = -5;
		cpus[args->done].error = 7;
	}
	if (args->done == args->ncpus)
		return 0;
	errno = EAGAIN;
	return -1;
}

static int play(int fd, unsigned long command, void *arg)
{
	if (command == SONDE_IOC_PREFETCH)
		return fake_prefetch(arg);
	if (command == SONDE_IOC_CLOCK)
		return fake_clock(arg);
	return fake_ioctl(fd, command, arg);
}

static void load_module(void)
{
	load_fake_module();
	device_ioctl = play;
	fake_info.features |= SONDE_FEAT_PREFETCH | SONDE_FEAT_CLOCK;
	fake_info.rights |= SONDE_RIGHT_PREFETCH;
	off_now = 0;
	most_cpus = UINT32_MAX;
	clock_calls = 0;
}

START_TEST(switches_what_is_asked_on_that_cpu)
{
	struct sonde_prefetch_switch *sw;
	unsigned int off = 0, known = 0;

	load_module();
	ck_assert_int_eq(sonde_prefetch_open(&sw), 0);
	ck_assert_int_eq(sonde_prefetch_set(sw, 3, SONDE_PREFETCHER_L2_STREAM), 0);
	ck_assert_uint_eq(asked.size, sizeof(asked));
	ck_assert_uint_eq(asked.flags, SONDE_PREFETCH_SET);
	ck_assert_uint_eq(asked.cpu, 3);
	ck_assert_uint_eq(asked.off, SONDE_PREFETCH_L2_STREAM);
	ck_assert_int_eq(sonde_prefetch_get(sw, 3, &off, &known), 0);
	ck_assert_uint_eq(asked.flags, 0);
	ck_assert_uint_eq(asked.off, 0);
	ck_assert_uint_eq(off, SONDE_PREFETCHER_L2_STREAM);
	ck_assert_uint_eq(known, 0x1b);
	ck_assert_int_eq(sonde_prefetch_get(sw, 3, NULL, NULL), 0);
	ck_assert_int_eq(sonde_prefetch_set(sw, 8, 0), -EINVAL);
	sonde_prefetch_close(sw);
	sonde_prefetch_close(NULL);
}
END_TEST

START_TEST(says_why_it_cannot_switch)
{
	struct sonde_prefetch_switch *sw = NULL;

	ck_assert_int_eq(sonde_prefetch_open(&sw), -ENODEV);
	load_module();
	fake_info.rights = 0;
	ck_assert_int_eq(sonde_prefetch_open(&sw), -EPERM);
	fake_info.features = SONDE_FEAT_FRAMES;
	ck_assert_int_eq(sonde_prefetch_open(&sw), -EOPNOTSUPP);
	ck_assert_ptr_null(sw);
}
END_TEST

START_TEST(the_kernels_clock_is_told)
{
	struct sonde_clock_kernel *kernel = NULL;
	cpu_set_t set;

	load_module();
	ck_assert_int_eq(sonde_clock_ask_kernel(&kernel), 0);
	ck_assert_double_eq(kernel->hz, 2e9);
	ck_assert_double_eq(kernel->claimed_hz, 0);
	ck_assert(kernel->is_told && kernel->is_invariant && !kernel->is_stable);
	ck_assert_double_eq(kernel->overhead_ticks, 40);
	ck_assert_uint_eq(kernel->step_ticks, 2);
	ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	ck_assert_uint_eq(kernel->noffsets, (unsigned int)CPU_COUNT(&set) - 1);
	for (size_t i = 0; i < kernel->noffsets; i++) {
		ck_assert(CPU_ISSET(kernel->offsets[i].cpu, &set));
		ck_assert_double_eq(kernel->offsets[i].offset_ticks, -5);
		ck_assert_double_eq(kernel->offsets[i].error_ticks, 7);
	}
	sonde_clock_kernel_free(kernel);
	sonde_clock_kernel_free(NULL);
}
END_TEST

START_TEST(cpus_that_cannot_be_had_are_left_out)
{
	struct sonde_clock_kernel *kernel = NULL;

	load_module();
	most_cpus = 0;
	ck_assert_int_eq(sonde_clock_ask_kernel(&kernel), 0);
	ck_assert_uint_eq(kernel->noffsets, 0);
	ck_assert_double_eq(kernel->overhead_ticks, 40);
	ck_assert_int_ge(clock_calls, 1);
	sonde_clock_kernel_free(kernel);
}
END_TEST

START_TEST(no_module_or_an_old_one_tells_no_clock)
{
	struct sonde_clock_kernel *kernel = NULL;

	ck_assert_int_eq(sonde_clock_ask_kernel(&kernel), -ENODEV);
	load_module();
	fake_info.features = SONDE_FEAT_FRAMES;
	ck_assert_int_eq(sonde_clock_ask_kernel(&kernel), -EOPNOTSUPP);
	ck_assert_ptr_null(kernel);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prefetch");
	TCase *tc = add_case(suite, "module");

	tcase_add_test(tc, switches_what_is_asked_on_that_cpu);
	tcase_add_test(tc, says_why_it_cannot_switch);
	tcase_add_test(tc, the_kernels_clock_is_told);
	tcase_add_test(tc, cpus_that_cannot_be_had_are_left_out);
	tcase_add_test(tc, no_module_or_an_old_one_tells_no_clock);
	return tap_run(suite);
}
