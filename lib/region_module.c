// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region_module - a region is a file of the module
 *
 * The exporter sees in the state words of its open file, with one load, what
 * becomes of a region. Importers keep theirs in slots of their own open file, so
 * that a copy touches nothing that other threads or processes write to.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sonde/device.h>

#include "device.h"
#include "region_slots.h"

/* A copy's elements on the stack; a larger batch takes memory, if there is some. */
#define FEW	32
/* The exporter's memory was being changed: it seldom is for long. */
#define TRIES	10

struct module_region {
	struct sonde_region region;
	int slot;			/* -1: none was free */
	/* Of an importer, for the word: what copies and checks found. */
	_Atomic uint64_t found;
	uint64_t first;			/* bytes before it in its first page */
};

static struct module_region *to_module(const struct sonde_region *region)
{
	return (struct module_region *)(uintptr_t)region;
}

/* ---- export and import -------------------------------------------------- */

static int ask_export(struct sonde_transfer *t, struct sonde_export *args)
{
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = device_command(t->dev, SONDE_IOC_EXPORT, args);
	return err;
}

static int module_export(struct sonde_transfer *t, const struct region_range *range,
			 struct sonde_region **region)
{
	struct sonde_export args = {
		.size = sizeof(args), .addr = (uintptr_t)range->addr, .len = range->len,
		.rights = range->rights,
	};
	struct module_region *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	err = ask_export(t, &args);
	if (err) {
		free(module);
		return err;
	}
	module->region.ops = &region_module;
	module->region.fd = args.fd;
	module->region.word = &t->words[args.word % SONDE_STATE_WORDS];
	module->region.valid = args.generation;
	module->first = (uintptr_t)range->addr % (uintptr_t)sysconf(_SC_PAGESIZE);
	module->slot = -1;
	*region = &module->region;
	return 0;
}

static int check_region(struct sonde_transfer *t, int fd, struct sonde_check *args)
{
	*args = (struct sonde_check){ .size = sizeof(*args), .region = fd };
	return device_command(t->dev, SONDE_IOC_CHECK, args);
}

static int module_import(struct sonde_transfer *t, int fd, struct sonde_region **region)
{
	struct module_region *module;
	struct sonde_check args;
	int err;

	if (!t->dev)
		return -EBADF;
	err = check_region(t, fd, &args);
	if (err)
		return err == -EINVAL ? -EBADF : err;
	if (args.error)
		return -(int)args.error;
	module = calloc(1, sizeof(*module));
	if (!module)
		return -ENOMEM;
	module->region.ops = &region_module;
	module->region.rights = args.rights;
	module->region.len = args.len;
	module->region.word = &module->found;
	module->first = args.first;
	module->slot = region_slots_take(t, fd);
	*region = &module->region;
	return 0;
}

/* ---- use ---------------------------------------------------------------- */

static void note(struct sonde_region *region, int err)
{
	if (!region->exporter && (err == -ESTALE || err == -EOWNERDEAD))
		atomic_store_explicit(&to_module(region)->found, (uint64_t)-err,
				      memory_order_release);
}

static void fill(struct sonde_copy *to, const struct sonde_region_copy *from)
{
	const struct module_region *module = to_module(from->region);

	*to = (struct sonde_copy){
		.region = module->slot < 0 ? from->region->fd : module->slot,
		.flags = from->flags | (module->slot < 0 ? 0 : SONDE_COPY_SLOT),
		.offset = from->offset,
		.addr = (uintptr_t)from->addr,
		.len = from->len,
		/* Of those that are not reached, for a fatal signal. */
		.result = -EINTR,
	};
}

static void copy_batch(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n,
		       struct sonde_copy *batch)
{
	struct sonde_copyv args = {
		.size = sizeof(args), .copies = (uintptr_t)batch, .ncopies = (uint32_t)n,
	};
	int err;

	for (size_t i = 0; i < n; i++)
		fill(&batch[i], &copies[i]);
	err = device_command(t->dev, SONDE_IOC_COPYV, &args);
	for (size_t i = 0; i < n; i++) {
		copies[i].result = err && i >= args.done ? err : batch[i].result;
		if (copies[i].result < 0)
			note(copies[i].region, (int)copies[i].result);
	}
}

