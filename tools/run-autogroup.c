// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-autogroup - the machine's setting that gives each session its own group
 *
 * It is switched off for everybody, so only when asked for. Several runs may
 * need that at a time: each holds a shared lock on the setting while it needs it
 * off and it would be on without us; whoever gets it alone in the end is the
 * last one and switches it on again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include "run.h"

#define SETTING "/proc/sys/kernel/sched_autogroup_enabled"

int autogroup_is_off(void)
{
	char value = '0';
	int fd = open(SETTING, O_RDONLY | O_CLOEXEC);

	/* No setting: no autogroups. */
	if (fd < 0)
		return 1;
	if (pread(fd, &value, 1, 0) != 1)
		value = '0';
	close(fd);
	return value == '0';
}

int autogroup_open(struct place *place, char *why, size_t len)
{
	int err;

	place->lock = open(SETTING, O_RDWR | O_CLOEXEC);
	if (place->lock >= 0)
		return 0;
	err = -errno;
	if (err == -ENOENT)
		snprintf(why, len, "this kernel has no autogroups");
	else
		snprintf(why, len, "%s: %s; only root may", SETTING, strerror(-err));
	return err;
}

static int switch_off(int fd)
{
	char value;

	if (flock(fd, LOCK_SH) || pread(fd, &value, 1, 0) != 1)
		return -errno;
	if (value != '0')
		return pwrite(fd, "0", 1, 0) == 1 ? 0 : -errno;
	/* Off already. If that is not by one of us, there is nothing to restore. */
	if (!flock(fd, LOCK_EX | LOCK_NB))
		return flock(fd, LOCK_UN) ? -errno : -EALREADY;
	return flock(fd, LOCK_SH) ? -errno : 0;
}

int autogroup_disable(struct place *place, char *why, size_t len)
{
	int err = switch_off(place->lock);

	if (!err) {
		place->is_off = 1;
		return 0;
	}
	snprintf(why, len, "%s: %s", SETTING,
		 err == -EALREADY ? "is off, and helps nothing" : strerror(-err));
	return err;
}

void autogroup_restore(struct place *place)
{
	if (place->is_off && !flock(place->lock, LOCK_EX | LOCK_NB) &&
	    pwrite(place->lock, "1", 1, 0) == 1)
		place->is_off = 0;
	if (place->lock >= 0)
		close(place->lock);
}
