// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plot - the latency curve as a picture, by gnuplot
 *
 * Size and latency both logarithmic, so that a level is a step wherever it
 * lies. What was measured of a level is a line and an area (its interval),
 * what is claimed of it is a diamond with a dashed line: never the same mark.
 *
 * What has no colour of its own is black, and the page draws that as its ink:
 * dark on light, light on dark. The other colours are readable on both.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "text.h"
#include "plot.h"

/**
 * struct axes - what is shown
 * @x0: bytes, left end; @x1 right end
 * @y0: cycles, lower end; @y1 upper end
 * @ghz: core cycles a nanosecond, 0 if it is not known
 */
struct axes {
	double x0, x1, y0, y1;
	double ghz;
};

static int is_shown(const struct sonde_cache_point *point)
{
	return point->latency.cycles > 0 && point->bytes > 0;
}

static void include_x(struct axes *axes, double x)
{
	if (!(x > 0))
		return;
	axes->x0 = fmin(axes->x0, x);
	axes->x1 = fmax(axes->x1, x);
}

/* Everything that is marked, with room around it. Return: 0, -ENODATA. */
static int choose_axes(const struct machine *m, struct axes *axes)
{
	*axes = (struct axes){ INFINITY, 0, INFINITY, 0, m->caches->core_hz / 1e9 };
	for (size_t i = 0; i < m->caches->npoints; i++) {
		const struct sonde_cache_point *p = &m->caches->points[i];

		if (!is_shown(p))
			continue;
		include_x(axes, (double)p->bytes);
		axes->y0 = fmin(axes->y0, p->latency.cycles);
		axes->y1 = fmax(axes->y1, p->latency.cycles);
	}
	if (!(axes->x1 > 0))
		return -ENODATA;
	for (size_t i = 0; i < m->nclaims; i++)
		include_x(axes, (double)m->claims[i].size);
	for (size_t i = 0; i < m->caches->nlevels; i++)
		include_x(axes, (double)m->caches->levels[i].size_high);
	axes->x0 /= 1.2;
	axes->x1 *= 1.4;
	axes->y0 /= 1.8;
	axes->y1 *= 2.2;
	return 0;
}

/* A tick every two octaves of many: closer, the words run into each other. */
void plot_size_tics(FILE *out, double x0, double x1)
{
	double step = x1 > 256 * x0 ? 4 : 2;
	const char *separator = "";
	char size[TEXT_LEN];

	fputs("set xtics (", out);
	for (double x = 1024; x < x1; x *= step) {
		if (x < x0)
			continue;
		fprintf(out, "%s\"%s\" %.0f", separator, text_size(size, (uint64_t)x), x);
		separator = ", ";
	}
	fputs(") nomirror\n", out);
}

/* 1, 2, 5, 10, ... */
static void write_log_tics(FILE *out, const char *axis, double low, double high)
{
	static const double steps[] = { 1, 2, 5 };
	const char *separator = "";

	fprintf(out, "set %stics (", axis);
	for (double decade = 1e-3; decade < 1e9; decade *= 10) {
		for (int i = 0; i < 3; i++) {
			double tic = decade * steps[i];

			if (tic < low || tic > high)
				continue;
			fprintf(out, "%s\"%g\" %g", separator, tic, tic);
			separator = ", ";
		}
	}
	fputs(") nomirror\n", out);
}

static void write_axes(FILE *out, const struct axes *axes)
{
	fprintf(out,
		"set terminal svg size 800,520 dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set tmargin 4.4\n"
		"set border 11 lc rgb '" PLOT_FAINT "'\n"
		"set logscale xyy2\n"
		"set xrange [%.0f:%.0f]\n"
		"set yrange [%g:%g]\n"
		"set xlabel 'working set'\n"
		"set ylabel 'core cycles a load'\n"
		"set bmargin 5\n"
		"set key bmargin center horizontal maxrows 1 samplen 2\n",
		axes->x0, axes->x1, axes->y0, axes->y1);
	plot_size_tics(out, axes->x0, axes->x1);
	write_log_tics(out, "y", axes->y0, axes->y1);
	if (!(axes->ghz > 0))
		return;
	fprintf(out, "set y2range [%g:%g]\nset y2label 'ns at %.3g GHz'\n",
		axes->y0 / axes->ghz, axes->y1 / axes->ghz, axes->ghz);
	write_log_tics(out, "y2", axes->y0 / axes->ghz, axes->y1 / axes->ghz);
}

