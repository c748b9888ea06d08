/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each fault back end costs for a page, all of them by turns in each round and in
 * one process:
 *
 * write	the first write to a page that was readable, and its twin: in the handler
 *		where there is one; where writes are unnoticed, twins are kept and refreshed
 *		elsewhere, and that is in collect, miss and release
 * miss		a read of a page that is void, 4 KiB copied into the alias, and readable;
 *		where misses are events another thread does it
 * near		the same of a page that another process of this node has: where the back end
 *		copies it in the fault it is offered before, else it is a miss as above,
 *		so the message that would tell of it is left out
 * collect	a list of scattered pages that were written is write-protected, or listed
 *		and write-protected at once
 * void		a list of scattered pages becomes void
 * release	collect, and for each page the comparison with its twin, the packing of one
 *		word that was changed, and the twin's end, as dsm/core does it; and the same
 *		without dsm_diff_ahead() for the next page
 *
 * A sample is the time of CHUNK pages, divided by that; of lists, the processor time of
 * the thread for the whole list. Loops and calls are inside, nothing is subtracted.
 * Printed are medians over all samples with the 10th and 90th percentile, and the ratio to
 * the last back end.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <sonde/stats.h>

#include "../dsm/diff/diff.h"
#include "../dsm/fault/fault.h"
#include "../lib/rng.h"

#define UNIT	4096u
#define CHUNK	16u

enum { WRITE_RANDOM, WRITE_SEQUENTIAL, MISS, NEAR, COLLECT, VOID, RELEASE, RELEASE_PLAIN, CASES };

static const char *const cases[CASES] = {
	"write fault and twin, random", "write fault and twin, sequential",
	"read miss and copy, random", "read miss, page of this node, random",
	"collect, scattered", "void, scattered",
	"release, one word a page", "release, the next page not begun",
};

static const char *const names[] = { "module", "uffd-async", "uffd-sigbus", "sigsegv" };

#define NAMES	(sizeof(names) / sizeof(names[0]))

struct samples {
	double *v;
	size_t n, room;
};

struct bench {
	struct dsm_fault *f, *home;	/* whose pages are copied; NULL: the back end cannot */
	pthread_t server;
	int stop;
	uint64_t wrote;		/* so that each write changes its page */
	uint32_t rounds;	/* that were measured */
	void **twins;
	struct samples samples[CASES];
};

static uint32_t pages = 8192, list_pages = 512, rounds = 15;
static uint32_t *in_order, *shuffled, *scattered, *collected;
static unsigned char copy[UNIT];
static const struct dsm_diff_ops *diff;
static uint8_t *encoded;
static uint64_t masks[UNIT / DSM_BLOCK];
static struct sonde_rng rng;

static void die(const char *what, const char *why)
{
	fprintf(stderr, "dsm_fault: %s: %s\n", what, why);
	exit(1);
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p)
		die("memory", strerror(ENOMEM));
	return p;
}

static double read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* What takes long is interrupted by others, and needs no other thread. */
static double used_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

static void add(struct samples *s, double ns)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->v = realloc(s->v, s->room * sizeof(*s->v));
		if (!s->v)
			die("memory", strerror(ENOMEM));
	}
	s->v[s->n++] = ns;
}

/* ---- the pages ---- */

static void protect(struct dsm_fault *f, const uint32_t *v, size_t n, enum dsm_prot prot)
{
	if (f->ops->protect(f, v, n, prot))
		die(f->ops->name, f->why);
}

static void serve(void *ctx, uint32_t page, bool write)
{
	struct bench *b = ctx;

	if (write) {
		b->twins[page] = b->f->ops->twin(b->f, page);
		protect(b->f, &page, 1, DSM_WRITE);
	} else {
		memcpy(b->f->ops->page(b->f, page), copy, UNIT);
		protect(b->f, &page, 1, DSM_READ);
	}
}

static void *serve_events(void *arg)
{
	struct bench *b = arg;
	struct dsm_fault_event event;
	int got;

	while (!dsm_fault_wait(b->f, b->stop)) {
		while ((got = b->f->ops->next(b->f, &event)) == 1)
			serve(b, event.page, event.write);
		if (got < 0)
			die(b->f->ops->name, b->f->why);
	}
	return NULL;
}

static volatile uint64_t *word_of(const struct bench *b, uint32_t page)
{
	return (volatile uint64_t *)(void *)(b->f->view + (size_t)page * UNIT);
}

/* ---- the cases ---- */

