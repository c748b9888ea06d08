// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which CPUs share which cache, on machines of many CPUs that are made up here:
 * caches with sets and least recently used ways, coherent by versions of lines,
 * inclusive or filled by what the nearer level gave up. Time is virtual.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/share.h>

#include "../../lib/probe/share.h"
#include "tap.h"

#define WAYS		8
#define LEVELS		3
#define MEMORY_CYCLES	300
#define CHAIN_CYCLES	1024
#define CPUS_MOST	64
/* Made-up machines: a busy one takes a quarter of a second, packages take more. */
#define BUSY_SEEDS	20U
#define PACKAGE_SEEDS	2U
/* Others run for so long, and again after so long on average. */
#define SLICE_NS	2e6
#define BETWEEN_NS	1e6

/**
 * struct model - a made-up machine
 * @ncpus: CPUs, numbered from 0
 * @bytes: of each level, 0 for none
 * @cycles: latency of each
 * @of: which cache of a level a CPU uses
 * @victim: the last level holds what the level before gave up
 * @forward_cycles: what a line costs that another CPU has changed; 0: as memory
 * @far_cycles: the same, where the two have no last level in common; 0: no more
 * @gaps: one window in so many is interrupted; 0: none
 * @in_turn: lanes run one after the other, whatever is asked
 * @apart: lanes do not disturb each other, whatever they share
 * @is_guest: a host may move the CPUs
 * @moved_ns: until then, each CPU has a last level of its own
 * @together_ns: until then, all CPUs share all levels
 * @seen: of the last level's bytes those that the cache report tells, as an interval;
 *        0: its size
 * @is_cost_unknown: nor does the report tell what a hit in it costs
 * @busy: CPUs, from the first on, that somebody else uses too
 * @seed: of the walks and of what is random
 */
struct model {
	unsigned int ncpus;
	size_t bytes[LEVELS];
	double cycles[LEVELS];
	unsigned int (*of)(unsigned int level, unsigned int cpu);
	int victim;
	double forward_cycles, far_cycles;
	unsigned int gaps;
	int in_turn, apart, is_guest;
	double moved_ns, together_ns;
	size_t seen;
	int is_cost_unknown;
	unsigned int busy;
	uint64_t seed;
};

struct entry {
	uint32_t line, version, used;
};

struct machine {
	struct meter meter;
	const struct model *k;
	unsigned int nlevels, cpu;
	struct entry *cache[LEVELS];	/* all instances of a level, one after the other */
	size_t sets[LEVELS];
	uint32_t *version;		/* of each line; odd multiples are dirty */
	uint32_t *writer;		/* who wrote last, + 1 */
	uint32_t *ring;			/* next place of each line, as a line */
	size_t nlines;
	uint32_t at, used;
	double ns;
	unsigned int windows;
	struct sonde_rng rng;
	double slice_ns[CPUS_MOST];	/* when somebody else runs next on a CPU */
};

static struct machine *to_machine(struct meter *m)
{
	return (struct machine *)(void *)m;
}

static struct entry *get_set(struct machine *k, unsigned int level, unsigned int cpu,
			     uint32_t line)
{
	int is_own = level + 1 == k->nlevels && k->ns < k->k->moved_ns;
	size_t instance = is_own ? cpu : k->ns < k->k->together_ns ? 0 : k->k->of(level, cpu);

	return k->cache[level] + (instance * k->sets[level] + line % k->sets[level]) * WAYS;
}

static struct entry *find(struct machine *k, unsigned int level, unsigned int cpu, uint32_t line)
{
	struct entry *set = get_set(k, level, cpu, line);

	for (int w = 0; w < WAYS; w++)
		if (set[w].used && set[w].line == line && set[w].version == k->version[line])
			return &set[w];
	return NULL;
}

static void fill(struct machine *k, unsigned int level, unsigned int cpu, uint32_t line)
{
	struct entry *set = get_set(k, level, cpu, line), *oldest = set;
	struct entry old;

	for (int w = 0; w < WAYS; w++)
		if (set[w].used < oldest->used)
			oldest = &set[w];
	old = *oldest;
	*oldest = (struct entry){ line, k->version[line], ++k->used };
	if (k->k->victim && level + 2 == k->nlevels && old.used &&
	    old.version == k->version[old.line] && !find(k, level + 1, cpu, old.line))
		fill(k, level + 1, cpu, old.line);
}

