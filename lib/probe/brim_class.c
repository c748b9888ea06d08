// SPDX-License-Identifier: LGPL-2.1-or-later
/* Lines of a set of a level that is filled to the brim: one that does not fit shows them. */
#include <string.h>
#include <sys/param.h>

#include "brim_look.h"
#include "shuffle.h"

/*
 * Of a set's lines so many times each is to have missed since another did first; orders without
 * any until it cannot be told, lines of these where nothing flushes the level above.
 */
#define SHOW_AGAIN	5
#define SHOW_IDLE	3
#define SHOW_LINES	200000
#define SHOW_TRIES	10
/* Lines that did not fit, part of those that did, which leave hardly any set of theirs too full;
 * part of them that may miss then. */
#define ALONE		4
#define ALONE_MISS	4
/* Parts of those that fit, where these have to flush the level above. */
#define PARTS		4
/* Sets that are looked at; lines that are tried for them. */
#define SETS		3
#define SETS_TRIED	8

/* Lines that are in, but for those from the @from-th to the @to-th, and behind them the class, to
 * b->list. */
static size_t put_behind(struct brim *b, size_t from, size_t to, const struct class *c)
{
	size_t n;

	memcpy(b->list, b->page, from * sizeof(*b->list));
	memcpy(b->list + from, b->page + to, (b->n - to) * sizeof(*b->list));
	n = hunt_drop(b->list, from + b->n - to, c->page, c->n);
	memcpy(b->list + n, c->page, c->n * sizeof(*b->list));
	return n + c->n;
}

/* Whether they overflow the level then. 1, 0, -errno. */
static int overflows_without(struct brim *b, size_t from, size_t to, const struct class *c)
{
	const size_t n = put_behind(b, from, to, c);
	ssize_t missed = brim_look_in(b, b->list, n, c->n, brim_orders_to_see(b, n));

	return missed < 0 ? (int)missed : missed > 0;
}

/*
 * Whether the set has no more lines than @c: all others do not overflow the level without them, so
 * without a part of the others, whichever it is, they only do with @c if @c does by itself. Parts
 * are as large as leaves enough to flush the level above. 1, 0 if they do not without those from
 * the @from-th to the @to-th, -errno.
 */
static int is_complete(struct brim *b, const struct class *c, size_t *from, size_t *to)
{
	const size_t parts = b->nflush ? 2 : PARTS;
	int over = 1;

	shuffle(&b->h->t->rng, b->page, b->n);
	for (size_t i = 0; i < parts && over > 0; i++) {
		*from = i * b->n / parts;
		*to = (i + 1) * b->n / parts;
		over = overflows_without(b, *from, *to, c);
	}
	return over;
}

/* One of those, without which nothing overflows the level, is of the set: add it. 0, -errno. */
static int add_missing(struct brim *b, struct class *c, size_t from, size_t to)
{
	size_t mid;
	int over = 0;

	while (to - from > 1 && over >= 0) {
		mid = (from + to) / 2;
		over = overflows_without(b, from, mid, c);
		if (over > 0)
			from = mid;
		else
			to = mid;
	}
	/* With it something does. */
	if (over >= 0)
		over = overflows_without(b, 0, 0, c);
	if (over > 0 && c->n < HUNT_WAYS && !hunt_is_among(c->page, c->n, b->page[from]))
		c->page[c->n++] = b->page[from];
	return MIN(over, 0);
}

/* Those of @maybe, and behind them @c. */
static struct class both(const struct class *maybe, const struct class *c)
{
	struct class all = *maybe;
	const size_t others = hunt_drop(all.page, maybe->n, c->page, c->n);

	all.n = MIN(others, HUNT_WAYS - c->n);
	memcpy(all.page + all.n, c->page, c->n * sizeof(*all.page));
	all.n += c->n;
	return all;
}

/*
 * Those that miss with @c, lines of a set one of which does not fit, are of it, too: until nobody
 * misses who had not before. Those of @maybe, most of which are, come in a row with them. 1, 0 if
 * none does, -errno.
 */
static int gather(struct brim *b, struct class *c, const struct class *maybe)
{
	const struct class all = both(maybe, c);
	const size_t n = put_behind(b, 0, 0, &all);
	const unsigned int most = brim_orders(b, n, SHOW_LINES, SHOW_IDLE);
	size_t found = c->n, again = 0, row = all.n, before;
	unsigned int idle = 0;
	ssize_t missed;

	while (idle < most && again < SHOW_AGAIN * found && found <= HUNT_WAYS &&
	       b->h->t->loads < b->h->until) {
		brim_forget(b, b->list, n);
		missed = brim_look(b, b->list, n, row);
		if (missed < 0)
			return (int)missed;
		before = found;
		found = n - brim_part(b, b->list, n - found);
		again = found > before ? 0 : again + (size_t)missed;
		idle = missed ? 0 : idle + 1;
		for (row = found; row < n; row++)
			if (!hunt_is_among(maybe->page, maybe->n, b->list[n - row - 1]))
				break;
	}
	if (found < 2)
		return 0;
	c->n = MIN(found, HUNT_WAYS);
	memcpy(c->page, b->list + n - c->n, c->n * sizeof(*c->page));
	return 1;
}

