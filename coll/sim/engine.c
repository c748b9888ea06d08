// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * engine - ranks go through their programs, messages through adapters
 *
 * Ranks get messages only while they wait, as a library without threads of its
 * own does. What comes for a later tag is kept until the rank waits for that.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "machine.h"

#define LOOK_EVENTS (1u << 16)

/* ---- messages and events ------------------------------------------------- */

void list_append(struct machine *m, struct list *list, uint32_t message)
{
	m->messages[message].next = 0;
	if (list->head)
		m->messages[list->tail].next = message;
	else
		list->head = message;
	list->tail = message;
}

/* Return: its number, 0 for want of memory. */
static uint32_t new_message(struct machine *m)
{
	uint32_t id = m->unused;

	if (id) {
		m->unused = m->messages[id].next;
		return id;
	}
	if (m->nmessages == m->room) {
		uint32_t room = 2 * m->room;
		struct message *messages = realloc(m->messages, room * sizeof(*messages));

		if (!messages || room < m->room)
			return 0;
		m->messages = messages;
		m->room = room;
	}
	return m->nmessages++;
}

static void free_message(struct machine *m, uint32_t id)
{
	m->messages[id].next = m->unused;
	m->unused = id;
}

/* The node that plays for node 0 the part that node 0 plays for @node. */
static uint32_t reflect(const struct a2a_program *p, uint32_t node)
{
	return p->symmetry == A2A_XOR ? node : (p->nodes - node) % p->nodes;
}

/* Where @src is, seen from the node of @dst. */
static uint64_t find_relative(const struct a2a_program *p, uint32_t src, uint32_t dst)
{
	uint32_t from = src / p->ppn, to = dst / p->ppn;
	uint32_t node = p->symmetry == A2A_XOR ? from ^ to : (from + p->nodes - to) % p->nodes;

	return (uint64_t)node * p->ppn + src % p->ppn;
}

int push_event(struct machine *m, enum event_type type, double time, uint32_t where,
	       uint32_t message)
{
	struct a2a_event event = {
		.time = time,
		.key = (uint64_t)type << 60 | (uint64_t)(where % m->program->ppn) << 48,
		.where = where,
		.message = message,
	};
	const struct message *msg = &m->messages[message];

	if (type == EVENT_DELIVER || type == EVENT_ARRIVE)
		event.key |= find_relative(m->program, msg->src, msg->dst) << 24 | msg->tag;
	return a2a_heap_push(&m->heap, &event);
}

/* ---- processors ---------------------------------------------------------- */

/*
 * Where ranks share processors a rank keeps its own until it has to wait, as one
 * that yields only then. Who waits stays in the queue: it yields, it does not
 * sleep, so it gets a processor in its turn and looks in vain.
 */
static int has_message(const struct machine *m, const struct rank *rank)
{
	for (uint32_t id = rank->early.head; id; id = m->messages[id].next)
		if (m->messages[id].tag == rank->tag)
			return 1;
	return 0;
}

static int is_idle(const struct machine *m, const struct rank *rank)
{
	return rank->is_blocked || (rank->is_waiting && !has_message(m, rank));
}

static int give_processor(struct machine *m, uint32_t processor, uint32_t at, double now)
{
	struct processor *p = &m->processors[processor];
	struct rank *rank = &m->ranks[at];

	rank->cpu_ns = fmax(rank->cpu_ns, now);
	if (p->last && p->last != at + 1)
		rank->cpu_ns += m->class->turn_ns;
	p->last = at + 1;
	p->is_held = 1;
	p->is_vain = is_idle(m, rank);
	rank->processor = processor + 1;
	return push_event(m, EVENT_STEP, rank->cpu_ns, at, 0);
}

/* The processor that the rank had last is as good as any other, or better. */
static uint32_t find_processor(const struct machine *m, uint32_t at)
{
	uint32_t found = m->nprocessors;

	for (uint32_t p = m->nprocessors; p-- > 0;)
		if (!m->processors[p].is_held &&
		    (found == m->nprocessors || m->processors[found].last != at + 1))
			found = p;
	return found;
}

