// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What every fault back end promises, asked of each that works here (_i); where the unit
 * matters, also with four of them.
 */
#include <sched.h>
#include <sys/mman.h>

#include "../../lib/rng.h"
#include "fault_rig.h"

#define PAGES	24u
#define THREADS	3

static const uint32_t units[] = { 4096, 8192, 16384, 65536 };

#define UNITS	4

static struct rig *create_unit(int i)
{
	return rig_create(rig_here[i / UNITS], PAGES, units[i % UNITS]);
}

/* ---- pages ---- */

START_TEST(pages_begin_as_zeros_that_nobody_wrote)
{
	struct rig *r = create_unit(_i);
	unsigned int sum = 0;

	for (size_t i = 0; i < (size_t)PAGES * r->unit; i++)
		sum |= r->f->view[i];
	ck_assert_uint_eq(0, sum);
	ck_assert_uint_eq(0, rig_release(r));
	ck_assert_uint_eq(0, r->served);
	rig_destroy(r);
}
END_TEST

START_TEST(view_and_alias_are_the_same_pages)
{
	struct rig *r = create_unit(_i);

	for (uint32_t page = 0; page < PAGES; page++) {
		rig_view(r, page)[page] = (unsigned char)(page + 1);
		rig_alias(r, page)[r->unit - 1] = (unsigned char)(page + 100);
	}
	for (uint32_t page = 0; page < PAGES; page++) {
		ck_assert_uint_eq(page + 1, rig_alias(r, page)[page]);
		ck_assert_uint_eq(page + 100, rig_view(r, page)[r->unit - 1]);
	}
	rig_destroy(r);
}
END_TEST

START_TEST(written_pages_are_listed_and_no_others)
{
	struct rig *r = create_unit(_i);
	volatile unsigned char *view = r->f->view;

	for (int round = 0; round < 3; round++) {
		for (uint32_t page = 0; page < PAGES; page++)
			(void)view[(size_t)page * r->unit];
		view[3 * r->unit] = 1;
		view[4 * r->unit - 1] = 1;
		view[7 * r->unit + r->unit / 2] = 1;
		view[(PAGES - 1) * r->unit] = 1;
		ck_assert_uint_eq(3, rig_release(r));
		ck_assert_uint_eq(3, r->list[0]);
		ck_assert_uint_eq(7, r->list[1]);
		ck_assert_uint_eq(PAGES - 1, r->list[2]);
	}
	ck_assert_uint_eq(0, rig_release(r));
	rig_destroy(r);
}
END_TEST

START_TEST(what_the_alias_writes_is_not_noticed)
{
	struct rig *r = create_unit(_i);
	volatile unsigned char *view = r->f->view;

	/* Never seen by the view; seen by it. */
	memset(rig_alias(r, 5), 1, r->unit);
	(void)view[6 * r->unit];
	memset(rig_alias(r, 6), 2, r->unit);
	ck_assert_uint_eq(0, rig_release(r));
	ck_assert_uint_eq(1, view[5 * r->unit]);
	ck_assert_uint_eq(2, view[6 * r->unit]);
	ck_assert_uint_eq(0, rig_release(r));
	view[5 * r->unit] = 9;
	ck_assert_uint_eq(1, rig_release(r));
	ck_assert_uint_eq(5, r->list[0]);
	rig_destroy(r);
}
END_TEST

START_TEST(a_twin_is_the_page_before_the_first_write)
{
	struct rig *r = create_unit(_i);
	uint32_t page = 2;
	unsigned char *view = rig_view(r, page);

	/* As it began, as it was released, as it came. */
	for (unsigned char round = 0; round < 9; round++) {
		unsigned char before[2] = { view[0], view[r->unit - 1] };

		if (round % 3 == 2) {
			memset(rig_home(r, page), round * 10, r->unit);
			rig_void(r, &page, 1);
			before[0] = before[1] = round * 10;
		}
		view[0] = round + 1;
		view[0] = round + 2;
		view[r->unit - 1] = round + 3;
		pthread_mutex_lock(&r->lock);
		rig_collect(r);
		ck_assert(r->dirty[page]);
		ck_assert_uint_eq(before[0], ((unsigned char *)r->twin[page])[0]);
		ck_assert_uint_eq(before[1], ((unsigned char *)r->twin[page])[r->unit - 1]);
		pthread_mutex_unlock(&r->lock);
		ck_assert_uint_eq(1, rig_release(r));
		ck_assert_int_eq(0, memcmp(rig_home(r, page), view, r->unit));
	}
	rig_destroy(r);
}
END_TEST

