// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench-measure - the reader of `sonde bench copy`: all methods in turn, by size
 *
 * A sample is the mean of copies that follow each other, so many that it lasts for
 * SAMPLE_NS; inside the interval are the copies and the calls around them, nothing
 * is subtracted. The same memory is copied again and again, so what fits into a
 * cache is in it. Of a size every round takes a sample of each method, so that what
 * happens to the machine meanwhile happens to all of them. BENCH_TWICE is a stream:
 * the owner fills slots while the reader empties others.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sonde/stats.h>
#include "bench.h"
#include "text.h"

#define SAMPLE_NS	50e3
#define MOST_COPIES	100000
#define TRIES		5
/* So many times SAMPLE_NS is no disturbance, and not to be tried again. */
#define ENOUGH		1000
#define MIN_ROUNDS	5
#define MAX_ROUNDS	101
#define WAYS		(SONDE_TRANSFER_SHM + 1)
#define LEVEL		0.95
#define RESAMPLES	200

/**
 * struct series - of one method and size
 * @copies: of a sample; 0: it is not measured
 */
struct series {
	uint64_t copies;
	double ns[MAX_ROUNDS];
	size_t n;
};

struct reader {
	const struct bench_request *request;
	struct bench_result *result;
	struct bench_owner owner;
	struct sonde_transfer *transfers[WAYS];
	struct sonde_region *regions[WAYS];
	void *maps[WAYS];
	unsigned char *local;
	uint64_t emptied, orders;
};

static const enum sonde_transfer_way ways[BENCH_METHODS] = {
	[BENCH_MEMCPY] = SONDE_TRANSFER_SHM,
	[BENCH_SHM] = SONDE_TRANSFER_SHM,
	[BENCH_CMA] = SONDE_TRANSFER_CMA,
	[BENCH_CMA_BATCH] = SONDE_TRANSFER_CMA,
	[BENCH_MODULE] = SONDE_TRANSFER_MODULE,
	[BENCH_MODULE_BATCH] = SONDE_TRANSFER_MODULE,
	[BENCH_MAP] = SONDE_TRANSFER_MODULE,
};

const char *bench_method_name(enum bench_method method)
{
	static const char *const names[BENCH_METHODS] = {
		[BENCH_MEMCPY] = "memcpy", [BENCH_SHM] = "shm", [BENCH_CMA] = "cma",
		[BENCH_CMA_BATCH] = "cma-batch", [BENCH_MODULE] = "module",
		[BENCH_MODULE_BATCH] = "module-batch", [BENCH_MAP] = "map",
		[BENCH_TWICE] = "twice",
	};

	return names[method];
}

static int is_batch(enum bench_method method)
{
	return method == BENCH_CMA_BATCH || method == BENCH_MODULE_BATCH;
}

static int can_measure(const struct reader *r, enum bench_method method, size_t bytes)
{
	if (method == BENCH_TWICE)
		return r->request->cpus[0] != r->request->cpus[1];
	if (is_batch(method) && (bytes > BENCH_BATCH_BYTES ||
				 bytes * BENCH_BATCH > r->request->max_bytes))
		return 0;
	if (method == BENCH_MEMCPY || method == BENCH_MAP)
		return r->maps[ways[method]] != NULL;
	return r->regions[ways[method]] != NULL;
}

/* ---- copies ------------------------------------------------------------- */

static int copy_mapped(struct reader *r, const void *from, size_t bytes, uint64_t copies)
{
	for (uint64_t i = 0; i < copies; i++) {
		memcpy(r->local, from, bytes);
		/* Nobody reads it: the compiler is not to know. */
		__asm__ volatile("" : : "r"(r->local) : "memory");
	}
	return 0;
}

static int copy_region(struct reader *r, struct sonde_region *region, size_t bytes,
		       uint64_t copies)
{
	for (uint64_t i = 0; i < copies; i++) {
		ssize_t got = sonde_region_read(region, 0, r->local, bytes);

		if (got != (ssize_t)bytes)
			return got < 0 ? (int)got : -EIO;
	}
	return 0;
}

