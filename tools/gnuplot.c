// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * gnuplot - a script becomes a picture
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "child.h"
#include "plot.h"

#define GNUPLOT_DEADLINE_S 10

int plot_draw(const char *script, const struct plot *plot, struct picture *picture)
{
	/* -d: whatever a person set for plots of their own stays out. */
	const char *const argv[] = { "gnuplot", "-d", NULL };
	struct child child = {
		.argv = argv,
		.input = script,
		.deadline_s = GNUPLOT_DEADLINE_S,
	};
	int err = child_run(&child);

	if (!err) {
		err = svg_embed(child.output, plot->id, plot->label, picture);
		free(child.output);
		if (err)
			snprintf(picture->why, sizeof(picture->why),
				 "no picture of %s: gnuplot drew something that is not SVG",
				 plot->what);
	} else if (err == -ENOENT) {
		snprintf(picture->why, sizeof(picture->why), "no picture of %s: "
			 "gnuplot is not installed (Debian: gnuplot-nox)", plot->what);
	} else {
		snprintf(picture->why, sizeof(picture->why), "no picture of %s: "
			 "gnuplot failed: %s", plot->what, child.why);
	}
	return err;
}

int plot_picture(const struct machine *m, const struct plot *plot, struct picture *picture)
{
	char *script = NULL;
	size_t len;
	FILE *out = open_memstream(&script, &len);
	int err = -ENOMEM;

	if (out) {
		err = plot->write(out, m);
		if (fclose(out))
			err = -ENOMEM;
	}
	if (!err)
		err = plot_draw(script, plot, picture);
	else
		snprintf(picture->why, sizeof(picture->why), "no picture of %s: %s", plot->what,
			 err == -ENODATA ? plot->nothing : "not enough memory");
	free(script);
	return err;
}
