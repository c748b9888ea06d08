// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Programs: threads with critical sections, nested and tried, of reads and writes at
 * a few places close together; the same outside of any lock, where the oracle leaves
 * out what would race; barriers; semaphores of a lock and a condition; ranges that are
 * released here and acquired there. Schedules: threads and channels, some of them slow
 * for the whole run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/rng.h"
#include "random.h"

#define CLUSTER		8u		/* places side by side */
#define MOST_OPS	512u
#define MOST_UNITS	1024u
#define MOST_STEPS	200000u
#define MOST_OPTIONS	(2 * PROGRAM_THREADS + PROGRAM_THREADS * PROGRAM_THREADS)
#define ORDINARY_LOCKS	3u
#define SEMAPHORE	3u		/* its lock and its condition */

struct maker {
	struct sonde_rng rng;
	struct program p;
	struct op ops[PROGRAM_THREADS][MOST_OPS];
	uint32_t locks;
	uint16_t unit;
	uint32_t duplicates;		/* percent */
	uint32_t threads;
	uint8_t mail, parcel;
};

static uint32_t draw(struct maker *m, uint32_t n)
{
	return (uint32_t)sonde_rng_below(&m->rng, n);
}

static void add(struct maker *m, uint32_t g, struct op op)
{
	op.unit = m->unit;
	if (m->p.nops[g] < MOST_OPS)
		m->p.ops[g][m->p.nops[g]++] = op;
}

static void next_unit(struct maker *m)
{
	if (m->unit + 1u < MOST_UNITS)
		m->unit++;
}

/* Not in the first cluster: semaphores are there. */
static struct op make_access(struct maker *m)
{
	uint32_t clusters = m->p.nplaces / CLUSTER;
	uint32_t at = CLUSTER * (1 + draw(m, clusters - 1)), first = draw(m, CLUSTER);

	return (struct op){
		.kind = draw(m, 5) < 2 ? OP_READ : OP_WRITE,
		.place = (uint16_t)(at + first),
		.len = (uint8_t)(1 + draw(m, CLUSTER - first)),
		.value = (uint8_t)draw(m, 256),
	};
}

/* Some pages, for nobody: it must harm nothing. */
static struct op make_range(struct maker *m)
{
	uint32_t first = draw(m, m->p.world.pages);

	return (struct op){
		.kind = (uint8_t)(OP_PREFETCH + draw(m, 3)),
		.place = (uint16_t)first,
		.len = (uint8_t)(1 + draw(m, m->p.world.pages - first)),
		.value = PROGRAM_PARCELS,
	};
}

static void make_section(struct maker *m, uint32_t g, uint32_t above)
{
	uint8_t lock = (uint8_t)(above + draw(m, m->locks - above));
	static const uint8_t kinds[6] = { OP_TRYLOCK, OP_TIMEDLOCK, OP_LOCK, OP_LOCK, OP_LOCK,
					  OP_LOCK };
	uint8_t kind = kinds[draw(m, 6)];
	uint32_t at = m->p.nops[g];

	if (at + 40 > MOST_OPS)
		return;
	add(m, g, (struct op){ .kind = kind, .lock = lock });
	for (uint32_t n = 1 + draw(m, 5); n; n--) {
		/* In the order of their numbers, or they would deadlock. */
		if (!draw(m, 6) && lock + 1u < m->locks)
			make_section(m, g, lock + 1u);
		else
			add(m, g, draw(m, 12) ? make_access(m) : make_range(m));
	}
	add(m, g, (struct op){ .kind = OP_UNLOCK, .lock = lock });
	if (kind != OP_LOCK)
		m->p.ops[g][at].len = (uint8_t)(m->p.nops[g] - at - 1);
}

static void make_items(struct maker *m, uint32_t g)
{
	for (uint32_t n = draw(m, 7); n; n--) {
		next_unit(m);
		if (draw(m, 3))
			make_section(m, g, 0);
		else
			add(m, g, draw(m, 6) ? make_access(m) : make_range(m));
	}
}

