// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "noise.h"
#include "walk.h"

/* The neighbour's share and the clock wander this often, a second. */
#define NEIGHBOUR_HZ	60.0
#define DRIFT_HZ	100.0
/* Lines that another thread uses at once. */
#define SIBLING_LINES	8
/* Share of the last level that others use up in a slice of theirs. */
#define SLICE_SHARE	0.05

static double sibling_hz(const struct machine_noise *n, unsigned int cpu)
{
	if (n->sibling_ns <= 0 || (n->sibling_cpus && cpu >= n->sibling_cpus))
		return 0;
	return 1e9 / (SIBLING_LINES * n->sibling_ns);
}

static double rate_of(const struct core *c, enum event e)
{
	const struct machine_noise *n = &c->h->model->noise;

	switch (e) {
	case EVENT_GAP:
		return n->gaps;
	case EVENT_SLICE:
		return n->slices;
	case EVENT_SPIKE:
		return n->spikes;
	case EVENT_EVICTION:
		return n->evictions;
	case EVENT_NEIGHBOUR:
		return n->neighbour > 0 ? NEIGHBOUR_HZ : 0;
	case EVENT_SIBLING:
		return sibling_hz(n, c->cpu);
	case EVENT_DRIFT:
		return n->drift > 0 ? DRIFT_HZ : 0;
	default:
		return 0;
	}
}

static void draw_next(struct core *c, enum event e)
{
	double hz = rate_of(c, e);

	c->event_ns[e] = hz > 0 ? c->ns - log(1 - hierarchy_chance(c->h)) / hz * 1e9 : INFINITY;
}

static void find_next(struct core *c)
{
	c->next_ns = INFINITY;
	for (unsigned int e = 0; e < EVENTS; e++)
		c->next_ns = fmin(c->next_ns, c->event_ns[e]);
}

static double between(struct hierarchy *h, const double range[2])
{
	return range[0] + (range[1] - range[0]) * hierarchy_chance(h);
}

static void lose_lines(struct core *c, size_t lines)
{
	for (unsigned int i = 0; i < c->h->n; i++)
		hierarchy_disturb(c, i, lines);
}

/* Others ran here: the caches are full of their lines. */
static void lose_slice(struct core *c)
{
	struct hierarchy *h = c->h;

	for (unsigned int i = 0; i < h->n; i++) {
		size_t lines = h->index[i].sets * (size_t)h->model->cache[i].ways;

		hierarchy_disturb(c, i, i + 1 < h->n ? 2 * lines :
				  (size_t)((double)lines * SLICE_SHARE));
	}
	c->page = 0;
	for (unsigned int i = 0; i < MACHINE_TLBS && h->model->tlb[i].pages; i++)
		store_clear(&c->tlb[i]);
}

static void run_sibling(struct core *c)
{
	struct hierarchy *h = c->h;
	const size_t lines = h->model->noise.sibling_bytes / METER_LINE;

	for (int i = 0; i < SIBLING_LINES; i++)
		hierarchy_use_foreign(c, sonde_rng_below(&h->rng, lines));
}

static void happen(struct core *c, enum event e)
{
	struct hierarchy *h = c->h;
	const struct machine_noise *n = &h->model->noise;

	switch (e) {
	case EVENT_GAP:
		c->ns += between(h, n->gap_us) * 1e3;
		c->pauses++;
		lose_lines(c, n->gap_lines);
		break;
	case EVENT_SLICE:
		c->ns += between(h, n->slice_ms) * 1e6;
		c->pauses++;
		lose_slice(c);
		break;
	case EVENT_SPIKE:
		c->ns += n->spike_ns;
		break;
	case EVENT_EVICTION:
		lose_lines(c, 1);
		break;
	case EVENT_NEIGHBOUR:
		h->share = n->neighbour * hierarchy_chance(h);
		break;
	case EVENT_SIBLING:
		run_sibling(c);
		break;
	default:
		c->cycle_ns = 1 / (h->model->ghz *
				   (1 + n->drift * (2 * hierarchy_chance(h) - 1)));
	}
}

/* Box and Muller 1958. */
double noise_normal(struct hierarchy *h)
{
	double radius = sqrt(-2 * log(1 - hierarchy_chance(h)));

	return radius * cos(2 * M_PI * hierarchy_chance(h));
}

void noise_start(struct core *c)
{
	if (c->h->share <= 0)
		c->h->share = c->h->model->noise.neighbour * hierarchy_chance(c->h);
	for (unsigned int e = 0; e < EVENTS; e++)
		draw_next(c, e);
	find_next(c);
}

void noise_happen(struct core *c)
{
	if (c->walk)
		walk_settle(c->walk);
	while (c->ns >= c->next_ns) {
		for (unsigned int e = 0; e < EVENTS; e++) {
			if (c->ns < c->event_ns[e])
				continue;
			happen(c, e);
			draw_next(c, e);
		}
		find_next(c);
	}
}
