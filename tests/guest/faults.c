/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can fail on a path fails in turn (fault injection): each allocation, and
 * where the kernel injects that too (CONFIG_FAULT_INJECTION_USERCOPY) each copy
 * from and to the caller. The call says ENOMEM or EFAULT, writes nothing more
 * than it says, leaves nothing open, and the next call works. Runs on a kernel
 * with CONFIG_FAILSLAB; elsewhere the file skips.
 */
#include "nodes.h"

#define FAIL_NTH	"/proc/thread-self/fail-nth"
#define DEBUGFS		"/sys/kernel/debug/"
#define MOST_FAULTS	100
#define PAGES		2000

static int fail_nth;	/* FAIL_NTH, opened for the test that runs */

static void open_fail_nth(void)
{
	fail_nth = open(FAIL_NTH, O_RDWR | O_CLOEXEC);
	check(fail_nth >= 0);
}

/* From now on the @nth thing of this thread that can fail does; 0 ends it. */
static void arm(unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	/* If still armed, the copy of this text may be what fails. */
	if (pwrite(fail_nth, text, len, 0) != len)
		check_int(pwrite(fail_nth, text, len, 0), len);
}

/* Ends it; returns whether something was made to fail. */
static bool disarm(void)
{
	char text[16] = "";
	ssize_t len = pread(fail_nth, text, sizeof(text) - 1, 0);

	check(len > 0 || errno == EFAULT);	/* that is what failed now */
	arm(0);
	return len > 0 && !atoi(text);
}

static int users_of_module(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

/* Some of what open(2) allocates on its way is dispensable: it may succeed. */
static void a_failing_open_leaves_nothing(void)
{
	int before = users_of_module();
	unsigned int nth, nomem = 0;
	bool failed = true;
	int fd, err;

	open_fail_nth();
	for (nth = 1; failed && nth < MOST_FAULTS; nth++) {
		arm(nth);
		fd = open(PROBE_NODE, O_RDWR | O_CLOEXEC);
		err = errno;
		failed = disarm();
		if (fd >= 0) {
			check_int(get_info(fd).abi, SONDE_ABI);
			close(fd);
		} else {
			check(failed);
			check(err == ENOMEM || err == EFAULT);
			nomem += err == ENOMEM;
		}
		check_int(users_of_module(), before);
	}
	printf("# %u of %u failed with ENOMEM\n", nomem, nth);
	check(!failed);
	check(nomem >= 2);	/* the kernel's file and what ours holds */
}

/* Returns whether something failed; counts ENOMEM. */
static bool frames_with_fault(int fd, unsigned int nth, size_t n,
			      unsigned int *nomem)
{
	static struct sonde_frame entries[PAGES + 1]
		__attribute__((aligned(SMALL_PAGE)));
	uint64_t done;
	bool failed;
	size_t i;
	int ret;

	memset(entries, 0xa5, sizeof(entries));
	arm(nth);
	ret = get_frames(fd, entries, n, entries, 0, &done);
	failed = disarm();
	if (!failed)
		check_int(ret, 0);
	/* Accounting to the memory cgroup allocates, too, and can do without. */
	check_msg(!ret || ret == -ENOMEM || ret == -EFAULT, "result %d", ret);
	check(ret ? done < n : done == n);
	check(ret != -ENOMEM || !done);
	*nomem += ret == -ENOMEM;
	for (i = 0; i <= n; i++)
		check_msg((entries[i].flags == 0xa5a5) == (i >= done),
			  "entry %zu of %llu done", i, (unsigned long long)done);
	return failed;
}

static void failing_frames_write_what_they_say(void)
{
	static const size_t counts[] = { 1, 100, PAGES };
	int fd = open_node(PROBE_NODE);
	unsigned int nth, nomem;
	size_t i;

	open_fail_nth();
	for (i = 0; i < ARRAY_SIZE(counts); i++) {
		nomem = 0;
		for (nth = 1; frames_with_fault(fd, nth, counts[i], &nomem); nth++)
			check(nth < MOST_FAULTS);
		check_int(nomem, 1);	/* the buffer */
	}
}

static void info_allocates_nothing(void)
{
	struct sonde_info info;
	int fd = open_node(MAIN_NODE);
	unsigned int nth;
	bool failed = true;
	int ret;

	open_fail_nth();
	for (nth = 1; failed; nth++) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		arm(nth);
		ret = do_ioctl(fd, SONDE_IOC_INFO, &info);
		failed = disarm();
		check_int(ret, failed ? -EFAULT : 0);
		check(nth <= 3);	/* a copy in, a copy out, and none */
	}
	check_int(info.abi, SONDE_ABI);
}

/* Not in the log: a fault that was injected; also where the call may sleep. */
static bool set_up_faults(void)
{
	write_file(DEBUGFS "fail_usercopy/verbose", "0");
	write_file(DEBUGFS "fail_page_alloc/verbose", "0");
	write_file(DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N");
	return write_file(DEBUGFS "failslab/verbose", "0") &&
	       write_file(DEBUGFS "failslab/ignore-gfp-wait", "N");
}

static const struct tap_test tests[] = {
	TAP_TEST(a_failing_open_leaves_nothing),
	TAP_TEST(failing_frames_write_what_they_say),
	TAP_TEST(info_allocates_nothing),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	if (access(FAIL_NTH, W_OK))
		return tap_skip_all("this kernel injects no faults (CONFIG_FAULT_INJECTION)");
	if (!set_up_faults())
		return tap_skip_all("no failslab in debugfs (CONFIG_FAILSLAB)");
	return tap_main(tests, ARRAY_SIZE(tests));
}