static const char *suffix_level(const struct sonde_cache_level *level)
{
	return level->level == 1 && level->type == SONDE_CACHE_DATA ? "d" : "";
}

/* Where a level's name stands: at its size, or amid what is known of it. */
static double find_middle(const struct sonde_cache_level *level, const struct axes *axes)
{
	double low = level->size_low ? (double)level->size_low : axes->x0;
	double high = level->size_high ? (double)level->size_high : axes->x1;

	return level->size ? (double)level->size : sqrt(low * high);
}

void plot_name_level(char *buf, size_t len, const struct sonde_cache_level *level)
{
	char low[TEXT_LEN], high[TEXT_LEN];
	const char *suffix = suffix_level(level);
	unsigned int number = level->level;

	text_size(low, level->size_low);
	text_size(high, level->size_high);
	if (level->size)
		snprintf(buf, len, "L%u%s %s", number, suffix, text_size(low, level->size));
	else if (level->size_low && level->size_high)
		snprintf(buf, len, "L%u%s %s to %s", number, suffix, low, high);
	else if (level->size_low || level->size_high)
		snprintf(buf, len, "L%u%s %s %s", number, suffix,
			 level->size_low ? "at least" : "at most", level->size_low ? low : high);
	else
		snprintf(buf, len, "L%u%s cannot be told", number, suffix);
}

/*
 * The name above the frame. @end is where the one before it ends, as a share
 * of the frame's width: names that would run into each other take turns on two
 * rows.
 */
static void write_size(FILE *out, const struct sonde_cache_level *level, const struct axes *axes,
		       double *end, int *row)
{
	const double letter = 0.0106;
	double at = find_middle(level, axes);
	double middle = log(at / axes->x0) / log(axes->x1 / axes->x0);
	char name[2 * TEXT_LEN + 16];
	double half;

	plot_name_level(name, sizeof(name), level);
	half = letter * (double)strlen(name) / 2;
	*row = middle - half < *end ? !*row : 0;
	*end = middle + half;
	fprintf(out, "set label '%s' at %.0f, graph %g center textcolor rgb '" PLOT_MEASURED "'\n",
		name, at, *row ? 1.145 : 1.095);
}

static void write_level(FILE *out, const struct sonde_cache_level *level, const struct axes *axes)
{
	double low = level->size_low ? (double)level->size_low : axes->x0;
	double high = level->size_high ? (double)level->size_high : axes->x1;

	if ((level->size_low || level->size_high) && high > low)
		fprintf(out, "set object rectangle from %.0f, graph 0 to %.0f, graph 1 behind "
			"fillcolor rgb '" PLOT_MEASURED "' fillstyle solid 0.13 noborder\n", low, high);
	if (level->size)
		fprintf(out, "set arrow from %llu, graph 0 to %llu, graph 1 nohead back "
			"lc rgb '" PLOT_MEASURED "' lw 2\n", (unsigned long long)level->size,
			(unsigned long long)level->size);
}

/* The flat part: from the level before to this one, at the latency of a hit. */
static void write_plateau(FILE *out, const struct sonde_latency *latency, double from, double to,
			  int is_last)
{
	char ns[TEXT_LEN], cycles[TEXT_LEN];

	if (!(latency->cycles > 0) || !(to > from))
		return;
	fprintf(out, "set arrow from %.0f, %g to %.0f, %g nohead back lc rgb '" PLOT_MEASURED
		"' lw 1 dt 2\n", from, latency->cycles, to, latency->cycles);
	fprintf(out, "set label '%s, %s' at %.0f, %g %s offset %s front "
		"textcolor rgb '" PLOT_MEASURED "'\n",
		text_cycles(cycles, latency->cycles), text_ns(ns, latency->ns),
		is_last ? to : from, latency->cycles, is_last ? "right" : "left",
		is_last ? "-0.6, 0.8" : "0.6, 0.8");
}

static void write_levels(FILE *out, const struct sonde_cache_report *caches,
			 const struct axes *axes)
{
	double from = axes->x0, end = 0;
	int row = 0;

	for (size_t i = 0; i < caches->nlevels; i++) {
		const struct sonde_cache_level *level = &caches->levels[i];
		double to = find_middle(level, axes);

		write_level(out, level, axes);
		write_size(out, level, axes, &end, &row);
		write_plateau(out, &level->latency, from, to, 0);
		from = to;
	}
	write_plateau(out, &caches->memory, from, axes->x1, 1);
}

