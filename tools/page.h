/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SONDE_TOOLS_PAGE_H
#define SONDE_TOOLS_PAGE_H

#include <stdio.h>
#include "measure.h"
#include "picture.h"

/**
 * struct page - what a report shows
 * @machine: measured
 * @curve: the latency curve, or why there is none
 * @sweeps: misses by lines of one set, likewise
 * @capacity: by set sampling, likewise
 * @classes: of pages, likewise
 * @sharing: who shares which cache, likewise
 * @scaling: bandwidth by cores, likewise
 * @load: latency under load, likewise
 * @latency: between CPUs, likewise
 * @messages: by size over each layer, likewise
 * @transfers: copies between processes, likewise
 * @topology: likewise
 */
struct page {
	const struct machine *machine;
	struct picture curve;
	struct picture sweeps;
	struct picture capacity;
	struct picture classes;
	struct picture sharing;
	struct picture scaling;
	struct picture load;
	struct picture latency;
	struct picture messages;
	struct picture transfers;
	struct picture topology;
};

/**
 * page_write() - the report as one HTML file that needs no other
 *
 * Errors of the stream are found when it is closed. Return: 0, -ENOMEM.
 */
int page_write(FILE *out, const struct page *page);

/*
 * Communication layers as the profile has them: a section of the page that is left open
 * for pictures; nothing if it has none. Return: 1 if it is there, 0, -ENOMEM.
 */
int page_write_communication(FILE *out, const struct sonde_profile *profile);

#endif
