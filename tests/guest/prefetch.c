/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_IOC_PREFETCH: that prefetchers are switched as asked and that whatever
 * happens the register is in the end what it was. The register is read through
 * /dev/cpu/N/msr, past the module, where the kernel has that.
 *
 * QEMU has no prefetchers, but with --cpu core2duo it has the register of that
 * processor's switches and keeps what is written there. On any other of its
 * processors the module must say that there is nothing to switch.
 */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "nodes.h"

#define MISC_ENABLE	0x1a0
/* Core 2, SDM 4: streamer, adjacent line, DCU, IP. */
#define L2_STREAM_BIT	(1ULL << 9)
#define L2_PAIR_BIT	(1ULL << 19)
#define L1_STREAM_BIT	(1ULL << 37)
#define L1_STRIDE_BIT	(1ULL << 39)
#define ALL_BITS	(L2_STREAM_BIT | L2_PAIR_BIT | L1_STREAM_BIT | L1_STRIDE_BIT)
#define ALL		(SONDE_PREFETCH_L1_STREAM | SONDE_PREFETCH_L1_STRIDE | \
			 SONDE_PREFETCH_L2_STREAM | SONDE_PREFETCH_L2_PAIR)
#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

static int call(int fd, uint32_t cpu, uint32_t flags, uint32_t *off)
{
	struct sonde_prefetch args = {
		.size = sizeof(args), .flags = flags, .cpu = cpu, .off = *off,
	};
	int ret = do_ioctl(fd, SONDE_IOC_PREFETCH, &args);

	*off = args.off;
	if (!ret)
		check_int(args.known, ALL);
	return ret;
}

static int set_off(int fd, uint32_t cpu, uint32_t off)
{
	return call(fd, cpu, SONDE_PREFETCH_SET, &off);
}

static bool is_core2(void)
{
	char line[200];
	bool intel = false, core2 = false;
	FILE *f = fopen("/proc/cpuinfo", "r");

	while (f && fgets(line, sizeof(line), f)) {
		intel |= !strncmp(line, "vendor_id", 9) && strstr(line, "GenuineIntel");
		core2 |= !strncmp(line, "model\t", 6) && strstr(line, ": 15\n");
	}
	if (f)
		fclose(f);
	return intel && core2;
}

/* Which the module reads, too, but it might tell what it would like to read. */
static uint64_t ask_module(unsigned int cpu)
{
	int fd = open_node(PROBE_NODE);
	uint32_t off = 0;

	check_int(call(fd, cpu, 0, &off), 0);
	close(fd);
	return (off & SONDE_PREFETCH_L1_STREAM ? L1_STREAM_BIT : 0) |
	       (off & SONDE_PREFETCH_L1_STRIDE ? L1_STRIDE_BIT : 0) |
	       (off & SONDE_PREFETCH_L2_STREAM ? L2_STREAM_BIT : 0) |
	       (off & SONDE_PREFETCH_L2_PAIR ? L2_PAIR_BIT : 0);
}

static uint64_t read_msr(unsigned int cpu)
{
	char path[40];
	uint64_t value = 0;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%u/msr", cpu);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return ask_module(cpu);
	check_int(pread(fd, &value, sizeof(value), MISC_ENABLE), sizeof(value));
	close(fd);
	return value;
}

static void need_switches(void)
{
	if (!is_core2())
		tap_skip("needs a guest with --cpu core2duo");
	if (access("/dev/cpu/0/msr", R_OK) &&
	    system("modprobe msr 2>/dev/null"))
		printf("# no msr device: the module's word is all there is\n");
}

static void says_that_there_is_nothing_to_switch(void)
{
	uint32_t off = 0;

	if (is_core2())
		tap_skip("this processor has switches");
	check_int(call(open_node(PROBE_NODE), 0, 0, &off), -EOPNOTSUPP);
	check_int(set_off(open_node(PROBE_NODE), 0, ALL), -EOPNOTSUPP);
}

static void needs_the_right(void)
{
	int root_fd = open_node(PROBE_NODE), fd;
	uint32_t off = 0;

	become_nobody(probe_group());
	fd = open_node(PROBE_NODE);
	check_int(call(fd, 0, 0, &off), -EPERM);
	check_int(set_off(fd, 0, 0), -EPERM);
	/* The opener's right, not the caller's. */
	check(set_off(root_fd, 0, 0) != -EPERM);
}

static void refuses_what_it_does_not_know(void)
{
	int fd = open_node(PROBE_NODE);
	uint32_t off = 1;

	check_int(call(fd, 0, 2, &off), -EINVAL);
	check_int(call(fd, 0, 0, &off), -EINVAL);	/* off, but not set */
	need_switches();
	check_int(set_off(fd, 0, 1U << 5), -EINVAL);
	check_int(set_off(fd, 0, SONDE_PREFETCH_L1_REGION), -EINVAL);
	check_int(set_off(fd, UINT32_MAX, 0), -EINVAL);
	check_int(set_off(fd, 4095, ALL), -EINVAL);
}

static void each_prefetcher_has_its_bit(void)
{
	static const struct {
		uint32_t off;
		uint64_t bits;
	} all[] = {
		{ SONDE_PREFETCH_L2_STREAM, L2_STREAM_BIT },
		{ SONDE_PREFETCH_L2_PAIR, L2_PAIR_BIT },
		{ SONDE_PREFETCH_L1_STREAM, L1_STREAM_BIT },
		{ SONDE_PREFETCH_L1_STRIDE, L1_STRIDE_BIT },
		{ ALL, ALL_BITS }, { 0, 0 },
	};
	uint64_t before;
	uint32_t off;
	size_t i;
	int fd;

	need_switches();
	before = read_msr(0);
	fd = open_node(PROBE_NODE);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		check_int(set_off(fd, 0, all[i].off), 0);
		check(read_msr(0) == (before | all[i].bits));
		off = 0;
		check_int(call(fd, 0, 0, &off), 0);
		check((off & all[i].off) == all[i].off);
	}
	close(fd);
	check(read_msr(0) == before);
}

