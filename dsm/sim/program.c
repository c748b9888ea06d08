// SPDX-License-Identifier: LGPL-2.1-or-later
/* Runs a program one choice at a time, the oracle beside it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "program.h"

#define BARRIER_ID	1000u

/* ---- the oracle ---- */
static void join(uint32_t *into, const uint32_t *from)
{
	for (uint32_t i = 0; i < PROGRAM_THREADS; i++)
		if (into[i] < from[i])
			into[i] = from[i];
}

/* What thread @g knows of what @t did at a place of @page. */
static uint32_t known(const struct run *r, uint32_t g, uint32_t page, uint32_t t)
{
	uint32_t all = r->clock[g][t], here = r->page_clock[g][page][t];

	return all > here ? all : here;
}

static bool is_ordered(const struct run *r, uint32_t g, const struct op *op, bool write)
{
	for (uint32_t i = op->place; i < op->place + (op->len ? op->len : 1u); i++) {
		uint32_t page = r->program->address[i] / r->program->world.unit;
		const struct place *at = &r->places[i];

		if (known(r, g, page, at->writer) < at->written)
			return false;
		for (uint32_t t = 0; write && t < r->threads; t++)
			if (t != g && known(r, g, page, t) < at->read[t])
				return false;
	}
	return true;
}

/* Only of the pages of a range, and handed on with them only. */
static void pack(struct run *r, uint32_t g, const struct op *op)
{
	for (uint32_t i = op->place; op->value < PROGRAM_PARCELS && i < op->place + op->len; i++) {
		join(r->parcel_clock[op->value][i], r->clock[g]);
		join(r->parcel_clock[op->value][i], r->page_clock[g][i]);
	}
	r->clock[g][g]++;
}

static void unpack(struct run *r, uint32_t g, const struct op *op)
{
	for (uint32_t i = op->place; op->value < PROGRAM_PARCELS && i < op->place + op->len; i++)
		join(r->page_clock[g][i], r->parcel_clock[op->value][i]);
}

static void give_lock(struct run *r, uint32_t g, uint32_t lock)
{
	join(r->lock_clock[lock], r->clock[g]);
	r->clock[g][g]++;
	if (r->holder[lock] != g + 1)
		world_fail(r->world, "thread %u gives lock %u up, which it has not", g, lock);
	r->holder[lock] = 0;
}

static void get_lock(struct run *r, uint32_t g, uint32_t lock)
{
	if (r->holder[lock])
		world_fail(r->world, "threads %u and %u both have lock %u", r->holder[lock] - 1,
			   g, lock);
	r->holder[lock] = g + 1;
	join(r->clock[g], r->lock_clock[lock]);
}

/* ---- operations ---- */
static uint32_t process_of(const struct run *r, uint32_t g)
{
	return g / r->program->world.threads;
}

static void send_event(struct run *r, uint32_t g, enum dsm_event_kind kind, uint64_t id,
		       uint64_t arg)
{
	world_event(r->world, process_of(r, g), g % r->program->world.threads, kind, id, arg);
}

static bool is_blocked(const struct run *r, uint32_t g)
{
	return r->world->processes[process_of(r, g)]
		.threads[g % r->program->world.threads].blocked;
}

static uint64_t directed(const struct run *r, uint32_t reader, uint32_t writer)
{
	return (uint64_t)1 << (8 * process_of(r, reader) + process_of(r, writer));
}

/* Of all its tries the first counts: until it gets the page the thread hears of nothing. */
static void see_page(struct run *r, uint32_t g, uint32_t page, bool write)
{
	struct seen_page *at = &r->pages[page];

	(write ? at->wrote : at->read)[g] = r->clock[g][g];
	for (uint32_t t = 0; t < r->threads; t++) {
		if (process_of(r, t) == process_of(r, g))
			continue;
		if (write && r->clock[g][t] < at->read[t])
			at->unordered |= directed(r, t, g);
		if (!write && r->clock[g][t] < at->wrote[t])
			at->unordered |= directed(r, g, t);
	}
}

