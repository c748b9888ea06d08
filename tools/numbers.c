// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * numbers - what a person types as a count, a duration, a size
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include "cli.h"

int cli_parse_count(const char *name, const char *arg, uint64_t max, uint64_t *value)
{
	uintmax_t x;
	char *end;

	errno = 0;
	x = strtoumax(arg, &end, 0);
	if (!isdigit((unsigned char)*arg) || *end || errno || x > max) {
		cli_error("--%s %s: not a whole number from 0 to %" PRIu64, name, arg, max);
		return CLI_USAGE;
	}
	*value = x;
	return CLI_DONE;
}

int cli_parse_seconds(const char *name, const char *arg, double *value)
{
	char *end;
	double x = strtod(arg, &end);

	/* A day is more than any probe has use for. */
	if (end == arg || *end || !isfinite(x) || x < 0.1 || x > 86400) {
		cli_error("--%s %s: not a number of seconds from 0.1 to 86400", name, arg);
		return CLI_USAGE;
	}
	*value = x;
	return CLI_DONE;
}

/* 1024-based: K, KB and KiB are the same here. Return: the shift, -1 if it is none. */
static int parse_unit(const char *unit)
{
	static const char letters[] = "KMGT";

	if (!*unit || !strcasecmp(unit, "B"))
		return 0;
	for (int i = 0; letters[i]; i++)
		if (toupper((unsigned char)*unit) == letters[i] &&
		    (!unit[1] || !strcasecmp(unit + 1, "B") || !strcasecmp(unit + 1, "iB")))
			return 10 * (i + 1);
	return -1;
}

int cli_parse_size(const char *name, const char *arg, size_t *value)
{
	uintmax_t x;
	char *end;
	int shift;

	errno = 0;
	x = strtoumax(arg, &end, 10);
	shift = parse_unit(end);
	if (!isdigit((unsigned char)*arg) || errno || shift < 0 || x == 0 ||
	    x > (SIZE_MAX / 2) >> shift) {
		cli_error("--%s %s: not a size; give bytes or a number with K, M or G, as 64M",
			  name, arg);
		return CLI_USAGE;
	}
	*value = (size_t)x << shift;
	return CLI_DONE;
}
