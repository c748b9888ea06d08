/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of SONDE_IOC_ALLOC share: requests, mappings, frames. */
#ifndef TESTS_GUEST_ALLOC_H
#define TESTS_GUEST_ALLOC_H

#include <inttypes.h>

#include "pagemap.h"

#define MOST_COLOURS	4096

/* The caller's side of a request; args point into it. */
struct request {
	struct sonde_alloc args;
	uint64_t masks[SONDE_ALLOC_MASKS + 1];
	uint64_t colours[MOST_COLOURS / 64];
	unsigned int bits;
	unsigned int nwanted;
	unsigned int wanted[MOST_COLOURS];
};

/* @npages of any colour. */
__attribute__((unused))
static void ask_pages(struct request *rq, uint64_t npages, uint32_t flags)
{
	memset(rq, 0, sizeof(*rq));
	rq->args = (struct sonde_alloc){
		.size = sizeof(rq->args), .flags = flags, .npages = npages,
		.node = -1, .fd = -1,
	};
}

/* Of colours of the low @bits bits, but none of them yet. */
__attribute__((unused))
static void ask_colours(struct request *rq, uint64_t npages, unsigned int bits)
{
	unsigned int i;

	ask_pages(rq, npages, 0);
	rq->bits = bits;
	for (i = 0; i < bits; i++)
		rq->masks[i] = 1ULL << i;
	rq->args.nmasks = bits;
	rq->args.masks = (uintptr_t)rq->masks;
	rq->args.colours = (uintptr_t)rq->colours;
}

/* To be called with ascending colours. */
__attribute__((unused))
static void want(struct request *rq, unsigned int colour)
{
	rq->colours[colour / 64] |= 1ULL << colour % 64;
	rq->wanted[rq->nwanted++] = colour;
}

/* @k colours of all, spread. */
__attribute__((unused))
static void want_some(struct request *rq, unsigned int k)
{
	const unsigned int n = 1U << rq->bits;
	unsigned int i;

	for (i = 0; i < k; i++)
		want(rq, (i * n + n / 3) / k);
}

static unsigned int colour_of(const struct request *rq, uint64_t frame)
{
	unsigned int colour = 0, i;

	for (i = 0; i < rq->bits; i++)
		colour |= (unsigned int)__builtin_parityll(frame & rq->masks[i]) << i;
	return colour;
}

/* 0 or -errno; the descriptor is in args.fd. */
__attribute__((unused))
static int alloc(int probe, struct request *rq)
{
	return do_ioctl(probe, SONDE_IOC_ALLOC, &rq->args);
}

__attribute__((unused))
static char *map_memory(int fd, uint64_t npages)
{
	char *p = mmap(NULL, npages * SMALL_PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);

	check_msg(p != MAP_FAILED, "mmap: %s", strerror(errno));
	return p;
}

/* The frames behind @p as pagemap tells them; all pages must be there. */
__attribute__((unused))
static uint64_t *frames_of(const char *p, uint64_t npages)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t *frames = calloc(npages, sizeof(*frames)), i;

	check(fd >= 0 && frames);
	read_pagemap(fd, p, npages, frames);
	close(fd);
	for (i = 0; i < npages; i++) {
		check_msg(frames[i] & PM_PRESENT, "page %" PRIu64 " is not there", i);
		frames[i] &= PM_FRAME;
		check(frames[i]);
	}
	return frames;
}

/* Pages that have not the colour of their place. */
__attribute__((unused))
static uint64_t count_off_colour(const struct request *rq, const uint64_t *frames)
{
	uint64_t i, off = 0;

	for (i = 0; i < rq->args.npages; i++)
		off += colour_of(rq, frames[i]) != rq->wanted[i % rq->nwanted];
	return off;
}

__attribute__((unused))
static void check_runs(const struct request *rq, const uint64_t *frames)
{
	uint64_t i, runs = 0, run = 0, longest = 0;

	for (i = 0; i < rq->args.npages; i++) {
		if (!i || frames[i] != frames[i - 1] + 1) {
			runs++;
			run = 0;
		}
		if (++run > longest)
			longest = run;
	}
	check_int(rq->args.runs, runs);
	check_int(rq->args.longest, longest);
}

static unsigned long parameter(const char *name)
{
	char path[100];
	unsigned long value;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/sonde/parameters/%s", name);
	f = fopen(path, "r");
	check_msg(f && fscanf(f, "%lu", &value) == 1, "cannot read %s", path);
	fclose(f);
	return value;
}

/* Pages that all memory and all pools have. */
__attribute__((unused))
static unsigned long pages_held(void)
{
	return parameter("memory_held");
}

#endif
