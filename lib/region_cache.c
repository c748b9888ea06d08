// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region_cache - what was exported is found again by its address
 *
 * Entries of the same rights do not overlap: a range that overlaps some is exported
 * as one with them, and takes their place. So the entry that may have a range is the
 * last that begins no later: a binary search in an array.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

/**
 * struct cache_entry - an exported region
 * @begin: its first address
 * @end: the one behind its last
 * @users: how often it was got and not put back
 * @is_listed: it can be found; else it is closed when nobody uses it
 * @use: most recently used first; also of what is to be closed
 */
struct cache_entry {
	struct sonde_region *region;
	uintptr_t begin, end;
	unsigned int rights;
	unsigned int users;
	int is_listed;
	TAILQ_ENTRY(cache_entry) use;
};

TAILQ_HEAD(entries, cache_entry);

/* Entries of the same rights, ascending. */
struct shelf {
	struct cache_entry **entries;
	size_t n, room;
};

/**
 * struct sonde_region_cache - entries by address and by use
 * @lock: protects all below; no region is exported or closed with it held
 */
struct sonde_region_cache {
	struct sonde_transfer *transfer;
	size_t max_regions;
	uint64_t max_bytes;
	pthread_mutex_t lock;
	struct shelf shelves[REGION_RIGHTS + 1];
	struct entries uses;
	struct sonde_region_cache_counts counts;
};

/* ---- by address --------------------------------------------------------- */

