// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * SONDE_DSM_STATS: what each process did, and to which pieces of memory. All tell process 0,
 * which shows it at the end. Messages carry several pages or none, so a piece of memory
 * has page requests and bytes, and processes have messages.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define REGIONS_SHOWN	20u
#define LOCKS_SHOWN	10u

/* Of a page about which anything was done. */
struct dsm_page_report {
	uint64_t page;
	struct dsm_page_counters counters;
};

void dsm_stats_now(struct dsm_run *run, struct dsm_stats *stats)
{
	stats->core = *dsm_core_counters(run->core);
	stats->lock_waits = atomic_load_explicit(&run->lock_waits, memory_order_relaxed);
	stats->lock_wait_ns = atomic_load_explicit(&run->lock_wait_ns, memory_order_relaxed);
	stats->unseen = run->fault->unseen;
}

static bool is_any(const struct dsm_page_counters *c)
{
	return c->read_faults || c->write_faults || c->fetches || c->twins || c->diffs ||
	       c->diff_bytes || c->invalidations;
}

/* What a process tells: this, then its pages, then its locks. */
struct head {
	struct dsm_stats stats;
	uint64_t npages, nlocks;
};

struct reporting {
	struct head head;
	struct dsm_page_report *pages;
	struct dsm_lock_report *locks;
};

static uint32_t list_pages(const struct dsm_run *run, struct dsm_page_report *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; run->page_counters && i < run->pages; i++) {
		if (!is_any(&run->page_counters[i]))
			continue;
		if (list)
			list[n] = (struct dsm_page_report){ i, run->page_counters[i] };
		n++;
	}
	return n;
}

/* In the progress thread, so that sums are what the process counted. */
static void collect(struct dsm_run *run, void *ctx)
{
	struct reporting *r = ctx;

	dsm_stats_now(run, &r->head.stats);
	r->head.npages = list_pages(run, NULL);
	r->head.nlocks = dsm_contention_list(run, NULL);
	r->pages = malloc((r->head.npages + 1) * sizeof(*r->pages));
	r->locks = malloc((r->head.nlocks + 1) * sizeof(*r->locks));
	if (!r->pages || !r->locks)
		dsm_run_fail(run, "no memory for counters");
	list_pages(run, r->pages);
	dsm_contention_list(run, r->locks);
}

/* This process's threads are through: what is counted from now on is not shown. */
void dsm_stats_say(struct dsm_run *run)
{
	struct reporting r = { .pages = NULL };
	size_t pages, locks;
	uint8_t *all;

	dsm_call(run, collect, &r);
	pages = r.head.npages * sizeof(*r.pages);
	locks = r.head.nlocks * sizeof(*r.locks);
	all = malloc(sizeof(r.head) + pages + locks);
	if (!all)
		dsm_run_fail(run, "no memory for counters");
	memcpy(all, &r.head, sizeof(r.head));
	memcpy(all + sizeof(r.head), r.pages, pages);
	memcpy(all + sizeof(r.head) + pages, r.locks, locks);
	if (dsm_say_more(run, 0, &(struct dsm_word){ .kind = DSM_WORD_STATS }, all,
			 sizeof(r.head) + pages + locks))
		dsm_run_fail(run, "no memory for counters");
	free(all);
	free(r.pages);
	free(r.locks);
}

static void *copy_of(const uint8_t *from, size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	return p ? memcpy(p, from, bytes) : NULL;
}

void dsm_on_stats(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len)
{
	struct dsm_report *r = run->reports ? &run->reports[from] : NULL;
	struct head h;

	if (!r || r->pages || len < sizeof(h))
		return;
	memcpy(&h, data, sizeof(h));
	if (len - sizeof(h) != h.npages * sizeof(*r->pages) + h.nlocks * sizeof(*r->locks))
		return;
	r->stats = h.stats;
	r->npages = (uint32_t)h.npages;
	r->nlocks = (uint32_t)h.nlocks;
	r->pages = copy_of(data + sizeof(h), r->npages * sizeof(*r->pages));
	r->locks = copy_of(data + sizeof(h) + r->npages * sizeof(*r->pages),
			   r->nlocks * sizeof(*r->locks));
	if (!r->pages || !r->locks)
		dsm_run_fail(run, "no memory for counters of process %u", from);
	/* Partner: dsm_stats_wait(). */
	atomic_fetch_add_explicit(&run->nreports, 1, memory_order_release);
	dsm_futex_wake(&run->nreports);
}

/* After the last barrier: the others' words are on their way at least. */
void dsm_stats_wait(struct dsm_run *run)
{
	uint32_t n;

	while ((n = atomic_load_explicit(&run->nreports, memory_order_acquire)) < run->processes)
		dsm_futex_wait(&run->nreports, n, NULL);
}

