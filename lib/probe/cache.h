/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cache probe on any meter: what tests call with a simulated machine. */
#ifndef SONDE_LIB_PROBE_CACHE_H
#define SONDE_LIB_PROBE_CACHE_H

#include <sonde/probe.h>
#include "../meter.h"

/* As sonde_probe_cache(), on @meter, which stays the caller's. */
int probe_cache_with(struct meter *meter, const struct sonde_cache_options *options,
		     struct sonde_cache_report **report);

#endif
