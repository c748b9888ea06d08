// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profile document: what is written is what is read, what is not of the
 * schema is refused, and a file is there as a whole or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <jansson.h>
#include <sonde/log.h>
#include <sonde/profile.h>
#include "../../lib/claims.h"
#include "../../lib/topology.h"
#include "tap.h"

static char dir[64];
static char path[128];
static char logged[512];

static void keep_line(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(logged, sizeof(logged), "%s", line);
}

static void set_up(void)
{
	strcpy(dir, "/tmp/sonde-profile-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/profile.json", dir);
	*logged = '\0';
	sonde_set_log(keep_line, NULL);
}

static int count_files(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void tear_down(void)
{
	sonde_set_log(NULL, NULL);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static char *dump(const struct sonde_profile *profile)
{
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(sonde_profile_dump(profile, out), 0);
	fclose(out);
	return text;
}

static double misses[] = { 0, -0.01, 0.25, 2.5 };
static struct sonde_cache_sweep sweeps[] = { { 1088, 2, 3, misses } };
static double reached[] = { 1e6, 2e6 }, costs[] = { 40, NAN };

static struct sonde_cache_level levels[] = {
	{ .level = 1, .type = SONDE_CACHE_DATA, .size = 49152, .size_low = 49152,
	  .size_high = 49152, .latency = { 1.0 / 3, 5.0123456789, { 5, 5.1 } },
	  .confidence = 0.99, .ways = 12, .line = 64, .method = SONDE_METHOD_STRIDES },
	{ .level = 2, .type = SONDE_CACHE_UNIFIED, .size = 2000000, .size_low = 1900000,
	  .size_high = 2100000, .latency = { 4.44, 16, { 15.9, 16.1 } }, .confidence = 0.9,
	  .sets = 2048, .colours = 32, .softness = 0.8, .holding = SONDE_HOLDING_OTHER,
	  .method = SONDE_METHOD_CONFLICTS, .samples = 5000, .discarded = 0.125,
	  .sweeps = sweeps, .nsweeps = 1 },
	{ .level = 3, .type = SONDE_CACHE_UNIFIED, .size_low = 13000000,
	  .latency = { 29, 105, { NAN, NAN } }, .confidence = 0.5,
	  .holding = SONDE_HOLDING_ALSO, .method = SONDE_METHOD_SAMPLING,
	  .reach = { 2, reached, costs } },
};

static struct sonde_cache_claim claims[] = {
	{ .level = 1, .type = SONDE_CACHE_DATA, .size = 49152, .ways = 12, .line = 64,
	  .cpus = "0" },
	{ .level = 2, .type = SONDE_CACHE_UNIFIED, .size = 4 << 20, .ways = 16, .line = 64,
	  .cpus = "0" },
	{ .level = 3, .type = SONDE_CACHE_UNIFIED, .size = 32 << 20, .ways = -1 },
	{ .level = 4, .type = SONDE_CACHE_UNIFIED, .size = 1 << 30, .cpus = "0-1" },
};

/* Of other sources: one right, one wrong, one of a level whose size is not known. */
static struct sonde_cache_claim others[] = {
	{ .source = SONDE_CLAIM_SYSFS, .level = 1, .type = SONDE_CACHE_DATA, .size = 49152,
	  .ways = 12, .line = 64, .sets = 64, .threads = 2, .cpus = "0-1" },
	{ .source = SONDE_CLAIM_CPUID_80000006, .level = 2, .type = SONDE_CACHE_UNIFIED,
	  .size = 1 << 20 },
	{ .source = SONDE_CLAIM_CPUID_80000006, .level = 3, .type = SONDE_CACHE_UNIFIED,
	  .size = 384 << 20, .ways = -1, .line = 64 },
};

static char no_such_leaf[] = "no such leaf";
static const struct sonde_claims all_claims = {
	.claim = others, .n = 3, .why = { [SONDE_CLAIM_CPUID_2] = no_such_leaf },
};

static struct sonde_cache_point points[] = {
	{ 4096, { 1.39, 5, { 4.9, 5.1 } }, 95, 0.01 },
	{ 1 << 20, { 4.4, 16, { 15.9, 16.1 } }, 95, 0 },
};

static struct sonde_tlb_step steps[] = { { 96, 7.1 } };
static char note[] = "a \"note\" <&>";
static char *notes[] = { note };

static const struct sonde_cache_report report = {
	.cpu = 1, .core_hz = 3.6e9, .levels = levels, .nlevels = 3,
	.memory = { 109, 392, { 390, 394 } }, .tlb = steps, .ntlb = 1,
	.points = points, .npoints = 2, .elapsed_s = 8.27, .notes = notes, .nnotes = 1,
};

static const struct sonde_clock_info clock_info = {
	.source = SONDE_CLOCK_COUNTER, .name = "tsc", .hz = 2.3e9, .hz_low = 2.2999e9,
	.hz_high = 2.3001e9, .overhead_ticks = 42, .step_ticks = 2,
};

static struct sonde_profile *make_profile(void)
{
	struct sonde_profile *profile;
	struct sonde_topology *topo;

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	ck_assert_int_eq(sonde_profile_set_machine(profile, topo), 0);
	sonde_topology_close(topo);
	ck_assert_int_eq(sonde_profile_set_clock(profile, &clock_info), 0);
	ck_assert_int_eq(sonde_profile_set_backend(profile, "frames", "none", "why not"), 0);
	ck_assert_int_eq(sonde_profile_set_backend(profile, "meter", "user space", NULL), 0);
	ck_assert_int_eq(sonde_profile_set_caches(profile, &report, claims, 4), 0);
	ck_assert_int_eq(sonde_profile_set_claims(profile, &all_claims, &report), 0);
	return profile;
}

START_TEST(reads_back_what_it_wrote)
{
	struct sonde_profile *written = make_profile(), *read;
	char *before = dump(written), *after;

	ck_assert_int_eq(sonde_profile_save(written, path), 0);
	ck_assert_int_eq(sonde_profile_load(&read, path), 0);
	after = dump(read);
	ck_assert_str_eq(before, after);
	free(before);
	free(after);
	sonde_profile_free(written);
	sonde_profile_free(read);
}
END_TEST

START_TEST(an_empty_profile_reads_back_too)
{
	struct sonde_profile *profile, *read;

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_profile_save(profile, path), 0);
	ck_assert_int_eq(sonde_profile_load(&read, path), 0);
	sonde_profile_free(profile);
	sonde_profile_free(read);
}
END_TEST

START_TEST(gives_back_a_level_as_measured)
{
	struct sonde_profile *profile = make_profile();
	struct sonde_cache_level cache;

	ck_assert_int_eq(sonde_profile_cache(profile, 1, &cache), 0);
	ck_assert_uint_eq(cache.size, 49152);
	ck_assert_int_eq(cache.type, SONDE_CACHE_DATA);
	ck_assert_uint_eq(cache.ways, 12);
	ck_assert_uint_eq(cache.line, 64);
	ck_assert_double_eq_tol(cache.latency.cycles, 5.01235, 1e-9);
	ck_assert_double_eq_tol(cache.latency.cycles_ci.high, 5.1, 1e-9);
	ck_assert_int_eq(sonde_profile_cache(profile, 3, &cache), 0);
	ck_assert_int_eq(cache.type, SONDE_CACHE_UNIFIED);
	ck_assert_uint_eq(cache.size, 0);
	ck_assert_uint_eq(cache.size_low, 13000000);
	ck_assert_uint_eq(cache.size_high, 0);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(gives_back_how_a_level_was_found_and_what_of_its_sets)
{
	struct sonde_profile *profile = make_profile();
	struct sonde_cache_level cache;

	ck_assert_int_eq(sonde_profile_cache(profile, 2, &cache), 0);
	ck_assert_uint_eq(cache.sets, 2048);
	ck_assert_uint_eq(cache.colours, 32);
	ck_assert_double_eq(cache.softness, 0.8);
	ck_assert_int_eq(cache.holding, SONDE_HOLDING_OTHER);
	ck_assert_int_eq(cache.method, SONDE_METHOD_CONFLICTS);
	ck_assert_uint_eq(cache.samples, 5000);
	ck_assert_double_eq(cache.discarded, 0.125);
	ck_assert_ptr_null(cache.sweeps);
	ck_assert_uint_eq(cache.nsweeps, 0);
	ck_assert_int_eq(sonde_profile_cache(profile, 1, &cache), 0);
	ck_assert_int_eq(cache.holding, SONDE_HOLDING_UNKNOWN);
	ck_assert_int_eq(cache.method, SONDE_METHOD_STRIDES);
	ck_assert_uint_eq(cache.colours, 0);
	ck_assert_int_eq(sonde_profile_cache(profile, 3, &cache), 0);
	ck_assert_int_eq(cache.holding, SONDE_HOLDING_ALSO);
	ck_assert_int_eq(cache.method, SONDE_METHOD_SAMPLING);
	ck_assert_uint_eq(cache.reach.n, 0);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(knows_no_level_that_was_only_claimed)
{
	struct sonde_profile *profile = make_profile();
	struct sonde_cache_level cache = { .level = 77 };

	ck_assert_int_eq(sonde_profile_cache(profile, 4, &cache), -ENOENT);
	ck_assert_uint_eq(cache.level, 77);
	sonde_profile_free(profile);
}
END_TEST

static json_t *parse(const struct sonde_profile *profile)
{
	char *text = dump(profile);
	json_t *root = json_loads(text, 0, NULL);

	ck_assert_ptr_nonnull(root);
	free(text);
	return root;
}

START_TEST(sets_claims_beside_measurements_never_among_them)
{
	struct sonde_profile *profile = make_profile();
	json_t *root = parse(profile);
	const json_t *caches = json_object_get(root, "caches");
	const json_t *only = json_object_get(root, "claimed_only");
	const json_t *claim = json_object_get(json_array_get(caches, 1), "claimed");

	ck_assert_uint_eq(json_array_size(caches), 3);
	ck_assert(json_is_false(json_object_get(claim, "agrees")));
	ck_assert_int_eq(json_integer_value(json_object_get(claim, "size")), 4 << 20);
	claim = json_object_get(json_array_get(caches, 0), "claimed");
	ck_assert(json_is_true(json_object_get(claim, "agrees")));
	claim = json_object_get(json_array_get(caches, 2), "claimed");
	ck_assert(json_is_null(json_object_get(claim, "agrees")));
	ck_assert_uint_eq(json_array_size(only), 1);
	ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(only, 0), "level")), 4);
	json_decref(root);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(carries_every_claim_with_its_source_and_why_others_are_silent)
{
	struct sonde_profile *profile = make_profile();
	json_t *root = parse(profile);
	const json_t *list = json_object_get(root, "claims"), *claim = json_array_get(list, 0);
	const json_t *sources = json_object_get(root, "claim_sources");

	ck_assert_uint_eq(json_array_size(list), 3);
	ck_assert_str_eq(json_string_value(json_object_get(claim, "source")), "sysfs");
	ck_assert(json_is_true(json_object_get(claim, "agrees")));
	ck_assert_int_eq(json_integer_value(json_object_get(claim, "sets")), 64);
	ck_assert_int_eq(json_integer_value(json_object_get(claim, "threads")), 2);
	claim = json_array_get(list, 1);
	ck_assert(json_is_false(json_object_get(claim, "agrees")));
	ck_assert(json_is_null(json_object_get(claim, "ways")));
	ck_assert(json_is_null(json_object_get(claim, "cpus")));
	claim = json_array_get(list, 2);
	ck_assert(json_is_null(json_object_get(claim, "agrees")));
	ck_assert_int_eq(json_integer_value(json_object_get(claim, "ways")), -1);
	ck_assert_uint_eq(json_array_size(sources), SONDE_CLAIM_SOURCES);
	claim = json_array_get(sources, SONDE_CLAIM_CPUID_2);
	ck_assert_str_eq(json_string_value(json_object_get(claim, "why")), "no such leaf");
	ck_assert(json_is_null(json_object_get(json_array_get(sources, 0), "why")));
	json_decref(root);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(carries_the_sweeps_and_the_capacity_curve)
{
	struct sonde_profile *profile = make_profile();
	json_t *root = parse(profile);
	const json_t *caches = json_object_get(root, "caches"), *list, *item;

	list = json_object_get(json_array_get(caches, 1), "sweeps");
	ck_assert_uint_eq(json_array_size(list), 1);
	item = json_array_get(list, 0);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "offset")), 1088);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "ways")), 2);
	list = json_object_get(item, "misses");
	ck_assert_uint_eq(json_array_size(list), 3);
	ck_assert(json_is_null(json_array_get(list, 0)));
	ck_assert_double_eq(json_number_value(json_array_get(list, 2)), 2.5);
	list = json_object_get(json_array_get(caches, 2), "capacity_curve");
	ck_assert_uint_eq(json_array_size(list), 2);
	item = json_array_get(list, 0);
	ck_assert_int_eq(json_integer_value(json_object_get(item, "bytes")), 1000000);
	ck_assert_double_eq(json_number_value(json_object_get(item, "cycles")), 40);
	ck_assert(json_is_null(json_object_get(json_array_get(list, 1), "cycles")));
	ck_assert_uint_eq(json_array_size(json_object_get(json_array_get(caches, 0), "sweeps")), 0);
	json_decref(root);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(writes_null_for_what_was_not_measured)
{
	struct sonde_profile *profile = make_profile();
	json_t *root = parse(profile);
	const json_t *level = json_array_get(json_object_get(root, "caches"), 2);

	ck_assert(json_is_null(json_object_get(level, "size")));
	ck_assert(json_is_null(json_object_get(level, "size_high")));
	ck_assert(json_is_null(json_object_get(level, "ways")));
	ck_assert(json_is_null(json_object_get(level, "sets")));
	ck_assert(json_is_null(json_object_get(level, "softness")));
	ck_assert(json_is_null(json_object_get(level, "samples")));
	ck_assert(json_is_null(json_object_get(level, "discarded")));
	ck_assert(json_is_null(json_object_get(json_array_get(json_object_get(root, "caches"), 0),
					       "inclusion")));
	ck_assert(json_is_null(json_array_get(json_object_get(level, "latency_cycles_ci"), 0)));
	ck_assert(json_is_null(json_object_get(json_object_get(root, "clock"), "claimed_hz")));
	json_decref(root);
	sonde_profile_free(profile);
}
END_TEST

