// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Messages by MPI. Processes of a node have bells in memory that they share, and are
 * rung when something was sent to them, so waiting costs nobody a processor; from other
 * nodes MPI brings messages only when it is looked at. Beside its bell each process holds a
 * robust mutex: the kernel tells whoever tries it that its holder ended, or became another
 * program by exec(), which keeps its number.
 */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "share.h"
#include "transport.h"

#define TAG		1
#define NODE_NS		20000000	/* between two looks where all ring */
#define FAR_NS		200000		/* where some cannot */
#define PENDING_NS	50000		/* where something is not sent yet */
#define LINE		64
#define KILLED_NS	10000000000	/* until another's end of the job must have come */

struct outgoing {
	struct outgoing *next;
	MPI_Request request;
	uint8_t *data;
};

/* In memory of the node; each process's parts have lines of their own. */
struct place {
	union {
		struct dsm_bell bell;
		uint8_t bell_line[LINE];
	};
	union {
		pthread_mutex_t life;
		uint8_t life_line[LINE];
	};
};

struct mpi {
	struct dsm_transport t;
	MPI_Comm comm, node;
	MPI_Win window;
	pthread_t thread;
	struct place *own, **places;	/* NULL: on another node */
	struct outgoing *out, **out_end;
	bool is_ours, all_ring;
};

static struct mpi *mpi_of(struct dsm_transport *t)
{
	return (struct mpi *)t;
}

/* In order: those behind one that is under way are mostly, too. */
static void reap(struct mpi *m)
{
	while (m->out) {
		struct outgoing *o = m->out;
		int done;

		MPI_Test(&o->request, &done, MPI_STATUS_IGNORE);
		if (!done)
			return;
		m->out = o->next;
		if (!m->out)
			m->out_end = &m->out;
		free(o->data);
		free(o);
	}
}

static int send(struct dsm_transport *t, uint32_t to, uint8_t *data, size_t len)
{
	struct mpi *m = mpi_of(t);
	struct outgoing *o = malloc(sizeof(*o));

	if (!o) {
		free(data);
		return -ENOMEM;
	}
	*o = (struct outgoing){ .data = data };
	if (MPI_Isend(data, (int)len, MPI_BYTE, (int)to, TAG, m->comm, &o->request)) {
		free(data);
		free(o);
		return -EIO;
	}
	*m->out_end = o;
	m->out_end = &o->next;
	if (m->places[to])
		dsm_bell_ring(&m->places[to]->bell);
	reap(m);
	return 0;
}

static int receive(struct dsm_transport *t, uint8_t **data, size_t *len, uint32_t *from)
{
	struct mpi *m = mpi_of(t);
	MPI_Status status;
	int found, n;

	reap(m);
	if (MPI_Iprobe(MPI_ANY_SOURCE, TAG, m->comm, &found, &status))
		return -EIO;
	if (!found)
		return 0;
	MPI_Get_count(&status, MPI_BYTE, &n);
	*data = malloc(n > 0 ? (size_t)n : 1);
	if (!*data)
		return -ENOMEM;
	*len = (size_t)n;
	*from = (uint32_t)status.MPI_SOURCE;
	if (MPI_Recv(*data, n, MPI_BYTE, status.MPI_SOURCE, TAG, m->comm, MPI_STATUS_IGNORE)) {
		free(*data);
		return -EIO;
	}
	return 1;
}

static int64_t patience(struct dsm_transport *t)
{
	struct mpi *m = mpi_of(t);

	if (m->out)
		return PENDING_NS;
	return m->all_ring ? NODE_NS : FAR_NS;
}

/* It is never made consistent again, so everybody gets an answer other than EBUSY. */
static bool has_ended(struct place *place)
{
	int err = place ? pthread_mutex_trylock(&place->life) : EBUSY;

	if (err == EOWNERDEAD)
		pthread_mutex_unlock(&place->life);
	return err != EBUSY;
}

/*
 * Of those that live on this node the first one says so, and the launcher ends the job;
 * the others wait for that.
 */
static int check(struct dsm_transport *t, uint32_t *who)
{
	struct mpi *m = mpi_of(t);
	bool is_first = true;

	for (uint32_t i = 0; i < t->processes; i++) {
		const struct timespec long_enough = { .tv_sec = KILLED_NS / 1000000000 };

		if (i == t->self || !has_ended(m->places[i])) {
			is_first &= i == t->self || !m->places[i] || i > t->self;
			continue;
		}
		for (uint32_t j = i + 1; j < t->self; j++)
			is_first &= !m->places[j] || has_ended(m->places[j]);
		*who = i;
		if (is_first)
			return -EOWNERDEAD;
		nanosleep(&long_enough, NULL);
		_exit(1);
	}
	return 0;
}

static void destroy(struct dsm_transport *t)
{
	struct mpi *m = mpi_of(t);

	while (m->out)
		reap(m);
	/* Nobody's bell goes away while another may still ring it, or look whether we live. */
	MPI_Barrier(m->comm);
	pthread_mutex_unlock(&m->own->life);
	MPI_Win_unlock_all(m->window);
	MPI_Win_free(&m->window);
	MPI_Comm_free(&m->node);
	MPI_Comm_free(&m->comm);
	free(m->places);
	if (m->is_ours)
		MPI_Finalize();
	free(m);
}

static void end_all(struct dsm_transport *t)
{
	struct mpi *m = mpi_of(t);

	if (pthread_equal(pthread_self(), m->thread))
		MPI_Abort(m->comm, 1);
}

