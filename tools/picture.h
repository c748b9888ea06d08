/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures for the report, drawn by other programs as SVG. */
#ifndef SONDE_TOOLS_PICTURE_H
#define SONDE_TOOLS_PICTURE_H

#include "measure.h"

/**
 * struct picture - an SVG element to stand in a page, or why there is none
 * @svg: to be freed with picture_free(); NULL if there is none
 * @width: in pixels, as drawn
 * @why: a sentence without full stop, with the package to install if it is that
 */
struct picture {
	char *svg;
	double width;
	char why[256];
};

/* The latency curve, by gnuplot. Return: 0, -ECANCELED, or @picture says why not. */
int picture_curve(const struct machine *m, struct picture *picture);

/* Misses by lines of one set; capacity curves by set sampling. Likewise. */
int picture_sweeps(const struct machine *m, struct picture *picture);
int picture_capacity(const struct machine *m, struct picture *picture);

/* The classes of pages that each level tells apart, drawn here. Likewise. */
int picture_classes(const struct machine *m, struct picture *picture);

/* The topology as claimed, by lstopo. Likewise. */
int picture_topology(struct picture *picture);

void picture_free(struct picture *picture);

/**
 * svg_embed() - make a document of its own an element of a page
 * @text: an SVG document
 * @id: begins its ids, which on a page are not to be those of another picture
 * @label: what it shows, for who cannot see it; plain text
 *
 * Prolog and namespaces go, since HTML implies them; so do titles, which are
 * the drawing programs' names for things. The size becomes a view box.
 *
 * Return: 0, -EINVAL (no SVG), -ENOMEM.
 */
int svg_embed(const char *text, const char *id, const char *label, struct picture *picture);

#endif