/* The signal comes with the lock or after it, as POSIX allows. */
static void post(struct maker *m, uint32_t g)
{
	struct op unlock = { .kind = OP_UNLOCK, .lock = SEMAPHORE };
	bool first = draw(m, 2);

	add(m, g, (struct op){ .kind = OP_LOCK, .lock = SEMAPHORE });
	add(m, g, (struct op){ .kind = OP_ADD, .value = 1 });
	if (first)
		add(m, g, unlock);
	add(m, g, (struct op){ .kind = OP_SIGNAL, .lock = SEMAPHORE, .len = (uint8_t)draw(m, 2) });
	if (!first)
		add(m, g, unlock);
}

static void wait_for(struct maker *m, uint32_t g)
{
	add(m, g, (struct op){ .kind = OP_LOCK, .lock = SEMAPHORE });
	add(m, g, (struct op){ .kind = OP_WAIT, .lock = SEMAPHORE });
	add(m, g, (struct op){ .kind = OP_ADD, .value = 255 });
	add(m, g, (struct op){ .kind = OP_UNLOCK, .lock = SEMAPHORE });
}

/* One posts as often as others wait; nothing else is held meanwhile. */
static void make_semaphore(struct maker *m)
{
	uint32_t threads = m->p.barrier_threads, n = m->p.world.processes * threads;
	uint32_t poster = draw(m, n), posts = 1 + draw(m, 4);

	next_unit(m);
	for (uint32_t i = 0; n > 1 && i < posts; i++) {
		uint32_t waiter = (poster + 1 + draw(m, n - 1)) % n;

		post(m, poster / threads * m->p.world.threads + poster % threads);
		wait_for(m, waiter / threads * m->p.world.threads + waiter % threads);
	}
}

/* One thread tells another's process, as who makes a thread, or ends, does. */
static void make_mail(struct maker *m)
{
	for (uint32_t n = draw(m, 4); n && m->mail < PROGRAM_MAIL; n--, m->mail++) {
		uint32_t from = draw(m, m->threads), to = draw(m, m->threads);

		next_unit(m);
		if (from == to)
			continue;
		add(m, from, make_access(m));
		add(m, from, (struct op){ .kind = OP_TELL, .value = m->mail,
					  .lock = (uint8_t)(to / m->p.world.threads) });
		add(m, to, (struct op){ .kind = OP_HEAR, .value = m->mail });
		add(m, to, make_access(m));
	}
}

/* What one thread wrote another reads, and what tells it so is not memory. */
static void make_parcels(struct maker *m)
{
	for (uint32_t n = draw(m, 5); n && m->parcel < PROGRAM_PARCELS; n--, m->parcel++) {
		uint32_t from = draw(m, m->threads), to = draw(m, m->threads);
		struct op sent = make_access(m), range = make_range(m), read;

		next_unit(m);
		if (from == to)
			continue;
		sent.kind = OP_WRITE;
		if (draw(m, 3)) {
			range.place = (uint16_t)(m->p.address[sent.place] / m->p.world.unit);
			range.len = (uint8_t)(1 + draw(m, m->p.world.pages - range.place));
		}
		range.value = m->parcel;
		read = sent;
		read.kind = OP_READ;
		range.kind = OP_PREFETCH;
		if (draw(m, 2))
			add(m, to, range);
		add(m, from, sent);
		range.kind = OP_RELEASE;
		add(m, from, range);
		range.kind = OP_ACQUIRE;
		add(m, to, range);
		add(m, to, read);
		add(m, to, make_access(m));
	}
}

static void add_barrier(struct maker *m, uint8_t id)
{
	next_unit(m);
	for (uint32_t g = 0; g < m->threads; g++)
		if (g % m->p.world.threads < m->p.barrier_threads)
			add(m, g, (struct op){ .kind = OP_BARRIER, .value = id });
}

static void make_world(struct maker *m)
{
	const struct dsm_diff_ops *const *variants = dsm_diff_variants();
	struct world_config *k = &m->p.world;
	uint32_t n = 0;

	k->processes = 2 + draw(m, draw(m, 4) ? 3 : 5);
	k->threads = 1 + draw(m, k->processes > 4 ? 2 : 3);
	k->pages = 1 + draw(m, 4);
	k->home_shift = draw(m, k->processes);
	k->unit = draw(m, 4) ? 4096 : 8192;
	k->fanout = draw(m, 3) ? 0 : 1 + draw(m, 2);
	k->handovers = 1 + draw(m, 3);
	k->notices_max = draw(m, 2) ? 0 : 1 + draw(m, 8);
	k->message_max = draw(m, 2) ? 0 : 1 + draw(m, 200);
	while (variants[n])
		n++;
	k->diff = variants[draw(m, n)];
	m->threads = k->processes * k->threads;
	m->locks = 1 + draw(m, ORDINARY_LOCKS);
	m->duplicates = draw(m, 2) ? 0 : draw(m, 30);
	m->p.cancels = draw(m, 2) ? 0 : 1 + draw(m, 8);
	k->unseen = draw(m, 2);
	k->nodes = draw(m, 3);
	m->p.barrier_threads = draw(m, 2) ? k->threads : 1 + draw(m, k->threads);
}

