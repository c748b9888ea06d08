// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * session - ranks stay in the session they are started from
 *
 * MPICH's launcher makes every rank the leader of a session, and with
 * kernel.sched_autogroup_enabled the scheduler has a group of tasks for each
 * session: a rank that yields can only give way to tasks of its own group, so
 * to none. `sonde run` asks (SONDE_RUN_SESSION=keep) for what needs no
 * privileges: the launcher's setsid(2) makes a process group only. The launcher
 * signals its ranks by process group, so it does not miss the session.
 *
 * Programs that are launched keep the real setsid(2).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "yield.h"

static int is_launcher(void)
{
	char exe[4096];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *name;

	if (n <= 0)
		return 0;
	exe[n] = '\0';
	name = strrchr(exe, '/');
	return name && strstr(name, "hydra");
}

YIELD_EXPORT pid_t setsid(void);
YIELD_EXPORT pid_t setsid(void)
{
	const char *wish = getenv("SONDE_RUN_SESSION");
	pid_t (*next)(void) = NULL;

	if (wish && !strcmp(wish, "keep") && is_launcher())
		return setpgid(0, 0) ? -1 : getpid();
	*(void **)&next = find_next("setsid", NULL);
	return next();
}
