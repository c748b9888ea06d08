// SPDX-License-Identifier: LGPL-2.1-or-later
#include <string.h>
#include <sys/param.h>

#include "fill.h"
#include "shuffle.h"

/* Orders without fewer misses, until no more lines settle: at first, and for the rest. */
#define ORDERS_FIRST	2
#define ORDERS		3
/* Lines that are tried at once, over those that are there: few of one set. */
#define BATCH_LEAST	64
#define BATCH_FEW	16
/* Looks at lines of which none of the new ones is seen to miss, but others do. */
#define TRIES_FIRST	1
#define TRIES		2
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

/*
 * Try @batch lines more. Those that miss do not fit; others may push out one that
 * does, and stay, so they are tried again as long as any miss. How many fit, to
 * *@fit. 0, -errno.
 */
static int try_batch(struct fill *f, size_t batch, size_t *fit)
{
	size_t now = batch, kept, missing = 1;
	int err = 0, idle = 0;

	while (now && missing && !err) {
		err = try_lines(f, now, &missing);
		if (err || !missing)
			break;
		kept = part(f, f->pages + f->n, now);
		idle = kept < now ? 0 : idle + 1;
		now = idle < f->tries ? kept : 0;
	}
	*fit = now;
	f->n += now;
	f->left -= now;
	put_back(f, batch - now);
	return err;
}

/* Every line that is to be tried. */
static int try_all(struct fill *f, size_t batch, size_t *fit)
{
	size_t some = 0, least;
	int err = 0;

	f->left = f->npages - f->n;
	shuffle(&f->t->rng, f->pages + f->n, f->left);
	for (*fit = 0; f->left && !err && f->t->loads < f->until; *fit += some) {
		least = MAX(f->n / BATCH_LEAST, BATCH_FEW);
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
	return try_all(f, begins, &fit);
}

int fill_again(struct fill *f, size_t *fit)
{
	f->orders = ORDERS;
	f->tries = TRIES;
	return try_all(f, 0, fit);
}