/* Clusters at the start and the end of pages, many side by side. */
static void make_places(struct maker *m)
{
	uint32_t slots = 6, used[16] = { 0 }, clusters = 3 + draw(m, 8);

	if (clusters > m->p.world.pages * slots)
		clusters = m->p.world.pages * slots;
	for (uint32_t i = 0; i < clusters; i++) {
		uint32_t page, slot, offset;

		do {
			page = draw(m, m->p.world.pages);
			slot = draw(m, slots);
		} while (used[page] >> slot & 1);
		used[page] |= 1u << slot;
		offset = slot < 4 ? 56 + slot * CLUSTER :
				    m->p.world.unit - (slot - 3) * CLUSTER;
		for (uint32_t j = 0; j < CLUSTER; j++)
			m->p.address[i * CLUSTER + j] = page * m->p.world.unit + offset + j;
	}
	m->p.nplaces = clusters * CLUSTER;
}

/* A third of the programs looks for races, half of these for reads; whatever else is drawn. */
static void make(struct maker *m, uint64_t seed)
{
	memset(m, 0, sizeof(*m));
	m->p.world.races = !(seed % 3);
	m->p.world.race_reads = !(seed % 6);
	sonde_rng_seed(&m->rng, seed);
	for (uint32_t g = 0; g < PROGRAM_THREADS; g++)
		m->p.ops[g] = m->ops[g];
	make_world(m);
	make_places(m);
	for (uint32_t phases = 1 + draw(m, 4); phases; phases--) {
		for (uint32_t g = 0; g < m->threads; g++)
			make_items(m, g);
		if (draw(m, 2))
			make_semaphore(m);
		make_mail(m);
		make_parcels(m);
		for (uint32_t g = 0; g < m->threads; g++)
			make_items(m, g);
		add_barrier(m, (uint8_t)draw(m, 2));
	}
	m->p.idle_at_end = m->p.barrier_threads == m->p.world.threads;
	next_unit(m);
	for (uint32_t g = 0; g < m->threads; g += m->p.world.threads)
		for (uint32_t i = 0; i < m->p.nplaces; i += CLUSTER)
			add(m, g, (struct op){ .kind = OP_READ, .place = (uint16_t)i,
					       .len = CLUSTER });
	m->p.nunits = m->unit + 1u;
}

/* ---- schedules ---- */
static uint32_t choose(struct sonde_rng *rng, const uint32_t *options, uint32_t n,
		       const uint32_t *weights)
{
	uint64_t sum = 0, at;

	for (uint32_t i = 0; i < n; i++)
		sum += weights[options[i]];
	at = sonde_rng_below(rng, sum);
	for (uint32_t i = 0; i < n; i++) {
		if (at < weights[options[i]])
			return options[i];
		at -= weights[options[i]];
	}
	return options[n - 1];
}

static void add_races(struct random_tally *t, const struct run *r)
{
	uint64_t raced = 0, told = 0;

	for (uint32_t i = 0; i < r->program->nplaces; i++) {
		raced += r->places[i].raced != 0;
		told += r->places[i].told != 0;
	}
	for (uint32_t i = 0; i < r->program->world.pages; i++) {
		const struct seen_page *at = &r->pages[i];

		t->pages_unordered += (uint64_t)__builtin_popcountll(at->unordered);
		t->pages_raced += (uint64_t)__builtin_popcountll(at->raced);
		t->pages_told += (uint64_t)__builtin_popcountll(at->told);
		t->pages_right += (uint64_t)__builtin_popcountll(at->told & at->raced);
	}
	t->raced += raced;
	t->told += told;
	t->racy_runs += raced != 0;
	t->told_runs += told != 0;
}

