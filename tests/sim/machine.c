// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/rng.h"
#include "machine.h"

#define CHAIN_CYCLES	1024
#define GAP_NS		20000
#define TLB_WAYS	4

/**
 * struct level - a cache at work
 * @c: what it is
 * @sets: how many
 * @tag: line + 1 in each way of each set, 0 for none
 * @used: when each was used last; for a tree of bits, word 0 of the set holds it
 */
struct level {
	const struct machine_cache *c;
	size_t sets;
	uint32_t *tag;
	uint32_t *used;
};

struct machine {
	struct meter meter;
	struct machine_model model;
	struct sonde_rng rng;
	struct level level[MACHINE_LEVELS];
	unsigned int nlevels;
	uint32_t *frame;	/* of each chunk */
	uint32_t *ring;
	size_t nring, at;
	struct machine_cache tlb_cache;
	struct level tlb;
	uint32_t clock;		/* of accesses */
	double ns;		/* virtual time */
};

static struct machine *to_machine(struct meter *m)
{
	return (struct machine *)(void *)m;
}

static void point_away(uint32_t *bits, unsigned int ways, unsigned int way)
{
	unsigned int node = 1;

	for (unsigned int half = ways / 2; half; half /= 2) {
		if (way & half)
			*bits &= ~(1u << node);
		else
			*bits |= 1u << node;
		node = 2 * node + !!(way & half);
	}
}

static unsigned int follow_tree(uint32_t bits, unsigned int ways)
{
	unsigned int node = 1, way = 0;

	for (unsigned int half = ways / 2; half; half /= 2) {
		if (bits >> node & 1)
			way |= half;
		node = 2 * node + (bits >> node & 1);
	}
	return way;
}

static unsigned int choose_victim(struct machine *k, struct level *l, size_t set)
{
	const uint32_t *tag = l->tag + set * l->c->ways, *used = l->used + set * l->c->ways;
	unsigned int oldest = 0;

	for (unsigned int w = 0; w < l->c->ways; w++) {
		if (!tag[w])
			return w;
		if (used[w] < used[oldest])
			oldest = w;
	}
	if (l->c->policy == POLICY_RANDOM)
		return (unsigned int)sonde_rng_below(&k->rng, l->c->ways);
	if (l->c->policy == POLICY_PLRU)
		return follow_tree(used[0], l->c->ways);
	return oldest;
}

static void touch(struct machine *k, struct level *l, size_t set, unsigned int way)
{
	uint32_t *used = l->used + set * l->c->ways;

	if (l->c->policy == POLICY_PLRU)
		point_away(used, l->c->ways, way);
	else
		used[way] = k->clock;
}

/* Whether the line was there; it is afterwards. */
static int look_up(struct machine *k, struct level *l, uint32_t line)
{
	size_t set = line % l->sets;
	uint32_t *tag = l->tag + set * l->c->ways;
	unsigned int way;

	for (way = 0; way < l->c->ways; way++) {
		if (tag[way] == line + 1) {
			touch(k, l, set, way);
			return 1;
		}
	}
	way = choose_victim(k, l, set);
	tag[way] = line + 1;
	touch(k, l, set, way);
	return 0;
}

/* Cycles of a load. */
static double load(struct machine *k, uint32_t line)
{
	uint32_t chunk = line / METER_CHUNK_LINES;
	uint32_t physical = k->frame[chunk] * METER_CHUNK_LINES + line % METER_CHUNK_LINES;
	double cycles = k->model.memory_cycles, extra;

	k->clock++;
	extra = k->tlb.c && !look_up(k, &k->tlb, chunk) ? k->model.tlb_cycles : 0;
	for (unsigned int i = 0; i < k->nlevels; i++) {
		if (look_up(k, &k->level[i], i ? physical : line)) {
			cycles = k->level[i].c->cycles;
			break;
		}
		if (i && k->model.pair_prefetch)
			look_up(k, &k->level[i], physical ^ 1);
	}
	return cycles + extra;
}

static int machine_pages(struct meter *m, size_t chunks)
{
	struct machine *k = to_machine(m);
	uint32_t t;
	size_t j;

	free(k->frame);
	k->frame = malloc(chunks * sizeof(*k->frame));
	if (!k->frame)
		return -ENOMEM;
	for (size_t i = 0; i < chunks; i++)
		k->frame[i] = (uint32_t)i;
	for (size_t i = chunks; i > 1 && !k->model.contiguous; i--) {
		j = sonde_rng_below(&k->rng, i);
		t = k->frame[i - 1];
		k->frame[i - 1] = k->frame[j];
		k->frame[j] = t;
	}
	return 0;
}