static void module_copy(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n)
{
	struct sonde_copy few[FEW], *batch = few;
	size_t most = n < SONDE_COPYV_COPIES ? n : SONDE_COPYV_COPIES;

	if (n > FEW)
		batch = malloc(most * sizeof(*batch));
	if (!batch || batch == few) {
		batch = few;
		most = FEW;
	}
	for (size_t i = 0; i < n; i += most)
		copy_batch(t, &copies[i], n - i < most ? n - i : most, batch);
	if (batch != few)
		free(batch);
}

int region_module_start(struct sonde_copyv_batch *batch)
{
	struct sonde_transfer *t = batch->transfer;
	struct sonde_copyv args = {
		.size = sizeof(args), .flags = SONDE_COPYV_ASYNC, .ncopies = (uint32_t)batch->n,
		.status = (uintptr_t)&batch->status, .eventfd = batch->fd,
		.cpu = (uint32_t)batch->cpu,
	};
	int err;

	if (!(sonde_device_features(t->dev) & SONDE_FEAT_ASYNC))
		return -EOPNOTSUPP;
	batch->module = malloc(batch->n * sizeof(*batch->module));
	if (!batch->module)
		return -ENOMEM;
	for (size_t i = 0; i < batch->n; i++)
		fill(&batch->module[i], &batch->copies[i]);
	args.copies = (uintptr_t)batch->module;
	err = device_command(t->dev, SONDE_IOC_COPYV, &args);
	if (err) {
		free(batch->module);
		batch->module = NULL;
	}
	return err;
}

/* A worker can pin less than its caller may copy, and does not look twice. */
static int is_to_be_tried_here(int64_t result)
{
	return result == -EAGAIN || result == -ENOMEM || result == -ENOBUFS || result == -EDQUOT;
}

void region_module_finish(struct sonde_copyv_batch *batch)
{
	for (size_t i = 0; i < batch->n; i++) {
		struct sonde_region_copy *copy = &batch->copies[i];

		copy->result = batch->module[i].result;
		if (is_to_be_tried_here(copy->result))
			module_copy(batch->transfer, copy, 1);
		else if (copy->result < 0)
			note(copy->region, (int)copy->result);
	}
	free(batch->module);
	batch->module = NULL;
}

static int module_state(struct sonde_region *region)
{
	struct sonde_check args;
	int err = check_region(region->transfer, region->fd, &args);

	if (!err)
		err = -(int)args.error;
	note(region, err);
	return err;
}

/*
 * A region that something happened to cannot be mapped before somebody looked at
 * what it was; again and again, while it goes on happening.
 */
static int module_map(struct sonde_region *region, uint64_t offset, size_t len, void **addr)
{
	const size_t in_page = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	int prot = PROT_READ | (region->rights & SONDE_REGION_WRITE ? PROT_WRITE : 0);
	int err = 0;
	char *p;

	if (to_module(region)->first)
		return -EOPNOTSUPP;
	do {
		p = mmap(NULL, len + in_page, prot, MAP_SHARED, region->fd,
			 (off_t)(offset - in_page));
		if (p != MAP_FAILED) {
			*addr = p + in_page;
			return 0;
		}
		err = -errno;
	} while (err == -EAGAIN && !(err = module_state(region)));
	note(region, err);
	return err;
}

static int module_revoke(struct sonde_region *region)
{
	struct sonde_revoke args = { .size = sizeof(args), .region = region->fd };

	return device_command(region->transfer->dev, SONDE_IOC_REVOKE, &args);
}

static void module_close(struct sonde_region *region)
{
	region_slots_give(region->transfer, to_module(region)->slot);
	free(region);
}

const struct region_ops region_module = {
	.way = SONDE_TRANSFER_MODULE,
	.export = module_export,
	.import = module_import,
	.copy = module_copy,
	.map = module_map,
	.state = module_state,
	.revoke = module_revoke,
	.close = module_close,
};
