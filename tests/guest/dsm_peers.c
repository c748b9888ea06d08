/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that are copied from other segments of the machine: when, what is noted of the
 * page they are of, and how the ends of the segments go together.
 */
#include <signal.h>

#include "dsm_peers.h"

#define PAGES	64U
#define TWINS	16U

/* @home has pages, @guest may copy them. */
struct pair {
	struct relative home, guest;
};

static struct pair make_pair(uint32_t unit)
{
	struct pair p = { make_relative(PAGES, TWINS, unit), make_relative(PAGES, TWINS, unit) };
	const int32_t fds[] = { -1, p.home.s.fd };

	check_int(try_peers(&p.guest.s, fds, 2), 0);
	return p;
}

static void end_pair(struct pair *p)
{
	end_relative(&p->guest);
	end_relative(&p->home);
}

/* Void in the guest, and to be had from the home. */
static void offer_void(struct pair *p, uint32_t page, uint64_t least)
{
	protect(&p->guest.s, page, SONDE_DSM_NONE);
	offer(&p->guest, page, 1, least);
}

/* It is an event, and after an answer it goes on. */
static void expect_event(struct pair *p, uint32_t page)
{
	struct sonde_dsm_event event;
	struct touch t;

	begin_touch(&t, page_at(&p->guest.s, page), false, 0);
	event = await_event(&p->guest.s);
	check_int(event.page, page);
	check_int(p->guest.table[page].got, 0);
	check_int(p->guest.table[page].copies, 0);
	protect(&p->guest.s, page, SONDE_DSM_READ);
	end_touch(&t);
}

/* ---- when it is copied -------------------------------------------------- */

static void a_page_is_copied_from_who_has_it(void)
{
	static const uint32_t units[] = { 4096, 16384, 1 << 20 };
	struct sonde_dsm_event event;
	size_t u;

	for (u = 0; u < ARRAY_SIZE(units); u++) {
		struct pair p = make_pair(units[u]);

		memset(p.home.s.alias + 5 * (size_t)units[u], 7, units[u]);
		p.home.table[5].version = 3;
		offer_void(&p, 5, 3);
		check_int(page_at(&p.guest.s, 5)[0], 7);
		check_int(page_at(&p.guest.s, 6)[-1], 7);
		check_int(p.guest.table[5].got, 3);
		check_int(p.guest.table[5].copies, 1);
		check(!next_event(&p.guest.s, &event));
		check_int(told(&p.guest.s, "misses"), 0);
		check_int(told(&p.guest.s, "copies"), 1);
		end_pair(&p);
	}
}

static void what_nobody_touched_there_is_zeros(void)
{
	struct pair p = make_pair(SMALL_PAGE);

	memset(p.guest.s.alias + 5 * SMALL_PAGE, 7, SMALL_PAGE);
	p.home.table[5].version = 1;
	offer_void(&p, 5, 1);
	check_int(page_at(&p.guest.s, 5)[100], 0);
	check_int(p.guest.table[5].got, 1);
	end_pair(&p);
}

static void a_write_to_a_void_page_copies_it_and_takes_a_twin(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	struct sonde_dsm_written w[2];

	memset(p.home.s.alias + 5 * SMALL_PAGE, 7, SMALL_PAGE);
	p.home.table[5].version = 1;
	offer_void(&p, 5, 1);
	page_at(&p.guest.s, 5)[1] = 8;
	check_int(page_at(&p.guest.s, 5)[0], 7);
	check_int(collect(&p.guest.s, w, 2), 1);
	check_int(w[0].page, 5);
	check_int(p.guest.s.twins[w[0].twin * SMALL_PAGE + 1], 7);
	check_int(p.home.s.alias[5 * SMALL_PAGE + 1], 7);
	end_pair(&p);
}

