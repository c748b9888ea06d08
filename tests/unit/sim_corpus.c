// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of caches, the machines made of them, and verdicts on what is found. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../sim/plausible.h"
#include "../sim/verdict.h"
#include "tap.h"

#define HEADER "machine\tlevel\tsize_bytes\tways\tline_bytes\tsets\tshared_by_threads\n"
#define TABLE "tests/recordings/machines-dev.tsv"

static const struct {
	const char *path;
	size_t machines, caches;
} tables[] = {
	{ TABLE, 101, 273 },
	{ "tests/recordings/machines-more.tsv", 115, 300 },
};

static struct corpus_machine *machines;
static size_t nmachines;
static char error[512];

static int read_text(const char *text)
{
	char path[] = "/tmp/sonde-corpus-XXXXXX";
	int fd = mkstemp(path), err;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	machines = NULL;
	err = corpus_read(path, &machines, &nmachines, error, sizeof(error));
	unlink(path);
	return err;
}

START_TEST(reads_machines_with_their_levels)
{
	ck_assert_int_eq(read_text("# a comment\n" HEADER
				   "b\t2\t262144\t8\t64\t512\t2\r\n"
				   "b\t1\t32768\t8\t64\t64\t0\n"
				   "\n"
				   "a\t1\t8192\t4\t32\t64\t1\n"), 0);
	ck_assert_uint_eq(nmachines, 2);
	ck_assert_str_eq(machines[0].name, "b");
	ck_assert_uint_eq(machines[0].usable, 2);
	ck_assert_uint_eq(machines[0].cache[0].bytes, 32768);
	ck_assert_uint_eq(machines[0].cache[1].ways, 8);
	ck_assert_uint_eq(machines[1].cache[0].line, 32);
	free(machines);
}
END_TEST

START_TEST(leaves_out_what_cannot_be_and_what_is_behind_it)
{
	ck_assert_int_eq(read_text(HEADER
				   "a\t1\t32768\t8\t64\t64\t1\n"
				   "a\t2\t262144\t8\t64\t511\t1\n"
				   "a\t3\t8388608\t16\t64\t8192\t1\n"
				   "b\t1\t32768\t0\t64\t64\t1\n"
				   "c\t2\t262144\t8\t64\t512\t1\n"
				   "d\t1\t32768\t-1\t64\t1\t1\n"), 0);
	ck_assert_uint_eq(machines[0].usable, 1);
	ck_assert_str_ne(machines[0].cache[1].why, "");
	ck_assert_str_ne(machines[0].cache[2].why, "");
	for (int i = 1; i < 4; i++) {
		ck_assert_uint_eq(machines[i].usable, 0);
		ck_assert_str_ne(machines[i].cache[0].why, "");
	}
	free(machines);
}
END_TEST

START_TEST(names_the_line_that_is_wrong)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", ":0: no machines" },
		{ HEADER, ":1: no machines" },
		{ "machine\tlevel\n", ":1: not 7 fields" },
		{ "#\nmachine\tlevel\tsize\tways\tline_bytes\tsets\tshared_by_threads\n",
		  ":2: column 3 is 'size'" },
		{ HEADER "a\t1\t32768\t8\t64\t64\n", ":2: not 7 fields" },
		{ HEADER "a\t1\t32768\t8\t64\t64\t1\t2\n", ":2: not 7 fields" },
		{ HEADER "a\t1\t32768\t8x\t64\t64\t1\n", ":2: ways is '8x'" },
		{ HEADER "a\t1\t99999999999999999999\t8\t64\t64\t1\n", ":2: size_bytes is" },
		{ HEADER "a\t1\t32768\t8\t64\t64\t1\na\t5\t1\t1\t1\t1\t1\n", ":3: level is 5" },
		{ HEADER "a\t1\t32768\t8\t64\t64\t1\na\t1\t32768\t8\t64\t64\t1\n",
		  ":3: a has a second level 1" },
		{ HEADER "\t1\t32768\t8\t64\t64\t1\n", ":2: the machine's name" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(read_text(bad[i].text), -EINVAL);
		ck_assert_msg(strstr(error, bad[i].says) != NULL, "'%s' does not say '%s'", error,
			      bad[i].says);
		ck_assert_ptr_null(strchr(error, '\n'));
	}
	ck_assert_int_eq(corpus_read("/nonexistent/x", &machines, &nmachines, error,
				     sizeof(error)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(error, "No such file"));
}
END_TEST

