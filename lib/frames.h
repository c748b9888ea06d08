/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The frames seam: one implementation a file, chosen in frames.c.
 */
#ifndef SONDE_LIB_FRAMES_H
#define SONDE_LIB_FRAMES_H

#include <sys/types.h>
#include <sonde/frames.h>

#define FRAMES_WHY	512

/**
 * struct frames_ops - one way to look up frames
 * @backend: which one
 * @read: as sonde_frames_read(), on a range that was checked
 * @close: frees what the way holds, and @src
 */
struct frames_ops {
	enum sonde_frames_backend backend;
	ssize_t (*read)(struct sonde_frames_source *src, uintptr_t addr, size_t npages,
			struct sonde_frame *out);
	void (*close)(struct sonde_frames_source *src);
};

/**
 * struct sonde_frames_source - the part that all ways have
 * @ops: which way
 * @page_size: bytes
 * @has_frames: frame numbers, not only colours
 * @why: why not a better way; empty if there is none
 */
struct sonde_frames_source {
	const struct frames_ops *ops;
	size_t page_size;
	int has_frames;
	char why[FRAMES_WHY];
};

/* Each returns 0 or a negative error and leaves *@src alone then. */
int frames_module_open(struct sonde_frames_source **src);
int frames_pagemap_open(struct sonde_frames_source **src);
int frames_none_open(struct sonde_frames_source **src);

#endif
