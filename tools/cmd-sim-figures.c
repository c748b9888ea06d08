// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde sim alltoall --figures - the figures of Kumar, Mamidala, Panda 2008 that
 * have numbers, as the simulator sees them, by gnuplot
 *
 * Figures 1 to 5 are about machines and are drawn as the paper has them; 7 to 12
 * are about alltoall and are drawn for --system where that is given. Figure 6 is
 * a drawing, 13 an application.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include "../coll/sim/patterns.h"
#include "child.h"
#include "plot.h"
#include "sim.h"

#define DEADLINE_S	30
#define MOST_LINES	4
#define MOST_POINTS	24

enum { INFINIPATH, INFINIHOST, CONNECTX };

/* What the lines of a figure are. */
enum kind { OF_CORES, OF_PAIRS, OF_COPIES, OF_SCHEMES, OF_SIDES, OF_SYSTEMS };

/**
 * struct figure - one of the paper's
 * @nodes: of a node of 8, in the paper
 */
struct figure {
	int number;
	enum kind kind;
	size_t class;
	uint32_t nodes;
	const char *title;
};

static const struct figure figures[] = {
	{ 1, OF_CORES, INFINIPATH, 64, "Alltoall by irecv-isend, the same data between nodes" },
	{ 2, OF_PAIRS, INFINIPATH, 2, "InfiniPath SDR: bandwidth of pairs, both ways" },
	{ 3, OF_PAIRS, CONNECTX, 2, "ConnectX DDR: bandwidth of pairs, both ways" },
	{ 4, OF_PAIRS, INFINIHOST, 2, "InfiniHost III DDR: bandwidth of pairs, both ways" },
	{ 5, OF_COPIES, INFINIPATH, 64, "Copying within a node, InfiniPath" },
	{ 7, OF_SCHEMES, INFINIPATH, 64, "Alltoall, InfiniPath" },
	{ 8, OF_SIDES, INFINIPATH, 64, "Aggregation and distribution, InfiniPath" },
	{ 9, OF_SYSTEMS, INFINIPATH, 64, "Alltoall of 512 bytes, InfiniPath" },
	{ 10, OF_SCHEMES, INFINIHOST, 64, "Alltoall, InfiniHost III" },
	{ 11, OF_SIDES, INFINIHOST, 64, "Aggregation and distribution, InfiniHost III" },
	{ 12, OF_SCHEMES, CONNECTX, 4, "Alltoall, ConnectX" },
};

#define NFIGURES (sizeof(figures) / sizeof(figures[0]))

/**
 * struct data - lines of a figure
 * @y: by line and point
 * @styles: which of the colours each line has
 * @is_doubling: x is no size, and only what is there gets a tic
 */
struct data {
	const char *x_label, *y_label;
	const char *names[MOST_LINES];
	size_t nlines, npoints;
	double x[MOST_POINTS];
	double y[MOST_LINES][MOST_POINTS];
	size_t styles[MOST_LINES];
	int is_doubling;
	char title[160];
};

static uint32_t get_nodes(const struct figure *f, const struct sim_options *o)
{
	return o->system ? o->nodes : f->nodes;
}

static int predict(const struct figure *f, const struct sim_options *o,
		   const struct sim_progress *progress, const struct a2a_request *r, double *us)
{
	struct a2a_stats stats;
	int err = a2a_predict(r, a2a_class(f->class), o->is_full, &progress->watch, &stats);

	if (!err)
		*us = stats.time_ns / 1e3;
	return err;
}

/* ---- what is in each ----------------------------------------------------- */