static void enqueue(struct machine *m, uint32_t at)
{
	m->ranks[at].is_ready = 1;
	m->ranks[at].next = 0;
	if (m->ready.head)
		m->ranks[m->ready.tail - 1].next = at + 1;
	else
		m->ready.head = at + 1;
	m->ready.tail = at + 1;
}

static int want_processor(struct machine *m, uint32_t at, double now)
{
	uint32_t processor = find_processor(m, at);

	if (processor < m->nprocessors)
		return give_processor(m, processor, at, now);
	if (!m->ranks[at].is_ready)
		enqueue(m, at);
	return 0;
}

/* Events that are not a look in vain: without them nothing will ever come. */
static int has_prospects(const struct machine *m)
{
	uint32_t vain = 0;

	for (uint32_t p = 0; p < m->nprocessors; p++)
		vain += m->processors[p].is_held && m->processors[p].is_vain;
	return m->heap.n > vain;
}

/* If not they may as well be left out, or would be without end at one time. */
static int looks_cost(const struct machine *m, const struct rank *rank)
{
	return m->class->turn_ns > 0 || (rank->is_waiting && m->class->poll_ns > 0);
}

static int leave_processor(struct machine *m, uint32_t at, double now)
{
	struct rank *rank = &m->ranks[at];
	const uint32_t processor = rank->processor - 1, first = m->ready.head;

	rank->processor = 0;
	m->processors[processor].is_held = 0;
	if (!first)
		return 0;
	if (!rank->is_done && looks_cost(m, rank) && has_prospects(m))
		enqueue(m, at);
	m->ready.head = m->ranks[first - 1].next;
	m->ranks[first - 1].is_ready = 0;
	return give_processor(m, processor, first - 1, now);
}

/* When what it has done already is over, and the last look for messages. */
static int stop(struct machine *m, uint32_t at)
{
	struct rank *rank = &m->ranks[at];

	if (!m->nprocessors)
		return 0;
	return push_event(m, EVENT_STOP, rank->cpu_ns + (rank->is_waiting ? m->class->poll_ns : 0),
			  at, 0);
}

/* ---- sending ------------------------------------------------------------- */

static uint32_t fill_message(struct machine *m, enum message_kind kind, uint32_t src, uint32_t dst,
			     uint32_t tag, uint64_t bytes)
{
	uint32_t id = new_message(m);
	int is_data = kind != MESSAGE_REQUEST && kind != MESSAGE_GRANT;

	if (id)
		m->messages[id] = (struct message){
			.bytes = bytes, .wire = is_data ? bytes : 0, .src = src, .dst = dst,
			.tag = tag, .kind = kind,
		};
	return id;
}

/* The processor's part of a message between nodes; then the adapter has it. */
static int send_to_adapter(struct machine *m, enum message_kind kind, uint32_t src, uint32_t dst,
			   uint32_t tag, uint64_t bytes)
{
	const struct a2a_class *c = m->class;
	struct rank *rank = &m->ranks[src];
	uint32_t id = fill_message(m, kind, src, dst, tag, bytes);
	double n, handed;

	if (!id)
		return -ENOMEM;
	n = (double)m->messages[id].wire;
	if (n <= c->pio_max_bytes) {
		rank->cpu_ns += c->send_ns + n * c->pio_byte_ns;
		/* The first packet leaves when it is there. */
		handed = rank->cpu_ns - fmax(n - c->packet_bytes, 0) * c->pio_byte_ns;
	} else {
		rank->cpu_ns += c->send_ns + (kind == MESSAGE_EAGER ? n * c->eager_byte_ns : 0);
		handed = rank->cpu_ns;
	}
	m->messages[id].filled_ns = rank->cpu_ns;
	m->messages[id].gap_ns = c->gap_ns + (rank->peer != dst + 1 ? c->lone_ns : 0);
	rank->peer = dst + 1;
	return push_event(m, EVENT_HANDOFF, handed, src, id);
}

