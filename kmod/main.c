// SPDX-License-Identifier: GPL-2.0-only
/*
 * sonde - tells user space what it cannot find out by itself
 *
 * Two misc devices for two levels of trust:
 *
 *   /dev/sonde        0666; only ever touches the caller's own memory, and
 *                     regions that others gave it.
 *   /dev/sonde-probe  0660, for the group that udev gives it; tells things
 *                     about the machine: which frame, colour and NUMA node
 *                     back a page of the caller.
 *
 * User space opens a device, asks SONDE_IOC_INFO what is there, and goes on
 * with the commands that the answer's features name. All state hangs off the
 * open file. This file holds the devices, their files, and the dispatch of
 * commands; each command has a file of its own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/user_namespace.h>

#include "sonde.h"
#include "measure.h"
#include "region.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

#define SONDE_IOCTL(command, handler) \
	[_IOC_NR(command)] = { .cmd = (command), .run = (handler) }

static const struct sonde_ioctl main_ioctls[] = {
	SONDE_IOCTL(SONDE_IOC_INFO, sonde_ioc_info),
	SONDE_IOCTL(SONDE_IOC_EXPORT, sonde_ioc_export),
	SONDE_IOCTL(SONDE_IOC_REVOKE, sonde_ioc_revoke),
	SONDE_IOCTL(SONDE_IOC_COPYV, sonde_ioc_copyv),
	SONDE_IOCTL(SONDE_IOC_SLOTS, sonde_ioc_slots),
	SONDE_IOCTL(SONDE_IOC_CHECK, sonde_ioc_check),
	SONDE_IOCTL(SONDE_IOC_DSM_CREATE, sonde_ioc_dsm_create),
};

static const struct sonde_ioctl probe_ioctls[] = {
	SONDE_IOCTL(SONDE_IOC_INFO, sonde_ioc_info),
	SONDE_IOCTL(SONDE_IOC_FRAMES, sonde_ioc_frames),
	SONDE_IOCTL(SONDE_IOC_ALLOC, sonde_ioc_alloc),
	SONDE_IOCTL(SONDE_IOC_CHASE, sonde_ioc_chase),
	SONDE_IOCTL(SONDE_IOC_CLOCK, sonde_ioc_clock),
	SONDE_IOCTL(SONDE_IOC_PREFETCH, sonde_ioc_prefetch),
};

/**
 * sonde_arg_get() - fetch the argument of a command
 * @arg: where it goes; starts with a __u32 that is the size of the struct
 * @ksize: the struct's size as this module knows it
 * @min_size: the struct's size when it was first published
 * @uarg: the caller's struct
 * @usize: its size as the command says
 *
 * What the caller leaves out is zero in @arg; what it has beyond @ksize must
 * be zero.
 *
 * Return: 0, -EFAULT, -E2BIG (something is set that this module does not know)
 * or -EINVAL (too small, or the struct and the command disagree).
 */
int sonde_arg_get(void *arg, size_t ksize, size_t min_size,
		  const void __user *uarg, size_t usize)
{
	int ret;

	if (usize < min_size)
		return -EINVAL;
	ret = copy_struct_from_user(arg, ksize, uarg, usize);
	if (ret)
		return ret;
	return *(u32 *)arg == usize ? 0 : -EINVAL;
}

static long sonde_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	const struct sonde_file *sf = file->private_data;
	const struct sonde_ioctl *ioctl;
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= sf->node->nioctls)
		return -ENOTTY;
	nr = array_index_nospec(nr, sf->node->nioctls);
	ioctl = &sf->node->ioctls[nr];
	if (!ioctl->run || !sonde_is_same_command(cmd, ioctl->cmd))
		return -ENOTTY;
	return ioctl->run(sf, (void __user *)arg, _IOC_SIZE(cmd));
}

/*
 * As in /proc/PID/pagemap, who opened the file decides, not who uses it: a
 * program with more rights that is handed this file must not lend them out.
 */
static u64 opener_rights(const struct file *file, const struct sonde_node *node)
{
	u64 rights = 0;
	bool is_admin;

	if (!node->features)
		return 0;
	is_admin = file_ns_capable(file, &init_user_ns, CAP_SYS_ADMIN);
	if (is_admin && node->features & SONDE_FEAT_FRAMES)
		rights |= SONDE_RIGHT_FRAMES;
	if (is_admin && node->features & SONDE_FEAT_PREFETCH)
		rights |= SONDE_RIGHT_PREFETCH;
	if (node->features & SONDE_FEAT_CHASE &&
	    (is_admin || file_ns_capable(file, &init_user_ns, CAP_PERFMON)))
		rights |= SONDE_RIGHT_EVENTS;
	return rights;
}

