/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a survey amounts to, as far as that can be told from it alone. */
#ifndef SONDE_LIB_PROBE_TOLD_H
#define SONDE_LIB_PROBE_TOLD_H

#include "survey.h"

/* Confidence in what is consistent, and in what is not. */
#define TOLD_SURE		0.98
#define TOLD_DOUBTFUL		0.6
/* So many sets at most, and lines that flush the level above are in them too. */
#define TOLD_FEW_CLASSES	3
/* Sets of an exclusive level that lines which share one above have at least, for draws. */
#define TOLD_DRAWN_LEAST	6

/* Sets of the level for each page's worth of lines of the pool. */
double told_page_classes(const struct survey *s);

/*
 * Whether more than one class says so. Where all lines of the pool share a set or
 * two, nothing flushes the level above, so ways of an exclusive level are those of
 * both; if that is the simpler number, there is no telling, unless more lines were seen to
 * fit where none flushes.
 */
int told_has_ways(const struct survey *s);

/*
 * Whether draws, which tell a level that is not exclusive to some per cent, mean sets that are no
 * power of two. Nobody is sure of that but who counts them.
 */
int told_is_uneven(const struct survey *s);

/* How many classes they mean then. */
double told_drawn(const struct survey *s);

/*
 * Whether some class has other ways. Where lines at all offsets show the size, those that no
 * level has do not count: something disturbed.
 */
int told_is_disputed(const struct survey *s);

/* Whether it is told, surely or not, how large it is. */
int told_is_sized(const struct survey *s);

/* Whether as much is known of it as was asked for. */
int told_enough(const struct survey *s);

/* Whether its classes were taken out one by one, and as many as that explains. */
int told_is_counted(const struct survey *s);

/*
 * How sure its size is. Sets of an exclusive level that nobody counted are told by how
 * many lines had to be looked at for those of a class, and lines at other offsets by
 * a few of them: both have been off by a factor while all else fitted together. From the
 * third level on slices may be of any number, which an estimate takes for the nearest
 * power of two (16 instead of 20, all else fitting), so there too sets are to be counted.
 */
double told_confidence(const struct survey *s);

#endif
