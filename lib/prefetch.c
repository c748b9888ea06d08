// SPDX-License-Identifier: LGPL-2.1-or-later
/* prefetch - the processor's prefetchers, by SONDE_IOC_PREFETCH */
#include <errno.h>
#include <stdlib.h>
#include <sonde/prefetch.h>

#include "device.h"

_Static_assert((unsigned int)SONDE_PREFETCHER_L1_STREAM == SONDE_PREFETCH_L1_STREAM, "");
_Static_assert((unsigned int)SONDE_PREFETCHER_L1_STRIDE == SONDE_PREFETCH_L1_STRIDE, "");
_Static_assert((unsigned int)SONDE_PREFETCHER_L1_REGION == SONDE_PREFETCH_L1_REGION, "");
_Static_assert((unsigned int)SONDE_PREFETCHER_L2_STREAM == SONDE_PREFETCH_L2_STREAM, "");
_Static_assert((unsigned int)SONDE_PREFETCHER_L2_PAIR == SONDE_PREFETCH_L2_PAIR, "");

struct sonde_prefetch_switch {
	struct sonde_device *dev;
};

int sonde_prefetch_open(struct sonde_prefetch_switch **out)
{
	struct sonde_prefetch_switch *sw = calloc(1, sizeof(*sw));
	int err = -ENOMEM;

	if (sw)
		err = device_open_with(&sw->dev, SONDE_NODE_PROBE, SONDE_FEAT_PREFETCH,
				       -EOPNOTSUPP);
	if (!err && !(sonde_device_rights(sw->dev) & SONDE_RIGHT_PREFETCH))
		err = -EPERM;
	if (err)
		sonde_prefetch_close(sw);
	else
		*out = sw;
	return err;
}

/* The module undoes what was done through the file. */
void sonde_prefetch_close(struct sonde_prefetch_switch *sw)
{
	if (!sw)
		return;
	sonde_device_close(sw->dev);
	free(sw);
}

int sonde_prefetch_set(struct sonde_prefetch_switch *sw, unsigned int cpu, unsigned int off)
{
	struct sonde_prefetch args = {
		.size = sizeof(args), .flags = SONDE_PREFETCH_SET, .cpu = cpu, .off = off,
	};

	return device_command(sw->dev, SONDE_IOC_PREFETCH, &args);
}

int sonde_prefetch_get(struct sonde_prefetch_switch *sw, unsigned int cpu, unsigned int *off,
		       unsigned int *known)
{
	struct sonde_prefetch args = { .size = sizeof(args), .cpu = cpu };
	int err = device_command(sw->dev, SONDE_IOC_PREFETCH, &args);

	if (err)
		return err;
	if (off)
		*off = args.off;
	if (known)
		*known = args.known;
	return 0;
}
