// SPDX-License-Identifier: GPL-2.0-or-later
/* types - the layouts that implementations get wrong */
#include <stddef.h>
#include <stdint.h>

#include "types.h"

static MPI_Datatype commit(MPI_Datatype type)
{
	MPI_Type_commit(&type);
	return type;
}

/* Gives back what a type was made of. */
static MPI_Datatype made_of(MPI_Datatype part, MPI_Datatype type)
{
	MPI_Type_free(&part);
	return commit(type);
}

static MPI_Datatype get_contiguous(int n, MPI_Datatype of)
{
	MPI_Datatype type;

	MPI_Type_contiguous(n, of, &type);
	return commit(type);
}

/* Three shorts, every other one. */
static MPI_Datatype get_vector(void)
{
	MPI_Datatype type;

	MPI_Type_vector(3, 1, 2, MPI_SHORT, &type);
	return commit(type);
}

/* An int that takes up 12 bytes. */
static MPI_Datatype get_resized(void)
{
	MPI_Datatype type;

	MPI_Type_create_resized(MPI_INT, 0, 12, &type);
	return commit(type);
}

/* Two ints, the first before the address that is given. */
static MPI_Datatype get_negative(void)
{
	const int lengths[2] = { 1, 1 };
	const MPI_Aint at[2] = { -8, 4 };
	MPI_Datatype inner, type;

	MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &inner);
	MPI_Type_create_resized(inner, -8, 20, &type);
	return made_of(inner, type);
}

/* Two ints the wrong way round: size and extent are equal, yet it is not dense. */
static MPI_Datatype get_swapped(void)
{
	const int lengths[2] = { 1, 1 }, at[2] = { 1, 0 };
	MPI_Datatype type;

	MPI_Type_indexed(2, lengths, at, MPI_INT, &type);
	return commit(type);
}

/* A char and a double, as in a structure of C. */
static MPI_Datatype get_struct(int is_padded)
{
	const int lengths[2] = { 1, 1 };
	const MPI_Aint at[2] = { 0, is_padded ? 16 : 1 };
	const MPI_Datatype types[2] = { MPI_CHAR, MPI_DOUBLE };
	MPI_Datatype type;

	MPI_Type_create_struct(2, lengths, at, types, &type);
	return commit(type);
}

/* The same signature, but only on some ranks a range of memory. */
static MPI_Datatype get_mixed(void)
{
	int rank;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	return rank % 2 ? get_vector() : get_contiguous(3, MPI_SHORT);
}

struct type_pair type_pair_get(int which)
{
	switch (which) {
	case 0:
		return (struct type_pair){ "bytes", get_contiguous(1, MPI_BYTE),
					   get_contiguous(1, MPI_BYTE), 1 };
	case 1:
		return (struct type_pair){ "rows of ints", get_contiguous(4, MPI_INT),
					   get_contiguous(4, MPI_INT), 16 };
	case 2:
		return (struct type_pair){ "a vector to a row", get_vector(),
					   get_contiguous(3, MPI_SHORT), 6 };
	case 3:
		return (struct type_pair){ "resized to resized", get_resized(), get_resized(), 4 };
	case 4:
		return (struct type_pair){ "a row to a negative lower bound",
					   get_contiguous(2, MPI_INT), get_negative(), 8 };
	case 5:
		return (struct type_pair){ "a negative lower bound to swapped", get_negative(),
					   get_swapped(), 8 };
	case 6:
		return (struct type_pair){ "a vector on odd ranks, a row on even ones",
					   get_mixed(), get_mixed(), 6 };
	default:
		return (struct type_pair){ "structures of other gaps", get_struct(1),
					   get_struct(0), 9 };
	}
}

void type_pair_free(struct type_pair *pair)
{
	MPI_Type_free(&pair->send);
	MPI_Type_free(&pair->recv);
}