static uint8_t *touch(struct run *r, uint32_t g, uint32_t place, bool write)
{
	uint32_t address = r->program->address[place], unit = r->program->world.unit;
	uint8_t *page;

	see_page(r, g, address / unit, write);
	page = world_touch(r->world, process_of(r, g), g % r->program->world.threads,
			   address / unit, write);
	return page ? page + address % unit : NULL;
}

static void check(struct run *r, uint32_t g, uint32_t place, uint8_t found)
{
	uint32_t page = r->program->address[place] / r->program->world.unit;
	struct place *at = &r->places[place];

	at->read[g] = r->clock[g][g];
	for (uint32_t t = 0; t < r->threads; t++)
		if (process_of(r, t) != process_of(r, g) && r->clock[g][t] < at->wrote[t])
			r->pages[page].raced |= directed(r, g, t);
	/* A read that races is none of the oracle's. */
	if (known(r, g, page, at->writer) < at->written)
		return;
	r->checked++;
	if (found != at->value && !at->raced)
		world_fail(r->world, "thread %u reads %u at page %u + %u: thread %u wrote %u", g,
			   found, r->program->address[place] / r->program->world.unit,
			   r->program->address[place] % r->program->world.unit, at->writer,
			   at->value);
}

static uint64_t pair(uint32_t a, uint32_t b)
{
	return (uint64_t)1 << (a < b ? 8 * a + b : 8 * b + a);
}

static void write_place(struct run *r, uint32_t g, uint32_t place, uint8_t *to, uint8_t value)
{
	struct place *at = &r->places[place];

	for (uint32_t t = 0; t < r->threads; t++) {
		if (process_of(r, t) == process_of(r, g))
			continue;
		if (r->clock[g][t] < at->wrote[t])
			at->raced |= pair(process_of(r, t), process_of(r, g));
		if (r->clock[g][t] < at->read[t])
			r->pages[r->program->address[place] / r->program->world.unit].raced |=
				directed(r, t, g);
	}
	*to = value;
	at->value = value;
	at->writer = g;
	at->written = at->wrote[g] = r->clock[g][g];
}

/* What a core tells of must be among what the oracle saw. */
static void hear_race(void *ctx, const struct dsm_race *race)
{
	struct run *r = ctx;
	uint32_t unit = r->program->world.unit, i;
	uint64_t who = pair(race->side[0].process, race->side[1].process);

	/* The oracle looks at the end: a read is asked for before it is done. */
	if (race->is_read) {
		r->pages[race->page].told |= (uint64_t)1 << (8 * race->side[0].process +
							     race->side[1].process);
		return;
	}
	for (uint32_t at = race->offset; at < race->offset + race->len; at++) {
		for (i = 0; i < r->program->nplaces; i++)
			if (r->program->address[i] == race->page * unit + at)
				break;
		if (i < r->program->nplaces && r->places[i].raced & who) {
			r->places[i].told |= who;
			continue;
		}
		world_fail(r->world, "a race of processes %u and %u at page %u + %u that is none",
			   race->side[0].process, race->side[1].process, race->page, at);
	}
}

/* True if the operation is through. */
static bool do_access(struct run *r, uint32_t g, const struct op *op)
{
	bool write = op->kind == OP_WRITE || op->kind == OP_STORE || op->kind == OP_ADD;
	bool watched = op->kind != OP_LOAD && op->kind != OP_STORE;
	bool stays = r->program->is_racy && (write || r->program->world.race_reads);
	uint8_t *at;

	if (watched && !stays && !is_ordered(r, g, op, write))
		return true;
	at = touch(r, g, op->place, write);
	if (!at)
		return false;
	switch (op->kind) {
	case OP_READ:
		for (uint32_t i = 0; i < op->len; i++)
			check(r, g, op->place + i, at[i]);
		break;
	case OP_WRITE:
		for (uint32_t i = 0; i < op->len; i++)
			write_place(r, g, op->place + i, at + i, (uint8_t)(op->value + i));
		break;
	case OP_ADD:
		check(r, g, op->place, *at);
		write_place(r, g, op->place, at, (uint8_t)(*at + op->value));
		break;
	case OP_LOAD:
		r->reg[g][op->value] = *at;
		break;
	case OP_STORE:
		*at = op->len ? r->reg[g][op->value] : op->value;
		break;
	}
	return true;
}

