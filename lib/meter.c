// SPDX-License-Identifier: LGPL-2.1-or-later
/* meter - this machine, by the kind of loops that is asked for */
#include <errno.h>

#include "meter_module.h"

int meter_open(struct meter **m, enum sonde_meter kind, const struct sonde_clock *clk,
	       unsigned int cpu)
{
	switch (kind) {
	case SONDE_METER_USER:
		return meter_user_open(m, clk, cpu);
	case SONDE_METER_MODULE:
		return meter_module_open(m, clk, cpu);
	}
	return -EINVAL;
}

const char *sonde_meter_name(enum sonde_meter meter)
{
	switch (meter) {
	case SONDE_METER_USER:
		return "user space";
	case SONDE_METER_MODULE:
		return "module";
	}
	return "unknown";
}
