/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The first level by strides: it is indexed by virtual addresses, which a
 * program chooses, so ways and way size show as knees and need no luck.
 */
#ifndef SONDE_LIB_PROBE_STRIDE_H
#define SONDE_LIB_PROBE_STRIDE_H

#include "trial.h"

/* Largest way and associativity looked for; the pool must hold their product. */
#define STRIDE_MAX	(128UL << 10)
#define STRIDE_WAYS	64
/* Offsets at which ways are counted. */
#define STRIDE_OFFSETS	16
/* Times that it is looked for, at most. */
#define STRIDE_ATTEMPTS	8
#define STRIDE_CHUNKS	((STRIDE_WAYS + 1) * STRIDE_MAX / METER_CHUNK)

/**
 * struct stride - the first level
 * @ways: lines at one stride that fit, 0: no knee
 * @way_bytes: smallest stride at which no more fit
 * @line: bytes of a line, 0: not told
 * @hit: cycles of a hit
 * @beyond: cycles where nothing fits
 * @agree: share of offsets at which as many lines as ways were seen to fit
 * @seen: how often it was found so, with no more at any offset
 * @is_sure: the same was found twice, at no offset did one more fit, and there are such
 */
struct stride {
	unsigned int ways;
	size_t way_bytes;
	unsigned int line;
	double hit, beyond;
	double agree;
	unsigned int seen;
	int is_sure;
	double sweep[STRIDE_WAYS + 2];	/* cycles a load of that many lines */
	unsigned int nsweep;		/* sweep[1..nsweep] are there */
};

/* Lines of METER_LINE bytes that the first level holds of pages a way apart. */
static inline unsigned int stride_lines(const struct stride *s)
{
	size_t bytes = s->way_bytes < METER_CHUNK ? s->way_bytes : METER_CHUNK;

	return (unsigned int)(s->ways * bytes / METER_LINE);
}

/* 0, -ENOMEM, -ECANCELED. The meter has STRIDE_CHUNKS chunks or more. */
int stride_find(struct trial *t, struct stride *s);

/* The same, of what was found so far and so many more attempts; 0 before the first. */
int stride_go_on(struct trial *t, struct stride *s, unsigned int attempts);

/* Ways of a power of two or three of them: what others leave of such are mostly not. */
int stride_is_usual(const struct stride *s);

/* Whether one line more than ways still does not fit, to *@holds. 0, -errno. */
int stride_holds(struct trial *t, const struct stride *s, int *holds);

/*
 * Whether as many lines as ways fit at once at most offsets, to *@calm: not if another thread of
 * the core runs now. 0, -errno.
 */
int stride_is_calm(struct trial *t, const struct stride *s, int *calm);

#endif
