// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench-figure - what copies cost by size, as an SVG file by gnuplot
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench.h"
#include "child.h"
#include "plot.h"

#define DEADLINE_S 20

/* Those of one way have one colour; a batch is dashed. */
static const struct { const char *colour; int dash; } styles[BENCH_METHODS] = {
	[BENCH_MEMCPY] = { PLOT_FAINT, 1 },
	[BENCH_SHM] = { "#22996b", 1 },
	[BENCH_CMA] = { "#c2487f", 1 },
	[BENCH_CMA_BATCH] = { "#c2487f", 2 },
	[BENCH_MODULE] = { "#2f7fc1", 1 },
	[BENCH_MODULE_BATCH] = { "#2f7fc1", 2 },
	[BENCH_MAP] = { "#7a5cc4", 1 },
	[BENCH_TWICE] = { "#c98a1b", 1 },
};

/* Return: how many points it has. */
static size_t write_data(FILE *out, const struct bench_result *result, enum bench_method method)
{
	size_t n = 0;

	for (size_t i = 0; i < result->npoints; i++) {
		const struct sonde_transfer_point *p = &result->points[i];

		if (strcmp(p->way, bench_method_name(method)) != 0)
			continue;
		if (!n++)
			fprintf(out, "$m%d << END\n", (int)method);
		fprintf(out, "%llu %g %g %g\n", (unsigned long long)p->bytes, p->ns, p->ns_low,
			p->ns_high);
	}
	if (n)
		fputs("END\n", out);
	return n;
}

static void write_script(FILE *out, const struct bench_result *result)
{
	const double most = (double)result->sizes[result->nsizes - 1];
	const char *separator = "plot ";
	size_t n[BENCH_METHODS];

	fprintf(out,
		"set terminal svg size 800,520 dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set border 3 lc rgb '" PLOT_FAINT "'\n"
		"set logscale xy\n"
		"set xrange [0.8:%g]\n"
		"set xlabel 'bytes of a copy'\n"
		"set ylabel 'time of one'\n"
		PLOT_TIME_TICS PLOT_BYTE_TICS
		"set bmargin 6\n"
		"set key bmargin center horizontal maxrows 2 samplen 2\n", most * 1.3);
	for (int m = 0; m < BENCH_METHODS; m++)
		n[m] = write_data(out, result, (enum bench_method)m);
	for (int m = 0; m < BENCH_METHODS; m++) {
		if (!n[m])
			continue;
		fprintf(out, "%s$m%d using 1:3:4 with filledcurves fc rgb '%s' "
			"fs transparent solid 0.2 noborder notitle, "
			"$m%d using 1:2 with linespoints lc rgb '%s' lw 1.8 dt %d pt 7 ps 0.4 "
			"title '%s'", separator, m, styles[m].colour, m, styles[m].colour,
			styles[m].dash, bench_method_name((enum bench_method)m));
		separator = ", ";
	}
	fputc('\n', out);
}

static int draw(const struct bench_result *result, struct child *child)
{
	static const char *const argv[] = { "gnuplot", "-d", NULL };
	char *script = NULL;
	size_t len;
	FILE *out = open_memstream(&script, &len);
	int err;

	if (!out)
		return -ENOMEM;
	write_script(out, result);
	if (fclose(out)) {
		free(script);
		return -ENOMEM;
	}
	*child = (struct child){ .argv = argv, .input = script, .deadline_s = DEADLINE_S };
	err = child_run(child);
	free(script);
	return err;
}

static int write_for_page(FILE *out, const struct machine *m)
{
	if (!m->transfers || !m->transfers->npoints)
		return -ENODATA;
	write_script(out, m->transfers);
	return 0;
}

int picture_transfers(const struct machine *m, struct picture *picture)
{
	static const struct plot transfers = {
		.id = "transfers",
		.what = "copies between processes",
		.label = "Time of a copy from another process by its size",
		.nothing = "none was measured",
		.write = write_for_page,
	};

	return plot_picture(m, &transfers, picture);
}

int bench_figure_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		cli_error("cannot write %s: %s; name another with --figure", path,
			  strerror(errno));
	return fd;
}

int bench_figure_write(const struct bench_result *result, const char *path, int fd)
{
	struct child child;
	int err = draw(result, &child);
	FILE *file;

	if (err) {
		if (!cli_stop_requested())
			cli_error(err == -ENOENT ? "no figure: gnuplot is not installed (Debian: "
				  "gnuplot-nox)" : "no figure: gnuplot failed");
		return CLI_FAILED;
	}
	file = ftruncate(fd, 0) ? NULL : fdopen(dup(fd), "w");
	if (file) {
		err = fwrite(child.output, 1, child.output_len, file) != child.output_len;
		err |= fclose(file);
	}
	free(child.output);
	if (file && !err)
		return CLI_DONE;
	cli_error("cannot write %s: %s", path, strerror(errno));
	return CLI_FAILED;
}
