// SPDX-License-Identifier: LGPL-2.1-or-later
/* A step: one event, and all that follows from it inside this process. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#ifdef DSM_FAULTS
enum dsm_fault dsm_fault_now;
#endif

void *dsm_grow(void *v, size_t size, size_t need, size_t *room)
{
	size_t more = *room ? *room : 8;
	void *new;

	if (need <= *room)
		return v;
	while (more < need)
		more *= 2;
	new = realloc(v, more * size);
	if (new)
		*room = more;
	return new;
}

void dsm_queue_init(struct dsm_queue *q)
{
	q->head = q->tail = NOBODY;
}

void dsm_enqueue(struct dsm_core *c, struct dsm_queue *q, uint32_t thread)
{
	c->threads[thread].next = NOBODY;
	if (q->head == NOBODY)
		q->head = thread;
	else
		c->threads[q->tail].next = thread;
	q->tail = thread;
}

uint32_t dsm_dequeue(struct dsm_core *c, struct dsm_queue *q)
{
	uint32_t thread = q->head;

	if (thread != NOBODY)
		q->head = c->threads[thread].next;
	return thread;
}

bool dsm_queue_remove(struct dsm_core *c, struct dsm_queue *q, uint32_t thread)
{
	struct dsm_queue rest;
	bool found = false;
	uint32_t t;

	dsm_queue_init(&rest);
	while ((t = dsm_dequeue(c, q)) != NOBODY) {
		if (t == thread)
			found = true;
		else
			dsm_enqueue(c, &rest, t);
	}
	*q = rest;
	return found;
}

/* Ids are whatever the caller likes, so they are mixed (splitmix64's finish). */
static size_t slot_of(const struct dsm_table *t, uint64_t id)
{
	id = (id ^ (id >> 30)) * 0xbf58476d1ce4e5b9;
	id = (id ^ (id >> 27)) * 0x94d049bb133111eb;
	return (size_t)(id ^ (id >> 31)) & (t->room - 1);
}

static void insert(struct dsm_table *t, uint64_t *item)
{
	size_t i = slot_of(t, *item);

	while (t->v[i])
		i = (i + 1) & (t->room - 1);
	t->v[i] = item;
}

static int widen(struct dsm_table *t)
{
	struct dsm_table new = { .n = t->n, .room = t->room ? t->room * 2 : 16 };

	new.v = calloc(new.room, sizeof(*new.v));
	if (!new.v)
		return -ENOMEM;
	for (size_t i = 0; i < t->room; i++)
		if (t->v[i])
			insert(&new, t->v[i]);
	free(t->v);
	*t = new;
	return 0;
}

void *dsm_table_get(struct dsm_table *t, uint64_t id, size_t size, bool *made)
{
	uint64_t *item;

	*made = false;
	for (size_t i = t->room ? slot_of(t, id) : 0; t->room && t->v[i];
	     i = (i + 1) & (t->room - 1))
		if (*t->v[i] == id)
			return t->v[i];
	if (2 * (t->n + 1) > t->room && widen(t))
		return NULL;
	item = calloc(1, size);
	if (!item)
		return NULL;
	*item = id;
	insert(t, item);
	t->n++;
	*made = true;
	return item;
}

static struct dsm_action *new_action(struct dsm_core *c)
{
	struct dsm_actions *a = c->out;
	void *v = dsm_grow(a->v, sizeof(*a->v), a->n + 1, &a->room);

	if (!v)
		return NULL;
	a->v = v;
	a->v[a->n] = (struct dsm_action){ 0 };
	return &a->v[a->n++];
}

int dsm_wake(struct dsm_core *c, uint32_t thread, int result)
{
	struct dsm_action *a = new_action(c);

	if (!a)
		return -ENOMEM;
	c->threads[thread].doing = DOING_NOTHING;
	a->kind = DSM_WAKE;
	a->to = thread;
	a->result = result;
	return 0;
}

int dsm_told(struct dsm_core *c, uint32_t from, const void *data, size_t len)
{
	struct dsm_action *a = new_action(c);
	uint8_t *copy = malloc(len ? len : 1);

	if (!a || !copy) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, data, len);
	*a = (struct dsm_action){ .kind = DSM_TOLD, .to = from, .data = copy, .len = len };
	return 0;
}

int dsm_tell_race(struct dsm_core *c, const struct dsm_race *race)
{
	struct dsm_action *a = new_action(c);
	void *copy = malloc(sizeof(*race));

	if (!a || !copy) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, race, sizeof(*race));
	*a = (struct dsm_action){ .kind = DSM_RACE, .data = copy, .len = sizeof(*race) };
	c->counters.races += !race->is_read;
	return 0;
}

