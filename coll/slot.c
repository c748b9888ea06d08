// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * slot - attributes: how a plan is found, and when it ends
 *
 * A plan has communicators of its own, so it must be freed while MPI works. That
 * is when its communicator is freed, by the attribute's delete function. Those of
 * MPI_COMM_WORLD and of communicators that are never freed end with MPI_Finalize(),
 * which deletes the attributes of MPI_COMM_SELF before all else (MPI 4.0, 11.2.4):
 * one of ours is among them, and deletes the slots that are left.
 *
 * A duplicate of a communicator gets no slot: it makes its own plan.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "explain.h"
#include "plan.h"
#include "slot.h"

/* A communicator that is used once is not worth a plan. */
#define CALLS_BEFORE	1

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of all below */
static int keyval = MPI_KEYVAL_INVALID, end_keyval = MPI_KEYVAL_INVALID;
static struct coll_slot *slots;
static int is_over;

static void unlink_slot(struct coll_slot *slot)
{
	pthread_mutex_lock(&lock);
	*slot->link = slot->next;
	if (slot->next)
		slot->next->link = slot->link;
	pthread_mutex_unlock(&lock);
}

static int delete_slot(MPI_Comm comm, int key, void *value, void *extra)
{
	struct coll_slot *slot = value;

	(void)comm;
	(void)key;
	(void)extra;
	unlink_slot(slot);
	coll_plan_free(slot->plan);
	free(slot);
	return MPI_SUCCESS;
}

/*
 * In the order of creation, newest first: the same on all ranks of any plan, as
 * long as the program made its first calls in the same order on them; and neither
 * MPI waits for others to free a communicator.
 */
static int end(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)value;
	(void)extra;
	is_over = 1;
	while (slots)
		if (PMPI_Comm_delete_attr(slots->comm, keyval))
			break;
	coll_explain_counts();
	return MPI_SUCCESS;
}

static int prepare(void)
{
	if (keyval != MPI_KEYVAL_INVALID)
		return 0;
	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end, &end_keyval, NULL) ||
	    PMPI_Comm_set_attr(MPI_COMM_SELF, end_keyval, NULL))
		return -1;
	return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_slot, &keyval, NULL);
}

static void link_slot(struct coll_slot *slot)
{
	slot->next = slots;
	slot->link = &slots;
	if (slots)
		slots->link = &slot->next;
	slots = slot;
}

static struct coll_slot *new_slot(MPI_Comm comm)
{
	struct coll_slot *slot = calloc(1, sizeof(*slot));
	int is_inter = 1;

	if (!slot)
		return NULL;
	slot->comm = comm;
	PMPI_Comm_test_inter(comm, &is_inter);
	if (!is_inter)
		PMPI_Comm_size(comm, &slot->size);
	slot->is_mpis = is_inter || slot->size == 1;
	pthread_mutex_lock(&lock);
	link_slot(slot);
	pthread_mutex_unlock(&lock);
	if (PMPI_Comm_set_attr(comm, keyval, slot)) {
		unlink_slot(slot);
		free(slot);
		return NULL;
	}
	return slot;
}

struct coll_slot *coll_slot_get(MPI_Comm comm)
{
	void *value;
	int found, err;

	if (is_over || !coll_is_on())
		return NULL;
	pthread_mutex_lock(&lock);
	err = prepare();
	pthread_mutex_unlock(&lock);
	if (err || PMPI_Comm_get_attr(comm, keyval, &value, &found))
		return NULL;
	return found ? value : new_slot(comm);
}

struct coll_plan *coll_slot_plan(struct coll_slot *slot, enum coll_op op)
{
	if (slot->plan)
		return slot->plan;
	if (!*slot->forced[op] && !*coll_settings_get()->forced[op] &&
	    slot->calls < CALLS_BEFORE) {
		slot->calls++;
		return NULL;
	}
	if (coll_plan_new(&slot->plan, slot->comm)) {
		slot->is_mpis = 1;
		return NULL;
	}
	return slot->plan;
}

static void read_key(struct coll_slot *slot, MPI_Info info, const char *key, enum coll_op op)
{
	char value[COLL_NAME], why[COLL_SENTENCE];
	struct coll_choice choice;
	int found = 0;

	if (PMPI_Info_get(info, key, COLL_NAME - 1, value, &found) || !found)
		return;
	if (!strcmp(value, "auto"))
		*value = '\0';
	else if (coll_choice_parse(&choice, value, why, sizeof(why))) {
		coll_complain("info key %s, \"%s\": %s; it is left out (see sonde-coll(7))", key,
			      value, why);
		return;
	}
	strcpy(slot->forced[op], value);
	if (slot->plan)
		memset(slot->plan->choices[op], 0, sizeof(slot->plan->choices[op]));
}

void coll_slot_inform(MPI_Comm comm, MPI_Info info)
{
	struct coll_slot *slot;

	if (info == MPI_INFO_NULL || comm == MPI_COMM_NULL)
		return;
	slot = coll_slot_get(comm);
	if (!slot)
		return;
	read_key(slot, info, "sonde_coll_alltoall", COLL_ALLTOALL);
	read_key(slot, info, "sonde_coll_alltoallv", COLL_ALLTOALLV);
}
