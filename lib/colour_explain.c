// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * colour_explain - a sentence on why coloured memory cannot be had
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sonde/colour.h>
#include <sonde/device.h>

#define PARAMETERS "/sys/module/sonde/parameters/"

/* Of errors that need not look at anything. */
static const char *get_sentence(int err)
{
	switch (err) {
	case -ENOSPC:
		return "the wanted colours, or one contiguous run, cannot be had; ask for fewer "
		       "pages, for more colours, or take what can be had (SONDE_ALLOC_PARTIAL)";
	case -ENOMEM:
		return "the kernel, or the memory cgroup, has not enough memory; ask for fewer pages";
	case -ENOBUFS:
		return "RLIMIT_MEMLOCK does not allow it; ask for fewer pages, or raise the limit "
		       "(ulimit -l)";
	case -EDQUOT:
		return "more than the module may hold (" PARAMETERS "memory_pages, of which "
		       "memory_held are taken); ask for fewer pages, or for more colours";
	case -EPERM:
		return "these masks tell bits of frame numbers, which needs root (CAP_SYS_ADMIN in "
		       "the initial user namespace); use the low bits only";
	case -EOPNOTSUPP:
		return "contiguous memory needs the module; load it with `modprobe sonde`";
	default:
		return NULL;
	}
}

char *sonde_colour_explain(int err, char *buf, size_t len)
{
	const char *sentence = get_sentence(err);
	char reason[256];

	if (sentence) {
		snprintf(buf, len, "%s", sentence);
	} else if (err == -ENODEV || err == -EACCES || err == -EPROTO) {
		sonde_device_explain(SONDE_NODE_PROBE, err, reason, sizeof(reason));
		snprintf(buf, len, "%s; without the module colours need root, for "
			 "/proc/self/pagemap", reason);
	} else {
		snprintf(buf, len, "%s", strerror_r(-err, reason, sizeof(reason)));
	}
	return buf;
}
