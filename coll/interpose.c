// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * interpose - the calls of C that this library takes the place of
 *
 * What is not ours goes to MPI with the caller's own arguments, which then also
 * finds what is wrong with them.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sonde/coll.h>

#include "algorithms.h"
#include "explain.h"
#include "interpose.h"
#include "plan.h"
#include "segment.h"
#include "select.h"
#include "slot.h"

static const struct coll_choice by_mpi = { .outer = COLL_MPI };
static _Thread_local struct coll_choice last;

const char *sonde_coll_last(void)
{
	static _Thread_local char name[COLL_NAME];

	return coll_choice_name(&last, name);
}

/* ---- one way for both --------------------------------------------------- */

/* The first of a node that notices says it for all. */
static void tell_of_end(const struct coll_segment *seg)
{
	if (!atomic_exchange_explicit(&coll_head(seg)->is_told, 1, memory_order_relaxed))
		coll_tell("another rank of this node has ended within the call; the job "
			  "cannot go on");
}

/* To the communicator's handler, as MPI does it. */
static int raise_error(MPI_Comm comm, const struct coll_plan *plan, int err)
{
	int code = err;

	if (err == -ENOMEM || err == -ENOSPC)
		code = MPI_ERR_NO_MEM;
	else if (err < 0)
		code = MPI_ERR_OTHER;
	if (err == -EOWNERDEAD)
		tell_of_end(plan->segment);
	PMPI_Comm_call_errhandler(comm, code);
	return code;
}

static int is_handle(MPI_Datatype type)
{
	return type != MPI_DATATYPE_NULL;
}

static size_t count_bytes(const struct coll_call *call)
{
	size_t bytes = 0;

	for (int r = 0; r < call->plan->size; r++)
		bytes += coll_side_bytes(&call->send, r);
	return bytes;
}

static int run_choice(struct coll_call *call, const struct coll_choice *choice)
{
	int err;

	call->went = choice->way;
	err = coll_algorithm_find(COLL_OUTER, choice->outer)->run(call, choice);
	coll_plan_rest(call->plan);
	return err;
}

/* By what has its turn. */
static int run_trial(struct coll_call *call, struct coll_choice *choice, struct coll_trial *trial)
{
	const double begin = PMPI_Wtime();
	char why[COLL_SENTENCE];
	int err, ended;

	*choice = *coll_trial_next(trial);
	err = run_choice(call, choice);
	/* Of what fails on one rank alone the others' trial goes on. */
	if (err == COLL_HAND_OVER || err == -EOWNERDEAD)
		return err;
	ended = coll_trial_end(call->plan, trial, PMPI_Wtime() - begin, why, sizeof(why));
	if (ended > 0) {
		struct coll_choice best = *coll_trial_next(trial);

		memcpy(best.why, why, sizeof(best.why));
		coll_explain(call->plan, call->op, trial->most, call->is_in_place, &best);
	}
	return err || ended >= 0 ? err : ended;
}

/* What was done, not what was chosen. */
static void note(const struct coll_call *call, const struct coll_choice *choice)
{
	last = *choice;
	last.way = call->went;
	if (call->plan->settings.is_explained)
		coll_count(&last, call->op, count_bytes(call));
}

static int run(struct coll_call *call, const struct coll_slot *slot, MPI_Comm comm)
{
	struct coll_choice choice = *coll_select(call->plan, call->op, call->block,
						 call->is_in_place, slot->forced[call->op]);
	struct coll_trial *trial = NULL;
	int err = COLL_HAND_OVER;

	if (choice.is_open)
		trial = coll_trial_get(call->plan, call->op, call->block, call->is_in_place,
				       &choice);
	if (trial)
		err = run_trial(call, &choice, trial);
	else if (choice.outer != COLL_MPI)
		err = run_choice(call, &choice);
	if (err == COLL_HAND_OVER) {
		choice = by_mpi;
		call->went = COLL_NO_WAY;
	}
	note(call, &choice);
	if (err == COLL_HAND_OVER)
		return COLL_NOT_OURS;
	return err ? raise_error(comm, call->plan, err) : MPI_SUCCESS;
}

static int hand(enum coll_op op, const char *why)
{
	last = by_mpi;
	coll_count_handed(op, why);
	return COLL_NOT_OURS;
}

/* A plan for the call: NULL, and MPI does it. */
static struct coll_plan *get_plan(struct coll_slot *slot, enum coll_op op)
{
	struct coll_plan *plan = coll_slot_plan(slot, op);

	if (!plan)
		hand(op, slot->is_mpis ? "no plan" : "first call on a communicator");
	return plan;
}