static bool are_threads_of_one_core(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/cpu0/topology/core_cpus_list", "r");
	char line[80] = "";

	check(f && fgets(line, sizeof(line), f));
	fclose(f);
	return strcmp(line, "0\n");
}

static void all_threads_of_the_core_are_switched_and_no_others(void)
{
	uint64_t before[2];
	int fd;

	need_switches();
	before[0] = read_msr(0);
	before[1] = read_msr(1);
	fd = open_node(PROBE_NODE);
	check_int(set_off(fd, 1, ALL), 0);
	check(read_msr(0) == (before[0] |
			      (are_threads_of_one_core() ? ALL_BITS : 0)));
	check(read_msr(1) == (before[1] | ALL_BITS));
	close(fd);
	check(read_msr(0) == before[0]);
	check(read_msr(1) == before[1]);
}

static void wishes_of_several_files_add_up(void)
{
	uint64_t before;
	int a, b;

	need_switches();
	before = read_msr(0);
	a = open_node(PROBE_NODE);
	b = open_node(PROBE_NODE);
	check_int(set_off(a, 0, SONDE_PREFETCH_L1_STREAM | SONDE_PREFETCH_L2_PAIR), 0);
	check_int(set_off(b, 0, SONDE_PREFETCH_L1_STREAM), 0);
	check(read_msr(0) == (before | L1_STREAM_BIT | L2_PAIR_BIT));
	/* In whatever order they go. */
	close(a);
	check(read_msr(0) == (before | L1_STREAM_BIT));
	a = open_node(PROBE_NODE);
	check_int(set_off(a, 0, SONDE_PREFETCH_L2_STREAM), 0);
	check_int(set_off(b, 0, 0), 0);
	check(read_msr(0) == (before | L2_STREAM_BIT));
	close(b);
	check(read_msr(0) == (before | L2_STREAM_BIT));
	close(a);
	check(read_msr(0) == before);
}

static void wait_for_a_change(unsigned int cpu, uint64_t before)
{
	const struct timespec t = { 0, 10000000 };
	int i;

	for (i = 0; i < 500; i++) {
		if (read_msr(cpu) != before)
			return;
		nanosleep(&t, NULL);
	}
	check_msg(0, "nothing was switched");
}

/* One that does not outlive the test. */
static pid_t start_child(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void a_kill_restores(void)
{
	uint64_t before;
	pid_t pid;
	int i;

	need_switches();
	before = read_msr(0);
	for (i = 0; i < 20; i++) {
		pid = start_child();
		if (!pid) {
			int fd = open_node(PROBE_NODE);

			for (;;) {
				set_off(fd, 0, ALL);
				set_off(fd, 0, SONDE_PREFETCH_L2_STREAM);
			}
		}
		wait_for_a_change(0, before);
		check_int(kill(pid, SIGKILL), 0);
		check_int(waitpid(pid, NULL, 0), pid);
		check(read_msr(0) == before);
	}
}

static void the_last_of_several_holders_restores(void)
{
	uint64_t before;
	pid_t pid;
	int fd;

	need_switches();
	before = read_msr(0);
	fd = open_node(PROBE_NODE);
	check_int(set_off(fd, 0, ALL), 0);
	pid = start_child();
	if (!pid)
		pause();
	close(fd);
	check(read_msr(0) == (before | ALL_BITS));	/* the child's is open */
	check_int(kill(pid, SIGKILL), 0);
	check_int(waitpid(pid, NULL, 0), pid);
	check(read_msr(0) == before);
}

static void switch_cpu(const char *to)
{
	if (!write_file(ONLINE, to))
		tap_skip("CPUs cannot be switched off here");
}

static void a_cpu_that_goes_and_comes_is_as_wished(void)
{
	uint64_t before;
	int fd;

	need_switches();
	before = read_msr(1);
	fd = open_node(PROBE_NODE);
	check_int(set_off(fd, 1, ALL), 0);
	switch_cpu("0");
	check_int(set_off(fd, 1, 0), -EINVAL);
	switch_cpu("1");
	check(read_msr(1) == (before | ALL_BITS));
	/* Closed while the CPU is away: it was left as it was found. */
	switch_cpu("0");
	close(fd);
	switch_cpu("1");
	check(read_msr(1) == before);
	fd = open_node(PROBE_NODE);
	check_int(set_off(fd, 1, SONDE_PREFETCH_L1_STREAM), 0);
	check(read_msr(1) == (before | L1_STREAM_BIT));
	close(fd);
	check(read_msr(1) == before);
}

static const struct tap_test tests[] = {
	TAP_TEST(says_that_there_is_nothing_to_switch),
	TAP_TEST(needs_the_right),
	TAP_TEST(refuses_what_it_does_not_know),
	TAP_TEST(each_prefetcher_has_its_bit),
	TAP_TEST(all_threads_of_the_core_are_switched_and_no_others),
	TAP_TEST(wishes_of_several_files_add_up),
	TAP_TEST(a_kill_restores),
	TAP_TEST(the_last_of_several_holders_restores),
	TAP_TEST(a_cpu_that_goes_and_comes_is_as_wished),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