/* What a line costs that the CPU that wrote it last has still, as it is now. */
static double forward(struct machine *k, unsigned int cpu, uint32_t line)
{
	unsigned int writer = k->writer[line], last = k->nlevels - 1;
	int is_far = k->ns < k->k->moved_ns ||
		     (writer && k->k->of(last, writer - 1) != k->k->of(last, cpu));
	double cycles = is_far && k->k->far_cycles > 0 ? k->k->far_cycles : k->k->forward_cycles;

	for (unsigned int l = 0; writer && writer != cpu + 1 && l < k->nlevels; l++)
		if (find(k, l, writer - 1, line))
			return cycles;
	return MEMORY_CYCLES;
}

static double load(struct machine *k, unsigned int cpu, uint32_t line)
{
	unsigned int hit = 0, last = k->nlevels - 1;
	struct entry *e = NULL;
	double farther = MEMORY_CYCLES;

	for (; hit < k->nlevels; hit++) {
		e = find(k, hit, cpu, line);
		if (e)
			break;
	}
	if (e)
		e->used = ++k->used;
	else if (k->k->forward_cycles > 0)
		farther = forward(k, cpu, line);
	for (unsigned int l = hit < k->nlevels ? hit : k->nlevels; l-- > 0;)
		if (!(k->k->victim && l == last && last))
			fill(k, l, cpu, line);
	if (hit < k->nlevels)
		return k->k->cycles[hit];
	return farther;
}

static void store(struct machine *k, unsigned int cpu, uint32_t line)
{
	k->version[line]++;
	k->writer[line] = cpu + 1;
	load(k, cpu, line);
}

static int fake_pages(struct meter *m, size_t chunks)
{
	struct machine *k = to_machine(m);

	k->nlines = chunks * METER_CHUNK_LINES;
	free(k->version);
	free(k->writer);
	free(k->ring);
	k->version = calloc(k->nlines, sizeof(*k->version));
	k->writer = calloc(k->nlines, sizeof(*k->writer));
	k->ring = calloc(k->nlines, sizeof(*k->ring));
	ck_assert(k->version && k->writer && k->ring);
	return 0;
}

static uint32_t link_on(struct machine *k, unsigned int cpu, const uint32_t *places, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t line = places[i] / METER_LINE_PLACES;

		/* An assertion that holds writes to a file, too: not one for each line. */
		if (line >= k->nlines)
			ck_abort_msg("line %u of %zu", line, k->nlines);
		k->ring[line] = places[(i + 1) % n] / METER_LINE_PLACES;
		store(k, cpu, line);
	}
	return places[0] / METER_LINE_PLACES;
}

static void fake_link(struct meter *m, const uint32_t *places, size_t n)
{
	struct machine *k = to_machine(m);

	k->at = link_on(k, k->cpu, places, n);
}

/* Whoever runs on @cpu at @ns uses its caches, and half of the last level; nanoseconds. */
static double lose_slice(struct machine *k, unsigned int cpu, double ns)
{
	if (cpu >= k->k->busy || ns < k->slice_ns[cpu])
		return 0;
	k->slice_ns[cpu] = ns + SLICE_NS +
			   BETWEEN_NS * (double)sonde_rng_below(&k->rng, 1000) / 500;
	for (unsigned int l = 0; l < k->nlevels; l++) {
		struct entry *first = get_set(k, l, cpu, 0);

		for (size_t i = 0; i < k->sets[l] * WAYS; i++)
			if (l + 1 < k->nlevels || sonde_rng_below(&k->rng, 2))
				first[i] = (struct entry){ 0 };
	}
	return SLICE_NS;
}

static double walk(struct machine *k, unsigned int cpu, uint32_t *at, uint64_t steps)
{
	double cycles = 0;

	for (uint64_t i = 0; i < steps; i++) {
		cycles += lose_slice(k, cpu, k->ns + cycles) + load(k, cpu, *at);
		*at = k->ring[*at];
	}
	return cycles;
}

static struct meter_window window(struct machine *k, double begin, double cycles)
{
	struct meter_window w = {
		.ticks = (uint64_t)cycles + 1,
		.chain = CHAIN_CYCLES,
		.begin = (uint64_t)begin,
	};

	if (k->k->gaps && ++k->windows % k->k->gaps == 0)
		w.ticks += 50000;
	return w;
}

/* A tick is a cycle is a nanosecond. */
static void fake_chase(struct meter *m, uint64_t skip, unsigned int steps,
		       struct meter_window *out, size_t nout)
{
	struct machine *k = to_machine(m);

	k->ns += walk(k, k->cpu, &k->at, skip);
	for (size_t i = 0; i < nout; i++) {
		out[i] = window(k, k->ns, walk(k, k->cpu, &k->at, steps));
		k->ns += (double)out[i].ticks;
	}
}

