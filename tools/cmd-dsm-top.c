// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde dsm top - what running jobs do, a second at a time. What is shown first, and by
 * --once, is what they did since they began.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "dsm.h"

struct options {
	struct cli_common common;
	double interval_s;
	int once;
};

static int set_once(void *options, const char *arg)
{
	struct options *o = options;

	(void)arg;
	o->once = 1;
	return CLI_DONE;
}

static int set_interval(void *options, const char *arg)
{
	struct options *o = options;

	return cli_parse_seconds("interval", arg, &o->interval_s);
}

static const struct cli_option options[] = {
	{ "interval", 'i', "SECONDS", "between two looks; 1 if not said", set_interval },
	{ "once", '1', NULL, "look once: what was done since each job began", set_once },
	{ "json", 0, NULL, "a JSON document for each look, see sonde-dsm(1)", cli_set_json },
	{ "help", 'h', NULL, "this list", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

/* ---- what happened ---- */
struct column {
	const char *head, *key;
	uint64_t (*value)(const struct dsm_stats *s);
	double scale;		/* of what is shown as text */
};

static uint64_t faults(const struct dsm_stats *s)
{
	return s->core.read_faults + s->core.write_faults;
}

#define FIELD(name, field) static uint64_t name(const struct dsm_stats *s) { return s->field; }
FIELD(fetches, core.fetches)
FIELD(diffs, core.diffs)
FIELD(invalidations, core.invalidations)
FIELD(lock_waits, lock_waits)
FIELD(lock_wait_ns, lock_wait_ns)
#undef FIELD

static const struct column columns[] = {
	{ "messages/s", "messages", dsm_stats_messages, 1 }, { "MB/s", "bytes", dsm_stats_bytes, 1e-6 },
	{ "requests/s", "fetches", fetches, 1 }, { "faults/s", "faults", faults, 1 },
	{ "diffs/s", "diffs", diffs, 1 }, { "voided/s", "invalidations", invalidations, 1 },
	{ "locks/s", "locks", lock_waits, 1 }, { "waiting", "lock_wait_ns", lock_wait_ns, 1e-9 },
};

#define COLUMNS	(sizeof(columns) / sizeof(*columns))

/* The same process at the look before, or NULL: then all is new. */
static const struct dsm_live *find_before(const struct dsm_seen *before, const struct dsm_live *p)
{
	for (size_t i = 0; i < before->n; i++)
		if (before->v[i].job == p->job && before->v[i].process == p->process &&
		    before->v[i].pid == p->pid)
			return &before->v[i];
	return NULL;
}

static double find_span(const struct dsm_seen *now, const struct dsm_seen *before,
			const struct dsm_live *p)
{
	uint64_t from = find_before(before, p) ? before->now_ns : p->started_ns;

	return now->now_ns > from ? (double)(now->now_ns - from) / 1e9 : 0;
}

static double find_rate(const struct dsm_seen *now, const struct dsm_seen *before,
			const struct dsm_live *p, const struct column *c)
{
	const struct dsm_live *last = find_before(before, p);
	double span = find_span(now, before, p);
	uint64_t done = c->value(&p->stats) - (last ? c->value(&last->stats) : 0);

	return span > 0 ? (double)done / span : 0;
}

static int is_first(const struct dsm_seen *now, size_t i)
{
	return !i || now->v[i].job != now->v[i - 1].job;
}

static double find_age(const struct dsm_seen *now, const struct dsm_live *p)
{
	return now->now_ns > p->started_ns ? (double)(now->now_ns - p->started_ns) / 1e9 : 0;
}

/* ---- text ---- */
static void print_job(const struct dsm_seen *now, const struct dsm_live *p)
{
	printf("%s: %" PRIu32 " processes, %" PRIu32 " pages of %" PRIu32
	       " bytes, faults: %s, %.0f s\n", p->program, p->processes, p->pages, p->unit,
	       p->fault, find_age(now, p));
	printf("%7s %8s", "process", "pid");
	for (size_t c = 0; c < COLUMNS; c++)
		printf(" %10s", columns[c].head);
	putchar('\n');
}

static void print_text(const struct dsm_seen *now, const struct dsm_seen *before)
{
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[2J", stdout);
	for (size_t i = 0; i < now->n; i++) {
		const struct dsm_live *p = &now->v[i];

		if (is_first(now, i)) {
			if (i)
				putchar('\n');
			print_job(now, p);
		}
		printf("%7" PRIu32 " %8" PRIu32, p->process, p->pid);
		for (size_t c = 0; c < COLUMNS; c++)
			printf(" %10.*f", columns[c].scale < 1 ? 2 : 0, columns[c].scale *
			       find_rate(now, before, p, &columns[c]));
		putchar('\n');
	}
}

/* ---- JSON ---- */
static json_t *process_json(const struct dsm_seen *now, const struct dsm_seen *before,
			    const struct dsm_live *p)
{
	json_t *sums = json_object(), *rates = json_object();

	for (size_t c = 0; c < COLUMNS; c++) {
		json_object_set_new(sums, columns[c].key,
				    json_integer((json_int_t)columns[c].value(&p->stats)));
		json_object_set_new(rates, columns[c].key,
				    json_real(find_rate(now, before, p, &columns[c])));
	}
	return json_pack("{s:I, s:I, s:f, s:o, s:o}", "process", (json_int_t)p->process, "pid",
			 (json_int_t)p->pid, "span_s", find_span(now, before, p), "sums", sums,
			 "per_s", rates);
}

static int print_json(const struct dsm_seen *now, const struct dsm_seen *before)
{
	json_t *jobs = json_array(), *processes = NULL, *all;
	char id[20];
	int err;

	for (size_t i = 0; i < now->n; i++) {
		const struct dsm_live *p = &now->v[i];

		if (is_first(now, i)) {
			processes = json_array();
			snprintf(id, sizeof(id), "%016" PRIx64, p->job);
			json_array_append_new(jobs, json_pack(
				"{s:s, s:s, s:I, s:I, s:I, s:s, s:f, s:o}", "job", id, "program",
				p->program, "processes_in_all", (json_int_t)p->processes, "pages",
				(json_int_t)p->pages, "unit", (json_int_t)p->unit, "fault",
				p->fault, "age_s", find_age(now, p), "processes", processes));
		}
		json_array_append_new(processes, process_json(now, before, p));
	}
	all = json_pack("{s:s, s:o}", "schema", "sonde-dsm-top-1", "jobs", jobs);
	err = !all || json_dumpf(all, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(all);
	if (err)
		cli_error("the document cannot be written");
	return err ? CLI_FAILED : CLI_DONE;
}

/* ---- looks ---- */
static int find_none(const struct dsm_seen *now, int looks)
{
	if (looks)
		return CLI_DONE;
	cli_error("no process of libsonde-dsm runs here%s", now->hidden ?
		  " that may be looked at: run as the job's user, or as root" :
		  ": begin a job, on this machine, and look again");
	return CLI_FAILED;
}

static int look(const struct options *o, struct dsm_seen *before, int looks)
{
	struct dsm_seen now;
	int err = dsm_seen_find(&now), status = CLI_DONE;

	if (err) {
		cli_error("cannot look at processes in /proc: %s", strerror(-err));
		return CLI_FAILED;
	}
	if (now.n && o->common.json)
		status = print_json(&now, before);
	else if (now.n)
		print_text(&now, before);
	else
		status = find_none(&now, looks);
	dsm_seen_free(before);
	*before = now;
	return status;
}

/* Until the last job has ended, or a signal ends us: nothing is left behind then. */
static int run(int argc, char **argv)
{
	struct options o = { .interval_s = 1 };
	struct dsm_seen before = { 0 };
	int status = cli_parse(&dsm_top, argc, argv, &o), looks = 0;
	struct timespec pause;

	if (status >= 0)
		return status;
	pause = (struct timespec){ .tv_sec = (time_t)o.interval_s,
		.tv_nsec = (long)((o.interval_s - (double)(time_t)o.interval_s) * 1e9) };
	do {
		if (looks)
			nanosleep(&pause, NULL);
		status = look(&o, &before, looks++);
		fflush(stdout);
	} while (status == CLI_DONE && !o.once && before.n && !ferror(stdout));
	dsm_seen_free(&before);
	return status;
}

const struct cli_command dsm_top = {
	.name = "dsm top",
	.summary = "what running jobs do: messages, faults, waits, each second",
	.options = options,
	.run = run,
};