static int add_letter(struct dsm_letters *l, uint8_t *data, size_t len)
{
	struct dsm_letter *letter = malloc(sizeof(*letter));

	if (!letter) {
		free(data);
		return -ENOMEM;
	}
	*letter = (struct dsm_letter){ .data = data, .len = len };
	*l->end = letter;
	l->end = &letter->next;
	return 0;
}

static uint8_t *to_bytes(struct dsm_message_head *h, const uint8_t *payload, size_t len)
{
	uint8_t *data = malloc(DSM_HEAD + len);

	if (!data)
		return NULL;
	h->len = (uint32_t)len;
	dsm_put_head(data, h);
	if (len)
		memcpy(data + DSM_HEAD, payload, len);
	return data;
}

/* What a process says to itself is no message: it is handled in the same step. */
int dsm_post(struct dsm_core *c, uint32_t to, const struct dsm_message_head *head,
	     const struct dsm_buf *payload)
{
	struct dsm_message_head h = *head;
	size_t len = payload ? payload->len : 0;
	struct dsm_action *a;
	uint8_t *data;

	if (payload && payload->failed)
		return -ENOMEM;
	if (len > UINT32_MAX)
		return -EMSGSIZE;
	h.from = (uint16_t)c->c.self;
	h.number = to == c->c.self ? 0 : ++c->sent[to];
	data = to_bytes(&h, payload ? payload->v : NULL, len);
	if (!data)
		return -ENOMEM;
	if (to == c->c.self)
		return add_letter(&c->local, data, DSM_HEAD + len);
	a = new_action(c);
	if (!a) {
		free(data);
		return -ENOMEM;
	}
	a->kind = DSM_SEND;
	a->to = to;
	a->data = data;
	a->len = DSM_HEAD + len;
	c->counters.messages[h.kind]++;
	c->counters.bytes[h.kind] += a->len;
	return 0;
}

int dsm_defer(struct dsm_core *c, const struct dsm_message_head *head, struct dsm_reader payload)
{
	struct dsm_message_head h = *head;
	uint8_t *data = to_bytes(&h, payload.p, dsm_left(&payload));

	if (!data)
		return -ENOMEM;
	c->counters.deferred++;
	return add_letter(&c->deferred, data, DSM_HEAD + h.len);
}

static int handle_message(struct dsm_core *c, const struct dsm_message_head *h,
			  struct dsm_reader r)
{
	switch ((enum dsm_message)h->kind) {
	case DSM_FETCH:		return dsm_on_fetch(c, h, r);
	case DSM_PAGE:		return dsm_on_page(c, h, r);
	case DSM_DIFF:		return dsm_on_diff(c, h, r);
	case DSM_ACK:		return dsm_on_ack(c, h, r);
	case DSM_LOCK:		return dsm_on_lock(c, h, r);
	case DSM_FORWARD:	return dsm_on_forward(c, h, r);
	case DSM_GRANT:		return dsm_on_grant(c, h, r);
	case DSM_BUSY:		return dsm_on_busy(c, h, r);
	case DSM_ARRIVE:	return dsm_on_arrive(c, h, r);
	case DSM_DEPART:	return dsm_on_depart(c, h, r);
	case DSM_ENQUEUE:	return dsm_on_enqueue(c, h, r);
	case DSM_ENQUEUED:	return dsm_on_enqueued(c, h, r);
	case DSM_SIGNAL:	return dsm_on_signal(c, h, r);
	case DSM_RESUME:	return dsm_on_resume(c, h, r);
	case DSM_NOTICES:	return dsm_on_notices(c, h, r);
	case DSM_LEAVE:		return dsm_on_leave(c, h, r);
	case DSM_TELL:		return dsm_on_tell(c, h, r);
	case DSM_FETCH_LIST:	return dsm_on_fetch_list(c, h, r);
	case DSM_PAGES:		return dsm_on_pages(c, h, r);
	case DSM_MESSAGES:	break;
	}
	return -EBADMSG;
}

static int receive(struct dsm_core *c, const struct dsm_event *ev)
{
	struct dsm_message_head h;
	struct dsm_reader r;
	int err = dsm_get_head(ev->data, ev->len, &h, &r);

	if (err)
		return err;
	if (h.from >= c->c.processes || h.from == c->c.self || h.from != ev->id)
		return -EBADMSG;
	if (h.number <= c->seen[h.from] && !dsm_fault(DUPLICATES)) {
		c->counters.duplicates++;
		return 0;
	}
	if (h.number != c->seen[h.from] + 1 && !dsm_fault(DUPLICATES))
		return -EPROTO;
	c->seen[h.from] = h.number;
	return handle_message(c, &h, r);
}

static int cancel(struct dsm_core *c, uint32_t thread)
{
	switch (c->threads[thread].doing) {
	case DOING_LOCK:
		return dsm_lock_cancel(c, thread);
	case DOING_ENQUEUE:
	case DOING_WAIT_UNLOCK:
	case DOING_WAIT:
		return dsm_wait_cancel(c, thread);
	default:
		return 0;
	}
}