/* ---- of processes ---- */
struct column {
	const char *name, *key;
	uint64_t (*value)(const struct dsm_stats *s);
};

#define FIELD(name) static uint64_t name(const struct dsm_stats *s) { return s->core.name; }
FIELD(fetches)
FIELD(copies)
FIELD(read_faults)
FIELD(write_faults)
FIELD(twins)
FIELD(diffs)
FIELD(diff_bytes)
FIELD(invalidations)
FIELD(races)
#undef FIELD

static uint64_t lock_waits(const struct dsm_stats *s)
{
	return s->lock_waits;
}

static uint64_t unseen(const struct dsm_stats *s)
{
	return s->unseen;
}

static uint64_t lock_wait_us(const struct dsm_stats *s)
{
	return s->lock_wait_ns / 1000;
}

static const struct column columns[] = {
	{ "messages", "messages", dsm_stats_messages }, { "bytes", "bytes", dsm_stats_bytes },
	{ "requests", "fetches", fetches }, { "copies", "copies", copies },
	{ "reads", "read_faults", read_faults },
	{ "writes", "write_faults", write_faults }, { "unseen", "unseen", unseen },
	{ "twins", "twins", twins },
	{ "diffs", "diffs", diffs }, { "diff B", "diff_bytes", diff_bytes },
	{ "voided", "invalidations", invalidations }, { "locks", "locks", lock_waits },
	{ "wait us", "lock_wait_us", lock_wait_us }, { "races", "races", races },
};

#define COLUMNS	(sizeof(columns) / sizeof(*columns))

/* ---- of regions ---- */
struct region {
	uint32_t number, pages;
	struct dsm_page_counters sum, *of;	/* of: by process */
};

struct regions {
	struct region *v;
	uint32_t n;
	struct dsm_page_counters *of;
};

static const struct {
	const char *name, *key;
	size_t at;
} region_columns[] = {
#define FIELD(name, field) { name, #field, offsetof(struct dsm_page_counters, field) }
	FIELD("requests", fetches), FIELD("copies", copies), FIELD("reads", read_faults),
	FIELD("writes", write_faults), FIELD("twins", twins), FIELD("diffs", diffs),
	FIELD("diff B", diff_bytes), FIELD("voided", invalidations),
#undef FIELD
};

#define REGION_COLUMNS	(sizeof(region_columns) / sizeof(*region_columns))

static uint64_t *field(const struct dsm_page_counters *c, size_t column)
{
	return (uint64_t *)((uintptr_t)c + region_columns[column].at);
}

/* What moved for its sake. */
static uint64_t moved(const struct dsm_run *run, const struct dsm_page_counters *c)
{
	return c->fetches * run->unit + c->diff_bytes;
}

/*
 * Places of regions in the list, by their number; 0: not there, as nothing was done about
 * it. What has a name is there all the same.
 */
static int list_regions(const struct dsm_run *run, struct regions *all, uint32_t *place)
{
	for (uint32_t r = run->pages + run->processes; r < dsm_regions(run); r++)
		place[r] = ++all->n;
	for (uint32_t q = 0; q < run->processes; q++)
		for (uint32_t i = 0; i < run->reports[q].npages; i++) {
			uint32_t r = dsm_region_of(run, (uint32_t)run->reports[q].pages[i].page);

			if (!place[r])
				place[r] = ++all->n;
		}
	all->v = calloc(all->n ? all->n : 1, sizeof(*all->v));
	all->of = calloc((size_t)all->n * run->processes + 1, sizeof(*all->of));
	if (!all->v || !all->of)
		return -ENOMEM;
	for (uint32_t r = 0; r < dsm_regions(run); r++)
		if (place[r])
			all->v[place[r] - 1] = (struct region){ .number = r,
				.of = all->of + (size_t)(place[r] - 1) * run->processes };
	for (uint32_t page = 0; page < run->pages; page++) {
		uint32_t r = place[dsm_region_of(run, page)];

		if (r)
			all->v[r - 1].pages++;
	}
	return 0;
}

static void sum_up(const struct dsm_run *run, struct regions *all, const uint32_t *place)
{
	for (uint32_t q = 0; q < run->processes; q++) {
		for (uint32_t i = 0; i < run->reports[q].npages; i++) {
			const struct dsm_page_report *p = &run->reports[q].pages[i];
			struct region *r = &all->v[place[dsm_region_of(run, (uint32_t)p->page)] - 1];

			for (size_t c = 0; c < REGION_COLUMNS; c++) {
				*field(&r->of[q], c) += *field(&p->counters, c);
				*field(&r->sum, c) += *field(&p->counters, c);
			}
		}
	}
}

