/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* explain - what a person is told, on stderr, one line at a time */
#ifndef SONDE_COLL_EXPLAIN_H
#define SONDE_COLL_EXPLAIN_H

#include "choice.h"

struct coll_call;
struct coll_plan;

/* Something is wrong and was left out. Each rank would say the same: local rank 0 does. */
void coll_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, where only this rank says it. */
void coll_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A choice was made, if SONDE_COLL_EXPLAIN asks. Rank 0 of the communicator says it. */
void coll_explain(const struct coll_plan *plan, enum coll_op op, size_t block,
		  int is_in_place, const struct coll_choice *choice);

/* A call was done so. */
void coll_count(const struct coll_choice *choice, enum coll_op op, size_t bytes);
/* A call was handed to MPI without a choice. */
void coll_count_handed(enum coll_op op, const char *why);

/* All that was counted, at MPI_Finalize(), by rank 0 of MPI_COMM_WORLD. */
void coll_explain_counts(void);

#endif