static void system_calls_have_pages_copied_too(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	int fds[2];

	memset(p.home.s.alias, 7, 2 * SMALL_PAGE);
	p.home.table[0].version = p.home.table[1].version = 1;
	offer_void(&p, 0, 1);
	offer_void(&p, 1, 1);
	check_int(pipe(fds), 0);
	check_int(write(fds[1], p.guest.s.view + SMALL_PAGE - 4, 8), 8);
	check_int(read(fds[0], p.guest.s.view + SMALL_PAGE - 8, 8), 8);
	check_int(told(&p.guest.s, "copies"), 2);
	end_pair(&p);
}

static void what_is_too_old_or_not_offered_is_an_event(void)
{
	struct pair p = make_pair(SMALL_PAGE);

	p.home.table[5].version = 3;
	offer_void(&p, 5, 4);
	expect_event(&p, 5);
	/* No peer at all, one that is none, one that there is not. */
	offer_void(&p, 5, 3);
	check_int(withdraw(&p.guest, 5), 0);
	expect_event(&p, 5);
	offer_void(&p, 5, 3);
	p.guest.table[5].peer = 1;
	expect_event(&p, 5);
	offer_void(&p, 5, 3);
	p.guest.table[5].peer = 3;
	expect_event(&p, 5);
	offer_void(&p, 5, 3);
	p.guest.table[5].peer = 0xffffffff;
	expect_event(&p, 5);
	/* Not for peers, and void there. */
	p.home.table[6].version = 0;
	offer_void(&p, 6, 0);
	expect_event(&p, 6);
	p.home.table[7].version = 9;
	protect(&p.home.s, 7, SONDE_DSM_NONE);
	offer_void(&p, 7, 1);
	expect_event(&p, 7);
	check_int(told(&p.guest.s, "copies"), 0);
	end_pair(&p);
}

/* What was told is user space's to fill, though it could be copied by now. */
static void what_was_told_is_not_copied(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	struct touch t, other;

	p.home.table[5].version = 1;
	offer_void(&p, 5, 2);
	begin_touch(&t, page_at(&p.guest.s, 5), false, 0);
	await_event(&p.guest.s);
	p.home.table[5].version = 2;
	begin_touch(&other, page_at(&p.guest.s, 5), true, 1);
	check_int(await_event(&p.guest.s).flags, SONDE_DSM_EVENT_WRITE);
	check_int(p.guest.table[5].got, 0);
	protect(&p.guest.s, 5, SONDE_DSM_READ);
	end_touch(&t);
	end_touch(&other);
	check_int(p.guest.table[5].copies, 0);
	end_pair(&p);
}

/* Changes that are not sent yet would be lost. */
static void what_was_written_here_is_not_copied_over(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	struct sonde_dsm_written w;

	p.home.table[5].version = 1;
	page_at(&p.guest.s, 5)[0] = 4;
	offer_void(&p, 5, 1);
	expect_event(&p, 5);
	check_int(page_at(&p.guest.s, 5)[0], 4);
	/* Nor while user space has the twin. */
	check_int(collect(&p.guest.s, &w, 1), 1);
	offer_void(&p, 5, 1);
	expect_event(&p, 5);
	untwin(&p.guest.s, 5);
	offer_void(&p, 5, 1);
	check_int(page_at(&p.guest.s, 5)[0], 0);
	check_int(withdraw(&p.guest, 5), 1);
	end_pair(&p);
}

/* ---- what is noted where it came from ----------------------------------- */

static void a_page_is_shut_where_a_copy_was_made(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	struct sonde_dsm_written w[2];

	protect(&p.home.s, 5, SONDE_DSM_WRITE);
	page_at(&p.home.s, 5)[0] = 1;
	check_int(collect(&p.home.s, w, 2), 0);
	p.home.table[5].version = 1;
	offer_void(&p, 5, 1);
	check_int(page_at(&p.guest.s, 5)[0], 1);
	check_int(told(&p.guest.s, "shuts"), 1);
	/* From now on each interval's first write is noted, without a twin. */
	check_int(collect(&p.home.s, w, 2), 0);
	page_at(&p.home.s, 5)[0] = 2;
	check_int(collect(&p.home.s, w, 2), 1);
	check_int(w[0].page, 5);
	check_int(w[0].twin, SONDE_DSM_NO_TWIN);
	/* Nobody has the newer version: it may be written unnoticed again. */
	page_at(&p.home.s, 5)[0] = 3;
	check_int(collect(&p.home.s, w, 2), 0);
	end_pair(&p);
}