static int by_what_moved(const void *a, const void *b, void *run)
{
	const struct region *x = a, *y = b;
	uint64_t m = moved(run, &x->sum), n = moved(run, &y->sum);

	return m != n ? (m < n) - (m > n) : x->number < y->number ? -1 : x->number > y->number;
}

static int find_regions(const struct dsm_run *run, struct regions *all)
{
	uint32_t *place = calloc(dsm_regions(run), sizeof(*place));
	int err = place ? list_regions(run, all, place) : -ENOMEM;

	if (!err) {
		sum_up(run, all, place);
		qsort_r(all->v, all->n, sizeof(*all->v), by_what_moved, (void *)(uintptr_t)run);
	}
	free(place);
	return err;
}

/* ---- of locks ---- */
struct lock {
	struct dsm_lock_report sum;
};

struct locks {
	struct lock *v;
	uint32_t n;
};

static int by_number(const void *a, const void *b)
{
	const struct lock *x = a, *y = b;

	return x->sum.id < y->sum.id ? -1 : x->sum.id > y->sum.id;
}

static int by_wait(const void *a, const void *b)
{
	const struct lock *x = a, *y = b;

	if (x->sum.wait_ns != y->sum.wait_ns)
		return x->sum.wait_ns < y->sum.wait_ns ? 1 : -1;
	return by_number(a, b);
}

/* Sums over processes; who waited longest comes first. */
static int find_locks(const struct dsm_run *run, struct locks *all)
{
	uint32_t n = 0, k = 0;

	for (uint32_t q = 0; q < run->processes; q++)
		n += run->reports[q].nlocks;
	all->v = calloc(n + 1, sizeof(*all->v));
	if (!all->v)
		return -ENOMEM;
	for (uint32_t q = 0; q < run->processes; q++)
		for (uint32_t i = 0; i < run->reports[q].nlocks; i++)
			all->v[k++].sum = run->reports[q].locks[i];
	qsort(all->v, n, sizeof(*all->v), by_number);
	for (uint32_t i = 0; i < n; i++) {
		struct lock *last = all->n ? &all->v[all->n - 1] : NULL;

		if (!last || last->sum.id != all->v[i].sum.id) {
			all->v[all->n++] = all->v[i];
			continue;
		}
		last->sum.waits += all->v[i].sum.waits;
		last->sum.wait_ns += all->v[i].sum.wait_ns;
	}
	qsort(all->v, all->n, sizeof(*all->v), by_wait);
	return 0;
}

/* ---- shown ---- */
static void show_processes(const struct dsm_run *run, FILE *f)
{
	fprintf(f, "sonde-dsm: %u processes, %u pages of %u bytes, faults: %s\n",
		run->processes, run->pages, run->unit, run->fault->ops->name);
	fprintf(f, "%7s", "process");
	for (size_t c = 0; c < COLUMNS; c++)
		fprintf(f, " %11s", columns[c].name);
	fputc('\n', f);
	for (uint32_t i = 0; i < run->processes; i++) {
		fprintf(f, "%7u", i);
		for (size_t c = 0; c < COLUMNS; c++)
			fprintf(f, " %11llu",
				(unsigned long long)columns[c].value(&run->reports[i].stats));
		fputc('\n', f);
	}
}

static void show_regions(const struct dsm_run *run, const struct regions *all, FILE *f)
{
	char name[100];

	fprintf(f, "%-32s %8s %11s", "memory", "pages", "bytes");
	for (size_t c = 0; c < REGION_COLUMNS; c++)
		fprintf(f, " %11s", region_columns[c].name);
	fputc('\n', f);
	for (uint32_t i = 0; i < all->n && i < REGIONS_SHOWN; i++) {
		const struct region *r = &all->v[i];

		dsm_region_name(run, r->number, name, sizeof(name));
		fprintf(f, "%-32s %8u %11llu", name, r->pages,
			(unsigned long long)moved(run, &r->sum));
		for (size_t c = 0; c < REGION_COLUMNS; c++)
			fprintf(f, " %11llu", (unsigned long long)*field(&r->sum, c));
		fputc('\n', f);
	}
	if (all->n > REGIONS_SHOWN)
		fprintf(f, "and %u more, with less; SONDE_DSM_STATS=json has all\n",
			all->n - REGIONS_SHOWN);
}

