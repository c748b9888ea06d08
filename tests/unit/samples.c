// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Captures: what a probe was told on a simulated machine, told again. And files
 * that are no captures, or not any more.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <sonde/log.h>

#include "../../lib/capture.h"
#include "../../lib/meter_replay.h"
#include "../../lib/probe/cache.h"
#include "../../lib/probe/servet.h"
#include "../../lib/probe/share.h"
#include "../../lib/profile.h"
#include "../../lib/recorder.h"
#include "../../lib/rng.h"
#include "../sim/machine.h"
#include "tap.h"

#define KIB	1024UL
#define MIB	(1024 * KIB)
#define END_LEN	(strlen("end\t") + CAPTURE_SUM_DIGITS + 1)

static char dir[] = "/tmp/sonde-samples-XXXXXX";
static char path[64];
static char reason[512];

static const struct machine_model small = {
	.cache = {
		{ 32 * KIB, 8, POLICY_LRU, 4, .shared = 1 },
		{ 128 * KIB, 8, POLICY_LRU, 12, .shared = 2 },
	},
	.memory_cycles = 200,
	.ghz = 2,
	.tick_ghz = 1,
	.cpus = 2,
	.noise = { .gaps = 2000, .gap_us = { 20, 20 } },
	.max_bytes = MIB,
};

static void keep_reason(void *ctx, const char *line)
{
	(void)ctx;
	snprintf(reason, sizeof(reason), "%s", line);
}

static void begin(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/capture", dir);
	sonde_set_log(keep_reason, NULL);
	*reason = '\0';
}

static void end(void)
{
	sonde_set_log(NULL, NULL);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
}

static struct meter *open_small(void)
{
	struct meter *m;

	ck_assert_int_eq(machine_open(&m, &small, 7), 0);
	return m;
}

static struct sonde_recorder *open_recorder(void)
{
	struct sonde_recorder *r;

	ck_assert_int_eq(sonde_recorder_open(&r, path, NULL, NULL), 0);
	return r;
}

static void save(struct sonde_recorder *r)
{
	ck_assert_int_eq(sonde_recorder_save(r), 0);
	sonde_recorder_close(r);
}

static const struct sonde_cache_options quick = {
	.budget_s = 0.02, .max_bytes = 512 * KIB, .seed = 3,
};

/* The cache probe on the small machine, to a capture at path and this report. */
static struct sonde_cache_report *record_caches(const char *probe)
{
	struct sonde_recorder *r = open_recorder();
	struct sonde_cache_report *report;
	struct meter *m = open_small();

	ck_assert_int_eq(recorder_cache(r, probe, &quick, &m), 0);
	ck_assert_int_eq((strcmp(probe, "cache") ? probe_servet_with : probe_cache_with)
			 (m, &quick, &report), 0);
	m->ops->close(m);
	save(r);
	return report;
}

static char *dump(const struct sonde_cache_report *caches, const struct sonde_share_report *sharing)
{
	struct sonde_topology *topo;
	struct sonde_profile *p;
	char *text;

	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	ck_assert_int_eq(sonde_profile_new(&p), 0);
	json_object_del(p->root, "created");
	if (caches)
		ck_assert_int_eq(sonde_profile_set_caches(p, caches, NULL, 0), 0);
	if (sharing)
		ck_assert_int_eq(sonde_profile_set_sharing(p, sharing, topo), 0);
	text = json_dumps(p->root, JSON_INDENT(1));
	ck_assert_ptr_nonnull(text);
	sonde_profile_free(p);
	sonde_topology_close(topo);
	return text;
}

static char *load_text(size_t *len)
{
	FILE *f = fopen(path, "r");
	char *text;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fseek(f, 0, SEEK_END), 0);
	*len = (size_t)ftell(f);
	rewind(f);
	text = malloc(*len + 1);
	ck_assert_uint_eq(fread(text, 1, *len, f), *len);
	text[*len] = '\0';
	fclose(f);
	return text;
}

static void store_text(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(text, 1, len, f), len);
	ck_assert_int_eq(fclose(f), 0);
}

/* As somebody who knows how the sum is made would. */
static void store_with_sum(char *text, size_t len)
{
	capture_hex(text + len - CAPTURE_SUM_DIGITS - 1,
		    capture_sum(CAPTURE_SUM_BEGIN, text, len - END_LEN));
	store_text(text, len);
}

/* What comes of the file: an error with a reason, or a report. */
static int analyse(struct sonde_cache_report **report)
{
	struct sonde_samples *s;
	int err;

	*reason = '\0';
	err = sonde_samples_load(&s, path);
	if (err)
		return err;
	err = sonde_samples_cache(s, report);
	sonde_samples_free(s);
	return err;
}

