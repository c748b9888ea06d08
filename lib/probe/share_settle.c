// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * share_settle - levels of a guest, whose CPUs the host moves
 *
 * That two CPUs share a last level was seen, and is so as long as they stay. That
 * they do not may be so only because the host has put them on two sides of it just
 * now. So where no two were seen to share it, they are looked at now and then for some
 * seconds, idle in between, as who wants less is easier to place; if two come nearer than
 * any were, all is compared anew. If none do, nothing is known. Where some share it and
 * others do not, CPUs do stay, as far as can be seen, and what was found stands.
 *
 * Of a nearer level it is the other way round, as a core mostly has that for itself: two
 * CPUs may share it only as long as the host has both on threads of one core. So where two
 * were seen to, they are watched; if they come apart, all is compared anew, and what is
 * seen then is less sure.
 */
#include <math.h>
#include <string.h>

#include "handover.h"

#define WATCH_S		15.0
#define REST_S		0.2
/* Of a nearer level: whoever has his core to himself again is soon put there. */
#define WATCH_NEARER_S	1.0
#define REST_NEARER_S	5e-3
/* Samples left out that are worth a word; the distance is misread now and then. */
#define LEFT_NOTED	3
/* Looks in a row at which two CPUs are farther apart, for the same reason. */
#define FARTHER		3
/* The most that is claimed of CPUs that shared a level for a while. */
#define PARTED		0.6

static int has_verdict(const struct sonde_share_level *level, enum sonde_share_verdict verdict)
{
	for (size_t i = 0; i < level->ngroups; i++)
		if (level->groups[i].verdict == verdict)
			return 1;
	return 0;
}

/* Contention has a say where the size is known; what it confirms stands. */
static int is_confirmed(const struct sonde_share_report *r)
{
	for (size_t i = 0; i < r->npairs; i++)
		if (!(r->pairs[i].contention > 0))
			return 0;
	return r->npairs > 0;
}

/* Whether two CPUs come nearer before @end than any were: 1, 0, or an error. */
static int wait_nearer(struct share *s, double end)
{
	const struct sonde_share_options *o = s->options;
	struct meter *m = s->meter;
	double cycles = INFINITY;
	size_t i, j;
	int err = 0;

	while (!err && cycles * SHARE_MOVED >= s->apart && m->ops->now(m) < end) {
		i = sonde_rng_below(&s->rng, o->ncpus);
		j = (i + 1 + sonde_rng_below(&s->rng, o->ncpus - 1)) % o->ncpus;
		m->ops->rest(m, REST_S);
		err = share_tick(s);
		if (!err)
			err = handover_distance(s, o->cpus[i], o->cpus[j], &cycles);
	}
	return err ? err : cycles * SHARE_MOVED < s->apart;
}

/* The pairs of the level that is being tested are the last ones. */
static int group_anew(struct share *s, const struct sonde_share_level *outer,
		      struct sonde_share_level *level)
{
	struct sonde_share_report *r = s->report;

	sonde_share_level_clear(level);
	while (r->npairs && r->pairs[r->npairs - 1].level == s->at->level)
		r->npairs--;
	return share_group(s, outer, level);
}

static void forget(struct share *s, struct sonde_share_level *level)
{
	struct sonde_share_report *r = s->report;

	for (size_t i = 0; i < level->ngroups; i++) {
		struct sonde_share_group *g = &level->groups[i];

		g->verdict = SONDE_SHARE_UNKNOWN;
		g->confidence = g->discarded = 0;
		g->samples = 0;
	}
	for (size_t i = 0; i < r->npairs; i++) {
		r->pairs[i].verdict = SONDE_SHARE_UNKNOWN;
		r->pairs[i].confidence = 0;
	}
}

static int settle_last(struct share *s, struct sonde_share_level *level)
{
	double end = s->meter->ops->now(s->meter) + WATCH_S;
	int is_nearer = 1, err = 0;

	if (!s->at->set || is_confirmed(s->report))
		return 0;
	while (!err && is_nearer && !has_verdict(level, SONDE_SHARE_YES)) {
		is_nearer = wait_nearer(s, end);
		err = is_nearer < 0 ? is_nearer : is_nearer ? group_anew(s, NULL, level) : 0;
	}
	if (err)
		return err;
	if (has_verdict(level, SONDE_SHARE_YES))
		return s->nleft < LEFT_NOTED ? 0 :
		       share_note(s, "level %u: the host moved CPUs while they were compared; "
				  "what is said of it is from when they were nearest, and does "
				  "not hold where it puts them farther apart", level->level);
	if (!has_verdict(level, SONDE_SHARE_NO))
		return 0;
	forget(s, level);
	return share_note(s, "level %u: no two CPUs shared it where the host has put them just "
			  "now (%.0f cycles for a line that the other one has changed); it may "
			  "move them, so whether they ever do cannot be told", level->level, s->apart);
}

static void limit(struct share *s, struct sonde_share_level *level, double most)
{
	struct sonde_share_report *r = s->report;

	for (size_t i = 0; i < level->ngroups; i++)
		level->groups[i].confidence = fmin(level->groups[i].confidence, most);
	for (size_t i = 0; i < r->npairs; i++)
		if (r->pairs[i].level == level->level)
			r->pairs[i].confidence = fmin(r->pairs[i].confidence, most);
}

/* Any two that were seen to share the level; NULL if none were. */
static const struct sonde_share_pair *pick_sharing(struct share *s)
{
	const struct sonde_share_report *r = s->report;
	const struct sonde_share_pair *found = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < r->npairs; i++)
		if (r->pairs[i].level == s->at->level && r->pairs[i].verdict == SONDE_SHARE_YES &&
		    !sonde_rng_below(&s->rng, ++n))
			found = &r->pairs[i];
	return found;
}

/* Whether two that share the level come apart before @end: 1, 0, or an error. */
static int wait_farther(struct share *s, double end)
{
	const struct sonde_share_pair *pair = NULL;
	struct meter *m = s->meter;
	double cycles;
	int farther = 0, err = 0;

	while (!err && farther < FARTHER && m->ops->now(m) < end) {
		if (!farther)
			pair = pick_sharing(s);
		/* Groups may be told by contention alone. */
		if (!pair)
			return 0;
		m->ops->rest(m, REST_NEARER_S);
		err = share_tick(s);
		if (!err)
			err = handover_distance(s, pair->cpu[0], pair->cpu[1], &cycles);
		farther = !err && cycles > SHARE_MOVED * s->apart ? farther + 1 : 0;
	}
	return err ? err : farther == FARTHER;
}

static int settle_nearer(struct share *s, const struct sonde_share_level *outer,
			 struct sonde_share_level *level)
{
	double end = s->meter->ops->now(s->meter) + WATCH_NEARER_S;
	const double nearest = s->apart;
	int is_parted = 0, err = 0;

	while (!err && has_verdict(level, SONDE_SHARE_YES)) {
		is_parted = wait_farther(s, end);
		if (is_parted <= 0)
			return is_parted;
		err = group_anew(s, outer, level);
	}
	if (err || !is_parted)
		return err;
	limit(s, level, PARTED);
	return share_note(s, "level %u: CPUs shared it for a while, when the host of this guest had "
			  "them on threads of one core (%.0f cycles for a line that the other one "
			  "has changed); then it put them apart", level->level, nearest);
}

int share_settle(struct share *s, const struct sonde_share_level *outer,
		 struct sonde_share_level *level)
{
	return outer ? settle_nearer(s, outer, level) : settle_last(s, level);
}
