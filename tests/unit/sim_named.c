// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who shares which cache on the machines of Servet's paper (figure 7).
 */
#include <stdlib.h>
#include <string.h>

#include "../../lib/probe/share.h"
#include "../sim/named.h"
#include "tap.h"

/* SIM_SEEDS=5 does more of them than there is time for in `make check`. */
#define SEEDS	1

/* Caches of an eighth: who shares them is the same, and an eighth of the loads. */
#define SCALE	8
#define MEMORY	((size_t)8 << 20)

static struct sonde_share_report *probe(const struct machine_model *named, uint64_t seed,
					const unsigned int *cpus, size_t ncpus)
{
	struct machine_model small = *named;
	const struct machine_model *model = &small;
	struct sonde_cache_level levels[MACHINE_LEVELS] = { { .level = 0 } };
	struct sonde_cache_report caches = { .levels = levels };
	struct sonde_share_options options = { .caches = &caches, .max_bytes = MEMORY, .seed = seed };
	struct sonde_share_report *report = NULL;
	struct meter *m;

	for (size_t i = 0; i < MACHINE_LEVELS; i++)
		small.cache[i].bytes /= SCALE;
	for (; caches.nlevels < MACHINE_LEVELS && model->cache[caches.nlevels].bytes;
	     caches.nlevels++) {
		struct sonde_cache_level *level = &levels[caches.nlevels];

		level->level = (unsigned int)caches.nlevels + 1;
		level->size = level->size_low = level->size_high =
			model->cache[caches.nlevels].bytes;
		level->latency.cycles = model->cache[caches.nlevels].cycles;
		level->confidence = 1;
	}
	caches.memory.cycles = model->memory_cycles;
	options.cpus = cpus;
	options.ncpus = ncpus;
	ck_assert_int_eq(machine_open(&m, model, seed), 0);
	ck_assert_int_eq(probe_share_with(m, &options, &report), 0);
	m->ops->close(m);
	return report;
}

static void check_level(const struct sonde_share_report *r, size_t i, const char *const *groups,
			size_t n)
{
	const struct sonde_share_level *level = &r->levels[i];

	ck_assert_uint_eq(level->ngroups, n);
	for (size_t g = 0; g < n; g++) {
		ck_assert_str_eq(level->groups[g].cpus, groups[g]);
		ck_assert_int_eq(level->groups[g].verdict, level->groups[g].ncpus > 1
				 ? SONDE_SHARE_YES : SONDE_SHARE_NO);
	}
}

START_TEST(on_dunnington_0_shares_l2_with_12_and_l3_with_its_processor)
{
	static const char *const pairs[] = {
		"0,12", "1,13", "2,14", "3,15", "4,16", "5,17",
		"6,18", "7,19", "8,20", "9,21", "10,22", "11,23",
	};
	static const char *const processors[] = { "0-2,12-14", "3-5,15-17", "6-8,18-20", "9-11,21-23" };
	static const unsigned int cpus[] = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
		22, 23,
	};
	struct sonde_share_report *r = probe(&machine_dunnington, (uint64_t)_i, cpus, 24);

	ck_assert_uint_eq(r->nlevels, 3);
	ck_assert_uint_eq(r->levels[0].ngroups, 24);
	check_level(r, 1, pairs, 12);
	check_level(r, 2, processors, 4);
	sonde_share_report_free(r);
}
END_TEST

START_TEST(on_finis_terrae_every_cache_is_private)
{
	/* The other core of its processor, of its bus, of its cell, and of the other. */
	static const unsigned int cpus[] = { 0, 1, 2, 4, 8 };
	struct sonde_share_report *r = probe(&machine_finis_terrae, (uint64_t)_i, cpus, 5);

	ck_assert_uint_eq(r->nlevels, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(r->levels[i].ngroups, 5);
		for (size_t g = 0; g < 5; g++)
			ck_assert_int_eq(r->levels[i].groups[g].verdict, SONDE_SHARE_NO);
	}
	sonde_share_report_free(r);
}
END_TEST

int main(void)
{
	const char *wanted = getenv("SIM_SEEDS");
	int seeds = wanted ? atoi(wanted) : SEEDS;
	Suite *s = suite_create("sim_named");
	TCase *c = tcase_create("Servet, figure 7");

	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, on_dunnington_0_shares_l2_with_12_and_l3_with_its_processor, 1,
			    seeds + 1);
	tcase_add_loop_test(c, on_finis_terrae_every_cache_is_private, 1, seeds + 1);
	suite_add_tcase(s, c);
	return tap_run(s);
}