static void assert_refused(int expected, const char *why)
{
	struct sonde_cache_report *report = NULL;

	ck_assert_int_eq(analyse(&report), expected);
	ck_assert_ptr_null(report);
	ck_assert_msg(strstr(reason, why), "'%s' is not in: %s", why, reason);
	ck_assert_msg(strstr(reason, path), "'%s' is not in: %s", path, reason);
}

static void check_same(const char *probe)
{
	struct sonde_cache_report *made = record_caches(probe), *again;
	char *a, *b;

	ck_assert_int_eq(analyse(&again), 0);
	ck_assert_ptr_ne(made, again);
	ck_assert_uint_gt(made->nlevels, 0);
	a = dump(made, NULL);
	b = dump(again, NULL);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	sonde_cache_report_free(made);
	sonde_cache_report_free(again);
}

START_TEST(gives_the_same_report_of_caches)
{
	check_same("cache");
}
END_TEST

/* Enough memory for conflicts to be looked for. Return: the CPU that was measured. */
static unsigned int check_same_geometry(const struct machine_model *model, size_t nalike)
{
	static const unsigned int alike[] = { 1 };
	struct sonde_cache_options how = {
		.alike = alike, .nalike = nalike, .budget_s = 0.1, .max_bytes = 16 * MIB, .seed = 3,
	};
	struct sonde_cache_report *made, *again;
	struct sonde_recorder *r = open_recorder();
	unsigned int cpu;
	struct meter *m;
	char *a, *b;

	ck_assert_int_eq(machine_open(&m, model, 7), 0);
	ck_assert_int_eq(recorder_cache(r, "cache", &how, &m), 0);
	ck_assert_int_eq(probe_cache_with(m, &how, &made), 0);
	m->ops->close(m);
	save(r);
	ck_assert_uint_ge(made->nlevels, 2);
	ck_assert_uint_eq(made->levels[0].ways, 8);
	ck_assert_int_eq(analyse(&again), 0);
	ck_assert_uint_eq(made->cpu, again->cpu);
	a = dump(made, NULL);
	b = dump(again, NULL);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	cpu = made->cpu;
	sonde_cache_report_free(made);
	sonde_cache_report_free(again);
	return cpu;
}

START_TEST(gives_the_same_geometry)
{
	struct machine_model model = small;

	model.max_bytes = 16 * MIB;
	ck_assert_uint_eq(check_same_geometry(&model, 0), 0);
}
END_TEST

START_TEST(gives_the_same_of_a_guest_that_was_measured_on_another_cpu)
{
	struct machine_model model = small;

	model.max_bytes = 16 * MIB;
	model.is_guest = 1;
	model.noise.sibling_ns = 2;
	model.noise.sibling_bytes = 256 * KIB;
	model.noise.sibling_cpus = 1;
	ck_assert_uint_eq(check_same_geometry(&model, 1), 1);
}
END_TEST

START_TEST(gives_the_same_report_by_the_method_of_servet)
{
	check_same("servet");
}
END_TEST

START_TEST(gives_the_same_report_of_sharing)
{
	static const unsigned int cpus[] = { 0, 1 };
	struct sonde_cache_report *caches = record_caches("cache");
	struct sonde_share_options how = {
		.cpus = cpus, .ncpus = 2, .caches = caches, .seed = 5, .max_bytes = MIB,
		.all_pairs = 1,
	};
	struct sonde_recorder *r = open_recorder();
	struct sonde_share_report *made, *again;
	struct sonde_samples *s;
	struct meter *m = open_small();
	char *a, *b;

	ck_assert_int_eq(recorder_share(r, &how, 0.25, &m), 0);
	ck_assert_int_eq(probe_share_with(m, &how, &made), 0);
	m->ops->close(m);
	save(r);
	made->elapsed_s += 0.25;
	ck_assert_uint_gt(made->npairs, 0);

	ck_assert_int_eq(sonde_samples_load(&s, path), 0);
	ck_assert_str_eq(sonde_samples_probe(s), "share");
	ck_assert_int_eq(sonde_samples_cache(s, &caches), -ENODATA);
	ck_assert_int_eq(sonde_samples_share(s, &again), 0);
	a = dump(NULL, made);
	b = dump(NULL, again);
	ck_assert_str_eq(a, b);
	free(a);
	free(b);
	sonde_samples_free(s);
	sonde_share_report_free(made);
	sonde_share_report_free(again);
	sonde_cache_report_free(caches);
}
END_TEST

/* ---- a meter whose answers are at the ends of what can be said ------------------- */

static const struct meter_window odd_windows[4] = {
	{ 0, 0, 0 }, { UINT64_MAX, 1, UINT64_MAX }, { 1, UINT64_MAX, 5 }, { 7, 7, 1ULL << 63 },
};
static const uint64_t odd_frames[6] = { 9, 8, 7, 1ULL << 51, (1ULL << 51) + 1, 0 };

