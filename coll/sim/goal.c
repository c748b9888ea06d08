// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * goal - GOAL after Hoefler, Schneider, Lumsdaine, "LogGOPSim" (2010), section 4
 *
 * A rank's sends and copies are a chain: each requires the one before. A receive
 * requires the link of the chain after which it is posted. A wait is a link of
 * its own, of no length, that requires all receives before it.
 *
 * Messages of barriers have tags from BARRIER_TAG on.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "goal.h"

#define BARRIER_TAG (1u << 24)

/**
 * struct writer - one rank's schedule
 * @link: label of the chain's last link; 0: none
 * @next: the next label
 * @pending: their labels
 */
struct writer {
	const struct a2a_program *program;
	const struct a2a_class *class;
	FILE *out;
	uint32_t rank;
	uint64_t link, next;
	uint64_t *pending;
	size_t npending, room;
	uint32_t barriers;
};

static void write_after(const struct writer *w, uint64_t label)
{
	if (w->link)
		fprintf(w->out, "l%llu requires l%llu\n", (unsigned long long)label,
			(unsigned long long)w->link);
}

/* The chain goes on with what was just written under the next label. */
static void add_link(struct writer *w)
{
	write_after(w, w->next);
	w->link = w->next++;
}

static void write_calc(struct writer *w, double ns)
{
	fprintf(w->out, "l%llu: calc %.0f\n", (unsigned long long)w->next, ns);
	add_link(w);
}

static void write_send(struct writer *w, uint64_t bytes, uint32_t peer, uint32_t tag)
{
	fprintf(w->out, "l%llu: send %llub to %u tag %u\n", (unsigned long long)w->next,
		(unsigned long long)bytes, peer, tag);
	add_link(w);
}

static int write_recv(struct writer *w, uint64_t bytes, uint32_t peer, uint32_t tag)
{
	if (w->npending == w->room) {
		size_t room = w->room ? 2 * w->room : 64;
		uint64_t *pending = realloc(w->pending, room * sizeof(*pending));

		if (!pending)
			return -ENOMEM;
		w->pending = pending;
		w->room = room;
	}
	fprintf(w->out, "l%llu: recv %llub from %u tag %u\n", (unsigned long long)w->next,
		(unsigned long long)bytes, peer, tag);
	write_after(w, w->next);
	w->pending[w->npending++] = w->next++;
	return 0;
}

static void write_wait(struct writer *w)
{
	uint64_t label = w->next;

	write_calc(w, 0);
	for (size_t i = 0; i < w->npending; i++)
		fprintf(w->out, "l%llu requires l%llu\n", (unsigned long long)label,
			(unsigned long long)w->pending[i]);
	w->npending = 0;
}

static int write_barrier(struct writer *w)
{
	const uint32_t ppn = w->program->ppn, first = w->rank - w->rank % ppn;
	int err = 0;

	for (uint32_t by = 1; by < ppn && !err; by *= 2) {
		uint32_t tag = BARRIER_TAG + w->barriers++;

		err = write_recv(w, 1, first + (w->rank % ppn + ppn - by) % ppn, tag);
		write_send(w, 1, first + (w->rank % ppn + by) % ppn, tag);
		write_wait(w);
	}
	return err;
}

static int write_op(struct writer *w, const struct a2a_op *op)
{
	const struct a2a_class *c = w->class;
	double rate = op->cold * c->cold_byte_ns + (1 - op->cold) * c->hot_byte_ns;

	switch (op->kind) {
	case A2A_COPY:
		write_calc(w, round((double)op->bytes * rate));
		return 0;
	case A2A_BARRIER:
		return write_barrier(w);
	case A2A_RECV:
		return write_recv(w, op->bytes, op->peer, op->tag);
	case A2A_SEND:
		write_send(w, op->bytes, op->peer, op->tag);
		return 0;
	case A2A_WAIT:
		write_wait(w);
		return 0;
	}
	return -EINVAL;
}

static int write_rank(const struct a2a_program *program, const struct a2a_class *class,
		      uint32_t rank, FILE *out)
{
	struct writer w = {
		.program = program, .class = class, .out = out, .rank = rank, .next = 1,
	};
	struct a2a_op op;
	int err = 0;

	fprintf(out, "\nrank %u {\n", rank);
	for (uint64_t i = 0; !err && program->get(program->ctx, rank, i, &op); i++)
		err = write_op(&w, &op);
	fputs("}\n", out);
	free(w.pending);
	return err;
}

int a2a_goal_write(const struct a2a_program *program, const struct a2a_class *class,
		   const struct a2a_watch *watch, FILE *out)
{
	const uint32_t ranks = program->nodes * program->ppn;
	int err = 0;

	fprintf(out, "num_ranks %u\n", ranks);
	for (uint32_t rank = 0; rank < ranks && !err; rank++) {
		errno = 0;
		err = write_rank(program, class, rank, out);
		if (!err && ferror(out))
			err = errno ? -errno : -EIO;
		if (!err && watch && watch->look(watch->ctx, rank))
			err = -ECANCELED;
	}
	return err;
}
