// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plot-comm - pictures of communication for the page: the heat map, and what
 * messages of each size cost over each layer
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "comm.h"
#include "plot.h"

static const char *const colours[] = { PLOT_CURVE, "#c2487f", "#c98a1a", PLOT_MEASURED, "#7b5fc0" };
#define NCOLOURS (sizeof(colours) / sizeof(colours[0]))

int picture_latency(const struct machine *m, struct picture *picture)
{
	char *text = NULL;
	size_t len;
	FILE *out;
	int err = 0;

	if (!m->comm) {
		snprintf(picture->why, sizeof(picture->why), "no picture of latencies: one CPU has "
			 "nobody to communicate with, or there was no time for it");
		return -ENODATA;
	}
	out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	draw_latency(out, m->comm);
	if (fclose(out))
		err = -ENOMEM;
	if (!err)
		err = svg_embed(text, "latency", "Latency of messages between each two CPUs",
				picture);
	if (err)
		snprintf(picture->why, sizeof(picture->why),
			 "no picture of latencies: not enough memory");
	free(text);
	return err;
}

static void write_curve(FILE *out, size_t matrix, size_t layer, const struct sonde_comm_layer *l)
{
	fprintf(out, "$m%zul%zu << END\n", matrix, layer);
	for (size_t i = 0; i < l->npoints; i++)
		if (l->points[i].ns > 0)
			fprintf(out, "%zu %g\n", l->points[i].bytes, l->points[i].ns);
	fputs("END\n", out);
}

static void write_start(FILE *out, size_t most)
{
	fprintf(out,
		"set terminal svg size 800,460 dynamic noenhanced font 'sans-serif,14'\n"
		"set encoding utf8\n"
		"set border 3 lc rgb '" PLOT_FAINT "'\n"
		"set logscale xy\n"
		"set xlabel 'bytes of a message'\n"
		"set ylabel 'half a round trip'\n"
		PLOT_TIME_TICS PLOT_BYTE_TICS
		"set xrange [0.8:%g]\n"
		"set bmargin 6\n"
		"set key bmargin center horizontal maxrows 2 samplen 2\n", (double)most * 1.3);
}

static size_t find_most(const struct sonde_comm_report *r)
{
	size_t most = 0;

	for (size_t i = 0; i < r->nmatrices; i++)
		for (size_t l = 0; l < r->matrices[i].nlayers; l++) {
			const struct sonde_comm_layer *layer = &r->matrices[i].layers[l];

			if (layer->npoints && layer->points[layer->npoints - 1].bytes > most)
				most = layer->points[layer->npoints - 1].bytes;
		}
	return most;
}

static int write_messages(FILE *out, const struct machine *m)
{
	const struct sonde_comm_report *r = m->comm;
	const char *separator = "plot ";
	size_t n = 0;

	if (!r || !find_most(r))
		return -ENODATA;
	write_start(out, find_most(r));
	for (size_t i = 0; i < r->nmatrices; i++)
		for (size_t l = 0; l < r->matrices[i].nlayers; l++)
			write_curve(out, i, l, &r->matrices[i].layers[l]);
	for (size_t i = 0; i < r->nmatrices; i++)
		for (size_t l = 0; l < r->matrices[i].nlayers; l++) {
			if (!r->matrices[i].layers[l].npoints)
				continue;
			fprintf(out, "%s$m%zul%zu with linespoints lc rgb '%s' lw 1.8 pt 7 ps 0.4 "
				"title '%s, layer %zu'", separator, i, l, colours[n++ % NCOLOURS],
				sonde_comm_method_name(r->matrices[i].method), l);
			separator = ", ";
		}
	fputc('\n', out);
	return 0;
}

int picture_messages(const struct machine *m, struct picture *picture)
{
	static const struct plot messages = {
		.id = "messages",
		.what = "messages by their size",
		.label = "Half a round trip of a message by its size, for each layer",
		.nothing = "it was not measured",
		.write = write_messages,
	};

	return plot_picture(m, &messages, picture);
}
