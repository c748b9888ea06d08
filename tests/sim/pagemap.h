/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames for the chunks of a pool, as an operating system would give them. */
#ifndef TESTS_SIM_PAGEMAP_H
#define TESTS_SIM_PAGEMAP_H

#include <stddef.h>
#include <stdint.h>

#include "machine.h"

/* Fill @frame[0..@n), no frame twice, below 2 to the power of FRAME_BITS. */
void pagemap_fill(uint32_t *frame, size_t n, enum machine_map map, unsigned int colours,
		  uint64_t seed);

#endif