static double go_on(struct machine *k, uint64_t steps)
{
	double cycles = 0;

	for (uint64_t i = 0; i < steps; i++) {
		cycles += load(k, k->ring[k->at]);
		k->at = k->at + 1 < k->nring ? k->at + 1 : 0;
	}
	k->ns += cycles / k->model.ghz;
	return cycles;
}

static void machine_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct machine *k = to_machine(m);

	free(k->ring);
	k->ring = malloc(n * sizeof(*places));
	if (!k->ring)
		abort();	/* a test's machine, not a user's */
	for (size_t i = 0; i < n; i++)
		k->ring[i] = places[i] / METER_LINE_PLACES;
	k->nring = n;
	k->at = 0;
	go_on(k, n);
}

/* Ticks of a stretch, with the pauses that fell into it. */
static uint64_t ticks_of(struct machine *k, double cycles)
{
	double ns = cycles / k->model.ghz;
	double chance = k->model.gaps * ns / 1e9;

	if ((double)sonde_rng_below(&k->rng, 1 << 30) / (1 << 30) < chance) {
		ns += GAP_NS;
		k->ns += GAP_NS;
	}
	return (uint64_t)(ns * k->model.tick_ghz + 0.5);
}

static void machine_chase(struct meter *m, uint64_t skip, unsigned int steps,
			  struct meter_window *out, size_t nout)
{
	struct machine *k = to_machine(m);

	go_on(k, skip);
	for (size_t i = 0; i < nout; i++) {
		k->ns += CHAIN_CYCLES / k->model.ghz;
		out[i].chain = ticks_of(k, CHAIN_CYCLES);
		out[i].ticks = ticks_of(k, go_on(k, steps));
	}
}

static double machine_gaps(struct meter *m, double seconds)
{
	struct machine *k = to_machine(m);

	k->ns += seconds * 1e9;
	return k->model.gaps;
}

static double machine_now(struct meter *m)
{
	return to_machine(m)->ns / 1e9;
}

static int open_level(struct level *l, const struct machine_cache *c, size_t entries)
{
	*l = (struct level){ c, entries / c->ways, NULL, NULL };
	l->tag = calloc(entries, sizeof(*l->tag));
	l->used = calloc(entries, sizeof(*l->used));
	return l->tag && l->used ? 0 : -ENOMEM;
}

static void close_level(struct level *l)
{
	free(l->tag);
	free(l->used);
}

static void machine_close(struct meter *m)
{
	struct machine *k = to_machine(m);

	for (unsigned int i = 0; i < k->nlevels; i++)
		close_level(&k->level[i]);
	close_level(&k->tlb);
	free(k->ring);
	free(k->frame);
	free(k);
}

static const struct meter_ops machine_ops = {
	.pages = machine_pages,
	.link = machine_link,
	.chase = machine_chase,
	.gaps = machine_gaps,
	.now = machine_now,
	.close = machine_close,
};

int machine_open(struct meter **m, const struct machine_model *model, uint64_t seed)
{
	struct machine *k = calloc(1, sizeof(*k));

	if (!k)
		return -ENOMEM;
	k->model = *model;
	k->meter = (struct meter){
		.ops = &machine_ops,
		.page_size = METER_CHUNK,
		.max_bytes = model->max_bytes,
		.chain_cycles = CHAIN_CYCLES,
		.tick_ns = 1 / model->tick_ghz,
	};
	sonde_rng_seed(&k->rng, seed);
	k->tlb_cache = (struct machine_cache){ .ways = TLB_WAYS, .policy = POLICY_LRU };
	if (model->tlb_pages && open_level(&k->tlb, &k->tlb_cache, model->tlb_pages))
		goto fail;
	while (k->nlevels < MACHINE_LEVELS && model->cache[k->nlevels].bytes) {
		const struct machine_cache *c = &k->model.cache[k->nlevels];

		if (open_level(&k->level[k->nlevels++], c, c->bytes / METER_LINE))
			goto fail;
	}
	*m = &k->meter;
	return 0;
fail:
	machine_close(&k->meter);
	return -ENOMEM;
}
