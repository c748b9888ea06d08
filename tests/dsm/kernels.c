// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What two programs cost in messages: SOR (red and black in one array of floats, a
 * row a page) and GAUSS (block rows, a word for the pivot), four processes, pages of
 * 8 KiB, homes by turns, no adaptation. In small they are tests: the counts are those
 * of the formulas, the results those of one process.
 *
 * kernels [full]: the sizes of Ng and Wong, table 2
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../dsm/sim/world.h"

#define N	4u
#define UNIT	8192u
#define FLOATS	(UNIT / sizeof(float))

static struct world *w;
static uint64_t barriers;
static int tests, failed;

static void say(bool good, const char *what)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, what);
	failed |= !good;
}

static float *touch(uint32_t p, uint32_t page, bool write)
{
	uint8_t *at;

	while (!(at = world_touch(w, p, 0, page, write))) {
		world_settle(w);
		if (w->why[0]) {
			printf("Bail out! %s\n", w->why);
			exit(1);
		}
	}
	return (float *)(void *)at;
}

static void barrier(void)
{
	for (uint32_t p = 0; p < N; p++)
		world_event(w, p, 0, DSM_EV_BARRIER, 0, 1);
	world_settle(w);
	world_check(w);
	world_check_idle(w);
	barriers++;
}

static uint64_t count(bool bytes, enum dsm_message kind)
{
	uint64_t n = 0;

	for (uint32_t p = 0; p < N; p++) {
		const struct dsm_counters *c = dsm_core_counters(w->processes[p].core);

		for (int k = 1; k < DSM_MESSAGES; k++)
			if (kind == DSM_MESSAGES || (int)kind == k)
				n += bytes ? c->bytes[k] : c->messages[k];
	}
	return n;
}

static void start(uint32_t pages)
{
	barriers = 0;
	w = world_create(&(struct world_config){ .processes = N, .threads = 1, .pages = pages,
						 .unit = UNIT });
}

static void show(const char *name)
{
	uint64_t faults = 0, twins = 0;

	for (uint32_t p = 0; p < N; p++) {
		faults += dsm_core_counters(w->processes[p].core)->write_faults;
		twins += dsm_core_counters(w->processes[p].core)->twins;
	}
	printf("# %s: %" PRIu64 " barriers, %" PRIu64 " messages, %.1f MB, %" PRIu64
	       " page requests, %" PRIu64 " diff messages, %" PRIu64 " write faults, %" PRIu64
	       " twins\n", name, barriers, count(false, DSM_MESSAGES),
	       (double)count(true, DSM_MESSAGES) / 1e6, count(false, DSM_FETCH),
	       count(false, DSM_DIFF), faults, twins);
}

/* ---- SOR ---- */
static float first_value(uint32_t row, uint32_t column)
{
	return (float)((row * 7919u + column * 104729u) % 1009u) / 1009.0f;
}

static void relax(const float *above, float *row, const float *below, uint32_t row_number,
		  uint32_t colour)
{
	for (uint32_t j = 1 + (row_number + colour + 1) % 2; j < FLOATS - 1; j += 2)
		row[j] = 0.25f * (above[j] + below[j] + row[j - 1] + row[j + 1]);
}

static float *sor_alone(uint32_t rows, uint32_t iterations)
{
	float *a = malloc(rows * UNIT);

	if (!a)
		exit(1);
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t j = 0; j < FLOATS; j++)
			a[i * FLOATS + j] = first_value(i, j);
	for (uint32_t k = 0; k < 2 * iterations; k++)
		for (uint32_t i = 1; i < rows - 1; i++)
			relax(a + (i - 1) * FLOATS, a + i * FLOATS, a + (i + 1) * FLOATS, i, k % 2);
	return a;
}

static void sor(uint32_t rows, uint32_t iterations)
{
	uint32_t mine = rows / N;

	start(rows);
	for (uint32_t i = 0; i < rows; i++) {
		float *row = touch(i / mine, i, true);

		for (uint32_t j = 0; j < FLOATS; j++)
			row[j] = first_value(i, j);
	}
	barrier();
	for (uint32_t k = 0; k < 2 * iterations; k++) {
		for (uint32_t i = 1; i < rows - 1; i++) {
			uint32_t p = i / mine;
			const float *above = touch(p, i - 1, false);
			const float *below = touch(p, i + 1, false);

			relax(above, touch(p, i, true), below, i, k % 2);
		}
		barrier();
	}
}

/* Of six rows at the edges of blocks those whose reader is their home cost nothing. */
static uint64_t sor_requests(uint32_t rows)
{
	uint64_t n = 0;

	for (uint32_t edge = rows / N; edge < rows; edge += rows / N) {
		n += edge % N != edge / (rows / N) - 1;
		n += (edge - 1) % N != edge / (rows / N);
	}
	return n;
}