/* Sockets go by ranks of the node. */
static int share_near(struct mpi *m, int fd, int *fds, int self, int n)
{
	uint64_t nonce[2] = { 0 };
	int sock = -EIO, failed, any;

	if (!self && getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		nonce[0] = nonce[1] = 0;
	MPI_Bcast(nonce, 2, MPI_UINT64_T, 0, m->node);
	if (nonce[0] | nonce[1])
		sock = dsm_share_open(nonce, (uint32_t)self);
	/* Everybody's name is there, or nobody sends anything. */
	failed = sock < 0;
	MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, m->node);
	if (!any) {
		int err = dsm_share(sock, nonce, (uint32_t)self, (uint32_t)n, fd, fds);

		close(sock);
		return err;
	}
	if (!failed)
		close(sock);
	return failed ? sock : -EIO;
}

static int share(struct dsm_transport *t, int fd, int *fds)
{
	struct mpi *m = mpi_of(t);
	int n, self, err, at = 0, *near;

	MPI_Comm_size(m->node, &n);
	MPI_Comm_rank(m->node, &self);
	near = malloc((size_t)n * sizeof(*near));
	if (!near)
		return -ENOMEM;
	err = share_near(m, fd, near, self, n);
	/* Ranks of the node are in the order of ours. */
	for (uint32_t i = 0; i < t->processes; i++)
		fds[i] = !err && m->places[i] ? near[at++] : -1;
	free(near);
	return err;
}

static const struct dsm_transport_ops ops = {
	.send = send, .receive = receive, .patience = patience, .check = check, .share = share,
	.destroy = destroy, .abort = end_all,
};

static int begin_mpi(struct mpi *m, char *why, size_t len)
{
	int begun, level;

	MPI_Initialized(&begun);
	m->is_ours = !begun;
	if (begun) {
		MPI_Query_thread(&level);
		if (level == MPI_THREAD_MULTIPLE)
			return 0;
		snprintf(why, len, "MPI was begun without MPI_THREAD_MULTIPLE: do that, or call "
			 "sonde_dsm_init() first");
		return -ENOTSUP;
	}
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level))
		return -EIO;
	return 0;
}

static int find_peers(struct mpi *m)
{
	MPI_Group all, near;
	int n, *of_node, *of_all;

	m->places = calloc(m->t.processes, sizeof(*m->places));
	MPI_Comm_size(m->node, &n);
	of_node = calloc((size_t)n, sizeof(*of_node));
	of_all = calloc((size_t)n, sizeof(*of_all));
	if (!m->places || !of_node || !of_all) {
		free(of_node);
		free(of_all);
		return -ENOMEM;
	}
	MPI_Comm_group(m->comm, &all);
	MPI_Comm_group(m->node, &near);
	for (int i = 0; i < n; i++)
		of_node[i] = i;
	MPI_Group_translate_ranks(near, n, of_node, all, of_all);
	for (int i = 0; i < n; i++) {
		MPI_Aint size;
		int unit;

		MPI_Win_shared_query(m->window, i, &size, &unit, &m->places[of_all[i]]);
	}
	m->all_ring = (uint32_t)n == m->t.processes;
	MPI_Group_free(&all);
	MPI_Group_free(&near);
	free(of_node);
	free(of_all);
	return 0;
}

/* Held by this thread as long as there is the transport. */
static int hold_life(struct mpi *m)
{
	pthread_mutexattr_t attr;
	int err;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	err = pthread_mutex_init(&m->own->life, &attr);
	pthread_mutexattr_destroy(&attr);
	return -(err ? err : pthread_mutex_lock(&m->own->life));
}

/* Of the first process: when, and which. */
static uint64_t make_job(struct mpi *m)
{
	struct timespec now;
	uint64_t job;

	clock_gettime(CLOCK_REALTIME, &now);
	job = (uint64_t)now.tv_sec << 32 ^ (uint64_t)now.tv_nsec << 16 ^ (uint64_t)getpid();
	MPI_Bcast(&job, 1, MPI_UINT64_T, 0, m->comm);
	return job;
}

int dsm_mpi_create(struct dsm_transport **transport, char *why, size_t len)
{
	struct mpi *m = calloc(1, sizeof(*m));
	int err, n, self;

	if (!m)
		return -ENOMEM;
	err = begin_mpi(m, why, len);
	if (err) {
		free(m);
		return err;
	}
	m->thread = pthread_self();
	m->out_end = &m->out;
	MPI_Comm_dup(MPI_COMM_WORLD, &m->comm);
	MPI_Comm_size(m->comm, &n);
	MPI_Comm_rank(m->comm, &self);
	m->t = (struct dsm_transport){ .ops = &ops, .processes = (uint32_t)n,
				       .self = (uint32_t)self };
	MPI_Comm_split_type(m->comm, MPI_COMM_TYPE_SHARED, self, MPI_INFO_NULL, &m->node);
	MPI_Win_allocate_shared(sizeof(*m->own), 1, MPI_INFO_NULL, m->node, &m->own, &m->window);
	MPI_Win_lock_all(MPI_MODE_NOCHECK, m->window);
	m->t.bell = &m->own->bell;
	atomic_store(&m->t.bell->rung, 0);
	atomic_store(&m->t.bell->asleep, 0);
	err = hold_life(m);
	MPI_Barrier(m->node);
	m->t.job = make_job(m);
	if (!err)
		err = find_peers(m);
	if (err)
		MPI_Abort(m->comm, 1);
	*transport = &m->t;
	return 0;
}

bool dsm_mpi_agree(struct dsm_transport *transport, bool good, uint64_t value)
{
	struct mpi *m = mpi_of(transport);
	uint64_t mine[3] = { !good, value, ~value }, most[3];

	MPI_Allreduce(mine, most, 3, MPI_UINT64_T, MPI_MAX, m->comm);
	return !most[0] && most[1] == value && most[2] == ~value;
}
