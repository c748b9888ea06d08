/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls on segments from several processes of several threads, while other
 * threads of each read and write the view, and processes are killed at any moment.
 *
 * Each call has the results that it may have. A page that nobody but its thread writes
 * holds what was written last, whatever happens to its protection.
 */
#include <pthread.h>

#include "hostile.h"
#include "dsm_peers.h"

#define CALLERS		2
#define PAGES		16U
#define TWINS		6U
#define WORKERS		3
#define RELATIVES	3
#define OWN		10U	/* pages that are never copied from elsewhere */

/* What came of all calls; shared by all processes. */
static struct tally {
	_Atomic unsigned long calls, refused, collected, events, told, writes, copies;
} *tally;

struct caller {
	struct rng rng;
	struct segment s;
	volatile struct sonde_dsm_copy *table, *theirs[RELATIVES];
};

/*
 * Segments that all processes have, and copy from. Their views are mapped by whoever
 * comes, and written; they never keep anybody waiting.
 */
static int32_t relatives[RELATIVES];
static uint32_t unit;
static int users;

/* ---- who uses the view -------------------------------------------------- */

/*
 * The last of them have pages copied from others at random, so that what is in these pages
 * is anybody's.
 */
static void *use_copies(void *arg)
{
	struct caller *me = arg;
	struct rng r = { (uintptr_t)&r ^ me->rng.s };

	for (;;) {
		uint32_t page = OWN + below(&r, PAGES - OWN);
		volatile char *at = page_at(&me->s, page) + below(&r, SMALL_PAGE);

		switch (below(&r, 4)) {
		case 0: (void)*at; break;
		case 1: *at = 1; break;
		case 2:
			me->theirs[below(&r, RELATIVES)][page].version =
				one_in(&r, 8) ? draw(&r) : below(&r, 4);
			me->table[page].least = one_in(&r, 8) ? draw(&r) : below(&r, 4);
			me->table[page].got = draw(&r);
			me->table[page].peer = one_in(&r, 8) ? (uint32_t)draw(&r) :
							      below(&r, RELATIVES + 2);
			break;
		default:
			tally->copies += me->table[page].copies;
			me->table[page].copies = 0;
		}
	}
	return NULL;
}

/* Its own word of each page: the number of its writes there. */
static void *use_view(void *arg)
{
	struct caller *me = arg;
	struct rng r = { (uintptr_t)&r ^ me->rng.s };
	uint32_t count[PAGES] = { 0 }, page;
	const size_t word = 100 + below(&r, 64);
	volatile uint32_t *at;

	for (;;) {
		page = below(&r, OWN);
		at = (volatile uint32_t *)(void *)page_at(&me->s, page) + word;
		if (*at != count[page])
			violated("page %u has %u, not %u", page, *at, count[page]);
		if (one_in(&r, 3)) {
			*at = ++count[page];
			tally->writes++;
		}
	}
	return NULL;
}

/* ---- calls -------------------------------------------------------------- */

static void expect(const char *what, int ret, bool is_valid)
{
	tally->calls++;
	if (is_valid ? ret && ret != -ENOMEM : ret != -EINVAL && ret != -EFAULT)
		violated("%s, %s: %d", what, is_valid ? "valid" : "invalid", ret);
	tally->refused += !is_valid;
}

/* Pages of which each exists, or else one does not. */
static uint32_t draw_pages(struct rng *r, uint32_t *pages, bool is_valid)
{
	uint32_t n = 1 + below(r, PAGES), i;

	for (i = 0; i < n; i++)
		pages[i] = below(r, PAGES);
	if (!is_valid)
		pages[below(r, n)] = PAGES + draw(r) % (1U << 31);
	return n;
}

static void call_protect(struct caller *me, bool is_valid)
{
	uint32_t pages[PAGES], n = draw_pages(&me->rng, pages, true);
	uint32_t protection = below(&me->rng, 4);

	if (is_valid)
		expect("protect", try_protect(&me->s, pages, n, protection), true);
	else if (one_in(&me->rng, 2))
		expect("protect", try_protect(&me->s, pages, n, 4 + (uint32_t)draw(&me->rng) % 1000),
		       false);
	else
		expect("protect", try_protect(&me->s, pages,
					      draw_pages(&me->rng, pages, false), protection), false);
}