/* What was made before something failed is there to be freed by the caller. */
static int make_file_state(struct sonde_file *sf)
{
	if (sf->node->features & SONDE_FEAT_ALLOC) {
		sf->pool = sonde_pool_create();
		if (!sf->pool)
			return -ENOMEM;
	}
	if (sf->rights & SONDE_RIGHT_PREFETCH) {
		sf->wishes = sonde_wishes_create();
		if (!sf->wishes)
			return -ENOMEM;
	}
	if (sf->node->features & SONDE_FEAT_REGION) {
		sf->states = sonde_states_create();
		if (!sf->states)
			return -ENOMEM;
	}
	if (sf->node->features & SONDE_FEAT_COPYV) {
		sf->batches = sonde_batches_create();
		if (!sf->batches)
			return -ENOMEM;
	}
	if (sf->node->features & SONDE_FEAT_ASYNC) {
		sf->queue = sonde_queue_create();
		if (!sf->queue)
			return -ENOMEM;
	}
	return 0;
}

static void free_file(struct sonde_file *sf)
{
	sonde_queue_destroy(sf->queue);
	sonde_batches_destroy(sf->batches);
	sonde_states_put(sf->states);
	sonde_wishes_destroy(sf->wishes);
	sonde_pool_destroy(sf->pool);
	kfree(sf);
}

static int sonde_open(struct inode *inode, struct file *file)
{
	const struct sonde_node *node = container_of(file->private_data,
						     struct sonde_node, misc);
	struct sonde_file *sf;
	int ret;

	sf = kzalloc(sizeof(*sf), GFP_KERNEL_ACCOUNT);
	if (!sf)
		return -ENOMEM;
	sf->node = node;
	sf->rights = opener_rights(file, node);
	ret = make_file_state(sf);
	if (ret) {
		free_file(sf);
		return ret;
	}
	file->private_data = sf;
	return nonseekable_open(inode, file);
}

static int sonde_release(struct inode *inode, struct file *file)
{
	free_file(file->private_data);
	return 0;
}

static int sonde_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct sonde_file *sf = file->private_data;

	return sf->states ? sonde_states_mmap(sf->states, vma) : -ENODEV;
}

static const struct file_operations sonde_fops = {
	.owner = THIS_MODULE,
	.open = sonde_open,
	.release = sonde_release,
	.unlocked_ioctl = sonde_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = sonde_mmap,
};

static struct sonde_node sonde_nodes[] = {
	{
		.misc = {
			.minor = MISC_DYNAMIC_MINOR,
			.name = "sonde",
			.fops = &sonde_fops,
			.mode = 0666,
		},
		.features = SONDE_FEAT_REGION | SONDE_FEAT_COPYV |
			    SONDE_FEAT_ASYNC | SONDE_FEAT_MAP | SONDE_FEAT_DSM |
			    SONDE_FEAT_DSM_PEERS | SONDE_FEAT_DSM_KEEP |
			    SONDE_FEAT_DSM_ACCESSED | SONDE_FEAT_DSM_RING,
		.ioctls = main_ioctls,
		.nioctls = ARRAY_SIZE(main_ioctls),
	},
	{
		.misc = {
			.minor = MISC_DYNAMIC_MINOR,
			.name = "sonde-probe",
			.fops = &sonde_fops,
			.mode = 0660,
		},
		.features = SONDE_FEAT_FRAMES | SONDE_FEAT_ALLOC |
			    SONDE_FEAT_CHASE | SONDE_FEAT_CLOCK |
			    SONDE_FEAT_PREFETCH | SONDE_FEAT_FLUSH,
		.ioctls = probe_ioctls,
		.nioctls = ARRAY_SIZE(probe_ioctls),
	},
};

static int __init check_params(void)
{
	int ret = sonde_frames_check_params();

	if (!ret)
		ret = sonde_pages_check_params();
	if (!ret)
		ret = sonde_pin_check_params();
	if (!ret)
		ret = sonde_dsm_check_params();
	return ret ?: sonde_slice_check_params();
}

static int __init sonde_init(void)
{
	int i, ret;

	ret = check_params();
	if (ret)
		return ret;
	ret = sonde_pools_init();
	if (ret)
		return ret;
	ret = sonde_disturbance_init();
	if (ret)
		goto exit_pools;
	ret = sonde_prefetch_init();
	if (ret)
		goto exit_disturbance;
	ret = sonde_async_init();
	if (ret)
		goto exit_prefetch;
	for (i = 0; i < ARRAY_SIZE(sonde_nodes); i++) {
		ret = misc_register(&sonde_nodes[i].misc);
		if (ret)
			goto deregister;
	}
	return 0;

deregister:
	while (i--)
		misc_deregister(&sonde_nodes[i].misc);
	sonde_async_exit();
exit_prefetch:
	sonde_prefetch_exit();
exit_disturbance:
	sonde_disturbance_exit();
exit_pools:
	sonde_pools_exit();
	return ret;
}
module_init(sonde_init);

static void __exit sonde_exit(void)
{
	int i = ARRAY_SIZE(sonde_nodes);

	while (i--)
		misc_deregister(&sonde_nodes[i].misc);
	sonde_async_exit();
	sonde_prefetch_exit();
	sonde_disturbance_exit();
	sonde_pools_exit();
}
module_exit(sonde_exit);

MODULE_DESCRIPTION("Measures the machine, and moves data between processes");
MODULE_AUTHOR("The sonde developers");
MODULE_LICENSE("GPL");
MODULE_VERSION(SONDE_VERSION);
