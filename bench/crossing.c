// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * crossing - how fast memory goes from one processor to another, by what a node offers
 *
 *   crossing BYTES
 *
 * Two threads on two CPUs hand a buffer to and fro, as often as buffers of an exchange
 * change hands, by each way in turn:
 *
 * in, out: memcpy() into a buffer whose lines the other has read last, and out of it:
 *	lines that the other has written last; two buffers by turns, as areas of a segment
 * stream_in, stream_out: the same, but in by stores past the cache (coll/stream.h)
 * fetch_out: out as coll/fetch.h does it, what came in past the cache
 * flush_in, flush_out: as in and out, but who has read throws the lines out of all
 *	caches, so that who writes next need not take them back
 * cma: process_vm_readv(2) straight out of the other's own memory
 * push: process_vm_writev(2) straight into it
 * lend, borrow: vmsplice(2) of the other's own memory into a pipe, read(2) out of it
 * local: memcpy() from and to memory that only one CPU uses
 *
 * What is each CPU's own lies in its pages as malloc() puts it, buffers begin with a page.
 *
 * Inside an interval is one of these, by the monotonic clock, whose own time is
 * subtracted. Each way has buffers of its own: what one leaves in which cache would
 * change what another finds. Prints a JSON object: the medians, in nanoseconds; null for
 * what is not allowed, or for which a pipe has no room.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../coll/fetch.h"
#include "../coll/stream.h"

#define ROUNDS	2001
#define OWN_AT	16	/* of a page: so large memory of malloc() begins */

enum way { COPY, STREAM, FETCH, FLUSH, CMA, PUSH, PIPE, WAYS };

/**
 * struct crossing - what both threads see
 * @buffers: to be handed over, by turns; of CMA and PIPE the writer's own memory, of
 *	PUSH the reader's
 * @pipe: its ends, or -1
 * @turn: even: to be written; odd: to be read
 * @is_missing: cannot be done here
 */