static int send_local(struct machine *m, uint32_t src, const struct a2a_op *op)
{
	struct rank *rank = &m->ranks[src];
	uint32_t id = fill_message(m, MESSAGE_LOCAL, src, op->peer, op->tag, op->bytes);

	if (!id)
		return -ENOMEM;
	rank->cpu_ns += m->class->local_ns + (double)op->bytes * m->class->hot_byte_ns;
	return push_event(m, EVENT_DELIVER, rank->cpu_ns, op->peer, id);
}

static int send_message(struct machine *m, uint32_t src, const struct a2a_op *op)
{
	m->stats.messages++;
	m->stats.bytes += op->bytes;
	if (op->peer / m->program->ppn == src / m->program->ppn)
		return send_local(m, src, op);
	m->stats.wire_messages++;
	m->stats.wire_bytes += op->bytes;
	if ((double)op->bytes <= m->class->eager_max_bytes)
		return send_to_adapter(m, MESSAGE_EAGER, src, op->peer, op->tag, op->bytes);
	m->ranks[src].due++;
	return send_to_adapter(m, MESSAGE_REQUEST, src, op->peer, op->tag, op->bytes);
}

/* ---- receiving ----------------------------------------------------------- */

static void complete_receive(struct machine *m, struct rank *rank, const struct message *msg)
{
	rank->due--;
	m->stats.received++;
	m->stats.received_bytes += msg->bytes;
}

/* What a waiting rank does with a message of the tag it waits for. */
static int take_message(struct machine *m, uint32_t id, double now)
{
	const struct message msg = m->messages[id];
	const struct a2a_class *c = m->class;
	struct rank *rank = &m->ranks[msg.dst];
	double n = (double)msg.bytes;

	free_message(m, id);
	rank->cpu_ns = fmax(rank->cpu_ns, now);
	switch (msg.kind) {
	case MESSAGE_LOCAL:
		rank->cpu_ns += c->local_ns + n * c->hot_byte_ns;
		complete_receive(m, rank, &msg);
		return 0;
	case MESSAGE_EAGER:
		rank->cpu_ns += c->recv_ns + n * c->eager_byte_ns;
		complete_receive(m, rank, &msg);
		return 0;
	case MESSAGE_LONG:
		rank->cpu_ns += c->recv_ns;
		complete_receive(m, rank, &msg);
		return 0;
	case MESSAGE_REQUEST:
		rank->cpu_ns += c->recv_ns;
		return send_to_adapter(m, MESSAGE_GRANT, msg.dst, msg.src, msg.tag, msg.bytes);
	case MESSAGE_GRANT:
		rank->cpu_ns += c->recv_ns;
		rank->due--;
		return send_to_adapter(m, MESSAGE_LONG, msg.dst, msg.src, msg.tag, msg.bytes);
	}
	return -EINVAL;
}

static int take_early(struct machine *m, struct rank *rank)
{
	struct list early = rank->early;
	int err = 0;

	rank->early = (struct list){ 0, 0 };
	for (uint32_t id = early.head, next; id && !err; id = next) {
		next = m->messages[id].next;
		if (m->messages[id].tag == rank->tag)
			err = take_message(m, id, rank->cpu_ns);
		else
			list_append(m, &rank->early, id);
	}
	return err;
}

static int deliver(struct machine *m, uint32_t id, double now)
{
	uint32_t at = m->messages[id].dst;
	struct rank *rank = &m->ranks[at];
	int err;

	if (!rank->is_waiting || m->messages[id].tag != rank->tag || m->nprocessors) {
		list_append(m, &rank->early, id);
		return m->nprocessors && rank->is_waiting && !rank->processor &&
		       m->messages[id].tag == rank->tag ? want_processor(m, at, now) : 0;
	}
	err = take_message(m, id, now);
	if (err || rank->due)
		return err;
	rank->is_waiting = 0;
	return push_event(m, EVENT_STEP, rank->cpu_ns, at, 0);
}

