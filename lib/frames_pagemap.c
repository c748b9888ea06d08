// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * frames_pagemap - /proc/self/pagemap, one 64-bit word a page
 * (Documentation/admin-guide/mm/pagemap.rst)
 *
 * Who opened the file decides whether it shows frame numbers: without
 * CAP_SYS_ADMIN in the initial user namespace they read 0, which is no frame
 * that a process may have. The file stays with the memory of the process that
 * opened it, so a child of fork() opens it anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "frames.h"

#define WORD_PRESENT	(UINT64_C(1) << 63)
#define WORD_SWAPPED	(UINT64_C(1) << 62)
#define WORD_FRAME	((UINT64_C(1) << 55) - 1)
#define COLOUR_MASK	((1U << SONDE_COLOUR_BITS) - 1)

/* Words a read: a page of them, on the stack. */
#define CHUNK		512

struct pagemap_source {
	struct sonde_frames_source src;
	int fd;
	pid_t owner;	/* whose memory it shows */
};

static struct pagemap_source *to_pagemap(struct sonde_frames_source *src)
{
	return (struct pagemap_source *)(void *)src;
}

static int open_file(void)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	switch (errno) {
	case ENOENT:	/* no /proc, or a kernel without the file */
		return -ENODEV;
	case EPERM:
		return -EACCES;
	default:
		return -errno;
	}
}

/*
 * @n words from page @first. The file ends where the address space does; what is
 * beyond is refused, as the module refuses it.
 */
static int read_words(int fd, uint64_t first, uint64_t *words, size_t n)
{
	size_t bytes = n * sizeof(*words), done = 0;
	ssize_t got;

	while (done < bytes) {
		got = pread(fd, (char *)words + done, bytes - done,
			    (off_t)(first * sizeof(*words) + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EINVAL;
		done += (size_t)got;
	}
	return 0;
}

/*
 * That a page has a frame or was swapped out says that it is mapped; that it
 * has neither says nothing.
 */
static void fill_frame(struct sonde_frame *frame, uint64_t word)
{
	memset(frame, 0, sizeof(*frame));
	if (word & (WORD_PRESENT | WORD_SWAPPED))
		frame->flags |= SONDE_FRAME_MAPPED;
	if (!(word & WORD_PRESENT))
		return;
	frame->flags |= SONDE_FRAME_PRESENT;
	if (!(word & WORD_FRAME))
		return;
	frame->flags |= SONDE_FRAME_FRAME | SONDE_FRAME_COLOUR;
	frame->frame = word & WORD_FRAME;
	frame->colour = frame->frame & COLOUR_MASK;
}

static int follow_fork(struct pagemap_source *pagemap)
{
	int fd;

	if (pagemap->owner == getpid())
		return 0;
	fd = open_file();
	if (fd < 0)
		return fd;
	close(pagemap->fd);
	pagemap->fd = fd;
	pagemap->owner = getpid();
	return 0;
}

static ssize_t pagemap_read(struct sonde_frames_source *src, uintptr_t addr, size_t npages,
			    struct sonde_frame *out)
{
	struct pagemap_source *pagemap = to_pagemap(src);
	uint64_t words[CHUNK], first = addr / src->page_size;
	size_t n;
	int err = follow_fork(pagemap);

	for (size_t done = 0; !err && done < npages; done += n) {
		n = npages - done < CHUNK ? npages - done : CHUNK;
		err = read_words(pagemap->fd, first + done, words, n);
		for (size_t i = 0; !err && i < n; i++)
			fill_frame(&out[done + i], words[i]);
	}
	return err ? err : (ssize_t)npages;
}

static void pagemap_close(struct sonde_frames_source *src)
{
	struct pagemap_source *pagemap = to_pagemap(src);

	close(pagemap->fd);
	free(pagemap);
}

static const struct frames_ops pagemap_ops = {
	.backend = SONDE_FRAMES_PAGEMAP,
	.read = pagemap_read,
	.close = pagemap_close,
};

/* The page of a variable just written has a frame: does the file show it? */
static int check_shows_frames(int fd)
{
	volatile char here = 1;
	uint64_t word;
	int err;

	err = read_words(fd, (uintptr_t)&here / (uintptr_t)sysconf(_SC_PAGESIZE), &word, 1);
	if (err)
		return err;
	return word & WORD_PRESENT && word & WORD_FRAME ? 0 : -EACCES;
}

int frames_pagemap_open(struct sonde_frames_source **out)
{
	struct pagemap_source *pagemap = calloc(1, sizeof(*pagemap));
	int err;

	if (!pagemap)
		return -ENOMEM;
	pagemap->fd = open_file();
	err = pagemap->fd < 0 ? pagemap->fd : check_shows_frames(pagemap->fd);
	if (err) {
		if (pagemap->fd >= 0)
			close(pagemap->fd);
		free(pagemap);
		return err;
	}
	pagemap->owner = getpid();
	pagemap->src.ops = &pagemap_ops;
	pagemap->src.has_frames = 1;
	*out = &pagemap->src;
	return 0;
}
