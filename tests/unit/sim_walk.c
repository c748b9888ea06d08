// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A walk that repeats itself takes the same time, to the last bit, and leaves the
 * same caches as one of which every load is simulated.
 */
#include <string.h>

#include "../../lib/probe/shuffle.h"
#include "../sim/noise.h"
#include "../sim/plausible.h"
#include "../sim/walk.h"
#include "tap.h"

#define KIB	1024UL
#define CHUNKS	512
#define PLACES	(CHUNKS * METER_CHUNK_PLACES)
#define RINGS	24
#define MACHINES 60

/**
 * struct side - a machine and a walk on it
 * @watches: whether the walk may watch for what repeats itself
 * @repeated: loads that were not simulated
 */
struct side {
	struct machine_model model;
	struct hierarchy h;
	struct walk walk;
	int watches;
	uint64_t repeated;
};

static struct side side[2];
static uint32_t frame[CHUNKS], ring[PLACES];

static enum machine_policy any_policy(struct sonde_rng *rng)
{
	return (enum machine_policy)sonde_rng_below(rng, MACHINE_POLICIES);
}

/* Small caches with any policy; a third of machines disturbed, a third prefetch nothing. */
static struct machine_model draw_model(struct sonde_rng *rng)
{
	struct machine_model m = {
		.cache = {
			{ .bytes = 4 * KIB, .ways = 4, .policy = any_policy(rng), .cycles = 4 },
			{ .bytes = 16 * KIB, .ways = 8, .policy = any_policy(rng), .cycles = 14 },
			{ .bytes = 96 * KIB, .ways = 12, .policy = any_policy(rng), .cycles = 40,
			  .inclusion = (enum machine_inclusion)sonde_rng_below(rng, 3),
			  .index = INDEX_SLICED, .slices = 8, .spread = 7 },
		},
		.memory_cycles = 200,
		.tlb = { { 16, 4, 7 }, { 64, 8, 20 } },
		.prefetch = (unsigned int)(sonde_rng_below(rng, 3) ?
					   sonde_rng_below(rng, PREFETCH_ALL + 1) : 0),
		.ghz = 2.3,
		.tick_ghz = 1,
		.max_bytes = CHUNKS * METER_CHUNK,
	};

	m.cache[2].bytes = 12 * 64 * 128;
	if (!sonde_rng_below(rng, 3))
		m.noise = (struct machine_noise){
			.gaps = 4000, .gap_us = { 1, 3 }, .gap_lines = 30,
			.spikes = 2000, .spike_ns = 600, .evictions = 100000, .drift = 0.01,
			.neighbour = 0.5, .neighbour_hz = 1000,
		};
	return m;
}

static void open_side(struct side *s, const struct machine_model *model, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->model = *model;
	ck_assert_int_eq(hierarchy_open(&s->h, &s->model, seed), 0);
	s->walk.core = hierarchy_core(&s->h, 0);
	ck_assert_ptr_nonnull(s->walk.core);
	ck_assert_int_eq(hierarchy_pool(&s->h, frame, CHUNKS), 0);
	noise_start(s->walk.core);
}

static void close_side(struct side *s)
{
	walk_settle(&s->walk);
	walk_close(&s->walk);
	hierarchy_close(&s->h);
}

/* A cycle: some pages' same lines, any lines, or lines that follow each other. */
static size_t draw_ring(struct sonde_rng *rng)
{
	size_t n = 1 + sonde_rng_below(rng, sonde_rng_below(rng, 4) ? 40 : 400);
	uint32_t line = (uint32_t)sonde_rng_below(rng, METER_CHUNK_LINES);
	uint64_t kind = sonde_rng_below(rng, 3);

	for (uint32_t i = 0; i < n; i++) {
		if (kind == 0)
			line = (uint32_t)sonde_rng_below(rng, METER_CHUNK_LINES);
		ring[i] = (uint32_t)(sonde_rng_below(rng, CHUNKS) * METER_CHUNK_LINES + line) *
			  METER_LINE_PLACES;
		if (kind == 1)
			ring[i] = i * METER_LINE_PLACES;
	}
	return n;
}

