// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * device_explain - a sentence on why a node cannot be had, and what to do
 *
 * It looks at the node again: who owns it decides which group to join.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"

#define GROUP_MAY_USE (S_IRGRP | S_IWGRP)

static void explain_absent(const char *path, char *buf, size_t len)
{
	struct stat st;

	if (!stat(path, &st) && !S_ISCHR(st.st_mode))
		snprintf(buf, len, "%s: not a device; remove it, then load the module with "
			 "`modprobe sonde` (see sonde(4))", path);
	else
		snprintf(buf, len, "%s: the module is not loaded; load it with `modprobe sonde` "
			 "(see sonde(4))", path);
}

static void explain_group(const char *path, gid_t gid, char *buf, size_t len)
{
	struct group group, *found = NULL;
	char names[4096];

	/* A group too large for the buffer is treated as one without a name. */
	if (getgrgid_r(gid, &group, names, sizeof(names), &found))
		found = NULL;
	if (found)
		snprintf(buf, len, "%s: permission denied; join group `%s` "
			 "(usermod -aG %s USER, then log in again) or run as root",
			 path, found->gr_name, found->gr_name);
	else
		snprintf(buf, len, "%s: permission denied; the node belongs to group %u, which "
			 "has no name here: name it (groupadd -g %u sonde) and join it, "
			 "or run as root", path, (unsigned int)gid, (unsigned int)gid);
}

static void explain_refused(const char *path, char *buf, size_t len)
{
	struct stat st;

	if (stat(path, &st))
		snprintf(buf, len, "%s: permission denied; run as root", path);
	else if (!faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS))
		snprintf(buf, len, "%s: permitted by its mode but refused by the system; in a "
			 "container give it the device (--device %s)", path, path);
	else if ((st.st_mode & GROUP_MAY_USE) != GROUP_MAY_USE || st.st_gid == 0)
		snprintf(buf, len, "%s: permission denied; only its owner may open it: "
			 "run as root", path);
	else
		explain_group(path, st.st_gid, buf, len);
}

char *sonde_device_explain(enum sonde_node node, int err, char *buf, size_t len)
{
	char path[PATH_MAX];
	char reason[128];

	if (device_path(node, path, sizeof(path))) {
		snprintf(buf, len, "no such node of the module, or SONDE_DEV_DIR is too long");
		return buf;
	}
	switch (err) {
	case 0:
		snprintf(buf, len, "%s: open", path);
		break;
	case -ENODEV:
		explain_absent(path, buf, len);
		break;
	case -EACCES:
		explain_refused(path, buf, len);
		break;
	case -EPROTO:
		snprintf(buf, len, "%s: the module speaks another ABI than this library (%u); "
			 "install the same version of both", path, SONDE_ABI);
		break;
	default:
		snprintf(buf, len, "%s: %s", path, strerror_r(-err, reason, sizeof(reason)));
		break;
	}
	return buf;
}
