// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * frames - choose how frames are looked up, and say what the choice costs
 *
 * Frame numbers tell more than colours, colours more than nothing. The module
 * and pagemap ask for the same right, but the module may be missing where the
 * right is there.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "device.h"
#include "frames.h"
#include "log.h"

#define NEEDS_ROOT "frame numbers need root (CAP_SYS_ADMIN in the initial user namespace)"

static const char *explain_pagemap(int err)
{
	switch (err) {
	case -EACCES:
		return NEEDS_ROOT;
	case -ENODEV:
		return "/proc/self/pagemap is not there: /proc is not mounted, or the kernel has "
		       "no CONFIG_PROC_PAGE_MONITOR";
	default:
		return "/proc/self/pagemap cannot be read";
	}
}

/* @reason: why not the module. */
static void say_pagemap(struct sonde_frames_source *src, const char *reason)
{
	snprintf(src->why, sizeof(src->why),
		 "%s; without it the NUMA node and the size of translations are not known",
		 reason);
}

static void say_colours(struct sonde_frames_source *src)
{
	snprintf(src->why, sizeof(src->why), "%s; without it there are colours only", NEEDS_ROOT);
}

static void say_none(struct sonde_frames_source *src, const char *reason)
{
	snprintf(src->why, sizeof(src->why),
		 "%s; without it neither frame numbers nor colours are known", reason);
}

static int open_best(struct sonde_frames_source **out)
{
	char reason[FRAMES_WHY / 2], both[FRAMES_WHY * 3 / 4];
	struct sonde_frames_source *module = NULL;
	int module_err, pagemap_err, err;

	module_err = frames_module_open(&module);
	if (!module_err && module->has_frames) {
		*out = module;
		return 0;
	}
	sonde_device_explain(SONDE_NODE_PROBE, module_err, reason, sizeof(reason));
	pagemap_err = frames_pagemap_open(out);
	if (!pagemap_err) {
		say_pagemap(*out, module ? "the module gives colours only" : reason);
		sonde_frames_close(module);
		return 0;
	}
	if (module) {
		say_colours(module);
		*out = module;
		return 0;
	}
	err = frames_none_open(out);
	if (err)
		return err;
	snprintf(both, sizeof(both), "%s; %s", reason, explain_pagemap(pagemap_err));
	say_none(*out, both);
	return 0;
}

/* The one that was asked for; what a better one would tell is said all the same. */
static int open_one(struct sonde_frames_source **src, enum sonde_frames_backend backend)
{
	int err;

	switch (backend) {
	case SONDE_FRAMES_MODULE:
		err = frames_module_open(src);
		if (!err && !(*src)->has_frames)
			say_colours(*src);
		return err;
	case SONDE_FRAMES_PAGEMAP:
		err = frames_pagemap_open(src);
		if (!err)
			say_pagemap(*src, "the module was not asked for");
		return err;
	case SONDE_FRAMES_NONE:
		err = frames_none_open(src);
		if (!err)
			say_none(*src, "no way to look up frames was asked for");
		return err;
	default:
		return -EINVAL;
	}
}

int sonde_frames_open(struct sonde_frames_source **out, enum sonde_frames_backend backend)
{
	struct sonde_frames_source *src;
	int err;

	err = backend == SONDE_FRAMES_AUTO ? open_best(&src) : open_one(&src, backend);
	if (err)
		return err;
	src->page_size = (size_t)sysconf(_SC_PAGESIZE);
	sonde_log("frames: %s%s%s", sonde_frames_backend_name(src->ops->backend),
		  *src->why ? ": " : "", src->why);
	*out = src;
	return 0;
}

void sonde_frames_close(struct sonde_frames_source *src)
{
	if (src)
		src->ops->close(src);
}

enum sonde_frames_backend sonde_frames_backend(const struct sonde_frames_source *src)
{
	return src->ops->backend;
}

const char *sonde_frames_backend_name(enum sonde_frames_backend backend)
{
	switch (backend) {
	case SONDE_FRAMES_AUTO:
		return "auto";
	case SONDE_FRAMES_MODULE:
		return "module";
	case SONDE_FRAMES_PAGEMAP:
		return "pagemap";
	case SONDE_FRAMES_NONE:
		return "none";
	}
	return "unknown";
}

const char *sonde_frames_why(const struct sonde_frames_source *src)
{
	return *src->why ? src->why : NULL;
}

ssize_t sonde_frames_read(struct sonde_frames_source *src, const void *addr, size_t npages,
			  struct sonde_frame *out)
{
	uintptr_t start = (uintptr_t)addr;

	if (start % src->page_size || npages > (UINTPTR_MAX - start) / src->page_size)
		return -EINVAL;
	return src->ops->read(src, start, npages, out);
}
