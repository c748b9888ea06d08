/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: where the nodes are, and the one way to ioctls. */
#ifndef SONDE_LIB_DEVICE_H
#define SONDE_LIB_DEVICE_H

#include <stddef.h>
#include <linux/sonde.h>
#include <sonde/device.h>

/*
 * sonde_device_open() of a module that has all of @features, SONDE_FEAT_*: where
 * one is missing @missing is the error. *@dev is NULL on failure.
 */
int device_open_with(struct sonde_device **dev, enum sonde_node node, uint64_t features,
		     int missing);

/* What the module said of itself and of this open file; owned by @dev. */
const struct sonde_info *device_info(const struct sonde_device *dev);

/* 0 or -errno of the ioctl. */
int device_command(const struct sonde_device *dev, unsigned long command, void *arg);

/* Where a node is looked for. Return: 0, -EINVAL (no such node), -ENAMETOOLONG. */
int device_path(enum sonde_node node, char *path, size_t len);

/* ioctl(2), but in tests that play the module. */
extern int (*device_ioctl)(int fd, unsigned long command, void *arg);

#endif
