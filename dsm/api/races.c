// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * SONDE_DSM_RACES: homes find races (core/race.c) and tell process 0, which knows what memory
 * is called. It prints a line for each as it comes, and how many there were at the end.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define SHOWN	50u	/* of which more than their number is kept */

struct list {
	uint64_t n;
	struct dsm_race v[SHOWN];
};

struct dsm_races_seen {
	struct list races, possible;
};

void dsm_races_say(struct dsm_run *run, const struct dsm_race *race)
{
	dsm_say_more_later(run, 0, &(struct dsm_word){ .kind = DSM_WORD_RACE }, race,
			   sizeof(*race));
}

struct text {
	char v[1000];
	size_t n;
};

__attribute__((format(printf, 2, 3)))
static void add(struct text *t, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(t->v + t->n, sizeof(t->v) - t->n, format, args);
	va_end(args);
	t->n = t->n + (size_t)n < sizeof(t->v) ? t->n + (size_t)n : sizeof(t->v) - 1;
}

static void add_side(const struct dsm_run *run, struct text *t, const struct dsm_race_side *side)
{
	char name[200];

	add(t, "process %u in its interval %llu (", side->process,
	    (unsigned long long)side->interval);
	if (side->is_forgotten)
		add(t, "too long ago to tell its locks");
	else if (!side->nlocks)
		add(t, "no lock");
	for (uint32_t i = 0; i < side->nlocks && i < DSM_RACE_LOCKS; i++) {
		dsm_lock_name(run, side->locks[i], name, sizeof(name));
		add(t, "%s%s", i ? ", " : "", name);
	}
	if (side->nlocks > DSM_RACE_LOCKS)
		add(t, " and %u more", side->nlocks - DSM_RACE_LOCKS);
	add(t, ")");
}

static void print(const struct dsm_run *run, const struct dsm_race *race)
{
	uint8_t *at = run->fault->view + (size_t)race->page * run->unit + race->offset;
	struct text t = { .n = 0 };
	char name[100];

	dsm_region_name(run, dsm_region_of(run, race->page), name, sizeof(name));
	if (race->is_read) {
		add(&t, "sonde-dsm: possible race: page %u (%s) read by ", race->page, name);
		add_side(run, &t, &race->side[0]);
		add(&t, ", and in it %u byte%s at %p, or some of these, written by ", race->len,
		    race->len == 1 ? "" : "s", (void *)at);
	} else {
		add(&t, "sonde-dsm: race: %u byte%s at %p (page %u + %u, %s) written by ",
		    race->len, race->len == 1 ? "" : "s", (void *)at, race->page,
		    race->offset, name);
		add_side(run, &t, &race->side[0]);
		add(&t, " and ");
	}
	add_side(run, &t, &race->side[1]);
	fprintf(stderr, "%s\n", t.v);
}

void dsm_on_race(struct dsm_run *run, const uint8_t *data, size_t len)
{
	struct dsm_race race;
	struct list *list;

	if (!run->names || len != sizeof(race))
		return;
	if (!run->races)
		run->races = calloc(1, sizeof(*run->races));
	if (!run->races)
		dsm_run_fail(run, "no memory for a race");
	memcpy(&race, data, sizeof(race));
	list = race.is_read ? &run->races->possible : &run->races->races;
	if (list->n < SHOWN) {
		list->v[list->n] = race;
		print(run, &race);
	}
	list->n++;
}

static void print_count(const char *what, uint64_t n)
{
	fprintf(stderr, "sonde-dsm: %llu %srace%s%s\n", (unsigned long long)n, what,
		n == 1 ? "" : "s", n > SHOWN ? ", the first 50 are shown" : "");
}

void dsm_races_show(struct dsm_run *run)
{
	uint64_t n = run->races ? run->races->races.n : 0;

	if (!n)
		fprintf(stderr, "sonde-dsm: no race was seen; %sthreads of one process are not "
			"looked at\n", run->settings.race_reads ? "" : "reads, and ");
	else
		print_count("", n);
	if (run->settings.race_reads)
		print_count("possible ", run->races ? run->races->possible.n : 0);
}

static json_t *side_json(const struct dsm_run *run, const struct dsm_race_side *side)
{
	json_t *locks = side->is_forgotten ? json_null() : json_array();
	char name[200];

	for (uint32_t i = 0; i < side->nlocks && i < DSM_RACE_LOCKS; i++) {
		dsm_lock_name(run, side->locks[i], name, sizeof(name));
		json_array_append_new(locks, json_string(name));
	}
	return json_pack("{s:I, s:I, s:o}", "process", (json_int_t)side->process, "interval",
			 (json_int_t)side->interval, "locks", locks);
}

static json_t *list_json(const struct dsm_run *run, const struct list *l)
{
	json_t *list = json_array();
	char name[100], at[32];

	for (uint64_t i = 0; l && i < l->n && i < SHOWN; i++) {
		const struct dsm_race *race = &l->v[i];

		dsm_region_name(run, dsm_region_of(run, race->page), name, sizeof(name));
		snprintf(at, sizeof(at), "%p", (void *)(run->fault->view +
			 (size_t)race->page * run->unit + race->offset));
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:s, s:[o,o]}",
			"address", at, "page", (json_int_t)race->page, "offset",
			(json_int_t)race->offset, "bytes", (json_int_t)race->len, "region", name,
			"intervals", side_json(run, &race->side[0]),
			side_json(run, &race->side[1])));
	}
	return json_pack("{s:I, s:o}", "count", (json_int_t)(l ? l->n : 0), "first", list);
}

/* Of those that are possible the first interval read. */
json_t *dsm_races_json(const struct dsm_run *run)
{
	json_t *o = list_json(run, run->races ? &run->races->races : NULL);

	if (run->settings.race_reads)
		json_object_set_new(o, "possible", list_json(run, run->races ?
							     &run->races->possible : NULL));
	return o;
}
