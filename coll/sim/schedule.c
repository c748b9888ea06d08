// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * schedule - what goes on around the exchange between nodes
 *
 * N nodes of p ranks, blocks of m bytes. Every rank copies N p m bytes once for
 * each of aggregation and distribution; the exchange has N members, its blocks:
 *
 *	flat		nothing around it; N p members, blocks of m
 *	leader		aggregate, barrier, leaders exchange p p m, barrier, distribute
 *	leaders (k)	the same, each of k leaders with p p m / k
 *	sa		aggregate, barrier, all ranks exchange p m
 *	rd		all ranks exchange p m, barrier, distribute
 *
 * Each ends with a barrier, since buffers in shared memory are used again.
 * Ranks aggregate at the same time, straight to where messages are sent from.
 *
 * What is hot: aggregation reads what the application has written and writes
 * what the sender's processor will read, as far as caches hold it until then,
 * unless the adapter fetches messages by DMA. Distribution reads what DMA wrote,
 * unless Bruck's algorithm has touched it. Both after Kumar, Mamidala, Panda
 * 2008, section 3 and figure 5.
 */
#include <errno.h>
#include <string.h>
#include "exchange.h"

static const char *const outer_names[A2A_OUTERS] = {
	[A2A_FLAT] = "flat", [A2A_LEADER] = "leader", [A2A_LEADERS] = "leaders",
	[A2A_SA] = "sa", [A2A_RD] = "rd",
};

static const char *const inner_names[A2A_INNERS] = {
	[A2A_TUNED] = "tuned", [A2A_BRUCK] = "bruck", [A2A_ISEND] = "isend",
	[A2A_PAIRWISE] = "pairwise",
};

const char *a2a_outer_name(enum a2a_outer outer)
{
	return outer_names[outer];
}

const char *a2a_inner_name(enum a2a_inner inner)
{
	return inner_names[inner];
}

static int find_name(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(name, names[i]))
			return i;
	return -1;
}

int a2a_outer_find(const char *name)
{
	return find_name(name, outer_names, A2A_OUTERS);
}

int a2a_inner_find(const char *name)
{
	return find_name(name, inner_names, A2A_INNERS);
}

/* ---- deciding ------------------------------------------------------------ */

/* Leader x sends for local ranks x, x + k, ...: the first serves most. */
static uint32_t count_served(const struct a2a_plan *plan, uint32_t x)
{
	return (plan->request.ppn - x + plan->leaders - 1) / plan->leaders;
}

static uint64_t block_bytes(const struct a2a_plan *plan, uint32_t x)
{
	const struct a2a_request *r = &plan->request;

	switch (r->outer) {
	case A2A_LEADER:
	case A2A_LEADERS:
		return r->bytes * r->ppn * count_served(plan, x);
	case A2A_SA:
	case A2A_RD:
		return r->bytes * r->ppn;
	default:
		return r->bytes;
	}
}

static enum a2a_inner choose_inner(const struct a2a_plan *plan, const struct a2a_class *class)
{
	double bytes = (double)block_bytes(plan, 0);

	if (plan->request.inner != A2A_TUNED)
		return plan->request.inner;
	if (bytes <= class->bruck_max_bytes)
		return A2A_BRUCK;
	return bytes <= class->isend_max_bytes ? A2A_ISEND : A2A_PAIRWISE;
}

static uint32_t count_leaders(const struct a2a_request *request)
{
	switch (request->outer) {
	case A2A_LEADER:
		return 1;
	case A2A_LEADERS:
		return request->leaders;
	default:
		return request->ppn;
	}
}

static int is_sane(const struct a2a_request *r)
{
	/* A node's data, and a round of Bruck's, must be countable. */
	const uint64_t most = UINT64_C(1) << 62;
	uint64_t ranks = (uint64_t)r->nodes * r->ppn;

	return r->nodes && r->nodes <= A2A_MAX_NODES && r->ppn && r->ppn <= A2A_MAX_PPN &&
	       ranks <= A2A_MAX_RANKS && r->bytes <= most / ranks / r->ppn && r->radix >= 2 &&
	       r->radix <= A2A_MAX_RANKS && r->outer < A2A_OUTERS && r->inner < A2A_INNERS &&
	       (r->outer != A2A_LEADERS || (r->leaders && r->leaders <= r->ppn));
}

static double find_cold(const struct a2a_plan *plan, const struct a2a_class *class)
{
	const struct a2a_request *r = &plan->request;
	double aggregated = (double)r->nodes * r->ppn * r->ppn * (double)r->bytes;

	if ((double)block_bytes(plan, 0) > class->pio_max_bytes)
		return 1;
	return aggregated > class->cache_bytes ? 1 - class->cache_bytes / aggregated : 0;
}

int a2a_plan_make(const struct a2a_request *request, const struct a2a_class *class,
		  struct a2a_plan *plan)
{
	if (!is_sane(request))
		return -EINVAL;
	*plan = (struct a2a_plan){
		.request = *request,
		.leaders = count_leaders(request),
		.members = request->nodes * (request->outer == A2A_FLAT ? request->ppn : 1),
	};
	plan->inner = choose_inner(plan, class);
	plan->cold = plan->inner == A2A_BRUCK ? 0 : find_cold(plan, class);
	return 0;
}