static int fake_move(struct meter *m, unsigned int cpu)
{
	struct machine *k = to_machine(m);

	if (cpu >= k->k->ncpus)
		return -EPERM;
	k->cpu = cpu;
	return 0;
}

struct runner {
	uint32_t at;
	double now, begin;
	unsigned int step;
	size_t window;
};

static void run_step(struct machine *k, const struct meter_lane *lane, struct runner *r)
{
	double cycles = lose_slice(k, lane->cpu, r->now) + load(k, lane->cpu, r->at);

	r->at = k->ring[r->at];
	if (!r->step++)
		r->begin = r->now;
	r->now += cycles;
	if (r->step < lane->steps)
		return;
	if (r->window < lane->nout)
		lane->out[r->window] = window(k, r->begin, r->now - r->begin);
	r->window++;
	r->step = 0;
}

/* Whoever is behind goes on for some loads, until all have their windows. */
static void run_lanes(struct machine *k, const struct meter_lane *lanes, struct runner *r, size_t n)
{
	size_t done, next;

	do {
		next = 0;
		done = 0;
		for (size_t l = 0; l < n; l++) {
			if (r[l].now < r[next].now)
				next = l;
			done += r[l].window >= lanes[l].nout;
		}
		for (int i = 0; i < 32; i++)
			run_step(k, &lanes[next], &r[next]);
	} while (done < n);
	for (size_t l = 0; l < n; l++)
		if (r[l].now > k->ns)
			k->ns = r[l].now;
}

static int fake_together(struct meter *m, const struct meter_lane *lanes, size_t n)
{
	struct machine *k = to_machine(m);
	struct runner *r = calloc(n, sizeof(*r));

	ck_assert_ptr_nonnull(r);
	for (size_t l = 0; l < n; l++)
		r[l].at = link_on(k, lanes[l].cpu, lanes[l].places, lanes[l].n);
	for (size_t l = 0; l < n; l++) {
		walk(k, lanes[l].cpu, &r[l].at, lanes[l].skip);
		r[l].now = k->ns;
		if (k->k->in_turn || k->k->apart)
			run_lanes(k, &lanes[l], &r[l], 1);
	}
	for (size_t l = 0; k->k->apart && l < n; l++)
		for (size_t i = 0; i < lanes[l].nout; i++)
			lanes[l].out[i].begin = lanes[0].out[i].begin;
	if (!k->k->in_turn && !k->k->apart)
		run_lanes(k, lanes, r, n);
	free(r);
	return 0;
}

static void fake_rest(struct meter *m, double seconds)
{
	to_machine(m)->ns += seconds * 1e9;
}

static double fake_now(struct meter *m)
{
	return to_machine(m)->ns / 1e9;
}

static void fake_close(struct meter *m)
{
	struct machine *k = to_machine(m);

	for (unsigned int l = 0; l < LEVELS; l++)
		free(k->cache[l]);
	free(k->version);
	free(k->writer);
	free(k->ring);
	free(k);
}

static const struct meter_ops fake_ops = {
	.pages = fake_pages,
	.link = fake_link,
	.chase = fake_chase,
	.move = fake_move,
	.together = fake_together,
	.rest = fake_rest,
	.now = fake_now,
	.close = fake_close,
};

static struct meter *open_machine(const struct model *model)
{
	struct machine *k = calloc(1, sizeof(*k));

	ck_assert_ptr_nonnull(k);
	k->k = model;
	k->meter = (struct meter){
		.ops = &fake_ops, .page_size = METER_CHUNK, .max_bytes = 64 << 20,
		.chain_cycles = CHAIN_CYCLES, .tick_ns = 1, .is_guest = model->is_guest,
	};
	sonde_rng_seed(&k->rng, model->seed);
	for (unsigned int i = 0; i < model->busy; i++)
		k->slice_ns[i] = BETWEEN_NS * (double)sonde_rng_below(&k->rng, 1000) / 500;
	for (; k->nlevels < LEVELS && model->bytes[k->nlevels]; k->nlevels++) {
		unsigned int l = k->nlevels;

		k->sets[l] = model->bytes[l] / METER_LINE / WAYS;
		k->cache[l] = calloc(model->ncpus * k->sets[l] * WAYS, sizeof(*k->cache[l]));
		ck_assert_ptr_nonnull(k->cache[l]);
	}
	return &k->meter;
}

