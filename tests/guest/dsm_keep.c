/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments with SONDE_DSM_KEEP: pages that are written time and again have no faults, and
 * are told of all the same. And SONDE_IOC_DSM_ACCESSED.
 */
#include "dsm_writers.h"
#include "region.h"

#define PAGES	64U
#define TWINS	16U
#define LOOKS	8	/* that find nothing, until a page is as others are */

static struct segment make_keeping(uint32_t npages, uint32_t ntwins, uint32_t unit)
{
	return make_segment_with(SONDE_DSM_KEEP, npages, ntwins, unit);
}

/* As a caller has to: what is taken is in the twin before that is given back. */
static void take(struct segment *s, const struct sonde_dsm_written *w)
{
	check(w->twin < s->ntwins);
	memcpy(s->twins + (size_t)w->twin * s->unit, s->alias + (size_t)w->page * s->unit, s->unit);
	untwin(s, w->page);
}

/* Writes @value to the page and expects it to be told of, with what was there. */
static void write_and_take(struct segment *s, uint32_t page, char value)
{
	const char was = s->alias[(size_t)page * s->unit];
	struct sonde_dsm_written w[2];

	page_at(s, page)[0] = value;
	check_int(collect(s, w, 2), 1);
	check_int(w[0].page, page);
	check_int(s->twins[(size_t)w[0].twin * s->unit], was);
	take(s, &w[0]);
}

/* A page that is kept, and whose writes up to now are taken. */
static struct segment make_with_kept(uint32_t page)
{
	struct segment s = make_keeping(PAGES, TWINS, SMALL_PAGE);

	write_and_take(&s, page, 1);
	check_int(told(&s, "kept"), 0);
	write_and_take(&s, page, 2);
	check_int(told(&s, "kept"), 1);
	return s;
}

static void pages_that_are_written_again_have_no_faults(void)
{
	static const uint32_t units[] = { 4096, 16384, 1 << 20 };
	struct segment s;
	size_t u;
	int i;

	for (u = 0; u < ARRAY_SIZE(units); u++) {
		s = make_keeping(8, 8, units[u]);
		for (i = 1; i <= 40; i++)
			write_and_take(&s, 3, i);
		check_int(told(&s, "kept"), 1);
		check(told(&s, "unseen") >= 30);
		check_int(told(&s, "writes") + told(&s, "unseen"), 40);
		check_int(told(&s, "misses"), 0);
		/* The last of its bytes are as good as the first. */
		page_at(&s, 3)[s.unit - 1] = 9;
		write_and_take(&s, 3, 41);
		end_segment(&s);
	}
}

static void without_the_flag_none_is_kept(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	int i;

	for (i = 1; i <= 10; i++)
		write_and_take(&s, 3, i);
	check_int(told(&s, "writes"), 10);
	check_int(told(&s, "kept"), 0);
	check_int(told(&s, "twins-free"), TWINS);
	end_segment(&s);
}

/* Other pages are told of between. */
static void pages_that_are_seldom_written_are_not_kept(void)
{
	struct segment s = make_keeping(PAGES, TWINS, SMALL_PAGE);
	int i, k;

	for (i = 1; i <= 10; i++) {
		write_and_take(&s, 3, i);
		for (k = 0; k < 8; k++)
			write_and_take(&s, 4 + (8 * i + k) % 59, i);
	}
	check_int(told(&s, "kept"), 0);
	check_int(told(&s, "unseen"), 0);
	end_segment(&s);
}

/* What is told in several calls is one interval. */
static void long_lists_are_kept_as_short_ones(void)
{
	struct segment s = make_keeping(PAGES, PAGES, SMALL_PAGE);
	struct sonde_dsm_written w[4];
	uint32_t i, n;
	int round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < PAGES; i++)
			page_at(&s, i)[0] = round + 1;
		do {
			n = collect(&s, w, 4);
			for (i = 0; i < n; i++)
				take(&s, &w[i]);
		} while (n == 4);
	}
	check_int(told(&s, "kept"), PAGES);
	check_int(told(&s, "unseen"), PAGES);
	end_segment(&s);
}

static void what_is_kept_in_vain_is_so_no_longer(void)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w;
	int i;

	check_int(told(&s, "twins-free"), TWINS - 1);
	for (i = 0; i < LOOKS; i++) {
		check_int(told(&s, "kept"), 1);
		check_int(collect(&s, &w, 1), 0);
	}
	check_int(told(&s, "kept"), 0);
	check_int(told(&s, "twins-free"), TWINS);
	write_and_take(&s, 3, 7);
	end_segment(&s);
}

static void reading_is_not_writing(void)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w;
	int i;

	for (i = 0; i < 5; i++) {
		check_int(page_at(&s, 3)[0], 2);
		check_int(collect(&s, &w, 1), 0);
	}
	write_and_take(&s, 3, 3);
	end_segment(&s);
}

