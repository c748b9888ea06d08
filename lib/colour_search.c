// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * colour_search - coloured memory on a stock kernel: map pages, look up their
 * frames, keep those of wanted colours
 *
 * A page is kept by moving its mapping to its place in the memory: mremap() moves
 * the translation, not the page. The others stay mapped until all are found, or
 * the kernel would give the same ones again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/mempolicy.h>

#include "colour.h"
#include "frames.h"
#include "free_memory.h"
#include "log.h"

/* Pages that are looked at at once: 16 MiB. */
#define BATCH		4096
/* As in the module: beyond so many times what is to be expected there are none. */
#define PATIENCE	16
/* Frames next to each other agree in their high bits: look at 128 MiB at least. */
#define LEAST		(8 * BATCH)

struct search_source {
	struct sonde_colour_source src;
	struct sonde_frames_source *frames;
};

/**
 * struct search - one call
 * @found: pages of each wanted colour so far, by its place in wish->wanted
 * @missing: places that are empty
 * @batch: what was mapped to look at
 */
struct search {
	struct search_source *source;
	const struct colour_wish *wish;
	struct sonde_colour_memory *memory;
	size_t page_size;
	size_t missing;
	size_t found[COLOUR_MOST];
	int place_of[COLOUR_MOST];	/* in wish->wanted, -1 if not wanted */
	struct {
		char *addr;
		size_t npages;
	} *batch;
	size_t nbatches;
	struct sonde_frame frames[BATCH];
};

static struct search_source *to_search(struct sonde_colour_source *src)
{
	return (struct search_source *)(void *)src;
}

static int bind_to_node(void *addr, size_t bytes, int node)
{
	unsigned long mask[16] = { 0 };
	const size_t word = 8 * sizeof(mask[0]);

	if (node < 0)
		return 0;
	if ((size_t)node >= sizeof(mask) * 8)
		return -EINVAL;
	mask[(size_t)node / word] |= 1UL << (size_t)node % word;
	if (syscall(SYS_mbind, addr, bytes, MPOL_BIND, mask, sizeof(mask) * 8, 0))
		return -errno;
	return 0;
}

