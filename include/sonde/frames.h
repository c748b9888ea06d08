/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: frames - which page frame backs a page of virtual memory
 *
 * One interface, three implementations: the module, /proc/self/pagemap (frame
 * numbers for root only), and none. Nothing above this seam knows which one it
 * got; everything can ask.
 */
#ifndef SONDE_FRAMES_H
#define SONDE_FRAMES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/sonde.h>	/* struct sonde_frame, SONDE_FRAME_* */

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_frames_source;

enum sonde_frames_backend {
	SONDE_FRAMES_AUTO,	/* the best one that works */
	SONDE_FRAMES_MODULE,
	SONDE_FRAMES_PAGEMAP,
	SONDE_FRAMES_NONE,
};

/**
 * sonde_frames_open() - choose how frames are looked up
 * @src: where the source goes; untouched on failure
 * @backend: one backend, or SONDE_FRAMES_AUTO
 *
 * SONDE_FRAMES_AUTO takes the one that tells most: the module if it shows frame
 * numbers, else pagemap if it does, else the module for its colours, else none.
 * It always succeeds but for -ENOMEM.
 *
 * Return: 0, -ENODEV or -EACCES (the backend asked for is not to be had; for
 * pagemap -EACCES means that it is there but hides frame numbers), -EPROTO,
 * -EINVAL, -ENOMEM.
 *
 * Since: 0.1
 */
int sonde_frames_open(struct sonde_frames_source **src, enum sonde_frames_backend backend);

/** sonde_frames_close() - close; @src may be NULL. Since: 0.1 */
void sonde_frames_close(struct sonde_frames_source *src);

/** sonde_frames_backend() - which backend was chosen. Since: 0.1 */
enum sonde_frames_backend sonde_frames_backend(const struct sonde_frames_source *src);

/** sonde_frames_backend_name() - "module", "pagemap", "none" or "auto". Since: 0.1 */
const char *sonde_frames_backend_name(enum sonde_frames_backend backend);

/**
 * sonde_frames_why() - why nothing better was chosen, and what is lost by it
 * @src: the source
 *
 * Return: a sentence without newline owned by @src, or NULL if @src is the best.
 *
 * Since: 0.1
 */
const char *sonde_frames_why(const struct sonde_frames_source *src);

/**
 * sonde_frames_read() - look up a range of the caller's own memory
 * @src: the source
 * @addr: start, a multiple of the page size
 * @npages: base pages to look at; any number
 * @out: @npages entries
 *
 * Nothing is faulted in. A frame may change afterwards unless the page is kept
 * in place. With backend none every entry is zero. Pagemap knows neither node
 * nor order, so it leaves SONDE_FRAME_NODE clear and order 0; and it cannot tell
 * a mapped page that was never touched from a hole, so SONDE_FRAME_MAPPED is set
 * for pages only that are present or swapped out. It takes a colour to be as
 * many bits as the module does by default.
 *
 * Looks at the process that calls, also after fork(). Not to be called for one
 * source from two threads at once.
 *
 * Return: entries written (@npages), or -EINVAL (alignment, a range that no
 * process can have), -EFAULT, -EINTR, -EIO, -ENOMEM, or after fork() what
 * opening pagemap anew said.
 *
 * Since: 0.1
 */
ssize_t sonde_frames_read(struct sonde_frames_source *src, const void *addr,
			  size_t npages, struct sonde_frame *out);

#ifdef __cplusplus
}
#endif

#endif
