// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plot-memory - bandwidth by the number of cores, and latency by the load of others
 */
#include <errno.h>
#include <stdio.h>
#include "memory.h"
#include "plot.h"

static const char *const colours[] = { "#c2487f", "#c98a1a", "#7b5fc0", PLOT_MEASURED };
#define NCOLOURS (sizeof(colours) / sizeof(colours[0]))
/* Up to so many cores each has its tick. */
#define EACH_MOST 32

static void write_start(FILE *out, const char *x, const char *y)
{
	fprintf(out,
		"set terminal svg size 800,400 dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set border 3 lc rgb '" PLOT_FAINT "'\n"
		"set tics nomirror\n"
		"set xlabel '%s'\n"
		"set ylabel '%s'\n"
		"set yrange [0:*]\n"
		"set bmargin 5\n"
		"set key bmargin center horizontal maxrows 2 samplen 2\n", x, y);
}

static int count_points(const struct sonde_memory_curve *curve)
{
	int n = 0;

	for (size_t i = 0; i < curve->npoints; i++)
		n += curve->rate[i].bytes_s > 0;
	return n;
}

static void write_curve(FILE *out, const char *name, const struct sonde_memory_curve *curve)
{
	fprintf(out, "$%s << END\n", name);
	for (size_t i = 0; i < curve->npoints; i++) {
		const struct sonde_memory_rate *r = &curve->rate[i];

		if (r->bytes_s > 0)
			fprintf(out, "%u %g %g %g\n", curve->cores[i], r->bytes_s / 1e9,
				r->ci.low / 1e9, r->ci.high / 1e9);
	}
	fputs("END\n", out);
}

static void write_plot(FILE *out, const char *separator, const char *name, const char *colour,
		       const char *title)
{
	fprintf(out, "%s$%s using 1:2:3:4 with yerrorlines lc rgb '%s' lw 1.8 pt 7 ps 0.5 "
		"title '%s'", separator, name, colour, title);
}

static int write_scaling(FILE *out, const struct machine *m)
{
	const struct sonde_memory_report *r = m->memory;
	char name[32], title[64];

	if (!r || !count_points(&r->all))
		return -ENODATA;
	write_start(out, "cores that copy at the same time", "GB/s together");
	fprintf(out, "set xrange [0.5:%g]\nset format x '%%.0f'\n%s", (double)r->ncpus + 0.5,
		r->ncpus <= EACH_MOST ? "set xtics 1\n" : "");
	write_curve(out, "all", &r->all);
	for (size_t c = 0; c < r->nclasses; c++) {
		snprintf(name, sizeof(name), "class%zu", c);
		if (count_points(&r->classes[c].curve))
			write_curve(out, name, &r->classes[c].curve);
	}
	write_plot(out, "plot ", "all", PLOT_CURVE, "all CPUs");
	for (size_t c = 0; c < r->nclasses; c++) {
		snprintf(name, sizeof(name), "class%zu", c);
		snprintf(title, sizeof(title), "class %zu: each of two %.2f", c,
			 r->classes[c].ratio);
		if (count_points(&r->classes[c].curve))
			write_plot(out, ", ", name, colours[c % NCOLOURS], title);
	}
	fputc('\n', out);
	return 0;
}

static int write_load(FILE *out, const struct machine *m)
{
	const struct sonde_memory_report *r = m->memory;

	if (!r || !r->nloads)
		return -ENODATA;
	write_start(out, "GB/s that the other CPUs read", "ns a load");
	fputs("set xrange [0:*]\n$load << END\n", out);
	for (size_t i = 0; i < r->nloads; i++)
		fprintf(out, "%g %g %g %g\n", r->loads[i].bytes_s / 1e9, r->loads[i].latency_ns,
			r->loads[i].ci.low, r->loads[i].ci.high);
	fputs("END\n", out);
	write_plot(out, "plot ", "load", PLOT_CURVE, "latency, 95 % interval");
	fputc('\n', out);
	return 0;
}

int picture_scaling(const struct machine *m, struct picture *picture)
{
	static const struct plot scaling = {
		.id = "scaling",
		.what = "bandwidth by cores",
		.label = "Bandwidth of the memory by how many cores copy",
		.nothing = "no cores were proven to run at the same time",
		.write = write_scaling,
	};

	return plot_picture(m, &scaling, picture);
}

int picture_load(const struct machine *m, struct picture *picture)
{
	static const struct plot load = {
		.id = "load",
		.what = "latency under load",
		.label = "Latency of a load by what the other CPUs read",
		.nothing = "it was not measured",
		.write = write_load,
	};

	return plot_picture(m, &load, picture);
}
