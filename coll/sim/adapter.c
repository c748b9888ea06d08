// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * adapter - a node's network adapter: one server that sends, one that receives
 *
 * Each is busy with a message of n bytes for g + (n - 1) G, and longer where its
 * connection must be fetched. While messages of several processes wait the
 * sender turns from one to another at every packet; otherwise only when the
 * next message is another process's. A processor that moves the bytes itself
 * (PIO) may be slower than the wire: then the message's last byte waits for it,
 * while the adapter goes on with packets of others.
 */
#include <errno.h>
#include <math.h>
#include "machine.h"

/*
 * 0, or what it takes to fetch the state of the connection. Calls come back to
 * back: what there is room for is there from the call before.
 */
static double touch_connection(struct machine *m, struct adapter *adapter, uint32_t own,
			       uint32_t other)
{
	uint64_t key = (uint64_t)(own % m->program->ppn) << 32 | other;

	if (!adapter->connections || a2a_lru_touch(adapter->connections, key) != A2A_MISS) {
		m->stats.qp_hits++;
		return 0;
	}
	m->stats.qp_misses++;
	return m->class->qp_miss_ns;
}

static uint32_t take_queued(struct machine *m, struct adapter *adapter)
{
	uint32_t id = adapter->queue.head;
	struct message *msg = &m->messages[id];

	adapter->queue.head = msg->next;
	if (!--m->queued[msg->src])
		adapter->processes--;
	return id;
}

/* Turns between packets, beside the one before the first. */
static double count_turns(const struct machine *m, const struct adapter *adapter,
			  const struct message *msg)
{
	uint32_t others = adapter->processes - (m->queued[msg->src] > 0);

	return others && msg->wire ? ceil((double)msg->wire / m->class->packet_bytes) - 1 : 0;
}

static int start_sending(struct machine *m, struct adapter *adapter, double now)
{
	uint32_t id = take_queued(m, adapter);
	struct message *msg = &m->messages[id];
	double start = now, busy;

	if (adapter->last != msg->src && adapter->last != UINT32_MAX)
		start += m->class->switch_ns;
	adapter->last = msg->src;
	start += touch_connection(m, adapter, msg->src, msg->dst);
	busy = stream_ns(m, msg->wire) + count_turns(m, adapter, msg) * m->class->switch_ns;
	adapter->sent_ns = start + busy + msg->gap_ns;
	msg->stream_ns = fmax(busy, msg->filled_ns - start);
	return push_event(m, EVENT_ARRIVE, start + m->class->latency_ns, 0, id);
}

int adapter_wake(struct machine *m, uint32_t node, double now)
{
	struct adapter *adapter = &m->adapters[node];
	int err;

	adapter->is_waking = 0;
	err = start_sending(m, adapter, now);
	if (err || !adapter->queue.head)
		return err;
	adapter->is_waking = 1;
	return push_event(m, EVENT_IDLE, adapter->sent_ns, node * m->program->ppn, 0);
}

int adapter_send(struct machine *m, uint32_t message, double now)
{
	struct message *msg = &m->messages[message];
	struct adapter *adapter = adapter_of(m, msg->src);

	if (!m->queued[msg->src]++)
		adapter->processes++;
	list_append(m, &adapter->queue, message);
	if (adapter->is_waking)
		return 0;
	if (now >= adapter->sent_ns)
		return start_sending(m, adapter, now);
	adapter->is_waking = 1;
	return push_event(m, EVENT_IDLE, adapter->sent_ns,
			  msg->src / m->program->ppn * m->program->ppn, 0);
}

int adapter_receive(struct machine *m, uint32_t message, double now)
{
	struct message *msg = &m->messages[message];
	struct adapter *adapter = adapter_of(m, msg->dst);
	double start = fmax(now, adapter->received_ns);

	start += touch_connection(m, adapter, msg->dst, msg->src);
	adapter->received_ns = start + stream_ns(m, msg->wire) + msg->gap_ns;
	return push_event(m, EVENT_DELIVER, start + msg->stream_ns, msg->dst, message);
}
