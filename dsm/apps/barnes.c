// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Bodies in a tree (Barnes and Hut), in the plane: process 0 builds it, all walk it, each
 * moves its own bodies.
 */
#include <math.h>
#include <string.h>

#include "apps.h"

#define THETA	0.5
#define DT	1e-3
#define DEPTH	24

struct body {
	double at[2], speed[2], mass;
};

struct cell {
	double centre[2], half, at[2], mass;	/* at: centre of mass */
	int32_t child[4];			/* cell + 1, -(body + 1), or 0 */
};

struct tree {
	struct cell *cells;
	struct body *bodies;
	int32_t n;
};

static int quarter(const struct cell *c, const struct body *b)
{
	return (b->at[0] > c->centre[0]) + 2 * (b->at[1] > c->centre[1]);
}

static int32_t new_cell(struct tree *t, const struct cell *above, int q)
{
	struct cell *c = &t->cells[t->n];

	memset(c, 0, sizeof(*c));
	c->half = above->half / 2;
	c->centre[0] = above->centre[0] + (q & 1 ? c->half : -c->half);
	c->centre[1] = above->centre[1] + (q & 2 ? c->half : -c->half);
	return t->n++;
}

/* Bodies at one place, to the last bit of the tree's depth, share a cell's mass. */
static void insert(struct tree *t, int32_t body)
{
	struct cell *c = t->cells;

	for (int depth = 0; depth < DEPTH; depth++) {
		int q = quarter(c, &t->bodies[body]);
		int32_t other = c->child[q];

		if (!other) {
			c->child[q] = -(body + 1);
			return;
		}
		if (other < 0) {
			int32_t made = new_cell(t, c, q);

			c->child[q] = made + 1;
			t->cells[made].child[quarter(&t->cells[made], &t->bodies[-other - 1])] = other;
		}
		c = &t->cells[c->child[q] - 1];
	}
}

/* Children were made after their cells. */
static void weigh(struct tree *t)
{
	for (int32_t i = t->n - 1; i >= 0; i--) {
		struct cell *c = &t->cells[i];

		c->mass = c->at[0] = c->at[1] = 0;
		for (int q = 0; q < 4; q++) {
			const double *at;
			double mass;

			if (!c->child[q])
				continue;
			at = c->child[q] < 0 ? t->bodies[-c->child[q] - 1].at :
					       t->cells[c->child[q] - 1].at;
			mass = c->child[q] < 0 ? t->bodies[-c->child[q] - 1].mass :
						 t->cells[c->child[q] - 1].mass;
			c->mass += mass;
			c->at[0] += mass * at[0];
			c->at[1] += mass * at[1];
		}
		if (c->mass > 0) {
			c->at[0] /= c->mass;
			c->at[1] /= c->mass;
		}
	}
}

static void pull(const struct body *b, const double *at, double mass, double *force)
{
	double x = at[0] - b->at[0], y = at[1] - b->at[1], r2 = x * x + y * y + 1e-4;
	double f = mass / (r2 * sqrt(r2));

	force[0] += f * x;
	force[1] += f * y;
}

static void walk(const struct tree *t, int32_t cell, const struct body *b, double *force)
{
	const struct cell *c = &t->cells[cell];
	double x = c->at[0] - b->at[0], y = c->at[1] - b->at[1];

	if (4 * c->half * c->half < THETA * THETA * (x * x + y * y)) {
		pull(b, c->at, c->mass, force);
		return;
	}
	for (int q = 0; q < 4; q++) {
		if (c->child[q] > 0)
			walk(t, c->child[q] - 1, b, force);
		else if (c->child[q] && &t->bodies[-c->child[q] - 1] != b)
			pull(b, t->bodies[-c->child[q] - 1].at, t->bodies[-c->child[q] - 1].mass,
			     force);
	}
}

static void build(struct tree *t, int32_t n)
{
	memset(t->cells, 0, sizeof(*t->cells));
	t->cells->half = 2;
	t->n = 1;
	for (int32_t i = 0; i < n; i++)
		insert(t, i);
	weigh(t);
}

uint64_t apps_barnes(unsigned int scale)
{
	const size_t n = 128 * scale;
	struct tree t = { .bodies = apps_make(n * sizeof(*t.bodies)) };
	double force[2];
	size_t first, end;
	uint64_t sum = 0;

	t.cells = apps_make(n * DEPTH * sizeof(*t.cells));
	apps_share(n, &first, &end);
	for (size_t i = first; i < end; i++)
		t.bodies[i] = (struct body){ .mass = 1.0 / (double)n,
			.at = { 2 * apps_uniform(2 * i) - 1, 2 * apps_uniform(2 * i + 1) - 1 } };
	apps_barrier();
	for (int step = 0; step < 3; step++) {
		if (!apps_me)
			build(&t, (int32_t)n);
		apps_barrier();
		for (size_t i = first; i < end; i++) {
			force[0] = force[1] = 0;
			walk(&t, 0, &t.bodies[i], force);
			t.bodies[i].speed[0] += DT * force[0];
			t.bodies[i].speed[1] += DT * force[1];
		}
		/* All have read where they are. */
		apps_barrier();
		for (size_t i = first; i < end; i++) {
			t.bodies[i].at[0] += DT * t.bodies[i].speed[0];
			t.bodies[i].at[1] += DT * t.bodies[i].speed[1];
		}
		apps_barrier();
	}
	if (!apps_me)
		sum = apps_sum(t.bodies, n * sizeof(*t.bodies));
	apps_drop(t.cells);
	apps_drop(t.bodies);
	return sum;
}
