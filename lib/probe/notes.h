/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Sentences for whoever reads a report. */
#ifndef SONDE_LIB_PROBE_NOTES_H
#define SONDE_LIB_PROBE_NOTES_H

#include <stdarg.h>
#include <stddef.h>

/* One more of the *@n sentences of *@notes, each to be freed. 0, -ENOMEM. */
__attribute__((format(printf, 3, 0)))
int notes_add(char ***notes, size_t *n, const char *fmt, va_list args);
__attribute__((format(printf, 3, 4)))
int notes_say(char ***notes, size_t *n, const char *fmt, ...);

#endif