static bool do_wait(struct run *r, uint32_t g, const struct op *op)
{
	uint8_t *at;

	if (r->phase[g]) {
		get_lock(r, g, op->lock);
		r->phase[g] = 0;
	}
	at = touch(r, g, op->place, false);
	if (!at)
		return false;
	check(r, g, op->place, *at);
	if (*at)
		return true;
	give_lock(r, g, op->lock);
	r->phase[g] = 1;
	send_event(r, g, DSM_EV_WAIT, op->lock, op->lock);
	return false;
}

static void enter_barrier(struct run *r, uint32_t g)
{
	uint32_t turn = r->barrier_turn[g];

	if (!r->barrier_in[turn])
		memset(r->barrier_clock[turn], 0, sizeof(r->barrier_clock[turn]));
	join(r->barrier_clock[turn], r->clock[g]);
	r->clock[g][g]++;
	r->barrier_in[turn]++;
	if (r->barrier_in[turn] == r->program->barrier_threads * r->program->world.processes)
		r->barrier_in[turn] = 0;
}

static void leave_barrier(struct run *r, uint32_t g)
{
	uint32_t turn = r->barrier_turn[g];

	if (r->barrier_in[turn])
		world_fail(r->world, "thread %u leaves a barrier before all are in", g);
	join(r->clock[g], r->barrier_clock[turn]);
	r->barrier_turn[g] = !turn;
}

static void tell(struct run *r, uint32_t g, const struct op *op)
{
	join(r->mail_clock[op->value], r->clock[g]);
	r->clock[g][g]++;
	world_tell(r->world, process_of(r, g), g % r->program->world.threads, op->lock, op->value);
}

static void begin(struct run *r, uint32_t g, const struct op *op)
{
	switch (op->kind) {
	case OP_LOCK:
		send_event(r, g, DSM_EV_LOCK, op->lock, 0);
		break;
	case OP_TRYLOCK:
		send_event(r, g, DSM_EV_TRYLOCK, op->lock, 0);
		break;
	case OP_TIMEDLOCK:
		send_event(r, g, DSM_EV_LOCK, op->lock, 0);
		break;
	case OP_TELL:
		tell(r, g, op);
		break;
	case OP_UNLOCK:
		give_lock(r, g, op->lock);
		send_event(r, g, DSM_EV_UNLOCK, op->lock, 0);
		break;
	case OP_BARRIER:
		enter_barrier(r, g);
		send_event(r, g, DSM_EV_BARRIER, BARRIER_ID + op->value,
			   r->program->barrier_threads);
		break;
	case OP_SIGNAL:
		send_event(r, g, DSM_EV_SIGNAL, op->lock, op->len);
		break;
	case OP_PREFETCH:
		send_event(r, g, DSM_EV_PREFETCH, op->place, op->place + op->len);
		break;
	case OP_RELEASE:
		pack(r, g, op);
		send_event(r, g, DSM_EV_RELEASE, op->place, op->place + op->len);
		break;
	case OP_ACQUIRE:
		send_event(r, g, DSM_EV_ACQUIRE, op->place, op->place + op->len);
		break;
	}
}

static void end(struct run *r, uint32_t g, const struct op *op)
{
	int result = r->world->processes[process_of(r, g)]
		.threads[g % r->program->world.threads].result;

	if ((op->kind == OP_TRYLOCK && result == -EBUSY) ||
	    (op->kind == OP_TIMEDLOCK && result == -ETIMEDOUT)) {
		r->pc[g] += op->len;
		return;
	}
	if (result)
		world_fail(r->world, "thread %u: result %d", g, result);
	if (op->kind == OP_LOCK || op->kind == OP_TRYLOCK || op->kind == OP_TIMEDLOCK)
		get_lock(r, g, op->lock);
	if (op->kind == OP_BARRIER)
		leave_barrier(r, g);
	if (op->kind == OP_RELEASE && op->value < PROGRAM_PARCELS)
		r->parcels |= 1u << op->value;
	if (op->kind == OP_ACQUIRE)
		unpack(r, g, op);
}

