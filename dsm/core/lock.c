// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Locks: each has one token. The manager (id mod processes) knows who asked last and
 * forwards a request there; who has the token hands it on when it has given the lock
 * up, with the intervals that the next one lacks. So processes get a lock in the order
 * in which they asked the manager. Inside a process threads hand it over without a
 * message or a release, so often in a row while another process waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define FLAG_TRY	((uint64_t)1 << 32)	/* in arg, beside the process that asks */

static uint32_t manager_of(const struct dsm_core *c, uint64_t id)
{
	return (uint32_t)(id % c->c.processes);
}

static struct dsm_lock *get_lock(struct dsm_core *c, uint64_t id)
{
	bool made;
	struct dsm_lock *l = dsm_table_get(&c->locks, id, sizeof(*l), &made);

	if (!l || !made)
		return l;
	dsm_queue_init(&l->waiters);
	l->next = NOBODY;
	l->tail = manager_of(c, id);
	l->token = l->tail == c->c.self;
	l->next_vc = calloc(c->c.processes, sizeof(*l->next_vc));
	return l->next_vc ? l : NULL;
}

static int ask(struct dsm_core *c, struct dsm_lock *l, bool try)
{
	struct dsm_buf b = { 0 };
	int err = dsm_put_vc(c, &b, c->vc);

	l->asked = true;
	if (!err)
		err = dsm_post(c, manager_of(c, l->id), &(struct dsm_message_head){
			       .kind = DSM_LOCK, .id = l->id,
			       .arg = c->c.self | (try ? FLAG_TRY : 0) }, &b);
	dsm_buf_free(&b);
	return err;
}

static int take(struct dsm_core *c, struct dsm_lock *l, uint32_t thread)
{
	l->held = true;
	return dsm_wake(c, thread, c->threads[thread].result);
}

int dsm_lock(struct dsm_core *c, uint32_t thread, uint64_t id, bool try)
{
	struct dsm_lock *l = get_lock(c, id);

	if (!l)
		return -ENOMEM;
	if (l->token && !l->held)
		return take(c, l, thread);
	/* Here it is held, or others of us wait for it. */
	if (try && (l->token || l->asked))
		return dsm_wake(c, thread, -EBUSY);
	c->threads[thread].doing = try ? DOING_TRY : DOING_LOCK;
	c->threads[thread].lock = id;
	dsm_enqueue(c, &l->waiters, thread);
	return l->token || l->asked ? 0 : ask(c, l, try);
}

static int grant(struct dsm_core *c, struct dsm_lock *l, uint32_t to, const uint64_t *above)
{
	struct dsm_buf b = { 0 };
	int err;

	l->token = dsm_fault(TWO_HOLDERS) && l->held;
	l->held = l->token;
	if (dsm_fault(EARLY_COLLECTION))
		dsm_log_drop(c, c->vc);
	err = dsm_put_notices(c, &b, above, NULL, true);
	if (!err)
		err = dsm_post(c, to, &(struct dsm_message_head){
			       .kind = DSM_GRANT, .id = l->id }, &b);
	dsm_buf_free(&b);
	/* Under way: what we say later it will hear later. */
	dsm_raise(c, c->known + (size_t)to * c->c.processes, c->vc);
	return err;
}

/* The writes are at home, nobody holds the lock: who is next? */
static int pass_on(struct dsm_core *c, struct dsm_lock *l)
{
	uint32_t to = l->next, thread;
	int err;

	l->held = false;
	if (to == NOBODY) {
		thread = dsm_dequeue(c, &l->waiters);
		return thread == NOBODY ? 0 : take(c, l, thread);
	}
	l->next = NOBODY;
	err = grant(c, l, to, l->next_vc);
	return err || l->waiters.head == NOBODY ? err : ask(c, l, false);
}

static int after_unlock(struct dsm_core *c, uint32_t thread)
{
	if (c->threads[thread].doing == DOING_WAIT_UNLOCK)
		return dsm_wait_released(c, thread);
	return dsm_wake(c, thread, 0);
}

