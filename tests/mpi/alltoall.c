// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * alltoall - every composition against what MPI itself gives
 *
 *   alltoall [--quick | --share N] [--names NAME,NAME...]
 *            [--random SECONDS [--seed N]]
 *
 * Run by mpiexec with libsonde-coll linked. Each composition is forced by the info
 * of a communicator of its own; where it cannot be done there MPI must have done
 * it, elsewhere the composition itself: sonde_coll_last() tells; what has gaps or is
 * small may have gone through the segment instead, and so the calls after it:
 * tests/mpi/went.c. Whole buffers are compared, with what is around and between
 * blocks. --share: every N-th of all cases, others for other numbers of ranks and
 * nodes.
 *
 * Prints TAP on rank 0: a test for each composition.
 */
#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <mpi.h>
#include <sonde/coll.h>

#include "types.h"

static const char *const all_names[] = {
	"mpi", "flat/window:32", "flat/window:2", "flat/pairwise", "flat/bruck:2", "flat/bruck:3",
	"local/shm", "local/stream", "local/cma", "local/region",
	"sa/window:32/shm", "sa/pairwise/shm", "sa/bruck:2/shm", "sa/window:32/cma",
	"sa/window:32/region",
	"rd/window:32/shm", "rd/pairwise/shm", "rd/bruck:2/shm", "rd/window:32/cma",
	"rd/window:32/region",
	"leader:1/window:32/shm", "leader:2/window:32/shm", "leader:1/bruck:2/shm",
	"leader:2/pairwise/shm", "leader:1/window:32/cma", "leader:2/window:32/region",
};

#define NNAMES (sizeof(all_names) / sizeof(all_names[0]))
#define SLACK 64

static int rank, size, nnodes, least, most;

/* ---- random numbers, the same on all ranks if the seed is ---------------- */

static uint64_t next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static int below(uint64_t *state, int n)
{
	return (int)(next(state) % (uint64_t)n);
}

/* ---- one side of a call -------------------------------------------------- */

/**
 * struct side - a buffer with room for elements anywhere from -SLACK on
 * @at: what MPI is given
 */
struct side {
	MPI_Datatype type;
	int *counts, *displs;
	char *memory, *at;
	size_t bytes;
};

static void side_open(struct side *side, MPI_Datatype type)
{
	MPI_Aint lb, extent, true_lb, true_extent;
	size_t elements = 0;

	MPI_Type_get_extent(type, &lb, &extent);
	MPI_Type_get_true_extent(type, &true_lb, &true_extent);
	for (int r = 0; r < size; r++)
		if ((size_t)(side->displs[r] + side->counts[r]) > elements)
			elements = (size_t)(side->displs[r] + side->counts[r]);
	side->type = type;
	side->bytes = 2 * SLACK + elements * (size_t)extent + (size_t)true_extent;
	side->memory = malloc(side->bytes);
	side->at = side->memory + SLACK;
}

static void side_fill(struct side *side, uint64_t seed)
{
	for (size_t i = 0; i < side->bytes; i++) {
		if (!(i % 8))
			seed = next(&seed);
		side->memory[i] = (char)(seed >> i % 8 * 8);
	}
}

static void side_close(struct side *side)
{
	free(side->memory);
	free(side->counts);
	free(side->displs);
}

static int *new_ints(void)
{
	return calloc((size_t)size, sizeof(int));
}

/* ---- a case -------------------------------------------------------------- */

/**
 * struct test - what is called
 * @count: elements of each block, or of the largest
 * @is_v: MPI_Alltoallv, with blocks of up to @count and gaps between
 */
struct test {
	int type, count, is_in_place, is_v;
	uint64_t seed;
};

/* Both ends of a pair must think the same of it; in place also both directions. */
static int get_count(const struct test *test, int from, int to)
{
	uint64_t state;

	if (!test->is_v)
		return test->count;
	if (test->is_in_place && from > to)
		return get_count(test, to, from);
	state = test->seed + (uint64_t)from * 1000 + (uint64_t)to;
	/* Many are empty, as in programs. */
	return below(&state, 3) ? below(&state, test->count + 1) : 0;
}

static void fill_counts(const struct test *test, struct side *side, int is_send)
{
	int at = 0;

	side->counts = new_ints();
	side->displs = new_ints();
	for (int r = 0; r < size; r++) {
		side->counts[r] = is_send ? get_count(test, rank, r) : get_count(test, r, rank);
		side->displs[r] = at;
		at += side->counts[r] + (test->is_v ? r % 3 : 0);
	}
}

static void call_ours(const struct test *test, const struct side *send, struct side *recv,
		      MPI_Comm comm)
{
	const void *from = test->is_in_place ? MPI_IN_PLACE : send->at;

	if (test->is_v)
		MPI_Alltoallv(from, send->counts, send->displs, send->type, recv->at, recv->counts,
			      recv->displs, recv->type, comm);
	else
		MPI_Alltoall(from, send->counts[0], send->type, recv->at, recv->counts[0],
			     recv->type, comm);
}

