// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * child - run a program for what it prints, with a deadline
 *
 * Input and complaints go through files in memory, so that only one pipe is to
 * be watched and no program can block on the others.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"
#include "child.h"

/* More than any picture; a program gone wild is not to eat the memory. */
#define MOST_OUTPUT ((size_t)64 << 20)

static double read_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A file in memory that holds @text, to be read from its start. */
static int open_memory(const char *text)
{
	size_t len = text ? strlen(text) : 0;
	int fd = memfd_create("sonde", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < len;) {
		ssize_t n = pwrite(fd, text + done, len - done, (off_t)done);

		if (n < 0 && errno != EINTR) {
			int err = -errno;

			close(fd);
			return err;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return fd;
}

static int spawn(pid_t *pid, const char *const *argv, int in, int out, int errors)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t defaults;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return -err;
	err = posix_spawnattr_init(&attr);
	if (err) {
		posix_spawn_file_actions_destroy(&actions);
		return -err;
	}
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	posix_spawnattr_setsigdefault(&attr, &defaults);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
	if ((err = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO)) == 0 &&
	    (err = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO)) == 0 &&
	    (err = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO)) == 0)
		err = posix_spawnp(pid, argv[0], &actions, &attr, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Room for one more block and a NUL. */
static int grow(struct child *child, size_t *room, size_t block)
{
	char *larger;

	if (child->output_len + block + 1 <= *room)
		return 0;
	if (*room >= MOST_OUTPUT)
		return -EFBIG;
	*room = *room ? 2 * *room : 2 * block;
	larger = realloc(child->output, *room);
	if (!larger)
		return -ENOMEM;
	child->output = larger;
	return 0;
}

/* Until it closes its output, is late, or we are stopped. */
static int collect(struct child *child, int fd)
{
	const size_t block = 64 * 1024;
	double end = read_clock() + child->deadline_s;
	size_t room = 0;

	for (;;) {
		struct pollfd watch = { .fd = fd, .events = POLLIN };
		ssize_t n;
		int err = grow(child, &room, block);

		if (err)
			return err;
		if (cli_stop_requested())
			return -ECANCELED;
		if (read_clock() > end)
			return -ETIMEDOUT;
		/* Short, since a signal may come between the question above and this. */
		if (poll(&watch, 1, 100) <= 0)
			continue;
		n = read(fd, child->output + child->output_len, block);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		child->output_len += n > 0 ? (size_t)n : 0;
	}
	child->output[child->output_len] = '\0';
	return 0;
}

/* Return: 0 when it has ended, -ETIMEDOUT, -ECANCELED, or what poll(2) said. */
static int await_end(pid_t pid, double deadline_s)
{
	struct pollfd watch = { .fd = pidfd_open(pid, 0), .events = POLLIN };
	double end = read_clock() + deadline_s;
	int err = watch.fd < 0 ? -errno : -EAGAIN;

	while (err == -EAGAIN) {
		int n = poll(&watch, 1, 100);

		if (n > 0)
			err = 0;
		else if (n < 0 && errno != EINTR)
			err = -errno;
		else if (cli_stop_requested())
			err = -ECANCELED;
		else if (read_clock() > end)
			err = -ETIMEDOUT;
	}
	if (watch.fd >= 0)
		close(watch.fd);
	return err;
}

/*
 * Closing its output is not the same as ending, so the deadline holds here too.
 * Return: @err, or what went wrong here; then it was killed.
 */
static int reap(pid_t pid, int err, double deadline_s, int *status)
{
	if (!err)
		err = await_end(pid, deadline_s);
	if (err)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return err;
}

/* The first line that says something. */
static void read_complaint(struct child *child, int fd)
{
	ssize_t n = pread(fd, child->why, sizeof(child->why) - 1, 0);
	char *text = child->why;

	child->why[n > 0 ? n : 0] = '\0';
	text += strspn(text, " \t\r\n");
	memmove(child->why, text, strlen(text) + 1);
	child->why[strcspn(child->why, "\r\n")] = '\0';
}

static int judge_end(struct child *child, int err, int status, int errors)
{
	if (!err && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	read_complaint(child, errors);
	if (err == -ETIMEDOUT)
		snprintf(child->why, sizeof(child->why), "not done after %.0f s",
			 child->deadline_s);
	else if (err)
		snprintf(child->why, sizeof(child->why), "%s", strerror(-err));
	else if (WIFSIGNALED(status))
		snprintf(child->why, sizeof(child->why), "ended by signal %d", WTERMSIG(status));
	else if (!*child->why)
		snprintf(child->why, sizeof(child->why), "exit status %d", WEXITSTATUS(status));
	return err ? err : -EIO;
}

static int run_between(struct child *child, int in, int errors)
{
	int ends[2], err, status = 0;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	err = spawn(&pid, child->argv, in, ends[1], errors);
	close(ends[1]);
	if (!err) {
		err = collect(child, ends[0]);
		err = reap(pid, err, child->deadline_s, &status);
		err = judge_end(child, err, status, errors);
	} else {
		snprintf(child->why, sizeof(child->why), "%s", strerror(-err));
	}
	close(ends[0]);
	return err;
}

int child_run(struct child *child)
{
	int in = open_memory(child->input);
	int errors = in < 0 ? in : open_memory(NULL);
	int err = errors;

	child->output = NULL;
	child->output_len = 0;
	*child->why = '\0';
	if (errors >= 0) {
		err = run_between(child, in, errors);
		close(errors);
	}
	if (in >= 0)
		close(in);
	if (err) {
		free(child->output);
		child->output = NULL;
	}
	return err;
}
