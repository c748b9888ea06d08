// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_IOC_SLOTS: regions registered on an open file, so that a batch of
 * copies finds them without looking up descriptors and without counting users.
 *
 * Who copies is inside an SRCU read side of this open file, for the whole
 * batch: that writes to a counter of its CPU only. A file that is taken out of
 * its slot is let go of when all who may have seen it are done; nobody waits
 * for that, as a copy may wait for as long as user space likes to serve a
 * fault.
 */
#include <linux/build_bug.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/uaccess.h>

#include "sonde.h"
#include "copyv.h"
#include "trace.h"

static_assert(sizeof(struct sonde_slots) == 32);
static_assert(sizeof(struct sonde_slots) >= SONDE_SLOTS_SIZE_VER0);

#define SHELF		512
#define SHELVES		(SONDE_SLOTS / SHELF)

static_assert(SONDE_SLOTS % SHELF == 0);

/**
 * struct slot - what a slot holds; never changed, only replaced
 * @file: a region
 * @rcu: for when it has been replaced
 */
struct slot {
	struct file *file;
	struct rcu_head rcu;
};

/**
 * struct sonde_batches - what an open file has for batches of copies
 * @srcu: protects what slots hold; there from the first SONDE_IOC_SLOTS on
 * @has_srcu: that it is; set once
 * @lock: protects changes of all below
 * @shelves: of SHELF slots each; set once, when one of them is needed
 */
struct sonde_batches {
	struct srcu_struct srcu;
	bool has_srcu;
	struct mutex lock;
	struct slot __rcu **shelves[SHELVES];
};

/**
 * sonde_batches_create() - for a file that is being opened
 *
 * Return: without any slot; NULL if there is no memory.
 */
struct sonde_batches *sonde_batches_create(void)
{
	struct sonde_batches *batches;

	batches = kzalloc(sizeof(*batches), GFP_KERNEL_ACCOUNT);
	if (batches)
		mutex_init(&batches->lock);
	return batches;
}

static void free_slot(struct slot *slot)
{
	if (!slot)
		return;
	fput(slot->file);
	kfree(slot);
}

static void free_slot_rcu(struct rcu_head *rcu)
{
	free_slot(container_of(rcu, struct slot, rcu));
}

static void empty_shelf(struct slot __rcu **shelf)
{
	unsigned int i;

	for (i = 0; i < SHELF; i++)
		free_slot(rcu_dereference_protected(shelf[i], true));
	kfree(shelf);
}

/**
 * sonde_batches_destroy() - a file is closed: no call on it is under way
 * @batches: or NULL
 */
void sonde_batches_destroy(struct sonde_batches *batches)
{
	unsigned int i;

	if (!batches)
		return;
	for (i = 0; i < SHELVES; i++)
		if (batches->shelves[i])
			empty_shelf(batches->shelves[i]);
	if (batches->has_srcu) {
		srcu_barrier(&batches->srcu);
		cleanup_srcu_struct(&batches->srcu);
	}
	mutex_destroy(&batches->lock);
	kfree(batches);
}

/* ---- who copies --------------------------------------------------------- */

/**
 * sonde_slots_srcu() - what who uses slots is inside a read side of
 * @batches: of the open file
 *
 * Return: that; NULL: there are no slots.
 */
struct srcu_struct *sonde_slots_srcu(struct sonde_batches *batches)
{
	/* Pairs with the release in make_srcu(). */
	if (!smp_load_acquire(&batches->has_srcu))
		return NULL;
	return &batches->srcu;
}

/**
 * sonde_slot() - what a slot holds
 * @batches: of the open file, inside a read side
 * @number: of any value
 *
 * Return: the file of a region, until its end; or NULL.
 */
struct file *sonde_slot(const struct sonde_batches *batches, u32 number)
{
	struct slot __rcu **shelf;
	const struct slot *slot;

