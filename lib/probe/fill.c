// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>
#include <sys/param.h>

#include "fill.h"
#include "shuffle.h"

/* Orders without fewer misses, until no more lines settle: at first, and for the rest. */
#define ORDERS_FIRST	2
#define ORDERS		3
/* Of the lines that are there, those that are tried at once: few of one set; when most sets
 * are full. */
#define BATCH_LEAST	64
#define BATCH_AGAIN	24
#define BATCH_FEW	16
/* Looks at lines of which none of the new ones is seen to miss, but others do. */
#define TRIES_FIRST	1
#define TRIES		2
/* Looks after which, where there are so many lines that it takes long, as many as came are
 * pushed out: there is no room for any. */
#define LOOKS_LOSING	3
#define MANY_LINES	1024
/* Lines that fewer are pushed out by each that is taken back, at most. */
#define FOR_ONE		2
/* Of lines that were there, as many may have been too much. */
#define MOST_HIDDEN	8
/* Shares of them that fit: more are tried, or fewer. */
#define MOST_FIT	0.8
#define FEW_FIT		0.6

/* Those that missed, of @n, to the end. How many did not. */
static size_t part(const struct fill *f, uint32_t *pages, size_t n)
{
	size_t kept = 0;
	uint32_t page;

	for (size_t i = 0; i < n; i++) {
		page = pages[i];
		if (f->missed[page])
			continue;
		pages[i] = pages[kept];
		pages[kept++] = page;
	}
	return kept;
}

/* The first @n of those that are to be tried have been. */
static void put_back(struct fill *f, size_t n)
{
	uint32_t *first = f->pages + f->n;

	memcpy(f->list, first, n * sizeof(*first));
	memmove(first, first + n, (f->left - n) * sizeof(*first));
	memcpy(first + f->left - n, f->list, n * sizeof(*first));
	f->left -= n;
}

/* One look at @n lines more: how many miss of all, to *@missing. */
static int try_lines(struct fill *f, size_t n, size_t *missing)
{
	/* First those that fit: what came in their place goes. */
	int err = f->n ? fill_walk(f, f->pages, f->n) : 0;

	if (!err)
		err = fill_settle(f, f->pages, f->n + n, f->orders, missing);
	if (!err && *missing)
		fill_go_on(f, f->pages + f->n, n);
	return err;
}

/* Of the lines that were there those from the @stay-th on go, behind those that are left. */
static void drop(struct fill *f, size_t stay)
{
	size_t n = f->n - stay;

	memcpy(f->list, f->pages + stay, n * sizeof(*f->list));
	memmove(f->pages + stay, f->pages + f->n, f->left * sizeof(*f->pages));
	memcpy(f->pages + stay + f->left, f->list, n * sizeof(*f->list));
	f->n = stay;
}

/*
 * Try @batch lines more. Those that miss do not fit; others may push out one that does, and
 * stay, so they are tried again as long as any miss. Where each pushes out a single one, which
 * all that is taken back shows, those go instead, if they are fewer than came: of a set it is
 * all the same which lines fit. How many came or went, to *@fit. 0, -errno.
 */
static int try_batch(struct fill *f, size_t batch, size_t *fit)
{
	size_t now = batch, kept, stay, pushed, before = SIZE_MAX, back = 0, missing = 1, dropped = 0;
	int err = 0, idle = 0, for_one;

	for (int look = 0; now && missing && !err; look++) {
		err = try_lines(f, now, &missing);
		if (err || !missing)
			break;
		stay = part(f, f->pages, f->n);
		kept = part(f, f->pages + f->n, now);
		pushed = f->n - stay;
		for_one = look && pushed + FOR_ONE * back >= before;
		before = pushed;
		back = now - kept;
		idle = back ? 0 : idle + 1;
		now = kept;
		if (pushed && pushed < now && (for_one || idle >= f->tries)) {
			drop(f, stay);
			dropped += pushed;
		} else if (idle >= f->tries || dropped > batch ||
			   (for_one && look >= LOOKS_LOSING && f->n > MANY_LINES)) {
			now = 0;
		}
	}
	*fit = now ? now : dropped;
	f->n += now;
	f->left -= now;
	put_back(f, batch - now);
	return err;
}

/* Every line that is to be tried, @most of them. */
static int try_all(struct fill *f, size_t batch, size_t most, size_t *fit)
{
	size_t some = 0, least;
	int err = 0;

	shuffle(&f->t->rng, f->pages + f->n, f->npages - f->n);
	f->left = MIN(f->npages - f->n, most);
	for (*fit = 0; f->left && !err && f->t->loads < f->until; *fit += some) {
		least = MAX(f->n / (f->tries > TRIES_FIRST ? BATCH_AGAIN : BATCH_LEAST), BATCH_FEW);
		batch = MIN(MAX(batch, least), f->left);
		err = try_batch(f, batch, &some);
		if ((double)some > MOST_FIT * (double)batch)
			batch *= 2;
		else if ((double)some < FEW_FIT * (double)batch)
			batch /= 2;
	}
	return err;
}

int fill_grow(struct fill *f, size_t begins)
{
	size_t fit;

	f->n = 0;
	f->orders = ORDERS_FIRST;
	f->tries = TRIES_FIRST;
	return try_all(f, begins, SIZE_MAX, &fit);
}

int fill_again(struct fill *f, size_t most, size_t *fit)
{
	size_t stay, dropped = 0;
	int err;

	f->orders = ORDERS;
	f->tries = TRIES;
	/* More than fit may be there, if they were not seen to. */
	err = fill_look(f, f->pages, f->n);
	if (err < 0)
		return err;
	stay = err ? part(f, f->pages, f->n) : f->n;
	if (f->n - stay <= f->n / MOST_HIDDEN) {
		dropped = f->n - stay;
		f->n = stay;
	}
	err = try_all(f, 0, most, fit);
	*fit += dropped;
	return err;
}
