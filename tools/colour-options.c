// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * colour-options - what the subcommands of `sonde colour` have in common
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "colour.h"

#define DEFAULT_BITS	4
/* As much as an address space has. */
#define MOST_PAGES	(UINT64_C(1) << 40)

int colour_set_bits(void *options, const char *arg)
{
	struct colour_options *o = options;
	uint64_t bits;
	int status = cli_parse_count("bits", arg, SONDE_ALLOC_MASKS, &bits);

	if (status == CLI_DONE && !bits) {
		cli_error("--bits 0: one colour is none; give 1 to %d", SONDE_ALLOC_MASKS);
		status = CLI_USAGE;
	}
	o->bits = (unsigned int)bits;
	return status;
}

static int refuse_masks(const char *arg)
{
	cli_error("--masks %s: not 1 to %d numbers that are not 0, as 0x11,0x22", arg,
		  SONDE_ALLOC_MASKS);
	return CLI_USAGE;
}

int colour_set_masks(void *options, const char *arg)
{
	struct colour_options *o = options;
	const char *p = arg;
	unsigned int n = 0;
	char *end;

	for (;; p = end + 1) {
		errno = 0;
		if (n == SONDE_ALLOC_MASKS || *p < '0' || *p > '9')
			return refuse_masks(arg);
		o->masks[n] = strtoumax(p, &end, 0);
		if (errno || !o->masks[n] || (*end && *end != ','))
			return refuse_masks(arg);
		n++;
		if (!*end)
			break;
	}
	o->has_masks = 1;
	o->bits = n;
	return CLI_DONE;
}

int colour_set_pages(void *options, const char *arg)
{
	struct colour_options *o = options;
	int status = cli_parse_count("pages", arg, MOST_PAGES, &o->pages);

	if (status == CLI_DONE && !o->pages) {
		cli_error("--pages 0: give 1 or more");
		status = CLI_USAGE;
	}
	return status;
}

int colour_set_size(void *options, const char *arg)
{
	return cli_parse_size("size", arg, &((struct colour_options *)options)->bytes);
}

int colour_settle(struct colour_options *options, uint64_t pages)
{
	options->page_size = (size_t)sysconf(_SC_PAGESIZE);
	if (options->pages && options->bytes) {
		cli_error("--pages and --size say the same: give one of them");
		return CLI_USAGE;
	}
	if (options->bytes)
		options->pages = (options->bytes + options->page_size - 1) / options->page_size;
	if (!options->pages)
		options->pages = pages;
	if (!options->bits)
		options->bits = DEFAULT_BITS;
	return CLI_DONE;
}

void colour_fill(const struct colour_options *options, struct sonde_colour_request *request)
{
	request->bits = options->bits;
	request->masks = options->has_masks ? options->masks : NULL;
}

char *colour_describe(const struct sonde_colour_request *request, char *buf, size_t len)
{
	size_t used = 0;

	if (!request->masks) {
		snprintf(buf, len, "low %u bit%s of the frame", request->bits,
			 request->bits == 1 ? "" : "s");
		return buf;
	}
	used = (size_t)snprintf(buf, len, "parities of the frame under");
	for (unsigned int i = 0; i < request->bits && used < len; i++)
		used += (size_t)snprintf(buf + used, len - used, "%s 0x%" PRIx64, i ? "," : "",
					 request->masks[i]);
	return buf;
}

int colour_open_frames(struct sonde_frames_source **frames)
{
	struct sonde_frame frame;
	char here = 1, *page;
	int err = sonde_frames_open(frames, SONDE_FRAMES_AUTO);

	if (err) {
		cli_error("frames: %s", strerror(-err));
		return CLI_FAILED;
	}
	page = &here - (uintptr_t)&here % (uintptr_t)sysconf(_SC_PAGESIZE);
	if (sonde_frames_read(*frames, page, 1, &frame) == 1 && frame.flags & SONDE_FRAME_FRAME)
		return CLI_DONE;
	cli_error("%s", sonde_frames_why(*frames) ? sonde_frames_why(*frames) :
		  "no frame numbers are told here");
	sonde_frames_close(*frames);
	*frames = NULL;
	return CLI_CANNOT_MEASURE;
}

json_t *colour_pack_masks(const struct sonde_colour_request *request)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < request->bits; i++)
		json_array_append_new(list, json_sprintf("0x%" PRIx64, request->masks ?
							 request->masks[i] : UINT64_C(1) << i));
	return list;
}