START_TEST(a_page_that_may_be_written_is_not_noticed)
{
	struct rig *r = create_unit(_i);
	uint32_t pages[] = { 1, 2, 9 };

	rig_view(r, 2)[0] = 1;		/* not asked for before */
	rig_release(r);
	rig_set(r, pages, 3, DSM_WRITE);
	r->served = 0;
	for (int i = 0; i < 3; i++)
		rig_view(r, pages[i])[100] = 7;
	ck_assert_uint_eq(0, rig_release(r));
	ck_assert_uint_eq(0, r->served);
	rig_set(r, pages, 3, DSM_READ);
	ck_assert_uint_eq(0, rig_release(r));
	for (int i = 0; i < 3; i++)
		rig_view(r, pages[i])[100] = 8;
	pthread_mutex_lock(&r->lock);
	rig_collect(r);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(7, ((unsigned char *)r->twin[pages[i]])[100]);
	pthread_mutex_unlock(&r->lock);
	ck_assert_uint_eq(3, rig_release(r));
	rig_set(r, pages, 3, DSM_WRITE);
	rig_view(r, pages[1])[100] = 9;
	rig_void(r, pages, 3);
	ck_assert_uint_eq(0, rig_release(r));
	rig_destroy(r);
}
END_TEST

START_TEST(a_page_that_was_written_until_it_was_void_is_listed)
{
	struct rig *r = create_unit(_i);
	uint32_t pages[] = { 3, 4, 5 };

	rig_view(r, 3)[10] = 1;
	rig_view(r, 5)[r->unit - 1] = 2;
	rig_home(r, 3)[11] = 3;
	rig_void(r, pages, 3);
	ck_assert(r->dirty[3] && !r->dirty[4] && r->dirty[5]);
	/* Under our changes. */
	ck_assert_uint_eq(1, rig_view(r, 3)[10]);
	ck_assert_uint_eq(3, rig_view(r, 3)[11]);
	ck_assert_uint_eq(2, rig_release(r));
	ck_assert_uint_eq(1, rig_home(r, 3)[10]);
	ck_assert_uint_eq(2, rig_home(r, 5)[r->unit - 1]);
	ck_assert_uint_eq(0, rig_release(r));
	rig_destroy(r);
}
END_TEST

START_TEST(scattered_lists_in_any_order_are_protected)
{
	struct rig *r = create_unit(_i);
	uint32_t pages[] = { 9, 3, 4, 5, 23, 0, 12, 11 };

	for (uint32_t page = 0; page < PAGES; page++)
		memset(rig_view(r, page), 1, r->unit);
	ck_assert_uint_eq(PAGES, rig_release(r));
	for (int i = 0; i < 8; i++)
		memset(rig_home(r, pages[i]), 2, r->unit);
	rig_void(r, pages, 8);
	r->served = 0;
	for (uint32_t page = 0; page < PAGES; page++) {
		unsigned char expected = 1;

		for (int i = 0; i < 8; i++)
			expected = pages[i] == page ? 2 : expected;
		ck_assert_uint_eq(expected, rig_view(r, page)[r->unit - 1]);
		ck_assert_uint_eq(expected, rig_view(r, page)[0]);
	}
	ck_assert_uint_eq(8, r->served);
	rig_set(r, pages, 8, DSM_WRITE);
	rig_set(r, pages + 2, 5, DSM_READ);
	rig_void(r, pages + 1, 3);
	ck_assert_uint_eq(2, rig_view(r, 5)[0]);
	ck_assert_uint_eq(9, r->served);
	rig_destroy(r);
}
END_TEST

/* All of what one page of the page table is for, written and void at once. */
START_TEST(a_large_range_that_was_written_until_it_was_void_is_listed)
{
	uint32_t n = 2048, pages[2048];
	struct rig *r = rig_create(rig_here[_i], n, 4096);

	for (uint32_t i = 0; i < n; i++)
		pages[i] = i;
	for (uint32_t i = 0; i < n; i++)
		rig_view(r, i)[i % 4096] = 5;
	rig_void(r, pages, n);
	ck_assert_uint_eq(n, rig_release(r));
	for (uint32_t i = 0; i < n; i++)
		ck_assert_uint_eq(5, rig_home(r, i)[i % 4096]);
	rig_destroy(r);
}
END_TEST

START_TEST(a_short_list_is_continued)
{
	struct rig *r = create_unit(_i);
	uint32_t got[PAGES], n = 0;
	ssize_t some;

	if (rig_has(r, DSM_FAULT_WRITES)) {
		for (uint32_t page = 0; page < PAGES; page += 2)
			memset(rig_view(r, page), 1, r->unit);
		while ((some = r->f->ops->written(r->f, got, 5)) > 0)
			for (ssize_t i = 0; i < some; i++)
				n |= 1U << got[i];
		ck_assert_int_eq(0, some);
		ck_assert_uint_eq(0x555555, n);
	}
	rig_destroy(r);
}
END_TEST