int dsm_unlock(struct dsm_core *c, uint32_t thread, uint64_t id)
{
	struct dsm_lock *l = get_lock(c, id);
	int err;

	if (!l)
		return -ENOMEM;
	if (!l->held)
		return -EINVAL;
	if (l->waiters.head != NOBODY && (l->next == NOBODY || l->handed < c->c.handovers)) {
		l->handed++;
		c->counters.handovers++;
		err = take(c, l, dsm_dequeue(c, &l->waiters));
		return err ? err : after_unlock(c, thread);
	}
	if (dsm_fault(NO_FLUSH))
		return dsm_lock_released(c, thread);
	return dsm_release(c, thread);
}

/* The token comes all the same, as for one that only tried. */
int dsm_lock_cancel(struct dsm_core *c, uint32_t thread)
{
	struct dsm_lock *l = get_lock(c, c->threads[thread].lock);

	if (!l)
		return -ENOMEM;
	if (c->threads[thread].competes || !dsm_queue_remove(c, &l->waiters, thread))
		return 0;
	return dsm_wake(c, thread, -ETIMEDOUT);
}

int dsm_lock_released(struct dsm_core *c, uint32_t thread)
{
	struct dsm_lock *l = get_lock(c, c->threads[thread].lock);
	int err = l ? pass_on(c, l) : -ENOMEM;

	return err ? err : after_unlock(c, thread);
}

/* At the manager. */
int dsm_on_lock(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_lock *l = get_lock(c, h->id);
	struct dsm_buf b = { 0 };
	uint32_t last;
	int err;

	if (!l)
		return -ENOMEM;
	if (manager_of(c, h->id) != c->c.self || (uint32_t)h->arg != h->from)
		return -EPROTO;
	last = l->tail;
	if (!dsm_fault(LOST_TAIL))
		l->tail = h->from;
	dsm_buf_bytes(&b, r.p, dsm_left(&r));
	err = dsm_post(c, last, &(struct dsm_message_head){
		       .kind = DSM_FORWARD, .id = h->id, .arg = h->arg }, &b);
	dsm_buf_free(&b);
	return err;
}

/* At who asked before: it has the token, or will have it. */
int dsm_on_forward(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_lock *l = get_lock(c, h->id);
	uint32_t who = (uint32_t)h->arg;
	int err;

	if (!l)
		return -ENOMEM;
	if (who >= c->c.processes || h->from != manager_of(c, h->id) || l->next != NOBODY ||
	    !(l->token || l->asked))
		return -EPROTO;
	err = dsm_get_vc(c, &r, l->next_vc);
	if (!err)
		err = dsm_read_end(&r);
	if (err)
		return err;
	dsm_raise(c, c->known + (size_t)who * c->c.processes, l->next_vc);
	if (l->token && (!l->held || dsm_fault(TWO_HOLDERS)))
		return grant(c, l, who, l->next_vc);
	l->next = who;
	l->handed = 0;
	if (!(h->arg & FLAG_TRY))
		return 0;
	return dsm_post(c, who, &(struct dsm_message_head){
			.kind = DSM_BUSY, .id = h->id }, NULL);
}

int dsm_on_grant(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_lock *l = get_lock(c, h->id);
	int err = dsm_is_early(c, r);

	if (!l)
		return -ENOMEM;
	if (err)
		return err < 0 ? err : dsm_defer(c, h, r);
	if (l->token || !l->asked)
		return -EPROTO;
	err = dsm_log_take(c, &r);
	if (!err)
		err = dsm_read_end(&r);
	if (err)
		return err;
	l->token = true;
	l->asked = false;
	l->handed = 0;
	/* First who waited here; if nobody does any more, who waits elsewhere. */
	if (l->waiters.head != NOBODY)
		return take(c, l, dsm_dequeue(c, &l->waiters));
	return l->next == NOBODY ? 0 : pass_on(c, l);
}

/*
 * The one that only tried is told. The token comes all the same, since we are in the
 * row now; who has come to wait since then gets it.
 */
int dsm_on_busy(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_lock *l = get_lock(c, h->id);
	struct dsm_queue rest;
	uint32_t thread;
	int err = dsm_read_end(&r);

	if (!l)
		return -ENOMEM;
	dsm_queue_init(&rest);
	while (!err && (thread = dsm_dequeue(c, &l->waiters)) != NOBODY) {
		if (c->threads[thread].doing == DOING_TRY)
			err = dsm_wake(c, thread, -EBUSY);
		else
			dsm_enqueue(c, &rest, thread);
	}
	l->waiters = rest;
	return err;
}
