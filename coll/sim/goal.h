/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Programs as schedules of LogGOPSim, for another simulator to run. */
#ifndef SONDE_COLL_SIM_GOAL_H
#define SONDE_COLL_SIM_GOAL_H

#include <stdio.h>
#include "engine.h"

/**
 * a2a_goal_write() - a program as a GOAL text
 * @class: for the time of copies, in ns; messages have no time of their own
 * @watch: may be NULL; looked at once a rank, with ranks in place of events
 *
 * What one op waits for it requires; a barrier is dissemination by messages of
 * one byte. What GOAL has no words for is left out: adapters that are shared by
 * the ranks of a node, turns, connections, PIO. Each rank is a host of its own.
 *
 * Return: 0, -ENOMEM, -ECANCELED, or why @out could not be written.
 */
int a2a_goal_write(const struct a2a_program *program, const struct a2a_class *class,
		   const struct a2a_watch *watch, FILE *out);

#endif