/* ---- threads ---- */

struct worker {
	struct rig *r;
	pthread_t thread;
	uint32_t number;
	atomic_bool *stop;
	struct worker *others;
	uint64_t wrong;
	_Atomic(uint64_t) done;
};

/* A race that nobody took part in says nothing. */
static bool all_did(const struct worker *w, uint64_t least)
{
	for (int i = 0; i < THREADS; i++)
		if (atomic_load(&w[i].done) < least)
			return false;
	return true;
}

static void start(struct worker *w, struct rig *r, atomic_bool *stop, void *(*work)(void *))
{
	for (uint32_t i = 0; i < THREADS; i++) {
		w[i] = (struct worker){ .r = r, .number = i, .stop = stop };
		ck_assert_int_eq(0, pthread_create(&w[i].thread, NULL, work, &w[i]));
	}
}

static uint64_t *words_of(struct rig *r, uint32_t page)
{
	return (uint64_t *)(void *)rig_view(r, page);
}

/*
 * A page comes with one number in all its words, larger each time: who has seen one of
 * them never sees a smaller one behind it.
 */
static void *read_pages(void *arg)
{
	struct worker *w = arg;
	uint32_t words = w->r->unit / 8;
	struct sonde_rng rng;

	sonde_rng_seed(&rng, w->number);
	while (!atomic_load(w->stop)) {
		uint64_t *p = words_of(w->r, (uint32_t)sonde_rng_below(&rng, 4));
		uint64_t last = 0;

		for (uint32_t i = 0; i < 16; i++) {
			uint32_t at = i ? (uint32_t)sonde_rng_below(&rng, words) : 0;
			uint64_t now = __atomic_load_n(&p[at], __ATOMIC_ACQUIRE);

			w->wrong += now < last;
			last = now;
		}
		w->done++;
	}
	return NULL;
}

START_TEST(a_page_comes_whole)
{
	struct rig *r = create_unit(_i);
	uint32_t pages[] = { 0, 1, 2, 3 };
	struct worker w[THREADS];
	atomic_bool stop = false;

	start(w, r, &stop, read_pages);
	for (uint64_t version = 1; version < 100 || !all_did(w, 50); version++) {
		pthread_mutex_lock(&r->lock);
		for (uint32_t page = 0; page < 4; page++)
			for (uint32_t i = 0; i < r->unit / 8; i++)
				((uint64_t *)(void *)rig_home(r, page))[i] = version;
		pthread_mutex_unlock(&r->lock);
		rig_void(r, pages + version % 3, 1 + version % 2);
	}
	atomic_store(&stop, true);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		ck_assert_uint_eq(0, w[i].wrong);
	}
	rig_destroy(r);
}
END_TEST

/* Each thread has a word of its own in each page, and counts there. */
static void *count(void *arg)
{
	struct worker *w = arg;
	struct sonde_rng rng;

	sonde_rng_seed(&rng, w->number + 10);
	while (!atomic_load(w->stop)) {
		uint32_t page = (uint32_t)sonde_rng_below(&rng, PAGES);

		__atomic_fetch_add(&words_of(w->r, page)[w->number * 97], 1, __ATOMIC_RELAXED);
		w->done++;
	}
	return NULL;
}

static void check_counts(struct rig *r, const struct worker *w)
{
	uint64_t at_home = 0, here = 0;

	for (uint32_t page = 0; page < PAGES; page++) {
		here += words_of(r, page)[w->number * 97];
		at_home += ((uint64_t *)(void *)rig_home(r, page))[w->number * 97];
	}
	ck_assert_uint_eq(w->done, here);
	ck_assert_uint_eq(w->done, at_home);
}

/* As the kernel does it that is short of memory: nobody is told. False: it never does here. */
static bool take_away(struct rig *r, uint32_t page, uint32_t n)
{
	if (!madvise(rig_view(r, page), (size_t)n * r->unit, MADV_DONTNEED))
		return true;
	ck_assert_int_eq(EINVAL, errno);
	return false;
}

START_TEST(that_a_page_was_written_is_known_when_the_kernel_took_it_away)
{
	struct rig *r = create_unit(_i);
	volatile unsigned char *view = r->f->view;

	view[2 * r->unit] = 1;
	view[4 * r->unit - 1] = 1;
	(void)view[5 * r->unit];
	take_away(r, 0, PAGES);
	(void)view[2 * r->unit];
	(void)view[5 * r->unit];
	ck_assert_uint_eq(2, rig_release(r));
	ck_assert_uint_eq(2, r->list[0]);
	ck_assert_uint_eq(3, r->list[1]);
	take_away(r, 0, PAGES);
	(void)view[2 * r->unit];
	ck_assert_uint_eq(0, rig_release(r));
	view[2 * r->unit] = 2;
	ck_assert_uint_eq(1, rig_release(r));
	rig_destroy(r);
}
END_TEST