static void write_file(const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(keeps_fields_that_it_does_not_know)
{
	struct sonde_profile *profile;
	char *text;

	write_file("{\"schema\": \"sonde-profile-1\", \"created\": \"\", \"sonde_version\": \"9\","
		   "\"share\": {\"groups\": [[0, 1]]}}");
	ck_assert_int_eq(sonde_profile_load(&profile, path), 0);
	text = dump(profile);
	ck_assert_ptr_nonnull(strstr(text, "\"groups\""));
	free(text);
	sonde_profile_free(profile);
}
END_TEST

#define HEAD "{\"schema\": \"sonde-profile-1\", \"created\": \"\", \"sonde_version\": \"\", "
#define LEVEL "\"type\": \"data\", \"ways\": null, \"line\": null, \"latency_ns\": 1," \
	"\"latency_cycles\": 4, \"claimed\": null, "

#define FOUND LEVEL "\"size\": 8, \"size_low\": 8, \"size_high\": 9," \
	"\"latency_cycles_ci\": [1, 2], \"confidence\": 1, "

static const struct {
	const char *text;
	int err;
	const char *says;	/* in the log */
} refused[] = {
	{ "", -EINVAL, "line" },
	{ "{", -EINVAL, "line" },
	{ "[]", -EINVAL, "not a profile" },
	{ "{}", -EINVAL, "not a profile" },
	{ "{\"schema\": \"hwloc\"}", -EINVAL, "not a profile" },
	{ "{\"schema\": \"sonde-profile-2\"}", -EPROTO, "sonde-profile-2" },
	{ "{\"schema\": \"sonde-profile-1\"}", -EINVAL, ".created: is missing" },
	{ HEAD "\"cpu\": 1, \"cpu\": 2}", -EINVAL, "duplicate" },
	{ HEAD "\"cpu\": -1}", -EINVAL, ".cpu: must be a whole number" },
	{ HEAD "\"core_hz\": NaN}", -EINVAL, "line" },
	{ HEAD "\"core_hz\": 1e999}", -EINVAL, "line" },
	{ HEAD "\"core_hz\": \"3\"}", -EINVAL, ".core_hz: must be a number" },
	{ HEAD "\"notes\": [1]}", -EINVAL, ".notes[0]: must be a string" },
	{ HEAD "\"caches\": {}}", -EINVAL, ".caches: must be a list" },
	{ HEAD "\"caches\": [null]}", -EINVAL, ".caches[0]: must be an object" },
	{ HEAD "\"clock\": null}", -EINVAL, ".clock: must be an object" },
	{ HEAD "\"backends\": {\"frames\": {\"using\": 1, \"why\": null}}}", -EINVAL,
	  ".backends.frames.using: must be a string" },
	{ HEAD "\"caches\": [{\"level\": 1, " LEVEL "\"size\": -4, \"size_low\": 1,"
	  "\"size_high\": 2, \"latency_cycles_ci\": [1, 2], \"confidence\": 1}]}", -EINVAL,
	  ".caches[0].size: must be a whole number" },
	{ HEAD "\"caches\": [{\"level\": 1, " LEVEL "\"size\": 4, \"size_low\": 8,"
	  "\"size_high\": 9, \"latency_cycles_ci\": [1, 2], \"confidence\": 1}]}", -EINVAL,
	  "within size_low to size_high" },
	{ HEAD "\"caches\": [{\"level\": 1, " LEVEL "\"size\": 8, \"size_low\": 8,"
	  "\"size_high\": 9, \"latency_cycles_ci\": [2, 1], \"confidence\": 1}]}", -EINVAL,
	  "must be ascending" },
	{ HEAD "\"caches\": [{\"level\": 1, " LEVEL "\"size\": 8, \"size_low\": 8,"
	  "\"size_high\": 9, \"latency_cycles_ci\": [1, 2], \"confidence\": 1.5}]}", -EINVAL,
	  ".confidence: must be a number from 0 to 1" },
	{ HEAD "\"caches\": [{\"level\": 1, " FOUND "\"method\": \"guess\"}]}", -EINVAL,
	  ".caches[0].method: is not a way to find a cache" },
	{ HEAD "\"caches\": [{\"level\": 1, " FOUND "\"inclusion\": \"unknown\"}]}", -EINVAL,
	  ".caches[0].inclusion: must be" },
	{ HEAD "\"caches\": [{\"level\": 1, " FOUND "\"colours\": -1}]}", -EINVAL,
	  ".caches[0].colours: must be a whole number" },
	{ HEAD "\"caches\": [{\"level\": 1, " FOUND "\"sweeps\": [{\"offset\": 0, \"ways\": 1,"
	  "\"misses\": [0, -1]}]}]}", -EINVAL,
	  ".caches[0].sweeps[0].misses: must hold numbers" },
	{ HEAD "\"caches\": [{\"level\": 1, " FOUND "\"capacity_curve\": [{\"cycles\": 1}]}]}",
	  -EINVAL, ".caches[0].capacity_curve[0].bytes: is missing" },
};

START_TEST(refuses_what_is_not_of_the_schema)
{
	struct sonde_profile *profile = (void *)&dir;

	write_file(refused[_i].text);
	ck_assert_int_eq(sonde_profile_load(&profile, path), refused[_i].err);
	ck_assert_ptr_eq(profile, (void *)&dir);
	ck_assert_msg(strstr(logged, refused[_i].says), "log: %s", logged);
}
END_TEST

START_TEST(says_what_open_said)
{
	struct sonde_profile *profile;

	ck_assert_int_eq(sonde_profile_load(&profile, path), -ENOENT);
	ck_assert_int_eq(sonde_profile_load(&profile, dir), -EISDIR);
	ck_assert_int_eq(sonde_profile_load(&profile, ""), -ENOENT);
}
END_TEST

START_TEST(leaves_nothing_when_saving_fails)
{
	struct sonde_profile *profile = make_profile();

	ck_assert_int_eq(mkdir(path, 0777), 0);
	ck_assert_int_eq(sonde_profile_save(profile, path), -EISDIR);
	ck_assert_int_eq(count_files(), 1);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(sonde_profile_save(profile, "/proc/no-such-folder/profile.json"),
			 -ENOENT);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(replaces_a_file_and_leaves_no_other)
{
	struct sonde_profile *profile = make_profile();
	struct stat st;

	write_file("something else");
	umask(027);
	ck_assert_int_eq(sonde_profile_save(profile, path), 0);
	ck_assert_int_eq(count_files(), 1);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(the_default_is_where_the_environment_says)
{
	struct sonde_profile *profile, *read;
	char folder[128];

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	setenv("SONDE_PROFILE", path, 1);
	ck_assert_int_eq(sonde_profile_save(profile, NULL), 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(sonde_profile_load(&read, NULL), 0);
	sonde_profile_free(read);

	unlink(path);
	unsetenv("SONDE_PROFILE");
	setenv("XDG_CACHE_HOME", dir, 1);
	ck_assert_int_eq(sonde_profile_load(&read, NULL), -ENOENT);
	ck_assert_int_eq(sonde_profile_save(profile, NULL), 0);
	ck_assert_int_eq(sonde_profile_load(&read, NULL), 0);
	sonde_profile_free(read);
	sonde_profile_free(profile);
	snprintf(path, sizeof(path), "%s/sonde/profile.json", dir);
	ck_assert_int_eq(unlink(path), 0);
	snprintf(folder, sizeof(folder), "%s/sonde", dir);
	ck_assert_int_eq(rmdir(folder), 0);

	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	ck_assert_int_eq(sonde_profile_load(&read, NULL), -ENOENT);
}
END_TEST

START_TEST(a_full_stream_is_an_error)
{
	struct sonde_profile *profile = make_profile();
	FILE *full = fopen("/dev/full", "w");

	ck_assert_ptr_nonnull(full);
	setvbuf(full, NULL, _IONBF, 0);
	ck_assert_int_eq(sonde_profile_dump(profile, full), -EIO);
	fclose(full);
	sonde_profile_free(profile);
}
END_TEST

/* jansson's memory, of which the @fail_at-th piece is not to be had. */
static long live, taken, fail_at;

static void *take(size_t size)
{
	void *memory;

	if (taken++ == fail_at)
		return NULL;
	memory = malloc(size);
	live += memory != NULL;
	return memory;
}

static void give_back(void *memory)
{
	live -= memory != NULL;
	free(memory);
}

static int fill(struct sonde_topology *topo)
{
	struct sonde_profile *profile;
	int err = sonde_profile_new(&profile);

	if (err)
		return err;
	err = sonde_profile_set_machine(profile, topo);
	if (!err)
		err = sonde_profile_set_clock(profile, &clock_info);
	if (!err)
		err = sonde_profile_set_backend(profile, "frames", "none", "why not");
	if (!err)
		err = sonde_profile_set_caches(profile, &report, claims, 4);
	if (!err)
		err = sonde_profile_set_claims(profile, &all_claims, &report);
	sonde_profile_free(profile);
	return err;
}

START_TEST(wherever_memory_ends_it_says_so_and_loses_none)
{
	struct sonde_topology *topo;
	int err;

	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	json_set_alloc_funcs(take, give_back);
	/* A failure in between need not show: a string is tried twice. */
	for (fail_at = 0; fail_at <= taken; fail_at++) {
		taken = 0;
		err = fill(topo);
		ck_assert_msg(!err || err == -ENOMEM, "piece %ld: %d", fail_at, err);
		ck_assert_msg(live == 0, "piece %ld: %ld not freed", fail_at, live);
	}
	ck_assert_int_eq(err, 0);
	ck_assert_int_gt(fail_at, 100);
	sonde_topology_close(topo);
}
END_TEST

#define GROUP(cpus, verdict) \
	"{\"cpus\": \"" cpus "\", \"cpuset\": \"0x1\", \"verdict\": \"" verdict "\", " \
	"\"confidence\": 0.9, \"samples\": 3, \"discarded\": 0}"

static const char tuned[] =
	HEAD "\"cpu\": 4, \"caches\": ["
	"{\"level\": 1, \"type\": \"data\", \"size\": 49152, \"size_low\": 49152, "
	"\"size_high\": 49152, \"ways\": 12, \"line\": 64, \"claimed\": null, \"latency_ns\": 1, "
	"\"latency_cycles\": 4, \"latency_cycles_ci\": [4, 4], \"confidence\": 1}, "
	"{\"level\": 2, \"type\": \"unified\", \"size\": null, \"size_low\": 1048576, "
	"\"size_high\": 2097152, \"ways\": null, \"line\": null, \"claimed\": null, "
	"\"latency_ns\": 1, \"latency_cycles\": 4, \"latency_cycles_ci\": [4, 4], "
	"\"confidence\": 1}], "
	"\"sharing\": {\"levels\": [{\"level\": 1, \"groups\": [" GROUP("4", "private") "]}, "
	"{\"level\": 2, \"groups\": [" GROUP("0-1,4,12", "shared") ", " GROUP("5", "unknown") "]}]}}";

START_TEST(tells_who_shares_a_level)
{
	struct sonde_profile *profile;
	unsigned int cpus[4] = { 99, 99, 99, 99 };

	write_file(tuned);
	ck_assert_int_eq(sonde_profile_load(&profile, path), 0);
	ck_assert_int_eq(sonde_profile_sharing(profile, 1, 4, cpus, 4), 1);
	ck_assert_uint_eq(cpus[0], 4);
	ck_assert_int_eq(sonde_profile_sharing(profile, 2, 4, cpus, 3), 4);
	ck_assert(cpus[0] == 0 && cpus[1] == 1 && cpus[2] == 4 && cpus[3] == 99);
	ck_assert_int_eq(sonde_profile_sharing(profile, 2, 12, NULL, 0), 4);
	ck_assert_int_eq(sonde_profile_sharing(profile, 2, 5, cpus, 4), -ENOENT);
	ck_assert_int_eq(sonde_profile_sharing(profile, 2, 7, cpus, 4), -ENOENT);
	ck_assert_int_eq(sonde_profile_sharing(profile, 3, 4, cpus, 4), -ENOENT);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(tiles_fit_in_a_cpus_part_of_a_level)
{
	struct sonde_profile *profile;
	size_t side = 99;

	write_file(tuned);
	ck_assert_int_eq(sonde_profile_load(&profile, path), 0);
	/* 11 of 12 ways are 45056 bytes: 43 x 43 doubles three times, and whole lines. */
	ck_assert_int_eq(sonde_profile_tile(profile, 1, 3, 8, &side), 0);
	ck_assert_uint_eq(side, 40);
	/* A quarter of the lower bound, nothing known of ways and lines: 104 x 104. */
	ck_assert_int_eq(sonde_profile_tile(profile, 2, 3, 8, &side), 0);
	ck_assert_uint_eq(side, 104);
	ck_assert_int_eq(sonde_profile_tile(profile, 1, 1, 45056, &side), 0);
	ck_assert_uint_eq(side, 1);
	side = 99;
	ck_assert_int_eq(sonde_profile_tile(profile, 1, 1, 45057, &side), -ENOENT);
	ck_assert_int_eq(sonde_profile_tile(profile, 3, 1, 8, &side), -ENOENT);
	ck_assert_int_eq(sonde_profile_tile(profile, 1, 0, 8, &side), -EINVAL);
	ck_assert_int_eq(sonde_profile_tile(profile, 1, 1, 0, &side), -EINVAL);
	ck_assert_uint_eq(side, 99);
	sonde_profile_free(profile);
}
END_TEST

/* A machine of two CPUs and a cache of both. */
static struct sonde_topology *make_machine(const char *model, uint64_t size)
{
	const struct sonde_cache_claim cache = { .level = 1, .size = size, .ways = 8, .line = 64 };
	struct sonde_topology *topo = topology_new();

	ck_assert_ptr_nonnull(topo);
	hwloc_bitmap_set_range(topo->known, 0, 1);
	hwloc_bitmap_set_range(topo->cpus, 0, 1);
	topo->page = 4096;
	topo->nodes = 1;
	ck_assert_int_eq(topology_set_model(topo, model), 0);
	ck_assert_int_eq(topology_add_cache(topo, &cache, topo->known), 0);
	return topo;
}

START_TEST(knows_which_machine_it_is_of)
{
	struct sonde_topology *here = make_machine("x", 32768), *job = make_machine("x", 32768),
			      *model = make_machine("y", 32768), *cache = make_machine("x", 49152);
	struct sonde_profile *profile;

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_profile_is_of(profile, here), -ENOENT);
	ck_assert_int_eq(sonde_profile_set_machine(profile, here), 0);
	ck_assert_int_eq(sonde_profile_is_of(profile, here), 1);
	/* What a job is allowed of it changes nothing. */
	hwloc_bitmap_clr(job->cpus, 1);
	job->memory = 1 << 20;
	ck_assert_int_eq(sonde_profile_is_of(profile, job), 1);
	ck_assert_int_eq(sonde_profile_is_of(profile, model), 0);
	ck_assert_int_eq(sonde_profile_is_of(profile, cache), 0);
	hwloc_bitmap_set(job->known, 2);
	ck_assert_int_eq(sonde_profile_is_of(profile, job), 0);
	sonde_profile_free(profile);
	sonde_topology_close(here);
	sonde_topology_close(job);
	sonde_topology_close(model);
	sonde_topology_close(cache);
}
END_TEST

START_TEST(rules_for_collectives_are_handed_on_as_they_are)
{
	static const char rules[] = "{\"alltoall\":[{\"algorithm\":\"mpi\",\"bytes\":[0,8]}]}";
	struct sonde_profile *profile, *read;
	char *text = NULL;

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_profile_collectives(profile, &text), -ENOENT);
	ck_assert_ptr_null(text);
	ck_assert_int_eq(sonde_profile_set_collectives(profile, rules), 0);
	ck_assert_int_eq(sonde_profile_save(profile, path), 0);
	ck_assert_int_eq(sonde_profile_load(&read, path), 0);
	ck_assert_int_eq(sonde_profile_collectives(read, &text), 0);
	ck_assert_str_eq(text, rules);
	free(text);
	sonde_profile_free(read);
	sonde_profile_free(profile);
}
END_TEST

START_TEST(rules_that_are_no_object_are_refused_and_change_nothing)
{
	static const char *const wrong[] = { "", "[]", "5", "{", "{\"a\":1,\"a\":2}" };
	struct sonde_profile *profile;
	char *text;

	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_profile_set_collectives(profile, "{}"), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		*logged = '\0';
		ck_assert_int_eq(sonde_profile_set_collectives(profile, wrong[i]), -EINVAL);
		ck_assert_str_ne(logged, "");
	}
	ck_assert_int_eq(sonde_profile_collectives(profile, &text), 0);
	ck_assert_str_eq(text, "{}");
	free(text);
	sonde_profile_free(profile);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profile");
	TCase *test = tcase_create("profile");

	tcase_add_checked_fixture(test, set_up, tear_down);
	tcase_add_test(test, reads_back_what_it_wrote);
	tcase_add_test(test, an_empty_profile_reads_back_too);
	tcase_add_test(test, gives_back_a_level_as_measured);
	tcase_add_test(test, gives_back_how_a_level_was_found_and_what_of_its_sets);
	tcase_add_test(test, knows_no_level_that_was_only_claimed);
	tcase_add_test(test, sets_claims_beside_measurements_never_among_them);
	tcase_add_test(test, carries_every_claim_with_its_source_and_why_others_are_silent);
	tcase_add_test(test, carries_the_sweeps_and_the_capacity_curve);
	tcase_add_test(test, writes_null_for_what_was_not_measured);
	tcase_add_test(test, keeps_fields_that_it_does_not_know);
	tcase_add_loop_test(test, refuses_what_is_not_of_the_schema, 0,
			    (int)(sizeof(refused) / sizeof(refused[0])));
	tcase_add_test(test, says_what_open_said);
	tcase_add_test(test, leaves_nothing_when_saving_fails);
	tcase_add_test(test, replaces_a_file_and_leaves_no_other);
	tcase_add_test(test, the_default_is_where_the_environment_says);
	tcase_add_test(test, a_full_stream_is_an_error);
	tcase_add_test(test, tells_who_shares_a_level);
	tcase_add_test(test, knows_which_machine_it_is_of);
	tcase_add_test(test, tiles_fit_in_a_cpus_part_of_a_level);
	tcase_add_test(test, rules_for_collectives_are_handed_on_as_they_are);
	tcase_add_test(test, rules_that_are_no_object_are_refused_and_change_nothing);
	tcase_add_test(test, wherever_memory_ends_it_says_so_and_loses_none);
	suite_add_tcase(suite, test);
	return tap_run(suite);
}
