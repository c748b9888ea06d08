/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Lines of a level, by flushing: what is flushed takes all of its line with it, and
 * nothing else. No replacement and no prefetcher has a part in that.
 */
#ifndef SONDE_LIB_PROBE_LINE_H
#define SONDE_LIB_PROBE_LINE_H

#include "trial.h"

/* Lines looked for. */
#define LINE_MOST	1024
/* Lines at a time, at most: a window of so many loads. */
#define LINE_SET_MOST	8

/**
 * struct line_set - lines that are in the level, and in none above
 * @page: @n pages with one of them each, so few that the level holds them together
 * @flush: @nflush pages whose lines come after them and push them out of the levels above
 * @offset: bytes from the begin of each page to these lines
 * @missed: cycles that a load costs more if its line is gone, at least
 */
struct line_set {
	const uint32_t *page, *flush;
	size_t n, nflush;
	uint32_t offset;
	double missed;
};

/* Bytes of the level's lines, to *@line; 0: not told. 0, -ENOMEM, -ECANCELED. */
int line_find(struct trial *t, const struct line_set *set, unsigned int *line);

#endif