static void call_collect(struct caller *me, bool is_valid)
{
	struct sonde_dsm_written w[PAGES];
	uint32_t n = 0, i;
	int ret;

	if (!is_valid) {
		expect("collect", try_collect(&me->s, w, SONDE_DSM_LIST + 1 + below(&me->rng, 99), &n),
		       false);
		return;
	}
	ret = try_collect(&me->s, w, below(&me->rng, PAGES + 1), &n);
	expect("collect", ret, true);
	for (i = 0; !ret && i < n; i++) {
		if (w[i].page >= PAGES || (w[i].twin >= TWINS && w[i].twin != SONDE_DSM_NO_TWIN))
			violated("collected page %u, twin %u", w[i].page, w[i].twin);
		tally->collected++;
	}
}

static void call_untwin(struct caller *me, bool is_valid)
{
	uint32_t pages[PAGES], n = draw_pages(&me->rng, pages, is_valid);

	expect("untwin", try_untwin(&me->s, pages, n), is_valid);
}

static void call_accessed(struct caller *me, bool is_valid)
{
	uint32_t pages[PAGES], n = draw_pages(&me->rng, pages, is_valid), i;
	uint8_t accessed[PAGES];
	int ret = try_accessed(&me->s, pages, n, accessed);

	expect("accessed", ret, is_valid);
	for (i = 0; !ret && i < n; i++)
		if (accessed[i] > 1)
			violated("page %u was accessed %u times", pages[i], accessed[i]);
}

/* The ring is anybody's: what it says of events that there are may be wrong. */
static bool take_any(struct rng *r, struct segment *s, struct sonde_dsm_event *event)
{
	if (one_in(r, 20))
		((volatile uint32_t *)s->ring)[below(r, sizeof(*s->ring) / 4)] = (uint32_t)draw(r);
	if (!take_event(s, event))
		return false;
	tally->told++;
	event->page %= PAGES;
	event->flags &= SONDE_DSM_EVENT_WRITE;
	return true;
}

/* Who waits is not to wait for ever: there is always somebody who answers. */
static void answer(struct caller *me)
{
	struct sonde_dsm_event event;
	uint32_t i;

	while ((me->s.ring && take_any(&me->rng, &me->s, &event)) || next_event(&me->s, &event)) {
		if (event.page >= PAGES || event.flags & ~SONDE_DSM_EVENT_WRITE)
			violated("event of page %u, flags %#x", event.page, event.flags);
		tally->events++;
		expect("answer", try_protect(&me->s, &event.page, 1, event.flags ? SONDE_DSM_WRITE :
					     SONDE_DSM_READ), true);
	}
	if (one_in(&me->rng, 50))
		for (i = 0; i < PAGES; i++)
			try_untwin(&me->s, &i, 1);
}

/* Peers are taken once; a segment is not its own. */
static void call_peers(struct caller *me)
{
	int32_t fds[RELATIVES + 1];
	int ret;

	memcpy(fds, relatives, sizeof(relatives));
	fds[RELATIVES] = me->s.fd;
	if (one_in(&me->rng, 4)) {
		expect("peers", try_peers(&me->s, fds, RELATIVES + 1), false);
		return;
	}
	ret = try_peers(&me->s, fds, RELATIVES);
	tally->calls++;
	if (ret && ret != -EEXIST && ret != -ENOMEM)
		violated("peers: %d", ret);
}

/* As a home would: opens its pages, writes, and lists what was noted. */
static void use_relative(struct caller *me)
{
	struct segment s = { .fd = relatives[below(&me->rng, RELATIVES)], .npages = PAGES,
			     .unit = unit };
	struct sonde_dsm_written w[PAGES];
	uint32_t n, i;

	s.view = mmap(NULL, (size_t)PAGES * unit, PROT_READ | PROT_WRITE, MAP_SHARED, s.fd,
		      SONDE_DSM_VIEW);
	if (s.view == MAP_FAILED)
		return;
	for (i = 0; i < 64; i++) {
		n = below(&me->rng, PAGES);
		if (try_protect(&s, &n, 1, SONDE_DSM_WRITE))
			violated("a page of a relative cannot be opened");
		*page_at(&s, n) = 1;
		if (one_in(&me->rng, 4))
			try_collect(&s, w, PAGES, &n);
	}
	munmap(s.view, (size_t)PAGES * unit);
}

static void call_unknown(struct caller *me)
{
	char buf[256] = "";
	unsigned int nr = below(&me->rng, 256);

	if (nr >= _IOC_NR(SONDE_IOC_DSM_PROTECT) && nr <= _IOC_NR(SONDE_IOC_DSM_ACCESSED))
		return;
	if (do_ioctl(me->s.fd, _IOC(_IOC_READ | _IOC_WRITE, SONDE_IOC_MAGIC, nr, 24), buf) != -ENOTTY)
		violated("command %#x of a segment is served", nr);
}