static void a_copy_keeps_a_page_from_being_opened(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	struct sonde_dsm_written w[2];

	p.home.table[5].version = 1;
	offer_void(&p, 5, 1);
	check_int(page_at(&p.guest.s, 5)[0], 0);
	check_int(told(&p.guest.s, "shuts"), 0);
	protect(&p.home.s, 5, SONDE_DSM_WRITE);
	page_at(&p.home.s, 5)[0] = 2;
	check_int(collect(&p.home.s, w, 2), 1);
	/* And from forgetting what is noted already. */
	protect(&p.home.s, 5, SONDE_DSM_READ);
	page_at(&p.home.s, 5)[0] = 3;
	offer_void(&p, 5, 1);
	check_int(page_at(&p.guest.s, 5)[0], 3);
	protect(&p.home.s, 5, SONDE_DSM_WRITE);
	check_int(collect(&p.home.s, w, 2), 1);
	protect(&p.home.s, 5, SONDE_DSM_WRITE);
	page_at(&p.home.s, 5)[0] = 4;
	check_int(collect(&p.home.s, w, 2), 0);
	end_pair(&p);
}

/* A list that cannot be told leaves the page noted. */
static void a_list_that_cannot_be_told_is_not_lost(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	struct sonde_dsm_written w;
	uint32_t n;

	protect(&p.home.s, 5, SONDE_DSM_WRITE);
	p.home.table[5].version = 1;
	offer_void(&p, 5, 1);
	check_int(page_at(&p.guest.s, 5)[0], 0);
	page_at(&p.home.s, 5)[0] = 2;
	check_int(try_collect(&p.home.s, (void *)1, 1, &n), -EFAULT);
	check_int(collect(&p.home.s, &w, 1), 1);
	check_int(w.page, 5);
	end_pair(&p);
}

/* ---- all at once -------------------------------------------------------- */

#define ROUNDS		8
#define COPIES		10
#define FEW		4U

static struct pair *copied;
static _Atomic int stop_writing, stop_reading;
static _Atomic unsigned int copies;

/* A thread that writes what nobody waits for. */
static void *write_on(void *arg)
{
	uint32_t i;

	(void)arg;
	for (i = 0; !stop_writing; i = (i + 1) % FEW)
		((volatile uint64_t *)(void *)page_at(&copied->home.s, i))[7]++;
	return NULL;
}

/* Has a page void again when the copy is old. */
static void *copy_on(void *arg)
{
	struct relative *g = &copied->guest;
	uint32_t page;

	(void)arg;
	for (page = 0; !stop_reading; page = (page + 1) % FEW) {
		uint64_t newest = copied->home.table[page].version;

		if (withdraw(g, page) >= newest)
			continue;
		protect(&g->s, page, SONDE_DSM_NONE);
		offer(g, page, 1, newest);
		(void)((volatile char *)page_at(&g->s, page))[56];
		copies++;
	}
	return NULL;
}

/* What was written is collected, then called newer, then open: as a protocol does. */
static void release(struct relative *home)
{
	struct sonde_dsm_written w[FEW];
	uint32_t n = collect(&home->s, w, FEW);

	while (n--) {
		home->table[w[n].page].version++;
		if (w[n].twin != SONDE_DSM_NO_TWIN)
			untwin(&home->s, w[n].page);
		protect(&home->s, w[n].page, SONDE_DSM_WRITE);
	}
}

/* Of pages that were open each time they had been shut. */
/* How many. */
static unsigned int answer_any(struct segment *s)
{
	struct sonde_dsm_event event;
	unsigned int n = 0;

	for (; next_event(s, &event); n++)
		protect(s, event.page, SONDE_DSM_READ);
	return n;
}

