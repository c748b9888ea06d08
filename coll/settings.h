/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * settings - what a person may say, by environment
 *
 * Read once by each process. Rank 0 of a communicator tells its own to all when
 * a plan is made, so that they agree whatever the environments of nodes are.
 */
#ifndef SONDE_COLL_SETTINGS_H
#define SONDE_COLL_SETTINGS_H

#include <stddef.h>

#include "call.h"

#define COLL_NAME	64	/* bytes of a composition's name */

/**
 * struct coll_settings - what plans are made by
 * @forced: a composition's name for each operation; empty if it is to be chosen
 * @eager: bytes of the largest message that aggregated blocks are sent in
 * @area_least, @area_most: bytes of a rank's areas in a segment
 * @shm_most: bytes of a communicator's segment on a node
 * @is_tried: ways in a node are tried beside the usual one
 * @window: sends and receives that are under way at a time
 */
struct coll_settings {
	char forced[COLL_OPS][COLL_NAME];
	size_t eager, area_least, area_most, shm_most;
	int window;
	int is_explained, is_tried;
};

/* The process's own; wrong values are told of in one line and left out. */
const struct coll_settings *coll_settings_get(void);

/* 0: the library is switched off. */
int coll_is_on(void);

#endif
