/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types - pairs of datatypes with one signature: what is sent, what is received */
#ifndef SONDE_TESTS_MPI_TYPES_H
#define SONDE_TESTS_MPI_TYPES_H

#include <mpi.h>

#define NTYPES 8

/**
 * struct type_pair - of one signature
 * @send, @recv: committed; to be given back with types_free()
 * @bytes: of an element
 */
struct type_pair {
	const char *name;
	MPI_Datatype send, recv;
	int bytes;
};

struct type_pair type_pair_get(int which);
void type_pair_free(struct type_pair *pair);

#endif