static int copy_batch(struct reader *r, struct sonde_region *region, size_t bytes,
		      uint64_t copies)
{
	struct sonde_region_copy batch[BENCH_BATCH] = { { .len = 0 } };

	for (size_t i = 0; i < BENCH_BATCH; i++)
		batch[i] = (struct sonde_region_copy){
			.region = region, .offset = i * bytes, .addr = r->local + i * bytes,
			.len = bytes,
		};
	for (uint64_t i = 0; i < copies; i += BENCH_BATCH)
		if (sonde_copyv(r->transfers[sonde_region_way(region)], batch, BENCH_BATCH) !=
		    BENCH_BATCH)
			return batch[0].result < 0 ? (int)batch[0].result : -EIO;
	return 0;
}

/* Nothing of it is timed: the owner sleeps until it has the order. */
static int order_twice(struct reader *r, size_t bytes, uint64_t copies)
{
	int err = bench_owner_order(&r->owner, bytes, copies);

	if (!err)
		bench_wait(&r->owner.stage->ready, ++r->orders);
	return err;
}

static int copy_twice(struct reader *r, size_t bytes, uint64_t copies)
{
	struct bench_stage *stage = r->owner.stage;
	int err = 0;

	atomic_store_explicit(&stage->go, r->orders, memory_order_release);
	for (uint64_t i = 0; i < copies && !err; i++) {
		for (size_t done = 0, len; done < bytes; done += len) {
			len = bytes - done < BENCH_SLOT_BYTES ? bytes - done : BENCH_SLOT_BYTES;
			bench_wait(&stage->filled, r->emptied + 1);
			memcpy(r->local + done,
			       &stage->slots[r->emptied % BENCH_SLOTS * BENCH_SLOT_BYTES], len);
			/* Release: what was in the slot has been read. */
			atomic_store_explicit(&stage->emptied, ++r->emptied,
					      memory_order_release);
		}
		if (cli_stop_requested())
			err = -EINTR;
	}
	return err;
}

static int copy(struct reader *r, enum bench_method method, size_t bytes, uint64_t copies)
{
	if (method == BENCH_TWICE)
		return copy_twice(r, bytes, copies);
	if (method == BENCH_MEMCPY || method == BENCH_MAP)
		return copy_mapped(r, r->maps[ways[method]], bytes, copies);
	if (is_batch(method))
		return copy_batch(r, r->regions[ways[method]], bytes, copies);
	return copy_region(r, r->regions[ways[method]], bytes, copies);
}

/* ---- samples ------------------------------------------------------------ */

static int refuse(enum bench_method method, size_t bytes, int err)
{
	char size[TEXT_LEN], why[512];

	if (err == -EINTR && cli_stop_requested())
		return CLI_FAILED;
	cli_error("%s, %s: %s", bench_method_name(method), text_size(size, bytes),
		  err == -EBADMSG ? "copied other bytes than there are; please report this" :
		  sonde_region_explain(err, why, sizeof(why)));
	return CLI_FAILED;
}

/* Nanoseconds of a copy, or a negative error. */
static double time_copies(struct reader *r, enum bench_method method, size_t bytes,
			  uint64_t copies)
{
	const struct sonde_clock *clk = r->request->clk;
	int err = method == BENCH_TWICE ? order_twice(r, bytes, copies) : 0;
	uint64_t begin = sonde_clock_now(clk);

	if (!err)
		err = copy(r, method, bytes, copies);
	if (err)
		return err;
	return sonde_clock_ns(clk, (double)(sonde_clock_now(clk) - begin)) / (double)copies;
}

/* Before anything is timed: are they the right bytes? It warms up as well. */
static int check(struct reader *r, enum bench_method method, size_t bytes)
{
	const uint64_t copies = is_batch(method) ? BENCH_BATCH : 1;
	const size_t all = bytes * copies;
	int err;

	memset(r->local, 0, all);
	err = method == BENCH_TWICE ? order_twice(r, bytes, copies) : 0;
	if (!err)
		err = copy(r, method, bytes, copies);
	for (size_t i = 0; i < all && !err; i++)
		if (r->local[i] != bench_pattern(i))
			err = -EBADMSG;
	return err;
}