static int odd_pages(struct meter *m, size_t chunks)
{
	(void)m;
	return chunks > 9 ? -ENOMEM : 0;
}

static int odd_frames_of(struct meter *m, size_t first, size_t n, uint64_t *out)
{
	(void)m;
	memcpy(out, odd_frames + first, n * sizeof(*out));
	return first ? -EPERM : 0;
}

static void odd_link(struct meter *m, const uint32_t *places, size_t n)
{
	(void)m;
	(void)places;
	(void)n;
}

static void odd_chase(struct meter *m, uint64_t skip, unsigned int steps, struct meter_window *out,
		      size_t nout)
{
	(void)m;
	(void)skip;
	(void)steps;
	memcpy(out, odd_windows, nout * sizeof(*out));
}

static int odd_flush(struct meter *m, const uint32_t *places, size_t n)
{
	(void)m;
	return places[n - 1] == 2 ? -EOPNOTSUPP : 0;
}

static int odd_move(struct meter *m, unsigned int cpu)
{
	(void)m;
	return cpu ? -EPERM : 0;
}

static int odd_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes)
{
	(void)m;
	for (size_t i = 0; i < nlanes; i++)
		memcpy(lanes[i].out, odd_windows, lanes[i].nout * sizeof(*lanes[i].out));
	return nlanes > 2 ? -EAGAIN : 0;
}

static unsigned int odd_rests;

static void odd_rest(struct meter *m, double seconds)
{
	(void)m;
	odd_rests += seconds == 86400;
}

static double odd_gaps(struct meter *m, double seconds)
{
	(void)m;
	return seconds * 12345.678901;
}

/* After a year, in ever longer steps. */
static double odd_now(struct meter *m)
{
	static double now = 3.2e7;

	(void)m;
	now += now / 7;
	return now;
}

static void odd_close(struct meter *m)
{
	(void)m;
}

static const struct meter_ops odd_ops = {
	.pages = odd_pages, .frames = odd_frames_of, .link = odd_link, .chase = odd_chase,
	.flush = odd_flush, .move = odd_move, .settle = odd_move, .together = odd_together,
	.rest = odd_rest, .gaps = odd_gaps, .now = odd_now, .close = odd_close,
};

/* One of everything; answers are put one behind the other into @out. */
static size_t ask_all(struct meter *m, unsigned char *out)
{
	static const uint32_t places[] = { 3, 1, 2 };
	struct meter_window w[3][4];
	struct meter_lane lanes[3] = {
		{ .cpu = 0, .places = places, .n = 1, .skip = 4, .steps = 5, .out = w[0],
		  .nout = 4 },
		{ .cpu = 1, .places = places + 1, .n = 2, .out = w[1], .nout = 2 },
		{ .cpu = 2, .places = places, .n = 3, .out = w[2], .nout = 1 },
	};
	uint64_t frames[6];
	int result[12];
	double time[4];
	size_t n = 0;

	memset(w, 0, sizeof(w));
	memset(frames, 0, sizeof(frames));
	time[0] = m->ops->now(m);
	result[0] = m->ops->pages(m, 9);
	result[1] = m->ops->pages(m, 10);
	result[2] = m->ops->frames(m, 0, 6, frames);
	result[3] = m->ops->frames(m, 1, 0, frames);
	m->ops->link(m, places, 3);
	m->ops->chase(m, UINT64_MAX, 16, w[0], 4);
	memcpy(out, w, sizeof(w));
	n += sizeof(w);
	m->ops->chase(m, 1, 1, w[0], 0);
	time[1] = m->ops->gaps(m, 0.125);
	m->ops->rest(m, 86400);
	result[4] = m->ops->move(m, 0);
	result[5] = m->ops->move(m, 1);
	time[2] = m->ops->now(m);
	result[6] = m->ops->together(m, lanes, 2);
	memcpy(out + n, w, sizeof(w));
	n += sizeof(w);
	result[7] = m->ops->together(m, lanes, 3);
	result[8] = m->ops->flush(m, places, 2);
	result[9] = m->ops->flush(m, places, 3);
	result[10] = m->ops->settle(m, 1);
	result[11] = m->ops->settle(m, 0);
	time[3] = m->ops->now(m);
	memcpy(out + n, frames, sizeof(frames));
	n += sizeof(frames);
	memcpy(out + n, result, sizeof(result));
	n += sizeof(result);
	memcpy(out + n, time, sizeof(time));
	return n + sizeof(time);
}

