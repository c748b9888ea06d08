// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * requests - what persistent requests send whenever they are started
 */
#include <pthread.h>
#include <search.h>
#include <stdlib.h>

#include "record.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of the tree */
static void *tree;

struct persistent {
	MPI_Request request;
	struct record_flows flows;
};

/* Handles are numbers in one MPI and addresses in the other. */
static int compare(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct persistent *)a)->request;
	uintptr_t y = (uintptr_t)((const struct persistent *)b)->request;

	return x < y ? -1 : x > y;
}

static void forget(MPI_Request request)
{
	const struct persistent key = { .request = request };
	struct persistent **found = tfind(&key, &tree, compare);
	struct persistent *entry = found ? *found : NULL;

	if (!entry)
		return;
	tdelete(&key, &tree, compare);
	free(entry->flows.flow);
	free(entry);
}

void record_request_add(MPI_Request request, struct record_flows *flows)
{
	struct persistent *entry = malloc(sizeof(*entry));
	struct record_row *row = record_row();
	int is_lost = !entry;

	if (entry)
		*entry = (struct persistent){ .request = request, .flows = *flows };
	pthread_mutex_lock(&lock);
	forget(request);
	if (entry && !tsearch(entry, &tree, compare))
		is_lost = 1;
	pthread_mutex_unlock(&lock);
	if (!is_lost)
		return;
	free(flows->flow);
	free(entry);
	if (row)
		atomic_fetch_add_explicit(&row->lost, 1, memory_order_relaxed);
}

void record_request_start(MPI_Request request)
{
	const struct persistent key = { .request = request };
	struct persistent **found;

	if (!record_row())
		return;
	pthread_mutex_lock(&lock);
	found = tfind(&key, &tree, compare);
	if (found)
		record_replay(&(*found)->flows);
	pthread_mutex_unlock(&lock);
}

void record_request_forget(MPI_Request request)
{
	if (!record_row())
		return;
	pthread_mutex_lock(&lock);
	forget(request);
	pthread_mutex_unlock(&lock);
}