struct crossing {
	size_t bytes;
	char *buffers[WAYS][2];
	int cpus[2], pipe[2];
	_Atomic int is_missing[WAYS];
	_Alignas(128) _Atomic long turn;
	_Alignas(128) double local[ROUNDS], in[WAYS][ROUNDS], out[WAYS][ROUNDS];
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int read_remote(char *to, const char *from, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static int write_remote(char *to, const char *from, size_t bytes)
{
	struct iovec local = { (void *)(uintptr_t)from, bytes }, remote = { to, bytes };

	return process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

static void flush(const char *at, size_t bytes)
{
#if COLL_CAN_STREAM
	for (size_t i = 0; i < bytes; i += 64)
		_mm_clflush(at + i);
	_mm_mfence();
#else
	(void)at;
	(void)bytes;
#endif
}

static int lend(int fd, const char *from, size_t bytes)
{
	struct iovec iov = { (void *)(uintptr_t)from, bytes };

	return vmsplice(fd, &iov, 1, SPLICE_F_NONBLOCK) == (ssize_t)bytes;
}

static int borrow(int fd, char *to, size_t bytes)
{
	ssize_t n = 1;

	for (size_t at = 0; n > 0 && at < bytes; at += (size_t)n)
		n = read(fd, to + at, bytes - at);
	return n > 0;
}

static int put(struct crossing *c, enum way way, char *buffer, const char *mine)
{
	if (way == COPY || way == FLUSH)
		memcpy(buffer, mine, c->bytes);
	else if (way == STREAM || way == FETCH)
		coll_stream(buffer, mine, c->bytes);
	else if (way == PUSH)
		return write_remote(buffer, mine, c->bytes);
	return way == PIPE ? lend(c->pipe[1], buffer, c->bytes) : 1;
}

static int take(struct crossing *c, enum way way, char *mine, const char *buffer)
{
	if (way == CMA)
		return read_remote(mine, buffer, c->bytes);
	if (way == PIPE)
		return borrow(c->pipe[0], mine, c->bytes);
	if (way == PUSH)
		return 1;
	if (way == FETCH)
		coll_fetch(mine, buffer, c->bytes);
	else
		memcpy(mine, buffer, c->bytes);
	if (way == FLUSH)
		flush(buffer, c->bytes);
	return 1;
}

/* Nanoseconds; what fails is not tried again. */
static double time_one(struct crossing *c, enum way way, int is_in, char *buffer, char *mine)
{
	const double begin = now_ns(), middle = now_ns();
	double end;

	if (!(is_in ? put(c, way, buffer, mine) : take(c, way, mine, buffer)))
		c->is_missing[way] = 1;
	/* The copy is made, though nobody reads it. */
	__asm__ volatile("" : : "r"(buffer), "r"(mine) : "memory");
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
	char *memory = get_memory(OWN_AT + c->bytes), *mine = memory + OWN_AT;

	bind_to(c->cpus[1]);
	for (long i = 0; i < ROUNDS * WAYS; i++) {
		const enum way way = (enum way)(i % WAYS);
		const long round = i / WAYS;

		wait_for(c, 2 * i + 1);
		if (!c->is_missing[way])
			c->out[way][round] = time_one(c, way, 0, c->buffers[way][round & 1], mine);
		atomic_store_explicit(&c->turn, 2 * i + 2, memory_order_release);
	}
	free(memory);
	return NULL;
}

static void run_writer(struct crossing *c)
{
	char *memory = get_memory(OWN_AT + c->bytes), *mine = memory + OWN_AT;
	char *second = get_memory(OWN_AT + c->bytes), *other = second + OWN_AT;

	bind_to(c->cpus[0]);
	for (long i = 0; i < ROUNDS * WAYS; i++) {
		const enum way way = (enum way)(i % WAYS);
		const long round = i / WAYS;

		wait_for(c, 2 * i);
		if (way == COPY)
			c->local[round] = time_one(c, way, 1, other, mine);
		if (!c->is_missing[way])
			c->in[way][round] = time_one(c, way, 1, c->buffers[way][round & 1], mine);
		atomic_store_explicit(&c->turn, 2 * i + 1, memory_order_release);
	}
	wait_for(c, 2 * ROUNDS * WAYS);
	free(second);
	free(memory);
}

/* Room for pages of a buffer; a pipe has none for much. */
static void open_pipe(struct crossing *c)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	c->pipe[0] = c->pipe[1] = -1;
	if (c->bytes > (size_t)1 << 30 || pipe2(c->pipe, O_CLOEXEC | O_NONBLOCK) ||
	    fcntl(c->pipe[0], F_SETPIPE_SZ, (int)((c->bytes + page - 1) / page * page)) < 0)
		c->is_missing[PIPE] = 1;
}

static void print_one(const struct crossing *c, const char *name, enum way way, double *values)
{
	if (c->is_missing[way])
		printf(", \"%s_ns\": null", name);
	else
		printf(", \"%s_ns\": %.0f", name, median(values));
}

static void print_all(struct crossing *c)
{
	printf("{\"bytes\": %zu, \"local_ns\": %.0f", c->bytes, median(c->local));
	print_one(c, "in", COPY, c->in[COPY]);
	print_one(c, "out", COPY, c->out[COPY]);
	print_one(c, "stream_in", STREAM, c->in[STREAM]);
	print_one(c, "stream_out", STREAM, c->out[STREAM]);
	print_one(c, "fetch_out", FETCH, c->out[FETCH]);
	print_one(c, "flush_in", FLUSH, c->in[FLUSH]);
	print_one(c, "flush_out", FLUSH, c->out[FLUSH]);
	print_one(c, "cma", CMA, c->out[CMA]);
	print_one(c, "push", PUSH, c->in[PUSH]);
	print_one(c, "lend", PIPE, c->in[PIPE]);
	print_one(c, "borrow", PIPE, c->out[PIPE]);
	puts("}");
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
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < 2; i++)
			c.buffers[way][i] = get_memory(c.bytes);
	c.is_missing[STREAM] = c.is_missing[FETCH] = c.is_missing[FLUSH] = !COLL_CAN_STREAM;
	open_pipe(&c);
	if (pthread_create(&reader, NULL, run_reader, &c)) {
		fputs("crossing: no thread\n", stderr);
		return 1;
	}
	run_writer(&c);
	pthread_join(reader, NULL);
	print_all(&c);
	for (int way = 0; way < WAYS; way++)
		for (int i = 0; i < 2; i++)
			free(c.buffers[way][i]);
	return 0;
}
