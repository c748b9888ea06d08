// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * colour_module - the module sorts pages by colour
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "colour.h"
#include "device.h"

struct module_source {
	struct sonde_colour_source src;
	struct sonde_device *dev;
};

static struct module_source *to_module(struct sonde_colour_source *src)
{
	return (struct module_source *)(void *)src;
}

static int map_memory(const struct sonde_colour_source *src, int fd,
		      struct sonde_colour_memory *memory)
{
	void *p = mmap(NULL, memory->npages * src->page_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	memory->addr = p;
	memory->fd = fd;
	return 0;
}

static int module_alloc(struct sonde_colour_source *src, const struct colour_wish *wish,
			struct sonde_colour_memory *memory)
{
	const struct sonde_colour_request *request = wish->request;
	struct sonde_alloc args = {
		.size = sizeof(args),
		.flags = request->flags,
		.npages = request->npages,
		.node = request->node,
		.nmasks = request->bits,
		.masks = request->bits ? (uintptr_t)wish->masks : 0,
		.colours = (uintptr_t)request->colours,
	};
	int err;

	err = device_command(to_module(src)->dev, SONDE_IOC_ALLOC, &args);
	if (err)
		return err;
	memory->off_colour = args.off_colour;
	memory->runs = args.runs;
	memory->longest = args.longest;
	memory->drawn = args.drawn;
	err = map_memory(src, args.fd, memory);
	if (err)
		close(args.fd);
	return err;
}

static void module_close(struct sonde_colour_source *src)
{
	struct module_source *module = to_module(src);

	sonde_device_close(module->dev);
	free(module);
}

static const struct colour_ops module_ops = {
	.backend = SONDE_COLOUR_MODULE,
	.alloc = module_alloc,
	.close = module_close,
};

int colour_module_open(struct sonde_colour_source **out)
{
	struct module_source *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	err = device_open_with(&module->dev, SONDE_NODE_PROBE, SONDE_FEAT_ALLOC, -EPROTO);
	if (err) {
		free(module);
		return err;
	}
	module->src.ops = &module_ops;
	*out = &module->src;
	return 0;
}
