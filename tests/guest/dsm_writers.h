/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that write to all pages of a segment all the time, while what they wrote is
 * collected and carried home: not one write may be missing there in the end.
 */
#ifndef TESTS_GUEST_DSM_WRITERS_H
#define TESTS_GUEST_DSM_WRITERS_H

#include "dsm.h"

static struct {
	struct segment s;
	_Atomic int stop;
	_Atomic uint64_t looks;
	void *(*disturb)(void *);	/* runs beside it, may be NULL */
} run;

/* Other threads count in all pages; page @i's counters are not two threads'. */
static void *count_in_pages(void *arg)
{
	const size_t me = (size_t)arg, unit = run.s.unit;
	uint32_t x = me + 1, page;
	volatile uint32_t *at;

	while (!run.stop) {
		x = x * 1664525 + 1013904223;
		page = (x >> 16) % run.s.npages;
		at = (volatile uint32_t *)(void *)(page_at(&run.s, page) +
					   (x >> 8) % 8 * (unit / 8)) + me;
		++*at;
		run.looks++;
	}
	return NULL;
}

/* What a diff would carry: words of the page that differ from its twin. */
static void apply_diff(uint32_t *home, const struct sonde_dsm_written *w)
{
	const size_t words = run.s.unit / sizeof(uint32_t);
	const uint32_t *now = (const uint32_t *)(void *)run.s.alias + w->page * words;
	uint32_t *twin = (uint32_t *)(void *)run.s.twins + w->twin * words;
	size_t i;

	for (i = 0; i < words; i++) {
		const uint32_t word = ((const volatile uint32_t *)now)[i];

		if (word != twin[i])
			home[w->page * words + i] = twin[i] = word;
	}
}

static void ship_diffs(uint32_t *home)
{
	struct sonde_dsm_written w[8];
	uint32_t i, n;

	n = collect(&run.s, w, 8);
	for (i = 0; i < n; i++) {
		check(w[i].twin != SONDE_DSM_NO_TWIN);
		apply_diff(home, &w[i]);
		untwin(&run.s, w[i].page);
	}
}

/* First writes that were noticed, in either way. */
static unsigned long long count_noticed(void)
{
	return told(&run.s, "writes") + told(&run.s, "unseen");
}

static void no_write_is_lost(uint32_t flags, uint32_t unit, uint32_t npages, uint32_t ntwins)
{
	const size_t size = (size_t)npages * unit;
	uint32_t *home = calloc(1, size);
	time_t deadline = time(NULL) + 60, soon = time(NULL) + 3;
	struct sonde_dsm_event event;
	pthread_t threads[2], other;
	size_t i, rounds;

	check(home);
	run.s = make_segment_with(flags, npages, ntwins, unit);
	run.stop = 0;
	run.looks = 0;
	for (i = 0; i < 2; i++)
		check_int(pthread_create(&threads[i], NULL, count_in_pages, (void *)i), 0);
	if (run.disturb)
		check_int(pthread_create(&other, NULL, run.disturb, NULL), 0);
	for (rounds = 0; time(NULL) < soon || (time(NULL) < deadline &&
	     (rounds < 100 || count_noticed() < 100)); rounds++) {
		while (next_event(&run.s, &event))
			check_int(event.flags, SONDE_DSM_EVENT_WRITE);
		ship_diffs(home);
	}
	run.stop = 1;
	/* Whoever lacks a twin is to come to an end. */
	while (told(&run.s, "written") || told(&run.s, "twins-free") < ntwins)
		ship_diffs(home);
	for (i = 0; i < 2; i++)
		check_int(pthread_join(threads[i], NULL), 0);
	if (run.disturb)
		check_int(pthread_join(other, NULL), 0);
	while (told(&run.s, "written") || told(&run.s, "twins-free") < ntwins)
		ship_diffs(home);
	check(!memcmp(home, run.s.alias, size));
	printf("# %zu rounds, %llu writes, %llu faults, %llu unseen, %llu waits\n", rounds,
	       (unsigned long long)run.looks, told(&run.s, "writes"),
	       told(&run.s, "unseen"), told(&run.s, "misses"));
	check(rounds >= 100 && count_noticed() >= 100);
	check_int(told(&run.s, "twins-free"), ntwins);
	end_segment(&run.s);
	free(home);
}

#endif
