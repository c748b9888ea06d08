/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: device - the kernel module, if it is there
 *
 * Everything in sonde also runs without the module. A device object is how the
 * rest of the library asks for it, and how it learns why it cannot have it.
 */
#ifndef SONDE_DEVICE_H
#define SONDE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_device;

/* Which node: own memory only, or things about the machine. */
enum sonde_node {
	SONDE_NODE_MAIN,	/* /dev/sonde */
	SONDE_NODE_PROBE,	/* /dev/sonde-probe */
};

/**
 * sonde_device_open() - open the module and negotiate features
 * @dev: where the device goes; untouched on failure
 * @node: which of the two nodes
 *
 * Return: 0, or
 * -ENODEV the module is not loaded (there is no such device),
 * -EACCES this user may not open the node,
 * -EPROTO the module speaks another ABI,
 * -EINVAL no such node, -ENAMETOOLONG, -ENOMEM,
 * or what open(2) said. sonde_device_explain() turns each into a sentence.
 *
 * Nodes are looked for in /dev, or in the folder that the environment variable
 * SONDE_DEV_DIR names.
 *
 * Since: 0.1
 */
int sonde_device_open(struct sonde_device **dev, enum sonde_node node);

/** sonde_device_close() - close; @dev may be NULL. Since: 0.1 */
void sonde_device_close(struct sonde_device *dev);

/** sonde_device_fd() - the descriptor, owned by @dev. Since: 0.1 */
int sonde_device_fd(const struct sonde_device *dev);

/** sonde_device_features() - SONDE_FEAT_* of the module. Since: 0.1 */
uint64_t sonde_device_features(const struct sonde_device *dev);

/** sonde_device_rights() - SONDE_RIGHT_* of this open file. Since: 0.1 */
uint64_t sonde_device_rights(const struct sonde_device *dev);

/** sonde_device_version() - the module's version, owned by @dev. Since: 0.1 */
const char *sonde_device_version(const struct sonde_device *dev);

/**
 * sonde_device_explain() - why a node could not be opened, and what to do
 * @node: the node that sonde_device_open() was asked for
 * @err: its result
 * @buf: where the sentence goes (no newline)
 * @len: bytes of @buf
 *
 * Names the module to load or the group to join. Return: @buf.
 *
 * Since: 0.1
 */
char *sonde_device_explain(enum sonde_node node, int err, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
