// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * file - the rows of all ranks, in one file, when the job ends
 *
 * Rank 0 has one other row in memory at a time, and of that only what is not
 * zero: it is asked for by a message that says whose turn it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/replace.h"
#include "record.h"

enum { TAG_TURN = 1, TAG_ROW };

static void say(const char *why)
{
	fprintf(stderr, "sonde-record: %s\n", why);
}

/*
 * A row on its way: numbers. First what there is one of, then of each kind so
 * many times to, messages, bytes.
 */
struct parcel {
	uint64_t outside, lost;
	uint64_t n[RECORD_KINDS];
	uint64_t rest[];
};

#define CELL 3
#define HEAD (sizeof(struct parcel) / sizeof(uint64_t))

static size_t count_words(const struct parcel *p)
{
	return HEAD + CELL * (p->n[RECORD_SENDS] + p->n[RECORD_COLLECTIVES]);
}

static struct parcel *pack(struct record_row *row)
{
	size_t most = HEAD + CELL * RECORD_KINDS * (size_t)row->size;
	struct parcel *p = malloc(most * sizeof(uint64_t));
	uint64_t *to = p ? p->rest : NULL;

	if (!p)
		return NULL;
	p->outside = atomic_load(&row->outside);
	p->lost = atomic_load(&row->lost);
	for (int kind = 0; kind < RECORD_KINDS; kind++) {
		p->n[kind] = 0;
		for (int i = 0; i < row->size; i++) {
			uint64_t messages = atomic_load(&row->cells[kind][i].messages);

			if (!messages)
				continue;
			*to++ = (uint64_t)i;
			*to++ = messages;
			*to++ = atomic_load(&row->cells[kind][i].bytes);
			p->n[kind]++;
		}
	}
	return p;
}

/* The row of @rank, by its leave; an empty one if that had no memory. */
static struct parcel *fetch(int rank, MPI_Comm comm)
{
	struct parcel *p;
	MPI_Status status;
	int words;

	if (PMPI_Send(NULL, 0, MPI_BYTE, rank, TAG_TURN, comm) ||
	    PMPI_Probe(rank, TAG_ROW, comm, &status) ||
	    PMPI_Get_count(&status, MPI_UINT64_T, &words))
		return NULL;
	p = calloc((size_t)words + HEAD, sizeof(uint64_t));
	if (p && PMPI_Recv(p, words, MPI_UINT64_T, rank, TAG_ROW, comm, MPI_STATUS_IGNORE)) {
		free(p);
		return NULL;
	}
	return p;
}

static void hand_over(const struct parcel *own, MPI_Comm comm)
{
	if (PMPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_TURN, comm, MPI_STATUS_IGNORE))
		return;
	PMPI_Send(own, own ? (int)count_words(own) : 0, MPI_UINT64_T, 0, TAG_ROW, comm);
}

static void print_cells(FILE *file, const char *name, const uint64_t *cell, uint64_t n)
{
	fprintf(file, ", \"%s\": [", name);
	for (uint64_t i = 0; i < n; i++, cell += CELL)
		fprintf(file, "%s[%llu, %llu, %llu]", i ? ", " : "", (unsigned long long)cell[0],
			(unsigned long long)cell[1], (unsigned long long)cell[2]);
	fputc(']', file);
}

static void print_row(FILE *file, int rank, const struct parcel *p)
{
	fprintf(file, "%s\n    { \"rank\": %d", rank ? "," : "", rank);
	print_cells(file, "sends", p->rest, p->n[RECORD_SENDS]);
	print_cells(file, "collectives", p->rest + CELL * p->n[RECORD_SENDS],
		    p->n[RECORD_COLLECTIVES]);
	fputs(" }", file);
}

/* What MPI calls itself, its first line and without what JSON would have escaped. */
static void print_mpi(FILE *file)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int len = 0;

	PMPI_Get_library_version(version, &len);
	fputs("  \"mpi\": \"", file);
	for (const char *c = version; *c && *c != '\n'; c++)
		if (*c >= ' ' && *c < 127 && *c != '"' && *c != '\\')
			fputc(*c, file);
	fputs("\",\n", file);
}

static void print_all(FILE *file, struct record_row *row, const struct parcel *own, MPI_Comm comm)
{
	uint64_t outside = own ? own->outside : 0, lost = own ? own->lost : 1;
	static const struct parcel none;

	fprintf(file, "{\n  \"schema\": \"sonde-matrix-1\",\n  \"sonde_version\": \"%s\",\n",
		SONDE_VERSION);
	print_mpi(file);
	fprintf(file, "  \"ranks\": %d,\n  \"rows\": [", row->size);
	print_row(file, 0, own ? own : &none);
	for (int rank = 1; rank < row->size; rank++) {
		struct parcel *p = fetch(rank, comm);
		int is_there = p && (p->n[RECORD_SENDS] || p->n[RECORD_COLLECTIVES] ||
				     p->lost || p->outside);

		print_row(file, rank, is_there ? p : &none);
		outside += is_there ? p->outside : 0;
		lost += is_there ? p->lost : !p;
		free(p);
	}
	fprintf(file, "\n  ],\n  \"outside\": %llu,\n  \"lost\": %llu\n}\n",
		(unsigned long long)outside, (unsigned long long)lost);
}

/* Rank 0. If the file cannot be, the others still get their turns. */
static void write_all(const char *path, struct record_row *row, const struct parcel *own,
		      MPI_Comm comm)
{
	struct replace r;
	int err = replace_open(&r, path);
	FILE *nowhere = err ? fopen("/dev/null", "we") : NULL;

	if (!err) {
		print_all(r.file, row, own, comm);
		err = replace_commit(&r);
	} else if (nowhere) {
		print_all(nowhere, row, own, comm);
		fclose(nowhere);
	}
	if (err)
		fprintf(stderr, "sonde-record: cannot write %s: %s\n", path, strerror(-err));
}

/*
 * Do all ranks record? One that was not given the variable, as by launchers that
 * do not pass the environment on, is asked rather than waited for.
 */
static int is_agreed(int is_mine)
{
	int mine[2] = { is_mine, -is_mine }, least[2] = { 0, 0 }, rank = -1;

	if (PMPI_Allreduce(mine, least, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD))
		return 0;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (!least[0] && least[1] && !rank)
		say("SONDE_RECORD is set on some ranks only (mpiexec.openmpi: -x SONDE_RECORD), "
		    "or they have no memory for it; nothing is written");
	return least[0];
}

/* Ranks that another job started, whose matrix is not the one that was asked for. */
static int is_spawned(void)
{
	MPI_Comm parent = MPI_COMM_NULL;

	PMPI_Comm_get_parent(&parent);
	return parent != MPI_COMM_NULL;
}

void record_end(void)
{
	struct record_row *row;
	struct parcel *own;
	int is_up = 0, is_down = 0;
	static _Atomic int is_over;
	MPI_Comm comm;

	/* Fortran's entry may call C's. */
	if (atomic_exchange(&is_over, 1) || PMPI_Initialized(&is_up) || !is_up ||
	    PMPI_Finalized(&is_down) || is_down || is_spawned())
		return;
	row = record_row();
	if (!is_agreed(row != NULL) || PMPI_Comm_dup(MPI_COMM_WORLD, &comm))
		return;
	own = pack(row);
	if (row->rank)
		hand_over(own, comm);
	else
		write_all(getenv("SONDE_RECORD"), row, own, comm);
	free(own);
	PMPI_Comm_free(&comm);
}
