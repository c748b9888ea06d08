// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile - read a profile that the user named
 */
#include <errno.h>
#include <string.h>
#include <sonde/log.h>
#include "cli.h"
#include "profile.h"

#define REASON_LEN 512

/* The library's last word says which field is wrong, and why. */
static void keep_reason(void *ctx, const char *line)
{
	snprintf(ctx, REASON_LEN, "%s", line);
}

struct sonde_profile *profile_open(const char *path)
{
	char reason[REASON_LEN] = "";
	struct sonde_profile *profile = NULL;
	int err;

	sonde_set_log(keep_reason, reason);
	err = sonde_profile_load(&profile, path);
	sonde_set_log(NULL, NULL);
	if ((err == -EINVAL || err == -EPROTO) && *reason)
		cli_error("%s", reason);
	else if (err)
		cli_error("cannot read %s: %s; `sonde report` writes profiles", path, strerror(-err));
	return profile;
}