/* Every machine of the table, of some seeds, in both profiles. */
START_TEST(every_recorded_machine_can_be_simulated_in_any_profile_with_any_seed)
{
	struct machine_model m, again;
	struct meter *meter;
	size_t caches = 0;

	ck_assert_int_eq(corpus_read(tables[_i].path, &machines, &nmachines, error, sizeof(error)),
			 0);
	ck_assert_uint_eq(nmachines, tables[_i].machines);
	for (size_t i = 0; i < nmachines; i++) {
		caches += machines[i].n;
		ck_assert_uint_eq(machines[i].usable, machines[i].n);
		for (uint64_t seed = 1; seed <= 20; seed++) {
			enum profile profile = seed % 2 ? PROFILE_LAB : PROFILE_CLOUD;

			plausible_model(&machines[i], profile, seed, &m);
			plausible_model(&machines[i], profile, seed, &again);
			ck_assert_mem_eq(&m, &again, sizeof(m));
			ck_assert_int_eq(machine_open(&meter, &m, seed), 0);
			ck_assert_int_eq(meter->ops->pages(meter, 16), 0);
			meter->ops->close(meter);
		}
	}
	ck_assert_uint_eq(caches, tables[_i].caches);
	free(machines);
}
END_TEST

static void look_at_level(const struct machine_model *m, unsigned int i, unsigned int *policies,
			  unsigned int *inclusions, unsigned int *indexes)
{
	const struct machine_cache *c = &m->cache[i];

	*policies |= 1U << c->policy;
	*inclusions |= 1U << c->inclusion;
	*indexes |= 1U << c->index;
	if (i)
		ck_assert_double_gt(c->cycles, m->cache[i - 1].cycles);
	ck_assert_double_gt(m->memory_cycles, c->cycles);
}

START_TEST(seeds_choose_every_policy_inclusion_and_index)
{
	unsigned int policies = 0, inclusions = 0, indexes = 0, prefetch = 0;
	struct machine_model m;

	ck_assert_int_eq(corpus_read(TABLE, &machines, &nmachines, error, sizeof(error)), 0);
	for (size_t i = 0; i < nmachines; i++) {
		for (uint64_t seed = 1; seed <= 5; seed++) {
			plausible_model(&machines[i], PROFILE_LAB, seed, &m);
			prefetch |= m.prefetch;
			for (unsigned int j = 0; j < machines[i].n; j++)
				look_at_level(&m, j, &policies, &inclusions, &indexes);
		}
	}
	ck_assert_uint_eq(policies, (1U << MACHINE_POLICIES) - 1);
	ck_assert_uint_eq(inclusions, 7);
	ck_assert_uint_eq(indexes, 7);
	ck_assert_uint_eq(prefetch, PREFETCH_ALL);
	free(machines);
}
END_TEST

