// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An index that mixes a bit of the offset with bits of the frame puts lines at two offsets
 * of different pages into one set: so many fewer sets are there than classes of lines at one
 * offset times offsets.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include "survey.h"

/* Pages to look at for lines at other offsets, over classes; in groups. */
#define PAGES		12
#define GROUP		16
#define LEAST		6
/* Of the lines that it holds at one offset, those that are few. */
#define FEW_OF		16
/* Lines that the level holds at one offset, over those taken, so that few sets are full. */
#define ROOM		4
/* Flush lines over ways of the level above, where it is exclusive, at least. */
#define FLUSH_LEAST	2
/* Groups with such lines to be seen at least, and over those to be expected: as few as chance
 * leaves of a dozen. */
#define HITS		3
#define HITS_SHARE	0.25
/* So many are enough, if no more are seen at the own offset. */
#define ENOUGH		4
/* Times that one is asked again, with and without the class. */
#define AGAIN		3
/* A look sees at least so many of those at the own offset, and is crowded by at most so many. */
#define SHARE		0.45
#define DOUBT		0.2
/* Loads after which it is left open. */
#define PATIENCE	60000000

/*
 * Pages looked at together: so many that they miss the level above, but not so many that they
 * overflow a small level by themselves.
 */
static size_t group_of(const struct survey *s)
{
	const size_t most = (size_t)(s->classes * s->ways / FEW_OF);

	return MIN(MAX(2 * s->above, GROUP), MAX(most, s->above + 2));
}

/**
 * struct fold - a class, and pages to look for lines of its set in, at another offset
 * @c: it
 * @from: pages in groups, @n of them; behind these some that are in no role, first as
 *        many as the class has ways
 * @flush_other: lines at the other offset are flushed out of the level above, too
 */
struct fold {
	const struct class *c;
	const uint32_t *from;
	size_t n;
	int flush_other;
};

/*
 * How many flush lines at an offset: half of them where all would be in the way of the
 * others in the level's sets, unless it is exclusive: then others would stay above it, and
 * those are fewer that would fill half of it.
 */
static size_t flush_lines(const struct survey *s, const struct hunt *h, int both)
{
	const double room = s->classes * s->ways, group = (double)group_of(s);

	if (s->holding == HOLDING_OTHER)
		return MIN(h->nflush, (size_t)fmax(FLUSH_LEAST * s->above, (room / 2 - group - s->ways) / 2));
	if (both && room > ROOM * (group + (double)h->nflush))
		return h->nflush;
	return h->nflush / 2;
}

/* @pages' lines at @other, @with's at the class's offset, and flush lines. */
static int overflow_at(struct survey *s, struct hunt *h, const struct fold *f,
		       const uint32_t *with, const uint32_t *pages, uint32_t other)
{
	uint32_t places[4 * HUNT_WAYS];
	const uint32_t *idle = f->from + f->n + s->ways;
	const int both = f->flush_other || s->holding == HOLDING_OTHER;
	size_t at = 0, flush = flush_lines(s, h, both), tail = flush;

	for (size_t i = 0; i < s->ways; i++)
		places[at++] = meter_place(with[i], h->offset);
	for (size_t i = 0; i < group_of(s); i++)
		places[at++] = meter_place(pages[i], other);
	for (size_t i = 0; i < flush; i++)
		places[at++] = meter_place(h->flush[i], h->offset);
	/* And those at @other out of the level above, where it would keep them. */
	for (size_t i = 0; both && other != h->offset && i < flush; i++, tail++)
		places[at++] = meter_place(idle[i], other);
	return hunt_places_overflow(h, places, at, tail);
}

/*
 * Whether a line of @pages at @other shares the class's set. It does if they overflow
 * it with lines of the class and do not with lines of pages in no role: what
 * prefetchers bring besides may overflow sets as well, and so may the flush lines of few
 * sets: to *@crowded, one more. Asked in turns: few have one, and many may be disturbed. -errno.
 */
