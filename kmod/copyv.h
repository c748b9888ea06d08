/* SPDX-License-Identifier: GPL-2.0-only */
/* Between batches of copies, the slots they use, and the queue. */
#ifndef SONDE_KMOD_COPYV_H
#define SONDE_KMOD_COPYV_H

#include <linux/fs.h>
#include <linux/overflow.h>
#include <linux/srcu.h>

#include "region.h"

/* Whether a copy makes sense for a file: 0, -EINVAL or -EBADF. */
static inline int sonde_copy_check(const struct sonde_copy *c,
				   const struct file *file)
{
	const fmode_t mode = c->flags & SONDE_COPY_WRITE ? FMODE_WRITE :
							   FMODE_READ;
	const struct sonde_region *r = sonde_region_of(file);
	u64 end;

	if (unlikely(!r))
		return -EINVAL;
	if (unlikely(!(file->f_mode & mode)))
		return -EBADF;
	if (unlikely(check_add_overflow(c->offset, c->len, &end) ||
		     end > r->pinned.len))
		return -EINVAL;
	return 0;
}

/* copyv_async.c */
int sonde_copyv_async(const struct sonde_file *sf,
		      const struct sonde_copyv *args);

/* slots.c */
struct srcu_struct *sonde_slots_srcu(struct sonde_batches *batches);
struct file *sonde_slot(const struct sonde_batches *batches, u32 number);

#endif
