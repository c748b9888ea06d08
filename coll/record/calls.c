// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * calls - MPI's calls of C, counted after they have succeeded
 *
 * The list is in calls.h: once with int for counts and once, for MPI 4, with
 * MPI_Count and names that end in _c.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "record.h"

void *record_next(const char *name, void *mpis)
{
	void *next = dlsym(RTLD_NEXT, name);

	return next ? next : mpis;
}

/* Another tool, or libsonde-coll, may stand between us and MPI. */
#define NEXT(name, args) ({ \
	static _Atomic(__typeof__(&name)) next_; \
	__typeof__(&name) f_ = atomic_load_explicit(&next_, memory_order_relaxed); \
	if (!f_) { \
		*(void **)&f_ = record_next(#name, (void *)P##name); \
		atomic_store_explicit(&next_, f_, memory_order_relaxed); \
	} \
	record_depth++; \
	int result_ = f_ args; \
	record_depth--; \
	result_; \
})

#define BARE(...) __VA_ARGS__

/* A call as it is, and one that ends in a request. @count is told of its arguments
 * without flows. */
#define CALL(name, params, args, count) \
	int name params \
	{ \
		struct record_flows *flows = NULL; \
		int err = NEXT(name, args); \
		\
		if (!err && !record_depth) \
			count; \
		return err; \
	}

/* A persistent one: what @count says is noted, for when it is started. */
#define PERSISTENT(name, params, args, count) \
	int name params \
	{ \
		struct record_flows noted = { 0 }, *flows = &noted; \
		int err = NEXT(name, args); \
		\
		if (!err && !record_depth && record_row()) { \
			count; \
			record_request_add(*request, flows); \
		} \
		return err; \
	}

#define COUNTS_int(counts)	((struct record_counts){ .small = (counts) })
#define COUNTS_MPI_Count(counts) ((struct record_counts){ .large = (counts) })

/* ---- counts that are int ------------------------------------------------- */

#define NAME(name)	name
#define COUNT		int
#define DISPL		int
#define MANY(counts)	COUNTS_int(counts)
#include "calls.h"
#undef NAME
#undef COUNT
#undef DISPL
#undef MANY

/* ---- MPI 4: large counts ------------------------------------------------- */

#if MPI_VERSION >= 4
#define NAME(name)	name##_c
#define COUNT		MPI_Count
#define DISPL		MPI_Aint
#define MANY(counts)	COUNTS_MPI_Count(counts)
#include "calls.h"
#undef NAME
#undef COUNT
#undef DISPL
#undef MANY

/* Partitions leave in messages of MPI's choice: counted as one. */
PERSISTENT(MPI_Psend_init,
	   (const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest,
	    int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request),
	   (buf, partitions, count, type, dest, tag, comm, info, request),
	   record_send(partitions * count, type, dest, comm, flows))
#endif

/* ---- requests ------------------------------------------------------------ */

int MPI_Start(MPI_Request *request)
{
	int err = NEXT(MPI_Start, (request));

	if (!err && !record_depth)
		record_request_start(*request);
	return err;
}

int MPI_Startall(int n, MPI_Request requests[])
{
	int err = NEXT(MPI_Startall, (n, requests));

	for (int i = 0; !err && !record_depth && i < n; i++)
		record_request_start(requests[i]);
	return err;
}

int MPI_Request_free(MPI_Request *request)
{
	/* Before another thread is given the same handle anew. */
	record_request_forget(*request);
	return NEXT(MPI_Request_free, (request));
}

/* Whatever stands between us and MPI's end may communicate too: that has P. */
int MPI_Finalize(void)
{
	record_end();
	return PMPI_Finalize();
}