/* The bytes from node to node stay: more cores, smaller blocks. */
static int fill_cores(const struct figure *f, const struct sim_options *o,
		      const struct sim_progress *progress, struct data *d)
{
	static const uint64_t between[] = { 4096, 16384, 65536 };
	int err = 0;

	d->x_label = "ranks of a node";
	d->y_label = "time, microseconds";
	d->is_doubling = 1;
	for (uint32_t ppn = 1; ppn <= 8; ppn *= 2)
		d->x[d->npoints++] = ppn;
	d->names[0] = "4 KiB from node to node";
	d->names[1] = "16 KiB";
	d->names[2] = "64 KiB";
	for (; d->nlines < 3 && !err; d->nlines++)
		for (size_t i = 0; i < d->npoints && !err; i++) {
			uint32_t ppn = (uint32_t)d->x[i];
			const struct a2a_request r = {
				.outer = A2A_FLAT, .inner = A2A_ISEND, .nodes = f->nodes,
				.ppn = ppn, .bytes = between[d->nlines] / ppn / ppn, .radix = 2,
			};

			err = predict(f, o, progress, &r, &d->y[d->nlines][i]);
		}
	return err;
}

static int fill_pairs(const struct figure *f, struct data *d)
{
	static const char *const names[] = { "1 pair", "2 pairs", "3 pairs", "4 pairs" };
	int err = 0;

	d->x_label = "bytes of a message";
	d->y_label = "MB/s, both ways together";
	for (double bytes = 1; bytes <= 1 << 20; bytes *= 2)
		d->x[d->npoints++] = bytes;
	for (; d->nlines < MOST_LINES && !err; d->nlines++) {
		d->names[d->nlines] = names[d->nlines];
		for (size_t i = 0; i < d->npoints && !err; i++)
			err = a2a_bandwidth(a2a_class(f->class), (uint32_t)d->nlines + 1,
					    (uint64_t)d->x[i], &d->y[d->nlines][i]);
	}
	return err;
}

static void fill_sizes(const struct sim_options *o, struct data *d)
{
	d->x_label = "bytes of a block";
	d->y_label = "time, microseconds";
	for (size_t bytes = o->least; bytes <= o->most && d->npoints < MOST_POINTS; bytes *= 2)
		d->x[d->npoints++] = (double)bytes;
}

static int fill_copies(const struct figure *f, const struct sim_options *o, struct data *d)
{
	int err = 0;

	fill_sizes(o, d);
	d->names[0] = "aggregation, before sending";
	d->names[1] = "distribution, after receiving";
	for (; d->nlines < 2 && !err; d->nlines++)
		for (size_t i = 0; i < d->npoints && !err; i++) {
			err = a2a_copy_time(a2a_class(f->class), f->nodes, 8, (uint64_t)d->x[i],
					    d->nlines == 1, &d->y[d->nlines][i]);
			d->y[d->nlines][i] /= 1e3;
		}
	return err;
}

static int fill_line(const struct figure *f, const struct sim_options *o,
		     struct sim_progress *progress, enum a2a_outer outer, const char *name,
		     struct data *d)
{
	static const size_t styles[A2A_OUTERS] = { [A2A_LEADER] = 1, [A2A_SA] = 2, [A2A_RD] = 3 };
	int err = 0;

	d->names[d->nlines] = name;
	d->styles[d->nlines] = styles[outer];
	for (size_t i = 0; i < d->npoints && !err; i++) {
		int is_systems = f->kind == OF_SYSTEMS;
		const struct a2a_request r = {
			.outer = outer, .nodes = is_systems ? (uint32_t)d->x[i] : get_nodes(f, o),
			.ppn = o->system ? o->ppn : 8, .bytes = is_systems ? 512 : (uint64_t)d->x[i],
			.radix = 2,
		};

		err = predict(f, o, progress, &r, &d->y[d->nlines][i]);
	}
	d->nlines++;
	return err;
}

static int fill_alltoall(const struct figure *f, const struct sim_options *o,
			 struct sim_progress *progress, struct data *d)
{
	int err = 0;

