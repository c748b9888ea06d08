/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: how what is measured comes into a capture. */
#ifndef SONDE_LIB_RECORDER_H
#define SONDE_LIB_RECORDER_H

#include <sonde/samples.h>
#include "meter.h"

/*
 * In the place of *@m a meter that passes every call on to it and keeps what was
 * asked and told; closing it closes both. With @r NULL, *@m stays. What is kept of
 * the options must be all that the probe decides from beside the answers;
 * @before_s is of other probes and part of the report's time. 0, or -ENOMEM or
 * -EINVAL (@r was saved) with *@m closed.
 */
int recorder_cache(struct sonde_recorder *r, const char *probe,
		   const struct sonde_cache_options *options, struct meter **m);
int recorder_share(struct sonde_recorder *r, const struct sonde_share_options *options,
		   double before_s, struct meter **m);
int recorder_memory(struct sonde_recorder *r, const struct sonde_memory_options *options,
		    struct meter **m);

/*
 * Room for a line of up to @bytes, NULL for want of memory; then its end, to which
 * a newline is added. What cannot be kept fails sonde_recorder_save(), not the probe.
 */
char *recorder_room(struct sonde_recorder *r, size_t bytes);
void recorder_add(struct sonde_recorder *r, char *end);

/* Now is a good moment to write lines out: the caches are about to be filled anew. */
void recorder_relax(struct sonde_recorder *r);

/* meter_record.c: takes over @inner. 0, -ENOMEM. */
int meter_record_open(struct meter **m, struct meter *inner, struct sonde_recorder *r);

#endif
