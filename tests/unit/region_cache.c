// SPDX-License-Identifier: GPL-2.0-or-later
/* The registration cache: found by address, bounded, never stale, by several threads. */
#include <pthread.h>
#include <stdint.h>

#include "../../lib/rng.h"
#include "regions.h"

#define PAGE	4096
#define BYTES	(64 * PAGE)

static struct sonde_transfer *t;
static unsigned char *p;

static void open_transfer(void)
{
	t = open_way(SONDE_TRANSFER_SHM);
	p = get_memory(t, BYTES);
}

static void close_transfer(void)
{
	sonde_transfer_close(t);
}

static struct sonde_region_cache *open_cache(size_t regions, uint64_t bytes)
{
	struct sonde_region_cache *cache = NULL;

	ck_assert_int_eq(sonde_region_cache_open(t, regions, bytes, &cache), 0);
	return cache;
}

/* Got, looked at and put back. */
static struct sonde_region *touch(struct sonde_region_cache *cache, size_t at, size_t len,
				  unsigned int rights)
{
	struct sonde_region *region = NULL;
	unsigned char got;
	uint64_t offset = UINT64_MAX;

	ck_assert_int_eq(sonde_region_cache_get(cache, p + at, len, rights, &region, &offset), 0);
	ck_assert_uint_eq(sonde_region_rights(region), rights);
	ck_assert_uint_le(offset + len, sonde_region_bytes(region));
	if (rights & SONDE_REGION_READ) {
		ck_assert_int_eq(sonde_region_read(region, offset + len - 1, &got, 1), 1);
		ck_assert_uint_eq(got, p[at + len - 1]);
	}
	sonde_region_cache_put(cache, region);
	return region;
}

static struct sonde_region_cache_counts count(struct sonde_region_cache *cache)
{
	struct sonde_region_cache_counts counts;

	sonde_region_cache_count(cache, &counts);
	return counts;
}

#define check_counts(cache, r, h, m, s, e) \
	do { \
		struct sonde_region_cache_counts c_ = count(cache); \
		ck_assert_msg(c_.regions == (r) && c_.hits == (h) && c_.misses == (m) && \
			      c_.stale == (s) && c_.evicted == (e), \
			      "regions %zu hits %lu misses %lu stale %lu evicted %lu", c_.regions, \
			      c_.hits, c_.misses, c_.stale, c_.evicted); \
	} while (0)