/* A copy of the newest version has all that was written, when all has been collected. */
static void no_write_is_missed_by_a_copy_that_counts_as_new(void)
{
	struct pair p = make_pair(SMALL_PAGE);
	pthread_t writer, reader;
	uint32_t i, round, fresh = 0;

	copied = &p;
	for (i = 0; i < FEW; i++)
		p.home.table[i].version = 1;
	for (round = 1; round <= ROUNDS; round++) {
		stop_writing = stop_reading = 0;
		check_int(pthread_create(&writer, NULL, write_on, NULL), 0);
		check_int(pthread_create(&reader, NULL, copy_on, NULL), 0);
		while (copies < round * COPIES) {
			release(&p.home);
			answer_any(&p.guest.s);
			sched_yield();
		}
		stop_writing = 1;
		release(&p.home);
		pthread_join(writer, NULL);
		stop_reading = 1;
		while (pthread_tryjoin_np(reader, NULL)) {
			answer_any(&p.guest.s);
			sched_yield();
		}
		release(&p.home);
		for (i = 0; i < FEW; i++) {
			if (withdraw(&p.guest, i) != p.home.table[i].version)
				continue;
			fresh++;
			check_int(memcmp(p.guest.s.alias + i * SMALL_PAGE,
					 p.home.s.alias + i * SMALL_PAGE, SMALL_PAGE), 0);
		}
	}
	printf("# %u of %u copies are as new as their pages at the end; %llu pages were shut for "
	       "%llu copies\n", fresh, ROUNDS * FEW, told(&p.guest.s, "shuts"),
	       told(&p.guest.s, "copies"));
	check(fresh);
	check(told(&p.guest.s, "shuts") > ROUNDS);
	/* However often it is open again meanwhile: an access gives up. */
	check(told(&p.guest.s, "shuts") <= 16 * copies);
	end_pair(&p);
}

struct crosser {
	struct relative *mine;
	uint32_t first;
	pthread_t thread;
};

static void *cross(void *arg)
{
	struct crosser *c = arg;
	uint32_t i, round;

	for (round = 0; round < 100; round++) {
		for (i = c->first; i < c->first + PAGES / 2; i++) {
			protect(&c->mine->s, i, SONDE_DSM_NONE);
			offer(c->mine, i, 0, 1);
		}
		for (i = c->first; i < c->first + PAGES / 2; i++)
			check_int(page_at(&c->mine->s, i)[0], (char)i);
		/* Open, so that they are to be shut for the other. */
		for (i = 0; i < PAGES; i++)
			if (i < c->first || i >= c->first + PAGES / 2)
				protect(&c->mine->s, i, SONDE_DSM_WRITE);
	}
	return NULL;
}

/* Locks of pages with the same number, and of one address space, in all orders. */
static void segments_copy_from_each_other_at_once(void)
{
	struct relative a = make_relative(PAGES, TWINS, SMALL_PAGE);
	struct relative b = make_relative(PAGES, TWINS, SMALL_PAGE);
	struct crosser c[2] = { { .mine = &a }, { .mine = &b, .first = PAGES / 2 } };
	uint32_t i, given_up = 0;

	check_int(try_peers(&a.s, &b.s.fd, 1), 0);
	check_int(try_peers(&b.s, &a.s.fd, 1), 0);
	for (i = 0; i < PAGES; i++) {
		a.s.alias[i * SMALL_PAGE] = b.s.alias[i * SMALL_PAGE] = (char)i;
		a.table[i].version = b.table[i].version = 1;
	}
	for (i = 0; i < 2; i++)
		check_int(pthread_create(&c[i].thread, NULL, cross, &c[i]), 0);
	/* Where the other one is always quicker to open a page again, an access gives up. */
	for (i = 0; i < 2; i++) {
		while (pthread_tryjoin_np(c[i].thread, NULL)) {
			given_up += answer_any(&a.s) + answer_any(&b.s);
			sched_yield();
		}
	}
	printf("# %u of %u accesses gave up\n", given_up, 100 * PAGES);
	check(told(&a.s, "copies") + given_up >= 100 * PAGES / 2);
	end_relative(&a);
	end_relative(&b);
}

