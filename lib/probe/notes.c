// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "notes.h"

int notes_add(char ***notes, size_t *n, const char *fmt, va_list args)
{
	char **more = realloc(*notes, (*n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	*notes = more;
	if (vasprintf(&more[*n], fmt, args) < 0)
		return -ENOMEM;
	++*n;
	return 0;
}

int notes_say(char ***notes, size_t *n, const char *fmt, ...)
{
	va_list args;
	int err;

	va_start(args, fmt);
	err = notes_add(notes, n, fmt, args);
	va_end(args);
	return err;
}
