// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What one process tells another, whatever the caller makes of it: threads that are
 * made, that end, that are waited for. With it go the intervals that the other lacks, if
 * memory is to be ordered: a release before it, an acquire where it is heard.
 */
#include <errno.h>

#include "state.h"

int dsm_tell(struct dsm_core *c, uint32_t thread, const struct dsm_event *ev)
{
	struct dsm_thread *t = &c->threads[thread];

	if (ev->id >= c->c.processes)
		return -EINVAL;
	t->doing = DOING_TELL;
	t->lock = ev->arg;
	t->told.len = 0;
	dsm_buf_bytes(&t->told, ev->data, ev->len);
	if (t->told.failed)
		return -ENOMEM;
	return ev->arg && !dsm_fault(UNORDERED_TELL) ? dsm_release(c, thread) :
						       dsm_tell_released(c, thread);
}

int dsm_tell_released(struct dsm_core *c, uint32_t thread)
{
	struct dsm_thread *t = &c->threads[thread];
	uint32_t to = (uint32_t)t->id;
	uint64_t *has = c->known + (size_t)to * c->c.processes;
	bool orders = t->lock && to != c->c.self && !dsm_fault(TELL_NO_NOTICES);
	struct dsm_buf b = { 0 };
	int err;

	err = dsm_put_notices(c, &b, orders ? has : c->vc, NULL, !orders);
	dsm_buf_bytes(&b, t->told.v, t->told.len);
	if (!err)
		err = dsm_post(c, to, &(struct dsm_message_head){ .kind = DSM_TELL }, &b);
	dsm_buf_free(&b);
	if (orders)
		dsm_raise(c, has, c->vc);
	return err ? err : dsm_wake(c, thread, 0);
}

int dsm_on_tell(struct dsm_core *c, const struct dsm_message_head *h, struct dsm_reader r)
{
	int err = dsm_is_early(c, r);

	if (err)
		return err < 0 ? err : dsm_defer(c, h, r);
	err = dsm_log_take(c, &r);
	return err ? err : dsm_told(c, h->from, r.p, dsm_left(&r));
}