START_TEST(keeps_every_question_and_any_answer)
{
	static unsigned char first[2048], second[2048];
	struct meter odd = {
		.ops = &odd_ops, .page_size = 4096, .max_bytes = MIB, .chain_cycles = 0.1,
		.tick_ns = 1 / 3.0, .is_guest = 1,
	};
	struct sonde_recorder *r = open_recorder();
	struct meter *m = &odd, *again;
	struct replay_source source = { .name = path, .version = "?" };
	size_t len, n;
	char *text;

	ck_assert_int_eq(recorder_cache(r, "cache", &quick, &m), 0);
	ck_assert_ptr_ne(m, &odd);
	ck_assert_double_eq(m->tick_ns, odd.tick_ns);
	n = ask_all(m, first);
	ck_assert_uint_eq(odd_rests, 1);
	m->ops->close(m);
	save(r);

	text = load_text(&len);
	source.text = strstr(strstr(text, "meter\tis_guest\t1\n"), "\n") + 1;
	source.end = text + len - END_LEN;
	ck_assert_int_eq(meter_replay_open(&again, &odd, &source), 0);
	ck_assert_uint_eq(ask_all(again, second), n);
	/* Nobody rests again. */
	ck_assert_uint_eq(odd_rests, 1);
	ck_assert_int_eq(meter_replay_end(again), 0);
	ck_assert_mem_eq(first, second, n);
	again->ops->close(again);
	free(text);
}
END_TEST

