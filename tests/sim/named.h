/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machines of papers, by name: what is known of them, with latencies and rates
 * that give the figures' proportions.
 */
#ifndef TESTS_SIM_NAMED_H
#define TESTS_SIM_NAMED_H

#include "machine.h"

/*
 * Servet's two machines (section 3, figures 7 and 8).
 *
 * Dunnington: four Xeon E7450 of six cores. Of the CPUs 0 to 11 each three that
 * follow each other are of one processor, and CPU n + 12 shares the second level
 * with CPU n. One memory controller is narrower than two cores together, wherever
 * they are.
 *
 * Finis Terrae: a node of eight Itanium 2 of two cores. Four CPUs that follow each
 * other share a bus, eight the memory of a cell; no cache is shared.
 */
extern const struct machine_model machine_dunnington, machine_finis_terrae;

#endif
