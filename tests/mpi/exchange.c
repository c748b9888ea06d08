// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exchange - what MPI_Alltoall() inside a node costs a rank beside the copies
 *
 *   exchange          its system calls, where sonde is loaded: TAP
 *   exchange --rows   its instructions, for tests/guest/check-budget
 *
 * System calls are counted by the kernel, for this thread alone: perf events on
 * the tracepoints of system calls and of SONDE_IOC_COPYV. Those of waiting are told
 * apart by their number: how many there are is up to the scheduler.
 *
 * Instructions are time in a guest with one processor whose clock counts them: all
 * that runs meanwhile is the ranks, so what a batch of calls took, over ranks and
 * calls, is what a call costs a rank, with its waiting and the switches from rank
 * to rank. Subtracted is the same batch of copies within each rank (rep movsb, as
 * the kernel's are on this processor). The least of the batches is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <mpi.h>
#include <sonde/coll.h>

#define LEAST		((size_t)4 << 10)
#define MOST		((size_t)256 << 10)
#define PAIRS		3	/* of buffers that are used by turns */
#define EXCHANGES	50
#define BATCH		8
#define BATCHES		25

static int rank, size;
static char *sends[PAIRS], *recvs[PAIRS];

static MPI_Comm get_comm(const char *name)
{
	MPI_Info info;
	MPI_Comm comm;

	MPI_Info_create(&info);
	MPI_Info_set(info, "sonde_coll_alltoall", name);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	return comm;
}

static void exchange(MPI_Comm comm, size_t block, int n)
{
	for (int i = 0; i < n; i++)
		MPI_Alltoall(sends[i % PAIRS], (int)block, MPI_BYTE, recvs[i % PAIRS],
			     (int)block, MPI_BYTE, comm);
}

/* Plans are made, regions known to all. Return: whether it is done as it is named. */
static int warm_up(MPI_Comm comm, const char *name, size_t block)
{
	int right, all;

	exchange(comm, block, 2 * PAIRS);
	right = !strcmp(sonde_coll_last(), name);
	PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	return all;
}

/* ---- system calls -------------------------------------------------------- */

enum { COPYV, IOCTL, READV, WAITING, OTHER, COUNTERS };

#define STR_(x)	#x
#define STR(x)	STR_(x)
#define IS(x)	"id == " STR(x)
#define OR(x)	" || id == " STR(x)
#define NOT(x)	"id != " STR(x)
#define AND_NOT(x)	" && id != " STR(x)

/*
 * Waiting yields, sleeps, asks for the time, looks after MPI and a socket, and
 * whether who is waited for still lives.
 */
static const char *const filters[COUNTERS] = {
	[IOCTL] = IS(__NR_ioctl),
	[READV] = IS(__NR_process_vm_readv),
	[WAITING] = IS(__NR_sched_yield) OR(__NR_futex) OR(__NR_clock_gettime)
		    OR(__NR_recvmsg) OR(__NR_epoll_wait) OR(__NR_pidfd_open) OR(__NR_poll)
		    OR(__NR_close),
	[OTHER] = NOT(__NR_ioctl) AND_NOT(__NR_process_vm_readv) AND_NOT(__NR_sched_yield)
		  AND_NOT(__NR_futex) AND_NOT(__NR_clock_gettime) AND_NOT(__NR_recvmsg)
		  AND_NOT(__NR_epoll_wait) AND_NOT(__NR_pidfd_open) AND_NOT(__NR_poll)
		  AND_NOT(__NR_close) AND_NOT(__NR_prctl),	/* it ends the counting */
};

static int counters[COUNTERS];

static long get_tracepoint(const char *name)
{
	char path[128];
	long id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%s/id", name);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%ld", &id) != 1)
		id = -1;
	if (f)
		fclose(f);
	return id;
}

static int open_counter(int which)
{
	const long id = get_tracepoint(which == COPYV ? "sonde/sonde_copyv" :
				       "raw_syscalls/sys_enter");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .config = (uint64_t)id,
		.disabled = 1,
	};
	int fd;

	if (id < 0)
		return -ENOENT;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (filters[which] && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[which]))
		return -errno;
	return fd;
}