	if (f->kind == OF_SYSTEMS) {
		d->x_label = "nodes";
		d->y_label = "time, microseconds";
		d->is_doubling = 1;
		for (uint32_t n = 4; n <= get_nodes(f, o); n *= 2)
			d->x[d->npoints++] = n;
	} else {
		fill_sizes(o, d);
	}
	if (f->kind != OF_SIDES)
		err = fill_line(f, o, progress, A2A_FLAT, "original", d);
	if (!err && f->kind != OF_SIDES)
		err = fill_line(f, o, progress, A2A_LEADER, "leader", d);
	if (!err)
		err = fill_line(f, o, progress, A2A_SA, "send aggregation", d);
	if (!err && f->kind != OF_SYSTEMS)
		err = fill_line(f, o, progress, A2A_RD, "receive distribution", d);
	return err;
}

static int fill(const struct figure *f, const struct sim_options *o,
		struct sim_progress *progress, struct data *d)
{
	char system[SIM_SYSTEM];

	*d = (struct data){ .styles = { 0, 1, 2, 3 } };
	snprintf(d->title, sizeof(d->title), "%s%s%s (after figure %d)", f->title,
		 f->kind >= OF_SCHEMES && f->kind != OF_SYSTEMS ? ", " : "",
		 f->kind >= OF_SCHEMES && f->kind != OF_SYSTEMS ?
		 sim_system(system, get_nodes(f, o), o->system ? o->ppn : 8) : "", f->number);
	switch (f->kind) {
	case OF_CORES:
		return fill_cores(f, o, progress, d);
	case OF_PAIRS:
		return fill_pairs(f, d);
	case OF_COPIES:
		return fill_copies(f, o, d);
	default:
		return fill_alltoall(f, o, progress, d);
	}
}

/* ---- drawing ------------------------------------------------------------- */

static void write_tics(FILE *out, const struct data *d)
{
	const char *separator = "";

	if (!d->is_doubling) {
		fputs("set xtics ('1' 1, '4' 4, '16' 16, '64' 64, '256' 256, '1 K' 1024, "
		      "'4 K' 4096, '16 K' 16384, '64 K' 65536, '256 K' 262144, '1 M' 1048576)"
		      " nomirror\n", out);
		return;
	}
	fputs("set xtics (", out);
	for (size_t i = 0; i < d->npoints; i++, separator = ", ")
		fprintf(out, "%s'%.0f' %.0f", separator, d->x[i], d->x[i]);
	fputs(") nomirror\n", out);
}

static void write_script(FILE *out, const struct data *d)
{
	static const char *const colours[MOST_LINES] = {
		PLOT_CURVE, PLOT_CLAIMED, PLOT_MEASURED, "#c98a1a",
	};

	fprintf(out,
		"set terminal svg size 800,480 dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set border 3 lc rgb '" PLOT_FAINT "'\n"
		"set title '%s'\n"
		"set logscale xy\n"
		"set xrange [%g:%g]\n"
		"set xlabel '%s'\n"
		"set ylabel '%s'\n"
		"set ytics nomirror\n"
		"set key left top reverse Left samplen 2.5\n", d->title, d->x[0] / 1.2,
		d->x[d->npoints - 1] * 1.2, d->x_label, d->y_label);
	write_tics(out, d);
	fputs("$lines << END\n", out);
	for (size_t i = 0; i < d->npoints; i++) {
		fprintf(out, "%g", d->x[i]);
		for (size_t l = 0; l < d->nlines; l++)
			fprintf(out, " %.9g", d->y[l][i]);
		fputc('\n', out);
	}
	fputs("END\n", out);
	/* Dashes let what lies below be seen: that distribution costs the same, if it does. */
	for (size_t l = 0; l < d->nlines; l++)
		fprintf(out, "%s$lines using 1:%zu with linespoints lc rgb '%s' lw 1.8 dt %s "
			"pt %zu ps 0.6 title '%s'", l ? ", " : "plot ", l + 2,
			colours[d->styles[l]], d->styles[l] == 3 ? "(8,8)" : "1",
			d->styles[l] + 4, d->names[l]);
	fputc('\n', out);
}

