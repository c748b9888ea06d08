// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * device - open a node of the module and agree on the contract
 *
 * The nodes are looked for in /dev, or in the folder that SONDE_DEV_DIR names
 * (not for set-user-ID programs).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "log.h"

struct sonde_device {
	int fd;
	struct sonde_info info;
};

static int real_ioctl(int fd, unsigned long command, void *arg)
{
	return ioctl(fd, command, arg);
}

int (*device_ioctl)(int fd, unsigned long command, void *arg) = real_ioctl;

int device_path(enum sonde_node node, char *path, size_t len)
{
	static const char *const names[] = {
		[SONDE_NODE_MAIN] = "sonde",
		[SONDE_NODE_PROBE] = "sonde-probe",
	};
	const char *dir = secure_getenv("SONDE_DEV_DIR");
	int n;

	if (node != SONDE_NODE_MAIN && node != SONDE_NODE_PROBE)
		return -EINVAL;
	n = snprintf(path, len, "%s/%s", dir && *dir ? dir : "/dev", names[node]);
	return n < 0 || (size_t)n >= len ? -ENAMETOOLONG : 0;
}

/* What open(2) says, in terms of the module. */
static int open_node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		switch (errno) {
		case ENOENT:
		case ENXIO:	/* a node left behind */
		case EISDIR:
			return -ENODEV;
		case EPERM:	/* a container's device list */
			return -EACCES;
		default:
			return -errno;
		}
	}
	if (!fstat(fd, &st) && S_ISCHR(st.st_mode))
		return fd;
	close(fd);
	return -ENODEV;
}

/* An older or newer module may be talked to as long as the ABI is the same. */
static int check_info(const struct sonde_info *info)
{
	long page_size = sysconf(_SC_PAGESIZE);

	if (info->abi != SONDE_ABI) {
		sonde_log("device: the module speaks ABI %u, this library %u", info->abi,
			  SONDE_ABI);
		return -EPROTO;
	}
	if (info->page_size != (unsigned long)page_size || info->colour_bits > 32) {
		sonde_log("device: the module says %u bytes a page and %u bits of colour",
			  info->page_size, info->colour_bits);
		return -EPROTO;
	}
	if (info->features & SONDE_FEAT_FRAMES && !info->max_pages) {
		sonde_log("device: the module says 0 pages a call");
		return -EPROTO;
	}
	return 0;
}

static int negotiate(struct sonde_device *dev)
{
	int err;

	dev->info.size = sizeof(dev->info);
	err = device_command(dev, SONDE_IOC_INFO, &dev->info);
	switch (err) {
	case 0:
		break;
	case -ENOTTY:	/* some other driver, or none of ours any more */
	case -EINVAL:
	case -E2BIG:
		sonde_log("device: SONDE_IOC_INFO: %s", strerror(-err));
		return -EPROTO;
	default:
		return err;
	}
	dev->info.version[sizeof(dev->info.version) - 1] = '\0';
	return check_info(&dev->info);
}

int sonde_device_open(struct sonde_device **out, enum sonde_node node)
{
	struct sonde_device *dev;
	char path[PATH_MAX];
	int err;

	err = device_path(node, path, sizeof(path));
	if (err)
		return err;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->fd = open_node(path);
	if (dev->fd < 0) {
		err = dev->fd;
		free(dev);
		return err;
	}
	err = negotiate(dev);
	if (err) {
		sonde_device_close(dev);
		return err;
	}
	sonde_log("device: %s, version %s", path, dev->info.version);
	*out = dev;
	return 0;
}

int device_open_with(struct sonde_device **out, enum sonde_node node, uint64_t features,
		     int missing)
{
	struct sonde_device *dev = NULL;
	int err = sonde_device_open(&dev, node);

	if (!err && features & ~dev->info.features) {
		sonde_device_close(dev);
		dev = NULL;
		err = missing;
	}
	*out = dev;
	return err;
}

void sonde_device_close(struct sonde_device *dev)
{
	if (!dev)
		return;
	close(dev->fd);
	free(dev);
}

int device_command(const struct sonde_device *dev, unsigned long command, void *arg)
{
	return device_ioctl(dev->fd, command, arg) < 0 ? -errno : 0;
}

const struct sonde_info *device_info(const struct sonde_device *dev)
{
	return &dev->info;
}

int sonde_device_fd(const struct sonde_device *dev)
{
	return dev->fd;
}

uint64_t sonde_device_features(const struct sonde_device *dev)
{
	return dev->info.features;
}

uint64_t sonde_device_rights(const struct sonde_device *dev)
{
	return dev->info.rights;
}

const char *sonde_device_version(const struct sonde_device *dev)
{
	return dev->info.version;
}