/* Return: 0, or on all ranks what went wrong for one. */
static int open_counters(void)
{
	int err = 0, all;

	for (int i = 0; i < COUNTERS; i++) {
		counters[i] = open_counter(i);
		if (counters[i] < 0)
			err = counters[i];
	}
	PMPI_Allreduce(&err, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	return all;
}

/* Of this rank: what was added by the exchanges. */
static int count(MPI_Comm comm, size_t block, long counts[COUNTERS])
{
	uint64_t before, after[COUNTERS];

	for (int i = 0; i < COUNTERS; i++) {
		if (read(counters[i], &before, sizeof(before)) != sizeof(before))
			return -errno;
		counts[i] = -(long)before;
	}
	prctl(PR_TASK_PERF_EVENTS_ENABLE);
	exchange(comm, block, EXCHANGES);
	prctl(PR_TASK_PERF_EVENTS_DISABLE);
	for (int i = 0; i < COUNTERS; i++) {
		if (read(counters[i], &after[i], sizeof(after[i])) != sizeof(after[i]))
			return -errno;
		counts[i] += (long)after[i];
	}
	return 0;
}

/**
 * struct expectation - calls of a rank in an exchange, for each other rank or in all
 * @copyv: of SONDE_IOC_COPYV, which are all of ioctl()
 * @step: from one size to the next; all of them where one call is the promise
 */
struct expectation {
	const char *name, *says;
	long copyv, readv_each;
	size_t step;
};

static const struct expectation expectations[] = {
	{ "local/region", "one system call, COPYV", 1, 0, 2 },
	{ "local/cma", "one system call for each other rank", 0, 1, 64 },
	{ "local/shm", "no system call", 0, 0, 64 },
};

static int is_as_expected(const struct expectation *e, const long least[], const long most[])
{
	const long expected[] = { [COPYV] = e->copyv * EXCHANGES, [IOCTL] = e->copyv * EXCHANGES,
				  [READV] = e->readv_each * (size - 1) * EXCHANGES };

	for (int i = COPYV; i <= READV; i++)
		if (least[i] != expected[i] || most[i] != expected[i])
			return 0;
	return !most[OTHER];
}

static int try_size(const struct expectation *e, MPI_Comm comm, size_t block, int number)
{
	long counts[COUNTERS], least[COUNTERS], most[COUNTERS];
	int right = warm_up(comm, e->name, block), err = count(comm, block, counts);

	PMPI_Allreduce(counts, least, COUNTERS, MPI_LONG, MPI_MIN, MPI_COMM_WORLD);
	PMPI_Allreduce(counts, most, COUNTERS, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
	right = right && !err && is_as_expected(e, least, most);
	if (rank)
		return right;
	printf("# %d exchanges of %zu KiB: COPYV %ld to %ld, ioctl %ld to %ld, process_vm_readv "
	       "%ld to %ld, waiting %ld to %ld, others %ld to %ld\n", EXCHANGES, block >> 10,
	       least[COPYV], most[COPYV], least[IOCTL], most[IOCTL], least[READV], most[READV],
	       least[WAITING], most[WAITING], least[OTHER], most[OTHER]);
	printf("%s %d - %s, %zu KiB: a rank's exchange is %s, beside waiting\n",
	       right ? "ok" : "not ok", number, e->name, block >> 10, e->says);
	fflush(stdout);
	return right;
}

static int run_calls(void)
{
	const size_t n = sizeof(expectations) / sizeof(expectations[0]);
	int number = 0, failed = 0, err = open_counters();

	if (err) {
		if (!rank)
			printf("1..0 # SKIP no tracepoints of system calls and of sonde: %s\n",
			       strerror(-err));
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		MPI_Comm comm = get_comm(expectations[i].name);

		for (size_t block = LEAST; block <= MOST; block *= expectations[i].step)
			failed |= !try_size(&expectations[i], comm, block, ++number);
		MPI_Comm_free(&comm);
	}
	if (!rank)
		printf("1..%d\n", number);
	return failed;
}

/* ---- instructions -------------------------------------------------------- */

static void copy_local(char *to, const char *from, size_t n)
{
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (n) : : "memory");
#else
	memcpy(to, from, n);
#endif
}

static void copy_blocks(size_t block, int n)
{
	for (int i = 0; i < n; i++)
		for (int to = 0; to < size; to++)
			copy_local(recvs[i % PAIRS] + (size_t)to * block,
				   sends[i % PAIRS] + (size_t)to * block, block);
}

/* Of all ranks together; MPI_COMM_NULL: copies only. */
static double time_batch(MPI_Comm comm, size_t block)
{
	double begin, took;

	PMPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	if (comm == MPI_COMM_NULL)
		copy_blocks(block, BATCH);
	else
		exchange(comm, block, BATCH);
	PMPI_Barrier(MPI_COMM_WORLD);
	took = MPI_Wtime() - begin;
	PMPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	return took;
}

static double time_least(MPI_Comm comm, size_t block)
{
	double least = time_batch(comm, block);

	for (int i = 1; i < BATCHES; i++) {
		const double took = time_batch(comm, block);

		least = took < least ? took : least;
	}
	return least * 1e9 / BATCH / size;
}

static int print_row(const char *row, const char *name, size_t block)
{
	MPI_Comm comm = get_comm(name);
	const int right = warm_up(comm, name, block);
	const double took = time_least(comm, block) - time_least(MPI_COMM_NULL, block);

	if (!rank && right)
		printf("%s\t%.0f\n", row, took);
	else if (!rank)
		fprintf(stderr, "exchange: %s was done, not %s\n", sonde_coll_last(), name);
	MPI_Comm_free(&comm);
	return !right;
}

static int run_rows(void)
{
	return print_row("alltoall-4k", "local/region", LEAST) |
	       print_row("alltoall-4k-cma", "local/cma", LEAST) |
	       print_row("alltoall-64k", "local/region", 16 * LEAST) |
	       print_row("alltoall-64k-cma", "local/cma", 16 * LEAST);
}

int main(int argc, char **argv)
{
	int failed;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < PAIRS; i++) {
		sends[i] = calloc((size_t)size, MOST);
		recvs[i] = calloc((size_t)size, MOST);
		if (!sends[i] || !recvs[i])
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	failed = argc > 1 && !strcmp(argv[1], "--rows") ? run_rows() : run_calls();
	MPI_Finalize();
	for (int i = 0; i < PAIRS; i++) {
		free(sends[i]);
		free(recvs[i]);
	}
	return failed;
}