/* Only those that are in. */
static struct class those_in(const struct brim *b, const struct class *c)
{
	struct class in = { .n = 0 };

	for (size_t i = 0; i < c->n; i++)
		if (hunt_is_among(b->page, b->n, c->page[i]))
			in.page[in.n++] = c->page[i];
	return in;
}

/*
 * A set that holds a line too many is seen to where its lines come in a row, if not elsewhere:
 * some that miss go, until none does without those of @c that are not in. Whether any went, -errno.
 */
static int trim(struct brim *b, const struct class *c)
{
	const size_t had = b->n;
	struct class in;
	int over;

	do {
		in = those_in(b, c);
		over = overflows_without(b, 0, 0, &in);
	} while (over > 0 && brim_give_way(b) && b->h->t->loads < b->h->until);
	return over < 0 ? over : b->n < had;
}

/* Others of the pool take the places of those tried, up to the @i-th, and of what holds them. */
static int wash(struct brim *b, size_t i)
{
	return hunt_wash(b->h, b->page, i + 1, b->n);
}

/*
 * The set in which the @i-th page, which did not fit, does not: lines of it, ways and one. A tree
 * may keep some in one half while those of the other miss, so others of the pool take all places
 * in between. 1, 0 if it cannot be told, -errno.
 */
static int find_class(struct brim *b, size_t i, struct class *c)
{
	const struct class none = { .n = 0 };
	size_t from, to;
	int told, complete = 0;

	*c = (struct class){ .page = { b->page[i] }, .n = 1 };
	for (int try = 0; try < SHOW_TRIES && !complete; try++) {
		told = try ? wash(b, i) : 0;
		if (!told)
			told = gather(b, c, &none);
		if (told <= 0)
			return told;
		if (c->n == HUNT_WAYS)
			break;
		complete = is_complete(b, c, &from, &to);
	}
	return complete;
}

/*
 * The same where that does not tell it, since other sets hold lines too many, or one of its lines
 * never misses. @c: lines most of which are of it.
 */
static int find_strictly(struct brim *b, size_t i, struct class *c)
{
	const struct class first = { .page = { b->page[i] }, .n = 1 };
	struct class maybe = those_in(b, c);
	size_t from, to;
	int told, complete = 0;

	*c = first;
	for (int try = 0; try < SHOW_TRIES && !complete && b->h->t->loads < b->h->until;) {
		told = wash(b, i);
		if (!told)
			told = gather(b, c, &maybe);
		if (told <= 0)
			return told;
		told = trim(b, c);
		if (told < 0 || (!told && c->n == HUNT_WAYS))
			return told;
		if (told) {
			maybe = those_in(b, c);
			*c = first;
			continue;
		}
		complete = is_complete(b, c, &from, &to);
		if (!complete)
			complete = add_missing(b, c, from, to);
		try++;
	}
	return complete;
}

/*
 * Whether lines that did not fit miss by themselves, in sets with room for them: then they are only
 * farther off than others, and no more is to be told. 1, 0, -errno.
 */
static int miss_alone(struct brim *b)
{
	const size_t n = MIN(b->n / ALONE, b->npages - b->n);
	ssize_t missed = brim_look_for_any(b, b->page + b->n, n);

	return missed < 0 ? (int)missed : (size_t)missed > n / ALONE_MISS + 1;
}

int brim_ways(struct brim *b, unsigned int *ways, struct class *c)
{
	const size_t first = b->n;
	unsigned int told = 0, same = 0;
	int seen = miss_alone(b);

	*ways = 0;
	if (seen)
		return MIN(seen, 0);
	for (size_t i = 0; i < SETS_TRIED && told < SETS && first + i < b->npages; i++) {
		seen = find_class(b, first + i, c);
		if (!seen && c->n > 1)
			seen = find_strictly(b, first + i, c);
		if (seen < 0)
			return seen;
		/* Two lines alone: something else overflows. */
		if (seen && (c->n < 3 || (told && c->n != same + 1)))
			return 0;
		told += (unsigned int)seen;
		same = seen ? (unsigned int)c->n - 1 : same;
	}
	if (told < SETS)
		return 0;
	*ways = same;
	return 1;
}
