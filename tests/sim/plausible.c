// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../../lib/rng.h"
#include "plausible.h"

#define MEMORY		(4UL << 30)
/* Sets of a slice, and slices, that there are. */
#define SLICE_SETS_MIN	256
#define SLICE_SETS_MAX	32768
#define SLICES_MAX	128

/* A level that is not this many times as large as the one above cannot hold it all. */
#define MUCH_LARGER	4

static uint64_t hash_name(const char *name)
{
	uint64_t h = 0xcbf29ce484222325;	/* FNV-1a */

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3;
	return h;
}

static double uniform(struct sonde_rng *rng, double from, double to)
{
	return from + (to - from) * ((double)(sonde_rng_next(rng) >> 11) * 0x1p-53);
}

static int happens(struct sonde_rng *rng, double chance)
{
	return uniform(rng, 0, 1) < chance;
}

static int is_power(size_t x)
{
	return x && !(x & (x - 1));
}

static enum machine_policy choose_policy(struct sonde_rng *rng, unsigned int level,
					 unsigned int ways)
{
	enum machine_policy p;

	if (ways > MACHINE_WAYS)
		return happens(rng, 0.5) ? POLICY_LRU : POLICY_FIFO;
	/* Set duelling is for what memory is behind. */
	do {
		p = (enum machine_policy)sonde_rng_below(rng, MACHINE_POLICIES);
	} while (p == POLICY_DIP && level < 2);
	return p;
}

/*
 * A level that is hardly larger than the one above is exclusive of it, or nobody
 * would have built it; one that is inclusive must have room for what is above.
 */
static enum machine_inclusion choose_inclusion(struct sonde_rng *rng,
					       const struct corpus_cache *above,
					       const struct corpus_cache *c)
{
	double x = uniform(rng, 0, 1);

	if (above->line == c->line && (c->bytes <= MUCH_LARGER * above->bytes || x < 0.2))
		return EXCLUSIVE;
	if (c->bytes >= 2 * MUCH_LARGER * above->bytes && c->ways >= above->ways && x < 0.6)
		return INCLUSIVE;
	return NON_INCLUSIVE;
}

/* Slices of which each has a power of two sets; 0 if there is no such number. */
static unsigned int choose_slices(struct sonde_rng *rng, size_t sets)
{
	unsigned int fit[32], n = 0;

	for (unsigned int slices = 2; slices <= SLICES_MAX; slices++)
		if (sets % slices == 0 && is_power(sets / slices) && n < 32 &&
		    sets / slices >= SLICE_SETS_MIN && sets / slices <= SLICE_SETS_MAX)
			fit[n++] = slices;
	return n ? fit[sonde_rng_below(rng, n)] : 0;
}

/* The remainder of a division is left for sets that no slices explain. */
static void choose_index(struct sonde_rng *rng, unsigned int level,
			 const struct corpus_cache *c, struct machine_cache *out)
{
	int power = is_power(c->sets);

	if (level == 0)
		return;
	if (level == 1 && power) {
		out->index = happens(rng, 0.3) ? INDEX_XOR : INDEX_BITS;
		return;
	}
	if (power && happens(rng, 0.3))
		return;
	out->slices = choose_slices(rng, c->sets);
	if (!out->slices)
		return;
	out->index = INDEX_SLICED;
	out->spread = floor(uniform(rng, 0, 16));
}

static double choose_cycles(struct sonde_rng *rng, unsigned int level, size_t bytes)
{
	double octaves = log2((double)bytes);

	if (level == 0)
		return 3 + floor(uniform(rng, 0, 2)) + (bytes > 32 << 10);
	if (level == 1)
		return floor(9 + 1.5 * fmax(0, octaves - 17) + uniform(rng, 0, 4));
	return floor(22 + 4.5 * fmax(0, octaves - 20) + uniform(rng, 0, 12));
}

static void choose_levels(struct sonde_rng *rng, const struct corpus_machine *c,
			  struct machine_model *m)
{
	double nearer = 0;

