// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * topology - the picture of what the machine claims to be, by lstopo
 */
#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include "child.h"
#include "picture.h"

#define LSTOPO_DEADLINE_S 10

/* hwloc comes with one of them or both; each can draw SVG. */
static int run_lstopo(struct child *child)
{
	static const char *const programs[] = { "lstopo-no-graphics", "lstopo" };
	int err = -ENOENT;

	for (size_t i = 0; i < 2 && err == -ENOENT; i++) {
		const char *const argv[] = {
			programs[i], "--of", "svg", "--no-io", "--no-legend", NULL,
		};

		*child = (struct child){ .argv = argv, .deadline_s = LSTOPO_DEADLINE_S };
		err = child_run(child);
		child->argv = NULL;
	}
	return err;
}

int picture_topology(struct picture *picture)
{
	struct child child;
	int err = run_lstopo(&child);

	if (!err) {
		err = svg_embed(child.output, "topology", "Topology of the machine as claimed by firmware "
				"and kernel", picture);
		free(child.output);
		if (err)
			snprintf(picture->why, sizeof(picture->why),
				 "lstopo drew something that is not SVG");
	} else if (err == -ENOENT) {
		snprintf(picture->why, sizeof(picture->why), "no picture of the topology: "
			 "lstopo is not installed (Debian: hwloc-nox)");
	} else {
		snprintf(picture->why, sizeof(picture->why), "no picture of the topology: "
			 "lstopo failed: %s", child.why);
	}
	return err;
}