static int measure(const struct model *model, int all_pairs, struct sonde_share_report **report)
{
	struct sonde_cache_level levels[LEVELS] = { 0 };
	struct sonde_cache_report caches = { .levels = levels };
	struct meter *m = open_machine(model);
	unsigned int *cpus = calloc(model->ncpus, sizeof(*cpus));
	struct sonde_share_options options = {
		.cpus = cpus, .ncpus = model->ncpus, .caches = &caches,
		.seed = model->seed ? model->seed : 3,
		.all_pairs = all_pairs,
	};
	int err;

	for (unsigned int i = 0; i < model->ncpus; i++)
		cpus[i] = i;
	for (unsigned int l = 0; l < LEVELS && model->bytes[l]; l++) {
		levels[l].level = l + 1;
		/* A last level is often not told: then it is not contended for. */
		if (l + 1 < LEVELS || model->ncpus < 64)
			levels[l].size = model->bytes[l];
		levels[l].size_low = levels[l].size_high = model->bytes[l];
		levels[l].latency.cycles = model->cycles[l];
		caches.nlevels++;
	}
	if (model->seen) {
		struct sonde_cache_level *last = &levels[caches.nlevels - 1];

		last->size = 0;
		last->size_low = last->size_high = model->seen;
		last->latency.cycles *= !model->is_cost_unknown;
	}
	caches.memory.cycles = MEMORY_CYCLES;
	err = probe_share_with(m, &options, report);
	m->ops->close(m);
	free(cpus);
	return err;
}

/* What is said of any two is so; how many groups nothing is said of. */
static unsigned int check_nothing_wrong(const struct model *model,
					const struct sonde_share_report *r)
{
	unsigned int nunknown = 0;

	for (unsigned int l = 0; l < r->nlevels; l++) {
		for (size_t i = 0; i < r->npairs; i++) {
			const struct sonde_share_pair *p = &r->pairs[i];

			if (p->level == l + 1 && p->verdict != SONDE_SHARE_UNKNOWN)
				ck_assert_msg((p->verdict == SONDE_SHARE_YES) ==
					      (model->of(l, p->cpu[0]) == model->of(l, p->cpu[1])),
					      "seed %u, %u busy: level %u of CPUs %u and %u",
					      (unsigned int)model->seed, model->busy, l + 1,
					      p->cpu[0], p->cpu[1]);
		}
		for (size_t i = 0; i < r->levels[l].ngroups; i++)
			nunknown += r->levels[l].groups[i].verdict == SONDE_SHARE_UNKNOWN;
	}
	return nunknown;
}

/* Every pair's nearest common cache is that of the model. */
static void check_truth(const struct model *model, const struct sonde_share_report *r)
{
	for (unsigned int a = 0; a < model->ncpus; a++) {
		for (unsigned int b = a + 1; b < model->ncpus; b++) {
			int nearest = 0;

			for (unsigned int l = 0; l < LEVELS && model->bytes[l] && !nearest; l++)
				if (model->of(l, a) == model->of(l, b))
					nearest = (int)l + 1;
			ck_assert_int_eq(sonde_share_nearest(r, a, b), nearest);
		}
	}
}

/* Measured, and so; to be freed. */
static struct sonde_share_report *measure_truth(const struct model *model, int all_pairs)
{
	struct sonde_share_report *r;

	ck_assert_int_eq(measure(model, all_pairs, &r), 0);
	check_truth(model, r);
	return r;
}

static void expect_truth(const struct model *model)
{
	sonde_share_report_free(measure_truth(model, 0));
}

static unsigned int own_own_one(unsigned int level, unsigned int cpu)
{
	return level < 2 ? cpu : 0;
}

static unsigned int one(unsigned int level, unsigned int cpu)
{
	(void)level;
	(void)cpu;
	return 0;
}

static unsigned int own_one(unsigned int level, unsigned int cpu)
{
	return level ? 0 : cpu;
}

static unsigned int own(unsigned int level, unsigned int cpu)
{
	(void)level;
	return cpu;
}

/* Threads of a core are 32 apart; eight cores have a last level. */
static unsigned int threads_of_64(unsigned int level, unsigned int cpu)
{
	return level < 2 ? cpu % 32 : cpu % 32 / 8;
}

static unsigned int two_lasts(unsigned int level, unsigned int cpu)
{
	return level < 2 ? cpu : cpu / 2;
}

/* Two packages of four cores, two cores a second level, threads of a core 8 apart. */
static unsigned int packages_and_clusters(unsigned int level, unsigned int cpu)
{
	return cpu % 8 >> level;
}