	if (number >= SONDE_SLOTS)
		return NULL;
	number = array_index_nospec(number, SONDE_SLOTS);
	/* Pairs with the release in get_shelf(). */
	shelf = smp_load_acquire(&batches->shelves[number / SHELF]);
	if (!shelf)
		return NULL;
	slot = srcu_dereference(shelf[number % SHELF], &batches->srcu);
	return slot ? slot->file : NULL;
}

/* ---- who changes -------------------------------------------------------- */

/* Under the lock. */
static int make_srcu(struct sonde_batches *batches)
{
	int ret;

	if (batches->has_srcu)
		return 0;
	ret = init_srcu_struct(&batches->srcu);
	if (!ret)
		smp_store_release(&batches->has_srcu, true);
	return ret;
}

/* Under the lock. */
static struct slot __rcu **get_shelf(struct sonde_batches *batches, u32 number)
{
	struct slot __rcu ***shelf = &batches->shelves[number / SHELF];

	if (!*shelf)
		smp_store_release(shelf, kcalloc(SHELF, sizeof(**shelf),
						 GFP_KERNEL_ACCOUNT));
	return *shelf;
}

static int make_slot(struct slot **slot, int fd)
{
	struct file *file;

	*slot = NULL;
	if (fd == -1)
		return 0;
	file = fget(fd);
	if (!file)
		return -EBADF;
	if (!sonde_region_of(file)) {
		fput(file);
		return -EINVAL;
	}
	*slot = kmalloc(sizeof(**slot), GFP_KERNEL_ACCOUNT);
	if (!*slot) {
		fput(file);
		return -ENOMEM;
	}
	(*slot)->file = file;
	return 0;
}

/* Under the lock. */
static int set_slot(struct sonde_batches *batches, u32 number, int fd)
{
	struct slot __rcu **shelf = get_shelf(batches, number);
	struct slot *slot, *old;
	int ret;

	if (!shelf)
		return -ENOMEM;
	ret = make_slot(&slot, fd);
	if (ret)
		return ret;
	old = rcu_dereference_protected(shelf[number % SHELF],
					lockdep_is_held(&batches->lock));
	rcu_assign_pointer(shelf[number % SHELF], slot);
	if (old)
		call_srcu(&batches->srcu, &old->rcu, free_slot_rcu);
	return 0;
}

static int set_slots(struct sonde_batches *batches, struct sonde_slots *args)
{
	const __s32 __user *fds = u64_to_user_ptr(args->regions);
	int ret = make_srcu(batches);
	u32 i;
	s32 fd;

	for (i = 0; i < args->nregions && !ret; i++) {
		if (get_user(fd, fds + i))
			return -EFAULT;
		ret = set_slot(batches, args->first + i, fd);
		args->done += !ret;
	}
	return ret;
}

/**
 * sonde_ioc_slots() - serve SONDE_IOC_SLOTS
 * @sf: the open file
 * @uarg: the caller's struct sonde_slots
 * @usize: its size
 *
 * Return: 0, -EFAULT, -EINVAL, -E2BIG, -EBADF, -ENOMEM or -EINTR.
 */
int sonde_ioc_slots(const struct sonde_file *sf, void __user *uarg,
		    size_t usize)
{
	struct sonde_slots args;
	int ret;

	ret = sonde_arg_get(&args, sizeof(args), SONDE_SLOTS_SIZE_VER0, uarg,
			    usize);
	if (ret)
		return ret;
	if (args.flags || args.reserved || args.first > SONDE_SLOTS ||
	    args.nregions > SONDE_SLOTS - args.first)
		return -EINVAL;
	args.done = 0;
	if (mutex_lock_killable(&sf->batches->lock))
		return -EINTR;
	ret = set_slots(sf->batches, &args);
	mutex_unlock(&sf->batches->lock);
	trace_sonde_slots(args.first, args.nregions, args.done, ret);
	if (copy_to_user(uarg, &args, min(usize, sizeof(args))))
		return -EFAULT;
	return ret;
}
