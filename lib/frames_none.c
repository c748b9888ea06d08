// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * frames_none - nothing is known of any page
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"

static ssize_t none_read(struct sonde_frames_source *src, uintptr_t addr, size_t npages,
			 struct sonde_frame *out)
{
	(void)src;
	(void)addr;
	memset(out, 0, npages * sizeof(*out));
	return (ssize_t)npages;
}

static void none_close(struct sonde_frames_source *src)
{
	free(src);
}

static const struct frames_ops none_ops = {
	.backend = SONDE_FRAMES_NONE,
	.read = none_read,
	.close = none_close,
};

int frames_none_open(struct sonde_frames_source **out)
{
	struct sonde_frames_source *src = calloc(1, sizeof(*src));

	if (!src)
		return -ENOMEM;
	src->ops = &none_ops;
	*out = src;
	return 0;
}
