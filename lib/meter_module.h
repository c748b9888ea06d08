/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The machine below us, measured in the kernel. */
#ifndef SONDE_LIB_METER_MODULE_H
#define SONDE_LIB_METER_MODULE_H

#include "meter.h"

/*
 * As meter_user_open(), but the loops run in the module, interrupts off. @clk is
 * for meter_ops.now alone: windows are in ticks of the module's counter.
 *
 * 0, what sonde_device_open() says where there is no module, -EOPNOTSUPP (it is
 * older and does not measure, or knows no rate of the counter), -ENOMEM, -EPERM
 * (may not run there), -EINVAL.
 */
int meter_module_open(struct meter **m, const struct sonde_clock *clk, unsigned int cpu);

#endif
