/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the guest's tests share: the two nodes, the raw ioctls, and a change of
 * identity. No libsonde here: it is the module that is tested.
 */
#ifndef TESTS_GUEST_NODES_H
#define TESTS_GUEST_NODES_H

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/sonde.h>

#include "tap.h"

#define MAIN_NODE	"/dev/sonde"
#define PROBE_NODE	"/dev/sonde-probe"
#define NOBODY		65534
#define SMALL_PAGE	4096UL

/* What the nodes serve, and what root may do with it. */
#define MAIN_FEATURES	(SONDE_FEAT_REGION | SONDE_FEAT_COPYV | SONDE_FEAT_ASYNC | \
			 SONDE_FEAT_MAP | SONDE_FEAT_DSM | SONDE_FEAT_DSM_PEERS | \
			 SONDE_FEAT_DSM_KEEP | SONDE_FEAT_DSM_ACCESSED | \
			 SONDE_FEAT_DSM_RING)
#define PROBE_FEATURES	(SONDE_FEAT_FRAMES | SONDE_FEAT_ALLOC | SONDE_FEAT_CHASE | \
			 SONDE_FEAT_CLOCK | SONDE_FEAT_PREFETCH | SONDE_FEAT_FLUSH)
#define ROOT_RIGHTS	(SONDE_RIGHT_FRAMES | SONDE_RIGHT_PREFETCH | \
			 SONDE_RIGHT_EVENTS)
#define COMMANDS	17	/* the first number that is none */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

__attribute__((unused))
static int open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	check_msg(fd >= 0, "cannot open %s: %s", path, strerror(errno));
	return fd;
}

/* 0 or -errno. */
__attribute__((unused))
static int do_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) < 0 ? -errno : 0;
}

__attribute__((unused))
static struct sonde_info get_info(int fd)
{
	struct sonde_info info = { .size = sizeof(info) };

	check_int(do_ioctl(fd, SONDE_IOC_INFO, &info), 0);
	return info;
}

/* SONDE_IOC_FRAMES: 0 or -errno; @done may be NULL. */
__attribute__((unused))
static int get_frames(int fd, const void *addr, uint64_t npages,
		      struct sonde_frame *entries, uint32_t flags,
		      uint64_t *done)
{
	struct sonde_frames args = {
		.size = sizeof(args),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.npages = npages,
		.entries = (uintptr_t)entries,
	};
	int ret = do_ioctl(fd, SONDE_IOC_FRAMES, &args);

	if (done)
		*done = args.done;
	return ret;
}

/* Become nobody for good, with the group @gid (or only nobody's). */
__attribute__((unused))
static void become_nobody(gid_t gid)
{
	check_int(setgroups(0, NULL), 0);
	check_int(setresgid(gid, gid, gid), 0);
	check_int(setresuid(NOBODY, NOBODY, NOBODY), 0);
}

/* The group that may open the probe node. */
__attribute__((unused))
static gid_t probe_group(void)
{
	struct group *gr = getgrnam("sonde");

	check_msg(gr, "there is no group sonde");
	return gr->gr_gid;
}

/* Waits for a child; the test goes as the child went. */
__attribute__((unused))
static void join_child(pid_t pid)
{
	int status;

	check(pid > 0);
	check_int(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TAP_SKIPPED)
		_exit(TAP_SKIPPED);
	check_msg(WIFEXITED(status) && !WEXITSTATUS(status),
		  "child failed (status %#x)", status);
}

/* Runs @run in a child of the test; a failure there is one here. */
__attribute__((unused))
static void in_child(void (*run)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		run();
		fflush(stdout);
		_exit(0);
	}
	join_child(pid);
}

__attribute__((unused))
static bool have_nodes(void)
{
	return !access(MAIN_NODE, F_OK) && !access(PROBE_NODE, F_OK);
}

static inline bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

#endif
