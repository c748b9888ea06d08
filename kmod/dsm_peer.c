// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_DSM_PEERS: pages that a thread meets and that another segment of this
 * machine has, new enough, are copied from there in the fault.
 *
 * Who copies has the lock of the page here and takes none there: two segments may
 * copy from each other. What makes that right is an order. Here: read the version
 * that the page has there, set its bit in is_copied there, full barrier, look whether
 * it may be written unnoticed there, copy. There: what lets a page be written unnoticed
 * says so in its flags, full barrier, then looks at the bit, and does not
 * if it is set (let_write()). Noted writes are collected, and only then user space
 * raises the version: so of a copy with version v, every write that is not in it is
 * collected later than v was, and told of as a newer version.
 * COLLECT drops the bit, with which all copies from before are of older versions
 * than the one that follows.
 *
 * If it may be written unnoticed it has to be shut first, which takes the lock of the
 * page there and of that address space: without any lock here, and then the access
 * is tried again.
 *
 * The table is user space's: each word is read once, and what it says is checked.
 * Peers are held by their views' files, which know nothing of peers in turn, and only
 * as long as this segment has a descriptor. So no cycle keeps them alive.
 */
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "dsm.h"
#include "trace.h"

static_assert(sizeof(struct sonde_dsm_peers) == 24);
static_assert(sizeof(struct sonde_dsm_peers) >= SONDE_DSM_PEERS_SIZE_VER0);
/* So none lies in two frames. */
static_assert(PAGE_SIZE % sizeof(struct sonde_dsm_copy) == 0);

#define ENTRIES	(PAGE_SIZE / sizeof(struct sonde_dsm_copy))

/* ---- the table ---------------------------------------------------------- */

static unsigned long frame_of_entry(const struct sonde_dsm *dsm, u32 page)
{
	return (((unsigned long)dsm->npages + dsm->ntwins) << dsm->shift) +
	       page / ENTRIES;
}

/* NULL if nobody has touched it: all of it is zero. */
static struct sonde_dsm_copy *find_entry(struct sonde_dsm *dsm, u32 page)
{
	struct page *frame = smp_load_acquire(
				&dsm->frames[frame_of_entry(dsm, page)]);

	if (!frame)
		return NULL;
	return (struct sonde_dsm_copy *)page_address(frame) + page % ENTRIES;
}

/* The view of the peer that an entry names, to be given back by fput(), or NULL. */
static struct file *get_peer(struct sonde_dsm *dsm, u32 number)
{
	const struct sonde_dsm_peerage *peerage;
	struct file *view = NULL;

	spin_lock(&dsm->lock);
	peerage = dsm->peerage;
	if (peerage && number && number <= peerage->n)
		view = peerage->views[number - 1];
	if (view)
		get_file(view);
	spin_unlock(&dsm->lock);
	return view;
}

/* ---- copying ------------------------------------------------------------ */

/* Zeros where nobody there has touched the page. */
static int copy_frames(struct sonde_dsm *dsm, struct sonde_dsm *home, u32 page)
{
	unsigned long i = (unsigned long)page << dsm->shift;
	const unsigned long end = i + (1UL << dsm->shift);
	struct page *source, *copy;

	for (; i < end; i++) {
		copy = sonde_dsm_frame(dsm, i);
		if (!copy)
			return -ENOMEM;
		source = smp_load_acquire(&home->frames[i]);
		if (source)
			copy_page(page_address(copy), page_address(source));
		else
			clear_page(page_address(copy));
	}
	return 0;
}

/* The order matters: see the head of this file. */
static int copy_from(struct sonde_dsm *dsm, struct sonde_dsm *home, u32 page,
		     u64 least, u64 *version)
{
	const struct sonde_dsm_copy *theirs = find_entry(home, page);
	u32 flags;

	if (!theirs || READ_ONCE(home->is_closed))
		return -EAGAIN;
	*version = smp_load_acquire(&theirs->version);
	if (!*version || *version < least || *version == SONDE_DSM_COPYING)
		return -EAGAIN;
	set_bit(page, home->is_copied);
	smp_mb__after_atomic();
	flags = READ_ONCE(home->pages[page].flags);
	if ((flags & DSM_PROTECTION) == SONDE_DSM_NONE)
		return -EAGAIN;
	if ((flags & DSM_PROTECTION) == SONDE_DSM_WRITE && !(flags & DSM_SHUT))
		return -EBUSY;
	return copy_frames(dsm, home, page);
}

static void count(struct sonde_dsm *dsm, u64 *counter)
{
	spin_lock(&dsm->lock);
	++*counter;
	spin_unlock(&dsm->lock);
}

/**
 * sonde_dsm_copy_page() - copy a page from the peer that the table names
 * @dsm: the segment, with a table
 * @page: whose lock is held, and which may not be accessed
 *
 * Return: 0, -EAGAIN (it is not offered, or not new enough), -EBUSY (see
 * sonde_dsm_shut_home()), or -ENOMEM.
 */