/* The least of some: what disturbs one of them must not make samples small. */
static double time_undisturbed(struct reader *r, enum bench_method method, size_t bytes,
			       uint64_t copies)
{
	double best = time_copies(r, method, bytes, copies);

	for (int i = 1; i < TRIES && best >= 0; i++) {
		double ns = time_copies(r, method, bytes, copies);

		if (ns < best)
			best = ns;
		if (best * (double)copies > SAMPLE_NS * ENOUGH)
			break;
	}
	return best;
}

/* As many copies as take SAMPLE_NS. */
static int choose_copies(struct reader *r, enum bench_method method, size_t bytes,
			 struct series *s)
{
	const uint64_t least = is_batch(method) ? BENCH_BATCH : 1;
	double ns = 0;

	for (s->copies = least; s->copies < MOST_COPIES; s->copies *= 4) {
		ns = time_undisturbed(r, method, bytes, s->copies);
		if (ns < 0 || ns * (double)s->copies > SAMPLE_NS / 4)
			break;
	}
	if (ns < 0)
		return (int)ns;
	s->copies = ns > 0 ? (uint64_t)(SAMPLE_NS / ns) : MOST_COPIES;
	if (s->copies > MOST_COPIES)
		s->copies = MOST_COPIES;
	s->copies = s->copies / least * least;
	if (s->copies < least)
		s->copies = least;
	return 0;
}

static int prepare(struct reader *r, size_t bytes, struct series series[BENCH_METHODS])
{
	int err = 0;

	for (int m = 0; m < BENCH_METHODS; m++) {
		const enum bench_method method = (enum bench_method)m;

		series[m].n = 0;
		series[m].copies = 0;
		if (!can_measure(r, method, bytes))
			continue;
		err = check(r, method, bytes);
		if (!err)
			err = choose_copies(r, method, bytes, &series[m]);
		if (err)
			return refuse(method, bytes, err);
	}
	return CLI_DONE;
}

static int take_round(struct reader *r, size_t bytes, struct series series[BENCH_METHODS])
{
	for (int m = 0; m < BENCH_METHODS; m++) {
		struct series *s = &series[m];
		double ns;

		if (!s->copies)
			continue;
		ns = time_copies(r, (enum bench_method)m, bytes, s->copies);
		if (ns < 0)
			return refuse((enum bench_method)m, bytes, (int)ns);
		s->ns[s->n++] = ns;
	}
	return CLI_DONE;
}

static int keep(struct bench_result *result, enum bench_method method, size_t bytes,
		struct series *s)
{
	struct sonde_transfer_point *p = &result->points[result->npoints];
	struct sonde_interval ci;
	double half;

	sonde_stats_sort(s->ns, s->n);
	if (sonde_stats_quantile_ci(s->ns, s->n, 0.5, LEVEL, RESAMPLES, 1, &ci)) {
		cli_error("not enough memory for the statistics");
		return CLI_FAILED;
	}
	*p = (struct sonde_transfer_point){
		.way = bench_method_name(method), .bytes = bytes,
		.ns = sonde_stats_median(s->ns, s->n), .ns_low = ci.low, .ns_high = ci.high,
		.samples = s->n,
	};
	half = (p->ns_high - p->ns_low) / 2 / p->ns;
	if (half > result->worst)
		result->worst = half;
	result->npoints++;
	return CLI_DONE;
}

static double now_s(const struct reader *r)
{
	return 1e-9 * sonde_clock_ns(r->request->clk, (double)sonde_clock_now(r->request->clk));
}

/* Until @end, but not fewer rounds than a median needs. */
static int measure_size(struct reader *r, size_t bytes, double end, struct series *series)
{
	int status = prepare(r, bytes, series);

	for (int round = 0; round < MAX_ROUNDS && status == CLI_DONE; round++) {
		if (cli_stop_requested() || (round >= MIN_ROUNDS && now_s(r) > end))
			break;
		status = take_round(r, bytes, series);
	}
	for (int m = 0; m < BENCH_METHODS && status == CLI_DONE; m++)
		if (series[m].n)
			status = keep(r->result, (enum bench_method)m, bytes, &series[m]);
	return status;
}

static void show_progress(const struct reader *r, size_t done)
{
	char what[TEXT_LEN + 16], size[TEXT_LEN];

	snprintf(what, sizeof(what), "copies of %s", text_size(size, r->result->sizes[done]));
	cli_progress((double)done / (double)r->result->nsizes, what);
}

