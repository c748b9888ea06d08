/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the meter in user space share: one CPU, and lanes. */
#ifndef SONDE_LIB_METER_USER_H
#define SONDE_LIB_METER_USER_H

#include <sched.h>
#include <sonde/frames.h>
#include "crew.h"
#include "meter.h"

struct area;

/**
 * struct meter_user - this machine
 * @meter: what a probe sees
 * @clk: the caller's
 * @before: where the thread might run until open; lanes and moves stay within
 * @nice: and how nicely
 * @home: the CPU that the thread is bound to
 * @crew: who works on other CPUs; NULL until one is asked for
 * @here: who links and chases now; NULL: the thread that opened
 * @map: what is mapped, @map_bytes; the pool begins where it is aligned
 * @pool: @nchunks chunks
 * @at: where the walk stands
 * @overhead: ticks of a clock read
 * @chain_holds: ticks that a chain is good for
 * @flushes_weakly: flushes need not wait for each other
 * @frames: looks frames up; NULL until the first question
 * @areas: memory of streams, see meter_stream.c
 */
struct meter_user {
	struct meter meter;
	const struct sonde_clock *clk;
	cpu_set_t before;
	int nice;
	unsigned int home;
	struct crew *crew;
	struct crew_member *here;
	char *map;
	size_t map_bytes;
	char *pool;
	size_t nchunks;
	void *at;
	uint64_t overhead;
	uint64_t chain_holds;
	int flushes_weakly;
	struct sonde_frames_source *frames;
	struct area *areas;
};

/* @places as one cycle. Return: the first of it. */
void *meter_user_link(const struct meter_user *u, const uint32_t *places, size_t n);

/* @steps loads from @at on, untimed. Return: where they end. */
void *meter_user_walk(void *at, uint64_t steps);

/* @nout windows of @steps loads from @at on. Return: where they end. */
void *meter_user_windows(const struct meter_user *u, void *at, unsigned int steps,
			 struct meter_window *out, size_t nout);

/*
 * Who works on @cpu: NULL for the thread that opened. 0, -ENOMEM, -EINVAL (no
 * such CPU), -EPERM (may not run there).
 */
int meter_user_hire(struct meter_user *u, unsigned int cpu, struct crew_member **out);

/* meter_ops.rest: of any meter of the machine below us */
void meter_user_rest(struct meter *m, double seconds);

/* meter_ops.together */
int meter_user_together(struct meter *m, const struct meter_lane *lanes, size_t nlanes);

/* meter_ops.stream, and its memory freed */
int meter_user_stream(struct meter *m, const struct meter_stream *what, size_t n);
void meter_user_drop_areas(struct meter_user *u);

#endif
