/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TESTS_LONG_H
#define TESTS_LONG_H

#include <stdlib.h>

/* Whether tests that take long are wanted: the targets of `make check-long` set SONDE_LONG. */
static inline int tap_long(void)
{
	const char *wanted = getenv("SONDE_LONG");

	return wanted && *wanted;
}

#endif