START_TEST(the_same_buffer_is_exported_once)
{
	struct sonde_region_cache *cache = open_cache(10, BYTES);
	struct sonde_region *first = touch(cache, 100, 5000, RW);

	for (int i = 0; i < 10; i++)
		ck_assert_ptr_eq(touch(cache, 100, 5000, RW), first);
	/* A part of it is in it; one byte more is not. */
	ck_assert_ptr_eq(touch(cache, 101, 4999, RW), first);
	ck_assert_ptr_eq(touch(cache, 100, 1, RW), first);
	ck_assert_ptr_eq(touch(cache, 5099, 1, RW), first);
	check_counts(cache, 1, 13, 1, 0, 0);
	touch(cache, 5100, 1, RW);
	touch(cache, 99, 1, RW);
	check_counts(cache, 3, 13, 3, 0, 0);
	ck_assert_uint_eq(count(cache).bytes, 5002);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(no_rights_beyond_those_asked_for_are_given)
{
	struct sonde_region_cache *cache = open_cache(10, BYTES);
	struct sonde_region *all = touch(cache, 0, PAGE, RW);

	ck_assert_ptr_ne(touch(cache, 0, PAGE, SONDE_REGION_READ), all);
	ck_assert_ptr_ne(touch(cache, 0, PAGE, SONDE_REGION_WRITE), all);
	ck_assert_ptr_eq(touch(cache, 0, PAGE, RW), all);
	check_counts(cache, 3, 1, 3, 0, 0);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(what_overlaps_becomes_one)
{
	struct sonde_region_cache *cache = open_cache(10, BYTES);
	struct sonde_region *wide;

	touch(cache, 0, 1000, RW);
	touch(cache, 3000, 1000, RW);
	touch(cache, 4000, 1000, RW);	/* touches, and does not overlap */
	check_counts(cache, 3, 0, 3, 0, 0);
	wide = touch(cache, 500, 3000, RW);
	ck_assert_uint_eq(sonde_region_bytes(wide), 4000);
	check_counts(cache, 2, 0, 4, 0, 0);
	ck_assert_ptr_eq(touch(cache, 0, 4000, RW), wide);
	ck_assert_uint_eq(count(cache).bytes, 5000);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(the_least_recently_used_goes_first)
{
	struct sonde_region_cache *cache = open_cache(3, BYTES);

	for (size_t i = 0; i < 3; i++)
		touch(cache, i * PAGE, 10, RW);
	touch(cache, 0, 10, RW);
	touch(cache, 3 * PAGE, 10, RW);	/* in place of page 1 */
	check_counts(cache, 3, 1, 4, 0, 1);
	touch(cache, 0, 10, RW);
	touch(cache, 2 * PAGE, 10, RW);
	touch(cache, 3 * PAGE, 10, RW);
	check_counts(cache, 3, 4, 4, 0, 1);
	touch(cache, PAGE, 10, RW);
	check_counts(cache, 3, 4, 5, 0, 2);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(bytes_are_bounded_too)
{
	struct sonde_region_cache *cache = open_cache(100, 10 * PAGE);
	struct sonde_region *large;

	for (size_t i = 0; i < 5; i++)
		touch(cache, 2 * i * PAGE, 2 * PAGE, RW);
	check_counts(cache, 5, 0, 5, 0, 0);
	touch(cache, 10 * PAGE, PAGE, RW);
	check_counts(cache, 5, 0, 6, 0, 1);
	/* More than it may keep is exported for who asks, and then goes. */
	large = NULL;
	ck_assert_int_eq(sonde_region_cache_get(cache, p + 20 * PAGE, 20 * PAGE, RW, &large,
						&(uint64_t){ 0 }), 0);
	check_counts(cache, 1, 0, 7, 0, 6);
	ck_assert(sonde_region_is_valid(large));
	sonde_region_cache_put(cache, large);
	check_counts(cache, 0, 0, 7, 0, 7);
	ck_assert_uint_eq(count(cache).bytes, 0);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(what_is_in_use_is_not_evicted)
{
	struct sonde_region_cache *cache = open_cache(2, BYTES);
	struct sonde_region *used[4];
	uint64_t offset;

	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(sonde_region_cache_get(cache, p + i * PAGE, 10, RW, &used[i],
							&offset), 0);
	check_counts(cache, 4, 0, 4, 0, 0);
	for (size_t i = 0; i < 4; i++)
		ck_assert(sonde_region_is_valid(used[i]));
	sonde_region_cache_put(cache, used[0]);
	sonde_region_cache_put(cache, used[1]);
	check_counts(cache, 2, 0, 4, 0, 2);
	sonde_region_cache_put(cache, used[2]);
	sonde_region_cache_put(cache, used[3]);
	check_counts(cache, 2, 0, 4, 0, 2);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(what_makes_way_while_it_is_used_lives_until_it_is_put_back)
{
	struct sonde_region_cache *cache = open_cache(10, BYTES);
	struct sonde_region *old;
	unsigned char got;
	uint64_t offset;

	ck_assert_int_eq(sonde_region_cache_get(cache, p + 10, 100, RW, &old, &offset), 0);
	touch(cache, 0, 1000, RW);
	ck_assert_int_eq(sonde_region_read(old, 0, &got, 1), 1);
	ck_assert_uint_eq(got, p[10]);
	sonde_region_cache_put(cache, old);
	check_counts(cache, 1, 0, 2, 0, 0);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(what_is_no_longer_valid_is_exported_anew)
{
	struct sonde_region_cache *cache = open_cache(10, BYTES);

	touch(cache, 0, 1000, RW);
	sonde_transfer_withdraw(t, p, 1);
	touch(cache, 0, 1000, RW);
	check_counts(cache, 1, 0, 2, 1, 0);
	/* Nor is it joined with what overlaps. */
	sonde_transfer_withdraw(t, p, 1);
	ck_assert_uint_eq(sonde_region_bytes(touch(cache, 500, 1000, RW)), 1000);
	check_counts(cache, 1, 0, 3, 1, 0);
	sonde_region_cache_close(cache);
}
END_TEST

START_TEST(refuses_what_cannot_be)
{
	struct sonde_region_cache *cache = NULL;
	struct sonde_region *region = NULL;
	uint64_t offset;

	ck_assert_int_eq(sonde_region_cache_open(t, 0, 1, &cache), -EINVAL);
	ck_assert_int_eq(sonde_region_cache_open(t, 1, 0, &cache), -EINVAL);
	ck_assert_ptr_null(cache);
	cache = open_cache(1, 1);
	ck_assert_int_eq(sonde_region_cache_get(cache, p, 0, RW, &region, &offset), -EINVAL);
	ck_assert_int_eq(sonde_region_cache_get(cache, p, 1, 0, &region, &offset), -EINVAL);
	ck_assert_int_eq(sonde_region_cache_get(cache, p, 1, 4, &region, &offset), -EINVAL);
	ck_assert_int_eq(sonde_region_cache_get(cache, p, SIZE_MAX, RW, &region, &offset),
			 -EINVAL);
	ck_assert_int_eq(sonde_region_cache_get(cache, &cache, 1, RW, &region, &offset),
			 -EOPNOTSUPP);
	ck_assert_ptr_null(region);
	check_counts(cache, 0, 0, 1, 0, 0);
	sonde_region_cache_close(cache);
	sonde_region_cache_close(NULL);
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

#define THREADS	4
#define TURNS	3000

static struct sonde_region_cache *shared_cache;

/* What went wrong, as pthread_join() hands it over. */
static char no_region[] = "no region", other_bytes[] = "other bytes";

static void *hammer(void *arg)
{
	struct sonde_rng rng;

	sonde_rng_seed(&rng, (uintptr_t)arg);
	for (int i = 0; i < TURNS; i++) {
		size_t at = (size_t)sonde_rng_below(&rng, BYTES / 64) * 64;
		size_t len = 1 + (size_t)sonde_rng_below(&rng, 2 * PAGE);
		struct sonde_region *region;
		unsigned char got;
		uint64_t offset;
		ssize_t n;

		if (at + len > BYTES)
			continue;
		if (sonde_region_cache_get(shared_cache, p + at, len, SONDE_REGION_READ, &region,
					   &offset))
			return no_region;
		n = sonde_region_read(region, offset + len - 1, &got, 1);
		/* Another thread may have withdrawn it. */
		if (n != -ESTALE && (n != 1 || got != p[at + len - 1]))
			return other_bytes;
		sonde_region_cache_put(shared_cache, region);
		if (!sonde_rng_below(&rng, 50))
			sonde_transfer_withdraw(t, p + at, len);
	}
	return NULL;
}

START_TEST(several_threads_use_one_cache)
{
	struct sonde_region_cache_counts counts;
	pthread_t threads[THREADS];
	void *why;

	shared_cache = open_cache(20, 20 * PAGE);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, hammer, (void *)(i + 1)), 0);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], &why), 0);
		ck_assert_msg(!why, "%s", (const char *)why);
	}
	counts = count(shared_cache);
	ck_assert_uint_le(counts.regions, 20);
	ck_assert_uint_le(counts.bytes, 20 * PAGE);
	ck_assert_uint_gt(counts.hits, 0);
	ck_assert_uint_gt(counts.evicted, 0);
	ck_assert_uint_gt(counts.stale, 0);
	sonde_region_cache_close(shared_cache);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region_cache");
	TCase *tc = tcase_create("cache");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, open_transfer, close_transfer);
	tcase_add_test(tc, the_same_buffer_is_exported_once);
	tcase_add_test(tc, no_rights_beyond_those_asked_for_are_given);
	tcase_add_test(tc, what_overlaps_becomes_one);
	tcase_add_test(tc, the_least_recently_used_goes_first);
	tcase_add_test(tc, bytes_are_bounded_too);
	tcase_add_test(tc, what_is_in_use_is_not_evicted);
	tcase_add_test(tc, what_makes_way_while_it_is_used_lives_until_it_is_put_back);
	tcase_add_test(tc, what_is_no_longer_valid_is_exported_anew);
	tcase_add_test(tc, refuses_what_cannot_be);
	tcase_add_test(tc, several_threads_use_one_cache);
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