static void write_claims(FILE *out, const struct machine *m)
{
	char size[TEXT_LEN];

	for (size_t i = 0; i < m->nclaims; i++) {
		unsigned long long at = m->claims[i].size;

		if (!at)
			continue;
		fprintf(out, "set arrow from %llu, graph 0 to %llu, graph 1 nohead back "
			"lc rgb '" PLOT_CLAIMED "' lw 1 dt (6,6)\n", at, at);
		fprintf(out, "set label '' at %llu, graph 1.0 point pt 12 ps 1.3 "
			"lc rgb '" PLOT_CLAIMED "' front\n", at);
		fprintf(out, "set label 'claimed %s' at %llu, graph 1.043 center "
			"textcolor rgb '" PLOT_CLAIMED "'\n", text_size(size, at), at);
	}
}

/* How high the curve runs at a size: 0 at the lower end, 1 at the upper. */
static double find_height(const struct sonde_cache_report *caches, const struct axes *axes,
			  double x)
{
	double cycles = axes->y0;

	for (size_t i = 0; i < caches->npoints; i++)
		if (is_shown(&caches->points[i]) && (double)caches->points[i].bytes <= x)
			cycles = caches->points[i].latency.cycles;
	return log(cycles / axes->y0) / log(axes->y1 / axes->y0);
}

/* Its words stand above the curve or below, where there is more room. */
static void write_tlb(FILE *out, const struct sonde_cache_report *caches, const struct axes *axes)
{
	double page = (double)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < caches->ntlb; i++) {
		double at = caches->tlb[i].pages * page;
		int is_above = find_height(caches, axes, at) < 0.5;

		if (at < axes->x0 || at > axes->x1)
			continue;
		fprintf(out, "set arrow from %.0f, graph %g to %.0f, graph %g nohead back "
			"lc rgb '" PLOT_FAINT "' lw 1 dt 3\n", at, is_above ? 0.55 : 0.0, at,
			is_above ? 1.0 : 0.45);
		fprintf(out, "set label 'TLB %u pages, +%.1f cycles' at %.0f, graph %g "
			"rotate by 90 %s offset -0.9, 0 textcolor rgb '" PLOT_FAINT
			"'\n",
			caches->tlb[i].pages, caches->tlb[i].cycles, at, is_above ? 0.98 : 0.02,
			is_above ? "right" : "left");
	}
}

static void write_points(FILE *out, const struct sonde_cache_report *caches)
{
	fputs("$curve << END\n", out);
	for (size_t i = 0; i < caches->npoints; i++) {
		const struct sonde_cache_point *p = &caches->points[i];
		double cycles = p->latency.cycles;
		double low = p->latency.cycles_ci.low, high = p->latency.cycles_ci.high;

		if (is_shown(p))
			fprintf(out, "%zu %g %g %g\n", p->bytes, cycles, low > 0 ? low : cycles,
				high > 0 ? high : cycles);
	}
	fputs("END\n", out);
}

static int write_script(FILE *out, const struct machine *m)
{
	struct axes axes;

	if (choose_axes(m, &axes))
		return -ENODATA;
	write_axes(out, &axes);
	write_levels(out, m->caches, &axes);
	write_claims(out, m);
	write_tlb(out, m->caches, &axes);
	write_points(out, m->caches);
	fputs("plot $curve using 1:3:4 with filledcurves fc rgb '" PLOT_CURVE "' "
	      "fs transparent solid 0.25 noborder title '95 % interval', "
	      "$curve using 1:2 with linespoints lc rgb '" PLOT_CURVE "' lw 1.8 pt 7 ps 0.35 "
	      "title 'latency', "
	      "NaN with lines lc rgb '" PLOT_MEASURED "' lw 2 title 'measured size', "
	      "NaN with linespoints lc rgb '" PLOT_CLAIMED "' dt (6,6) pt 12 ps 1.3 "
	      "title 'claimed size'\n", out);
	return 0;
}

static const struct plot curve = {
	.id = "curve",
	.what = "the curve",
	.label = "Latency of a load by working set",
	.nothing = "nothing was measured",
	.write = write_script,
};

int picture_curve(const struct machine *m, struct picture *picture)
{
	return plot_picture(m, &curve, picture);
}
