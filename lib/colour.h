/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Where coloured memory comes from: one implementation a file, chosen in colour.c. */
#ifndef SONDE_LIB_COLOUR_H
#define SONDE_LIB_COLOUR_H

#include <sonde/colour.h>

#define COLOUR_WHY	512
#define COLOUR_MOST	(1U << SONDE_ALLOC_MASKS)

/**
 * struct colour_wish - a request that was checked, in a form that is quick to use
 * @request: as the caller gave it
 * @masks: its masks, also where it has none
 * @nwanted: how many colours are wanted; 0: any will do
 * @wanted: which, ascending
 */
struct colour_wish {
	const struct sonde_colour_request *request;
	uint64_t masks[SONDE_ALLOC_MASKS];
	unsigned int nwanted;
	uint16_t wanted[COLOUR_MOST];
};

/**
 * struct colour_ops - one way to coloured memory
 * @backend: which one
 * @alloc: fills in all of @memory, which is zeroed but for npages; nothing is
 *	left behind on failure
 * @close: frees what the way holds, and @src
 */
struct colour_ops {
	enum sonde_colour_backend backend;
	int (*alloc)(struct sonde_colour_source *src, const struct colour_wish *wish,
		     struct sonde_colour_memory *memory);
	void (*close)(struct sonde_colour_source *src);
};

/**
 * struct sonde_colour_source - the part that all ways have
 * @ops: which way
 * @page_size: bytes
 * @why: why not a better way; empty if there is none
 */
struct sonde_colour_source {
	const struct colour_ops *ops;
	size_t page_size;
	char why[COLOUR_WHY];
};

/* Each returns 0 or a negative error and leaves *@src alone then. */
int colour_module_open(struct sonde_colour_source **src);
int colour_search_open(struct sonde_colour_source **src);

#endif
