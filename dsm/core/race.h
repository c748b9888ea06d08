/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What a home remembers for races: race.c has writes, race_read.c reads. */
#ifndef SONDE_DSM_RACE_H
#define SONDE_DSM_RACE_H

#include "state.h"

/* Of one process, and what its interval knew of. */
struct dsm_side {
	uint64_t interval;
	uint32_t process;
	const uint64_t *vc;
};

struct dsm_held_locks {
	uint64_t interval;
	uint32_t n;
	uint64_t id[DSM_RACE_LOCKS];
};

struct dsm_reads;

struct dsm_races {
	uint64_t **last;	/* by page, by byte; 0: nobody */
	struct dsm_held_locks *kept;	/* some of each process, by number */
	struct dsm_held_locks now;	/* of the release under way here */
	struct dsm_side from;	/* of the diffs, or of the request, that are being read */
	uint64_t *from_vc;
	uint64_t *masks;
	uint8_t *zeros, *ones;
	struct dsm_reads *reads;	/* NULL: not looked at */
};

/* A byte's last interval: number from bit 17, process from bit 1, was a race told of. */
#define DSM_RACE_TOLD	((uint64_t)1)

static inline uint32_t dsm_last_process(uint64_t last)
{
	return (uint32_t)(last >> 1 & 0xffff);
}

/* Another process's interval, of which @s does not know. */
static inline bool dsm_is_race(const struct dsm_side *s, uint64_t last)
{
	return last && dsm_last_process(last) != s->process &&
	       s->vc[dsm_last_process(last)] < last >> 17;
}

void dsm_race_set_side(const struct dsm_core *c, struct dsm_race_side *side, uint32_t process,
		       uint64_t interval);
/* An interval of this process, its locks, and the clock as it is now. */
int dsm_race_put_side(struct dsm_core *c, struct dsm_buf *b, const struct dsm_held_locks *l);
void dsm_race_find_held(const struct dsm_core *c, struct dsm_held_locks *l);	/* now */

int dsm_reads_create(struct dsm_core *c);
void dsm_reads_destroy(struct dsm_core *c);
/* Of @page, at home, @w wrote the bytes in @masks. */
int dsm_reads_written(struct dsm_core *c, uint32_t page, const uint64_t *masks,
		      const struct dsm_side *w);

#endif
