/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* From the geometry to the levels of the report. */
#ifndef SONDE_LIB_PROBE_ANSWERS_H
#define SONDE_LIB_PROBE_ANSWERS_H

#include <sonde/probe.h>
#include "geometry.h"

/*
 * The levels that the geometry has, over those that the report has from the
 * curve, which stay where the geometry has no size. 0, -ENOMEM.
 */
int answers_put(const struct geometry *g, struct sonde_cache_report *report);

#endif