/* One each time that the others got on, however slow a fault is. */
static void *take_pages_away(void *arg)
{
	struct worker *w = arg;
	uint64_t last = 0, done;
	struct sonde_rng rng;

	sonde_rng_seed(&rng, 1);
	while (!atomic_load(w->stop)) {
		done = 0;
		for (int i = 0; i < THREADS; i++)
			done += atomic_load(&w->others[i].done);
		if (done == last)
			sched_yield();
		else if (!take_away(w->r, (uint32_t)sonde_rng_below(&rng, PAGES), 1))
			break;
		last = done;
	}
	return NULL;
}

/* With releases and pages that become void all the while. */
static void write_and_release(int i, bool losing)
{
	struct rig *r = create_unit(i);
	struct worker w[THREADS], loser;
	atomic_bool stop = false;
	struct sonde_rng rng;

	sonde_rng_seed(&rng, (uint64_t)i);
	start(w, r, &stop, count);
	loser = (struct worker){ .r = r, .stop = &stop, .others = w };
	if (losing)
		pthread_create(&loser.thread, NULL, take_pages_away, &loser);
	for (int round = 0; round < 100 || !all_did(w, 300); round++) {
		uint32_t page = (uint32_t)sonde_rng_below(&rng, PAGES - 3);
		uint32_t list[] = { page + 2, page, page + 1 };

		rig_release(r);
		rig_void(r, list, 1 + (size_t)sonde_rng_below(&rng, 3));
	}
	atomic_store(&stop, true);
	for (int t = 0; t < THREADS; t++)
		pthread_join(w[t].thread, NULL);
	if (losing)
		pthread_join(loser.thread, NULL);
	rig_release(r);
	for (int t = 0; t < THREADS; t++)
		check_counts(r, &w[t]);
	ck_assert_uint_eq(0, rig_release(r));
	rig_destroy(r);
}

START_TEST(no_write_is_lost_while_threads_go_on_writing)
{
	write_and_release(_i, false);
}
END_TEST

START_TEST(no_write_is_lost_when_the_kernel_takes_pages_away)
{
	write_and_release(_i, true);
}
END_TEST

static void *touch_all(void *arg)
{
	struct worker *w = arg;

	for (uint32_t page = 0; page < w->r->pages; page++)
		w->done += words_of(w->r, page)[5];
	return NULL;
}

START_TEST(threads_that_miss_one_page_all_go_on)
{
	struct rig *r = create_unit(_i);
	uint32_t pages[PAGES];
	struct worker w[8];

	for (uint32_t page = 0; page < PAGES; page++) {
		pages[page] = page;
		((uint64_t *)(void *)rig_home(r, page))[5] = page;
	}
	rig_void(r, pages, PAGES);
	for (uint32_t i = 0; i < 8; i++) {
		w[i] = (struct worker){ .r = r };
		pthread_create(&w[i].thread, NULL, touch_all, &w[i]);
	}
	for (uint32_t i = 0; i < 8; i++) {
		pthread_join(w[i].thread, NULL);
		ck_assert_uint_eq(PAGES * (PAGES - 1) / 2, w[i].done);
	}
	rig_destroy(r);
}
END_TEST

static Suite *suite(void)
{
	const TTest *each[] = {
		pages_begin_as_zeros_that_nobody_wrote, view_and_alias_are_the_same_pages,
		written_pages_are_listed_and_no_others, what_the_alias_writes_is_not_noticed,
		a_twin_is_the_page_before_the_first_write,
		a_page_that_may_be_written_is_not_noticed,
		a_page_that_was_written_until_it_was_void_is_listed,
		scattered_lists_in_any_order_are_protected, a_short_list_is_continued,
		that_a_page_was_written_is_known_when_the_kernel_took_it_away,
		a_page_comes_whole, no_write_is_lost_while_threads_go_on_writing,
		no_write_is_lost_when_the_kernel_takes_pages_away,
		threads_that_miss_one_page_all_go_on,
	};
	TCase *tcase = tcase_create("fault");
	Suite *s = suite_create("dsm fault");

	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		tcase_add_loop_test(tcase, each[i], 0, rig_count * UNITS);
	tcase_add_loop_test(tcase, a_large_range_that_was_written_until_it_was_void_is_listed,
			    0, rig_count);
	suite_add_tcase(s, tcase);
	return s;
}

int main(void)
{
	rig_look();
	return tap_run(suite());
}