START_TEST(fails_at_the_first_question_that_was_not_recorded)
{
	struct replay_source source = { .name = path, .version = "9.9", .line = 4 };
	static const char text[] = "p\t3\t0\nc\t0\t16\t1\t5,3,1\nn\t5\n";
	struct meter as = { .page_size = 4096 }, *m;
	struct meter_window w[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
	double before;

	source.text = text;
	source.end = text + strlen(text);
	ck_assert_int_eq(meter_replay_open(&m, &as, &source), 0);
	ck_assert_int_eq(m->ops->pages(m, 3), 0);
	m->ops->chase(m, 0, 16, w, 2);
	ck_assert_int_eq(meter_replay_error(m), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(reason, "line 5"));
	ck_assert_ptr_nonnull(strstr(reason, "'c\t0\t16\t2'"));
	ck_assert_ptr_nonnull(strstr(reason, "'c\t0\t16\t1\t5,3,1'"));
	ck_assert_ptr_nonnull(strstr(reason, "sonde 9.9"));
	/* Nothing is right after that, nothing is divided by zero, and time flies. */
	ck_assert_uint_gt(w[1].ticks, 0);
	ck_assert_uint_gt(w[1].chain, 0);
	ck_assert_int_eq(m->ops->pages(m, 3), -EBADMSG);
	ck_assert_int_eq(m->ops->move(m, 0), -EBADMSG);
	before = m->ops->now(m);
	ck_assert_double_gt(m->ops->now(m), before + 86400);
	ck_assert_int_eq(meter_replay_end(m), -EBADMSG);
	m->ops->close(m);
}
END_TEST

START_TEST(fails_when_less_is_asked_than_was_recorded)
{
	static const char text[] = "n\t5\nn\t5\n";
	struct replay_source source = { .name = path, .version = "1", .line = 1 };
	struct meter as = { .page_size = 4096 }, *m;

	source.text = text;
	source.end = text + strlen(text);
	ck_assert_int_eq(meter_replay_open(&m, &as, &source), 0);
	ck_assert_double_eq(m->ops->now(m), 5e-9);
	ck_assert_int_eq(meter_replay_error(m), 0);
	ck_assert_int_eq(meter_replay_end(m), -EBADMSG);
	ck_assert_ptr_nonnull(strstr(reason, "nothing more"));
	m->ops->close(m);
}
END_TEST

/* ---- files that are no captures --------------------------------------------------- */

START_TEST(refuses_what_is_no_capture)
{
	store_text("", 0);
	assert_refused(-EBADMSG, "no capture");
	store_text("{}\n", 3);
	assert_refused(-EBADMSG, "no capture");
	store_text("\0\0\0\n", 4);
	assert_refused(-EBADMSG, "no capture");
	store_text("sonde-samples\t1", 15);
	assert_refused(-EBADMSG, "cut off");
	store_text("sonde-samples\t1\n", 16);
	assert_refused(-EBADMSG, "cut off");
	store_text("sonde-samples\t17\nend\t0123456789abcdef\n", 38);
	assert_refused(-EPROTO, "format is 17");
}
END_TEST

START_TEST(refuses_a_file_that_was_cut_off_anywhere)
{
	struct sonde_cache_report *report = NULL;
	size_t len, step;
	char *text;

	sonde_cache_report_free(record_caches("servet"));
	text = load_text(&len);
	step = len / 200 + 1;
	for (size_t left = 0; left < len; left += left + 64 < len ? step : 1) {
		store_text(text, left);
		ck_assert_int_eq(analyse(&report), -EBADMSG);
		ck_assert_str_ne(reason, "");
	}
	ck_assert_ptr_null(report);
	free(text);
}
END_TEST

START_TEST(refuses_a_file_with_a_flipped_bit)
{
	struct sonde_cache_report *report = NULL;
	struct sonde_rng rng;
	size_t len;
	char *text;

	sonde_rng_seed(&rng, 1);
	sonde_cache_report_free(record_caches("servet"));
	text = load_text(&len);
	for (int i = 0; i < 500; i++) {
		size_t at = sonde_rng_below(&rng, len);
		char bit = (char)(1 << sonde_rng_below(&rng, 8));
		int err;

		text[at] ^= bit;
		store_text(text, len);
		err = analyse(&report);
		ck_assert_msg(err == -EBADMSG || err == -EPROTO, "byte %zu: %d", at, err);
		ck_assert_str_ne(reason, "");
		text[at] ^= bit;
	}
	ck_assert_ptr_null(report);
	free(text);
}
END_TEST

/* The @n-th line behind the meter's, and the one after it. */
static char *find_answer(char *text, size_t n)
{
	char *at = strstr(text, "meter\tis_guest");

	for (at = strchr(at, '\n') + 1; n; n--)
		at = strchr(at, '\n') + 1;
	return at;
}

START_TEST(refuses_lines_in_another_order_whatever_the_sum_says)
{
	char *text, *line, *next, *copy;
	size_t len, size;

	sonde_cache_report_free(record_caches("cache"));
	text = load_text(&len);
	line = find_answer(text, 40);
	for (next = strchr(line, '\n') + 1; *next == *line; next = strchr(next, '\n') + 1)
		line = next;
	size = (size_t)(strchr(next, '\n') + 1 - line);
	copy = strndup(line, size);
	memcpy(line, copy + (next - line), size - (size_t)(next - line));
	memcpy(line + size - (size_t)(next - line), copy, (size_t)(next - line));
	free(copy);
	store_with_sum(text, len);
	assert_refused(-EBADMSG, "the probe asks");
	free(text);
}
END_TEST

/* Exchange the line that begins with @from for @to, in a capture with a good sum. */
static void store_changed(const char *from, const char *to)
{
	size_t len, before, after;
	char *text = load_text(&len), *line, *changed;
	char needle[64];

	snprintf(needle, sizeof(needle), "\n%s", from);
	line = strstr(text, needle);
	ck_assert_msg(line, "%s", from);
	line++;
	before = (size_t)(line - text);
	after = (size_t)(strchr(line, '\n') - text);
	ck_assert_int_ge(asprintf(&changed, "%.*s%s%s", (int)before, text, to, text + after), 0);
	free(text);
	store_with_sum(changed, strlen(changed));
	free(changed);
}

START_TEST(refuses_numbers_that_no_machine_has)
{
	static const char *const lines[][3] = {
		{ "meter\tpage_size", "meter\tpage_size\t0", "no machine" },
		{ "meter\tpage_size", "meter\tpage_size\t4097", "no machine" },
		{ "meter\tmax_bytes", "meter\tmax_bytes\t18446744073709551615", "no machine" },
		{ "meter\tmax_bytes", "meter\tmax_bytes\t18446744073709551616", "no number" },
		{ "meter\tmax_bytes", "meter\tmax_bytes\t-1", "no number" },
		{ "meter\tchain_cycles", "meter\tchain_cycles\t0", "no number" },
		{ "meter\tchain_cycles", "meter\tchain_cycles\tnan", "no number" },
		{ "meter\ttick_ns", "meter\ttick_ns\tinf", "no number" },
		{ "meter\ttick_ns", "meter\ttick_ns\t1e300", "no number" },
		{ "meter\ttick_ns", "meter\ttick_ns\t0x1p3", "no number" },
		{ "meter\tis_guest", "meter\tis_guest\t2", "no number" },
		{ "option\tcpu", "option\tcpu\t4294967296", "no number" },
		{ "option\tbudget_s", "option\tbudget_s\t-3", "no number" },
		{ "option\tbudget_s", "option\tbudget_s\t", "no number" },
		{ "option\tmax_bytes", "option\tmax_bytes\t68719476737", "nobody can walk" },
		{ "option\tseed", "option\tcolour\tblue", "missing" },
		{ "run\t", "run\tpalm", "does not have" },
		{ "run\t", "ran\tcache", "missing" },
		{ "version\t", "version\t0123456789012345678901234567890123456789", "too long" },
		{ "p\t128\t", "p\t128\t-99999", "damaged" },
		{ "p\t128\t", "p\t128\t1", "damaged" },
		{ "p\t128\t", "p\t129\t0", "asks" },
		{ "g\t", "g\t20000000\t-4", "damaged" },
		{ "c\t0\t", "c\t0\t", "asks" },
		{ "n\t", "n\t18446744073709551615", "damaged" },
		{ "n\t", "n\t4\t4", "damaged" },
		{ "n\t", "n\t", "damaged" },
		{ "n\t", "n", "damaged" },
	};
	size_t len;
	char *text;

	sonde_cache_report_free(record_caches("cache"));
	text = load_text(&len);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		store_text(text, len);
		store_changed(lines[i][0], lines[i][1]);
		assert_refused(-EBADMSG, lines[i][2]);
	}
	free(text);
}
END_TEST

