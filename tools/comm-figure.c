// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * comm-figure - the heat map of latencies: a square for each two places
 *
 * Drawn here: it is squares, and gnuplot need not be there for them. One block for
 * each matrix, each with its own colours: what is near by one method is far by
 * another. Layers are colours; a pair is the darker the nearer it is.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../lib/replace.h"
#include "comm.h"

#define SIDE		520.0
/* Squares do not grow beyond this. */
#define SQUARE_MOST	72.0
#define MARGIN		52.0
#define TITLE		30.0
#define LEGEND		300.0
#define LEGEND_LINE	24.0
/* Words fit into squares of this size. */
#define SQUARE_WORDS	66.0
/* Of many places every n-th is named, so that names do not touch. */
#define NAME_ROOM	20.0
#define ITSELF		"#cfd6dd"
#define UNKNOWN		"#e9b44c"

/* Dark is near: from the nearest layer to the farthest. */
static void pick_colour(char colour[16], size_t layer, size_t nlayers)
{
	static const double near[3] = { 11, 79, 108 }, far[3] = { 216, 234, 243 };
	double t = nlayers > 1 ? (double)layer / (double)(nlayers - 1) : 0;

	snprintf(colour, 16, "#%02x%02x%02x", (unsigned int)(near[0] + t * (far[0] - near[0])),
		 (unsigned int)(near[1] + t * (far[1] - near[1])),
		 (unsigned int)(near[2] + t * (far[2] - near[2])));
}

static int is_dark(size_t layer, size_t nlayers)
{
	return nlayers < 2 || 2 * layer < nlayers - 1;
}

static void write_square(FILE *out, double x, double y, double side, const char *fill)
{
	fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
		"stroke=\"#ffffff\" stroke-width=\"%.2f\"/>\n", x, y, side, side, fill,
		side > 4 ? 1.0 : 0.0);
}

static void write_text(FILE *out, double x, double y, const char *anchor, const char *fill,
		       const char *text)
{
	fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" font-size=\"14\" "
		"font-family=\"sans-serif\" fill=\"%s\">%s</text>\n", x, y, anchor, fill, text);
}

static void write_cell(FILE *out, const struct sonde_comm_matrix *m, size_t n, size_t a, size_t b,
		       double side, double top)
{
	const int layer = m->layer[a * n + b];
	double x = MARGIN + (double)b * side, y = top + (double)a * side;
	char colour[16] = UNKNOWN, time[TEXT_LEN];

	if (layer >= 0)
		pick_colour(colour, (size_t)layer, m->nlayers);
	write_square(out, x, y, side, a == b ? ITSELF : colour);
	if (a == b || side < SQUARE_WORDS || layer < 0)
		return;
	write_text(out, x + side / 2, y + side / 2 + 4, "middle",
		   is_dark((size_t)layer, m->nlayers) ? "#ffffff" : "#1c2128",
		   text_time(time, m->ns[a * n + b]));
}

static void write_names(FILE *out, const struct sonde_comm_report *r, double side, double top)
{
	size_t step = 1;
	char name[16];

	while ((double)step * side < NAME_ROOM)
		step *= 2;
	for (size_t i = 0; i < r->nplaces; i += step) {
		const struct sonde_comm_place *p = &r->places[i];
		double at = ((double)i + 0.5) * side;

		snprintf(name, sizeof(name), "%d", p->rank >= 0 ? p->rank : p->cpu);
		write_text(out, MARGIN - 6, top + at + 4, "end", "black", name);
		write_text(out, MARGIN + at, top - 6, "middle", "black", name);
	}
}

static int has_unknown(const struct sonde_comm_matrix *m, size_t n)
{
	for (size_t i = 0; i < n * n; i++)
		if (m->layer[i] < 0 && i / n != i % n)
			return 1;
	return 0;
}

static void write_legend(FILE *out, const struct sonde_comm_matrix *m, size_t n, double x,
			 double top)
{
	char colour[16], time[TEXT_LEN], text[3 * TEXT_LEN];

	for (size_t i = 0; i < m->nlayers; i++) {
		const struct sonde_comm_layer *l = &m->layers[i];
		double y = top + LEGEND_LINE * (double)i;

		pick_colour(colour, i, m->nlayers);
		write_square(out, x, y, 16, colour);
		snprintf(text, sizeof(text), "layer %zu: %s, %zu %s", i,
			 text_time(time, l->ns), l->npairs, l->npairs == 1 ? "pair" : "pairs");
		write_text(out, x + 24, y + 13, "start", "black", text);
	}
	if (!has_unknown(m, n))
		return;
	write_square(out, x, top + LEGEND_LINE * (double)m->nlayers, 16, UNKNOWN);
	write_text(out, x + 24, top + LEGEND_LINE * (double)m->nlayers + 13, "start", "black",
		   "cannot be told");
}

static double get_height(const struct sonde_comm_report *r, const struct sonde_comm_matrix *m,
			 double side)
{
	double squares = side * (double)r->nplaces;
	double legend = LEGEND_LINE * (double)(m->nlayers + 1);

	return TITLE + MARGIN + (squares > legend ? squares : legend);
}

static void draw_matrix(FILE *out, const struct sonde_comm_report *r,
			const struct sonde_comm_matrix *m, double side, double top)
{
	char name[2 * TEXT_LEN + 64];

	describe_comm_method(m, name, sizeof(name));
	fprintf(out, "<text x=\"0\" y=\"%.2f\" font-size=\"15\" font-family=\"sans-serif\" "
		"fill=\"black\">%s</text>\n", top + 18, name);
	top += TITLE + MARGIN / 2;
	for (size_t a = 0; a < r->nplaces; a++)
		for (size_t b = 0; b < r->nplaces; b++)
			write_cell(out, m, r->nplaces, a, b, side, top);
	write_names(out, r, side, top);
	write_legend(out, m, r->nplaces, MARGIN + side * (double)r->nplaces + 24, top);
}

void draw_latency(FILE *out, const struct sonde_comm_report *r)
{
	double side = SIDE / (double)r->nplaces, height = 0, top = 0;

	if (side > SQUARE_MOST)
		side = SQUARE_MOST;
	for (size_t i = 0; i < r->nmatrices; i++)
		height += get_height(r, &r->matrices[i], side);
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n",
		2 * MARGIN + side * (double)r->nplaces + LEGEND, height + MARGIN / 2);
	for (size_t i = 0; i < r->nmatrices; i++) {
		draw_matrix(out, r, &r->matrices[i], side, top);
		top += get_height(r, &r->matrices[i], side);
	}
	fputs("</svg>\n", out);
}

int write_latency_figure(const struct sonde_comm_report *r, const char *path)
{
	struct replace file;
	int err = replace_open(&file, path);

	if (!err) {
		draw_latency(file.file, r);
		err = replace_commit(&file);
	}
	if (!err)
		return CLI_DONE;
	cli_error("cannot write %s: %s; name another with --figure", path, strerror(-err));
	return CLI_FAILED;
}
