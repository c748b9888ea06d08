// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * inter_window - irecv and isend, a window of each
 *
 * Messages go out in the order they are given; as soon as one of the window is
 * done the next is posted: a sliding window, not batches with a pause between.
 * Both sides list messages by distance, so the nearest that is not done is posted
 * on both, and the window cannot lock up.
 *
 * Messages of bytes go in pieces below the eager limit, if the caller says so:
 * what is aggregated would else wait for a rendezvous.
 *
 * Cost of n messages of s bytes to each side: n (o + s G) + L, while the NIC keeps
 * up. R. Thakur et al., IJHPCA 19(1), 2005, section 3.4 ("irecv-isend").
 */
#include <errno.h>
#include <limits.h>

#include "algorithms.h"
#include "plan.h"

/* As the table says. */
#define WINDOW_MOST	256

/**
 * struct queue - one side's messages
 * @next, @done: the next message, and what of it was posted
 * @is_send: or receives
 */
struct queue {
	const struct coll_exchange *exchange;
	const struct coll_message *messages;
	int n, next;
	MPI_Count done;
	int is_send;
};

static int is_empty(const struct queue *queue)
{
	return queue->next == queue->n;
}

/* Counts of int are for all; larger ones are what MPI 4 has. */
static int start(const struct queue *queue, const struct coll_message *m, char *at,
		 MPI_Count count, MPI_Comm comm, MPI_Request *request)
{
	if (count <= INT_MAX)
		return queue->is_send ?
			PMPI_Isend(at, (int)count, m->type, m->peer, COLL_TAG, comm, request) :
			PMPI_Irecv(at, (int)count, m->type, m->peer, COLL_TAG, comm, request);
#if MPI_VERSION >= 4
	return queue->is_send ?
		PMPI_Isend_c(at, count, m->type, m->peer, COLL_TAG, comm, request) :
		PMPI_Irecv_c(at, count, m->type, m->peer, COLL_TAG, comm, request);
#else
	return MPI_ERR_COUNT;
#endif
}

static int start_next(struct queue *queue, MPI_Comm comm, MPI_Request *request)
{
	const struct coll_message *m = &queue->messages[queue->next];
	const MPI_Count piece = (MPI_Count)queue->exchange->piece;
	MPI_Count count = m->count - queue->done;
	char *at = m->at;

	if (piece && m->type == MPI_BYTE) {
		at += queue->done;
		if (count > piece)
			count = piece;
	}
	queue->done += count;
	if (queue->done == m->count) {
		queue->next++;
		queue->done = 0;
	}
	return start(queue, m, at, count, comm, request);
}

/* Two halves of @requests: receives and sends. */
static int fill(struct queue queues[2], MPI_Comm comm, MPI_Request *requests, int window)
{
	int err = 0;

	for (int side = 0; side < 2; side++)
		for (int i = 0; i < window && !is_empty(&queues[side]) && !err; i++)
			err = start_next(&queues[side], comm, &requests[side * window + i]);
	return err;
}

static int slide(struct queue queues[2], MPI_Comm comm, MPI_Request *requests, int window)
{
	MPI_Status statuses[2 * WINDOW_MOST];
	int err = 0;

	while (!err && (!is_empty(&queues[0]) || !is_empty(&queues[1]))) {
		int i;

		err = PMPI_Waitany(2 * window, requests, &i, MPI_STATUS_IGNORE);
		if (err || i == MPI_UNDEFINED)
			break;
		if (!is_empty(&queues[i / window]))
			err = start_next(&queues[i / window], comm, &requests[i]);
	}
	return err ? err : PMPI_Waitall(2 * window, requests, statuses);
}

/* Receives that may go anywhere. */
static int place(struct coll_plan *plan, struct coll_exchange *exchange)
{
	size_t total = 0, at = 0;
	char *memory;

	for (int i = 0; i < exchange->nrecvs; i++)
		if (!exchange->recvs[i].at)
			total += (size_t)exchange->recvs[i].count;
	if (!total)
		return 0;
	memory = coll_plan_scratch(plan, COLL_FOR_RECEIVE, total);
	if (!memory)
		return -ENOMEM;
	for (int i = 0; i < exchange->nrecvs; i++)
		if (!exchange->recvs[i].at) {
			exchange->recvs[i].at = memory + at;
			at += (size_t)exchange->recvs[i].count;
		}
	return 0;
}

static int run(struct coll_plan *plan, const struct coll_exchange *exchange, int window)
{
	MPI_Request requests[2 * WINDOW_MOST];
	struct queue queues[2] = {
		{ exchange, exchange->recvs, exchange->nrecvs, 0, 0, 0 },
		{ exchange, exchange->sends, exchange->nsends, 0, 0, 1 },
	};
	int err;

	for (int i = 0; i < 2 * window; i++)
		requests[i] = MPI_REQUEST_NULL;
	err = fill(queues, plan->comm, requests, window);
	if (!err)
		err = slide(queues, plan->comm, requests, window);
	return err;
}

int coll_exchange_window(struct coll_plan *plan, const struct coll_choice *choice,
			 struct coll_exchange *exchange)
{
	int err = place(plan, exchange);

	return err ? err : run(plan, exchange, choice->parameter);
}

/*
 * Pairwise: the same, one message each way at a time. In step k to the rank k
 * ahead, from the rank k behind: no link is used twice in a step of a fat tree.
 *
 * Cost: (P - 1) (L + m G), all ranks in step. R. Thakur et al., section 3.4
 * ("pairwise exchange").
 */
int coll_exchange_pairwise(struct coll_plan *plan, const struct coll_choice *choice,
			   struct coll_exchange *exchange)
{
	int err = place(plan, exchange);

	(void)choice;
	for (int k = 0; k < exchange->nsends && !err; k++) {
		struct coll_exchange pair = *exchange;

		pair.sends += k;
		pair.recvs += k;
		pair.nsends = pair.nrecvs = 1;
		err = run(plan, &pair, 4);
	}
	return err;
}