static int is_congruent(struct survey *s, struct hunt *h, const struct fold *f,
			const uint32_t *pages, uint32_t other, int *crowded)
{
	int over = overflow_at(s, h, f, f->c->page, pages, other);

	for (int i = 0; i < AGAIN && over > 0; i++) {
		over = !overflow_at(s, h, f, f->from + f->n, pages, other);
		*crowded += !over;
		if (over > 0)
			over = overflow_at(s, h, f, f->c->page, pages, other);
	}
	return over;
}

static int is_enough(int hits, int own)
{
	return hits >= ENOUGH && hits >= own;
}

/*
 * In how many groups of pages one does, until they are enough, and in how many at the
 * class's own offset, to *@own: taken in turns, as what disturbs the one then disturbs
 * the other. In *@crowded they did without the class. -errno.
 */
static int count_congruent(struct survey *s, struct hunt *h, const struct fold *f,
			   uint32_t other, int *own, int *crowded)
{
	const size_t group = group_of(s);
	int hits = 0, over, own_crowded = 0;

	*own = *crowded = 0;
	for (size_t first = 0; first + group <= f->n && s->t->loads < s->until; first += group) {
		over = is_congruent(s, h, f, f->from + first, h->offset, &own_crowded);
		if (over < 0)
			return over;
		*own += over;
		over = is_congruent(s, h, f, f->from + first, other, crowded);
		if (over < 0)
			return over;
		hits += over;
		if (is_enough(hits, *own))
			break;
	}
	return hits;
}

/* Of so many groups of pages, those to be expected to have such a line. */
static double expect_congruent(const struct survey *s, size_t n)
{
	size_t group = group_of(s);

	return (1 - pow(1 - 1 / s->classes, (double)group)) * (double)(n / group);
}

/*
 * Whether the class has lines at @other, too, to *@is_folded. Asked without flushing
 * lines there and with it, as the level above may keep them, or lines that flush them.
 * Lines that are seen are there, but a look that does not even see those at the own
 * offset, which are among the pages, is no look, nor is one that would see them without
 * the class: a no needs both.
 */
static int ask_fold(struct survey *s, struct hunt *h, struct fold *f, uint32_t other,
		    int *is_folded)
{
	const double expected = expect_congruent(s, f->n);
	int hits, own, crowded, looks = 0, some = 0;
	double seen;

	*is_folded = 0;
	for (f->flush_other = 0; f->flush_other < 2 && !*is_folded; f->flush_other++) {
		hits = count_congruent(s, h, f, other, &own, &crowded);
		if (hits < 0)
			return hits;
		seen = expected;
		if (own >= HITS && own > SHARE * expected && crowded <= SHARE * own) {
			looks++;
			seen = fmin(own, expected);
		}
		some |= hits > DOUBT * seen;
		*is_folded = is_enough(hits, own) ||
			     (hits >= HITS && hits > HITS_SHARE * seen);
	}
	s->doubtful |= !*is_folded && (looks < 2 || some);
	return 0;
}

int survey_fold(struct survey *s)
{
	uint32_t *from = malloc(s->npages * sizeof(*from));
	struct class used = s->class;
	struct fold f = { .c = &s->class, .from = from, .n = (size_t)(PAGES * s->classes) };
	struct hunt h = { .t = NULL };
	int err = from ? survey_resume(s, &h) : -ENOMEM, is_folded = 0, all = 1;

	if (err)
		goto out;
	s->until = s->t->loads + PATIENCE;
	f.n = MAX(f.n, LEAST * group_of(s));
	/* With those that were found beyond: there may be no others of its own offset. */
	used.n = s->ways;
	s->doubtful = survey_others(s, &h, &used, from) < f.n + s->ways + h.nflush;
	if (s->doubtful)
		goto out;
	h.least = s->sweep[s->last].least;
	/* Not the nearest lines: prefetchers tie them together anyway. */
	for (uint32_t bit = 4 * s->line; bit < METER_CHUNK && !err; bit *= 2) {
		if (!(s->folded & bit)) {
			err = ask_fold(s, &h, &f, h.offset ^ bit, &is_folded);
			s->folded |= is_folded ? bit : 0;
			all &= is_folded;
		}
	}
	/* Then something else overflows them: some bit must tell sets apart. */
	s->doubtful |= all;
out:
	s->fold = 1U << __builtin_popcount(s->folded);
	hunt_close(&h);
	free(from);
	return err;
}
