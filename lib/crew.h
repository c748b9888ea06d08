/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread a CPU, each bound to its own, that do what one caller tells them.
 */
#ifndef SONDE_LIB_CREW_H
#define SONDE_LIB_CREW_H

#include <sonde/clock.h>

struct crew;
struct crew_member;

/* 0, -ENOMEM. */
int crew_open(struct crew **c, const struct sonde_clock *clk);

/* Waits for all, ends all; @c may be NULL. */
void crew_close(struct crew *c);

/*
 * Who works on @cpu; started at the first question. 0, -ENOMEM, -EINVAL (no such
 * CPU), -EPERM (may not run there).
 */
int crew_hire(struct crew *c, unsigned int cpu, struct crew_member **out);

/* Have @m run @run(@ctx). Not twice without crew_wait() between. */
void crew_start(struct crew_member *m, void (*run)(void *ctx), void *ctx);

/* Until that is done. Awake at first, as members do; see crew.c. */
void crew_wait(struct crew_member *m);

#endif