/* What was sent to node d comes from the node whose d this one is. */
static int arrive(struct machine *m, uint32_t id, double now)
{
	struct message *msg = &m->messages[id];
	const uint32_t ppn = m->program->ppn;

	if (m->is_reduced) {
		msg->src = reflect(m->program, msg->dst / ppn) * ppn + msg->src % ppn;
		msg->dst %= ppn;
	}
	return adapter_receive(m, id, now);
}

/* ---- programs ------------------------------------------------------------ */

static int enter_barrier(struct machine *m, uint32_t at)
{
	const uint32_t ppn = m->program->ppn;
	struct adapter *node = adapter_of(m, at);
	double steps = ppn > 1 ? ceil(log2(ppn)) : 0;
	int err = 0;

	node->barrier_ns = fmax(node->barrier_ns, m->ranks[at].cpu_ns);
	m->ranks[at].is_blocked = m->nprocessors > 0;
	err = stop(m, at);
	if (++node->arrived < ppn || err)
		return err;
	node->barrier_ns += steps * m->class->barrier_ns;
	for (uint32_t r = at - at % ppn, end = r + ppn; r < end && !err; r++) {
		if (!m->nprocessors)
			m->ranks[r].cpu_ns = node->barrier_ns;
		err = push_event(m, m->nprocessors ? EVENT_RELEASE : EVENT_STEP, node->barrier_ns,
				 r, 0);
	}
	node->arrived = 0;
	node->barrier_ns = 0;
	return err;
}

static int begin_wait(struct machine *m, struct rank *rank, uint32_t tag)
{
	int err;

	rank->tag = tag;
	rank->is_waiting = 1;
	err = take_early(m, rank);
	if (!rank->due)
		rank->is_waiting = 0;
	return err;
}

static double copy_ns(const struct a2a_class *c, const struct a2a_op *op)
{
	return (double)op->bytes * (op->cold * c->cold_byte_ns + (1 - op->cold) * c->hot_byte_ns);
}

/* On until it must wait for something, be it the time it has come to. */
static int step(struct machine *m, uint32_t at)
{
	struct rank *rank = &m->ranks[at];
	struct a2a_op op;
	int err = 0;

	while (!err && m->program->get(m->program->ctx, at, rank->index, &op)) {
		rank->index++;
		switch (op.kind) {
		case A2A_COPY:
			rank->cpu_ns += copy_ns(m->class, &op);
			break;
		case A2A_RECV:
			rank->due++;
			break;
		case A2A_SEND:
			err = send_message(m, at, &op);
			return err ? err : push_event(m, EVENT_STEP, rank->cpu_ns, at, 0);
		case A2A_BARRIER:
			return enter_barrier(m, at);
		case A2A_WAIT:
			err = begin_wait(m, rank, op.tag);
			if (rank->is_waiting)
				return err ? err : stop(m, at);
			break;
		}
	}
	if (!err) {
		rank->is_done = 1;
		m->ndone++;
		m->stats.time_ns = fmax(m->stats.time_ns, rank->cpu_ns);
		err = stop(m, at);
	}
	return err;
}

/* With a processor of its own, or one that it was given. */
static int go_on(struct machine *m, uint32_t at, double now)
{
	struct rank *rank = &m->ranks[at];
	int err = 0;

	if (m->nprocessors && !rank->processor)
		return want_processor(m, at, now);
	rank->cpu_ns = fmax(rank->cpu_ns, now);
	if (rank->is_blocked)
		return stop(m, at);
	if (rank->is_waiting) {
		err = take_early(m, rank);
		if (err || rank->due)
			return err ? err : stop(m, at);
		rank->is_waiting = 0;
	}
	return step(m, at);
}

/* What has come meanwhile it still takes. */
static int leave(struct machine *m, uint32_t at, double now)
{
	struct rank *rank = &m->ranks[at];

	if (rank->is_done || is_idle(m, rank))
		return leave_processor(m, at, now);
	return go_on(m, at, now);
}

/* Who has a processor will see it at the end of its look. */
static int release(struct machine *m, uint32_t at, double now)
{
	m->ranks[at].is_blocked = 0;
	return m->ranks[at].processor ? 0 : want_processor(m, at, now);
}

