// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plot-sweeps - misses by how many lines of one set are loaded in turn
 *
 * A panel for each level, a curve for each set that was found. Beside them what
 * strict LRU would do, so that a level's replacement shows.
 */
#include <errno.h>
#include <stdio.h>
#include "plot.h"

#define PANEL_WIDTH	520
#define ALONE_WIDTH	700
#define PANEL_HEIGHT	440

static const char *const colours[] = { PLOT_CURVE, "#c98a1a", "#7b5fc0" };
#define NCOLOURS (sizeof(colours) / sizeof(colours[0]))

static int count_levels(const struct sonde_cache_report *caches)
{
	int n = 0;

	for (size_t i = 0; i < caches->nlevels; i++)
		n += caches->levels[i].nsweeps > 0;
	return n;
}

static unsigned int longest(const struct sonde_cache_level *level)
{
	unsigned int n = 0;

	for (size_t i = 0; i < level->nsweeps; i++)
		if (level->sweeps[i].n > n)
			n = level->sweeps[i].n;
	return n;
}

/* Once for each number of ways that a set was found to have. */
static void write_ways(FILE *out, const struct sonde_cache_level *level)
{
	for (size_t i = 0; i < level->nsweeps; i++) {
		unsigned int ways = level->sweeps[i].ways;
		size_t before = 0;

		while (before < i && level->sweeps[before].ways != ways)
			before++;
		if (before < i || !ways)
			continue;
		fprintf(out, "set arrow from %u, graph 0 to %u, graph 1 nohead back "
			"lc rgb '" PLOT_MEASURED "' lw 2\n", ways, ways);
		/* On the side where there is room, and none on another. */
		fprintf(out, "set label '%u ways' at %u, graph %g %s offset %s, 0 "
			"textcolor rgb '" PLOT_MEASURED "'\n", ways, ways, 0.9 - 0.08 * (double)i,
			3 * ways < longest(level) ? "left" : "right",
			3 * ways < longest(level) ? "0.6" : "-0.6");
	}
}

static void write_data(FILE *out, const struct sonde_cache_level *level)
{
	for (size_t i = 0; i < level->nsweeps; i++) {
		const struct sonde_cache_sweep *sweep = &level->sweeps[i];

		fprintf(out, "$l%u_%zu << END\n", level->level, i);
		for (unsigned int k = 1; k <= sweep->n; k++)
			fprintf(out, "%u %g\n", k, sweep->misses[k]);
		fputs("END\n", out);
	}
}

static void write_panel(FILE *out, const struct sonde_cache_level *level)
{
	unsigned int most = longest(level), ways = level->sweeps[0].ways;

	write_data(out, level);
	fputs("unset arrow\nunset label\n", out);
	write_ways(out, level);
	fprintf(out, "set title 'L%u'\nset xrange [0:%u]\nset yrange [0:%u]\n", level->level,
		most + 1, most + 1);
	fprintf(out, "plot (x > %u ? x : 0) with lines lc rgb '" PLOT_FAINT "' dt 2 "
		"title 'if all missed (strict LRU)'", ways);
	for (size_t i = 0; i < level->nsweeps; i++)
		fprintf(out, ", $l%u_%zu with linespoints lc rgb '%s' lw 1.8 pt 7 ps 0.5 "
			"title 'at %u B of pages'", level->level, i,
			colours[i % NCOLOURS], level->sweeps[i].offset);
	fputc('\n', out);
}

static int write_script(FILE *out, const struct machine *m)
{
	const struct sonde_cache_report *caches = m->caches;
	int n = count_levels(caches);

	if (!n)
		return -ENODATA;
	fprintf(out,
		"set terminal svg size %d,%d dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set samples 1000\n"
		"set border 3 lc rgb '" PLOT_FAINT "'\n"
		"set tics nomirror\n"
		"set xlabel 'lines of one set, loaded in turn'\n"
		"set ylabel 'misses a turn'\n"
		"set bmargin 6.5\n"
		"set key bmargin center vertical maxrows 2 Left reverse samplen 2\n"
		"set multiplot layout 1,%d\n",
		n > 1 ? n * PANEL_WIDTH : ALONE_WIDTH, PANEL_HEIGHT, n);
	for (size_t i = 0; i < caches->nlevels; i++)
		if (caches->levels[i].nsweeps)
			write_panel(out, &caches->levels[i]);
	fputs("unset multiplot\n", out);
	return 0;
}

static const struct plot sweeps = {
	.id = "sweeps",
	.what = "misses by lines of one set",
	.label = "Misses a turn by how many lines of one set are loaded in turn",
	.nothing = "no set of lines that overflows a level below the first was found here",
	.write = write_script,
};

int picture_sweeps(const struct machine *m, struct picture *picture)
{
	return plot_picture(m, &sweeps, picture);
}
