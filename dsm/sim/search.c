// SPDX-License-Identifier: LGPL-2.1-or-later
/* Depth first, with the path as a list of choices and a set of digests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search.h"

#define MOST_DEPTH	4096u
#define MOST_OPTIONS	(PROGRAM_THREADS + PROGRAM_THREADS * PROGRAM_THREADS)

struct frame {
	uint32_t at, n;		/* which option is taken, of how many */
};

struct seen {
	uint64_t *v;
	size_t n, room;
};

static void insert(uint64_t *v, size_t room, uint64_t h)
{
	size_t i = h & (room - 1);

	while (v[i])
		i = (i + 1) & (room - 1);
	v[i] = h;
}

/* True if it is new. 0 marks what is free, so it is another number here. */
static bool add_seen(struct seen *s, uint64_t h)
{
	h += !h;
	for (size_t i = h & (s->room - 1); s->room && s->v[i]; i = (i + 1) & (s->room - 1))
		if (s->v[i] == h)
			return false;
	if (2 * (s->n + 1) > s->room) {
		size_t room = s->room ? s->room * 2 : 1024;
		uint64_t *v = calloc(room, sizeof(*v));

		if (!v)
			abort();
		for (size_t i = 0; i < s->room; i++)
			if (s->v[i])
				insert(v, room, s->v[i]);
		free(s->v);
		s->v = v;
		s->room = room;
	}
	insert(s->v, s->room, h);
	s->n++;
	return true;
}

static void take_nth(struct run *r, uint32_t at)
{
	uint32_t options[MOST_OPTIONS];

	run_options(r, options);
	run_take(r, options[at], false);
}

/* Back to the last place where another way is left; false if there is none. */
static bool go_back(struct search *s, struct run *r, const struct program *p, struct frame *path,
		    uint32_t *depth)
{
	while (*depth && path[*depth - 1].at + 1 == path[*depth - 1].n)
		--*depth;
	if (!*depth)
		return false;
	path[*depth - 1].at++;
	run_end(r);
	run_start(r, p, NULL);
	for (uint32_t i = 0; i < *depth; i++)
		take_nth(r, path[i].at);
	s->transitions++;
	return true;
}

static bool report(struct search *s, const struct run *r, const struct frame *path,
		   uint32_t depth)
{
	snprintf(s->why, sizeof(s->why), "%s", r->world->why);
	if (s->is_quiet)
		return false;
	printf("# %s; choices:", s->why);
	for (uint32_t i = 0; i < depth; i++)
		printf(" %u", path[i].at);
	putchar('\n');
	return false;
}

/* At a state: forward if it is new and not an end. */
static bool go_on(struct search *s, struct run *r, struct seen *seen, struct frame *path,
		  uint32_t *depth)
{
	uint32_t options[MOST_OPTIONS], n;

	if (!add_seen(seen, run_digest(r)))
		return false;
	n = run_options(r, options);
	if (!n) {
		run_finish(r);
		s->ends++;
		if (s->at_end)
			s->at_end(s->ctx, r);
		return false;
	}
	if (*depth == MOST_DEPTH) {
		world_fail(r->world, "no end after %u steps", MOST_DEPTH);
		return false;
	}
	path[*depth] = (struct frame){ .at = 0, .n = n };
	++*depth;
	if (s->deepest < *depth)
		s->deepest = *depth;
	run_take(r, options[0], false);
	s->transitions++;
	return true;
}

bool search_run(struct search *s, const struct program *p)
{
	static struct frame path[MOST_DEPTH];
	struct seen seen = { 0 };
	uint32_t depth = 0;
	bool good = true;
	struct run r;

	run_start(&r, p, NULL);
	for (;;) {
		bool on = !r.world->why[0] && go_on(s, &r, &seen, path, &depth);

		if (r.world->why[0]) {
			good = report(s, &r, path, depth);
			break;
		}
		if (on)
			continue;
		if (seen.n >= s->most || !go_back(s, &r, p, path, &depth))
			break;
	}
	s->states = seen.n;
	s->complete = good && !depth;
	run_end(&r);
	free(seen.v);
	return good;
}
