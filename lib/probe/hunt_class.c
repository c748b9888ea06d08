// SPDX-License-Identifier: LGPL-2.1-or-later
/* Smallest sets of lines that overflow, and others of their class. */
#include <string.h>
#include <sys/param.h>

#include "hunt.h"
#include "shuffle.h"

/* Lines that may overflow a set. */
#define FEWEST		4
/* Flush lines are looked at in so many groups. */
#define PURIFY_GROUPS	4
/* Times that all of them are, at most. */
#define PURIFY_ROUNDS	8
/* Lines to try in the place of one of them. */
#define SPARE_TRIES	8
/* Pages tested at once. */
#define GROUP_MAX	24
/* Times that a member is seen not to overflow a set without one of the class. */
#define TAKE_LOOKS	2
/* Steps that may be taken back. */
#define FAULTS		50

static int overflow_with(struct hunt *h, const struct class *c, const uint32_t *from, size_t n)
{
	memcpy(h->list, c->page, c->n * sizeof(*h->list));
	memcpy(h->list + c->n, from, n * sizeof(*h->list));
	return hunt_overflows(h, h->list, c->n + n);
}

/*
 * How many of @from together with the class are the fewest that overflow; @to of
 * them do. -errno.
 */
static ssize_t fewest(struct hunt *h, const struct class *c, const uint32_t *from, size_t to)
{
	size_t clean = 0, mid;
	int over;

	while (to - clean > 1) {
		mid = (clean + to) / 2;
		over = overflow_with(h, c, from, mid);
		if (over < 0)
			return over;
		if (over)
			to = mid;
		else
			clean = mid;
	}
	return (ssize_t)to;
}

/* The first number of lines from *@n on, in steps, that overflow some set. */
static int first_overflow(struct hunt *h, const uint32_t *from, size_t nfrom, size_t *n)
{
	int err = 0;

	for (; *n < nfrom; *n = *n * 3 / 2) {
		err = hunt_overflows(h, from, *n);
		/* Twice: what disturbed once leads nowhere. */
		if (err > 0)
			err = hunt_overflows(h, from, *n);
		if (err)
			return err;
	}
	*n = nfrom;
	return hunt_overflows(h, from, nfrom);
}

/*
 * Have a spare line that is not of the class flush in @i's place: without a line of
 * the class, it overflows no set. @nspare are left. Where there are few classes,
 * the others may hold no more lines: then there is one less, but not fewer than
 * push all others out of the level above. 1, 0 if it cannot be, -errno.
 */
static int replace_flush(struct hunt *h, const struct class *c, size_t i, const uint32_t *spare,
			 size_t *nspare)
{
	int over = 1;

	for (int tries = 0; over > 0 && *nspare && tries < SPARE_TRIES; tries++) {
		h->flush[i] = spare[--*nspare];
		over = hunt_overflows(h, c->page, c->n - 1);
	}
	if (over <= 0)
		return over < 0 ? over : 1;
	h->flush[i] = h->flush[--h->nflush];
	return h->nflush >= h->above;
}

/*
 * Among the @n flush lines from @first on, the first that is of the class: it then
 * overflows nothing without them. To *@at; 1, 0 if there is none, -errno.
 */
static int find_suspect(struct hunt *h, const struct class *c, size_t first, size_t n, size_t *at)
{
	uint32_t flush[HUNT_WAYS];
	const size_t all = h->nflush;
	int over;

	memcpy(flush, h->flush, all * sizeof(*flush));
	memmove(h->flush + first, flush + first + n, (all - first - n) * sizeof(*flush));
	h->nflush = all - n;
	over = hunt_overflows(h, c->page, c->n);
	memcpy(h->flush, flush, all * sizeof(*flush));
	h->nflush = all;
	*at = first;
	if (over || n == 1)
		return over < 0 ? over : !over;
	over = find_suspect(h, c, first, n / 2, at);
	return over ? over : find_suspect(h, c, first + n / 2, n - n / 2, at);
}

/*
 * Flush lines that are of the class go over to it, *@taken of them, others take their place.
 * They are looked at in groups, but most of them have to stay to flush anything.
 */
static int purify(struct hunt *h, struct class *c, const uint32_t *spare, size_t nspare,
		  size_t *taken)
{
	size_t group = MAX(h->nflush / PURIFY_GROUPS, 1), at = 0, n;
	int err;

	*taken = 0;
	for (size_t first = 0; first < h->nflush;) {
		n = MIN(group, h->nflush - first);
		err = find_suspect(h, c, first, n, &at);
		if (err < 0)
			return err;
		if (!err) {
			first += n;
			continue;
		}
		if (c->n == HUNT_WAYS)
			return 0;
		c->page[c->n++] = h->flush[at];
		++*taken;
		err = replace_flush(h, c, at, spare, &nspare);
		if (err <= 0)
			return err;
	}
	return 1;
}

/*
 * Drop lines that the class does not need: among many lines a single miss is
 * easily not seen, and then a line more was taken than was needed.
 */
static int prune(struct hunt *h, struct class *c)
{
	uint32_t page;
	int over;

	for (size_t i = c->n; i-- > 0;) {
		page = c->page[i];
		c->page[i] = c->page[--c->n];
		over = hunt_overflows(h, c->page, c->n);
		if (over < 0)
			return over;
		if (over)
			continue;
		c->page[c->n++] = c->page[i];
		c->page[i] = page;
	}
	return 1;
}

/*
 * Until no flush line stands for one of the class. Where sets are few several do, and each that
 * goes over makes misses that hang on where the others are, so that these are not missed yet.
 * If more than half seem to be of the class it is none. 1, 0, -errno.
 */
