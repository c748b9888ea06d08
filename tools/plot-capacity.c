// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plot-capacity - what a load costs by how much of a level its lines stand for
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include "plot.h"
#include "text.h"

static const char *const colours[] = { PLOT_CURVE, "#c98a1a" };
#define NCOLOURS (sizeof(colours) / sizeof(colours[0]))

struct extent {
	double x0, x1, y1;
};

static int is_shown(const struct sonde_cache_reach *reach, unsigned int i)
{
	return reach->bytes[i] > 0 && reach->cycles[i] > 0;
}

static void include(struct extent *extent, double x, double y)
{
	if (!(x > 0))
		return;
	extent->x0 = fmin(extent->x0, x);
	extent->x1 = fmax(extent->x1, x);
	extent->y1 = fmax(extent->y1, y);
}

/* All points, and of the levels they belong to what is known of their sizes. */
static int choose_extent(const struct machine *m, struct extent *extent)
{
	*extent = (struct extent){ INFINITY, 0, 0 };
	for (size_t i = 0; i < m->caches->nlevels; i++) {
		const struct sonde_cache_level *level = &m->caches->levels[i];
		const struct sonde_cache_reach *reach = &level->reach;

		for (unsigned int k = 0; k < reach->n; k++)
			if (is_shown(reach, k))
				include(extent, reach->bytes[k], reach->cycles[k]);
		if (reach->n) {
			include(extent, (double)level->size_low, 0);
			include(extent, (double)level->size_high, 0);
		}
	}
	if (!(extent->x1 > 0) || !(extent->y1 > 0))
		return -ENODATA;
	extent->x0 /= 1.2;
	extent->x1 *= 1.2;
	extent->y1 *= 1.15;
	return 0;
}

static void write_data(FILE *out, const struct sonde_cache_level *level)
{
	const struct sonde_cache_reach *reach = &level->reach;

	fprintf(out, "$l%u << END\n", level->level);
	for (unsigned int i = 0; i < reach->n; i++)
		if (is_shown(reach, i))
			fprintf(out, "%g %g\n", reach->bytes[i], reach->cycles[i]);
	fputs("END\n", out);
}

static void write_mark(FILE *out, const struct sonde_cache_level *level,
		       const struct extent *extent)
{
	double low = level->size_low ? (double)level->size_low : extent->x0;
	double high = level->size_high ? (double)level->size_high : extent->x1;
	char name[2 * TEXT_LEN + 16];

	if (!level->size && !level->size_low && !level->size_high)
		return;
	if (high > low)
		fprintf(out, "set object rectangle from %.0f, graph 0 to %.0f, graph 1 behind "
			"fillcolor rgb '" PLOT_MEASURED "' fillstyle solid 0.13 noborder\n",
			low, high);
	if (level->size)
		fprintf(out, "set arrow from %llu, graph 0 to %llu, graph 1 nohead back "
			"lc rgb '" PLOT_MEASURED "' lw 2\n", (unsigned long long)level->size,
			(unsigned long long)level->size);
	plot_name_level(name, sizeof(name), level);
	fprintf(out, "set label '%s' at %.0f, graph 1.06 center "
		"textcolor rgb '" PLOT_MEASURED "'\n", name, sqrt(low * high));
}

static void write_curves(FILE *out, const struct sonde_cache_report *caches)
{
	const char *separator = "plot ";
	size_t n = 0;

	for (size_t i = 0; i < caches->nlevels; i++) {
		const struct sonde_cache_level *level = &caches->levels[i];

		if (!level->reach.n)
			continue;
		fprintf(out, "%s$l%u with linespoints lc rgb '%s' lw 1.8 pt 7 ps 0.5 "
			"title 'L%u, by set sampling'", separator, level->level,
			colours[n++ % NCOLOURS], level->level);
		separator = ", ";
	}
	fputs(", NaN with lines lc rgb '" PLOT_MEASURED "' lw 2 title 'measured size'\n", out);
}

static int write_script(FILE *out, const struct machine *m)
{
	const struct sonde_cache_report *caches = m->caches;
	struct extent extent;

	if (choose_extent(m, &extent))
		return -ENODATA;
	fprintf(out,
		"set terminal svg size 800,400 dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set tmargin 3\n"
		"set border 3 lc rgb '" PLOT_FAINT "'\n"
		"set logscale x\n"
		"set ytics nomirror\n"
		"set xrange [%.0f:%.0f]\n"
		"set yrange [0:%g]\n"
		"set xlabel 'size that the lines stand for'\n"
		"set ylabel 'core cycles a load'\n"
		"set bmargin 5\n"
		"set key bmargin center horizontal maxrows 1 samplen 2\n",
		extent.x0, extent.x1, extent.y1);
	plot_size_tics(out, extent.x0, extent.x1);
	for (size_t i = 0; i < caches->nlevels; i++) {
		if (!caches->levels[i].reach.n)
			continue;
		write_data(out, &caches->levels[i]);
		write_mark(out, &caches->levels[i], &extent);
	}
	write_curves(out, caches);
	return 0;
}

static const struct plot capacity = {
	.id = "capacity",
	.what = "capacity by set sampling",
	.label = "Latency of a load by how much of a level its lines stand for",
	.nothing = "no level beyond the second could be sampled here",
	.write = write_script,
};

int picture_capacity(const struct machine *m, struct picture *picture)
{
	return plot_picture(m, &capacity, picture);
}
