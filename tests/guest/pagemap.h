/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SONDE_IOC_FRAMES against /proc/self/pagemap.
 *
 * Pagemap is read before and after; a page whose entry differs between the two
 * moved meanwhile and is asked for again. Every page must be compared at last.
 */
#ifndef TESTS_GUEST_PAGEMAP_H
#define TESTS_GUEST_PAGEMAP_H

#include <time.h>

#include "nodes.h"

#define PM_PRESENT	(1ULL << 63)
#define PM_FRAME	((1ULL << 55) - 1)

#define MOST_AT_ONCE	1500
#define ANY		(-1)

/* What must hold of all pages that are compared, beyond what pagemap says. */
struct expect {
	int mapped;	/* 0, 1 or ANY */
	int present;	/* 0, 1 or ANY: of every page */
	int order;	/* of every present page, or ANY */
	int node;	/* whether present pages have one, or ANY */
};

/* What was seen, to be held against what else the kernel tells. */
struct seen {
	size_t pages, present, moved;
	size_t order[32];
};

__attribute__((unused))
static void read_pagemap(int fd, const void *addr, size_t n, uint64_t *out)
{
	size_t len = n * sizeof(*out);
	off_t off = (uintptr_t)addr / SMALL_PAGE * sizeof(*out);

	check_int(pread(fd, out, len, off), len);
}

static bool is_same_place(uint64_t a, uint64_t b)
{
	return (a & (PM_PRESENT | PM_FRAME)) == (b & (PM_PRESENT | PM_FRAME));
}

static void check_page(const char *addr, const struct sonde_frame *f,
		       uint64_t pm, uint32_t mask, const struct expect *want)
{
	static const unsigned char zero[sizeof(f->reserved)];
	const uint16_t always = SONDE_FRAME_PRESENT | SONDE_FRAME_FRAME |
				SONDE_FRAME_COLOUR;
	uint16_t flags = f->flags & ~(SONDE_FRAME_MAPPED | SONDE_FRAME_NODE);
	bool present = pm & PM_PRESENT;
	uint64_t frame = present ? pm & PM_FRAME : 0;

	check_msg(flags == (present ? always : 0),
		  "%p: flags %#x, pagemap %#llx", addr, f->flags,
		  (unsigned long long)pm);
	check_msg(f->frame == frame, "%p: frame %#llx, pagemap %#llx", addr,
		  (unsigned long long)f->frame, (unsigned long long)frame);
	check_int(f->colour, frame & mask);
	check(present || (!f->order && !(f->flags & SONDE_FRAME_NODE)));
	check(!present || f->flags & SONDE_FRAME_MAPPED);
	check_int(f->node, 0);	/* the guest has one node */
	check(!memcmp(f->reserved, zero, sizeof(zero)));

	if (want->mapped != ANY)
		check_int(!!(f->flags & SONDE_FRAME_MAPPED), want->mapped);
	if (want->present != ANY)
		check_msg(present == want->present, "%p: present is %d", addr,
			  present);
	if (present && want->order != ANY)
		check_msg(f->order == want->order, "%p: order %d, not %d", addr,
			  f->order, want->order);
	if (present && want->node != ANY)
		check_int(!!(f->flags & SONDE_FRAME_NODE), want->node);
}

struct comparison {
	int probe, pagemap;
	uint32_t mask;
	const struct expect *want;
	struct seen *seen;
};

/* One batch; returns how many pages from its start could be compared. */
static size_t compare_batch(const struct comparison *c, const char *addr,
			    size_t n)
{
	static uint64_t before[MOST_AT_ONCE], after[MOST_AT_ONCE];
	static struct sonde_frame entries[MOST_AT_ONCE + 1];
	const struct sonde_frame *canary = &entries[n];
	struct sonde_frame untouched;
	uint64_t done = 0;
	size_t i;

	memset(entries, 0xa5, sizeof(entries));
	memset(&untouched, 0xa5, sizeof(untouched));
	read_pagemap(c->pagemap, addr, n, before);
	check_int(get_frames(c->probe, addr, n, entries, 0, &done), 0);
	read_pagemap(c->pagemap, addr, n, after);
	check_int(done, n);
	check(!memcmp(canary, &untouched, sizeof(untouched)));

	for (i = 0; i < n && is_same_place(before[i], after[i]); i++) {
		check_page(addr + i * SMALL_PAGE, &entries[i], before[i],
			   c->mask, c->want);
		c->seen->present += !!(entries[i].flags & SONDE_FRAME_PRESENT);
		if (entries[i].flags & SONDE_FRAME_PRESENT)
			c->seen->order[entries[i].order & 31]++;
	}
	c->seen->moved += i < n;
	return i;
}

/* Compares all of [addr, addr + n pages) in batches of changing length. */
__attribute__((unused))
static void compare(const char *addr, size_t n, const struct expect *want,
		    struct seen *seen)
{
	struct comparison c = {
		.probe = open_node(PROBE_NODE),
		.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
		.want = want,
		.seen = seen,
	};
	time_t deadline = time(NULL) + 60;
	size_t i = 0, batch = 1;

	check(c.pagemap >= 0);
	c.mask = (1U << get_info(c.probe).colour_bits) - 1;
	memset(seen, 0, sizeof(*seen));
	while (i < n) {
		size_t left = n - i;

		i += compare_batch(&c, addr + i * SMALL_PAGE,
				   batch < left ? batch : left);
		batch = (batch * 7 + 1) % MOST_AT_ONCE + 1;
		check_msg(time(NULL) < deadline, "pages do not keep still");
	}
	seen->pages = n;
	close(c.pagemap);
	close(c.probe);
}

#endif