static int measure_sizes(struct reader *r)
{
	struct bench_result *result = r->result;
	struct series *series = calloc(BENCH_METHODS, sizeof(*series));
	const double begin = now_s(r);
	int status = CLI_DONE;

	if (!series) {
		cli_error("not enough memory for the samples");
		return CLI_FAILED;
	}
	for (size_t i = 0; i < result->nsizes && status == CLI_DONE; i++) {
		const double share = (double)(i + 1) / (double)result->nsizes;

		if (cli_stop_requested())
			break;
		show_progress(r, i);
		status = measure_size(r, result->sizes[i],
				      begin + share * r->request->budget_s, series);
	}
	cli_progress_end();
	free(series);
	return status;
}

/* ---- what there is ------------------------------------------------------ */

static void choose_sizes(struct bench_result *result, size_t most)
{
	size_t bytes;

	for (bytes = 1; bytes < most && result->nsizes < BENCH_SIZES - 1; bytes *= 4)
		result->sizes[result->nsizes++] = bytes;
	result->sizes[result->nsizes++] = most;
}

static void say_why(struct reader *r, enum sonde_transfer_way way, int err)
{
	sonde_region_explain(err, r->result->whys[way], sizeof(r->result->whys[way]));
}

static unsigned int open_ways(struct reader *r)
{
	unsigned int there = 0;

	for (int way = SONDE_TRANSFER_MODULE; way < WAYS; way++) {
		int err = sonde_transfer_open(&r->transfers[way], (enum sonde_transfer_way)way);

		if (err)
			say_why(r, (enum sonde_transfer_way)way, err);
		else
			there |= 1u << way;
	}
	return there;
}

static int receive(struct reader *r, enum sonde_transfer_way way)
{
	int err;

	if (recv(r->owner.sock, &err, sizeof(err), 0) != (ssize_t)sizeof(err))
		return -ECONNRESET;
	if (!err)
		err = sonde_region_receive(r->transfers[way], r->owner.sock, &r->regions[way]);
	if (err)
		say_why(r, way, err);
	else
		/* Where it cannot be mapped it is not measured mapped. */
		sonde_region_map(r->regions[way], 0, r->request->max_bytes, &r->maps[way]);
	return 0;
}

static int open_reader(struct reader *r)
{
	const struct bench_request *request = r->request;
	const unsigned int there = open_ways(r);
	int err;

	r->local = mmap(NULL, request->max_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->local == MAP_FAILED) {
		r->local = NULL;
		return -ENOMEM;
	}
	memset(r->local, 0, request->max_bytes);
	err = bench_owner_start(&r->owner, request->max_bytes, request->cpus[1], there,
				request->pages);
	for (int way = SONDE_TRANSFER_MODULE; way < WAYS && !err; way++)
		if (there >> way & 1)
			err = receive(r, (enum sonde_transfer_way)way);
	return err;
}

static void close_reader(struct reader *r)
{
	for (int way = 0; way < WAYS; way++) {
		sonde_region_unmap(r->maps[way], r->request->max_bytes);
		sonde_region_close(r->regions[way]);
		sonde_transfer_close(r->transfers[way]);
	}
	bench_owner_stop(&r->owner);
	if (r->local)
		munmap(r->local, r->request->max_bytes);
}

static int bind_reader(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (!sched_setaffinity(0, sizeof(set), &set))
		return CLI_DONE;
	cli_error("may not run on CPU %u: %s", cpu, strerror(errno));
	return CLI_FAILED;
}

int bench_measure(const struct bench_request *request, struct bench_result *result)
{
	struct reader r = { .request = request, .result = result };
	cpu_set_t before;
	int err, status, is_known = !sched_getaffinity(0, sizeof(before), &before);

	status = bind_reader(request->cpus[0]);
	if (status != CLI_DONE)
		return status;
	choose_sizes(result, request->max_bytes);
	err = open_reader(&r);
	if (!err) {
		status = measure_sizes(&r);
	} else if (!cli_stop_requested()) {
		cli_error("cannot start the process that is copied from: %s; give a smaller "
			  "--max-size", strerror(-err));
		status = CLI_FAILED;
	}
	close_reader(&r);
	if (is_known)
		sched_setaffinity(0, sizeof(before), &before);
	return status;
}
