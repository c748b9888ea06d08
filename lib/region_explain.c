// SPDX-License-Identifier: LGPL-2.1-or-later
/* region_explain - a sentence on why memory cannot be exported or copied */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sonde/device.h>
#include <sonde/region.h>

#define PARAMETERS "/sys/module/sonde/parameters/"

static const char *get_sentence(int err)
{
	switch (err) {
	case -ESTALE:
		return "the region was revoked, or its exporter has unmapped or replaced the "
		       "memory; ask the exporter for a new one";
	case -EOWNERDEAD:
		return "the process that exported the region has ended";
	case -EPERM:
		return "this process may not ptrace the exporter (same user, "
		       "/proc/sys/kernel/yama/ptrace_scope 0, no filter of system calls), or it "
		       "did not export the region; load the module to need no such right";
	case -EXDEV:
		return "the exporter is in another PID namespace, where only the module and shared "
		       "memory reach";
	case -EOPNOTSUPP:
		return "no way that is there can do it: shared memory needs memory of "
		       "sonde_transfer_alloc() or a memfd, other memory needs CMA "
		       "(CONFIG_CROSS_MEMORY_ATTACH) or the module, and only whole pages of the "
		       "module's regions and of shared memory can be mapped";
	case -ENOBUFS:
		return "RLIMIT_MEMLOCK does not allow it; export less, or raise the limit "
		       "(ulimit -l)";
	case -EDQUOT:
		return "more than the module may pin (" PARAMETERS "region_pages); export less";
	case -ENOSPC:
		return "too many regions are exported through one open file; close some";
	case -ETOOMANYREFS:
		return "this user has more descriptors in sockets than RLIMIT_NOFILE; close regions, "
		       "or raise the limit (ulimit -n)";
	case -EBADF:
		return "the descriptor is not a handle of a region";
	case -EFAULT:
		return "memory is not mapped, or not for this";
	default:
		return NULL;
	}
}

char *sonde_region_explain(int err, char *buf, size_t len)
{
	const char *sentence = get_sentence(err);
	char reason[128];

	if (err == -ENODEV)
		return sonde_device_explain(SONDE_NODE_MAIN, err, buf, len);
	snprintf(buf, len, "%s", sentence ? sentence : strerror_r(-err, reason, sizeof(reason)));
	return buf;
}