/* None of these may do anything. */
static void call_mappings(struct caller *me)
{
	const size_t size = (size_t)PAGES * me->s.unit;
	char *at = me->s.view + below(&me->rng, PAGES) * me->s.unit;

	switch (below(&me->rng, 5)) {
	case 0:
		if (at != me->s.view && !munmap(at, me->s.unit))
			violated("a part of the view is gone");
		break;
	case 1:
		if (!mprotect(at, me->s.unit, PROT_NONE))
			violated("a part of the view is shut");
		break;
	case 2:
		if (!madvise(at, me->s.unit, MADV_DONTNEED))
			violated("the view takes MADV_DONTNEED");
		break;
	case 3:
		if (mmap(NULL, size, PROT_READ, MAP_SHARED, me->s.fd, 0) != MAP_FAILED)
			violated("the view is mapped twice");
		break;
	default:
		madvise(me->s.alias + (at - me->s.view), me->s.unit, MADV_DONTNEED);
	}
}

/* ---- a process ---------------------------------------------------------- */

static void *call_all_the_time(void *arg)
{
	struct caller me = *(struct caller *)arg;

	me.rng.s = me.rng.s * 31 + (uintptr_t)&me;
	for (;;) {
		bool is_valid = !one_in(&me.rng, 5);

		switch (below(&me.rng, 9)) {
		case 0: call_protect(&me, is_valid); break;
		case 1: call_collect(&me, is_valid); break;
		case 2: call_untwin(&me, is_valid); break;
		case 3: call_unknown(&me); break;
		case 4: call_mappings(&me); break;
		case 5: call_peers(&me); break;
		case 6: use_relative(&me); break;
		case 7: call_accessed(&me, is_valid); break;
		}
		answer(&me);
	}
	return NULL;
}

static void work(uint64_t seed, bool root)
{
	struct caller me = { .rng = { seed } };
	struct relative r;
	pthread_t thread;
	int i;

	(void)root;
	r = make_relative_with((one_in(&me.rng, 3) ? 0 : SONDE_DSM_KEEP) |
			       (one_in(&me.rng, 2) ? 0 : SONDE_DSM_RING), PAGES, TWINS, unit);
	me.s = r.s;
	me.table = r.table;
	for (i = 0; i < RELATIVES; i++)
		me.theirs[i] = (void *)map_segment(relatives[i], PAGES * sizeof(*me.table),
						   SONDE_DSM_TABLE);
	if (!one_in(&me.rng, 4))
		call_peers(&me);
	pthread_create(&thread, NULL, use_view, &me);
	pthread_create(&thread, NULL, use_copies, &me);
	for (i = 1; i < CALLERS; i++)
		pthread_create(&thread, NULL, call_all_the_time, &me);
	call_all_the_time(&me);
}

static void make_relatives(void)
{
	uint32_t i, page;

	for (i = 0; i < RELATIVES; i++) {
		struct relative r = make_relative(PAGES, 0, unit);

		for (page = 0; page < PAGES; page++)
			protect(&r.s, page, SONDE_DSM_NOTE);
		relatives[i] = dup(r.s.fd);
		check(relatives[i] >= 0);
		end_relative(&r);
	}
}

/* The workers' segments are gone, though what these copied from is not. */
static void await_workers(void)
{
	time_t deadline = time(NULL) + 30;

	while (users_of_module() > users && time(NULL) < deadline)
		sched_yield();
	check_int(users_of_module(), users);
}

static void end_relatives(void)
{
	int i;

	for (i = 0; i < RELATIVES; i++)
		close(relatives[i]);
	await_no_segments();
}

static void print_counts(void)
{
	printf("# %lu calls, %lu refused, %lu pages collected, %lu events, %lu of them in rings, "
	       "%lu writes, %lu copies\n", tally->calls, tally->refused, tally->collected,
	       tally->events, tally->told, tally->writes, tally->copies);
}

static bool saw_all(void)
{
	return tally->calls && tally->refused && tally->collected && tally->events &&
	       tally->told && tally->writes && tally->copies;
}

int main(int argc, char **argv)
{
	static const struct hostile h = {
		.name = "hostile_dsm", .seconds = 5, .workers = WORKERS, .work = work,
		.after = await_workers, .print_counts = print_counts, .saw_all = saw_all,
	};

	static const uint32_t units[] = { 4096, 8192, 65536 };
	int status;

	tally = share_memory(sizeof(*tally));
	if (have_nodes()) {
		unit = units[getpid() % 3];
		make_relatives();
		users = users_of_module();
	}
	status = hostile_main(argc, argv, &h);
	if (users)
		end_relatives();
	return status;
}
