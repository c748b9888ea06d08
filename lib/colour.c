// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * colour - choose where coloured memory comes from; check what is asked for
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "colour.h"
#include "device.h"
#include "log.h"

#define ALLOC_FLAGS (SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL)

/* ---- the source --------------------------------------------------------- */

static void say_search(struct sonde_colour_source *src, const char *reason)
{
	snprintf(src->why, sizeof(src->why),
		 "%s; without it pages are searched anew for each call, may be moved by the "
		 "kernel, and cannot be contiguous", reason);
}

/* The module's own reason, where both fail: it is the better way. */
static int open_best(struct sonde_colour_source **src)
{
	int module_err, search_err;
	char reason[COLOUR_WHY / 2];

	module_err = colour_module_open(src);
	if (!module_err)
		return 0;
	search_err = colour_search_open(src);
	if (search_err)
		return search_err == -ENOMEM ? search_err : module_err;
	sonde_device_explain(SONDE_NODE_PROBE, module_err, reason, sizeof(reason));
	say_search(*src, reason);
	return 0;
}

static int open_search(struct sonde_colour_source **src)
{
	int err = colour_search_open(src);

	if (!err)
		say_search(*src, "the module was not asked for");
	return err;
}

int sonde_colour_open(struct sonde_colour_source **out, enum sonde_colour_backend backend)
{
	struct sonde_colour_source *src = NULL;
	int err = -EINVAL;

	if (backend == SONDE_COLOUR_AUTO)
		err = open_best(&src);
	else if (backend == SONDE_COLOUR_MODULE)
		err = colour_module_open(&src);
	else if (backend == SONDE_COLOUR_SEARCH)
		err = open_search(&src);
	if (err)
		return err;
	src->page_size = (size_t)sysconf(_SC_PAGESIZE);
	sonde_log("colour: %s%s%s", sonde_colour_backend_name(src->ops->backend),
		  *src->why ? ": " : "", src->why);
	*out = src;
	return 0;
}

void sonde_colour_close(struct sonde_colour_source *src)
{
	if (src)
		src->ops->close(src);
}

enum sonde_colour_backend sonde_colour_backend(const struct sonde_colour_source *src)
{
	return src->ops->backend;
}

const char *sonde_colour_backend_name(enum sonde_colour_backend backend)
{
	switch (backend) {
	case SONDE_COLOUR_AUTO:
		return "auto";
	case SONDE_COLOUR_MODULE:
		return "module";
	case SONDE_COLOUR_SEARCH:
		return "search";
	}
	return "unknown";
}

const char *sonde_colour_why(const struct sonde_colour_source *src)
{
	return *src->why ? src->why : NULL;
}

/* ---- the request -------------------------------------------------------- */

unsigned int sonde_colour_of(const struct sonde_colour_request *request, uint64_t frame)
{
	unsigned int colour = 0;

	if (!request->masks)
		return frame & ((1U << request->bits) - 1);
	for (unsigned int i = 0; i < request->bits; i++)
		colour |= (unsigned int)__builtin_parityll(frame & request->masks[i]) << i;
	return colour;
}

/* By elimination: a mask of which nothing is left is a sum of earlier ones. */
static int are_independent(const uint64_t *masks, unsigned int n)
{
	uint64_t left[SONDE_ALLOC_MASKS];

	memcpy(left, masks, n * sizeof(*masks));
	for (unsigned int i = 0; i < n; i++) {
		if (!left[i])
			return 0;
		for (unsigned int j = i + 1; j < n; j++)
			if (left[j] & left[i] & -left[i])
				left[j] ^= left[i];
	}
	return 1;
}

static int fill_colours(struct colour_wish *wish)
{
	const struct sonde_colour_request *request = wish->request;
	const unsigned int n = 1U << request->bits, room = n < 64 ? 64 : n;

	for (unsigned int i = 0; i < request->bits; i++)
		wish->masks[i] = request->masks ? request->masks[i] : UINT64_C(1) << i;
	if (!are_independent(wish->masks, request->bits))
		return -EINVAL;
	for (unsigned int colour = 0; colour < room; colour++) {
		if (!(request->colours[colour / 64] >> colour % 64 & 1))
			continue;
		if (colour >= n)
			return -EINVAL;
		wish->wanted[wish->nwanted++] = (uint16_t)colour;
	}
	return wish->nwanted ? 0 : -EINVAL;
}

static int make_wish(struct colour_wish *wish, const struct sonde_colour_request *request,
		     size_t page_size)
{
	memset(wish, 0, sizeof(*wish));
	wish->request = request;
	if (!request->npages || request->npages > SIZE_MAX / 2 / page_size ||
	    request->flags & ~ALLOC_FLAGS || request->node < -1 ||
	    request->bits > SONDE_ALLOC_MASKS)
		return -EINVAL;
	if (!request->colours)
		return request->bits || request->masks ? -EINVAL : 0;
	if (!request->bits || request->flags & SONDE_ALLOC_CONTIGUOUS)
		return -EINVAL;
	return fill_colours(wish);
}

int sonde_colour_alloc(struct sonde_colour_source *src, const struct sonde_colour_request *request,
		       struct sonde_colour_memory **out)
{
	struct sonde_colour_memory *memory = calloc(1, sizeof(*memory));
	struct colour_wish *wish = malloc(sizeof(*wish));
	int err = -ENOMEM;

	if (memory && wish)
		err = make_wish(wish, request, src->page_size);
	if (!err) {
		memory->npages = request->npages;
		err = src->ops->alloc(src, wish, memory);
	}
	free(wish);
	if (err) {
		free(memory);
		return err;
	}
	*out = memory;
	return 0;
}

void sonde_colour_free(struct sonde_colour_memory *memory)
{
	if (!memory)
		return;
	munmap(memory->addr, memory->npages * (size_t)sysconf(_SC_PAGESIZE));
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory);
}