/* Go along the ring in pieces, with pauses between them. */
static void go(struct side *s, size_t n, const uint64_t *piece, size_t npieces)
{
	uint64_t all = 0;

	ck_assert_int_eq(walk_link(&s->walk, ring, n), 0);
	walk_write(&s->walk);
	for (size_t i = 0; i < npieces; i++)
		all += piece[i];
	s->walk.left = s->watches ? all : 0;
	for (size_t i = 0; i < npieces; i++) {
		if (s->watches)
			walk_go(&s->walk, piece[i]);
		for (uint64_t j = 0; !s->watches && j < piece[i]; j++)
			walk_step(&s->walk);
		s->repeated += s->walk.state == WALK_REPEATING ? piece[i] : 0;
		noise_spend(s->walk.core, 1024);
	}
}

static void check_rings(uint64_t seed)
{
	struct machine_model model;
	struct sonde_rng rng;
	uint64_t piece[6];
	size_t n;

	sonde_rng_seed(&rng, seed);
	for (uint32_t i = 0; i < CHUNKS; i++)
		frame[i] = i;
	shuffle(&rng, frame, CHUNKS);
	model = draw_model(&rng);
	for (int i = 0; i < 2; i++)
		open_side(&side[i], &model, seed);
	side[1].watches = 1;
	for (int r = 0; r < RINGS; r++) {
		n = draw_ring(&rng);
		for (int i = 0; i < 6; i++)
			piece[i] = sonde_rng_below(&rng, 12 * n);
		for (int i = 0; i < 2; i++)
			go(&side[i], n, piece, 6);
		ck_assert_msg(side[0].walk.core->ns == side[1].walk.core->ns,
			      "seed %llu, ring %d: %a ns, not %a", (unsigned long long)seed, r,
			      side[1].walk.core->ns, side[0].walk.core->ns);
	}
	walk_settle(&side[1].walk);
	ck_assert_uint_eq(side[0].h.loads, side[1].h.loads);
	ck_assert_uint_eq(side[0].walk.at, side[1].walk.at);
}

START_TEST(a_walk_that_repeats_itself_is_as_if_every_load_was_simulated)
{
	uint64_t repeated = 0;

	for (uint64_t seed = 1; seed <= MACHINES; seed++) {
		check_rings(seed);
		repeated += side[1].repeated;
		for (int i = 0; i < 2; i++)
			close_side(&side[i]);
	}
	/* Else nothing was tested. */
	ck_assert_uint_gt(repeated, 100000);
}
END_TEST

/* Loads that were simulated of @turns turns over 17 lines of one set. */
static uint64_t simulated(enum machine_policy policy, unsigned int prefetch, uint64_t turns)
{
	struct machine_model model = {
		.cache = {
			{ .bytes = 4 * KIB, .ways = 4, .cycles = 4 },
			{ .bytes = 64 * KIB, .ways = 16, .policy = policy, .cycles = 14 },
		},
		.memory_cycles = 200,
		.prefetch = prefetch,
		.ghz = 1,
		.tick_ghz = 1,
		.max_bytes = CHUNKS * METER_CHUNK,
	};
	uint64_t before;

	for (uint32_t i = 0; i < CHUNKS; i++)
		frame[i] = i;
	open_side(&side[0], &model, 1);
	for (uint32_t i = 0; i < 17; i++)
		ring[i] = i * METER_CHUNK_PLACES;
	ck_assert_int_eq(walk_link(&side[0].walk, ring, 17), 0);
	walk_write(&side[0].walk);
	side[0].walk.left = 17 * turns;
	before = side[0].h.loads;
	for (uint64_t t = 0; t < turns && side[0].walk.state != WALK_REPEATING; t++)
		walk_go(&side[0].walk, 17);
	before = side[0].h.loads - before;
	close_side(&side[0]);
	return before;
}

START_TEST(a_period_is_found_in_a_few_turns_and_chance_has_none)
{
	ck_assert_uint_eq(simulated(POLICY_LRU, 0, 1000), 2 * 17);
	ck_assert_uint_eq(simulated(POLICY_FIFO, 0, 1000), 2 * 17);
	ck_assert_uint_le(simulated(POLICY_PLRU, 0, 1000), 100 * 17);
	ck_assert_uint_eq(simulated(POLICY_RANDOM, 0, 1000), 1000 * 17);
	/* What is prefetched is counted, too. */
	ck_assert_uint_gt(simulated(POLICY_LRU, PREFETCH_NEXT, 1000), 2 * 17);
	ck_assert_uint_lt(simulated(POLICY_LRU, PREFETCH_NEXT, 1000), 20 * 17);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim_walk");
	TCase *tc = tcase_create("walk");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_walk_that_repeats_itself_is_as_if_every_load_was_simulated);
	tcase_add_test(tc, a_period_is_found_in_a_few_turns_and_chance_has_none);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
