/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the module keeps for an open file: state words, and slots for regions. */
#ifndef SONDE_LIB_REGION_SLOTS_H
#define SONDE_LIB_REGION_SLOTS_H

#include "region.h"

/* Map the state words. 0, -errno; region_slots_close() in any case. */
int region_slots_open(struct sonde_transfer *t);
void region_slots_close(struct sonde_transfer *t);

/* Register a region. Return: its slot, or -1 if none can be had. */
int region_slots_take(struct sonde_transfer *t, int fd);

/* Empty a slot; -1 is none. */
void region_slots_give(struct sonde_transfer *t, int slot);

#endif