START_TEST(only_the_cloud_disturbs)
{
	struct corpus_machine c = {
		.name = "x", .n = 2, .usable = 2,
		.cache = { { 1, 32768, 8, 64, 64, 1, "" }, { 2, 1 << 20, 16, 64, 1024, 2, "" } },
	};
	static const struct machine_noise none;
	struct machine_model m;

	plausible_model(&c, PROFILE_LAB, 1, &m);
	ck_assert_mem_eq(&m.noise, &none, sizeof(none));
	ck_assert_int_eq(m.frames, FRAMES_TRUE);
	ck_assert(!plausible_is_disturbed(&m, 1));
	plausible_model(&c, PROFILE_CLOUD, 1, &m);
	ck_assert_double_eq(m.noise.gaps, 460);
	ck_assert_uint_eq(m.tick_step, 26);
	ck_assert_int_eq(m.frames, FRAMES_GUEST);
	ck_assert(plausible_is_disturbed(&m, 1) && !plausible_is_disturbed(&m, 0));
	/* A second level of one thread is its own. */
	c.cache[1].shared = 1;
	plausible_model(&c, PROFILE_CLOUD, 1, &m);
	ck_assert(!plausible_is_disturbed(&m, 1));
}
END_TEST

START_TEST(verdicts_are_as_the_help_says)
{
	static const struct corpus_cache truth = { .bytes = 1000, .ways = 4, .line = 64 };
	static const struct {
		struct found found;
		enum verdict all, size;
	} want[] = {
		{ { 1000, 4, 64, 0.99, 0 }, VERDICT_RIGHT, VERDICT_RIGHT },
		{ { 1000, 4, 64, 0.1, 0 }, VERDICT_RIGHT, VERDICT_RIGHT },
		{ { 1000, 0, 64, 0.99, 0 }, VERDICT_UNKNOWN, VERDICT_RIGHT },
		{ { 1000, 4, 0, 0.99, 0 }, VERDICT_UNKNOWN, VERDICT_RIGHT },
		{ { 0, 4, 64, 0.99, 0 }, VERDICT_UNKNOWN, VERDICT_UNKNOWN },
		{ { 0, 0, 0, 0.99, 0 }, VERDICT_UNKNOWN, VERDICT_UNKNOWN },
		{ { 0, 5, 64, 0.99, 0 }, VERDICT_CONFIDENTLY_WRONG, VERDICT_UNKNOWN },
		{ { 1000, 5, 64, 0.95, 0 }, VERDICT_CONFIDENTLY_WRONG, VERDICT_RIGHT },
		{ { 1000, 5, 64, 0.94, 0 }, VERDICT_WRONG, VERDICT_RIGHT },
		{ { 1000, 4, 32, 0.95, 0 }, VERDICT_CONFIDENTLY_WRONG, VERDICT_RIGHT },
		{ { 1001, 0, 0, 0.5, 0 }, VERDICT_WRONG, VERDICT_WRONG },
		{ { 0, 4, 64, 0.5, 1000 }, VERDICT_UNKNOWN, VERDICT_UNKNOWN },
		{ { 0, 4, 64, 0.5, 1001 }, VERDICT_WRONG, VERDICT_WRONG },
		{ { 999, 4, 64, 1, 0 }, VERDICT_CONFIDENTLY_WRONG, VERDICT_CONFIDENTLY_WRONG },
	};

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		ck_assert_int_eq(verdict_of(&truth, &want[i].found, SCOPE_ALL), want[i].all);
		ck_assert_int_eq(verdict_of(&truth, &want[i].found, SCOPE_SIZE), want[i].size);
	}
	ck_assert_int_eq(verdict_of(&truth, NULL, SCOPE_ALL), VERDICT_UNKNOWN);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim_corpus");
	TCase *tc = tcase_create("corpus");

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, reads_machines_with_their_levels);
	tcase_add_test(tc, leaves_out_what_cannot_be_and_what_is_behind_it);
	tcase_add_test(tc, names_the_line_that_is_wrong);
	tcase_add_loop_test(tc, every_recorded_machine_can_be_simulated_in_any_profile_with_any_seed,
			    0, (int)(sizeof(tables) / sizeof(*tables)));
	tcase_add_test(tc, seeds_choose_every_policy_inclusion_and_index);
	tcase_add_test(tc, only_the_cloud_disturbs);
	tcase_add_test(tc, verdicts_are_as_the_help_says);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