static void test_sor(uint32_t rows, uint32_t iterations)
{
	float *alone = sor_alone(rows, iterations);
	uint64_t steps = 2 * iterations, diffs = N * (N - 1) * (steps + 1);
	bool same = true;

	sor(rows, iterations);
	say(barriers == steps + 1 && count(false, DSM_ARRIVE) == (N - 1) * barriers &&
	    count(false, DSM_DEPART) == (N - 1) * barriers,
	    "SOR: a barrier is an arrival and a departure for all but one");
	say(count(false, DSM_DIFF) == diffs && count(false, DSM_ACK) == diffs,
	    "SOR: a message of diffs from each to each other home after a step");
	say(count(false, DSM_FETCH) == sor_requests(rows) * steps,
	    "SOR: a request for each row at an edge whose reader is not its home");
	say(count(false, DSM_MESSAGES) == 2 * ((N - 1) * barriers + diffs +
					       sor_requests(rows) * steps),
	    "SOR: and no other message");
	show("SOR");
	for (uint32_t i = 0; i < rows; i++)
		same &= !memcmp(touch(0, i, false), alone + i * FLOATS, UNIT);
	say(same, "SOR: the result is that of one process, bit for bit");
	free(alone);
	world_destroy(w);
}

/* ---- GAUSS: two rows of up to 1024 floats a page ---- */
static float gauss_value(uint32_t size, uint32_t i, uint32_t j)
{
	return i == j ? (float)size : first_value(i, j);
}

static void eliminate(const float *pivot, float *row, uint32_t k, uint32_t size)
{
	float factor = row[k] / pivot[k];

	for (uint32_t j = k; j < size; j++)
		row[j] -= factor * pivot[j];
}

static float *gauss_alone(uint32_t size)
{
	float *a = malloc((size_t)size * size * sizeof(*a));

	if (!a)
		exit(1);
	for (uint32_t i = 0; i < size; i++)
		for (uint32_t j = 0; j < size; j++)
			a[i * size + j] = gauss_value(size, i, j);
	for (uint32_t k = 0; k + 1 < size; k++)
		for (uint32_t i = k + 1; i < size; i++)
			eliminate(a + k * size, a + i * size, k, size);
	return a;
}

static float *gauss_row(uint32_t p, uint32_t i, uint32_t size, bool write)
{
	uint32_t each = (uint32_t)FLOATS / size;

	return touch(p, i / each, write) + i % each * size;
}

/* The row's owner names the pivot in a page of its own, all read it and the row. */
static void gauss(uint32_t size)
{
	uint32_t pages = size * size / (uint32_t)FLOATS, mine = size / N;

	start(pages + 1);
	for (uint32_t i = 0; i < size; i++)
		for (uint32_t j = 0; j < size; j++)
			gauss_row(i / mine, i, size, true)[j] = gauss_value(size, i, j);
	barrier();
	for (uint32_t k = 0; k < size; k++) {
		touch(k / mine, pages, true)[0] = (float)(k + 1);
		barrier();
		for (uint32_t p = 0; p < N; p++) {
			uint32_t from = k + 1 > p * mine ? k + 1 : p * mine;

			if (from >= (p + 1) * mine)
				continue;
			if (touch(p, pages, false)[0] != (float)(k + 1))
				world_fail(w, "a stale pivot");
			for (uint32_t i = from; i < (p + 1) * mine; i++) {
				float *row = gauss_row(p, i, size, true);

				eliminate(gauss_row(p, k, size, false), row, k, size);
			}
		}
	}
	barrier();
}

static void test_gauss(uint32_t size)
{
	float *alone = gauss_alone(size);
	bool same = true;

	gauss(size);
	say(!w->why[0] && barriers == size + 2, "GAUSS: a barrier a column");
	say(count(false, DSM_FETCH) == count(false, DSM_PAGE) &&
	    count(false, DSM_DIFF) == count(false, DSM_ACK) &&
	    count(false, DSM_MESSAGES) == 2 * ((N - 1) * barriers + count(false, DSM_DIFF) +
					       count(false, DSM_FETCH)),
	    "GAUSS: barriers, requests and diffs, each with its answer, are all there is");
	show("GAUSS");
	for (uint32_t i = 0; i < size; i++)
		same &= !memcmp(gauss_row(0, i, size, false), alone + i * size,
				size * sizeof(*alone));
	say(same, "GAUSS: the result is that of one process, bit for bit");
	free(alone);
	world_destroy(w);
}

int main(int argc, char **argv)
{
	bool full = argc > 1 && !strcmp(argv[1], "full");

	printf("1..8\n");
	test_sor(full ? 1024 : 32, full ? 100 : 5);
	test_gauss(full ? 1024 : 64);
	return failed;
}
