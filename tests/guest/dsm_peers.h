/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments with tables, that copy pages from each other. */
#ifndef TESTS_GUEST_DSM_PEERS_H
#define TESTS_GUEST_DSM_PEERS_H

#include "dsm.h"

struct relative {
	struct segment s;
	volatile struct sonde_dsm_copy *table;
};

__attribute__((unused))
static struct relative make_relative_with(uint32_t flags, uint32_t npages, uint32_t ntwins,
					  uint32_t unit)
{
	struct relative r = {
		.s = make_segment_with(SONDE_DSM_PEERS | flags, npages, ntwins, unit),
	};

	r.table = (void *)map_segment(r.s.fd, npages * sizeof(*r.table), SONDE_DSM_TABLE);
	return r;
}

__attribute__((unused))
static struct relative make_relative(uint32_t npages, uint32_t ntwins, uint32_t unit)
{
	return make_relative_with(0, npages, ntwins, unit);
}

__attribute__((unused))
static void end_relative(struct relative *r)
{
	check_int(munmap((void *)r->table, r->s.npages * sizeof(*r->table)), 0);
	end_segment(&r->s);
}

__attribute__((unused))
static int try_peers(const struct segment *s, const int32_t *fds, uint32_t n)
{
	struct sonde_dsm_peers args = {
		.size = sizeof(args), .fds = (uintptr_t)fds, .npeers = n,
	};

	return do_ioctl(s->fd, SONDE_IOC_DSM_PEERS, &args);
}

__attribute__((unused))
static void offer(struct relative *r, uint32_t page, uint32_t peer, uint64_t least)
{
	r->table[page].least = least;
	r->table[page].got = 0;
	__atomic_store_n(&r->table[page].peer, peer + 1, __ATOMIC_RELEASE);
}

/* What was copied, once that is certain; zero if nothing was. */
__attribute__((unused))
static uint64_t withdraw(struct relative *r, uint32_t page)
{
	__atomic_store_n(&r->table[page].peer, 0, __ATOMIC_SEQ_CST);
	if (r->table[page].got == SONDE_DSM_COPYING)
		untwin(&r->s, page);
	check(r->table[page].got != SONDE_DSM_COPYING);
	return r->table[page].got;
}

#endif
