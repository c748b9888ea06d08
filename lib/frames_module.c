// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * frames_module - ask the module, as many pages a call as it allows
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "device.h"
#include "frames.h"

struct module_source {
	struct sonde_frames_source src;
	struct sonde_device *dev;
};

static struct module_source *to_module(struct sonde_frames_source *src)
{
	return (struct module_source *)(void *)src;
}

static ssize_t module_read(struct sonde_frames_source *src, uintptr_t addr, size_t npages,
			   struct sonde_frame *out)
{
	const struct sonde_device *dev = to_module(src)->dev;
	size_t most = device_info(dev)->max_pages;
	size_t done = 0;
	int err;

	while (done < npages) {
		struct sonde_frames args = {
			.size = sizeof(args),
			.addr = addr + done * src->page_size,
			.npages = npages - done < most ? npages - done : most,
			.entries = (uintptr_t)(out + done),
		};

		err = device_command(dev, SONDE_IOC_FRAMES, &args);
		if (err)
			return err;
		if (args.done != args.npages)
			return -EIO;
		done += args.npages;
	}
	return (ssize_t)npages;
}

static void module_close(struct sonde_frames_source *src)
{
	struct module_source *module = to_module(src);

	sonde_device_close(module->dev);
	free(module);
}

static const struct frames_ops module_ops = {
	.backend = SONDE_FRAMES_MODULE,
	.read = module_read,
	.close = module_close,
};

int frames_module_open(struct sonde_frames_source **out)
{
	struct module_source *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	err = device_open_with(&module->dev, SONDE_NODE_PROBE, SONDE_FEAT_FRAMES, -EPROTO);
	if (err) {
		free(module);
		return err;
	}
	module->src.ops = &module_ops;
	module->src.has_frames = !!(sonde_device_rights(module->dev) & SONDE_RIGHT_FRAMES);
	*out = &module->src;
	return 0;
}
