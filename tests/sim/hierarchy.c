// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "hierarchy.h"

/* Tags of a neighbour's lines in a set, and of lines that will not be used again. */
#define TAG_NEIGHBOUR	STORE_FOREIGN
#define TAG_PASSING	(STORE_FOREIGN + 0x1000)
#define TAG_SIBLING	(STORE_FOREIGN + 0x10000)
/* Times in the sets of the last level. */
#define STAMP_NS	256.0
/* So many uses of a line, expected, are drawn for all lines at once. */
#define SHORT		0.02

static const struct machine_cache *cache_of(const struct hierarchy *h, unsigned int i)
{
	return &h->model->cache[i];
}

static inline int is_exclusive(const struct hierarchy *h, unsigned int i)
{
	return cache_of(h, i)->inclusion == EXCLUSIVE;
}

static inline uint32_t base_of(const struct hierarchy *h, unsigned int i, uint32_t place)
{
	return h->base[place / METER_CHUNK_PLACES * MACHINE_LEVELS + i];
}

static inline size_t set_of(const struct hierarchy *h, unsigned int i, uint32_t place)
{
	return index_set(&h->index[i], base_of(h, i, place), place);
}

static inline uint32_t tag_of(const struct hierarchy *h, unsigned int i, uint32_t place)
{
	return (place >> h->shift[i]) + 1;
}

static inline double cost_of(const struct hierarchy *h, unsigned int i, uint32_t place)
{
	const struct index *x = &h->index[i];

	return h->cost[i][x->slices > 1 ? index_slice(x, base_of(h, i, place), place) : 0];
}

/* ---- what leaves a level ------------------------------------------------- */

static void drop(struct core *c, unsigned int i, uint32_t place)
{
	size_t set = set_of(c->h, i, place);
	int way = store_find(c->level[i], set, tag_of(c->h, i, place));

	if (way >= 0)
		store_drop(c->level[i], set, (unsigned int)way);
}

/* What left an inclusive level @i leaves all that is above. */
static void drop_above(struct core *c, unsigned int i, uint32_t place)
{
	struct hierarchy *h = c->h;

	for (unsigned int a = 0; a < h->nactive; a++) {
		if (h->active[a]->level[i] != c->level[i])
			continue;
		for (unsigned int j = 0; j < i; j++)
			for (uint32_t p = 0; p < 1U << h->shift[i]; p += 1U << h->shift[j])
				drop(h->active[a], j, place + p);
	}
}

static void put(struct core *c, unsigned int i, uint32_t place);

static void evict(struct core *c, unsigned int i, uint32_t tag)
{
	struct hierarchy *h = c->h;
	uint32_t place;

	if (!tag || tag >= STORE_FOREIGN)
		return;
	place = (tag - 1) << h->shift[i];
	if (cache_of(h, i)->inclusion == INCLUSIVE)
		drop_above(c, i, place);
	if (i + 1 < h->n && is_exclusive(h, i + 1))
		put(c, i + 1, place);
}

/* Have the line of @place in level @i. */
static void put(struct core *c, unsigned int i, uint32_t place)
{
	struct store *s = c->level[i];
	uint32_t tag = tag_of(c->h, i, place);
	size_t set = set_of(c->h, i, place);
	int way = store_find(s, set, tag);

	if (way >= 0)
		store_use(s, set, (unsigned int)way);
	else
		evict(c, i, store_fill(s, set, tag));
}

/* ---- a neighbour --------------------------------------------------------- */

/* Whether it was there. */
static int touch_foreign(struct core *c, unsigned int i, size_t set, uint32_t tag)
{
	int way = store_find(c->level[i], set, tag);

	if (way >= 0)
		store_use(c->level[i], set, (unsigned int)way);
	else
		evict(c, i, store_fill(c->level[i], set, tag));
	return way >= 0;
}

/* Lines that the neighbour has in this set: its share, rounded up or down by set. */
static uint32_t neighbour_lines(const struct hierarchy *h, const struct store *s, size_t set)
{
	uint64_t state = set;
	double round = (double)(sonde_rng_splitmix(&state) >> 11) * 0x1p-53;

	return (uint32_t)(h->share * s->ways + round);
}