static void show_locks(const struct dsm_run *run, const struct locks *all, FILE *f)
{
	char name[200];

	if (!all->n)
		return;
	fprintf(f, "%-52s %11s %11s\n", "lock", "locks", "wait us");
	for (uint32_t i = 0; i < all->n && i < LOCKS_SHOWN; i++) {
		dsm_lock_name(run, all->v[i].sum.id, name, sizeof(name));
		fprintf(f, "%-52s %11llu %11llu\n", name, (unsigned long long)all->v[i].sum.waits,
			(unsigned long long)(all->v[i].sum.wait_ns / 1000));
	}
	if (all->n > LOCKS_SHOWN)
		fprintf(f, "and %u more, with less; SONDE_DSM_STATS=json has all\n",
			all->n - LOCKS_SHOWN);
}

static void set(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static json_t *counters_json(const struct dsm_run *run, const struct dsm_page_counters *c)
{
	json_t *o = json_object();

	for (size_t i = 0; i < REGION_COLUMNS; i++)
		set(o, region_columns[i].key, *field(c, i));
	set(o, "bytes", moved(run, c));
	return o;
}

static json_t *regions_json(const struct dsm_run *run, const struct regions *all)
{
	json_t *list = json_array();
	char name[100];

	for (uint32_t i = 0; i < all->n; i++) {
		const struct region *r = &all->v[i];
		json_t *one = counters_json(run, &r->sum), *processes = json_array();

		dsm_region_name(run, r->number, name, sizeof(name));
		json_object_set_new(one, "name", json_string(name));
		set(one, "pages", r->pages);
		for (uint32_t q = 0; q < run->processes; q++)
			json_array_append_new(processes, counters_json(run, &r->of[q]));
		json_object_set_new(one, "processes", processes);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *locks_json(const struct dsm_run *run, const struct locks *all)
{
	json_t *list = json_array();
	char name[200];

	for (uint32_t i = 0; i < all->n; i++) {
		json_t *one = json_object();

		dsm_lock_name(run, all->v[i].sum.id, name, sizeof(name));
		json_object_set_new(one, "name", json_string(name));
		set(one, "locks", all->v[i].sum.waits);
		set(one, "lock_wait_us", all->v[i].sum.wait_ns / 1000);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *processes_json(const struct dsm_run *run)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < run->processes; i++) {
		const struct dsm_stats *s = &run->reports[i].stats;
		json_t *one = json_object(), *kinds = json_object();

		for (size_t c = 0; c < COLUMNS; c++)
			set(one, columns[c].key, columns[c].value(s));
		for (int k = 1; k < DSM_MESSAGES; k++)
			set(kinds, dsm_message_name((enum dsm_message)k), s->core.messages[k]);
		json_object_set_new(one, "messages_by_kind", kinds);
		json_array_append_new(list, one);
	}
	return list;
}

struct shown {
	struct regions regions;
	struct locks locks;
};

static int write_json(const struct dsm_run *run, const struct shown *all, FILE *f)
{
	json_t *o = json_pack("{s:s, s:I, s:I, s:s, s:o, s:o, s:o}", "schema",
			      "sonde-dsm-stats-1", "pages", (json_int_t)run->pages, "unit",
			      (json_int_t)run->unit, "fault", run->fault->ops->name, "processes",
			      processes_json(run), "regions", regions_json(run, &all->regions),
			      "locks", locks_json(run, &all->locks));
	int err = o ? 0 : -ENOMEM;

	if (o && run->settings.races)
		json_object_set_new(o, "races", dsm_races_json(run));
	if (o && json_dumpf(o, f, JSON_INDENT(1) | JSON_SORT_KEYS))
		err = -EIO;
	fputc('\n', f);
	json_decref(o);
	return err;
}

static int write_file(const struct dsm_run *run, const struct shown *all)
{
	struct dsm_output o;
	int err = dsm_output_begin(&o, run->settings.stats_file), end;

	if (err)
		return err;
	err = write_json(run, all, o.file);
	end = dsm_output_end(&o);
	return err ? err : end;
}

static int show(const struct dsm_run *run, const struct shown *all)
{
	if (run->settings.stats_file)
		return write_file(run, all);
	if (run->settings.stats == DSM_STATS_JSON)
		return write_json(run, all, stderr);
	show_processes(run, stderr);
	show_regions(run, &all->regions, stderr);
	show_locks(run, &all->locks, stderr);
	return 0;
}

int dsm_stats_show(struct dsm_run *run)
{
	struct shown all = { .locks = { .n = 0 } };
	int err;

	if (!run->settings.stats)
		return 0;
	err = find_regions(run, &all.regions);
	if (!err)
		err = find_locks(run, &all.locks);
	if (!err)
		err = show(run, &all);
	if (err)
		fprintf(stderr, "sonde-dsm: the counters cannot be written%s%s: %s\n",
			run->settings.stats_file ? " to " : "",
			run->settings.stats_file ? run->settings.stats_file : "", strerror(-err));
	free(all.regions.v);
	free(all.regions.of);
	free(all.locks.v);
	return err;
}
