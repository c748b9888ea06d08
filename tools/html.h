/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SONDE_TOOLS_HTML_H
#define SONDE_TOOLS_HTML_H

#include <stdio.h>

/* With what means something to HTML or XML spelt otherwise. */
void html_text(FILE *out, const char *text);

/* <@tag>@text</name of the tag>; @tag may have attributes. */
void html_element(FILE *out, const char *tag, const char *text);

#endif