static void skip_units(struct run *r, uint32_t g)
{
	const struct program *p = r->program;

	while (r->skip && r->pc[g] < p->nops[g] && r->skip[p->ops[g][r->pc[g]].unit])
		r->pc[g]++;
}

static void run_thread(struct run *r, uint32_t g)
{
	const struct op *op = &r->program->ops[g][r->pc[g]];

	switch (op->kind) {
	case OP_READ:
	case OP_WRITE:
	case OP_LOAD:
	case OP_STORE:
	case OP_ADD:
		if (!do_access(r, g, op))
			return;
		break;
	case OP_WAIT:
		if (!do_wait(r, g, op))
			return;
		break;
	case OP_HEAR:
		join(r->clock[g], r->mail_clock[op->value]);
		break;
	default:
		if (!r->phase[g]) {
			begin(r, g, op);
			r->phase[g] = 1;
			if (is_blocked(r, g))
				return;
		}
		r->phase[g] = 0;
		end(r, g, op);
	}
	r->pc[g]++;
	skip_units(r, g);
}

/* ---- runs ---- */
void run_start(struct run *r, const struct program *p, const bool *skip)
{
	memset(r, 0, sizeof(*r));
	r->program = p;
	r->skip = skip;
	r->world = world_create(&p->world);
	r->world->race = hear_race;
	r->world->race_ctx = r;
	r->threads = p->world.processes * p->world.threads;
	for (uint32_t g = 0; g < r->threads; g++) {
		r->clock[g][g] = 1;
		skip_units(r, g);
	}
}

void run_end(struct run *r)
{
	world_destroy(r->world);
}

static const struct op *next_op(const struct run *r, uint32_t g)
{
	return r->pc[g] < r->program->nops[g] ? &r->program->ops[g][r->pc[g]] : NULL;
}

static bool can_go_on(const struct run *r, uint32_t g)
{
	const struct op *op = next_op(r, g);

	if (!op || is_blocked(r, g))
		return false;
	if (op->kind == OP_ACQUIRE && op->value < PROGRAM_PARCELS)
		return r->parcels >> op->value & 1;
	return op->kind != OP_HEAR || r->world->told >> op->value & 1;
}

static bool can_be_late(const struct run *r, uint32_t g)
{
	const struct op *op = next_op(r, g);

	return op && r->cancels < r->program->cancels && is_blocked(r, g) &&
	       (op->kind == OP_TIMEDLOCK || (op->kind == OP_WAIT && r->phase[g]));
}

bool run_can_touch(const struct run *r, uint32_t g)
{
	const struct op *op = next_op(r, g);

	return op && can_go_on(r, g) && (op->kind == OP_READ || op->kind == OP_WRITE) &&
	       world_can_touch(r->world, process_of(r, g),
			       r->program->address[op->place] / r->program->world.unit,
			       op->kind == OP_WRITE);
}

void run_touch(struct run *r, uint32_t g)
{
	run_thread(r, g);
}

uint32_t run_options(struct run *r, uint32_t *options)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < r->threads; g++)
		if (can_go_on(r, g))
			options[n++] = g;
	for (uint32_t g = 0; g < r->threads; g++)
		if (can_be_late(r, g))
			options[n++] = PROGRAM_THREADS + g;
	for (uint32_t i = 0; i < r->world->c.processes * r->world->c.processes; i++)
		if (r->world->channels[i].head)
			options[n++] = 2 * PROGRAM_THREADS + i;
	return n;
}

static void make_late(struct run *r, uint32_t g)
{
	r->cancels++;
	world_cancel(r->world, process_of(r, g), g % r->program->world.threads);
}

void run_take(struct run *r, uint32_t option, bool twice)
{
	uint32_t n = r->world->c.processes;

	if (option < PROGRAM_THREADS)
		run_thread(r, option);
	else if (option < 2 * PROGRAM_THREADS)
		make_late(r, option - PROGRAM_THREADS);
	else
		world_deliver(r->world, (option - 2 * PROGRAM_THREADS) / n,
			      (option - 2 * PROGRAM_THREADS) % n, twice);
	world_check(r->world);
}

