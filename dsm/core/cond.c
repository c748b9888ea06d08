// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Condition variables. The manager (id mod processes) has the queue. A thread gives
 * its lock up only when it is in there: who signals after taking the lock then finds
 * it, whatever way its signal goes. Memory is the lock's business, not the signal's.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define FLAG_LATE	((uint64_t)1 << 32)	/* in arg of a resume, beside the thread */

static uint32_t manager_of(const struct dsm_core *c, uint64_t id)
{
	return (uint32_t)(id % c->c.processes);
}

static struct dsm_cond *get_cond(struct dsm_core *c, uint64_t id)
{
	bool made;

	return dsm_table_get(&c->conds, id, sizeof(struct dsm_cond), &made);
}

int dsm_wait(struct dsm_core *c, uint32_t thread, uint64_t id, uint64_t lock)
{
	struct dsm_thread *t = &c->threads[thread];
	int err;

	t->doing = DOING_ENQUEUE;
	t->lock = lock;
	t->resumed = false;
	err = dsm_post(c, manager_of(c, id), &(struct dsm_message_head){
		       .kind = DSM_ENQUEUE, .id = id, .arg = thread }, NULL);
	if (err || !dsm_fault(UNORDERED_WAIT))
		return err;
	t->doing = DOING_WAIT_UNLOCK;
	return dsm_unlock(c, thread, lock);
}

int dsm_signal(struct dsm_core *c, uint32_t thread, uint64_t id, bool all)
{
	int err = dsm_post(c, manager_of(c, id), &(struct dsm_message_head){
			   .kind = DSM_SIGNAL, .id = id, .arg = all }, NULL);

	return err ? err : dsm_wake(c, thread, 0);
}

static int compete(struct dsm_core *c, uint32_t thread)
{
	c->threads[thread].competes = true;
	return dsm_lock(c, thread, c->threads[thread].lock, false);
}

int dsm_wait_released(struct dsm_core *c, uint32_t thread)
{
	struct dsm_thread *t = &c->threads[thread];

	t->doing = DOING_WAIT;
	return t->resumed ? compete(c, thread) : 0;
}

/* A signal may be under way: the manager knows, and answers one way or the other. */
int dsm_wait_cancel(struct dsm_core *c, uint32_t thread)
{
	return dsm_post(c, manager_of(c, c->threads[thread].id), &(struct dsm_message_head){
			.kind = DSM_LEAVE, .id = c->threads[thread].id, .arg = thread }, NULL);
}

int dsm_on_leave(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_cond *d = get_cond(c, h->id);
	size_t i;

	if (!d)
		return -ENOMEM;
	if (dsm_read_end(&r) || manager_of(c, h->id) != c->c.self || h->arg >= NOBODY)
		return -EBADMSG;
	for (i = d->first; i < d->n; i++)
		if (d->v[i].process == h->from && d->v[i].thread == h->arg)
			break;
	if (i == d->n)
		return 0;
	if (!dsm_fault(LOST_CANCEL))
		memmove(d->v + i, d->v + i + 1, (--d->n - i) * sizeof(*d->v));
	return dsm_post(c, h->from, &(struct dsm_message_head){
			.kind = DSM_RESUME, .id = h->id, .arg = h->arg | FLAG_LATE }, NULL);
}

int dsm_on_enqueue(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_cond *d = get_cond(c, h->id);
	void *v;

	if (!d)
		return -ENOMEM;
	if (dsm_read_end(&r) || manager_of(c, h->id) != c->c.self || h->arg >= NOBODY)
		return -EBADMSG;
	if (d->first) {
		memmove(d->v, d->v + d->first, (d->n - d->first) * sizeof(*d->v));
		d->n -= d->first;
		d->first = 0;
	}
	v = dsm_grow(d->v, sizeof(*d->v), d->n + 1, &d->room);
	if (!v)
		return -ENOMEM;
	d->v = v;
	d->v[d->n++] = (struct dsm_sleeper){ .process = h->from, .thread = (uint32_t)h->arg };
	return dsm_post(c, h->from, &(struct dsm_message_head){
			.kind = DSM_ENQUEUED, .id = h->id, .arg = h->arg }, NULL);
}

static struct dsm_thread *waiting(struct dsm_core *c, const struct dsm_message_head *h)
{
	uint64_t thread = h->arg & ~FLAG_LATE;
	struct dsm_thread *t = thread < c->c.threads ? &c->threads[thread] : NULL;

	return t && t->id == h->id && h->from == manager_of(c, h->id) ? t : NULL;
}

int dsm_on_enqueued(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_thread *t = waiting(c, h);

	if (dsm_fault(UNORDERED_WAIT))
		return 0;
	if (dsm_read_end(&r) || !t || t->doing != DOING_ENQUEUE)
		return -EPROTO;
	t->doing = DOING_WAIT_UNLOCK;
	return dsm_unlock(c, (uint32_t)h->arg, t->lock);
}

int dsm_on_signal(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_cond *d = get_cond(c, h->id);
	int err = dsm_read_end(&r);

	if (!d)
		return -ENOMEM;
	if (manager_of(c, h->id) != c->c.self)
		return -EPROTO;
	while (!err && d->first < d->n) {
		const struct dsm_sleeper *s = &d->v[d->first++];

		err = dsm_post(c, s->process, &(struct dsm_message_head){
			       .kind = DSM_RESUME, .id = h->id, .arg = s->thread }, NULL);
		if (!h->arg)
			break;
	}
	return err;
}

int dsm_on_resume(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	struct dsm_thread *t = waiting(c, h);

	if (dsm_read_end(&r) || !t)
		return -EPROTO;
	t->result = h->arg & FLAG_LATE ? -ETIMEDOUT : 0;
	switch (t->doing) {
	case DOING_WAIT:
		return compete(c, (uint32_t)(h->arg & ~FLAG_LATE));
	case DOING_WAIT_UNLOCK:
		t->resumed = !dsm_fault(LOST_RESUME);
		return 0;
	default:
		return -EPROTO;
	}
}
