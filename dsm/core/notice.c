// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Intervals and their write notices: each process numbers its intervals, a vector
 * clock says up to which one knows those of each, and the log keeps the notices that
 * somebody may still lack (Keleher 1994; Amza et al. 1996, section 3).
 *
 * What may be dropped: all that everyone has, or has under way. The floor says how
 * far that went; who is told "above this floor" and is not there yet waits for what
 * is under way (dsm_is_early).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

bool dsm_covers(const struct dsm_core *c, const uint64_t *a, const uint64_t *b)
{
	for (uint32_t q = 0; q < c->c.processes; q++)
		if (a[q] < b[q])
			return false;
	return true;
}

void dsm_raise(const struct dsm_core *c, uint64_t *a, const uint64_t *b)
{
	for (uint32_t q = 0; q < c->c.processes; q++)
		if (a[q] < b[q])
			a[q] = b[q];
}

int dsm_put_vc(struct dsm_core *c, struct dsm_buf *b, const uint64_t *vc)
{
	for (uint32_t q = 0; q < c->c.processes; q++)
		dsm_buf_u64(b, vc[q]);
	return b->failed ? -ENOMEM : 0;
}

int dsm_get_vc(struct dsm_core *c, struct dsm_reader *r, uint64_t *vc)
{
	for (uint32_t q = 0; q < c->c.processes; q++)
		vc[q] = dsm_read_u64(r);
	return r->bad ? -EBADMSG : 0;
}

/* Of what is kept; an interval that only read (race_read.c) is something, too. */
static uint32_t weight_of(const struct dsm_record *record)
{
	return record->n ? record->n : 1;
}

/* The record's notices are the log's when it returns 0. */
static int append(struct dsm_core *c, uint32_t process, const struct dsm_record *record)
{
	struct dsm_log *log = &c->logs[process];
	void *v = dsm_grow(log->v, sizeof(*log->v), log->n + 1, &log->room);

	if (!v)
		return -ENOMEM;
	log->v = v;
	log->v[log->n++] = *record;
	c->nnotices += weight_of(record);
	c->vc[process] = record->seq;
	return 0;
}

int dsm_log_own(struct dsm_core *c, struct dsm_notice *notices, size_t n)
{
	struct dsm_record record = {
		.seq = c->vc[c->c.self] + 1,
		.n = (uint32_t)n,
		.arrivals = c->arrivals,
		.notices = malloc((n ? n : 1) * sizeof(*notices)),
	};
	int err;

	if (!record.notices)
		return -ENOMEM;
	if (n)
		memcpy(record.notices, notices, n * sizeof(*notices));
	c->counters.intervals++;
	err = append(c, c->c.self, &record);
	if (err)
		free(record.notices);
	return err;
}

void dsm_log_drop(struct dsm_core *c, const uint64_t *upto)
{
	for (uint32_t q = 0; q < c->c.processes; q++) {
		struct dsm_log *log = &c->logs[q];
		size_t n = 0;

		while (n < log->n && log->v[n].seq <= upto[q]) {
			c->nnotices -= weight_of(&log->v[n]);
			free(log->v[n++].notices);
		}
		if (n)
			memmove(log->v, log->v + n, (log->n - n) * sizeof(*log->v));
		log->n -= n;
		/* No further than what we have ourselves. */
		if (c->floor[q] < upto[q])
			c->floor[q] = upto[q] < c->vc[q] ? upto[q] : c->vc[q];
	}
}

static void put_record(struct dsm_core *c, struct dsm_buf *b, uint32_t process,
		       const struct dsm_record *record)
{
	dsm_buf_u32(b, process);
	dsm_buf_u32(b, record->arrivals);
	dsm_buf_u64(b, record->seq);
	dsm_buf_u32(b, record->n);
	for (uint32_t i = 0; i < record->n; i++) {
		dsm_buf_u32(b, record->notices[i].page);
		dsm_buf_u64(b, record->notices[i].version);
	}
	c->counters.notices += record->n;
}

/*
 * Every interval above @above and up to @upto (NULL: all). If the receiver did not
 * state @above itself, or some of it was dropped here, the message says above what it
 * begins.
 */
int dsm_put_notices(struct dsm_core *c, struct dsm_buf *b, const uint64_t *above,
		    const uint64_t *upto, bool stated)
{
	bool base = !stated || !dsm_covers(c, above, c->floor);
	size_t at;
	uint32_t n = 0;

	dsm_buf_u32(b, base);
	for (uint32_t q = 0; base && q < c->c.processes; q++)
		dsm_buf_u64(b, above[q] > c->floor[q] ? above[q] : c->floor[q]);
	at = b->len;
	dsm_buf_u32(b, 0);
	for (uint32_t q = 0; q < c->c.processes; q++) {
		if (dsm_fault(OWN_NOTICES_ONLY) && !upto && q != c->c.self)
			continue;
		for (size_t i = 0; i < c->logs[q].n; i++) {
			const struct dsm_record *record = &c->logs[q].v[i];

			if (record->seq <= above[q] || (upto && record->seq > upto[q]))
				continue;
			if (dsm_fault(BARRIER_NO_NOTICES) && upto)
				continue;
			put_record(c, b, q, record);
			n++;
		}
	}
	if (b->failed)
		return -ENOMEM;
	dsm_set_u32(b->v + at, n);
	return 0;
}

/*
 * What a barrier needs from here: our own intervals. Those of others their own arrival
 * brings, but for what they ended after it (another thread's), which the number of
 * their arrivals tells.
 */
