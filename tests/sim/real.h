/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models of real machines, so that the simulator can be held against what was
 * measured on them: what is documented is as documented, the rest is what made
 * the measurements come out.
 */
#ifndef TESTS_SIM_REAL_H
#define TESTS_SIM_REAL_H

#include "machine.h"

/* A guest on an AMD EPYC of the Turin generation (Zen 5), 2 CPUs, one L3 of 32 MiB. */
extern const struct machine_model real_turin;

/* A guest on an Intel Xeon of the Emerald Rapids generation, 2 CPUs. */
extern const struct machine_model real_emerald_rapids;

#endif
