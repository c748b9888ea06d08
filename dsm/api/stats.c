// SPDX-License-Identifier: LGPL-2.1-or-later
/* SONDE_DSM_STATS: what each process did, told to process 0, which shows it at the end. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

static const char *wanted(void)
{
	const char *s = getenv("SONDE_DSM_STATS");

	return s && *s && strcmp(s, "0") ? s : NULL;
}

struct report {
	struct dsm_word word;
	struct dsm_stats stats;
};

/*
 * The core is the progress thread's; its counters are read here when this process's
 * threads are through, and what is counted from now on is not shown.
 */
void dsm_stats_say(struct dsm_run *run)
{
	struct report r = { .word.kind = DSM_WORD_STATS };
	struct dsm_request request = {
		.event = { .kind = DSM_EV_TELL, .id = 0, .data = &r, .len = sizeof(r) },
	};

	if (!wanted())
		return;
	r.stats.core = *dsm_core_counters(run->core);
	r.stats.lock_waits = atomic_load_explicit(&run->lock_waits, memory_order_relaxed);
	r.stats.lock_wait_ns = atomic_load_explicit(&run->lock_wait_ns, memory_order_relaxed);
	dsm_submit(run, &request);
	dsm_await(run, &request, NULL);
}

void dsm_on_stats(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len)
{
	if (!run->stats || len != sizeof(*run->stats))
		return;
	memcpy(&run->stats[from], data, len);
	/* Partner: dsm_stats_show(). */
	atomic_fetch_add_explicit(&run->nstats, 1, memory_order_release);
	dsm_futex_wake(&run->nstats);
}

struct column {
	const char *name, *key;
	uint64_t (*value)(const struct dsm_stats *s);
};

static uint64_t messages(const struct dsm_stats *s)
{
	uint64_t n = 0;

	for (int i = 0; i < DSM_MESSAGES; i++)
		n += s->core.messages[i];
	return n;
}

static uint64_t bytes(const struct dsm_stats *s)
{
	uint64_t n = 0;

	for (int i = 0; i < DSM_MESSAGES; i++)
		n += s->core.bytes[i];
	return n;
}

#define FIELD(name) static uint64_t name(const struct dsm_stats *s) { return s->core.name; }
FIELD(fetches)
FIELD(copies)
FIELD(read_faults)
FIELD(write_faults)
FIELD(twins)
FIELD(diffs)
FIELD(diff_bytes)
FIELD(invalidations)
#undef FIELD

static uint64_t lock_waits(const struct dsm_stats *s)
{
	return s->lock_waits;
}

static uint64_t lock_wait_us(const struct dsm_stats *s)
{
	return s->lock_wait_ns / 1000;
}

static const struct column columns[] = {
	{ "messages", "messages", messages }, { "bytes", "bytes", bytes },
	{ "fetches", "fetches", fetches }, { "copies", "copies", copies }, { "reads", "read_faults", read_faults },
	{ "writes", "write_faults", write_faults }, { "twins", "twins", twins },
	{ "diffs", "diffs", diffs }, { "diff B", "diff_bytes", diff_bytes },
	{ "voided", "invalidations", invalidations }, { "locks", "locks", lock_waits },
	{ "wait us", "lock_wait_us", lock_wait_us },
};

#define COLUMNS	(sizeof(columns) / sizeof(*columns))

static void show_table(const struct dsm_run *run)
{
	fprintf(stderr, "sonde-dsm: %u processes, %u pages of %u bytes, faults: %s\n",
		run->processes, run->pages, run->unit, run->fault->ops->name);
	fprintf(stderr, "%7s", "process");
	for (size_t c = 0; c < COLUMNS; c++)
		fprintf(stderr, " %11s", columns[c].name);
	fputc('\n', stderr);
	for (uint32_t i = 0; i < run->processes; i++) {
		fprintf(stderr, "%7u", i);
		for (size_t c = 0; c < COLUMNS; c++)
			fprintf(stderr, " %11llu",
				(unsigned long long)columns[c].value(&run->stats[i]));
		fputc('\n', stderr);
	}
}

static json_t *to_json(const struct dsm_run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->processes; i++) {
		json_t *one = json_object(), *kinds = json_object();

		for (size_t c = 0; c < COLUMNS; c++)
			json_object_set_new(one, columns[c].key, json_integer(
				(json_int_t)columns[c].value(&run->stats[i])));
		for (int k = 1; k < DSM_MESSAGES; k++)
			json_object_set_new(kinds, dsm_message_name((enum dsm_message)k),
					    json_integer((json_int_t)run->stats[i].core.messages[k]));
		json_object_set_new(one, "messages_by_kind", kinds);
		json_array_append_new(list, one);
	}
	return json_pack("{s:s, s:i, s:i, s:s, s:o}", "schema", "sonde-dsm-stats-1", "pages",
			 (int)run->pages, "unit", (int)run->unit, "fault", run->fault->ops->name,
			 "processes", list);
}

/* In process 0, after the last barrier: the others' words are on their way at least. */
void dsm_stats_show(struct dsm_run *run)
{
	const char *how = wanted();
	uint32_t n;

	if (!how || !run->stats)
		return;
	while ((n = atomic_load_explicit(&run->nstats, memory_order_acquire)) < run->processes)
		dsm_futex_wait(&run->nstats, n, NULL);
	if (strcmp(how, "json")) {
		show_table(run);
	} else {
		json_t *all = to_json(run);

		if (all && json_dumpf(all, stderr, JSON_INDENT(1) | JSON_SORT_KEYS))
			fprintf(stderr, "sonde-dsm: the counters cannot be written\n");
		fputc('\n', stderr);
		json_decref(all);
	}
}
