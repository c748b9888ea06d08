/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inside the library: one line of diagnostics to whoever set a function. */
#ifndef SONDE_LIB_LOG_H
#define SONDE_LIB_LOG_H

#include <sonde/log.h>

/* Cut at SONDE_LOG_LINE bytes; errno is left as it was. */
#define SONDE_LOG_LINE	512

__attribute__((format(printf, 1, 2)))
void sonde_log(const char *format, ...);

#endif
