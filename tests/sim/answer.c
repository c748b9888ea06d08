// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>

#include "answer.h"

void answer_format(const struct answer *a, char *text)
{
	int len = snprintf(text, ANSWER_TEXT, "%a\t%llu\t%u", a->seconds,
			   (unsigned long long)a->loads, a->n);

	for (unsigned int i = 0; i < a->n; i++)
		len += snprintf(text + len, ANSWER_TEXT - (size_t)len, "\t%llu/%u/%u/%a/%llu",
				(unsigned long long)a->found[i].size, a->found[i].ways,
				a->found[i].line, a->found[i].confidence,
				(unsigned long long)a->found[i].least);
}

int answer_parse(const char *text, struct answer *a)
{
	unsigned long long loads, size, least;
	int len;

	if (sscanf(text, "%la\t%llu\t%u%n", &a->seconds, &loads, &a->n, &len) != 3 ||
	    a->n > ANSWER_LEVELS)
		return -EINVAL;
	a->loads = loads;
	for (unsigned int i = 0; i < a->n; i++) {
		struct found *f = &a->found[i];

		text += len;
		if (sscanf(text, "\t%llu/%u/%u/%la/%llu%n", &size, &f->ways, &f->line,
			   &f->confidence, &least, &len) != 5)
			return -EINVAL;
		f->size = size;
		f->least = least;
	}
	return text[len] ? -EINVAL : 0;
}