	for (unsigned int i = 0; i < c->usable; i++) {
		const struct corpus_cache *row = &c->cache[i];
		struct machine_cache *out = &m->cache[i];

		*out = (struct machine_cache){
			.bytes = row->bytes, .ways = row->ways, .line = row->line,
			.policy = choose_policy(rng, i, row->ways),
			.shared = row->shared,
			.cycles = choose_cycles(rng, i, row->bytes),
		};
		choose_index(rng, i, row, out);
		if (i)
			out->inclusion = choose_inclusion(rng, &c->cache[i - 1], row);
		out->cycles = fmax(out->cycles, ceil(1.4 * nearer));
		nearer = out->cycles;
		if (row->shared > m->cpus)
			m->cpus = row->shared;
	}
	m->memory_cycles = fmax(floor(m->ghz * uniform(rng, 60, 110)), ceil(2 * nearer));
	m->snoop_cycles = floor(uniform(rng, 5, 30));
}

static void choose_rest(struct sonde_rng *rng, struct machine_model *m)
{
	static const unsigned int first[] = { 48, 64, 96, 128 }, second[] = { 512, 1024, 1536, 2048 };
	unsigned int pages = first[sonde_rng_below(rng, 4)];

	m->tlb[0] = (struct machine_tlb){ pages, 4, floor(uniform(rng, 5, 10)) };
	m->tlb[1] = (struct machine_tlb){ second[sonde_rng_below(rng, 4)], 8,
					  floor(uniform(rng, 15, 35)) };
	if (happens(rng, 0.2)) {
		m->tlb[0].cycles += m->tlb[1].cycles;
		m->tlb[1].pages = 0;
	}
	/* Each is there in most machines. */
	for (unsigned int bit = 1; bit <= PREFETCH_ALL; bit <<= 1)
		if (happens(rng, 0.8))
			m->prefetch |= bit;
}

int plausible_is_disturbed(const struct machine_model *model, unsigned int i)
{
	unsigned int last = 0;

	while (last + 1 < MACHINE_LEVELS && model->cache[last + 1].bytes)
		last++;
	return model->noise.neighbour > 0 && i && i == last;
}

/* A second level that is nobody else's has no neighbour. */
static int has_neighbour(const struct corpus_machine *c)
{
	return c->usable > 2 || (c->usable == 2 && c->cache[1].shared > 1);
}

static void make_cloud(struct sonde_rng *rng, const struct corpus_machine *c,
		       struct machine_model *m)
{
	m->frames = FRAMES_GUEST;
	m->is_guest = 1;
	m->tick_ghz = 2.6;
	m->tick_step = 26;
	m->noise = (struct machine_noise){
		.gaps = 460, .gap_us = { 12, 38 },
		.gap_lines = 20 + (unsigned int)sonde_rng_below(rng, 100),
		.slices = 4, .slice_ms = { 20, 60 },
		.spikes = 20, .spike_ns = 600,
		.evictions = 200,
		.drift = 0.01,
	};
	if (has_neighbour(c)) {
		m->noise.neighbour = 0.5;
		m->noise.neighbour_hz = uniform(rng, 50, 400);
	}
}

void plausible_model(const struct corpus_machine *c, enum profile profile, uint64_t seed,
		     struct machine_model *model)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, hash_name(c->name) ^ seed * 0x9e3779b97f4a7c15);
	*model = (struct machine_model){
		.ghz = floor(uniform(&rng, 20, 45)) / 10,
		.tick_ghz = floor(uniform(&rng, 18, 37)) / 10,
		.cpus = 1,
		.max_bytes = MEMORY,
	};
	choose_levels(&rng, c, model);
	choose_rest(&rng, model);
	if (profile == PROFILE_CLOUD)
		make_cloud(&rng, c, model);
}

void plausible_describe(const struct machine_model *model, unsigned int i, char *text,
			size_t size)
{
	static const char *const inclusions[] = { "non-inclusive", "inclusive", "exclusive" };
	const struct machine_cache *c = &model->cache[i];
	char index[48] = "bits";
	size_t sets = c->bytes / c->ways / c->line;

	if (c->index == INDEX_XOR)
		snprintf(index, sizeof(index), "xor");
	else if (c->index == INDEX_SLICED)
		snprintf(index, sizeof(index), "%u slices of %zu sets", c->slices, sets / c->slices);
	else if (!is_power(sets))
		snprintf(index, sizeof(index), "modulo");
	snprintf(text, size, "%s, %s, %s, %g cycles", machine_policy_name(c->policy),
		 inclusions[c->inclusion], index, c->cycles);
}
