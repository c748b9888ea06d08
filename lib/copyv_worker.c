// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * copyv_worker - threads that make copies in the background, where no kernel
 * worker can: one for each CPU that was asked for, until the transfer is closed
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "region.h"

struct copyv_worker {
	int cpu;
	pthread_t thread;
	pthread_mutex_t lock;		/* of the row and @is_over */
	pthread_cond_t more;
	STAILQ_HEAD(, sonde_copyv_batch) row;
	int is_over;
	LIST_ENTRY(copyv_worker) link;
};

static struct sonde_copyv_batch *next_batch(struct copyv_worker *worker)
{
	struct sonde_copyv_batch *batch;

	pthread_mutex_lock(&worker->lock);
	while (!(batch = STAILQ_FIRST(&worker->row)) && !worker->is_over)
		pthread_cond_wait(&worker->more, &worker->lock);
	if (batch)
		STAILQ_REMOVE_HEAD(&worker->row, link);
	pthread_mutex_unlock(&worker->lock);
	return batch;
}

static void *work(void *arg)
{
	struct sonde_copyv_batch *batch;

	while ((batch = next_batch(arg))) {
		const int fd = batch->fd;

		sonde_copyv(batch->transfer, batch->copies, batch->n);
		atomic_store_explicit(&batch->status, SONDE_STATUS_COMPLETE | (uint32_t)batch->n,
				      memory_order_release);
		eventfd_write(fd, 1);
	}
	return NULL;
}

/* On its CPU from the begin, and without the program's signals. */
static int start_thread(struct copyv_worker *worker)
{
	sigset_t all, before;
	pthread_attr_t attr;
	cpu_set_t set;
	int err;

	CPU_ZERO(&set);
	CPU_SET((size_t)worker->cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&worker->thread, &attr, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static int make_worker(int cpu, struct copyv_worker **out)
{
	struct copyv_worker *worker = calloc(1, sizeof(*worker));
	int err;

	if (!worker)
		return -ENOMEM;
	worker->cpu = cpu;
	STAILQ_INIT(&worker->row);
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->more, NULL);
	err = start_thread(worker);
	if (err) {
		free(worker);
		return err;
	}
	*out = worker;
	return 0;
}

static int get_worker(struct sonde_transfer *t, int cpu, struct copyv_worker **out)
{
	struct copyv_worker *worker;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	LIST_FOREACH(worker, &t->workers, link)
		if (worker->cpu == cpu)
			break;
	if (!worker) {
		err = make_worker(cpu, &worker);
		if (!err)
			LIST_INSERT_HEAD(&t->workers, worker, link);
	}
	pthread_mutex_unlock(&t->lock);
	*out = worker;
	return err;
}

int copyv_worker_start(struct sonde_copyv_batch *batch)
{
	struct copyv_worker *worker = NULL;
	int err = get_worker(batch->transfer, batch->cpu, &worker);

	if (err)
		return err;
	pthread_mutex_lock(&worker->lock);
	STAILQ_INSERT_TAIL(&worker->row, batch, link);
	pthread_cond_signal(&worker->more);
	pthread_mutex_unlock(&worker->lock);
	return 0;
}

void copyv_worker_close_all(struct sonde_transfer *t)
{
	struct copyv_worker *worker;

	while ((worker = LIST_FIRST(&t->workers))) {
		LIST_REMOVE(worker, link);
		pthread_mutex_lock(&worker->lock);
		worker->is_over = 1;
		pthread_cond_signal(&worker->more);
		pthread_mutex_unlock(&worker->lock);
		pthread_join(worker->thread, NULL);
		pthread_mutex_destroy(&worker->lock);
		pthread_cond_destroy(&worker->more);
		free(worker);
	}
}