static ssize_t read_into(char *at)
{
	int p[2];
	ssize_t got;

	check_int(pipe(p), 0);
	check_int(write(p[1], "x", 1), 1);
	got = read(p[0], at, 1);
	close(p[0]);
	close(p[1]);
	return got;
}

static void writes_of_system_calls_are_noted(void)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w;

	check_int(read_into(page_at(&s, 3) + 8), 1);
	check_int(collect(&s, &w, 1), 1);
	check_int(w.page, 3);
	check_int(s.twins[w.twin * SMALL_PAGE + 8], 0);
	check_int(s.alias[3 * SMALL_PAGE + 8], 'x');
	check_int(told(&s, "writes"), 2);
	end_segment(&s);
}

static void a_twin_stays_as_it_is_left(void)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w;
	uint32_t twin;

	page_at(&s, 3)[0] = 3;
	check_int(collect(&s, &w, 1), 1);
	twin = w.twin;
	s.twins[twin * SMALL_PAGE] = 77;
	untwin(&s, 3);
	check_int(told(&s, "twins-free"), TWINS - 1);
	page_at(&s, 3)[0] = 4;
	check_int(collect(&s, &w, 1), 1);
	check_int(w.twin, twin);
	check_int(s.twins[twin * SMALL_PAGE], 77);
	end_segment(&s);
}

static void a_protection_ends_it(uint32_t protection)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w[2];

	/* Written: what is not to be noted is not, and the rest is. */
	page_at(&s, 3)[0] = 3;
	protect(&s, 3, protection);
	check_int(told(&s, "kept"), 0);
	check_int(collect(&s, w, 2), protection != SONDE_DSM_WRITE);
	if (protection != SONDE_DSM_WRITE) {
		check_int(s.twins[w[0].twin * SMALL_PAGE], 2);
		check_int(s.alias[3 * SMALL_PAGE], 3);
		untwin(&s, 3);
	}
	check_int(told(&s, "kept"), 0);
	check_int(told(&s, "twins-free"), TWINS);
	/* With the same protection it is kept anew by the next. */
	if (protection == SONDE_DSM_READ) {
		write_and_take(&s, 3, 4);
		check_int(told(&s, "kept"), 1);
	}
	end_segment(&s);
	/* Not written: its twin is free, once nobody has it any more. */
	s = make_with_kept(3);
	protect(&s, 3, protection);
	check_int(collect(&s, w, 2), 0);
	check_int(told(&s, "twins-free"), TWINS);
	end_segment(&s);
	s = make_with_kept(3);
	page_at(&s, 3)[0] = 3;
	check_int(collect(&s, w, 2), 1);
	protect(&s, 3, protection);
	check_int(told(&s, "twins-free"), TWINS - 1);
	untwin(&s, 3);
	check_int(told(&s, "twins-free"), TWINS);
	end_segment(&s);
}

static void any_protection_ends_it(void)
{
	uint32_t protection;

	for (protection = SONDE_DSM_NONE; protection <= SONDE_DSM_WRITE; protection++)
		a_protection_ends_it(protection);
}

static void what_comes_and_goes_is_not_kept(void)
{
	struct segment s = make_keeping(PAGES, TWINS, SMALL_PAGE);
	int i;

	for (i = 1; i <= 10; i++) {
		write_and_take(&s, 3, i);
		protect(&s, 3, SONDE_DSM_NONE);
		protect(&s, 3, SONDE_DSM_READ);
	}
	check_int(told(&s, "writes"), 10);
	check_int(told(&s, "kept"), 0);
	end_segment(&s);
}

/* As many as there are twins; then another page is written. */
static void who_lacks_a_twin_gets_one_of_a_kept_page(void)
{
	struct segment s = make_keeping(PAGES, 2, SMALL_PAGE);
	struct sonde_dsm_written w[3];
	uint32_t n, i, round;
	struct touch t;

	/* The one that is free must not be kept from the others by the last page. */
	for (i = 1; i <= 4; i++)
		write_and_take(&s, 0, i);
	check_int(told(&s, "kept"), 1);
	for (round = 0; round < 8; round++) {
		page_at(&s, 1)[0] = round;
		begin_touch(&t, page_at(&s, 2 + round), true, 5);
		while (!t.done) {
			n = collect(&s, w, 3);
			for (i = 0; i < n; i++)
				take(&s, &w[i]);
			sched_yield();
		}
		end_touch(&t);
		while ((n = collect(&s, w, 3)))
			for (i = 0; i < n; i++)
				take(&s, &w[i]);
	}
	for (round = 0; round < 8; round++)
		check_int(s.alias[(2 + round) * SMALL_PAGE], 5);
	end_segment(&s);
}