/*
 * What the neighbour did in a set since somebody last looked: each of its lines
 * was used with the probability of a Poisson process.
 */
static void catch_up(struct core *c, unsigned int i, size_t set)
{
	struct hierarchy *h = c->h;
	uint32_t *word = store_word(c->level[i], set), now = (uint32_t)(c->ns / STAMP_NS) + 1;
	double elapsed = *word && *word != now ? (now - *word) * STAMP_NS * 1e-9 : 1e9;
	double expected = elapsed * h->model->noise.neighbour_hz, chance;
	uint32_t lines;

	h->journal.is_lost = 1;
	if (*word == now && !isinf(h->model->noise.neighbour_hz))
		return;
	*word = now;
	/* Most stretches are so short that at most one line was used. */
	if (expected < SHORT && hierarchy_chance(h) > expected / SHORT)
		return;
	chance = expected < SHORT ? SHORT : 1 - exp(-expected);
	lines = neighbour_lines(h, c->level[i], set);
	for (uint32_t j = 0; j < lines; j++)
		if (hierarchy_chance(h) < chance)
			touch_foreign(c, i, set, TAG_NEIGHBOUR + j);
}

void hierarchy_disturb(struct core *c, unsigned int i, size_t n)
{
	struct store *s = c->level[i];
	size_t set;

	for (size_t j = 0; j < n; j++) {
		set = sonde_rng_below(&c->h->rng, s->sets);
		evict(c, i, store_fill(s, set, TAG_PASSING));
	}
}

void hierarchy_use_foreign(struct core *c, size_t line)
{
	int hit = 0;

	for (unsigned int i = 0; i < c->h->n && !hit; i++) {
		size_t sets = c->level[i]->sets;

		hit = touch_foreign(c, i, line % sets, TAG_SIBLING + (uint32_t)(line / sets));
	}
}

/* ---- a load -------------------------------------------------------------- */

/* Whether a CPU that shares level @i (any, if @i is the number of levels) has it above. */
static int is_held(struct core *c, unsigned int i, uint32_t place)
{
	struct hierarchy *h = c->h;

	for (unsigned int a = 0; a < h->nactive; a++) {
		struct core *o = h->active[a];

		if (o == c || (i < h->n && o->level[i] != c->level[i]))
			continue;
		for (unsigned int j = 0; j < i; j++)
			if (o->level[j] != c->level[j] &&
			    store_find(o->level[j], set_of(h, j, place), tag_of(h, j, place)) >= 0)
				return 1;
	}
	return 0;
}

static double go_to_memory(struct core *c, uint32_t place)
{
	struct hierarchy *h = c->h;
	const struct machine_model *m = h->model;
	double wait = 0;

	if (m->transfer_cycles > 0 && h->nactive > 1 && is_held(c, h->n, place))
		return m->transfer_cycles;
	if (m->memory_gap > 0) {
		h->journal.is_lost = 1;
		wait = h->memory_ns > c->ns ? h->memory_ns - c->ns : 0;
		h->memory_ns = c->ns + wait + m->memory_gap * c->cycle_ns;
	}
	return m->memory_cycles + wait / c->cycle_ns;
}

/* Look in level @i, in set @set. Cycles if it is there, 0 if not. */
static double look(struct core *c, unsigned int i, uint32_t place, size_t set, unsigned int top)
{
	struct hierarchy *h = c->h;
	struct store *s = c->level[i];
	int way;

	if (i + 1 == h->n && h->model->noise.neighbour > 0)
		catch_up(c, i, set);
	way = store_find(s, set, tag_of(h, i, place));
	if (way >= 0) {
		if (i > top && is_exclusive(h, i))
			store_drop(s, set, (unsigned int)way);
		else
			store_use(s, set, (unsigned int)way);
		return cost_of(h, i, place);
	}
	if (h->nactive > 1 && i && is_held(c, i, place))
		return cost_of(h, i, place) + h->model->snoop_cycles;
	return 0;
}

