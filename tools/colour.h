/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the subcommands of `sonde colour` share: how colours are asked for. */
#ifndef SONDE_TOOLS_COLOUR_H
#define SONDE_TOOLS_COLOUR_H

#include <stddef.h>
#include <stdint.h>
#include <jansson.h>
#include <sonde/colour.h>
#include <sonde/frames.h>
#include "cli.h"

#define COLOUR_MOST (1U << SONDE_ALLOC_MASKS)

/* One file each; the table is in cmd-colour.c. */
extern const struct cli_command colour_alloc, colour_map, colour_verify, colour_classes;

/**
 * struct colour_options - what is common; a subcommand's options begin with it
 * @common: as of all commands
 * @bits: bits of a colour, 0 if not given
 * @masks: what they are, if @has_masks
 * @pages: how much memory, 0 if not given
 * @bytes: the same otherwise
 * @page_size: bytes of a page, by colour_settle()
 */
struct colour_options {
	struct cli_common common;
	unsigned int bits;
	uint64_t masks[SONDE_ALLOC_MASKS];
	int has_masks;
	uint64_t pages;
	size_t bytes;
	size_t page_size;
};

int colour_set_bits(void *options, const char *arg);
int colour_set_masks(void *options, const char *arg);
int colour_set_pages(void *options, const char *arg);
int colour_set_size(void *options, const char *arg);

#define COLOUR_OPTIONS \
	{ "bits", 'b', "N", "a colour is the low N bits of a frame (default 4)", \
	  colour_set_bits }, \
	{ "masks", 0, "MASK,...", "bit i of a colour is the parity of (frame & i-th mask)", \
	  colour_set_masks }, \
	{ "pages", 'n', "N", "so many base pages", colour_set_pages }, \
	{ "size", 's', "SIZE", "so much memory, as 1M", colour_set_size }

/* Fill in what was not given; @pages is the default. Return: exit status. */
int colour_settle(struct colour_options *options, uint64_t pages);

/* Bits and masks of a request, and "low 4 bits of the frame" of it. */
void colour_fill(const struct colour_options *options, struct sonde_colour_request *request);
char *colour_describe(const struct sonde_colour_request *request, char *buf, size_t len);

/* Frame numbers, or the reason why not is said and CLI_CANNOT_MEASURE returned. */
int colour_open_frames(struct sonde_frames_source **frames);

/* The masks as "0x1f", ...; NULL for want of memory. */
json_t *colour_pack_masks(const struct sonde_colour_request *request);

#endif