int dsm_put_arrival(struct dsm_core *c, struct dsm_buf *b, uint32_t *n)
{
	for (uint32_t q = 0; q < c->c.processes; q++) {
		for (size_t i = 0; i < c->logs[q].n; i++) {
			const struct dsm_record *record = &c->logs[q].v[i];

			if (q != c->c.self && (record->arrivals <= c->departures ||
					       dsm_fault(ARRIVAL_OWN_ONLY)))
				continue;
			put_record(c, b, q, record);
			++*n;
		}
	}
	return b->failed ? -ENOMEM : 0;
}

/* A record's head; its notices are skipped, *@at is where they begin. */
static int get_record(struct dsm_core *c, struct dsm_reader *r, uint32_t *process,
		      struct dsm_record *record, struct dsm_reader *at)
{
	*process = dsm_read_u32(r);
	record->arrivals = dsm_read_u32(r);
	record->seq = dsm_read_u64(r);
	record->n = dsm_read_u32(r);
	*at = *r;
	dsm_read_bytes(r, (size_t)record->n * 12);
	return r->bad || *process >= c->c.processes ? -EBADMSG : 0;
}

static int take_record(struct dsm_core *c, uint32_t process, struct dsm_record *record,
		       struct dsm_reader *r)
{
	int err = 0;

	if (record->seq <= c->vc[process])
		return 0;
	/* Nothing between may be missing, and nobody knows ours before we do. */
	if ((record->seq != c->vc[process] + 1 && !dsm_fault(OWN_NOTICES_ONLY) &&
	     !dsm_fault(EARLY_COLLECTION) && !dsm_fault(NOT_DEFERRED)) ||
	    process == c->c.self)
		return -EPROTO;
	record->notices = malloc((record->n ? record->n : 1) * sizeof(*record->notices));
	if (!record->notices)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < record->n; i++) {
		record->notices[i].page = dsm_read_u32(r);
		record->notices[i].version = dsm_read_u64(r);
		err = dsm_page_notice(c, &record->notices[i]);
	}
	if (!err)
		err = append(c, process, record);
	if (err)
		free(record->notices);
	else
		c->advanced = true;
	return err;
}

int dsm_is_early(struct dsm_core *c, struct dsm_reader r)
{
	bool early = false;

	if (!dsm_read_u32(&r) || dsm_fault(NOT_DEFERRED))
		return 0;
	for (uint32_t q = 0; q < c->c.processes; q++)
		early |= dsm_read_u64(&r) > c->vc[q];
	return r.bad ? -EBADMSG : early;
}

int dsm_log_take(struct dsm_core *c, struct dsm_reader *r)
{
	uint32_t n, process;
	int err = 0;

	if (dsm_read_u32(r))
		dsm_read_bytes(r, (size_t)c->c.processes * 8);
	n = dsm_read_u32(r);
	if (r->bad)
		return -EBADMSG;
	while (!err && n--) {
		struct dsm_record record;
		struct dsm_reader at;

		err = get_record(c, r, &process, &record, &at);
		if (!err)
			err = take_record(c, process, &record, &at);
	}
	return err ? err : dsm_page_invalidate(c);
}

struct found {
	struct dsm_record record;
	struct dsm_reader at;
	uint32_t process;
};

static int by_process(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->record.seq < y->record.seq ? -1 : x->record.seq > y->record.seq;
}

/* Records of many arrivals: in any order, some more than once. */
int dsm_log_take_unordered(struct dsm_core *c, struct dsm_reader r, uint32_t n)
{
	struct found *found = calloc(n ? n : 1, sizeof(*found));
	int err = 0;

	if (!found)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < n; i++)
		err = get_record(c, &r, &found[i].process, &found[i].record, &found[i].at);
	if (!err)
		qsort(found, n, sizeof(*found), by_process);
	for (uint32_t i = 0; !err && i < n; i++)
		err = take_record(c, found[i].process, &found[i].record, &found[i].at);
	free(found);
	return err ? err : dsm_page_invalidate(c);
}

/*
 * Too many are kept, as in a program that has locks and no barriers. First goes what
 * everyone is known to have, by the clocks that came with requests; if that does not
 * do, those who have said nothing for long are given the rest.
 */
int dsm_log_collect(struct dsm_core *c)
{
	uint32_t n = c->c.processes;
	uint64_t *low = malloc(n * sizeof(*low));
	int err = 0;

	if (!low)
		return -ENOMEM;
	memcpy(low, c->vc, n * sizeof(*low));
	for (uint32_t q = 0; q < n; q++) {
		uint64_t *has = c->known + (size_t)q * n;

		if (q == c->c.self)
			continue;
		dsm_raise(c, has, c->floor);
		for (uint32_t p = 0; p < n; p++)
			if (low[p] > has[p])
				low[p] = has[p];
	}
	dsm_log_drop(c, low);
	free(low);
	if (c->nnotices <= c->c.notices_max / 2)
		return 0;
	for (uint32_t q = 0; !err && q < n; q++) {
		uint64_t *has = c->known + (size_t)q * n;
		struct dsm_buf b = { 0 };

		if (q == c->c.self || dsm_covers(c, has, c->vc))
			continue;
		err = dsm_put_notices(c, &b, has, NULL, false);
		if (!err)
			err = dsm_post(c, q, &(struct dsm_message_head){ .kind = DSM_NOTICES }, &b);
		dsm_buf_free(&b);
		dsm_raise(c, has, c->vc);
	}
	if (!err)
		dsm_log_drop(c, c->vc);
	return err;
}

int dsm_on_notices(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	int err = dsm_is_early(c, r);

	if (err)
		return err < 0 ? err : dsm_defer(c, h, r);
	err = dsm_log_take(c, &r);
	return err ? err : dsm_read_end(&r);
}