static double fetch(struct core *c, uint32_t place, unsigned int top, unsigned int *from);

/*
 * A line of level @i that is longer than those of the next needs several of
 * them: the others than the one at @place.
 */
static void fetch_rest(struct core *c, uint32_t place, unsigned int i)
{
	const struct hierarchy *h = c->h;
	uint32_t places = 1U << h->shift[i], step = 1U << h->shift[i + 1], other;
	unsigned int ignored;

	for (uint32_t p = step; p < places; p += step) {
		other = (place & ~(places - 1)) | ((place + p) & (places - 1));
		if (look(c, i + 1, other, set_of(h, i + 1, other), i + 1) <= 0)
			fetch(c, other, i + 1, &ignored);
	}
}

/*
 * Bring a line that is not in level @top there, from wherever it is. Cycles, and
 * in @from where it was.
 */
static double fetch(struct core *c, uint32_t place, unsigned int top, unsigned int *from)
{
	struct hierarchy *h = c->h;
	size_t set[MACHINE_LEVELS];
	double cycles = 0;
	unsigned int i;

	set[top] = set_of(h, top, place);
	for (i = top + 1; i < h->n; i++) {
		set[i] = set_of(h, i, place);
		cycles = look(c, i, place, set[i], top);
		if (cycles > 0)
			break;
	}
	if (i == h->n)
		cycles = go_to_memory(c, place);
	*from = i;
	while (i-- > top) {
		if (i > top && is_exclusive(h, i))
			continue;
		evict(c, i, store_fill(c->level[i], set[i], tag_of(h, i, place)));
		if (i + 1 < h->n && h->shift[i + 1] < h->shift[i])
			fetch_rest(c, place, i);
	}
	return cycles;
}

/* Cycles for which a line in level @i that is there in name is still under way. */
static double wait_for(struct core *c, unsigned int i, uint32_t tag, double cycles)
{
	struct prefetcher *p = &c->prefetcher;
	unsigned int slot = tag % PREFETCH_PENDING;

	if (p->tag[i][slot] != tag)
		return 0;
	p->tag[i][slot] = 0;
	if (c->trace)
		trace_add_line(c->trace, &p->ready_ns[i][slot], cycles, 1);
	return hierarchy_wait(p->ready_ns[i][slot], c->ns, c->cycle_ns, cycles);
}

void hierarchy_prefetch(struct core *c, uint32_t place, unsigned int top)
{
	struct hierarchy *h = c->h;
	struct prefetcher *p = &c->prefetcher;
	uint32_t tag = tag_of(h, top, place);
	unsigned int from, slot = tag % PREFETCH_PENDING;
	double cycles;

	if (place / METER_CHUNK_PLACES >= h->chunks ||
	    store_find(c->level[top], set_of(h, top, place), tag) >= 0)
		return;
	h->loads++;
	cycles = fetch(c, place, top, &from);
	p->tag[top][slot] = tag;
	p->ready_ns[top][slot] = c->ns + cycles * c->cycle_ns;
	if (c->trace)
		trace_add_line(c->trace, &p->ready_ns[top][slot], cycles, 0);
}

/* Cycles of address translation. */
static double translate(struct core *c, uint32_t place)
{
	const struct machine_tlb *model = c->h->model->tlb;
	uint32_t page = (place >> c->h->page_shift) + 1;
	double cycles = 0;
	size_t set;
	int way;

	if (page == c->page)
		return 0;
	c->page = page;
	for (unsigned int i = 0; i < MACHINE_TLBS && model[i].pages; i++) {
		struct store *s = &c->tlb[i];

		set = s->sets & (s->sets - 1) ? page % s->sets : page & (s->sets - 1);
		way = store_find(s, set, page);
		if (way >= 0) {
			store_use(s, set, (unsigned int)way);
			break;
		}
		store_fill(s, set, page);
		cycles += model[i].cycles;
	}
	return cycles;
}