/* Return: 0 and the picture, to be freed; exit status after an error was said. */
static int draw(const struct data *d, struct child *child)
{
	static const char *const argv[] = { "gnuplot", "-d", NULL };
	char *script = NULL;
	size_t len;
	FILE *out = open_memstream(&script, &len);
	int err = -ENOMEM;

	*child = (struct child){ .argv = argv, .deadline_s = DEADLINE_S };
	if (out) {
		write_script(out, d);
		child->input = script;
		if (!fclose(out)) {
			child->input = script;
			err = child_run(child);
		}
	}
	free(script);
	if (!err)
		return CLI_DONE;
	if (err == -ENOENT)
		cli_error("no figures: gnuplot is not installed (Debian: gnuplot-nox)");
	else if (err != -ECANCELED)
		cli_error("no figures: gnuplot failed: %s", child->why);
	return CLI_FAILED;
}

static int save(const struct sim_options *o, const struct figure *f, const struct child *child)
{
	struct sim_file file;
	char *path;
	int err;

	if (asprintf(&path, "%s/figure-%d.svg", o->figures, f->number) < 0) {
		cli_error("not enough memory for the figures");
		return CLI_FAILED;
	}
	err = sim_file_open(&file, path);
	if (!err) {
		fwrite(child->output, 1, child->output_len, file.file);
		err = sim_file_close(&file, 0);
	}
	if (err)
		cli_error("cannot write %s: %s; name another folder with --figures", path,
			  strerror(-err));
	else if (!o->common.json)
		puts(path);
	free(path);
	return err ? CLI_FAILED : CLI_DONE;
}

static int make_folder(const char *path)
{
	struct stat st;
	int err = mkdir(path, 0777) ? errno : 0;

	if (err == EEXIST)
		err = stat(path, &st) || S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
	if (!err && access(path, W_OK | X_OK))
		err = errno;
	if (!err)
		return CLI_DONE;
	cli_error("cannot write in the folder %s: %s; name another with --figures", path,
		  strerror(err));
	return CLI_FAILED;
}

static json_t *pack_data(const struct figure *f, const struct data *d)
{
	json_t *lines = json_array(), *x = json_array(), *y;

	for (size_t i = 0; i < d->npoints; i++)
		json_array_append_new(x, json_real(d->x[i]));
	for (size_t l = 0; l < d->nlines; l++) {
		y = json_array();
		for (size_t i = 0; i < d->npoints; i++)
			json_array_append_new(y, json_real(d->y[l][i]));
		json_array_append_new(lines, json_pack("{s:s, s:o}", "name", d->names[l], "y", y));
	}
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:o}", "figure", f->number, "title", d->title,
			 "x_label", d->x_label, "y_label", d->y_label, "x", x, "lines", lines);
}

static int do_figure(const struct sim_options *o, const struct figure *f,
		     struct sim_progress *progress, json_t *list)
{
	struct child child;
	struct data data;
	int status, err = fill(f, o, progress, &data);

	if (err)
		return sim_refuse(err, &(struct a2a_request){
			.nodes = o->nodes, .ppn = o->ppn, .bytes = o->most,
		});
	status = draw(&data, &child);
	if (status != CLI_DONE)
		return status;
	status = save(o, f, &child);
	free(child.output);
	if (list)
		json_array_append_new(list, pack_data(f, &data));
	return status;
}

int sim_figures(const struct sim_options *o)
{
	json_t *list = o->common.json ? json_array() : NULL;
	struct sim_progress progress;
	int status;

	if (o->system && o->nodes < 4) {
		cli_error("--figures: figure 9 begins at 4 nodes; --system %s is too small",
			  o->system);
		json_decref(list);
		return CLI_USAGE;
	}
	status = make_folder(o->figures);
	sim_progress_start(&progress, "drawing", NFIGURES);
	for (size_t i = 0; i < NFIGURES && status == CLI_DONE; i++) {
		status = do_figure(o, &figures[i], &progress, list);
		if (sim_progress_next(&progress))
			status = CLI_FAILED;
	}
	cli_progress_end();
	if (status == CLI_DONE && list)
		status = sim_print_json(json_pack("{s:s, s:o}", "schema", "sonde-sim-1",
						  "figures", json_incref(list)));
	json_decref(list);
	return status;
}
