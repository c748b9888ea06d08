// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * type - which datatypes are plain bytes
 *
 * Equal size and extent do not make a type dense: an indexed type may list its
 * elements in any order. So its construction is followed: predefined types
 * without gaps, duplicates and contiguous rows of dense types. All others are
 * packed by MPI, which knows best.
 */
#include "call.h"

/* A handle that was looked at belongs to the caller unless it is predefined. */
static void give_back(MPI_Datatype *handle)
{
	int integers, addresses, types, combiner;

	if (PMPI_Type_get_envelope(*handle, &integers, &addresses, &types, &combiner) ==
	    MPI_SUCCESS && combiner != MPI_COMBINER_NAMED)
		PMPI_Type_free(handle);
}

static int has_no_gap(MPI_Datatype handle)
{
	MPI_Count size;
	MPI_Count lb, extent;

	return PMPI_Type_size_x(handle, &size) == MPI_SUCCESS &&
	       PMPI_Type_get_extent_x(handle, &lb, &extent) == MPI_SUCCESS && !lb &&
	       size == extent;
}

/* Types nest; each level is one turn. */
static int is_dense(MPI_Datatype handle)
{
	int integers, addresses, types, combiner, number;
	MPI_Datatype inner, outer = MPI_DATATYPE_NULL;
	MPI_Aint address;
	int dense = 0;

	for (;;) {
		if (PMPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner) !=
		    MPI_SUCCESS)
			break;
		if (combiner == MPI_COMBINER_NAMED) {
			dense = has_no_gap(handle);
			break;
		}
		if ((combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS) ||
		    PMPI_Type_get_contents(handle, integers, 0, 1, &number, &address, &inner) !=
		    MPI_SUCCESS)
			break;
		if (outer != MPI_DATATYPE_NULL)
			give_back(&outer);
		handle = outer = inner;
	}
	if (outer != MPI_DATATYPE_NULL)
		give_back(&outer);
	return dense;
}

/*
 * A predefined handle never means another type, so the last one is remembered;
 * one that was made may be freed and used again.
 */
static _Thread_local struct coll_type last = { .handle = MPI_DATATYPE_NULL };

int coll_type_get(struct coll_type *type, MPI_Datatype handle)
{
	int integers, addresses, types, combiner, err;
	MPI_Count size, lb, extent;

	if (handle == last.handle) {
		*type = last;
		return 0;
	}
	err = PMPI_Type_size_x(handle, &size);
	if (!err)
		err = PMPI_Type_get_extent_x(handle, &lb, &extent);
	if (!err)
		err = PMPI_Type_get_envelope(handle, &integers, &addresses, &types, &combiner);
	if (err)
		return err;
	*type = (struct coll_type){
		.handle = handle, .size = (size_t)size, .lb = (MPI_Aint)lb,
		.extent = (MPI_Aint)extent, .is_dense = is_dense(handle),
	};
	if (combiner == MPI_COMBINER_NAMED)
		last = *type;
	return 0;
}