START_TEST(says_which_version_made_what_it_cannot_ask_again)
{
	size_t len;
	char *text, *line;

	sonde_cache_report_free(record_caches("cache"));
	store_changed("version\t", "version\t0.0.7");
	text = load_text(&len);
	line = find_answer(text, 12);
	*line = 'z';
	store_with_sum(text, len);
	assert_refused(-EBADMSG, "recorded by sonde 0.0.7");
	free(text);
}
END_TEST

/* Some bytes anew, of those that lines are made of, or some lines twice or not at all. */
static void spoil(struct sonde_rng *rng, char *text, size_t *len)
{
	static const char bytes[] = "0123456789\t\n,-*pflcmtagn.";
	size_t room = *len - END_LEN, at, n;

	for (uint64_t i = 1 + sonde_rng_below(rng, 4); i; i--) {
		at = sonde_rng_below(rng, room);
		n = 1 + sonde_rng_below(rng, 40);
		if (at + n > room)
			n = room - at;
		switch (sonde_rng_below(rng, 3)) {
		case 0:
			text[at] = bytes[sonde_rng_below(rng, sizeof(bytes) - 1)];
			break;
		case 1:
			memmove(text + at, text + at + n, *len - at - n);
			*len -= n;
			room -= n;
			break;
		default:
			memmove(text + at, text + sonde_rng_below(rng, room - n + 1), n);
		}
	}
}

START_TEST(survives_files_that_were_made_to_harm)
{
	struct sonde_cache_report *report;
	int refused = 0, rounds = 400;
	struct sonde_rng rng;
	size_t len, spoilt;
	char *text, *copy;

	sonde_rng_seed(&rng, 4);
	sonde_cache_report_free(record_caches("cache"));
	text = load_text(&len);
	copy = malloc(len + 1);
	for (int i = 0; i < rounds; i++) {
		memcpy(copy, text, len + 1);
		spoilt = len;
		spoil(&rng, copy, &spoilt);
		store_with_sum(copy, spoilt);
		report = NULL;
		if (analyse(&report)) {
			ck_assert_ptr_null(report);
			refused++;
		}
		sonde_cache_report_free(report);
	}
	/* Another sample is another measurement; another line is none. */
	ck_assert_int_gt(refused, rounds / 4);
	free(copy);
	free(text);
}
END_TEST

/* ---- the machine beside the samples ----------------------------------------------- */

static void record_machine(const struct sonde_topology *topo, const struct sonde_profile *profile)
{
	struct sonde_cache_report *report;
	struct sonde_recorder *r;
	struct meter *m = open_small();

	ck_assert_int_eq(sonde_recorder_open(&r, path, topo, profile), 0);
	ck_assert_int_eq(recorder_cache(r, "cache", &quick, &m), 0);
	ck_assert_int_eq(probe_cache_with(m, &quick, &report), 0);
	m->ops->close(m);
	sonde_cache_report_free(report);
	save(r);
}

static struct sonde_topology *open_smt(void)
{
	struct sonde_topology *topo;

	ck_assert_int_eq(access("tests/recordings/topology-smt.xml", R_OK), 0);
	setenv("HWLOC_XMLFILE", "tests/recordings/topology-smt.xml", 1);
	ck_assert_int_eq(sonde_topology_open(&topo), 0);
	unsetenv("HWLOC_XMLFILE");
	return topo;
}

START_TEST(keeps_the_machine_as_it_was_claimed)
{
	struct sonde_topology *topo = open_smt(), *again;
	struct sonde_cache_claim a[8], b[8];
	struct sonde_samples *s;

	record_machine(topo, NULL);
	ck_assert_int_eq(sonde_samples_load(&s, path), 0);
	ck_assert_int_eq(sonde_samples_topology(s, &again), 0);
	sonde_samples_free(s);
	ck_assert_str_eq(sonde_topology_cpu_model(again), sonde_topology_cpu_model(topo));
	ck_assert_int_eq(sonde_topology_cpus(again, NULL, 0), 4);
	ck_assert_int_eq(sonde_topology_nodes(again), sonde_topology_nodes(topo));
	ck_assert_uint_eq(sonde_topology_memory(again), sonde_topology_memory(topo));
	ck_assert_uint_eq(sonde_topology_page_bytes(again), sonde_topology_page_bytes(topo));
	ck_assert_int_eq(sonde_topology_caches(again, 9, b, 8), -EINVAL);
	for (unsigned int cpu = 0; cpu < 4; cpu++) {
		ck_assert_int_eq(sonde_topology_caches(topo, cpu, a, 8), 3);
		ck_assert_int_eq(sonde_topology_caches(again, cpu, b, 8), 3);
		for (int i = 0; i < 3; i++) {
			ck_assert_str_eq(a[i].cpus, b[i].cpus);
			a[i].cpus = b[i].cpus;
			ck_assert_mem_eq(&a[i], &b[i], sizeof(a[i]));
		}
	}
	sonde_topology_close(topo);
	sonde_topology_close(again);
}
END_TEST

