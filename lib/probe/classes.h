/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Classes of pages on any meter: what tests call with a simulated machine. */
#ifndef SONDE_LIB_PROBE_CLASSES_H
#define SONDE_LIB_PROBE_CLASSES_H

#include <sonde/classes.h>
#include "../meter.h"

/* As sonde_probe_classes(), on @meter, which stays the caller's. */
int probe_classes_with(struct meter *meter, const struct sonde_classes_options *options,
		       struct sonde_classes_report **report);

#endif
