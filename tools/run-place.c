// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-place - one group of the scheduler for all ranks, by what is allowed here
 *
 * A yield gives the CPU to tasks of the same group only. Tasks in the root
 * cgroup are grouped by session (autogroups), and MPICH's launcher makes every
 * rank a session leader, so there each rank is alone in its group. In any other
 * cgroup with the cpu controller, and without autogroups, all share one group.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include "run.h"

static const char *const names[NWAYS] = {
	[WAY_NONE] = "none",
	[WAY_ALREADY] = "already",
	[WAY_CGROUP] = "cgroup",
	[WAY_SESSION] = "session",
	[WAY_AUTOGROUP] = "autogroup",
};

const char *way_name(enum way way)
{
	return names[way];
}

struct place *place_new(void)
{
	struct place *place = mmap(NULL, sizeof(*place), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		return NULL;
	place->lock = -1;
	return place;
}

static int take(struct place *place, enum way way)
{
	char *why = place->why[way];
	size_t len = sizeof(place->why[way]);
	int err = 0;

	if (way == WAY_CGROUP)
		err = cgroup_make(place, why, len);
	else if (way == WAY_AUTOGROUP)
		err = autogroup_disable(place, why, len);
	if (!err)
		place->way = way;
	return err;
}

/*
 * The cgroup first: it holds whatever the job starts, and what is left in it can
 * be found. Keeping the launcher from making sessions needs no privileges, but
 * only helps with launchers that are known.
 */
int place_take(struct place *place, int wanted)
{
	if (wanted != WAY_ANY)
		return take(place, (enum way)wanted);
	if (!cgroup_is_root() || autogroup_is_off()) {
		place->way = WAY_ALREADY;
		return 0;
	}
	return take(place, WAY_CGROUP) ? take(place, WAY_SESSION) : 0;
}

int place_enter(const struct place *place)
{
	return place->way == WAY_CGROUP ? cgroup_enter(place) : 0;
}

void place_undo(struct place *place, double grace_s)
{
	cgroup_remove(place, grace_s);
	autogroup_restore(place);
}
