// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * log - diagnostics for whoever asked for them, nothing for anybody else
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "log.h"

static void (*log_fn)(void *ctx, const char *line);
static void *log_ctx;

void sonde_set_log(void (*fn)(void *ctx, const char *line), void *ctx)
{
	log_fn = fn;
	log_ctx = ctx;
}

void sonde_log(const char *format, ...)
{
	char line[SONDE_LOG_LINE];
	int saved = errno;
	va_list args;

	if (!log_fn)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	log_fn(log_ctx, line);
	errno = saved;
}