/* Which of @v were written, @n that is, protected from here on. */
static const uint32_t *collect(struct bench *b, const uint32_t *v, size_t n)
{
	ssize_t got;

	if (!(b->f->caps & DSM_FAULT_WRITES)) {
		protect(b->f, v, n, DSM_READ);
		return v;
	}
	got = b->f->ops->written(b->f, collected, pages);
	if (got < 0)
		die(b->f->ops->name, b->f->why);
	if ((size_t)got != n)
		die(b->f->ops->name, "a written page is missing");
	for (size_t i = 0; i < n; i++)
		b->twins[collected[i]] = b->f->ops->twin(b->f, collected[i]);
	return collected;
}

/* As dsm/core: where writers are not stopped, the twin becomes what was sent. */
static void send_page(struct bench *b, uint32_t page)
{
	const struct dsm_fault_ops *ops = b->f->ops;
	unsigned char *twin = b->twins[page];
	size_t len = dsm_diff_encode(diff, ops->page(b->f, page), twin, UNIT, masks, encoded);

	if (!len)
		die(ops->name, "a change is missing");
	if (b->f->caps & DSM_FAULT_WRITES && dsm_diff_apply(diff, twin, NULL, UNIT, encoded, len))
		die(ops->name, "a diff is damaged");
	ops->untwin(b->f, page);
}

static void end_interval(struct bench *b, const uint32_t *v, size_t n)
{
	v = collect(b, v, n);
	for (size_t i = 0; i < n; i++)
		b->f->ops->untwin(b->f, v[i]);
}

static void write_pages(struct bench *b, const uint32_t *v, size_t n, struct samples *s)
{
	uint64_t number = ++b->wrote;

	for (size_t i = 0; i + CHUNK <= n; i += CHUNK) {
		double start = now_ns();

		for (size_t k = i; k < i + CHUNK; k++)
			*word_of(b, v[k]) = number;
		if (s)
			add(s, (now_ns() - start) / CHUNK);
	}
}

/* All pages are of version 1, and to be had at home. */
static void offer_all(struct bench *b)
{
	for (uint32_t i = 0; i < pages; i++)
		b->f->ops->offer(b->f, i, 0, 1);
}

static void withdraw_all(struct bench *b)
{
	uint64_t version;

	for (uint32_t i = 0; i < pages; i++)
		if (!b->f->ops->withdraw(b->f, i, &version))
			die(b->f->ops->name, "a page was not copied");
}

static void measure_miss(struct bench *b, int which)
{
	const bool is_near = which == NEAR && b->home;

	protect(b->f, in_order, pages, DSM_NONE);
	if (is_near)
		offer_all(b);
	for (size_t i = 0; i + CHUNK <= pages; i += CHUNK) {
		double start = now_ns();

		for (size_t k = i; k < i + CHUNK; k++)
			(void)*word_of(b, shuffled[k]);
		add(&b->samples[which], (now_ns() - start) / CHUNK);
	}
	if (is_near)
		withdraw_all(b);
}

static void measure_lists(struct bench *b)
{
	double start;

	write_pages(b, scattered, list_pages, NULL);
	start = used_ns();
	collect(b, scattered, list_pages);
	add(&b->samples[COLLECT], (used_ns() - start) / list_pages);
	for (size_t i = 0; i < list_pages; i++)
		b->f->ops->untwin(b->f, scattered[i]);
	start = used_ns();
	protect(b->f, scattered, list_pages, DSM_NONE);
	add(&b->samples[VOID], (used_ns() - start) / list_pages);
	protect(b->f, scattered, list_pages, DSM_READ);
}

/* The twin is there since the first write, or with the list. */
static void measure_release(struct bench *b, int which)
{
	const uint32_t *v;
	double start;

	write_pages(b, scattered, list_pages, NULL);
	start = used_ns();
	v = collect(b, scattered, list_pages);
	for (size_t i = 0; i < list_pages; i++) {
		if (which == RELEASE && i + 1 < list_pages)
			dsm_diff_ahead(b->f->ops->page(b->f, v[i + 1]), b->twins[v[i + 1]]);
		send_page(b, v[i]);
	}
	add(&b->samples[which], (used_ns() - start) / list_pages);
}

static void measure(struct bench *b)
{
	int first;

	write_pages(b, shuffled, pages, &b->samples[WRITE_RANDOM]);
	end_interval(b, in_order, pages);
	write_pages(b, in_order, pages, &b->samples[WRITE_SEQUENTIAL]);
	end_interval(b, in_order, pages);
	measure_miss(b, MISS);
	measure_miss(b, NEAR);
	measure_lists(b);
	/* Each is first as often: the first finds the pages further away. */
	first = b->rounds++ % 2 ? RELEASE : RELEASE_PLAIN;
	measure_release(b, first);
	measure_release(b, RELEASE + RELEASE_PLAIN - first);
}