START_TEST(keeps_the_profile_and_the_claims_in_it)
{
	struct sonde_topology *topo = open_smt();
	struct sonde_profile *profile, *again;
	struct sonde_claims *claims, *back;
	const struct sonde_cache_claim *a, *b;
	struct sonde_samples *s;
	size_t na, nb;

	ck_assert_int_eq(sonde_claims_open(&claims, topo, 0), 0);
	ck_assert_int_eq(sonde_profile_new(&profile), 0);
	ck_assert_int_eq(sonde_profile_set_machine(profile, topo), 0);
	ck_assert_int_eq(sonde_profile_set_claims(profile, claims, NULL), 0);
	ck_assert_int_eq(sonde_profile_set_backend(profile, "meter", "\xc3\xa9\x01\"", NULL), 0);
	record_machine(topo, profile);
	ck_assert_int_eq(sonde_samples_load(&s, path), 0);
	ck_assert_int_eq(sonde_samples_profile(s, &again), 0);
	sonde_samples_free(s);
	ck_assert(json_equal(profile->root, again->root));
	ck_assert_int_eq(sonde_profile_claims(again, &back), 0);
	a = sonde_claims_list(claims, &na);
	b = sonde_claims_list(back, &nb);
	ck_assert_uint_eq(na, nb);
	ck_assert_uint_ge(na, 3);
	for (size_t i = 0; i < na; i++) {
		ck_assert_int_eq(a[i].source, b[i].source);
		ck_assert_uint_eq(a[i].level, b[i].level);
		ck_assert_uint_eq(a[i].size, b[i].size);
		ck_assert_int_eq(a[i].ways, b[i].ways);
	}
	for (int i = 0; i < SONDE_CLAIM_SOURCES; i++)
		ck_assert_pstr_eq(sonde_claims_why(claims, (enum sonde_claim_source)i),
				  sonde_claims_why(back, (enum sonde_claim_source)i));
	sonde_claims_close(claims);
	sonde_claims_close(back);
	sonde_profile_free(profile);
	sonde_profile_free(again);
	sonde_topology_close(topo);
}
END_TEST

START_TEST(says_where_nothing_was_kept_of_the_machine)
{
	struct sonde_topology *topo = NULL;
	struct sonde_profile *profile = NULL;
	struct sonde_share_report *sharing = NULL;
	struct sonde_samples *s;

	sonde_cache_report_free(record_caches("cache"));
	ck_assert_int_eq(sonde_samples_load(&s, path), 0);
	ck_assert_str_eq(sonde_samples_probe(s), "cache");
	ck_assert_int_eq(sonde_samples_topology(s, &topo), -ENODATA);
	ck_assert_int_eq(sonde_samples_profile(s, &profile), -ENODATA);
	ck_assert_int_eq(sonde_samples_share(s, &sharing), -ENODATA);
	ck_assert_ptr_null(topo);
	ck_assert_ptr_null(profile);
	ck_assert_ptr_null(sharing);
	sonde_samples_free(s);
}
END_TEST

START_TEST(refuses_a_machine_that_makes_no_sense)
{
	static const char *const lines[][2] = {
		{ "known\t", "known\t0-4294967295" }, { "known\t", "known\t3-1" },
		{ "cpus\t", "cpus\t0," }, { "cpus\t", "cpus\tall" },
		{ "claim\t", "claim\t1\tdata\t4096" },
		{ "claim\t", "claim\t1\ttrace\t4096\t8\t64\t0" },
		{ "claim\t", "claim\t1\tdata\t4096\t-2\t64\t0" },
		{ "machine\tnodes", "machine\tnodes\t4294967296" },
		{ "machine\tmemory", "machine\tsummary\t1" },
	};
	struct sonde_topology *topo = open_smt(), *again = NULL;
	struct sonde_samples *s;
	size_t len;
	char *text;

	record_machine(topo, NULL);
	sonde_topology_close(topo);
	text = load_text(&len);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		store_text(text, len);
		store_changed(lines[i][0], lines[i][1]);
		*reason = '\0';
		ck_assert_int_eq(sonde_samples_load(&s, path), 0);
		ck_assert_msg(sonde_samples_topology(s, &again) == -EBADMSG, "%s", lines[i][1]);
		ck_assert_str_ne(reason, "");
		sonde_samples_free(s);
	}
	ck_assert_ptr_null(again);
	free(text);
}
END_TEST

