/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pictures by gnuplot share. */
#ifndef SONDE_TOOLS_PLOT_H
#define SONDE_TOOLS_PLOT_H

#include <stdio.h>
#include "picture.h"

/* What was measured and what is claimed never have the same mark. */
#define PLOT_CURVE	"#2f7fc1"
#define PLOT_MEASURED	"#22996b"
#define PLOT_CLAIMED	"#c2487f"
#define PLOT_FAINT	"#888888"

/**
 * struct plot - a picture
 * @id: begins the ids in it, so that no two pictures of a page share one
 * @what: it is of: "the curve"
 * @label: for who cannot see it
 * @nothing: why there is none, where @write says -ENODATA
 * @write: its script. Return: 0, -ENODATA
 */
struct plot {
	const char *id;
	const char *what;
	const char *label;
	const char *nothing;
	int (*write)(FILE *out, const struct machine *m);
};

/* Return: 0, -ECANCELED, -ENODATA, or whatever @picture says why. */
int plot_picture(const struct machine *m, const struct plot *plot, struct picture *picture);
int plot_draw(const char *script, const struct plot *plot, struct picture *picture);

/* "set xtics" of sizes within @x0 to @x1 bytes. */
void plot_size_tics(FILE *out, double x0, double x1);

/* "L2 2 MiB", "L3 cannot be told": what stands beside a level's mark. */
void plot_name_level(char *buf, size_t len, const struct sonde_cache_level *level);

#endif