/* ---- what is printed ---- */

struct line {
	double median, low, high;
	size_t n;
};

static struct line sum_up(struct samples *s)
{
	sonde_stats_sort(s->v, s->n);
	return (struct line){
		.median = sonde_stats_median(s->v, s->n), .n = s->n,
		.low = sonde_stats_quantile(s->v, s->n, 0.1),
		.high = sonde_stats_quantile(s->v, s->n, 0.9),
	};
}

static void print_table(struct bench *b, size_t n)
{
	for (int c = 0; c < CASES; c++) {
		double last = sum_up(&b[n - 1].samples[c]).median;

		printf("%s\n", cases[c]);
		for (size_t i = 0; i < n; i++) {
			struct line l = sum_up(&b[i].samples[c]);

			printf("  %-12s %8.0f ns  [%.0f..%.0f]  %.3f\n", b[i].f->ops->name,
			       l.median, l.low, l.high, l.median / last);
		}
	}
}

static int print_json(struct bench *b, size_t n)
{
	json_t *all = json_array(), *top;

	for (int c = 0; c < CASES; c++) {
		double last = sum_up(&b[n - 1].samples[c]).median;

		for (size_t i = 0; i < n; i++) {
			struct line l = sum_up(&b[i].samples[c]);

			json_array_append_new(all, json_pack("{s:s,s:s,s:f,s:f,s:f,s:i,s:f}",
				"case", cases[c], "back_end", b[i].f->ops->name,
				"median_ns", l.median, "p10_ns", l.low, "p90_ns", l.high,
				"samples", (int)l.n, "over_last", l.median / last));
		}
	}
	top = json_pack("{s:i,s:i,s:i,s:i,s:o}", "pages", (int)pages, "list",
			(int)list_pages, "unit", (int)UNIT,
			"rounds", (int)rounds, "results", all);
	if (!top || json_dumpf(top, stdout, JSON_INDENT(1)))
		return 1;
	putchar('\n');
	json_decref(top);
	return 0;
}

static void print_head(void)
{
	struct utsname u;
	double load;

	uname(&u);
	if (getloadavg(&load, 1) != 1)
		load = -1;
	printf("Linux %s, %ld CPUs, load %.1f, %u pages of %u bytes, lists of %u, %u rounds\n"
	       "nanoseconds a page: median [10th..90th percentile], over the last back end\n",
	       u.release, sysconf(_SC_NPROCESSORS_ONLN), load, pages, UNIT, list_pages, rounds);
}

/* ---- life ---- */

/* Another memory of the kind, whose pages are all there. */
static void open_home(struct bench *b, const struct dsm_fault_config *config)
{
	char why[400] = "";

	if (!(b->f->caps & DSM_FAULT_PEERS))
		return;
	if (dsm_fault_create(&b->home, b->f->ops->name, config, why, sizeof(why)))
		die(b->f->ops->name, why);
	if (b->f->ops->peers(b->f, &b->home->fd, 1))
		die(b->f->ops->name, b->f->why);
	memset(b->home->alias, 1, (size_t)pages * UNIT);
	for (uint32_t i = 0; i < pages; i++)
		b->home->ops->publish(b->home, i, 1);
}

static bool open_back_end(struct bench *b, const char *name)
{
	struct dsm_fault_config config = {
		.pages = pages, .unit = UNIT, .ctx = b, .fault = serve,
	};
	char why[400] = "";

	if (dsm_fault_create(&b->f, name, &config, why, sizeof(why))) {
		fprintf(stderr, "dsm_fault: left out: %s%s", why, strchr(why, '\n') ? "" : "\n");
		return false;
	}
	b->twins = get(pages, sizeof(*b->twins));
	b->stop = eventfd(0, EFD_CLOEXEC);
	if (b->f->caps & DSM_FAULT_EVENTS && pthread_create(&b->server, NULL, serve_events, b))
		die(name, "no thread");
	open_home(b, &config);
	/* All pages are there, in both views. */
	write_pages(b, in_order, pages, NULL);
	end_interval(b, in_order, pages);
	return true;
}

static void close_back_end(struct bench *b)
{
	uint64_t one = 1;

	if (b->f->caps & DSM_FAULT_EVENTS) {
		if (write(b->stop, &one, sizeof(one)) != sizeof(one))
			die("eventfd", strerror(errno));
		pthread_join(b->server, NULL);
	}
	close(b->stop);
	b->f->ops->destroy(b->f);
	if (b->home)
		b->home->ops->destroy(b->home);
	free(b->twins);
	for (int c = 0; c < CASES; c++)
		free(b->samples[c].v);
}

