// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-keeper - undoes what `sonde run` made if that is killed
 *
 * A process of its own, in a session of its own, that reads a pipe: a byte says
 * that all is undone; the end of file, that whoever should have undone it is
 * dead. Nothing of ours is open in it but that pipe and the setting's lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "run.h"

/* What the job gets to end by itself after it was told to. */
#define GRACE_S 5

static void ignore_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_IGN);
}

/* Whoever reads what the job prints is not to wait for us. */
static void close_streams(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
}

_Noreturn static void keep(struct place *place, const char *report, int pipe)
{
	ssize_t n;
	char byte;

	setsid();
	ignore_signals();
	close_streams();
	prctl(PR_SET_NAME, "sonde-run-keep");
	while ((n = read(pipe, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n == 0) {
		place_undo(place, GRACE_S);
		if (report)
			unlink(report);
	}
	_exit(0);
}

int keeper_start(struct keeper *keeper, struct place *place, const char *report)
{
	int ends[2], err;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	keeper->pid = fork();
	if (keeper->pid == 0) {
		close(ends[1]);
		keep(place, report, ends[0]);
	}
	err = -errno;
	close(ends[0]);
	keeper->pipe = ends[1];
	if (keeper->pid > 0)
		return 0;
	close(ends[1]);
	return err;
}

void keeper_dismiss(struct keeper *keeper)
{
	ssize_t n;

	/* If it is gone already, nobody is missed. */
	signal(SIGPIPE, SIG_IGN);
	do
		n = write(keeper->pipe, "", 1);
	while (n < 0 && errno == EINTR);
	close(keeper->pipe);
	while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
		;
}
