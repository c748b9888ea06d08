/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the simulator: an alltoall among members that send messages. */
#ifndef SONDE_COLL_SIM_EXCHANGE_H
#define SONDE_COLL_SIM_EXCHANGE_H

#include "schedule.h"

/**
 * struct exchange - one alltoall
 * @n: members; @self: which one this is
 * @bytes: of a block
 */
struct exchange {
	enum a2a_inner kind;
	uint32_t n, self, radix;
	uint64_t bytes;
};

/* How many steps it has. */
uint64_t exchange_length(const struct exchange *e);

/* Step @index; peers are members. */
void exchange_get(const struct exchange *e, uint64_t index, struct a2a_op *op);

/* Blocks whose number has digit @digit at @place of base @radix, among the first @n. */
uint32_t exchange_count_blocks(uint32_t n, uint32_t radix, uint32_t place, uint32_t digit);

#endif