/* How many entries begin before @addr. */
static size_t count_before(const struct shelf *shelf, uintptr_t addr)
{
	size_t low = 0, high = shelf->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (shelf->entries[mid]->begin < addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* The first entry that ends behind @begin: the first that may overlap. */
static size_t find_overlap(const struct shelf *shelf, uintptr_t begin)
{
	size_t i = count_before(shelf, begin);

	return i && shelf->entries[i - 1]->end > begin ? i - 1 : i;
}

static struct cache_entry *find_entry(const struct shelf *shelf, uintptr_t begin, uintptr_t end)
{
	size_t i = find_overlap(shelf, begin);

	if (i < shelf->n && shelf->entries[i]->begin <= begin && shelf->entries[i]->end >= end)
		return shelf->entries[i];
	return NULL;
}

/* Room for one entry more: so that what is exported can be kept. */
static int make_room(struct shelf *shelf)
{
	size_t room = shelf->room ? 2 * shelf->room : 16;
	struct cache_entry **entries;

	if (shelf->n < shelf->room)
		return 0;
	entries = realloc(shelf->entries, room * sizeof(struct cache_entry *));
	if (!entries)
		return -ENOMEM;
	shelf->entries = entries;
	shelf->room = room;
	return 0;
}

/* ---- in and out --------------------------------------------------------- */

static void insert(struct sonde_region_cache *cache, struct cache_entry *entry)
{
	struct shelf *shelf = &cache->shelves[entry->rights];
	size_t i = count_before(shelf, entry->begin);

	memmove(&shelf->entries[i + 1], &shelf->entries[i],
		(shelf->n - i) * sizeof(struct cache_entry *));
	shelf->entries[i] = entry;
	shelf->n++;
	entry->is_listed = 1;
	TAILQ_INSERT_HEAD(&cache->uses, entry, use);
	cache->counts.regions++;
	cache->counts.bytes += entry->end - entry->begin;
}

/* To @doomed if nobody uses it: they are closed without the lock. */
static void take_out(struct sonde_region_cache *cache, struct cache_entry *entry,
		     struct entries *doomed)
{
	struct shelf *shelf = &cache->shelves[entry->rights];
	size_t i = count_before(shelf, entry->begin);

	shelf->n--;
	memmove(&shelf->entries[i], &shelf->entries[i + 1],
		(shelf->n - i) * sizeof(struct cache_entry *));
	entry->is_listed = 0;
	TAILQ_REMOVE(&cache->uses, entry, use);
	cache->counts.regions--;
	cache->counts.bytes -= entry->end - entry->begin;
	if (!entry->users)
		TAILQ_INSERT_TAIL(doomed, entry, use);
}

static void evict(struct sonde_region_cache *cache, struct entries *doomed)
{
	struct cache_entry *entry = TAILQ_LAST(&cache->uses, entries), *newer;

	for (; entry; entry = newer) {
		if (cache->counts.regions <= cache->max_regions &&
		    cache->counts.bytes <= cache->max_bytes)
			break;
		newer = TAILQ_PREV(entry, entries, use);
		if (entry->users)
			continue;
		take_out(cache, entry, doomed);
		cache->counts.evicted++;
	}
}

static void close_entry(struct cache_entry *entry)
{
	sonde_region_close(entry->region);
	free(entry);
}

static void close_doomed(struct entries *doomed)
{
	struct cache_entry *entry;

	while ((entry = TAILQ_FIRST(doomed))) {
		TAILQ_REMOVE(doomed, entry, use);
		close_entry(entry);
	}
}

/* ---- get ---------------------------------------------------------------- */

static void use(struct sonde_region_cache *cache, struct cache_entry *entry)
{
	entry->users++;
	TAILQ_REMOVE(&cache->uses, entry, use);
	TAILQ_INSERT_HEAD(&cache->uses, entry, use);
}

/* A load; only what looks suspicious is asked for. */
static int is_good(const struct cache_entry *entry)
{
	return region_is_valid(entry->region) || !sonde_region_state(entry->region);
}

static struct cache_entry *look_up(struct sonde_region_cache *cache, unsigned int rights,
				   uintptr_t begin, uintptr_t end, struct entries *doomed)
{
	struct cache_entry *entry = find_entry(&cache->shelves[rights], begin, end);

	if (entry && !is_good(entry)) {
		cache->counts.stale++;
		take_out(cache, entry, doomed);
		entry = NULL;
	}
	if (entry) {
		cache->counts.hits++;
		use(cache, entry);
	}
	return entry;
}

/* What overlaps and is good belongs to it too, if that is not too much. */
static void widen(const struct sonde_region_cache *cache, const struct cache_entry *wanted,
		  struct cache_entry *wide)
{
	const struct shelf *shelf = &cache->shelves[wanted->rights];

	*wide = *wanted;
	for (size_t i = find_overlap(shelf, wanted->begin);
	     i < shelf->n && shelf->entries[i]->begin < wanted->end; i++) {
		if (!is_good(shelf->entries[i]))
			continue;
		if (shelf->entries[i]->begin < wide->begin)
			wide->begin = shelf->entries[i]->begin;
		if (shelf->entries[i]->end > wide->end)
			wide->end = shelf->entries[i]->end;
	}
	if (wide->end - wide->begin > cache->max_bytes)
		*wide = *wanted;
}

static int export(const struct sonde_region_cache *cache, struct cache_entry *entry)
{
	return sonde_region_export(cache->transfer, (void *)entry->begin,
				   entry->end - entry->begin, entry->rights, &entry->region);
}

/* Some of what overlaps may no longer be there. */
static int export_wide(const struct sonde_region_cache *cache, struct cache_entry *entry,
		       const struct cache_entry *wide)
{
	const struct cache_entry wanted = *entry;

	*entry = *wide;
	if ((wide->begin != wanted.begin || wide->end != wanted.end) && !export(cache, entry))
		return 0;
	*entry = wanted;
	return export(cache, entry);
}

/* Also what another thread exported meanwhile makes way. */
static void replace(struct sonde_region_cache *cache, struct cache_entry *entry,
		    struct entries *doomed)
{
	const struct shelf *shelf = &cache->shelves[entry->rights];
	size_t i;

	while ((i = find_overlap(shelf, entry->begin)) < shelf->n &&
	       shelf->entries[i]->begin < entry->end)
		take_out(cache, shelf->entries[i], doomed);
	insert(cache, entry);
	evict(cache, doomed);
}

static int add(struct sonde_region_cache *cache, struct cache_entry *entry)
{
	struct entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	struct cache_entry wide;
	int err;

	pthread_mutex_lock(&cache->lock);
	cache->counts.misses++;
	widen(cache, entry, &wide);
	pthread_mutex_unlock(&cache->lock);
	err = export_wide(cache, entry, &wide);
	if (err)
		return err;
	entry->region->cached = entry;
	entry->users = 1;
	pthread_mutex_lock(&cache->lock);
	err = make_room(&cache->shelves[entry->rights]);
	if (!err)
		replace(cache, entry, &doomed);
	pthread_mutex_unlock(&cache->lock);
	close_doomed(&doomed);
	if (err)
		sonde_region_close(entry->region);
	return err;
}

static int get_new(struct sonde_region_cache *cache, const struct cache_entry *wanted,
		   struct cache_entry **out)
{
	struct cache_entry *entry = malloc(sizeof(*entry));
	int err;

	if (!entry)
		return -ENOMEM;
	*entry = *wanted;
	err = add(cache, entry);
	if (err)
		free(entry);
	else
		*out = entry;
	return err;
}

int sonde_region_cache_get(struct sonde_region_cache *cache, void *addr, size_t len,
			   unsigned int rights, struct sonde_region **region, uint64_t *offset)
{
	const struct cache_entry wanted = {
		.begin = (uintptr_t)addr, .end = (uintptr_t)addr + len, .rights = rights,
	};
	struct entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	struct cache_entry *entry;
	int err;

	if (!len || len > UINTPTR_MAX - wanted.begin || !rights || rights & ~REGION_RIGHTS)
		return -EINVAL;
	pthread_mutex_lock(&cache->lock);
	entry = look_up(cache, rights, wanted.begin, wanted.end, &doomed);
	pthread_mutex_unlock(&cache->lock);
	close_doomed(&doomed);
	if (!entry) {
		err = get_new(cache, &wanted, &entry);
		if (err)
			return err;
	}
	*region = entry->region;
	*offset = wanted.begin - entry->begin;
	return 0;
}

void sonde_region_cache_put(struct sonde_region_cache *cache, struct sonde_region *region)
{
	struct entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	struct cache_entry *entry = region->cached;

	pthread_mutex_lock(&cache->lock);
	entry->users--;
	if (!entry->users && !entry->is_listed)
		TAILQ_INSERT_TAIL(&doomed, entry, use);
	/* What it kept from being evicted. */
	evict(cache, &doomed);
	pthread_mutex_unlock(&cache->lock);
	close_doomed(&doomed);
}

/* ---- the cache ---------------------------------------------------------- */

int sonde_region_cache_open(struct sonde_transfer *transfer, size_t max_regions,
			    uint64_t max_bytes, struct sonde_region_cache **out)
{
	struct sonde_region_cache *cache;

	if (!max_regions || !max_bytes)
		return -EINVAL;
	cache = calloc(1, sizeof(*cache));
	if (!cache)
		return -ENOMEM;
	cache->transfer = transfer;
	cache->max_regions = max_regions;
	cache->max_bytes = max_bytes;
	TAILQ_INIT(&cache->uses);
	pthread_mutex_init(&cache->lock, NULL);
	*out = cache;
	return 0;
}

void sonde_region_cache_close(struct sonde_region_cache *cache)
{
	if (!cache)
		return;
	close_doomed(&cache->uses);
	for (size_t i = 0; i <= REGION_RIGHTS; i++)
		free(cache->shelves[i].entries);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void sonde_region_cache_count(struct sonde_region_cache *cache,
			      struct sonde_region_cache_counts *counts)
{
	pthread_mutex_lock(&cache->lock);
	*counts = cache->counts;
	pthread_mutex_unlock(&cache->lock);
}
