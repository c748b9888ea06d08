// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stop - a signal in the middle undoes what was begun before it ends us
 */
#include <signal.h>
#include <stddef.h>
#include <unistd.h>
#include "cli.h"

static volatile sig_atomic_t stop_signal;

static void remember(int sig)
{
	if (!stop_signal)
		stop_signal = sig;
}

/* No SA_RESTART: a wait is to end at once. */
void cli_stop_catch(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction old, catch = { .sa_handler = remember };

	sigemptyset(&catch.sa_mask);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		/* What our parent had us ignore (nohup) stays ignored. */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &catch, NULL);
	}
}

int cli_stop_requested(void)
{
	return stop_signal != 0;
}

void cli_stop_die(void)
{
	int sig = stop_signal ? stop_signal : SIGTERM;

	cli_progress_end();
	signal(sig, SIG_DFL);
	raise(sig);
	_exit(128 + sig);
}
