/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A machine that is a recording: it answers what was answered, to whoever asks
 * what was asked.
 */
#ifndef SONDE_LIB_METER_REPLAY_H
#define SONDE_LIB_METER_REPLAY_H

#include <stddef.h>
#include "meter.h"

/**
 * struct replay_source - the lines that answer
 * @name: of the file, for the log
 * @version: of who recorded it, for the log
 * @text: the first line
 * @end: behind the last one's newline
 * @line: the first one's number in the file
 */
struct replay_source {
	const char *name, *version;
	const char *text, *end;
	size_t line;
};

/*
 * With @as's properties; @source must stay. From the first question on that was
 * not recorded so, or whose answer makes no sense, every call fails that can; the
 * others answer something, time flies, and meter_replay_error() tells. 0, -ENOMEM.
 */
int meter_replay_open(struct meter **m, const struct meter *as,
		      const struct replay_source *source);

/* 0, -EBADMSG, -ENOMEM. */
int meter_replay_error(const struct meter *m);

/* The same, and also whether all lines were asked for. */
int meter_replay_end(struct meter *m);

#endif
