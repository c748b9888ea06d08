// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crossing - how fast memcpy() is in a processor's own cache, and across to another's
 *
 *   crossing BYTES
 *
 * Two threads on two CPUs hand a buffer to and fro: one copies into it what it has,
 * the other out of it, as often as buffers of an exchange change hands. Timed apart:
 * the copy in (lines that the other has read last), the copy out (lines that the
 * other has written last), and the same bytes from and to memory that only one CPU
 * uses. Inside an interval is one memcpy(), by the monotonic clock, whose own time
 * is subtracted. Two buffers take turns, as areas of a segment do. Prints a JSON
 * object: the medians, in nanoseconds.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	4001

/**
 * struct crossing - what both threads see
 * @turn: even: to be written; odd: to be read
 */
struct crossing {
	size_t bytes;
	char *buffers[2];
	int cpus[2];
	_Alignas(128) _Atomic long turn;
	_Alignas(128) double local[ROUNDS], in[ROUNDS], out[ROUNDS];
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_copy(char *to, const char *from, size_t bytes)
{
	const double begin = now_ns(), middle = now_ns();
	double end;

	memcpy(to, from, bytes);
	atomic_signal_fence(memory_order_seq_cst);
	end = now_ns();
	return end - middle - (middle - begin);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
	return values[ROUNDS / 2];
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static char *get_memory(size_t bytes)
{
	char *at = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

	if (!at) {
		fputs("crossing: no memory\n", stderr);
		exit(1);
	}
	memset(at, 1, bytes);
	return at;
}

static void wait_for(struct crossing *c, long turn)
{
	while (atomic_load_explicit(&c->turn, memory_order_acquire) != turn)
		;
}

static void *run_reader(void *of)
{
	struct crossing *c = of;
	char *mine = get_memory(c->bytes);

	bind_to(c->cpus[1]);
	for (long i = 0; i < ROUNDS; i++) {
		wait_for(c, 2 * i + 1);
		c->out[i] = time_copy(mine, c->buffers[i & 1], c->bytes);
		atomic_store_explicit(&c->turn, 2 * i + 2, memory_order_release);
	}
	free(mine);
	return NULL;
}

static void run_writer(struct crossing *c)
{
	char *mine = get_memory(c->bytes), *other = get_memory(c->bytes);

	bind_to(c->cpus[0]);
	for (long i = 0; i < ROUNDS; i++) {
		wait_for(c, 2 * i);
		c->local[i] = time_copy(other, mine, c->bytes);
		c->in[i] = time_copy(c->buffers[i & 1], mine, c->bytes);
		atomic_store_explicit(&c->turn, 2 * i + 1, memory_order_release);
	}
	wait_for(c, 2 * ROUNDS);
	free(other);
	free(mine);
}

static int find_cpus(int cpus[2])
{
	cpu_set_t set;
	int n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -errno;
	for (int cpu = 0; cpu < CPU_SETSIZE && n < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	return n == 2 ? 0 : -ENODEV;
}

int main(int argc, char **argv)
{
	static struct crossing c;
	pthread_t reader;

	c.bytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	if (!c.bytes || c.bytes > (size_t)1 << 30) {
		fputs("crossing: give the bytes of a copy, up to 2^30\n", stderr);
		return 2;
	}
	if (find_cpus(c.cpus)) {
		fputs("crossing: needs two CPUs\n", stderr);
		return 77;
	}
	c.buffers[0] = get_memory(c.bytes);
	c.buffers[1] = get_memory(c.bytes);
	if (pthread_create(&reader, NULL, run_reader, &c)) {
		fputs("crossing: no thread\n", stderr);
		return 1;
	}
	run_writer(&c);
	pthread_join(reader, NULL);
	printf("{\"bytes\": %zu, \"local_ns\": %.0f, \"in_ns\": %.0f, \"out_ns\": %.0f}\n", c.bytes,
	       median(c.local), median(c.in), median(c.out));
	free(c.buffers[0]);
	free(c.buffers[1]);
	return 0;
}