static void add_tally(struct random_tally *t, const struct run *r)
{
	t->runs++;
	t->steps += r->world->steps;
	t->fills += r->world->fills;
	t->checked += r->checked;
	add_races(t, r);
	for (uint32_t i = 0; i < r->world->c.processes; i++) {
		const struct dsm_counters *c = dsm_core_counters(r->world->processes[i].core);

		for (int k = 0; k < DSM_MESSAGES; k++)
			t->messages += c->messages[k];
		t->duplicates += c->duplicates;
		t->merges += c->merges;
		t->refetches += c->refetches;
		t->deferred += c->deferred;
		t->handovers += c->handovers;
		t->collections += c->messages[DSM_NOTICES];
		t->lists += c->messages[DSM_PAGES];
	}
}

/* Threads of the process go on in the middle of a step, as long as pages let them. */
struct siblings {
	struct run *run;
	struct sonde_rng *rng;
};

static void touch_between(void *ctx, uint32_t process)
{
	struct siblings *s = ctx;
	uint32_t threads = s->run->program->world.threads;

	for (uint32_t g = process * threads; g < (process + 1) * threads; g++)
		while (run_can_touch(s->run, g) && !sonde_rng_below(s->rng, 3))
			run_touch(s->run, g);
}

static bool execute(const struct maker *m, uint64_t seed, const bool *skip, char *why,
		    struct random_tally *tally)
{
	static const uint32_t speeds[] = { 1, 4, 16, 64 };
	uint32_t options[MOST_OPTIONS], weights[MOST_OPTIONS], n, steps = 0;
	struct sonde_rng rng;
	struct run r;
	bool good;

	/* The schedule is drawn apart, so that it is alike when units are left out. */
	sonde_rng_seed(&rng, ~seed);
	for (uint32_t i = 0; i < MOST_OPTIONS; i++)
		weights[i] = speeds[sonde_rng_below(&rng, 4)];
	run_start(&r, &m->p, skip);
	r.world->between = touch_between;
	r.world->ctx = &(struct siblings){ &r, &rng };
	while (!r.world->why[0] && (n = run_options(&r, options))) {
		if (++steps > MOST_STEPS)
			world_fail(r.world, "no end after %u steps", steps - 1);
		run_take(&r, choose(&rng, options, n, weights),
			 sonde_rng_below(&rng, 100) < m->duplicates);
	}
	if (!r.world->why[0])
		run_finish(&r);
	good = !r.world->why[0];
	snprintf(why, sizeof(r.world->why), "%s", r.world->why);
	if (tally)
		add_tally(tally, &r);
	run_end(&r);
	return good;
}

static struct maker *make_new(uint64_t seed)
{
	struct maker *m = malloc(sizeof(*m));

	if (!m)
		abort();
	make(m, seed);
	return m;
}

bool random_run(uint64_t seed, char *why, struct random_tally *tally)
{
	struct maker *m = make_new(seed);
	bool good = execute(m, seed, NULL, why, tally);

	free(m);
	return good;
}

bool random_racy_run(uint64_t seed, char *why, struct random_tally *tally)
{
	struct maker *m = make_new(seed);
	bool good;

	m->p.is_racy = m->p.world.races = true;
	m->p.world.race_reads = seed % 2;
	good = execute(m, seed, NULL, why, tally);
	free(m);
	return good;
}

/* Halves of what is left, then quarters, down to single units. */
void random_shrink(uint64_t seed)
{
	struct maker *m = make_new(seed);
	bool skip[MOST_UNITS] = { false }, trial[MOST_UNITS];
	char why[160], last[160] = "";

	for (uint32_t piece = m->p.nunits; piece; piece /= 2) {
		for (uint32_t at = 0; at < m->p.nunits; at += piece) {
			memcpy(trial, skip, sizeof(trial));
			for (uint32_t i = at; i < at + piece && i < m->p.nunits; i++)
				trial[i] = true;
			if (memcmp(trial, skip, sizeof(trial)) &&
			    !execute(m, seed, trial, why, NULL)) {
				memcpy(skip, trial, sizeof(skip));
				memcpy(last, why, sizeof(last));
			}
		}
	}
	printf("# shrunk: %s\n", last[0] ? last : "nothing could be left out");
	program_print(&m->p, skip);
	free(m);
}