/* ---- steps --------------------------------------------------------------- */

enum stage { AGGREGATE, BARRIER, EXCHANGE, DISTRIBUTE, END };

static const enum stage stages[A2A_OUTERS][7] = {
	[A2A_FLAT] = { EXCHANGE, END },
	[A2A_LEADER] = { AGGREGATE, BARRIER, EXCHANGE, BARRIER, DISTRIBUTE, BARRIER, END },
	[A2A_LEADERS] = { AGGREGATE, BARRIER, EXCHANGE, BARRIER, DISTRIBUTE, BARRIER, END },
	[A2A_SA] = { AGGREGATE, BARRIER, EXCHANGE, BARRIER, END },
	[A2A_RD] = { EXCHANGE, BARRIER, DISTRIBUTE, BARRIER, END },
};

static struct exchange make_exchange(const struct a2a_plan *plan, uint32_t rank)
{
	int is_flat = plan->request.outer == A2A_FLAT;
	uint32_t local = rank % plan->request.ppn;

	return (struct exchange){
		.kind = plan->inner,
		.n = plan->members,
		.self = is_flat ? rank : rank / plan->request.ppn,
		.radix = plan->request.radix,
		.bytes = block_bytes(plan, local < plan->leaders ? local : 0),
	};
}

static void get_copy(const struct a2a_plan *plan, enum stage stage, struct a2a_op *op)
{
	const struct a2a_request *r = &plan->request;
	double distributed = plan->inner == A2A_BRUCK ? 0 : 1;

	*op = (struct a2a_op){
		.kind = A2A_COPY,
		.bytes = (uint64_t)r->nodes * r->ppn * r->bytes,
		.cold = stage == DISTRIBUTE ? distributed : plan->cold,
	};
}

static void get_exchange(const struct a2a_plan *plan, const struct exchange *e, uint32_t rank,
			 uint64_t index, struct a2a_op *op)
{
	exchange_get(e, index, op);
	if (plan->request.outer != A2A_FLAT && (op->kind == A2A_SEND || op->kind == A2A_RECV))
		op->peer = op->peer * plan->request.ppn + rank % plan->request.ppn;
}

static int get_op(const void *ctx, uint32_t rank, uint64_t index, struct a2a_op *op)
{
	const struct a2a_plan *plan = ctx;
	const struct exchange e = make_exchange(plan, rank);
	const int is_sender = rank % plan->request.ppn < plan->leaders;

	for (const enum stage *stage = stages[plan->request.outer]; *stage != END; stage++) {
		uint64_t length = *stage != EXCHANGE ? 1 : is_sender ? exchange_length(&e) : 0;

		if (index >= length) {
			index -= length;
			continue;
		}
		if (*stage == EXCHANGE)
			get_exchange(plan, &e, rank, index, op);
		else if (*stage == BARRIER)
			*op = (struct a2a_op){ .kind = A2A_BARRIER };
		else
			get_copy(plan, *stage, op);
		return 1;
	}
	return 0;
}

/* Partners by exclusive or are the same part of the system for every node. */
static enum a2a_symmetry find_symmetry(const struct a2a_plan *plan)
{
	uint32_t n = plan->members;

	return plan->inner == A2A_PAIRWISE && !(n & (n - 1)) ? A2A_XOR : A2A_CYCLIC;
}

struct a2a_program a2a_plan_program(const struct a2a_plan *plan)
{
	return (struct a2a_program){
		.nodes = plan->request.nodes,
		.ppn = plan->request.ppn,
		.symmetry = find_symmetry(plan),
		.ctx = plan,
		.get = get_op,
	};
}

void a2a_count(const struct a2a_program *program, uint32_t rank, struct a2a_counts *counts)
{
	struct a2a_op op;

	*counts = (struct a2a_counts){ .copied = 0 };
	for (uint64_t i = 0; program->get(program->ctx, rank, i, &op); i++) {
		int is_local = op.peer / program->ppn == rank / program->ppn;

		if (op.kind == A2A_COPY)
			counts->copied += op.bytes;
		counts->barriers += op.kind == A2A_BARRIER;
		if (op.kind != A2A_SEND)
			continue;
		*(is_local ? &counts->local_messages : &counts->wire_messages) += 1;
		*(is_local ? &counts->local_bytes : &counts->wire_bytes) += op.bytes;
	}
}

int a2a_predict(const struct a2a_request *request, const struct a2a_class *class, int is_full,
		const struct a2a_watch *watch, struct a2a_stats *stats)
{
	struct a2a_program program;
	struct a2a_plan plan;
	int err = a2a_plan_make(request, class, &plan);

	if (err)
		return err;
	program = a2a_plan_program(&plan);
	is_full |= class->processors > 0;
	return a2a_simulate(&program, class, !is_full, watch, stats, NULL);
}
