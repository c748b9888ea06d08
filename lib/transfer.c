// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * transfer - what ways there are from one process's memory to another's
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sonde/device.h>
#include "device.h"
#include "log.h"
#include "profile.h"
#include "region_slots.h"

#define FEATURES (SONDE_FEAT_REGION | SONDE_FEAT_COPYV)

static int open_module(struct sonde_transfer *t)
{
	int err = device_open_with(&t->dev, SONDE_NODE_MAIN, FEATURES, -EOPNOTSUPP);

	if (err)
		return err;
	err = region_slots_open(t);
	if (err) {
		sonde_device_close(t->dev);
		t->dev = NULL;
		return err;
	}
	t->has |= 1u << SONDE_TRANSFER_MODULE;
	return 0;
}

static void close_module(struct sonde_transfer *t)
{
	region_slots_close(t);
	sonde_device_close(t->dev);
}

static int open_cma(struct sonde_transfer *t)
{
	int err = region_cma_probe();

	if (!err)
		t->has |= 1u << SONDE_TRANSFER_CMA;
	return err;
}

static void say_why(struct sonde_transfer *t, int module_err)
{
	char reason[REGION_WHY / 2];
	const char *lost = transfer_has(t, SONDE_TRANSFER_CMA) ?
		"copies ask for the right to ptrace, cost more, and do not notice that memory "
		"was unmapped" :
		"only shared memory can be exported";

	if (module_err == -EOPNOTSUPP)
		snprintf(reason, sizeof(reason), "the module that is loaded has no regions");
	else
		sonde_device_explain(SONDE_NODE_MAIN, module_err, reason, sizeof(reason));
	snprintf(t->why, sizeof(t->why), "%s; without it %s", reason, lost);
}

static int open_ways(struct sonde_transfer *t)
{
	int err;

	switch (t->asked) {
	case SONDE_TRANSFER_AUTO:
		t->has |= 1u << SONDE_TRANSFER_SHM;
		open_cma(t);
		err = open_module(t);
		if (err == -ENOMEM)
			return err;
		if (err)
			say_why(t, err);
		return 0;
	case SONDE_TRANSFER_MODULE:
		return open_module(t);
	case SONDE_TRANSFER_CMA:
		snprintf(t->why, sizeof(t->why), "the module was not asked for");
		return open_cma(t);
	case SONDE_TRANSFER_SHM:
		snprintf(t->why, sizeof(t->why), "the module was not asked for");
		t->has |= 1u << SONDE_TRANSFER_SHM;
		return 0;
	}
	return -EINVAL;
}

int sonde_transfer_open(struct sonde_transfer **out, enum sonde_transfer_way way)
{
	struct sonde_transfer *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->asked = way;
	LIST_INIT(&t->memory);
	LIST_INIT(&t->exported);
	STAILQ_INIT(&t->idle);
	LIST_INIT(&t->workers);
	err = open_ways(t);
	if (err) {
		close_module(t);
		free(t);
		return err;
	}
	pthread_mutex_init(&t->lock, NULL);
	sonde_log("transfer: %s%s%s", sonde_transfer_way_name(sonde_transfer_way(t)),
		  *t->why ? ": " : "", t->why);
	*out = t;
	return 0;
}

void sonde_transfer_close(struct sonde_transfer *t)
{
	if (!t)
		return;
	while (!LIST_EMPTY(&t->memory))
		sonde_transfer_free(t, LIST_FIRST(&t->memory)->addr);
	copyv_worker_close_all(t);
	copyv_async_close(t);
	close_module(t);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

enum sonde_transfer_way sonde_transfer_way(const struct sonde_transfer *t)
{
	if (t->asked != SONDE_TRANSFER_AUTO)
		return t->asked;
	if (transfer_has(t, SONDE_TRANSFER_MODULE))
		return SONDE_TRANSFER_MODULE;
	return transfer_has(t, SONDE_TRANSFER_CMA) ? SONDE_TRANSFER_CMA : SONDE_TRANSFER_SHM;
}

const char *sonde_transfer_way_name(enum sonde_transfer_way way)
{
	switch (way) {
	case SONDE_TRANSFER_AUTO:
		return "auto";
	case SONDE_TRANSFER_MODULE:
		return "module";
	case SONDE_TRANSFER_CMA:
		return "cma";
	case SONDE_TRANSFER_SHM:
		return "shm";
	}
	return "unknown";
}

const char *sonde_transfer_why(const struct sonde_transfer *t)
{
	return *t->why ? t->why : NULL;
}