int sonde_dsm_copy_page(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_copy *mine = find_entry(dsm, page);
	struct file *view;
	u64 version = 0;
	u32 peer;
	int ret = -EAGAIN;

	if (!mine || !READ_ONCE(mine->peer))
		return -EAGAIN;
	WRITE_ONCE(mine->got, SONDE_DSM_COPYING);
	/* Who takes an offer back writes peer, then reads got. */
	smp_mb();
	peer = smp_load_acquire(&mine->peer);
	view = get_peer(dsm, peer);
	if (view) {
		ret = copy_from(dsm, view->private_data, page,
				READ_ONCE(mine->least), &version);
		fput(view);
	}
	if (!ret) {
		WRITE_ONCE(mine->copies, READ_ONCE(mine->copies) + 1);
		count(dsm, &dsm->copies);
	}
	WRITE_ONCE(mine->got, ret ? 0 : version);
	trace_sonde_dsm_copy(page, peer, version, ret);
	return ret;
}

/**
 * sonde_dsm_shut_home() - have writes to a page be noted where copies come from
 * @dsm: the segment, held
 * @page: that sonde_dsm_copy_page() returned -EBUSY for
 *
 * The caller has no lock, of pages or of an address space.
 *
 * Return: 0 if it is worth trying again, else as sonde_dsm_shut_page().
 */
int sonde_dsm_shut_home(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_copy *mine = find_entry(dsm, page);
	struct file *view;
	int ret;

	view = get_peer(dsm, READ_ONCE(mine->peer));
	if (!view)
		return 0;
	ret = sonde_dsm_shut_page(view->private_data, page);
	fput(view);
	count(dsm, &dsm->shuts);
	return ret;
}

/* ---- the command -------------------------------------------------------- */

static void put_peerage(struct sonde_dsm_peerage *peerage)
{
	u32 i;

	for (i = 0; peerage && i < peerage->n; i++)
		if (peerage->views[i])
			fput(peerage->views[i]);
	kvfree(peerage);
}

/* The view of a segment like @dsm, held. */
static struct file *get_view(const struct sonde_dsm *dsm, s32 fd)
{
	struct file *file = fget(fd), *view = ERR_PTR(-EINVAL);
	const struct sonde_dsm *other;

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->f_op == &sonde_dsm_fops) {
		other = file->private_data;
		if (other != dsm && other->ntable &&
		    other->npages == dsm->npages && other->shift == dsm->shift)
			view = get_file(other->view);
	}
	fput(file);
	return view;
}

static int get_peers(const struct sonde_dsm *dsm, const s32 *fds, u32 n,
		     struct sonde_dsm_peerage **out)
{
	struct sonde_dsm_peerage *peerage;
	struct file *view;
	u32 i;

	peerage = kvzalloc(struct_size(peerage, views, n), GFP_KERNEL_ACCOUNT);
	if (!peerage)
		return -ENOMEM;
	peerage->n = n;
	for (i = 0; i < n; i++) {
		if (fds[i] == -1)
			continue;
		view = get_view(dsm, fds[i]);
		if (IS_ERR(view)) {
			put_peerage(peerage);
			return PTR_ERR(view);
		}
		peerage->views[i] = view;
	}
	*out = peerage;
	return 0;
}

static int set_peers(struct sonde_dsm *dsm, const s32 *fds, u32 n)
{
	struct sonde_dsm_peerage *peerage;
	int ret;

	ret = get_peers(dsm, fds, n, &peerage);
	if (ret)
		return ret;
	spin_lock(&dsm->lock);
	if (dsm->peerage)
		ret = -EEXIST;
	else
		dsm->peerage = peerage;
	spin_unlock(&dsm->lock);
	if (ret)
		put_peerage(peerage);
	return ret;
}

/**
 * sonde_ioc_dsm_peers() - serve SONDE_IOC_DSM_PEERS
 * @file: the segment's descriptor's
 * @uarg: the caller's struct sonde_dsm_peers
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -ENOMEM, -EBADF or -EEXIST.
 */
int sonde_ioc_dsm_peers(struct file *file, void __user *uarg, size_t usize)
{
	struct sonde_dsm *dsm = file->private_data;
	struct sonde_dsm_peers args;
	s32 *fds;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_DSM_PEERS_SIZE_VER0,
			    uarg, usize);
	if (ret)
		return ret;
	if (args.flags || args.reserved || !args.npeers || !dsm->ntable)
		return -EINVAL;
	fds = sonde_dsm_get_list(args.fds, args.npeers, SONDE_DSM_PEERS_MAX);
	if (IS_ERR(fds))
		return PTR_ERR(fds);
	ret = set_peers(dsm, fds, args.npeers);
	kvfree(fds);
	trace_sonde_dsm_peers(args.npeers, ret);
	return ret;
}

/**
 * sonde_dsm_leave_peers() - no descriptor is left: nothing is copied any more
 * @dsm: the segment
 */
void sonde_dsm_leave_peers(struct sonde_dsm *dsm)
{
	struct sonde_dsm_peerage *peerage;

	spin_lock(&dsm->lock);
	peerage = dsm->peerage;
	dsm->peerage = NULL;
	spin_unlock(&dsm->lock);
	put_peerage(peerage);
}
