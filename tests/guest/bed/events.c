/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a software event of each kind open for as long as the guest runs, and prints
 * the process that does.
 *
 * The first event of a task makes the kernel patch jumps in its scheduler, and the
 * first software event of each kind patches others there; the end of the last one
 * patches them back. QEMU 7.2's emulated CPUs, translating code while another one
 * writes to it, may run into the breakpoint of such a patch for ever after it is
 * gone from memory: "Oops: int3" in __schedule, or a hang there with interrupts off,
 * of which no watchdog tells. So all those jumps are patched once, while nothing else
 * runs.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .exclude_kernel = 1,
	};
	pid_t pid;

	/* A kernel lacks some kinds, whose jumps it has not either. */
	for (attr.config = 0; attr.config < PERF_COUNT_SW_MAX; attr.config++)
		syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid)
		return printf("%d\n", (int)pid) < 0;
	close(STDOUT_FILENO);	/* whose end the session waits for */
	for (;;)
		pause();
}
