/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The cache probe on any meter: what tests call with a simulated machine. */
#ifndef SONDE_LIB_PROBE_CACHE_H
#define SONDE_LIB_PROBE_CACHE_H

#include <sonde/probe.h>
#include "../meter.h"

typedef int cache_probe(struct meter *meter, const struct sonde_cache_options *options,
			struct sonde_cache_report **report);

/* @probe on this machine, its samples to the options' recorder under @name. */
int probe_cache_here(const struct sonde_clock *clk, const char *name, cache_probe *probe,
		     const struct sonde_cache_options *options, struct sonde_cache_report **report);

/* As sonde_probe_cache(), on @meter, which stays the caller's. */
int probe_cache_with(struct meter *meter, const struct sonde_cache_options *options,
		     struct sonde_cache_report **report);

#endif
