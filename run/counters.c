// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * counters - what the library did, said at exit if SONDE_YIELD_STATS asks
 *
 * SONDE_YIELD_STATS=1 prints a line on standard error; a path takes the line at
 * its end, in one write, so that many ranks may share a file.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "yield.h"

struct counters counters;

static int open_report(const char *where)
{
	if (!strcmp(where, "1"))
		return STDERR_FILENO;
	return open(where, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static int format_report(char *line, size_t len)
{
	const char *rank = getenv("PMI_RANK");
	struct rusage usage = { 0 };

	getrusage(RUSAGE_SELF, &usage);
	return snprintf(line, len, "sonde-yield: rank %s: yields %" PRIu64 ", busy %" PRIu64
			", switches %ld, settled %d, kept %" PRIu64 "\n",
			rank ? rank : "?", atomic_load(&counters.yields),
			atomic_load(&counters.busy), usage.ru_nvcsw + usage.ru_nivcsw,
			atomic_load(&counters.settled), atomic_load(&counters.kept));
}

/* Only in a process that polled UCX: launchers and shells have nothing to say. */
__attribute__((destructor))
static void report(void)
{
	const char *where = getenv("SONDE_YIELD_STATS");
	char line[256];
	int len, fd;

	if (!where || !*where || !strcmp(where, "0") || !has_polled())
		return;
	fd = open_report(where);
	if (fd < 0)
		return;
	len = format_report(line, sizeof(line));
	/* Nobody is left to tell if it fails. */
	if (write(fd, line, (size_t)len) < 0)
		len = 0;
	if (fd != STDERR_FILENO)
		close(fd);
}
