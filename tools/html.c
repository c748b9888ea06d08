// SPDX-License-Identifier: GPL-2.0-or-later
/* html - text that stands in a page as it is, whatever is in it */
#include <string.h>
#include "html.h"

void html_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		switch (c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(c < ' ' && c != '\n' && c != '\t' ? '?' : c, out);
		}
	}
}

void html_element(FILE *out, const char *tag, const char *text)
{
	fprintf(out, "<%s>", tag);
	html_text(out, text);
	fprintf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}