static void lists_that_cannot_be_told_are_not_lost(void)
{
	struct segment s = make_with_kept(3);
	char *nowhere = map_small(SMALL_PAGE);
	struct sonde_dsm_written w[2];
	uint32_t n;
	int i;

	check_int(mprotect(nowhere, SMALL_PAGE, PROT_READ), 0);
	for (i = 3; i < 6; i++) {
		page_at(&s, 3)[0] = i;
		check_int(try_collect(&s, (void *)nowhere, 2, &n), -EFAULT);
		check_int(collect(&s, w, 2), 1);
		check_int(w[0].page, 3);
		check_int(s.twins[w[0].twin * SMALL_PAGE], i - 1);
		/* Nor told of twice, by the list of noted pages and that of kept ones. */
		check_int(told(&s, "kept"), 0);
		take(&s, &w[0]);
		check_int(collect(&s, w, 2), 0);
	}
	end_segment(&s);
}

/* What entries said goes with the view, so it counts as written. */
static void the_end_of_the_view_loses_no_write(void)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w;

	page_at(&s, 3)[0] = 3;
	check_int(munmap(s.view, PAGES * SMALL_PAGE), 0);
	check_int(told(&s, "kept"), 0);
	s.view = map_segment(s.fd, PAGES * SMALL_PAGE, SONDE_DSM_VIEW);
	check_int(collect(&s, &w, 1), 1);
	check_int(w.page, 3);
	check_int(s.twins[w.twin * SMALL_PAGE], 2);
	take(&s, &w);
	write_and_take(&s, 3, 4);
	end_segment(&s);
}

static void mprotect_of_the_whole_loses_no_write(void)
{
	struct segment s = make_with_kept(3);
	const size_t size = PAGES * SMALL_PAGE;
	struct sonde_dsm_written w;

	page_at(&s, 3)[0] = 3;
	check_int(mprotect(s.view, size, PROT_READ), 0);
	check_int(page_at(&s, 3)[0], 3);
	check_int(mprotect(s.view, size, PROT_NONE), 0);
	check_int(mprotect(s.view, size, PROT_READ | PROT_WRITE), 0);
	check_int(page_at(&s, 3)[0], 3);
	check_int(collect(&s, &w, 1), 1);
	take(&s, &w);
	write_and_take(&s, 3, 4);
	check_int(told(&s, "kept"), 1);
	end_segment(&s);
}

/* They are told of each change by a zap, so a kept page would have its fault. */
static void none_is_kept_where_others_watch_the_address_space(void)
{
	struct segment s = make_with_kept(3);
	int dev = open_node(MAIN_NODE), i;
	struct sonde_dsm_written w;
	uint32_t pages[] = { 3 };
	uint8_t accessed;

	check(export_region(dev, map_small(SMALL_PAGE), SMALL_PAGE, SONDE_REGION_READ) >= 0);
	/* What was kept before loses nothing. */
	page_at(&s, 3)[0] = 3;
	check_int(try_accessed(&s, pages, 1, &accessed), 0);
	check_int(accessed, 1);
	check_int(collect(&s, &w, 1), 1);
	check_int(s.twins[w.twin * SMALL_PAGE], 2);
	take(&s, &w);
	for (i = 4; i < 9; i++)
		write_and_take(&s, 3, i);
	protect(&s, 3, SONDE_DSM_READ);
	for (i = 9; i < 20; i++)
		write_and_take(&s, 3, i);
	check_int(told(&s, "kept"), 0);
	end_segment(&s);
}

/* ---- siblings on other processors --------------------------------------- */

static void no_write_is_lost_on_kept_pages(void)
{
	no_write_is_lost(SONDE_DSM_KEEP, SMALL_PAGE, 8, 8);
	no_write_is_lost(SONDE_DSM_KEEP, 16384, 4, 4);
}

static void no_write_is_lost_where_twins_are_few(void)
{
	no_write_is_lost(SONDE_DSM_KEEP, SMALL_PAGE, 16, 3);
	no_write_is_lost(SONDE_DSM_KEEP, SMALL_PAGE, 16, 15);
}

/* Ends it for some pages, and zaps any of them to flush. */
static void *disturb(void *arg)
{
	uint32_t pages[3], x = 1, i;
	uint8_t accessed[3];

	(void)arg;
	while (!run.stop) {
		for (i = 0; i < 3; i++)
			pages[i] = (x = x * 1664525 + 1013904223) >> 16 & 7;
		check_int(try_accessed(&run.s, pages, 3, accessed), 0);
		if (!(x >> 8 & 15))
			check_int(try_protect(&run.s, pages, 1, SONDE_DSM_READ), 0);
		sched_yield();
	}
	return NULL;
}

static void neither_beside_other_calls(void)
{
	run.disturb = disturb;
	no_write_is_lost(SONDE_DSM_KEEP, SMALL_PAGE, 8, 8);
	run.disturb = NULL;
}

