// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * patterns - programs that are no alltoall
 */
#include "patterns.h"
#include "schedule.h"

/* As the OSU benchmarks have it. Enough of them that the first does not show. */
#define WINDOW	64
#define WINDOWS	8

struct stream {
	uint32_t pairs;
	uint64_t bytes;
};

static int get_stream(const void *ctx, uint32_t rank, uint64_t index, struct a2a_op *op)
{
	const struct stream *s = ctx;
	uint64_t step = index % (2 * WINDOW + 1);

	if (index >= WINDOWS * (2 * WINDOW + 1))
		return 0;
	*op = (struct a2a_op){
		.kind = step < WINDOW ? A2A_RECV : step < 2 * WINDOW ? A2A_SEND : A2A_WAIT,
		.peer = (rank + s->pairs) % (2 * s->pairs),
		.tag = (uint32_t)(index / (2 * WINDOW + 1)),
		.bytes = s->bytes,
	};
	return 1;
}

int a2a_bandwidth(const struct a2a_class *class, uint32_t pairs, uint64_t bytes, double *mb_s)
{
	const struct stream stream = { pairs, bytes };
	const struct a2a_program program = {
		.nodes = 2, .ppn = pairs, .symmetry = A2A_CYCLIC, .ctx = &stream,
		.get = get_stream,
	};
	const int is_reduced = !(class->processors > 0);
	struct a2a_stats stats;
	int err = a2a_simulate(&program, class, is_reduced, NULL, &stats, NULL);

	/* If one node was simulated, the other sends as much. */
	if (!err)
		*mb_s = (1 + is_reduced) * (double)stats.wire_bytes / stats.time_ns * 1e3;
	return err;
}

struct copy {
	uint64_t bytes;
	double cold;
};

static int get_copy(const void *ctx, uint32_t rank, uint64_t index, struct a2a_op *op)
{
	const struct copy *copy = ctx;

	(void)rank;
	*op = (struct a2a_op){
		.kind = index ? A2A_BARRIER : A2A_COPY, .bytes = copy->bytes, .cold = copy->cold,
	};
	return index < 2;
}

int a2a_copy_time(const struct a2a_class *class, uint32_t nodes, uint32_t ppn, uint64_t bytes,
		  int is_distribution, double *ns)
{
	const struct a2a_request request = {
		.outer = A2A_SA, .inner = A2A_ISEND, .nodes = nodes, .ppn = ppn, .bytes = bytes,
		.radix = 2,
	};
	struct copy copy = { .bytes = (uint64_t)nodes * ppn * bytes };
	const struct a2a_program program = {
		.nodes = 1, .ppn = ppn, .symmetry = A2A_CYCLIC, .ctx = &copy, .get = get_copy,
	};
	struct a2a_stats stats;
	struct a2a_plan plan;
	int err = a2a_plan_make(&request, class, &plan);

	if (err)
		return err;
	copy.cold = is_distribution ? 1 : plan.cold;
	err = a2a_simulate(&program, class, 0, NULL, &stats, NULL);
	if (!err)
		*ns = stats.time_ns;
	return err;
}