/*
 * In place is from a copy here: MPICH 4.0.2 itself fails ("message truncated") in
 * place with structures of some 32 KiB.
 */
static void call_theirs(const struct test *test, const struct side *send, struct side *recv,
			MPI_Comm comm)
{
	const struct side *from = test->is_in_place ? recv : send;
	char *copy = malloc(from->bytes);

	memcpy(copy, from->memory, from->bytes);
	if (test->is_v)
		PMPI_Alltoallv(copy + SLACK, from->counts, from->displs, from->type, recv->at,
			       recv->counts, recv->displs, recv->type, comm);
	else
		PMPI_Alltoall(copy + SLACK, from->counts[0], from->type, recv->at,
			      recv->counts[0], recv->type, comm);
	free(copy);
}

static int compare(const struct test *test, const struct type_pair *pair, const struct side *ours,
		   const struct side *theirs)
{
	size_t at = 0;

	if (!memcmp(ours->memory, theirs->memory, ours->bytes))
		return 1;
	while (ours->memory[at] == theirs->memory[at])
		at++;
	printf("# rank %d of %d: wrong at byte %zu: %s, %s, count %d%s%s, seed %llu\n", rank, size,
	       at - SLACK, sonde_coll_last(), pair->name, test->count,
	       test->is_in_place ? ", in place" : "", test->is_v ? ", v" : "",
	       (unsigned long long)test->seed);
	return 0;
}

static int went_instead(const char *expected)
{
	return (!strcmp(expected, "local/cma") || !strcmp(expected, "local/region")) &&
	       !strcmp(sonde_coll_last(), "local/shm");
}

/* Two calls: segments are used by turns. Return: 1 if it is right here. */
static int is_right(const struct test *test, MPI_Comm comm, const char *expected)
{
	struct type_pair pair = type_pair_get(test->type);
	struct side send, ours, theirs;
	int right = 1;

	fill_counts(test, &send, 1);
	fill_counts(test, &ours, 0);
	fill_counts(test, &theirs, 0);
	side_open(&send, pair.send);
	side_open(&ours, pair.recv);
	side_open(&theirs, pair.recv);
	for (unsigned int turn = 0; turn < 2; turn++) {
		side_fill(&send, test->seed + (uint64_t)rank * 17 + turn);
		side_fill(&ours, test->seed + (uint64_t)rank * 19 + turn);
		memcpy(theirs.memory, ours.memory, ours.bytes);
		call_ours(test, &send, &ours, comm);
		if (expected && strcmp(sonde_coll_last(), expected) &&
		    !went_instead(expected)) {
			printf("# rank %d: %s was done, not %s\n", rank, sonde_coll_last(),
			       expected);
			right = 0;
		}
		call_theirs(test, &send, &theirs, comm);
		right &= compare(test, &pair, &ours, &theirs);
	}
	side_close(&send);
	side_close(&ours);
	side_close(&theirs);
	type_pair_free(&pair);
	return right;
}

/* ---- compositions -------------------------------------------------------- */

static int has(const char *name, const char *part)
{
	return strstr(name, part) != NULL;
}

/* Whether it can be done for this job, as sonde-coll(7) says. */
static int can(const char *name, int is_v)
{
	const int is_flat = !strncmp(name, "flat", 4), is_local = !strncmp(name, "local", 5);

	if (!strcmp(name, "mpi") || size == 1)
		return 0;
	if (has(name, "bruck") && is_v)
		return 0;
	if (is_flat)
		return 1;
	if (is_local)
		return nnodes == 1;
	if (nnodes == 1 || most == 1 || (is_v && (!has(name, "window") || !has(name, "shm"))))
		return 0;
	if (has(name, "leader:2") && least < 2)
		return 0;
	return least == most || (!has(name, "bruck") && !has(name, "pairwise"));
}

static MPI_Comm get_comm(const char *name)
{
	MPI_Info info;
	MPI_Comm comm;

	MPI_Info_create(&info);
	MPI_Info_set(info, "sonde_coll_alltoall", name);
	MPI_Info_set(info, "sonde_coll_alltoallv", name);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	return comm;
}

static int agree(int right)
{
	int all;

	PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	return all;
}

/* Nothing of a zero count is ever ours. */
static const char *get_expected(const char *name, const struct test *test)
{
	if (!can(name, test->is_v) || (!test->count && !test->is_v))
		return "mpi";
	return name;
}

static int try(const char *name, MPI_Comm comm, const struct test *test)
{
	return agree(is_right(test, comm, get_expected(name, test)));
}

/* ---- what is tried ------------------------------------------------------- */

/* Whether it is the turn of the next case, of those that are shared among jobs. */
static int is_drawn(int share)
{
	static int cases;

	return !share || (cases++ + size + 5 * nnodes) % share == 0;
}