#define SMALL .bytes = { 16 << 10, 128 << 10, 1 << 20 }, .cycles = { 4, 14, 50 }

START_TEST(a_shared_last_level_and_private_ones)
{
	for (int victim = 0; victim < 2; victim++) {
		struct model model = { SMALL, .ncpus = 2, .of = own_own_one, .victim = victim };
		struct sonde_share_report *r;

		r = measure_truth(&model, 0);
		ck_assert_uint_eq(r->nlevels, 3);
		ck_assert_uint_eq(r->levels[2].ngroups, 1);
		ck_assert_str_eq(r->levels[2].groups[0].cpus, "0-1");
		ck_assert_str_eq(r->levels[2].groups[0].cpuset, "0x3");
		ck_assert_int_eq(r->levels[2].groups[0].verdict, SONDE_SHARE_YES);
		ck_assert_uint_eq(r->levels[0].ngroups, 2);
		ck_assert_str_eq(r->levels[0].groups[1].cpus, "1");
		for (unsigned int l = 0; l < 3; l++) {
			ck_assert_double_gt(r->levels[l].groups[0].confidence, 0.9);
			ck_assert_uint_ge(r->levels[l].groups[0].samples, 3);
		}
		sonde_share_report_free(r);
	}
}
END_TEST

START_TEST(a_last_level_of_two_of_four_without_a_third)
{
	struct model model = { .bytes = { 16 << 10, 512 << 10 }, .cycles = { 3, 14 },
			       .ncpus = 4, .of = own_one };

	expect_truth(&model);
}
END_TEST