/* ---- ends --------------------------------------------------------------- */

static void who_has_closed_is_not_copied_from(void)
{
	struct pair p = make_pair(SMALL_PAGE);

	p.home.table[5].version = 1;
	close(p.home.s.fd);
	offer_void(&p, 5, 1);
	expect_event(&p, 5);
	/* The memory is there as long as somebody copies from it. */
	p.home.s.alias[5 * SMALL_PAGE] = 1;
	end_relative(&p.guest);
}

static void peers_of_each_other_go(void)
{
	struct relative r[3];
	int32_t fds[3];
	int i;

	await_no_segments();
	for (i = 0; i < 3; i++) {
		r[i] = make_relative(PAGES, TWINS, SMALL_PAGE);
		fds[i] = r[i].s.fd;
	}
	for (i = 0; i < 3; i++) {
		fds[i] = -1;
		check_int(try_peers(&r[i].s, fds, 3), 0);
		fds[i] = r[i].s.fd;
		page_at(&r[i].s, 1)[0] = 1;
	}
	for (i = 0; i < 3; i++)
		end_relative(&r[i]);
	await_no_segments();
}

struct visit {
	struct pair *p;
	_Atomic uint32_t pages;	/* that were had so far */
	_Atomic int is_last;
	uint32_t copies;
};

static void *visit(void *arg)
{
	struct visit *v = arg;
	uint32_t i, left = PAGES;

	for (i = 0; left; i = (i + 1) % PAGES) {
		offer_void(v->p, i, 1);
		(void)((volatile char *)page_at(&v->p->guest.s, i))[0];
		v->copies += v->p->guest.table[i].got == 1;
		v->pages++;
		left -= v->is_last;
	}
	v->is_last = 2;
	return NULL;
}

/* Opens its pages again and again, so that each has to be shut in it. */
static void open_for_ever(struct relative *home)
{
	uint32_t i;

	home->s.view = map_segment(home->s.fd, PAGES * SMALL_PAGE, SONDE_DSM_VIEW);
	for (i = 0; ; i = (i + 1) % PAGES) {
		protect(&home->s, i, SONDE_DSM_WRITE);
		page_at(&home->s, i)[0] = 1;
	}
}

/* The home is another process, and is killed in the middle of it. */
static void another_process_is_shut_and_may_end_at_any_time(void)
{
	uint32_t i, round;

	for (round = 1; round <= 5; round++) {
		struct pair p = make_pair(SMALL_PAGE);
		struct visit v = { .p = &p };
		struct sonde_dsm_event event;
		pthread_t thread;
		pid_t pid;

		check_int(munmap(p.home.s.view, PAGES * SMALL_PAGE), 0);
		for (i = 0; i < PAGES; i++)
			p.home.table[i].version = 1;
		pid = fork();
		if (!pid)
			open_for_ever(&p.home);
		/* It is the child's alone. */
		close(p.home.s.fd);
		check_int(pthread_create(&thread, NULL, visit, &v), 0);
		while (v.is_last < 2) {
			if (v.pages > 37 * round && !v.is_last) {
				check_int(kill(pid, SIGKILL), 0);
				check_int(waitpid(pid, NULL, 0), pid);
				v.is_last = 1;
			}
			if (next_event(&p.guest.s, &event))
				protect(&p.guest.s, event.page, SONDE_DSM_READ);
			else
				sched_yield();
		}
		pthread_join(thread, NULL);
		check_msg(v.copies > 20, "%u copies of %u", v.copies, v.pages);
		check_int(p.guest.table[PAGES - 1].got, 0);
		munmap(p.home.s.alias, PAGES * SMALL_PAGE);
		munmap(p.home.s.twins, TWINS * SMALL_PAGE);
		munmap((void *)p.home.table, PAGES * sizeof(*p.home.table));
		end_relative(&p.guest);
	}
	await_no_segments();
}