static int try_all(const char *name, int is_quick, int share)
{
	static const int many[] = { 0, 1, 3, 7, 8, 64, 509, 4096, 20000 };
	static const int few[] = { 1, 9, 300 };
	const int *counts = is_quick ? few : many;
	const int n = is_quick ? 3 : 9;
	MPI_Comm comm = get_comm(name);
	struct test test;
	int right = 1;

	for (int i = 0; i < n && right; i++)
		for (int type = 0; type < NTYPES && right; type++)
			for (int way = 0; way < 4 && right; way++) {
				test = (struct test){ type, counts[i], way & 1, way >> 1, 0 };
				test.seed = (uint64_t)(i * 100 + type * 10 + way);
				/* Quick: each type with one size, each way with two types. */
				if (is_quick && (type + i) % 3 && (type + way) % 4)
					continue;
				/* What call_theirs() says of MPICH. */
				if (test.is_in_place && type == NTYPES - 1 && !can(name, test.is_v))
					continue;
				if (!is_drawn(share))
					continue;
				right = try(name, comm, &test);
			}
	/* Larger than an area: several rounds, dense and not. */
	for (int type = 0; type < 3 && right; type += 2) {
		test = (struct test){ type, is_quick ? 150000 / size : 400000, 0, 0, 5 };
		if (!is_drawn(share))
			continue;
		right = try(name, comm, &test);
		test.is_in_place = test.is_v = 1;
		right = right && try(name, comm, &test);
	}
	MPI_Comm_free(&comm);
	return right;
}

static int run_names(const char *names, int is_quick, int share)
{
	char *list = strdup(names), *rest = list;
	int failed = 0, n = 0;

	for (char *name; (name = strsep(&rest, ","));) {
		int right;

		/* Few ranks have shown that MPI does it. */
		if (size > 5 && !can(name, 0))
			continue;
		right = try_all(name, is_quick, share);
		failed |= !right;
		n++;
		if (!rank)
			printf("%s %d - %s gives what MPI gives, %s: %d ranks on %d node%s\n",
			       right ? "ok" : "not ok", n, name,
			       can(name, 0) ? "by itself" : "by MPI", size, nnodes,
			       nnodes > 1 ? "s" : "");
		fflush(stdout);
	}
	if (!rank)
		printf("1..%d\n", n);
	free(list);
	return failed;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Anything, for some time; what fails is said with its seed. */
static int run_random(double seconds, uint64_t seed)
{
	const double begin = now();
	MPI_Comm comms[NNAMES];
	uint64_t state = seed;
	long tried = 0;
	int right = 1, goes_on = 1;

	for (size_t i = 0; i < NNAMES; i++)
		comms[i] = get_comm(all_names[i]);
	while (right && goes_on) {
		const size_t which = (size_t)below(&state, NNAMES);
		struct test test = { .type = below(&state, NTYPES), .seed = next(&state) };

		test.count = below(&state, 1 << below(&state, 16));
		test.is_in_place = below(&state, 2);
		test.is_v = below(&state, 2);
		/* What call_theirs() says of MPICH. */
		if (!can(all_names[which], test.is_v) && test.type == NTYPES - 1)
			test.is_in_place = 0;
		right = try(all_names[which], comms[which], &test);
		tried++;
		goes_on = now() - begin < seconds;
		PMPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	for (size_t i = 0; i < NNAMES; i++)
		MPI_Comm_free(&comms[i]);
	if (!rank)
		printf("%s 1 - %ld random exchanges of %d ranks on %d nodes are right, seed %llu\n"
		       "1..1\n", right ? "ok" : "not ok", tried, size, nnodes,
		       (unsigned long long)seed);
	return !right;
}

static void look_around(void)
{
	int local, first, n;
	MPI_Comm node;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, &n);
	MPI_Comm_rank(node, &local);
	MPI_Comm_free(&node);
	first = !local;
	MPI_Allreduce(&first, &nnodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&n, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(&n, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static char *join_names(void)
{
	char *all = calloc(NNAMES, 64);

	for (size_t i = 0; i < NNAMES; i++) {
		if (i)
			strcat(all, ",");
		strcat(all, all_names[i]);
	}
	return all;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, NULL, 'q' },
		{ "share", required_argument, NULL, 'S' },
		{ "names", required_argument, NULL, 'n' },
		{ "random", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	char *all = join_names();
	const char *names = all;
	uint64_t seed = (uint64_t)time(NULL);
	double seconds = 0;
	int c, is_quick = 0, share = 0, failed;

	MPI_Init(&argc, &argv);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'q')
			is_quick = 1;
		else if (c == 'S')
			share = atoi(optarg);
		else if (c == 'n')
			names = optarg;
		else if (c == 'r')
			seconds = atof(optarg);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else
			MPI_Abort(MPI_COMM_WORLD, 2);
	}
	look_around();
	MPI_Bcast(&seed, sizeof(seed), MPI_BYTE, 0, MPI_COMM_WORLD);
	failed = seconds > 0 ? run_random(seconds, seed) : run_names(names, is_quick, share);
	MPI_Finalize();
	free(all);
	return failed;
}