int coll_alltoall(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
		  MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	struct coll_slot *slot = comm == MPI_COMM_NULL ? NULL : coll_slot_get(comm);
	struct coll_call call = { .op = COLL_ALLTOALL, .is_in_place = sendbuf == MPI_IN_PLACE };

	if (!slot || slot->is_mpis)
		return hand(COLL_ALLTOALL, slot ? "not for us" : "switched off");
	if (recvcount <= 0 || !is_handle(recvtype) || coll_type_get(&call.recv.type, recvtype))
		return hand(COLL_ALLTOALL, "nothing to do");
	call.recv.buf = recvbuf;
	call.recv.count = recvcount;
	call.send = call.recv;
	if (!call.is_in_place) {
		if (sendcount <= 0 || !is_handle(sendtype) ||
		    coll_type_get(&call.send.type, sendtype))
			return hand(COLL_ALLTOALL, "nothing to do");
		call.send.buf = (char *)(uintptr_t)sendbuf;
		call.send.count = sendcount;
	}
	call.block = (size_t)recvcount * call.recv.type.size;
	if (!call.block || (size_t)call.send.count * call.send.type.size != call.block)
		return hand(COLL_ALLTOALL, "nothing to do");
	call.plan = get_plan(slot, COLL_ALLTOALL);
	return call.plan ? run(&call, slot, comm) : COLL_NOT_OURS;
}

/* MPI tells what is wrong with them. */
static int are_counts(const struct coll_side *side, const struct coll_slot *slot)
{
	for (int r = 0; r < slot->size; r++)
		if (coll_side_count(side, r) < 0)
			return 0;
	return 1;
}

int coll_alltoallv(struct coll_side *send, MPI_Datatype sendtype, struct coll_side *recv,
		   MPI_Datatype recvtype, MPI_Comm comm)
{
	struct coll_slot *slot = comm == MPI_COMM_NULL ? NULL : coll_slot_get(comm);
	struct coll_call call = { .op = COLL_ALLTOALLV,
				  .is_in_place = (void *)send->buf == MPI_IN_PLACE };

	if (!slot || slot->is_mpis)
		return hand(COLL_ALLTOALLV, slot ? "not for us" : "switched off");
	if (!is_handle(recvtype) || coll_type_get(&recv->type, recvtype) ||
	    (!call.is_in_place && (!is_handle(sendtype) || coll_type_get(&send->type, sendtype))))
		return hand(COLL_ALLTOALLV, "nothing to do");
	call.recv = *recv;
	call.send = call.is_in_place ? *recv : *send;
	if (!are_counts(&call.recv, slot) || !are_counts(&call.send, slot))
		return hand(COLL_ALLTOALLV, "a negative count");
	call.plan = get_plan(slot, COLL_ALLTOALLV);
	return call.plan ? run(&call, slot, comm) : COLL_NOT_OURS;
}

/* ---- C ------------------------------------------------------------------ */

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
		 int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	int err = coll_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);

	return err != COLL_NOT_OURS ? err : PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf,
							  recvcount, recvtype, comm);
}

int MPI_Alltoallv(const void *sendbuf, const int *sendcounts, const int *sdispls,
		  MPI_Datatype sendtype, void *recvbuf, const int *recvcounts, const int *rdispls,
		  MPI_Datatype recvtype, MPI_Comm comm)
{
	struct coll_side send = { .buf = (char *)(uintptr_t)sendbuf, .counts = sendcounts,
				  .displs = sdispls };
	struct coll_side recv = { .buf = recvbuf, .counts = recvcounts, .displs = rdispls };
	int err = coll_alltoallv(&send, sendtype, &recv, recvtype, comm);

	return err != COLL_NOT_OURS ? err : PMPI_Alltoallv(sendbuf, sendcounts, sdispls, sendtype,
							   recvbuf, recvcounts, rdispls, recvtype,
							   comm);
}

#if MPI_VERSION >= 4
int MPI_Alltoall_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
		   MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
	int err = coll_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);

	return err != COLL_NOT_OURS ? err : PMPI_Alltoall_c(sendbuf, sendcount, sendtype, recvbuf,
							    recvcount, recvtype, comm);
}

int MPI_Alltoallv_c(const void *sendbuf, const MPI_Count *sendcounts, const MPI_Aint *sdispls,
		    MPI_Datatype sendtype, void *recvbuf, const MPI_Count *recvcounts,
		    const MPI_Aint *rdispls, MPI_Datatype recvtype, MPI_Comm comm)
{
	struct coll_side send = { .buf = (char *)(uintptr_t)sendbuf, .large_counts = sendcounts,
				  .large_displs = sdispls };
	struct coll_side recv = { .buf = recvbuf, .large_counts = recvcounts,
				  .large_displs = rdispls };
	int err = coll_alltoallv(&send, sendtype, &recv, recvtype, comm);

	return err != COLL_NOT_OURS ? err : PMPI_Alltoallv_c(sendbuf, sendcounts, sdispls,
							     sendtype, recvbuf, recvcounts,
							     rdispls, recvtype, comm);
}
#endif

/* ---- hints -------------------------------------------------------------- */

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
	int err = PMPI_Comm_set_info(comm, info);

	if (!err)
		coll_slot_inform(comm, info);
	return err;
}

/* MPICH keeps only the keys it knows, so ours are read where they are given. */
int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
	int err = PMPI_Comm_dup_with_info(comm, info, newcomm);

	if (!err)
		coll_slot_inform(*newcomm, info);
	return err;
}
