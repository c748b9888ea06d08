// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * count - this rank's row, and which column a message belongs to
 *
 * The ranks of a communicator are translated once, and kept as its attribute. Any
 * thread may count: the cells are added to without order, since they are read only
 * after the program's last call.
 */
#include <pthread.h>
#include <stdlib.h>

#include "record.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct record_row row;
/* Written once, after the row. */
static _Atomic enum { UNDECIDED, OFF, ON } state;

_Thread_local int record_depth;

/* Guards what makes a translation, so that a communicator gets one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

/**
 * struct translation - of a communicator
 * @rank: ours in it
 * @size: of the group that is sent to
 * @is_inter: that is the other one
 * @world: its ranks in MPI_COMM_WORLD
 */
struct translation {
	int rank;
	int size;
	int is_inter;
	int world[];
};

static int delete_translation(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm;
	(void)key;
	(void)extra;
	free(value);
	return MPI_SUCCESS;
}

static void open_row(void)
{
	const char *path = getenv("SONDE_RECORD");
	int is_up = 0, is_down = 0;

	if (!path || !*path || PMPI_Initialized(&is_up) || !is_up ||
	    PMPI_Finalized(&is_down) || is_down)
		return;
	PMPI_Comm_size(MPI_COMM_WORLD, &row.size);
	PMPI_Comm_rank(MPI_COMM_WORLD, &row.rank);
	for (int kind = 0; kind < RECORD_KINDS; kind++)
		row.cells[kind] = calloc((size_t)row.size, sizeof(*row.cells[kind]));
	if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_translation, &keyval, NULL))
		return;
	if (row.cells[RECORD_SENDS] && row.cells[RECORD_COLLECTIVES])
		atomic_store_explicit(&state, ON, memory_order_release);
}

static void decide(void)
{
	open_row();
	if (atomic_load_explicit(&state, memory_order_relaxed) == UNDECIDED)
		atomic_store_explicit(&state, OFF, memory_order_relaxed);
}

struct record_row *record_row(void)
{
	/* Acquire: who finds it on finds the row, which decide() has made. */
	if (atomic_load_explicit(&state, memory_order_acquire) == UNDECIDED)
		pthread_once(&once, decide);
	return atomic_load_explicit(&state, memory_order_acquire) == ON ? &row : NULL;
}

/* The ranks 0 to n-1 of @group in MPI_COMM_WORLD. */
static int translate_group(MPI_Group group, int n, int *world)
{
	int *ranks = malloc((size_t)n * sizeof(*ranks));
	MPI_Group all;
	int err;

	if (!ranks)
		return -1;
	for (int i = 0; i < n; i++)
		ranks[i] = i;
	err = PMPI_Comm_group(MPI_COMM_WORLD, &all);
	if (!err) {
		err = PMPI_Group_translate_ranks(group, n, ranks, all, world);
		PMPI_Group_free(&all);
	}
	free(ranks);
	return err ? -1 : 0;
}

static struct translation *make_translation(MPI_Comm comm)
{
	struct translation *t;
	MPI_Group group;
	int is_inter, size;

	PMPI_Comm_test_inter(comm, &is_inter);
	if (is_inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group))
		return NULL;
	PMPI_Group_size(group, &size);
	t = malloc(sizeof(*t) + (size_t)size * sizeof(*t->world));
	if (t) {
		t->size = size;
		t->is_inter = is_inter;
		PMPI_Comm_rank(comm, &t->rank);
		if (translate_group(group, size, t->world) ||
		    PMPI_Comm_set_attr(comm, keyval, t)) {
			free(t);
			t = NULL;
		}
	}
	PMPI_Group_free(&group);
	return t;
}

static struct translation *get_translation(MPI_Comm comm)
{
	struct translation *t = NULL;
	int found = 0;

	if (PMPI_Comm_get_attr(comm, keyval, &t, &found))
		return NULL;
	if (found)
		return t;
	pthread_mutex_lock(&lock);
	/* Another thread may have been quicker. */
	if (PMPI_Comm_get_attr(comm, keyval, &t, &found) || !found)
		t = make_translation(comm);
	pthread_mutex_unlock(&lock);
	return t;
}

int record_begin(struct record_call *call, enum record_kind kind, MPI_Comm comm,
		 struct record_flows *flows)
{
	struct record_row *r = record_row();
	struct translation *t;

	if (!r)
		return 0;
	*call = (struct record_call){ .rank = r->rank, .size = r->size, .kind = kind,
				      .flows = flows };
	if (comm == MPI_COMM_WORLD)
		return 1;
	t = get_translation(comm);
	if (!t) {
		atomic_fetch_add_explicit(&r->lost, 1, memory_order_relaxed);
		return 0;
	}
	call->rank = t->rank;
	call->size = t->size;
	call->world = t->world;
	return kind == RECORD_SENDS || !t->is_inter;
}

static void add(const struct record_flow *flow)
{
	struct record_cell *cell;

	if (flow->to == MPI_UNDEFINED) {
		atomic_fetch_add_explicit(&row.outside, 1, memory_order_relaxed);
		return;
	}
	cell = &row.cells[flow->kind][flow->to];
	atomic_fetch_add_explicit(&cell->messages, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&cell->bytes, flow->bytes, memory_order_relaxed);
}

static void note(struct record_flows *flows, const struct record_flow *flow)
{
	void *more = realloc(flows->flow, (flows->n + 1) * sizeof(*flow));

	if (!more) {
		atomic_fetch_add_explicit(&row.lost, 1, memory_order_relaxed);
		return;
	}
	flows->flow = more;
	flows->flow[flows->n++] = *flow;
}

void record_flow(const struct record_call *call, int to, uint64_t bytes)
{
	struct record_flow flow = { .kind = call->kind, .bytes = bytes };

	if (to < 0 || to >= call->size)
		return;
	flow.to = call->world ? call->world[to] : to;
	if (call->flows)
		note(call->flows, &flow);
	else
		add(&flow);
}

void record_replay(const struct record_flows *flows)
{
	for (size_t i = 0; i < flows->n; i++)
		add(&flows->flow[i]);
}

uint64_t record_bytes(MPI_Count count, MPI_Datatype type)
{
	MPI_Count size = 0;

	if (count <= 0 || PMPI_Type_size_x(type, &size) || size <= 0)
		return 0;
	return (uint64_t)count * (uint64_t)size;
}