static int handle_event(struct dsm_core *c, const struct dsm_event *ev)
{
	struct dsm_thread *t;

	if (ev->kind == DSM_EV_MESSAGE)
		return receive(c, ev);
	if (ev->thread >= c->c.threads)
		return -EINVAL;
	t = &c->threads[ev->thread];
	if (ev->kind == DSM_EV_CANCEL)
		return cancel(c, ev->thread);
	if (t->doing != DOING_NOTHING)
		return -EINVAL;
	t->id = ev->id;
	t->result = 0;
	t->competes = false;
	switch (ev->kind) {
	case DSM_EV_READ:
	case DSM_EV_WRITE:
		if (ev->id >= c->c.pages)
			return -EINVAL;
		return dsm_page_fault(c, ev->thread, (uint32_t)ev->id, ev->kind == DSM_EV_WRITE);
	case DSM_EV_LOCK:	return dsm_lock(c, ev->thread, ev->id, false);
	case DSM_EV_TRYLOCK:	return dsm_lock(c, ev->thread, ev->id, true);
	case DSM_EV_UNLOCK:
		t->doing = DOING_UNLOCK;
		t->lock = ev->id;
		return dsm_unlock(c, ev->thread, ev->id);
	case DSM_EV_BARRIER:	return dsm_barrier(c, ev->thread, ev->id, ev->arg);
	case DSM_EV_WAIT:	return dsm_wait(c, ev->thread, ev->id, ev->arg);
	case DSM_EV_SIGNAL:	return dsm_signal(c, ev->thread, ev->id, ev->arg);
	case DSM_EV_TELL:	return dsm_tell(c, ev->thread, ev);
	case DSM_EV_PREFETCH:
	case DSM_EV_ACQUIRE:
	case DSM_EV_RELEASE:	return dsm_range(c, ev->thread, ev);
	case DSM_EV_CANCEL:
	case DSM_EV_MESSAGE:	break;
	}
	return -EINVAL;
}

static int deliver_local(struct dsm_core *c)
{
	struct dsm_letter *l = c->local.head;
	struct dsm_message_head h;
	struct dsm_reader r;
	int err;

	c->local.head = l->next;
	if (!c->local.head)
		c->local.end = &c->local.head;
	err = dsm_get_head(l->data, l->len, &h, &r);
	if (!err)
		err = handle_message(c, &h, r);
	free(l->data);
	free(l);
	return err;
}

/* More is known now: what waited for that may have its turn. */
static int retry_deferred(struct dsm_core *c)
{
	c->advanced = false;
	if (c->deferred.head) {
		*c->local.end = c->deferred.head;
		c->local.end = c->deferred.end;
		c->deferred.head = NULL;
		c->deferred.end = &c->deferred.head;
	}
	return dsm_barrier_retry(c);
}

int dsm_core_step(struct dsm_core *c, const struct dsm_event *event, struct dsm_actions *out)
{
	int err;

	c->out = out;
	err = handle_event(c, event);
	while (!err && (c->local.head || c->advanced))
		err = c->local.head ? deliver_local(c) : retry_deferred(c);
	if (!err && c->nnotices > c->c.notices_max)
		err = dsm_log_collect(c);
	return err;
}

void dsm_actions_clear(struct dsm_actions *actions)
{
	for (size_t i = 0; i < actions->n; i++)
		free(actions->v[i].data);
	actions->n = 0;
}

void dsm_actions_free(struct dsm_actions *actions)
{
	dsm_actions_clear(actions);
	free(actions->v);
	*actions = (struct dsm_actions){ 0 };
}

const struct dsm_counters *dsm_core_counters(const struct dsm_core *c)
{
	return &c->counters;
}

size_t dsm_core_notices(const struct dsm_core *c)
{
	return c->nnotices;
}

const char *dsm_message_name(enum dsm_message message)
{
	static const char *const names[DSM_MESSAGES] = {
		[DSM_FETCH] = "fetch", [DSM_PAGE] = "page", [DSM_DIFF] = "diff",
		[DSM_ACK] = "ack", [DSM_LOCK] = "lock", [DSM_FORWARD] = "forward",
		[DSM_GRANT] = "grant", [DSM_BUSY] = "busy", [DSM_ARRIVE] = "arrive",
		[DSM_DEPART] = "depart", [DSM_ENQUEUE] = "enqueue",
		[DSM_ENQUEUED] = "enqueued", [DSM_SIGNAL] = "signal",
		[DSM_RESUME] = "resume", [DSM_NOTICES] = "notices",
		[DSM_LEAVE] = "leave", [DSM_TELL] = "tell",
		[DSM_FETCH_LIST] = "fetch_list", [DSM_PAGES] = "pages",
	};

	return message > 0 && message < DSM_MESSAGES ? names[message] : "?";
}