/* Cycles of a load that took so many, besides waiting, after @before. */
static inline double spent(struct core *c, double before, double cycles, double wait)
{
	if (c->trace)
		trace_add_load(c->trace, before, cycles);
	return before + (cycles + wait);
}

static double load_beyond(struct core *c, uint32_t place, double before)
{
	struct hierarchy *h = c->h;
	unsigned int from;
	double cycles = fetch(c, place, 0, &from), wait = 0;

	if (h->model->prefetch) {
		if (from == 1)
			wait = wait_for(c, 1, tag_of(h, 1, place), cycles);
		prefetch_after_miss(c, place, from > h->top);
		prefetch_after_load(c, place);
	}
	return spent(c, before * (1 - h->model->hidden), cycles, wait);
}

double hierarchy_load(struct core *c, uint32_t place)
{
	struct hierarchy *h = c->h;
	double before = translate(c, place), wait = 0;
	uint32_t tag;
	size_t set;
	int way;

	h->loads++;
	if (!h->n)
		return spent(c, before, go_to_memory(c, place), 0);
	tag = tag_of(h, 0, place);
	set = set_of(h, 0, place);
	if (h->n == 1 && h->model->noise.neighbour > 0)
		catch_up(c, 0, set);
	way = store_find(c->level[0], set, tag);
	if (way < 0)
		return load_beyond(c, place, before);
	store_use(c->level[0], set, (unsigned int)way);
	if (h->model->prefetch) {
		wait = wait_for(c, 0, tag, h->cost[0][0]);
		prefetch_after_load(c, place);
	}
	return spent(c, 0, before + h->cost[0][0], wait);
}

void hierarchy_own(struct core *c, uint32_t place)
{
	struct hierarchy *h = c->h;

	for (unsigned int a = 0; a < h->nactive; a++)
		for (unsigned int i = 0; i < h->n; i++)
			if (h->active[a]->level[i] != c->level[i])
				drop(h->active[a], i, place);
}

void hierarchy_flush(struct hierarchy *h, uint32_t place)
{
	for (unsigned int a = 0; a < h->nactive; a++)
		for (unsigned int i = 0; i < h->n; i++)
			drop(h->active[a], i, place);
}

/* ---- making and ending it ------------------------------------------------ */

static int open_core(struct core *c)
{
	struct hierarchy *h = c->h;
	const struct machine_model *m = h->model;

	for (unsigned int i = 0; i < h->n; i++) {
		unsigned int shared = m->cache[i].shared ? m->cache[i].shared : 1;
		struct store **s = &h->store[i][machine_place(m, c->cpu) / shared];

		if (!*s) {
			*s = calloc(1, sizeof(**s));
			if (!*s || store_open(*s, h->index[i].sets, m->cache[i].ways,
					      m->cache[i].policy,
					      (uint32_t)sonde_rng_next(&h->rng)))
				return -ENOMEM;
			(*s)->journal = &h->journal;
		}
		c->level[i] = *s;
	}
	for (unsigned int i = 0; i < MACHINE_TLBS && m->tlb[i].pages; i++) {
		unsigned int ways = m->tlb[i].ways ? m->tlb[i].ways : m->tlb[i].pages;

		if (store_open(&c->tlb[i], m->tlb[i].pages / ways, ways, POLICY_LRU, 1))
			return -ENOMEM;
		c->tlb[i].journal = &h->journal;
	}
	return 0;
}

static void close_core(struct core *c)
{
	for (unsigned int i = 0; i < MACHINE_TLBS; i++)
		store_close(&c->tlb[i]);
	free(c);
}

struct core *hierarchy_core(struct hierarchy *h, unsigned int cpu)
{
	struct core *c = h->core[cpu];

	if (c)
		return c;
	c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->h = h;
	c->cpu = cpu;
	c->cycle_ns = 1 / h->model->ghz;
	if (open_core(c)) {
		close_core(c);
		return NULL;
	}
	h->core[cpu] = c;
	h->active[h->nactive++] = c;
	return c;
}

