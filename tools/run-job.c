// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-job - the program: started in its place, signalled, waited for
 *
 * It stays in our process group, so that the terminal treats it as if it had
 * been started without us. What the terminal sends reaches it by itself; what
 * was sent to us alone is passed on.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "run.h"

/* What is left running has so long to end. */
#define GRACE_S 2

static const int passed_on[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };

#define NPASSED (sizeof(passed_on) / sizeof(passed_on[0]))

/* Read by the handler. */
static _Atomic pid_t job;

static void pass_on(int sig, siginfo_t *info, void *context)
{
	pid_t pid = atomic_load(&job);
	int saved = errno;

	(void)context;
	/* SI_KERNEL: a key of the terminal, which the whole group got. */
	if (pid > 0 && info->si_code <= 0)
		kill(pid, sig);
	errno = saved;
}

/* What our parent had us ignore stays ignored, here and there. */
static void catch_signals(sigset_t *caught)
{
	struct sigaction old, action = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };

	sigemptyset(&action.sa_mask);
	sigemptyset(caught);
	for (size_t i = 0; i < NPASSED; i++) {
		if (sigaction(passed_on[i], NULL, &old) || old.sa_handler == SIG_IGN)
			continue;
		sigaddset(caught, passed_on[i]);
		sigaction(passed_on[i], &action, NULL);
	}
}

/* In the child. What goes wrong is told by the pipe, which exec closes. */
_Noreturn static void become(char **argv, const struct place *place, pid_t parent, int pipe)
{
	int err;

	/* If we are killed, the launcher is to end its ranks. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	err = getppid() == parent ? place_enter(place) : -ECANCELED;
	if (!err) {
		execvp(argv[0], argv);
		err = -errno;
	}
	if (write(pipe, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

static int start(char **argv, const struct place *place, pid_t *pid)
{
	sigset_t caught, old;
	pid_t parent = getpid();
	int ends[2], err = 0;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	catch_signals(&caught);
	/* A signal meanwhile waits until there is somebody to pass it to. */
	sigprocmask(SIG_BLOCK, &caught, &old);
	*pid = fork();
	if (*pid == 0) {
		for (int sig = 1; sig < NSIG; sig++)
			if (sigismember(&caught, sig) == 1)
				signal(sig, SIG_DFL);
		sigprocmask(SIG_SETMASK, &old, NULL);
		become(argv, place, parent, ends[1]);
	}
	if (*pid < 0)
		err = -errno;
	close(ends[1]);
	if (!err && read(ends[0], &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(ends[0]);
	if (err && *pid > 0)
		waitpid(*pid, NULL, 0);
	else
		atomic_store(&job, *pid);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

static double read_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The children that came to us when their parents ended, but not the keeper. */
static int signal_orphans(pid_t keeper, int sig)
{
	char path[64];
	FILE *file;
	int pid, n = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fscanf(file, "%d", &pid) == 1) {
		if (pid == keeper)
			continue;
		n++;
		if (sig)
			kill(pid, sig);
		waitpid(pid, NULL, WNOHANG);
	}
	fclose(file);
	return n;
}

/*
 * Ranks that lost their launcher may wait for each other for ever. Their death
 * brings their own children to us, so this goes on until nobody is left.
 */
static void end_orphans(pid_t keeper)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	double end = read_seconds() + GRACE_S;

	while (signal_orphans(keeper, read_seconds() > end ? SIGKILL : 0))
		nanosleep(&pause, NULL);
}

/* And bury whoever comes to us meanwhile. */
static void await(pid_t pid, int *status)
{
	pid_t ended;
	int how;

	do {
		ended = waitpid(-1, &how, 0);
		if (ended == pid)
			*status = how;
	} while (ended != pid && (ended > 0 || errno == EINTR));
}

int job_run(char **argv, const struct place *place, pid_t keeper, int *status)
{
	pid_t pid;
	int err;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	err = start(argv, place, &pid);
	if (err)
		return err;
	await(pid, status);
	atomic_store(&job, 0);
	end_orphans(keeper);
	return 0;
}
