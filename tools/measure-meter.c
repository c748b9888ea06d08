// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * measure-meter - where the loops run that are timed, and against which prefetchers
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/device.h>
#include <sonde/prefetch.h>
#include "measure.h"

int measure_set_meter(void *options, const char *arg)
{
	struct measure_options *o = options;

	if (!strcmp(arg, "user")) {
		o->meter = SONDE_METER_USER;
	} else if (!strcmp(arg, "module")) {
		o->meter = SONDE_METER_MODULE;
	} else {
		cli_error("--meter: '%s' is none; user and module are", arg);
		return CLI_USAGE;
	}
	return CLI_DONE;
}

int measure_set_no_prefetch(void *options, const char *arg)
{
	struct measure_options *o = options;

	(void)arg;
	o->no_prefetch = 1;
	return CLI_DONE;
}

static int refuse(const char *option, int err)
{
	char why[512];

	switch (err) {
	case -EPERM:
		cli_error("--%s: needs root (CAP_SYS_ADMIN)", option);
		break;
	case -EOPNOTSUPP:
		cli_error("--%s: neither this module nor this processor, or its hypervisor, "
			  "offers that; leave the option out", option);
		break;
	case -EBUSY:
		cli_error("--%s: the threads of a core differ in what is off already; "
			  "make them agree first", option);
		break;
	default:
		cli_error("--%s: %s", option,
			  sonde_device_explain(SONDE_NODE_PROBE, err, why, sizeof(why)));
	}
	return CLI_CANNOT_MEASURE;
}

static int try_module(void)
{
	struct sonde_device *dev;
	int err = sonde_device_open(&dev, SONDE_NODE_PROBE);

	if (!err)
		sonde_device_close(dev);
	return err;
}

/* On all CPUs that may be measured, until the machine is closed. */
static int switch_off(struct machine *m)
{
	unsigned int *cpus = NULL, known;
	int n = machine_list_cpus(m, &cpus), err = n;

	if (n >= 0)
		err = sonde_prefetch_open(&m->prefetch);
	for (int i = 0; i < n && !err; i++) {
		err = sonde_prefetch_get(m->prefetch, cpus[i], NULL, &known);
		if (!err)
			err = sonde_prefetch_set(m->prefetch, cpus[i], known);
	}
	free(cpus);
	return err;
}

int machine_choose_meter(struct machine *m, const struct measure_options *options)
{
	int err = options->meter == SONDE_METER_MODULE ? try_module() : 0;

	if (err)
		return refuse("meter", err);
	if (options->no_prefetch) {
		err = switch_off(m);
		if (err)
			return refuse("no-prefetch", err);
		err = sonde_profile_set_backend(m->profile, "prefetchers", "off", "asked for");
	}
	if (!err)
		err = sonde_profile_set_backend(m->profile, "meter",
						sonde_meter_name(options->meter), NULL);
	if (!err)
		return CLI_DONE;
	cli_error("not enough memory for the profile");
	return CLI_FAILED;
}
