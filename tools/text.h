/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers as people read them: with a unit, to the digits that mean something. */
#ifndef SONDE_TOOLS_TEXT_H
#define SONDE_TOOLS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Room that any of them needs. */
#define TEXT_LEN 64

char *text_size(char buf[TEXT_LEN], uint64_t bytes);		/* "48 KiB", "1.94 MiB" */
char *text_hz(char buf[TEXT_LEN], double hz);			/* "3.02 GHz" */
char *text_ns(char buf[TEXT_LEN], double ns);			/* "1.62 ns" */
/* "1.62 us", "14.1 ms"; "-" for what is not above zero */
char *text_time(char buf[TEXT_LEN], double ns);
char *text_cycles(char buf[TEXT_LEN], double cycles);		/* "5.0 cycles" */

/* CPU numbers, ascending, as "0-3,8"; to be freed; NULL for want of memory. */
char *text_cpus(const unsigned int *cpus, size_t n);

#endif