static int handle(struct machine *m, const struct a2a_event *event)
{
	switch ((enum event_type)(event->key >> 60)) {
	case EVENT_STOP:
		return leave(m, event->where, event->time);
	case EVENT_STEP:
		return go_on(m, event->where, event->time);
	case EVENT_RELEASE:
		return release(m, event->where, event->time);
	case EVENT_HANDOFF:
		return adapter_send(m, event->message, event->time);
	case EVENT_IDLE:
		return adapter_wake(m, event->where / m->program->ppn, event->time);
	case EVENT_ARRIVE:
		return arrive(m, event->message, event->time);
	case EVENT_DELIVER:
		return deliver(m, event->message, event->time);
	}
	return -EINVAL;
}

static int run_events(struct machine *m, const struct a2a_watch *watch)
{
	struct a2a_event event;
	int err = 0;

	for (uint32_t r = 0; r < m->nranks && !err; r++)
		err = push_event(m, EVENT_STEP, 0, r, 0);
	while (!err && a2a_heap_pop(&m->heap, &event)) {
		err = handle(m, &event);
		if (++m->stats.events % LOOK_EVENTS == 0 && !err && watch &&
		    watch->look(watch->ctx, m->stats.events))
			err = -ECANCELED;
	}
	return !err && m->ndone < m->nranks ? -EDEADLK : err;
}

/* ---- one run ------------------------------------------------------------- */

static int open_machine(struct machine *m)
{
	uint32_t capacity = (uint32_t)m->class->qp_cache;

	m->nprocessors = (uint32_t)m->class->processors;
	m->processors = calloc((size_t)m->nprocessors + 1, sizeof(*m->processors));
	m->ranks = calloc(m->nranks, sizeof(*m->ranks));
	m->queued = calloc(m->nranks, sizeof(*m->queued));
	m->adapters = calloc(m->nnodes, sizeof(*m->adapters));
	m->room = 1024;
	m->messages = calloc(m->room, sizeof(*m->messages));
	m->nmessages = 1;	/* number 0 ends lists */
	if (!m->processors || !m->ranks || !m->queued || !m->adapters || !m->messages)
		return -ENOMEM;
	for (uint32_t n = 0; n < m->nnodes; n++) {
		m->adapters[n].last = UINT32_MAX;
		if (capacity && !(m->adapters[n].connections = a2a_lru_new(capacity)))
			return -ENOMEM;
	}
	return 0;
}

static void close_machine(struct machine *m)
{
	for (uint32_t n = 0; m->adapters && n < m->nnodes; n++)
		a2a_lru_free(m->adapters[n].connections);
	free(m->processors);
	free(m->ranks);
	free(m->queued);
	free(m->adapters);
	free(m->messages);
	a2a_heap_free(&m->heap);
}

static int check_program(const struct a2a_program *p, const struct a2a_class *class,
			 int is_reduced)
{
	if (!p->nodes || !p->ppn || p->nodes > A2A_MAX_NODES || p->ppn > A2A_MAX_PPN ||
	    (uint64_t)p->nodes * p->ppn > A2A_MAX_RANKS)
		return -EINVAL;
	return is_reduced && (p->symmetry == A2A_ASYMMETRIC || class->processors > 0) ? -EINVAL
										     : 0;
}

int a2a_simulate(const struct a2a_program *program, const struct a2a_class *class,
		 int is_reduced, const struct a2a_watch *watch, struct a2a_stats *stats,
		 double *finish)
{
	struct machine m = { .program = program, .class = class, .is_reduced = is_reduced };
	int err = check_program(program, class, is_reduced);

	if (err)
		return err;
	m.nnodes = is_reduced ? 1 : program->nodes;
	m.nranks = m.nnodes * program->ppn;
	err = open_machine(&m);
	if (!err)
		err = run_events(&m, watch);
	if (!err) {
		*stats = m.stats;
		for (uint32_t r = 0; finish && r < m.nranks; r++)
			finish[r] = m.ranks[r].cpu_ns;
	}
	close_machine(&m);
	return err;
}