/* One of each so many pages, never two neighbours. */
static void make_lists(void)
{
	uint32_t every = pages / list_pages;

	in_order = get(pages, sizeof(*in_order));
	shuffled = get(pages, sizeof(*shuffled));
	scattered = get(pages, sizeof(*scattered));
	collected = get(pages, sizeof(*collected));
	encoded = get(1, dsm_diff_bound(UNIT));
	sonde_rng_seed(&rng, 1);
	for (uint32_t i = 0; i < pages; i++) {
		uint32_t k = (uint32_t)sonde_rng_below(&rng, i + 1);

		in_order[i] = i;
		shuffled[i] = shuffled[k];
		shuffled[k] = i;
	}
	for (uint32_t i = 0; i < list_pages; i++)
		scattered[i] = i * every + (uint32_t)sonde_rng_below(&rng, every - 1);
}

/* Takes the next name off @list; false if it is none of ours. */
static bool take_name(const char **list, bool *chosen)
{
	size_t len = strcspn(*list, ",");

	for (size_t i = 0; i < NAMES; i++) {
		if (strlen(names[i]) != len || strncmp(names[i], *list, len))
			continue;
		chosen[i] = true;
		*list += len + ((*list)[len] == ',');
		return true;
	}
	return false;
}

static bool take_names(const char *list, bool *chosen)
{
	do
		if (!take_name(&list, chosen))
			return false;
	while (*list);
	return true;
}

static int refuse(const char *why)
{
	fprintf(stderr, "dsm_fault: %s; see --help\n", why);
	return 2;
}

static int help(void)
{
	printf("dsm_fault [--pages N] [--list N] [--rounds N] [--back-ends NAME,...] [--json]\n"
	       "what each fault back end of libsonde-dsm costs for a page\n"
	       "  --pages N      pages of each memory, a multiple of 1024 (8192)\n"
	       "  --list N       scattered pages, at most half of all, a multiple of 16 (512)\n"
	       "  --rounds N     (15)\n"
	       "  --back-ends L  of module, uffd-async, uffd-sigbus, sigsegv (all that work)\n"
	       "  --json         as JSON\n");
	return 0;
}

static bool take_number(const char *text, uint32_t max, uint32_t *number)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	*number = (uint32_t)v;
	return *text >= '0' && *text <= '9' && !*end && v >= 1 && v <= max;
}

static int measure_all(struct bench *benches, size_t n, bool json)
{
	int status = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\rround %u of %u ", round + 1, rounds);
		for (size_t i = 0; i < n; i++)
			measure(&benches[(i + round) % n]);
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
	if (json) {
		status = print_json(benches, n);
	} else {
		print_head();
		print_table(benches, n);
	}
	for (size_t i = 0; i < n; i++)
		close_back_end(&benches[i]);
	return status;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "pages", required_argument, NULL, 'p' }, { "list", required_argument, NULL, 'l' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "back-ends", required_argument, NULL, 'b' }, { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	struct bench benches[NAMES] = { 0 };
	bool chosen[NAMES] = { 0 }, all = true, json = false;
	size_t n = 0;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'h')
			return help();
		if (c == 'j')
			json = true;
		else if (c == 'b')
			all = false;
		else if (c == '?')
			return refuse("no such option");
		if (c == 'b' && !take_names(optarg, chosen))
			return refuse("--back-ends are of module, uffd-async, uffd-sigbus, sigsegv");
		if (c == 'p' && (!take_number(optarg, 1U << 20, &pages) || pages % 1024))
			return refuse("--pages is a multiple of 1024, at most 1048576");
		if (c == 'l' && (!take_number(optarg, 1U << 19, &list_pages) || list_pages % CHUNK))
			return refuse("--list is a multiple of 16");
		if (c == 'r' && !take_number(optarg, 10000, &rounds))
			return refuse("--rounds is a number from 1 to 10000");
	}
	if (optind < argc)
		return refuse("there are no arguments but options");
	if (list_pages > pages / 2)
		return refuse("--list is at most half of --pages");
	diff = dsm_diff_best();
	make_lists();
	for (size_t i = 0; i < NAMES; i++)
		if ((all || chosen[i]) && open_back_end(&benches[n], names[i]))
			n++;
	if (!n) {
		fprintf(stderr, "dsm_fault: no back end works here\n");
		return 77;
	}
	return measure_all(benches, n, json);
}