/* New pages, of base size, that are there; at @at if it is not NULL. */
static int map_pages(const struct search *s, void *at, size_t npages, char **out)
{
	const size_t bytes = npages * s->page_size;
	int err;
	char *p;

	p = mmap(at, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	madvise(p, bytes, MADV_NOHUGEPAGE);	/* refused where there are none */
	err = bind_to_node(p, bytes, s->wish->request->node);
	if (err) {
		munmap(p, bytes);
		return err;
	}
	for (size_t i = 0; i < npages; i++)
		((volatile char *)p)[i * s->page_size] = 0;
	*out = p;
	return 0;
}

static int reserve_memory(struct search *s)
{
	void *p = mmap(NULL, s->memory->npages * s->page_size, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	s->memory->addr = p;
	return 0;
}

/* Moves the page to the next place of its colour, if there is one. */
static int keep_page(struct search *s, char *page, unsigned int colour)
{
	const int k = s->place_of[colour];
	size_t i;
	char *to;

	if (k < 0)
		return 0;
	i = (size_t)k + s->found[k] * s->wish->nwanted;
	if (i >= s->memory->npages)
		return 0;
	to = (char *)s->memory->addr + i * s->page_size;
	if (mremap(page, s->page_size, s->page_size, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
	    MAP_FAILED)
		return -errno;
	s->found[k]++;
	s->missing--;
	return 0;
}

static int look_at_batch(struct search *s, size_t npages)
{
	ssize_t got;
	char *p;
	int err;

	err = map_pages(s, NULL, npages, &p);
	if (err)
		return err;
	s->batch[s->nbatches].addr = p;
	s->batch[s->nbatches++].npages = npages;
	s->memory->drawn += npages;
	got = sonde_frames_read(s->source->frames, p, npages, s->frames);
	if (got < 0)
		return (int)got;
	for (size_t i = 0; i < npages && s->missing && !err; i++)
		if (s->frames[i].flags & SONDE_FRAME_FRAME)
			err = keep_page(s, p + i * s->page_size,
					sonde_colour_of(s->wish->request, s->frames[i].frame));
	return err;
}

/* Pages in which what is missing is to be expected. */
static size_t expect_pages(const struct search *s)
{
	return (s->missing << s->wish->request->bits) / s->wish->nwanted;
}

/* No more than half of what is free is taken to look for pages. */
static size_t limit_pages(const struct search *s)
{
	size_t most = PATIENCE * expect_pages(s), room = free_memory("") / 2 / s->page_size;

	if (most < LEAST)
		most = LEAST;
	return most < room ? most : room;
}

static int search_pages(struct search *s)
{
	const size_t most = limit_pages(s);
	size_t n;
	int err = 0;

	s->batch = calloc(most / BATCH + 1, sizeof(*s->batch));
	if (!s->batch)
		return -ENOMEM;
	while (s->missing && !err) {
		n = most - (size_t)s->memory->drawn;
		if (!n)
			return -ENOSPC;
		err = look_at_batch(s, n < BATCH ? n : BATCH);
	}
	return err;
}

/* Whatever pages the kernel has for the places that are empty. */
static int fill_places(struct search *s)
{
	const size_t step = s->wish->nwanted;
	char *p;
	int err = 0;

	for (size_t k = 0; k < step; k++)
		for (size_t i = k + s->found[k] * step; i < s->memory->npages && !err; i += step) {
			err = map_pages(s, (char *)s->memory->addr + i * s->page_size, 1, &p);
			s->memory->drawn++;
		}
	return err;
}

/* What it is at last: pages may have been moved meanwhile. */
static int count_memory(struct search *s)
{
	struct sonde_colour_memory *memory = s->memory;
	const struct colour_wish *wish = s->wish;
	uint64_t last = 0, run = 0, frame;
	ssize_t got;
	size_t n;

	for (size_t done = 0; done < memory->npages; done += n) {
		n = memory->npages - done < BATCH ? memory->npages - done : BATCH;
		got = sonde_frames_read(s->source->frames,
					(char *)memory->addr + done * s->page_size, n, s->frames);
		if (got < 0)
			return (int)got;
		for (size_t i = 0; i < n; i++) {
			frame = s->frames[i].frame;
			if (wish->nwanted && sonde_colour_of(wish->request, frame) !=
					     wish->wanted[(done + i) % wish->nwanted])
				memory->off_colour++;
			run = run && frame == last + 1 ? run + 1 : 1;
			memory->runs += run == 1;
			if (run > memory->longest)
				memory->longest = run;
			last = frame;
		}
	}
	return 0;
}

static int find_memory(struct search *s)
{
	const unsigned int partial = s->wish->request->flags & SONDE_ALLOC_PARTIAL;
	char *p;
	int err;

	if (!s->wish->nwanted) {
		s->memory->drawn = s->memory->npages;
		return map_pages(s, s->memory->addr, s->memory->npages, &p);
	}
	err = search_pages(s);
	if (err == -ENOSPC && partial)
		err = fill_places(s);
	return err;
}

/* Kept from being swapped and, as the module's memory, from children. */
static int pin_memory(struct search *s)
{
	const size_t bytes = s->memory->npages * s->page_size;

	if (mlock(s->memory->addr, bytes))
		return errno == EPERM || errno == ENOMEM ? -ENOBUFS : -errno;
	return madvise(s->memory->addr, bytes, MADV_DONTFORK) ? -errno : 0;
}

static int run_search(struct search *s)
{
	const unsigned int partial = s->wish->request->flags & SONDE_ALLOC_PARTIAL;
	int err;

	err = reserve_memory(s);
	if (err)
		return err;
	err = find_memory(s);
	if (!err)
		err = pin_memory(s);
	for (size_t i = 0; i < s->nbatches; i++)
		munmap(s->batch[i].addr, s->batch[i].npages * s->page_size);
	free(s->batch);
	if (!err)
		err = count_memory(s);
	if (!err && s->memory->off_colour && !partial)
		err = -ENOSPC;
	if (err)
		munmap(s->memory->addr, s->memory->npages * s->page_size);
	return err;
}

static int search_alloc(struct sonde_colour_source *src, const struct colour_wish *wish,
			struct sonde_colour_memory *memory)
{
	struct search *s;
	int err;

	if (wish->request->flags & SONDE_ALLOC_CONTIGUOUS)
		return -EOPNOTSUPP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct search){
		.source = to_search(src), .wish = wish, .memory = memory,
		.page_size = src->page_size, .missing = memory->npages,
	};
	memset(s->place_of, -1, sizeof(s->place_of));
	for (unsigned int k = 0; k < wish->nwanted; k++)
		s->place_of[wish->wanted[k]] = (int)k;
	memory->fd = -1;
	err = run_search(s);
	if (err == -ENOMEM)
		sonde_log("colour: out of memory, or of mappings (vm.max_map_count): each of %zu "
			  "pages is one", memory->npages);
	free(s);
	return err;
}

static void search_close(struct sonde_colour_source *src)
{
	sonde_frames_close(to_search(src)->frames);
	free(src);
}

static const struct colour_ops search_ops = {
	.backend = SONDE_COLOUR_SEARCH,
	.alloc = search_alloc,
	.close = search_close,
};

int colour_search_open(struct sonde_colour_source **out)
{
	struct search_source *search = calloc(1, sizeof(*search));
	int err;

	if (!search)
		return -ENOMEM;
	err = sonde_frames_open(&search->frames, SONDE_FRAMES_PAGEMAP);
	if (err) {
		free(search);
		return err;
	}
	search->src.ops = &search_ops;
	*out = &search->src;
	return 0;
}
