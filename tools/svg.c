// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * svg - a drawing program's document becomes an element of a page
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "picture.h"

/* The value of an attribute of the tag that ends at @end, NULL if it has none. */
static const char *find_attribute(const char *tag, const char *end, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strstr(tag, name); at && at < end; at = strstr(at + 1, name))
		if (strchr(" \t\r\n", at[-1]) && at[len] == '=')
			return at + len + 2;
	return NULL;
}

static int read_size(const char *tag, const char *end, double *width, double *height)
{
	const char *box = find_attribute(tag, end, "viewBox");
	const char *w = find_attribute(tag, end, "width");
	const char *h = find_attribute(tag, end, "height");

	if (w && h) {
		*width = strtod(w, NULL);
		*height = strtod(h, NULL);
	} else if (!box || sscanf(box, "%*f %*f %lf %lf", width, height) != 2) {
		return -EINVAL;
	}
	return *width > 0 && *height > 0 ? 0 : -EINVAL;
}

/* Where an id is named: how many bytes of @text come before its name, 0 if none. */
static size_t before_id(const char *text)
{
	static const char *const starts[] = {
		" id=\"", " id='", "\tid=\"", "\tid='", "href=\"#", "href='#", "url(#",
	};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (!strncmp(text, starts[i], strlen(starts[i])))
			return strlen(starts[i]);
	return 0;
}

/* @text up to @end without titles, with links as SVG 2 spells them and own ids. */
static void copy_body(FILE *out, const char *text, const char *end, const char *id)
{
	static const char title[] = "<title>", untitle[] = "</title>";
	static const char link[] = "xlink:";
	int is_in_tag = 0;
	size_t n;

	while (text < end) {
		const char *close = NULL;

		if (!strncmp(text, title, strlen(title)))
			close = strstr(text, untitle);
		if (close && close < end) {
			text = close + strlen(untitle);
			continue;
		}
		if (!strncmp(text, link, strlen(link)))
			text += strlen(link);
		is_in_tag = *text == '<' || (is_in_tag && *text != '>');
		n = is_in_tag ? before_id(text) : 0;
		if (n)
			fprintf(out, "%.*s%s-", (int)n, text, id);
		else
			fputc(*text, out);
		text += n ? n : 1;
	}
}

int svg_embed(const char *text, const char *id, const char *label, struct picture *picture)
{
	const char *tag = strstr(text, "<svg");
	const char *open = tag ? strchr(tag, '>') : NULL;
	const char *close = open ? strstr(open, "</svg>") : NULL;
	double width, height;
	size_t len;
	FILE *out;

	if (!close || read_size(tag, open, &width, &height))
		return -EINVAL;
	out = open_memstream(&picture->svg, &len);
	if (!out)
		return -ENOMEM;
	fprintf(out, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">", width, height,
		label);
	copy_body(out, open + 1, close, id);
	fputs("</svg>", out);
	if (fclose(out)) {
		picture_free(picture);
		return -ENOMEM;
	}
	picture->width = width;
	return 0;
}

void picture_free(struct picture *picture)
{
	free(picture->svg);
	picture->svg = NULL;
}
