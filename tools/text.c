// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * text - numbers as people read them
 */
#include <hwloc.h>
#include <math.h>
#include <stdio.h>
#include "text.h"

/* Three digits mean something. */
static int count_decimals(double x)
{
	return x < 9.995 ? 2 : x < 99.95 ? 1 : 0;
}

/* Three digits, and a whole number as such. */
static char *print_scaled(char buf[TEXT_LEN], double x, const char *unit)
{
	int decimals = count_decimals(x);

	if (fabs(x - round(x)) < 1e-9)
		decimals = 0;
	snprintf(buf, TEXT_LEN, "%.*f %s", decimals, x, unit);
	return buf;
}

char *text_size(char buf[TEXT_LEN], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double x = (double)bytes;
	size_t i = 0;

	for (; x >= 1024 && i < 4; i++)
		x /= 1024;
	return print_scaled(buf, x, units[i]);
}

char *text_hz(char buf[TEXT_LEN], double hz)
{
	if (hz >= 1e9)
		snprintf(buf, TEXT_LEN, "%.3g GHz", hz / 1e9);
	else
		snprintf(buf, TEXT_LEN, "%.4g MHz", hz / 1e6);
	return buf;
}

char *text_ns(char buf[TEXT_LEN], double ns)
{
	snprintf(buf, TEXT_LEN, "%.*f ns", count_decimals(ns), ns);
	return buf;
}

char *text_time(char buf[TEXT_LEN], double ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	size_t i = 0;

	if (!(ns > 0)) {
		snprintf(buf, TEXT_LEN, "-");
		return buf;
	}
	for (; ns >= 999.5 && i < 3; i++)
		ns /= 1000;
	snprintf(buf, TEXT_LEN, "%.*f %s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, units[i]);
	return buf;
}

char *text_cycles(char buf[TEXT_LEN], double cycles)
{
	snprintf(buf, TEXT_LEN, "%.*f cycles", cycles < 99.95 ? 1 : 0, cycles);
	return buf;
}

char *text_cpus(const unsigned int *cpus, size_t n)
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	char *list = NULL;

	if (!set)
		return NULL;
	for (size_t i = 0; i < n; i++)
		hwloc_bitmap_set(set, cpus[i]);
	if (hwloc_bitmap_list_asprintf(&list, set) < 0)
		list = NULL;
	hwloc_bitmap_free(set);
	return list;
}