static int settle(struct hunt *h, struct class *c, const uint32_t *spare, size_t nspare)
{
	const size_t most = c->n + h->nflush / 2;
	size_t taken = 1;
	int err = 1;

	for (int i = 0; taken && err > 0; i++) {
		if (i == PURIFY_ROUNDS || c->n > most)
			return 0;
		err = purify(h, c, spare, nspare, &taken);
		if (err > 0)
			err = prune(h, c);
	}
	return err;
}

/* Whether no line of the class can be spared. */
static int is_minimal(struct hunt *h, const struct class *c)
{
	struct class less;
	int err;

	for (size_t i = 0; i < c->n; i++) {
		less = *c;
		less.page[i] = less.page[--less.n];
		err = hunt_overflows(h, less.page, less.n);
		if (err)
			return err < 0 ? err : 0;
	}
	return 1;
}

/*
 * The last line of the fewest that overflow is of the class that does; with it
 * at hand, fewer of the others do, and so on until the class is complete. A wrong
 * answer on the way shows at the next step, which then is taken back.
 */
static int collect(struct hunt *h, const uint32_t *from, size_t n, struct class *c)
{
	size_t limit[HUNT_WAYS + 1];
	unsigned int faults = 0;
	ssize_t k;
	int over;

	c->n = 0;
	limit[0] = n;
	while (h->t->loads < h->until) {
		over = overflow_with(h, c, from, limit[c->n]);
		if (over < 0)
			return over;
		if (!over) {
			if (!c->n || ++faults > FAULTS)
				return 0;
			c->n--;
			continue;
		}
		if (!limit[c->n])
			return 1;
		k = fewest(h, c, from, limit[c->n]);
		if (k < 0)
			return (int)k;
		if (c->n == HUNT_WAYS)
			return 0;
		c->page[c->n++] = from[k - 1];
		limit[c->n] = (size_t)k - 1;
		over = hunt_overflows(h, c->page, c->n);
		if (over)
			return over;
	}
	return 0;
}

static int collect_of_few(struct hunt *h, uint32_t *from, size_t n, struct class *c)
{
	int err = hunt_narrow(h, from, &n);

	h->brief = h->hasty && h->singly;
	if (!err)
		err = collect(h, from, n, c);
	h->brief = 0;
	return err;
}

int hunt_class(struct hunt *h, uint32_t *from, size_t nfrom, struct class *c)
{
	size_t n = 0;
	int err;

	c->n = 0;
	nfrom = hunt_drop(from, nfrom, h->flush, h->nflush);
	/* If those that overflow did not after all, more of them do. */
	do {
		n = n ? n * 3 / 2 : FEWEST;
		err = first_overflow(h, from, nfrom, &n);
		if (err > 0)
			err = collect_of_few(h, from, n, c);
	} while (!err && !c->n && n < nfrom && h->t->loads < h->until);
	h->used = n;
	if (err > 0)
		err = prune(h, c);
	if (err > 0 && h->pure)
		return c->n > 1;
	if (err > 0)
		err = settle(h, c, from + n, nfrom - n);
	if (err > 0)
		err = hunt_overflows(h, c->page, c->n);
	/* One line alone: the flush lines overflow the set. */
	if (err > 0 && c->n < 2)
		return 0;
	return err > 0 ? is_minimal(h, c) : err;
}

/* A search for members at work. */
struct sieve {
	struct hunt *h;
	const struct class *c;
	unsigned int ways;
	uint32_t *from;
	size_t found, want;
};

/*
 * A page that overflows a set with the flush lines and one line of the class less than fit is of
 * another class, of which flush lines are as many as fit.
 */
static int take(struct sieve *s, size_t i)
{
	uint32_t page = s->from[i];
	struct class less = *s->c;
	int over = 0, last = 1;

	less.n = s->ways - 1;
	/* Any look that sees it does, or all where what disturbs is seen by some. */
	for (int k = 0; k < TAKE_LOOKS && (s->h->singly ? !over : last); k++) {
		last = overflow_with(s->h, &less, &page, 1);
		if (last < 0)
			return last;
		over += last;
	}
	if (s->h->singly ? over : last)
		return 0;
	s->from[i] = s->from[s->found];
	s->from[s->found++] = page;
	return 0;
}

/* All members among from[@first..@end), one of which is known to be where @sure. */
static int sift(struct sieve *s, size_t first, size_t end, int sure)
{
	struct class some = *s->c;
	size_t before = s->found, mid;
	int err;

	if (s->found >= s->want)
		return 0;
	some.n = s->ways;
	/* What must be there because it is not elsewhere is only tested at the end. */
	if (!sure || end - first == 1) {
		s->h->brief = end - first > 1 || s->h->hasty;
		err = overflow_with(s->h, &some, s->from + first, end - first);
		s->h->brief = 0;
		if (err <= 0)
			return err;
	}
	if (end - first == 1)
		return take(s, first);
	mid = (first + end) / 2;
	err = sift(s, first, mid, 0);
	return err < 0 ? err : sift(s, mid, end, s->found == before);
}

int hunt_members(struct hunt *h, const struct class *c, unsigned int ways, uint32_t *from,
		 size_t nfrom, size_t want, size_t *found, size_t *tested)
{
	struct sieve s = { .h = h, .c = c, .ways = ways, .from = from, .want = want };
	size_t group = 4, at = 0, before;
	int err = 0;

	while (at < nfrom && s.found < want && !err) {
		before = s.found;
		if (group > nfrom - at)
			group = nfrom - at;
		err = sift(&s, at, at + group, 0);
		at += group;
		/* About every other group has a member. */
		if (s.found - before > 1 && group > 1)
			group /= 2;
		else if (s.found == before && group < GROUP_MAX)
			group++;
	}
	*found = s.found;
	*tested = at;
	return err;
}