/* Lines that are changed come from core to core, quicker than from memory. */
START_TEST(lines_sent_from_core_to_core_are_no_shared_cache)
{
	struct model model = { SMALL, .ncpus = 4, .of = own, .forward_cycles = 120 };
	struct sonde_share_report *r;

	ck_assert_int_eq(measure(&model, 0, &r), 0);
	for (unsigned int a = 0; a < 4; a++)
		for (unsigned int b = a + 1; b < 4; b++)
			ck_assert_int_le(sonde_share_nearest(r, a, b), 0);
	ck_assert_int_eq(r->levels[1].groups[0].verdict, SONDE_SHARE_NO);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(sixty_four_CPUs_with_threads_and_four_last_levels)
{
	struct model model = { SMALL, .ncpus = 64, .of = threads_of_64, .victim = 1 };
	struct sonde_share_report *r;

	r = measure_truth(&model, 0);
	ck_assert_uint_eq(r->levels[2].ngroups, 4);
	ck_assert_str_eq(r->levels[2].groups[1].cpus, "8-15,40-47");
	ck_assert_uint_eq(r->levels[0].ngroups, 32);
	printf("# 64 CPUs, 3 levels: %zu pairs of %u, %zu pools\n", r->npairs, 3 * 64 * 63 / 2,
	       r->pooled);
	ck_assert_uint_lt(r->npairs + r->pooled, 3 * 64 * 3);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(every_pair_if_asked_for)
{
	struct model model = { SMALL, .ncpus = 6, .of = own_own_one };
	struct sonde_share_report *r;

	r = measure_truth(&model, 1);
	ck_assert_uint_eq(r->npairs, 3 * 6 * 5 / 2);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(windows_that_were_interrupted_are_left_out_and_counted)
{
	struct model model = { SMALL, .ncpus = 2, .of = own_own_one, .gaps = 9 };
	struct sonde_share_report *r;
	double discarded = 0;

	r = measure_truth(&model, 0);
	for (size_t i = 0; i < r->npairs; i++)
		discarded += r->pairs[i].discarded;
	ck_assert_double_gt(discarded, 0);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(without_proof_of_overlap_there_is_no_contention_and_less_confidence)
{
	struct model model = { SMALL, .ncpus = 2, .of = own_own_one };
	struct sonde_share_report *proven, *unproven;
	int confirmed = 0;

	ck_assert_int_eq(measure(&model, 0, &proven), 0);
	model.in_turn = 1;
	ck_assert_int_eq(measure(&model, 0, &unproven), 0);
	check_truth(&model, unproven);
	for (size_t i = 0; i < unproven->npairs; i++) {
		ck_assert_double_eq(unproven->pairs[i].contention, 0);
		ck_assert_double_le(unproven->pairs[i].confidence, 0.95);
	}
	/* Pages at random may not fit even alone, so not every level has a word. */
	for (size_t i = 0; i < proven->npairs; i++) {
		ck_assert_int_eq(proven->pairs[i].contention > 0,
				 proven->pairs[i].confidence > 0.95);
		confirmed += proven->pairs[i].contention > 0;
	}
	ck_assert_int_gt(confirmed, 0);
	sonde_share_report_free(proven);
	sonde_share_report_free(unproven);
}
END_TEST

START_TEST(where_the_two_methods_disagree_nothing_is_known)
{
	struct model model = { SMALL, .ncpus = 2, .of = own_own_one, .apart = 1 };
	struct sonde_share_report *r;

	ck_assert_int_eq(measure(&model, 0, &r), 0);
	ck_assert_uint_eq(r->levels[2].ngroups, 2);
	for (int g = 0; g < 2; g++) {
		ck_assert_int_eq(r->levels[2].groups[g].verdict, SONDE_SHARE_UNKNOWN);
		ck_assert_double_eq(r->levels[2].groups[g].confidence, 0);
	}
	ck_assert_int_eq(r->levels[1].groups[0].verdict, SONDE_SHARE_NO);
	ck_assert_int_eq(sonde_share_nearest(r, 0, 1), -ENODATA);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(a_level_hardly_larger_than_the_one_before_is_not_judged)
{
	struct model model = { .bytes = { 32 << 10, 64 << 10, 1 << 20 }, .cycles = { 4, 14, 50 },
			       .ncpus = 2, .of = own_own_one };
	struct sonde_share_report *r;

	ck_assert_int_eq(measure(&model, 0, &r), 0);
	ck_assert_int_eq(r->levels[1].groups[0].verdict, SONDE_SHARE_UNKNOWN);
	ck_assert_int_eq(r->levels[2].groups[0].verdict, SONDE_SHARE_YES);
	ck_assert_uint_ge(r->nnotes, 1);
	sonde_share_report_free(r);
}
END_TEST

#define GUEST SMALL, .is_guest = 1, .forward_cycles = 90, .far_cycles = 280, \
	.seen = 1 << 20

START_TEST(a_guest_whose_CPUs_the_host_put_apart_knows_nothing_of_its_last_level)
{
	struct model model = { GUEST, .ncpus = 2, .of = own_own_one, .moved_ns = 1e12 };
	struct sonde_share_report *r;

	ck_assert_int_eq(measure(&model, 0, &r), 0);
	ck_assert_uint_eq(r->nlevels, 3);
	ck_assert_uint_eq(r->levels[2].ngroups, 2);
	ck_assert_int_eq(r->levels[2].groups[0].verdict, SONDE_SHARE_UNKNOWN);
	ck_assert_double_eq(r->levels[2].groups[0].confidence, 0);
	for (unsigned int l = 0; l < 2; l++)
		ck_assert_int_eq(r->levels[l].groups[0].verdict, SONDE_SHARE_NO);
	ck_assert_uint_eq(r->nnotes, 1);
	ck_assert_ptr_nonnull(strstr(r->notes[0], "level 3: no two CPUs shared it"));
	sonde_share_report_free(r);

	/* A host moves nobody who runs on it. */
	model.is_guest = 0;
	ck_assert_int_eq(measure(&model, 0, &r), 0);
	ck_assert_int_eq(r->levels[2].groups[0].verdict, SONDE_SHARE_NO);
	sonde_share_report_free(r);
}
END_TEST

/* Before, in the middle of, and after what is compared. */
START_TEST(a_guest_whose_CPUs_come_nearer_meanwhile_shares_what_they_share_then)
{
	static const double ms[] = { 1, 3, 5, 8, 100, 8000 };

	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		struct model model = { GUEST, .ncpus = 2, .of = own_own_one,
				       .moved_ns = ms[i] * 1e6 };

		expect_truth(&model);
	}
}
END_TEST

START_TEST(every_pair_again_once_CPUs_of_a_guest_have_come_nearer)
{
	struct model model = { GUEST, .ncpus = 4, .of = own_own_one, .moved_ns = 8e9 };
	struct sonde_share_report *r = measure_truth(&model, 1);

	ck_assert_uint_eq(r->npairs, 3 * 4 * 3 / 2);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(a_guest_of_which_some_CPUs_share_a_last_level_tells_who_does_not)
{
	struct model model = { GUEST, .ncpus = 4, .of = two_lasts };

	expect_truth(&model);
}
END_TEST

START_TEST(a_guest_whose_CPUs_are_threads_of_a_core_may_not_be_so_for_long)
{
	struct model model = { GUEST, .ncpus = 2, .of = one };
	struct sonde_share_report *r;

	r = measure_truth(&model, 0);
	ck_assert_str_eq(r->levels[0].groups[0].cpus, "0-1");
	ck_assert_uint_eq(r->nnotes, 1);
	ck_assert_ptr_nonnull(strstr(r->notes[0], "level 1: CPUs 0-1 are threads of one core"));
	sonde_share_report_free(r);

	model.is_guest = 0;
	r = measure_truth(&model, 0);
	ck_assert_uint_eq(r->nnotes, 0);
	sonde_share_report_free(r);
}
END_TEST

/* Before, in the middle of, and after each level is compared. */
START_TEST(a_guest_whose_CPUs_come_apart_meanwhile_has_nearer_levels_of_their_own)
{
	static const double ms[] = { 1, 3, 8, 20, 500 };
	struct sonde_share_report *r;
	unsigned int parted = 0, known = 0;

	for (size_t i = 0; i < sizeof(ms) / sizeof(*ms); i++) {
		struct model model = { GUEST, .ncpus = 2, .of = own_own_one,
				       .together_ns = ms[i] * 1e6 };

		ck_assert_int_eq(measure(&model, 0, &r), 0);
		for (unsigned int l = 0; l < 2; l++) {
			const struct sonde_share_group *g = &r->levels[l].groups[0];

			ck_assert_int_ne(g->verdict, SONDE_SHARE_YES);
			known += g->verdict == SONDE_SHARE_NO;
			parted += g->verdict == SONDE_SHARE_NO && g->confidence <= 0.6;
		}
		sonde_share_report_free(r);
	}
	ck_assert_uint_gt(known, sizeof(ms) / sizeof(*ms));
	ck_assert_uint_gt(parted, 0);
}
END_TEST

START_TEST(what_overflows_a_level_of_unknown_size_is_no_further_level)
{
	struct model model = { SMALL, .ncpus = 2, .of = own_own_one, .seen = 320 << 10 };
	struct sonde_share_report *r;

	/* Memory far enough behind the last level that another one may be between. */
	model.cycles[2] = 30;
	r = measure_truth(&model, 0);
	ck_assert_uint_eq(r->nlevels, 3);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(a_last_level_of_unknown_cost_is_measured_and_those_before_it_are_judged)
{
	struct model model = { SMALL, .ncpus = 2, .of = own_own_one, .seen = 384 << 10,
			       .is_cost_unknown = 1 };
	struct sonde_share_report *r;

	r = measure_truth(&model, 0);
	ck_assert_uint_eq(r->nlevels, 3);
	ck_assert_uint_eq(r->nnotes, 1);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(others_who_use_the_CPUs_make_less_known_and_nothing_wrong)
{
	unsigned int nunknown = 0;

	for (uint64_t seed = 1; seed <= BUSY_SEEDS; seed++) {
		struct model model = { SMALL, .ncpus = 2, .of = seed % 3 ? own_own_one : own,
				       .busy = 1 + seed % 2, .seed = seed, .forward_cycles = 90,
				       .far_cycles = 280, .seen = seed % 5 < 2 ? 1 << 20 : 0 };
		struct sonde_share_report *r;

		ck_assert_int_eq(measure(&model, 0, &r), 0);
		nunknown += check_nothing_wrong(&model, r);
		sonde_share_report_free(r);
	}
	printf("# %u machines of 2 CPUs, busy: %u of %u groups not told\n", BUSY_SEEDS, nunknown,
	       BUSY_SEEDS * 6);
	ck_assert_uint_lt(nunknown, BUSY_SEEDS * 5);
}
END_TEST

START_TEST(two_packages_with_clusters_and_threads_for_any_seed)
{
	for (uint64_t seed = 1; seed <= PACKAGE_SEEDS; seed++) {
		struct model model = { SMALL, .ncpus = 16, .of = packages_and_clusters,
				       .victim = seed % 2, .is_guest = seed > 1, .seed = seed,
				       .forward_cycles = 90, .far_cycles = 280 };
		struct sonde_share_report *r;

		ck_assert_int_eq(measure(&model, 0, &r), 0);
		ck_assert_uint_eq(check_nothing_wrong(&model, r), 0);
		check_truth(&model, r);
		sonde_share_report_free(r);
	}
}
END_TEST

static int cancel(void *ctx, double done, const char *what)
{
	int *left = ctx;

	ck_assert(done >= 0 && done <= 1);
	ck_assert_ptr_nonnull(what);
	return --*left < 0;
}

START_TEST(stops_when_told_to)
{
	struct model model = { SMALL, .ncpus = 3, .of = own_own_one };
	struct sonde_cache_level level = { .level = 1, .size = 16 << 10, .latency.cycles = 4 };
	struct sonde_cache_report caches = { .levels = &level, .nlevels = 1,
					     .memory.cycles = MEMORY_CYCLES };
	const unsigned int cpus[3] = { 0, 1, 2 };
	struct sonde_share_report *r = NULL;
	int left;
	struct sonde_share_options options = {
		.cpus = cpus, .ncpus = 3, .caches = &caches, .progress = cancel,
		.progress_ctx = &left,
	};

	for (int after = 0; after < 12; after++) {
		struct meter *m = open_machine(&model);

		left = after;
		ck_assert_int_eq(probe_share_with(m, &options, &r), -ECANCELED);
		ck_assert_ptr_null(r);
		m->ops->close(m);
	}
}
END_TEST

START_TEST(refuses_what_cannot_be_compared)
{
	struct model model = { SMALL, .ncpus = 2, .of = own_own_one };
	struct sonde_cache_report caches = { .memory.cycles = MEMORY_CYCLES };
	const unsigned int one[1] = { 0 }, twice[2] = { 1, 1 }, far[2] = { 0, 9 };
	struct sonde_cache_level level = { .level = 1, .size = 16 << 10, .latency.cycles = 4 };
	struct sonde_share_report *r = NULL;
	struct meter *m = open_machine(&model);
	struct sonde_share_options options = { .cpus = one, .ncpus = 1, .caches = &caches };

	ck_assert_int_eq(probe_share_with(m, &options, &r), -ENODATA);
	options.cpus = twice;
	options.ncpus = 2;
	ck_assert_int_eq(probe_share_with(m, &options, &r), -EINVAL);
	caches.levels = &level;
	caches.nlevels = 1;
	options.cpus = far;
	ck_assert_int_eq(probe_share_with(m, &options, &r), -EPERM);
	ck_assert_ptr_null(r);
	m->ops->close(m);
	sonde_share_report_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("share");
	TCase *quick = tcase_create("quick"), *tc = tcase_create("pairs");
	TCase *guest = tcase_create("guest"), *many = tcase_create("many");

	tcase_set_timeout(quick, 120);
	tcase_set_timeout(tc, 120);
	tcase_set_timeout(guest, 120);
	tcase_set_timeout(many, 300);
	tcase_add_test(tc, a_shared_last_level_and_private_ones);
	tcase_add_test(tc, a_last_level_of_two_of_four_without_a_third);
	tcase_add_test(tc, lines_sent_from_core_to_core_are_no_shared_cache);
	tcase_add_test(tc, windows_that_were_interrupted_are_left_out_and_counted);
	tcase_add_test(tc, without_proof_of_overlap_there_is_no_contention_and_less_confidence);
	tcase_add_test(tc, where_the_two_methods_disagree_nothing_is_known);
	tcase_add_test(tc, a_level_hardly_larger_than_the_one_before_is_not_judged);
	tcase_add_test(guest, a_guest_whose_CPUs_the_host_put_apart_knows_nothing_of_its_last_level);
	tcase_add_test(guest,
		       a_guest_whose_CPUs_come_apart_meanwhile_has_nearer_levels_of_their_own);
	tcase_add_test(guest, a_guest_whose_CPUs_come_nearer_meanwhile_shares_what_they_share_then);
	tcase_add_test(guest, every_pair_again_once_CPUs_of_a_guest_have_come_nearer);
	tcase_add_test(guest, a_guest_of_which_some_CPUs_share_a_last_level_tells_who_does_not);
	tcase_add_test(guest, a_guest_whose_CPUs_are_threads_of_a_core_may_not_be_so_for_long);
	tcase_add_test(guest, what_overflows_a_level_of_unknown_size_is_no_further_level);
	tcase_add_test(guest, a_last_level_of_unknown_cost_is_measured_and_those_before_it_are_judged);
	tcase_add_test(many, others_who_use_the_CPUs_make_less_known_and_nothing_wrong);
	tcase_add_test(many, two_packages_with_clusters_and_threads_for_any_seed);
	tcase_add_test(quick, stops_when_told_to);
	tcase_add_test(quick, refuses_what_cannot_be_compared);
	tcase_add_test(tc, every_pair_if_asked_for);
	tcase_add_test(many, sixty_four_CPUs_with_threads_and_four_last_levels);
	suite_add_tcase(suite, quick);
	suite_add_tcase(suite, tc);
	suite_add_tcase(suite, guest);
	suite_add_tcase(suite, many);
	return tap_run(suite);
}
