/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cpus - whether ranks have a processor each */
#ifndef SONDE_COLL_CPUS_H
#define SONDE_COLL_CPUS_H

struct coll_plan;

/* Collective. Return: 1 if ranks outnumber processors where this one is. */
int coll_cpus_are_crowded(const struct coll_plan *plan);

#endif
