// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * matrix - the picture of who shares which cache: a square for each two CPUs
 *
 * Drawn here: it is squares, and gnuplot need not be there for them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "sharing.h"

#define SIDE		640.0
/* Squares do not grow beyond this. */
#define SQUARE_MOST	64.0
#define MARGIN		48.0
#define LEGEND		150.0
/* Words fit into squares of this size. */
#define SQUARE_WORDS	24.0
/* Of many CPUs every n-th is named, so that names do not touch. */
#define NAME_ROOM	18.0

/* Nearer is darker; none, and not known, are no shade of that. */
static const char *const shades[] = { "#0b4f6c", "#1f78a4", "#7fb8d6", "#b9d9e8" };
#define NSHADES		((int)(sizeof(shades) / sizeof(shades[0])))
#define NONE		"#f2f2f2"
#define UNKNOWN		"#e9b44c"
#define ITSELF		"#cfd6dd"

static const char *pick_shade(int level)
{
	if (level < 0)
		return UNKNOWN;
	if (!level)
		return NONE;
	return shades[level > NSHADES ? NSHADES - 1 : level - 1];
}

static void write_square(FILE *out, double x, double y, double side, const char *fill)
{
	fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" "
		"stroke=\"#ffffff\" stroke-width=\"%.2f\"/>\n", x, y, side, side, fill,
		side > 4 ? 1.0 : 0.0);
}

static void name_level(char name[16], int level)
{
	if (level > 0)
		snprintf(name, 16, "L%d", level);
	else
		snprintf(name, 16, "%s", level ? "?" : "none");
}

static void write_cell(FILE *out, const struct sonde_share_report *r, size_t a, size_t b,
		       double side)
{
	int level = a == b ? 0 : sonde_share_nearest(r, r->cpus[a], r->cpus[b]);
	double x = MARGIN + (double)b * side, y = MARGIN + (double)a * side;
	char name[16];

	write_square(out, x, y, side, a == b ? ITSELF : pick_shade(level));
	if (a == b || side < SQUARE_WORDS)
		return;
	name_level(name, level);
	fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\" font-size=\"14\" "
		"fill=\"%s\">%s</text>\n", x + side / 2, y + side / 2 + 4,
		level == 1 || level == 2 ? "#ffffff" : "#1c2128", name);
}

static void write_names(FILE *out, const struct sonde_share_report *r, double side)
{
	size_t step = 1;

	while ((double)step * side < NAME_ROOM)
		step *= 2;
	for (size_t i = 0; i < r->ncpus; i += step) {
		double at = MARGIN + ((double)i + 0.5) * side;

		fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\" font-size=\"14\" "
			"fill=\"black\">%u</text>\n", MARGIN - 6, at + 4, r->cpus[i]);
		fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\" font-size=\"14\" "
			"fill=\"black\">%u</text>\n", at, MARGIN - 6, r->cpus[i]);
	}
}

static void write_legend(FILE *out, const struct sonde_share_report *r, double x)
{
	double y = MARGIN;
	char name[16];

	for (int level = -1; level <= (int)r->nlevels; level++) {
		name_level(name, level);
		write_square(out, x, y, 16, pick_shade(level));
		fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"14\" fill=\"black\">%s"
			"</text>\n", x + 24, y + 13, level < 0 ? "cannot be told" : name);
		y += 24;
	}
}

static void draw(const struct sonde_share_report *r, FILE *out)
{
	double side = SIDE / (double)r->ncpus, width, height;

	if (side > SQUARE_MOST)
		side = SQUARE_MOST;
	width = 2 * MARGIN + side * (double)r->ncpus + LEGEND;
	height = 2 * MARGIN + side * (double)r->ncpus;
	if (height < 2 * MARGIN + 24.0 * (double)(r->nlevels + 2))
		height = 2 * MARGIN + 24.0 * (double)(r->nlevels + 2);
	fprintf(out, "<svg width=\"%.0f\" height=\"%.0f\">\n", width, height);
	for (size_t a = 0; a < r->ncpus; a++)
		for (size_t b = 0; b < r->ncpus; b++)
			write_cell(out, r, a, b, side);
	write_names(out, r, side);
	write_legend(out, r, MARGIN + side * (double)r->ncpus + 24);
	fputs("</svg>\n", out);
}

int picture_sharing(const struct machine *m, struct picture *picture)
{
	char *text = NULL;
	size_t len;
	FILE *out;
	int err = 0;

	if (!m->sharing) {
		snprintf(picture->why, sizeof(picture->why), "no picture of shared caches: one "
			 "CPU shares nothing; sonde may run on this one only");
		return -ENODATA;
	}
	out = open_memstream(&text, &len);
	if (!out)
		return -ENOMEM;
	draw(m->sharing, out);
	if (fclose(out))
		err = -ENOMEM;
	if (!err)
		err = svg_embed(text, "sharing", "The nearest cache that each two CPUs share",
				picture);
	if (err)
		snprintf(picture->why, sizeof(picture->why),
			 "no picture of shared caches: not enough memory");
	free(text);
	return err;
}