/* ---- refusals ----------------------------------------------------------- */

static void peers_that_make_no_sense_are_refused(void)
{
	struct relative r = make_relative(PAGES, TWINS, SMALL_PAGE);
	struct relative small = make_relative(PAGES - 1, TWINS, SMALL_PAGE);
	struct relative big = make_relative(PAGES, TWINS, 2 * SMALL_PAGE);
	struct relative like = make_relative(PAGES, TWINS, SMALL_PAGE);
	struct segment plain = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct sonde_dsm_peers args = { .size = sizeof(args), .npeers = 1 };
	int32_t fds[2] = { like.s.fd, -1 };

	args.fds = (uintptr_t)fds;
	args.flags = 1;
	check_int(do_ioctl(r.s.fd, SONDE_IOC_DSM_PEERS, &args), -EINVAL);
	args.flags = 0;
	args.reserved = 1;
	check_int(do_ioctl(r.s.fd, SONDE_IOC_DSM_PEERS, &args), -EINVAL);
	check_int(try_peers(&r.s, fds, 0), -EINVAL);
	check_int(try_peers(&r.s, fds, SONDE_DSM_PEERS_MAX + 1), -EINVAL);
	check_int(try_peers(&r.s, (void *)1, 1), -EFAULT);
	check_int(try_peers(&plain, fds, 1), -EINVAL);
	check_int(try_peers(&r.s, &r.s.fd, 1), -EINVAL);
	check_int(try_peers(&r.s, &plain.fd, 1), -EINVAL);
	check_int(try_peers(&r.s, &small.s.fd, 1), -EINVAL);
	check_int(try_peers(&r.s, &big.s.fd, 1), -EINVAL);
	fds[1] = 0;
	check_int(try_peers(&r.s, fds, 2), -EINVAL);
	fds[1] = 9999;
	check_int(try_peers(&r.s, fds, 2), -EBADF);
	fds[1] = -1;
	check_int(try_peers(&r.s, fds, 2), 0);
	check_int(try_peers(&r.s, fds, 2), -EEXIST);
	/* The table is there as far as it has pages, and only with that flag. */
	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, plain.fd, SONDE_DSM_TABLE) ==
	      MAP_FAILED);
	check_int(errno, ENXIO);
	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, r.s.fd,
		   SONDE_DSM_TABLE + SMALL_PAGE) == MAP_FAILED);
	check(mmap(NULL, SMALL_PAGE, PROT_READ, MAP_SHARED, r.s.fd,
		   SONDE_DSM_TWINS + TWINS * SMALL_PAGE) == MAP_FAILED);
}

static const struct tap_test tests[] = {
	TAP_TEST(a_page_is_copied_from_who_has_it),
	TAP_TEST(what_nobody_touched_there_is_zeros),
	TAP_TEST(a_write_to_a_void_page_copies_it_and_takes_a_twin),
	TAP_TEST(system_calls_have_pages_copied_too),
	TAP_TEST(what_is_too_old_or_not_offered_is_an_event),
	TAP_TEST(what_was_told_is_not_copied),
	TAP_TEST(what_was_written_here_is_not_copied_over),
	TAP_TEST(a_page_is_shut_where_a_copy_was_made),
	TAP_TEST(a_copy_keeps_a_page_from_being_opened),
	TAP_TEST(a_list_that_cannot_be_told_is_not_lost),
	TAP_TEST(no_write_is_missed_by_a_copy_that_counts_as_new),
	TAP_TEST(segments_copy_from_each_other_at_once),
	TAP_TEST(who_has_closed_is_not_copied_from),
	TAP_TEST(peers_of_each_other_go),
	TAP_TEST(another_process_is_shut_and_may_end_at_any_time),
	TAP_TEST(peers_that_make_no_sense_are_refused),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