bool run_is_done(const struct run *r)
{
	for (uint32_t g = 0; g < r->threads; g++)
		if (r->pc[g] < r->program->nops[g])
			return false;
	return true;
}

void run_finish(struct run *r)
{
	for (uint32_t g = 0; g < r->threads; g++)
		if (r->pc[g] < r->program->nops[g])
			world_fail(r->world, "deadlock: thread %u waits at operation %u", g,
				   r->pc[g]);
	for (uint32_t page = 0; page < r->program->world.pages; page++)
		if (r->pages[page].told & ~r->pages[page].unordered)
			world_fail(r->world, "a possible race of a read in page %u that is none",
				   page);
	if (r->program->idle_at_end)
		world_check_idle(r->world);
}

uint64_t run_digest(struct run *r)
{
	uint64_t h = world_digest(r->world, 1);

	h = world_mix_bytes(h, r->pc, sizeof(r->pc));
	h = world_mix_bytes(h, r->phase, sizeof(r->phase));
	h = world_mix_bytes(h, r->reg, sizeof(r->reg));
	h = world_mix_bytes(h, r->clock, sizeof(r->clock));
	h = world_mix_bytes(h, r->lock_clock, sizeof(r->lock_clock));
	h = world_mix_bytes(h, r->holder, sizeof(r->holder));
	h = world_mix_bytes(h, r->barrier_clock, sizeof(r->barrier_clock));
	h = world_mix_bytes(h, r->barrier_in, sizeof(r->barrier_in));
	h = world_mix_bytes(h, r->barrier_turn, sizeof(r->barrier_turn));
	h = world_mix_bytes(h, r->mail_clock, sizeof(r->mail_clock));
	h = world_mix_bytes(h, r->page_clock, sizeof(r->page_clock));
	h = world_mix_bytes(h, r->parcel_clock, sizeof(r->parcel_clock));
	h = world_mix(h, r->parcels);
	h = world_mix(h, r->cancels);
	if (r->program->world.race_reads)
		h = world_mix_bytes(h, r->pages, r->program->world.pages * sizeof(*r->pages));
	for (uint32_t i = 0; i < r->program->nplaces; i++) {
		const struct place *at = &r->places[i];

		h = world_mix(h, (uint64_t)at->value << 48 ^ (uint64_t)at->writer << 32 ^
				 at->written);
		h = world_mix_bytes(h, at->read, sizeof(at->read));
		h = world_mix_bytes(h, at->wrote, sizeof(at->wrote));
	}
	return h;
}

void program_print(const struct program *p, const bool *skip)
{
	static const char *const names[] = { "read", "write", "load", "store", "lock", "trylock",
					     "unlock", "barrier", "add", "wait", "signal",
					     "timedlock", "tell", "hear", "prefetch", "release",
					     "acquire" };

	printf("# %u processes of %u threads, %u pages of %u%s\n", p->world.processes,
	       p->world.threads, p->world.pages, p->world.unit,
	       p->world.unseen ? p->world.nodes ? ", writes unseen, copies" : ", writes unseen" : "");
	for (uint32_t g = 0; g < p->world.processes * p->world.threads; g++) {
		printf("# thread %u (process %u):", g, g / p->world.threads);
		for (uint32_t i = 0; i < p->nops[g]; i++) {
			const struct op *op = &p->ops[g][i];

			if (skip && skip[op->unit])
				continue;
			printf(" %s", names[op->kind]);
			if (op->kind == OP_READ || op->kind == OP_WRITE)
				printf(" %u+%u:%u", p->address[op->place] / p->world.unit,
				       p->address[op->place] % p->world.unit, op->len);
			else if (op->kind == OP_TELL || op->kind == OP_HEAR)
				printf(" %u", op->value);
			else if (op->kind >= OP_PREFETCH)
				printf(" %u:%u of %u", op->place, op->len, op->value);
			else if (op->kind != OP_BARRIER)
				printf(" %u", op->lock);
			putchar(',');
		}
		putchar('\n');
	}
}
