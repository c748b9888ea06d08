// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * comm_exchange - the windows of a run, over anything that sends
 *
 * PRTT(n, delay, size) of Hoefler, Lichei and Rehm (2007): n messages, an idle delay
 * between them, and one message back when all have come. Inside an interval: the
 * calls that send and receive. Delays are spun by the clock, measured, and
 * subtracted as long as they really were.
 */
#include "comm.h"

/* How long it really was. */
static double spin(struct comm_end *e, double ns)
{
	double begin = e->now(e), now = begin;

	while (now - begin < ns)
		now = e->now(e);
	return now - begin;
}

static int send_many(struct comm_end *e, const struct comm_run *run, double *delayed)
{
	int err = 0;

	for (unsigned int i = 0; i < run->turns && !err; i++) {
		if (i && run->kind == COMM_TRAIN && run->delay_ns > 0)
			*delayed += spin(e, run->delay_ns);
		err = e->send(e, run->bytes);
	}
	return err;
}

int comm_window_first(struct comm_end *e, const struct comm_run *run, double *ns)
{
	double begin = e->now(e), delayed = 0;
	int err = 0;

	if (run->kind == COMM_PINGPONG) {
		for (unsigned int i = 0; i < run->turns && !err; i++) {
			err = e->send(e, run->bytes);
			if (!err)
				err = e->receive(e, run->bytes);
		}
		*ns = (e->now(e) - begin) / (2.0 * run->turns);
		return err;
	}
	err = send_many(e, run, &delayed);
	if (!err)
		err = e->receive(e, run->bytes);
	if (run->kind == COMM_TRAIN)
		*ns = e->now(e) - begin - delayed;
	return err;
}

/* The first message is waited for; then each of the others is there after the delay. */
static int receive_late(struct comm_end *e, const struct comm_run *run, double *ns)
{
	double begin, delayed = 0;
	int err = e->receive(e, run->bytes);

	begin = e->now(e);
	for (unsigned int i = 1; i < run->turns && !err; i++) {
		delayed += spin(e, run->delay_ns);
		err = e->receive(e, run->bytes);
	}
	*ns = (e->now(e) - begin - delayed) / (run->turns > 1 ? run->turns - 1 : 1);
	return err ? err : e->send(e, run->bytes);
}

int comm_window_second(struct comm_end *e, const struct comm_run *run, double *ns)
{
	int err = 0;

	if (run->kind == COMM_RECEIVE)
		return receive_late(e, run, ns);
	for (unsigned int i = 0; i < run->turns && !err; i++) {
		err = e->receive(e, run->bytes);
		if (!err && run->kind == COMM_PINGPONG)
			err = e->send(e, run->bytes);
	}
	return err || run->kind == COMM_PINGPONG ? err : e->send(e, run->bytes);
}
