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

/* Of a logarithmic y axis in nanoseconds, and an x axis in bytes from 1. */
#define PLOT_TIME_TICS \
	"set ytics ('1 ns' 1, '10 ns' 10, '100 ns' 100, '1 us' 1e3, '10 us' 1e4, " \
	"'100 us' 1e5, '1 ms' 1e6, '10 ms' 1e7, '100 ms' 1e8, '1 s' 1e9) nomirror\n"
#define PLOT_BYTE_TICS \
	"set xtics ('1 B' 1, '16 B' 16, '256 B' 256, '4 KiB' 4096, '64 KiB' 65536, " \
	"'1 MiB' 1048576, '16 MiB' 16777216, '256 MiB' 268435456) nomirror\n"

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