/* ---- what was accessed -------------------------------------------------- */

static void accesses_are_told_once(void)
{
	static const uint32_t units[] = { 4096, 16384 };
	const uint32_t pages[] = { 5, 1, 2, 3, 5 };
	uint8_t accessed[5];
	struct segment s;
	size_t u;
	int i;

	for (u = 0; u < ARRAY_SIZE(units); u++) {
		s = make_segment(PAGES, TWINS, units[u]);
		check_int(try_accessed(&s, pages, 5, accessed), 0);
		check(!memcmp(accessed, "\0\0\0\0", 5));
		for (i = 0; i < 5; i++) {
			check_int(page_at(&s, 2)[s.unit - 1], 0);
			page_at(&s, 5)[0] = 1;
			check_int(try_accessed(&s, pages, 5, accessed), 0);
			check(!memcmp(accessed, "\1\0\1\0\0", 5));
		}
		check_int(try_accessed(&s, pages, 5, accessed), 0);
		check(!memcmp(accessed, "\0\0\0\0", 5));
		/* The alias is not what is asked about. */
		s.alias[0] = 1;
		check_int(try_accessed(&s, (uint32_t[]){ 0 }, 1, accessed), 0);
		check_int(accessed[0], 0);
		end_segment(&s);
	}
}

/* Entries that are taken back, or flushed with others, have said so before. */
static void accesses_outlive_their_entries(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	const uint32_t pages[] = { 1, 2, 3 };
	uint8_t accessed[3];

	check_int(page_at(&s, 1)[0], 0);
	check_int(try_accessed(&s, pages, 3, accessed), 0);
	check_int(page_at(&s, 1)[0], 0);
	protect(&s, 1, SONDE_DSM_NONE);
	page_at(&s, 3)[0] = 1;
	protect(&s, 3, SONDE_DSM_NONE);
	check_int(try_accessed(&s, pages, 3, accessed), 0);
	check(accessed[0] && !accessed[1] && accessed[2]);
	check_int(try_accessed(&s, pages, 3, accessed), 0);
	check(!accessed[0] && !accessed[1] && !accessed[2]);
	end_segment(&s);
}

static void a_look_does_not_hide_a_write(void)
{
	struct segment s = make_with_kept(3);
	struct sonde_dsm_written w;
	uint32_t pages[] = { 3 };
	uint8_t accessed;
	int i;

	for (i = 3; i < 10; i++) {
		page_at(&s, 3)[0] = i;
		check_int(try_accessed(&s, pages, 1, &accessed), 0);
		check_int(accessed, 1);
		check_int(collect(&s, &w, 1), 1);
		check_int(s.twins[w.twin * SMALL_PAGE], i - 1);
		take(&s, &w);
	}
	end_segment(&s);
}

static void what_makes_no_sense_is_refused(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	uint32_t pages[2] = { 0, PAGES };
	uint8_t accessed[2];

	check_int(try_accessed(&s, pages, 2, accessed), -EINVAL);
	check_int(try_accessed(&s, pages, SONDE_DSM_LIST + 1, accessed), -EINVAL);
	check_int(try_accessed(&s, (void *)1, 1, accessed), -EFAULT);
	check_int(try_accessed(&s, pages, 1, (void *)1), -EFAULT);
	check_int(try_accessed(&s, pages, 0, NULL), 0);
	end_segment(&s);
}

static const struct tap_test tests[] = {
	TAP_TEST(pages_that_are_written_again_have_no_faults),
	TAP_TEST(without_the_flag_none_is_kept),
	TAP_TEST(pages_that_are_seldom_written_are_not_kept),
	TAP_TEST(long_lists_are_kept_as_short_ones),
	TAP_TEST(what_is_kept_in_vain_is_so_no_longer),
	TAP_TEST(reading_is_not_writing),
	TAP_TEST(writes_of_system_calls_are_noted),
	TAP_TEST(a_twin_stays_as_it_is_left),
	TAP_TEST(any_protection_ends_it),
	TAP_TEST(what_comes_and_goes_is_not_kept),
	TAP_TEST(who_lacks_a_twin_gets_one_of_a_kept_page),
	TAP_TEST(lists_that_cannot_be_told_are_not_lost),
	TAP_TEST(the_end_of_the_view_loses_no_write),
	TAP_TEST(mprotect_of_the_whole_loses_no_write),
	TAP_TEST(none_is_kept_where_others_watch_the_address_space),
	TAP_TEST(no_write_is_lost_on_kept_pages),
	TAP_TEST(no_write_is_lost_where_twins_are_few),
	TAP_TEST(neither_beside_other_calls),
	TAP_TEST(accesses_are_told_once),
	TAP_TEST(accesses_outlive_their_entries),
	TAP_TEST(a_look_does_not_hide_a_write),
	TAP_TEST(what_makes_no_sense_is_refused),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
