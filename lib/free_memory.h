/* SPDX-License-Identifier: LGPL-2.1-or-later */
#ifndef SONDE_LIB_FREE_MEMORY_H
#define SONDE_LIB_FREE_MEMORY_H

#include <stdint.h>

/*
 * Bytes this process can still touch without anything being swapped or killed:
 * what the kernel says is available, or less where a control group (version 2)
 * of the process leaves less. @root is in front of the paths, "" for the real
 * ones.
 */
uint64_t free_memory(const char *root);

#endif
