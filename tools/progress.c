// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * progress - how far it came, for a person at a terminal
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "cli.h"

static int is_shown;

/* Asked once: probes tell their progress between windows, thousands of times a second. */
static int is_wanted(void)
{
	static int wanted = -1;
	const char *term = getenv("TERM");

	if (wanted < 0)
		wanted = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
	return wanted;
}

static int measure_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20)
		return 80;
	return size.ws_col;
}

/* Ten times a second is enough for an eye, and little beside what is timed. */
static int is_due(void)
{
	static struct timespec last;
	struct timespec now;
	double since;

	clock_gettime(CLOCK_MONOTONIC, &now);
	since = (double)(now.tv_sec - last.tv_sec) + 1e-9 * (double)(now.tv_nsec - last.tv_nsec);
	if (is_shown && since < 0.1)
		return 0;
	last = now;
	return 1;
}

void cli_progress(double done, const char *what)
{
	if (!is_wanted() || !is_due())
		return;
	is_shown = 1;
	fprintf(stderr, "\r\033[K%3.0f %%  %.*s", 100 * done, measure_width() - 8, what);
	fflush(stderr);
}

void cli_progress_end(void)
{
	if (!is_shown)
		return;
	is_shown = 0;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}
