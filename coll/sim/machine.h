/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the simulator: ranks, adapters and messages of one run. */
#ifndef SONDE_COLL_SIM_MACHINE_H
#define SONDE_COLL_SIM_MACHINE_H

#include "engine.h"
#include "heap.h"
#include "lru.h"

/* In the order in which they happen at the same time. */
enum event_type {
	EVENT_STOP,	/* a rank has nothing more to do for its processor */
	EVENT_STEP,	/* a rank goes on */
	EVENT_RELEASE,	/* the barrier that it was in is over, and it may want a processor */
	EVENT_HANDOFF,	/* an adapter gets a message to send */
	EVENT_IDLE,	/* and can send the next */
	EVENT_ARRIVE,	/* the first byte comes in */
	EVENT_DELIVER,	/* a rank has the last */
};

enum message_kind {
	MESSAGE_LOCAL,	/* within the node */
	MESSAGE_EAGER,
	MESSAGE_REQUEST,	/* of the handshake for a long one */
	MESSAGE_GRANT,
	MESSAGE_LONG,
};

/**
 * struct message - on its way
 * @bytes: of data; @wire: that pass the adapters, 0 for a handshake
 * @gap_ns: of the adapters, for this one
 * @filled_ns: when the sender's processor has moved the last byte
 * @stream_ns: from first to last byte
 * @next: in whatever list it is
 */
struct message {
	uint64_t bytes, wire;
	double gap_ns, filled_ns, stream_ns;
	uint32_t src, dst, tag, next;
	enum message_kind kind;
};

struct list {
	uint32_t head, tail;
};

/**
 * struct rank - where a program is
 * @cpu_ns: its processor is busy until then
 * @peer: who the last message between nodes went to, from 1 on; 0: nobody
 * @processor: that it has, from 1 on, where they are shared; 0: none
 * @next: in the queue of those that want one, and @is_ready
 * @is_waiting: for messages; @is_blocked: in a barrier, where processors are shared
 * @due: posted receives and sends of its tag that are not complete
 * @early: messages for tags to come
 */
struct rank {
	uint64_t index;
	double cpu_ns;
	uint64_t due;
	struct list early;
	uint32_t tag, peer, processor, next;
	int is_waiting, is_blocked, is_done, is_ready;
};

/**
 * struct processor - one of those that ranks share
 * @last: the rank that had it last, from 1 on; 0: none
 * @is_vain: who holds it only looks for messages that were not there
 */
struct processor {
	uint32_t last;
	int is_held, is_vain;
};

/**
 * struct adapter - two servers and what they share
 * @queue: to be sent
 * @sent_ns: sending is possible again; @received_ns receiving
 * @last: process whose message was sent last; UINT32_MAX: none yet
 * @processes: how many have messages in the queue
 * @arrived: ranks at the barrier, the last at @barrier_ns
 */
struct adapter {
	struct list queue;
	double sent_ns, received_ns;
	uint32_t last, processes;
	int is_waking;
	struct a2a_lru *connections;
	uint32_t arrived;
	double barrier_ns;
};

/**
 * struct machine - one run
 * @nnodes, @nranks: that are simulated
 * @processors: if ranks share them, and @ready, the queue of those that want one
 * @queued: messages in the adapter's queue, for each rank
 */
struct machine {
	const struct a2a_program *program;
	const struct a2a_class *class;
	uint32_t nnodes, nranks, nprocessors;
	int is_reduced;
	struct processor *processors;
	struct list ready;
	struct rank *ranks;
	uint32_t *queued;
	struct adapter *adapters;
	struct message *messages;
	uint32_t nmessages, room, unused;
	struct a2a_heap heap;
	struct a2a_stats stats;
	uint32_t ndone;
};

static inline struct adapter *adapter_of(struct machine *m, uint32_t rank)
{
	return &m->adapters[rank / m->program->ppn];
}

/* Bytes after the first take G each. */
static inline double stream_ns(const struct machine *m, uint64_t bytes)
{
	return bytes ? (double)(bytes - 1) * m->class->byte_ns : 0;
}

/* Lists of messages. */
void list_append(struct machine *m, struct list *list, uint32_t message);

/* Return: 0, -ENOMEM. */
int push_event(struct machine *m, enum event_type type, double time, uint32_t where,
	       uint32_t message);

/* The adapter's part of what happens. Return: 0, -ENOMEM. */
int adapter_send(struct machine *m, uint32_t message, double now);
int adapter_wake(struct machine *m, uint32_t node, double now);
int adapter_receive(struct machine *m, uint32_t message, double now);

#endif