/* ---- the file ------------------------------------------------------------------------ */

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

START_TEST(leaves_the_old_file_until_the_new_one_is_complete)
{
	struct sonde_recorder *r;
	struct meter *m = open_small();
	size_t len;
	char *text;

	store_text("old\n", 4);
	r = open_recorder();
	ck_assert_int_eq(recorder_cache(r, "cache", &quick, &m), 0);
	m->ops->close(m);
	sonde_recorder_close(r);
	ck_assert_int_eq(count_files(), 1);
	text = load_text(&len);
	ck_assert_str_eq(text, "old\n");
	free(text);
	sonde_cache_report_free(record_caches("cache"));
	ck_assert_int_eq(count_files(), 1);
	text = load_text(&len);
	ck_assert_uint_gt(len, 1000);
	free(text);
}
END_TEST

START_TEST(saves_nothing_where_nothing_was_recorded)
{
	struct sonde_recorder *r = open_recorder();
	struct meter *m = open_small();

	ck_assert_int_eq(sonde_recorder_save(r), -ENODATA);
	ck_assert_int_eq(count_files(), 0);
	ck_assert_int_eq(sonde_recorder_save(r), -EINVAL);
	ck_assert_int_eq(recorder_cache(r, "cache", &quick, &m), -EINVAL);
	sonde_recorder_close(r);
}
END_TEST

START_TEST(refuses_places_where_no_file_can_be)
{
	struct sonde_recorder *r = NULL;
	char nowhere[80];

	snprintf(nowhere, sizeof(nowhere), "%s/no/such", dir);
	ck_assert_int_eq(sonde_recorder_open(&r, nowhere, NULL, NULL), -ENOENT);
	ck_assert_int_eq(sonde_recorder_open(&r, dir, NULL, NULL), -EISDIR);
	ck_assert_int_eq(sonde_recorder_open(&r, "/dev/null", NULL, NULL), -EINVAL);
	ck_assert_ptr_null(r);
	sonde_recorder_close(NULL);
	sonde_samples_free(NULL);
}
END_TEST

START_TEST(measures_on_a_meter_of_its_own_without_a_recorder)
{
	struct meter *m = open_small(), *same = m;

	ck_assert_int_eq(recorder_cache(NULL, "cache", &quick, &same), 0);
	ck_assert_ptr_eq(same, m);
	m->ops->close(m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("samples");
	TCase *tc = tcase_create("quick"), *machines = tcase_create("machines");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_checked_fixture(machines, begin, end);
	tcase_set_timeout(tc, 300);
	tcase_set_timeout(machines, 300);
	tcase_add_test(tc, gives_the_same_report_of_caches);
	tcase_add_test(machines, gives_the_same_geometry);
	tcase_add_test(machines, gives_the_same_of_a_guest_that_was_measured_on_another_cpu);
	tcase_add_test(tc, gives_the_same_report_by_the_method_of_servet);
	tcase_add_test(tc, gives_the_same_report_of_sharing);
	tcase_add_test(tc, keeps_every_question_and_any_answer);
	tcase_add_test(tc, fails_at_the_first_question_that_was_not_recorded);
	tcase_add_test(tc, fails_when_less_is_asked_than_was_recorded);
	tcase_add_test(tc, refuses_what_is_no_capture);
	tcase_add_test(tc, refuses_a_file_that_was_cut_off_anywhere);
	tcase_add_test(tc, refuses_a_file_with_a_flipped_bit);
	tcase_add_test(tc, refuses_lines_in_another_order_whatever_the_sum_says);
	tcase_add_test(tc, refuses_numbers_that_no_machine_has);
	tcase_add_test(tc, says_which_version_made_what_it_cannot_ask_again);
	tcase_add_test(tc, survives_files_that_were_made_to_harm);
	tcase_add_test(tc, keeps_the_machine_as_it_was_claimed);
	tcase_add_test(tc, keeps_the_profile_and_the_claims_in_it);
	tcase_add_test(tc, says_where_nothing_was_kept_of_the_machine);
	tcase_add_test(tc, refuses_a_machine_that_makes_no_sense);
	tcase_add_test(tc, leaves_the_old_file_until_the_new_one_is_complete);
	tcase_add_test(tc, saves_nothing_where_nothing_was_recorded);
	tcase_add_test(tc, refuses_places_where_no_file_can_be);
	tcase_add_test(tc, measures_on_a_meter_of_its_own_without_a_recorder);
	suite_add_tcase(suite, tc);
	suite_add_tcase(suite, machines);
	return tap_run(suite);
}