int hierarchy_pool(struct hierarchy *h, const uint32_t *frame, size_t n)
{
	uint32_t *base = malloc(n * MACHINE_LEVELS * sizeof(*base));

	if (!base)
		return -ENOMEM;
	for (size_t k = 0; k < n; k++)
		for (unsigned int i = 0; i < h->n; i++)
			base[k * MACHINE_LEVELS + i] =
				index_base(&h->index[i], i ? frame[k] : (uint32_t)k);
	free(h->base);
	h->base = base;
	h->chunks = n;
	for (unsigned int a = 0; a < h->nactive; a++) {
		struct core *c = h->active[a];

		for (unsigned int i = 0; i < h->n; i++)
			store_clear(c->level[i]);
		for (unsigned int i = 0; i < MACHINE_TLBS && h->model->tlb[i].pages; i++)
			store_clear(&c->tlb[i]);
		c->page = 0;
		c->prefetcher = (struct prefetcher){ 0 };
	}
	return 0;
}

/* A slice's cost depends on its place on the ring or mesh: any order of equal steps. */
static int open_costs(struct hierarchy *h, unsigned int i)
{
	const struct machine_cache *c = cache_of(h, i);
	unsigned int n = h->index[i].slices;

	h->cost[i] = calloc(n, sizeof(*h->cost[i]));
	if (!h->cost[i])
		return -ENOMEM;
	for (unsigned int s = 0; s < n; s++) {
		size_t j = sonde_rng_below(&h->rng, s + 1);

		h->cost[i][s] = h->cost[i][j];
		h->cost[i][j] = c->cycles + (n > 1 ? c->spread * (s / (n - 1.0) - 0.5) : 0);
	}
	return 0;
}

static int open_level(struct hierarchy *h, unsigned int i)
{
	const struct machine_cache *c = cache_of(h, i);
	struct machine_cache plain = *c;
	int err;

	if (!i)
		plain.index = INDEX_BITS;
	if (c->ways > MACHINE_WAYS && c->policy != POLICY_LRU && c->policy != POLICY_FIFO &&
	    c->policy != POLICY_DIP)
		return -EINVAL;
	err = index_open(&h->index[i], &plain, &h->rng);
	if (err)
		return err;
	h->shift[i] = h->index[i].shift - (unsigned int)__builtin_ctz(METER_PLACE);
	if (is_exclusive(h, i) && (!i || h->shift[i] != h->shift[i - 1]))
		return -EINVAL;
	h->store[i] = calloc(h->model->cpus ? h->model->cpus : 1, sizeof(*h->store[i]));
	return h->store[i] ? open_costs(h, i) : -ENOMEM;
}

int hierarchy_open(struct hierarchy *h, const struct machine_model *model, uint64_t seed)
{
	unsigned int cpus = model->cpus ? model->cpus : 1;
	int err;

	*h = (struct hierarchy){ .model = model };
	sonde_rng_seed(&h->rng, seed);
	h->core = calloc(cpus, sizeof(struct core *));
	h->active = calloc(cpus, sizeof(struct core *));
	if (!h->core || !h->active)
		return -ENOMEM;
	h->page_shift = (unsigned int)__builtin_ctz(METER_CHUNK_PLACES) +
			(model->map == MAP_HUGE ? 9 : 0);
	for (; h->n < MACHINE_LEVELS && model->cache[h->n].bytes; h->n++) {
		err = open_level(h, h->n);
		if (err)
			return err;
	}
	h->top = h->n > 1 && !is_exclusive(h, 1);
	return 0;
}

void hierarchy_close(struct hierarchy *h)
{
	for (unsigned int a = 0; a < h->nactive; a++)
		close_core(h->active[a]);
	for (unsigned int i = 0; i < MACHINE_LEVELS; i++) {
		for (unsigned int j = 0; h->store[i] && j < (h->model->cpus ? h->model->cpus : 1);
		     j++) {
			if (h->store[i][j])
				store_close(h->store[i][j]);
			free(h->store[i][j]);
		}
		free(h->store[i]);
		free(h->cost[i]);
	}
	free(h->core);
	free(h->active);
	free(h->base);
	journal_free(&h->journal);
}
