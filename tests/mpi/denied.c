// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * denied - reading another process's memory is forbidden, from the start or midway
 *
 * A filter of system calls, as of containers, answers EPERM. From the start (with
 * "--before") no way that reads is to be had, and MPI does what asks for it.
 * Midway only rank 1 is denied: all ranks of its node must do the exchange again
 * through their segment, and it must be right. Prints TAP on rank 0.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <mpi.h>
#include <sonde/coll.h>

#define N 700	/* ints of a block: MPI sends them without reading either */

static int rank, size, count;

static int deny(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int exchange(MPI_Comm comm, int salt)
{
	int *send = malloc(2 * (size_t)size * N * sizeof(int)), *recv = send + size * N;
	int right = 1;

	for (int i = 0; i < size * N; i++)
		send[i] = rank * 100000 + i + salt;
	memset(recv, 0xff, (size_t)size * N * sizeof(int));
	MPI_Alltoall(send, N, MPI_INT, recv, N, MPI_INT, comm);
	for (int r = 0; r < size; r++)
		for (int j = 0; j < N; j++)
			right &= recv[r * N + j] == r * 100000 + rank * N + j + salt;
	free(send);
	return right;
}

/* Of up to 56,000 bytes: large enough to be read from where they are. */
static int exchange_v(MPI_Comm comm)
{
	const int most = 14000;
	int *counts = malloc(2 * (size_t)size * (1 + (size_t)most) * sizeof(int));
	int *displs = counts + size, *send = displs + size, *recv = send + size * most;
	int right = 1;

	for (int r = 0; r < size; r++) {
		counts[r] = (1 + (rank + r) % 7) * 2000;
		displs[r] = r * most;
		for (int j = 0; j < most; j++)
			send[r * most + j] = (rank * 100 + r) * 20000 + j;
	}
	MPI_Alltoallv(send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT, comm);
	for (int r = 0; r < size; r++)
		for (int j = 0; j < counts[r]; j++)
			right &= recv[r * most + j] == (r * 100 + rank) * 20000 + j;
	free(counts);
	return right;
}

static int report(int right, const char *what, const char *name)
{
	int all;

	PMPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	count++;
	if (!rank)
		printf("%s %d - %s: %s\n", all ? "ok" : "not ok", count, name, what);
	fflush(stdout);
	return all;
}

static MPI_Comm get_comm(const char *name)
{
	MPI_Info info;
	MPI_Comm comm;

	MPI_Info_create(&info);
	MPI_Info_set(info, "sonde_coll_alltoall", name);
	if (!strncmp(name, "local", 5))
		MPI_Info_set(info, "sonde_coll_alltoallv", name);
	MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
	MPI_Info_free(&info);
	return comm;
}

/* On rank 1's node: the others are not denied. */
static int went_by_segment(const char *name)
{
	const char *way = strrchr(sonde_coll_last(), '/');

	return strncmp(name, "local", 5) || !strcmp(way, "/shm");
}

static int run(const char *name, int is_before)
{
	MPI_Comm comm = get_comm(name);
	const int is_local = !strncmp(name, "local", 5);
	int right = exchange(comm, 1);

	if (is_before)
		right &= !strcmp(sonde_coll_last(), "mpi");
	else
		right &= !strcmp(sonde_coll_last(), name) && (!is_local || exchange_v(comm));
	if (!is_before) {
		static int is_denied;

		if (rank == 1 && !is_denied++)
			right &= !deny();
		right &= exchange(comm, 2) && exchange(comm, 3) && went_by_segment(name);
		right &= !is_local || (exchange_v(comm) && went_by_segment(name));
	}
	MPI_Comm_free(&comm);
	return report(right, is_before ? "MPI does it where it cannot be" :
		      "done again where a rank is denied", name);
}

int main(int argc, char **argv)
{
	const int is_before = argc > 1 && !strcmp(argv[1], "--before");
	int right = 1;

	if (is_before && deny()) {
		perror("denied: seccomp");
		return 1;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	/* A way that was denied once stays so: one name a run, but for those before. */
	for (int i = is_before ? 2 : 1; i < argc; i++)
		right &= run(argv[i], is_before);
	if (!rank)
		printf("1..%d\n", count);
	MPI_Finalize();
	return !right;
}
