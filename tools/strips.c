// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * strips - the picture of the classes of pages that each level tells apart
 *
 * A strip is one way of a level, a cell a page of it: lines of pages of one class
 * compete for the same sets. Drawn here: it is squares, as in the matrix.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "describe.h"
#include "picture.h"

#define STRIP_WIDTH	560.0
#define STRIP_HEIGHT	26.0
#define ROW_HEIGHT	62.0
#define NAME_WIDTH	56.0
/* Cells narrower than this would be a blur. */
#define CELL_LEAST	3.0
#define TEXT_SIZE	14

static const char *const shades[] = { "#1f78a4", "#7fb8d6" };
#define MANY "#4f98bd"

/*
 * 0 if it is not told. Where a way of the first level is no larger than a page,
 * all pages are alike to it.
 */
static unsigned int count_classes(const struct machine *m, const struct sonde_cache_level *level)
{
	uint64_t page = sonde_topology_page_bytes(m->topo);

	if (level->colours)
		return level->colours;
	return level->level == 1 && level->sets && level->sets * level->line <= page;
}

static void write_rect(FILE *out, double x, double y, double width, const char *fill)
{
	fprintf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n",
		x, y, width, STRIP_HEIGHT, fill);
}

static void write_strip(FILE *out, double y, unsigned int classes)
{
	double width = STRIP_WIDTH / classes;

	if (width < CELL_LEAST) {
		write_rect(out, NAME_WIDTH, y, STRIP_WIDTH, MANY);
		return;
	}
	for (unsigned int i = 0; i < classes; i++)
		write_rect(out, NAME_WIDTH + i * width, y, width, shades[i % 2]);
}

/* "32 classes x 64 sets x 16 ways x 64 B = 2 MiB", as far as it is told. */
static void write_sum(FILE *out, const struct sonde_cache_level *level, unsigned int classes)
{
	char size[TEXT_LEN];

	fprintf(out, "%u %s", classes, classes == 1 ? "class" : "classes");
	if (level->sets && level->sets % classes == 0)
		fprintf(out, " × %llu sets × %u ways × %u B = %s",
			(unsigned long long)(level->sets / classes), level->ways, level->line,
			text_size(size, level->size));
}

static void write_text(FILE *out, double x, double y)
{
	fprintf(out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%d\" fill=\"black\">", x, y,
		TEXT_SIZE);
}

static void write_level(FILE *out, const struct machine *m,
			const struct sonde_cache_level *level, double y)
{
	unsigned int classes = count_classes(m, level);
	char name[16];

	describe_level_name(m, level->level, name, sizeof(name));
	write_text(out, 0, y + STRIP_HEIGHT - 8);
	fprintf(out, "%s</text>\n", name);
	if (classes)
		write_strip(out, y, classes);
	write_text(out, NAME_WIDTH, classes ? y + STRIP_HEIGHT + 17 : y + STRIP_HEIGHT - 8);
	if (classes)
		write_sum(out, level, classes);
	else
		fputs("cannot be told", out);
	fputs("</text>\n", out);
}

static int draw(const struct machine *m, FILE *out)
{
	const struct sonde_cache_report *caches = m->caches;
	size_t told = 0;

	for (size_t i = 0; i < caches->nlevels; i++)
		told += count_classes(m, &caches->levels[i]) > 0;
	if (!told)
		return -ENODATA;
	fprintf(out, "<svg width=\"%.0f\" height=\"%.0f\">\n", NAME_WIDTH + STRIP_WIDTH,
		(double)caches->nlevels * ROW_HEIGHT);
	for (size_t i = 0; i < caches->nlevels; i++)
		write_level(out, m, &caches->levels[i], (double)i * ROW_HEIGHT);
	fputs("</svg>\n", out);
	return 0;
}

int picture_classes(const struct machine *m, struct picture *picture)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int err = -ENOMEM;

	if (out) {
		err = draw(m, out);
		if (fclose(out))
			err = -ENOMEM;
	}
	if (!err)
		err = svg_embed(text, "classes", "Classes of pages that each level tells apart",
				picture);
	if (err)
		snprintf(picture->why, sizeof(picture->why), "no picture of classes of pages: %s",
			 err == -ENODATA ? "of no level they could be told here" :
			 "not enough memory");
	free(text);
	return err;
}
