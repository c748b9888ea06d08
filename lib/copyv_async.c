// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * copyv_async - batches that are begun, and waited for later
 *
 * Whoever makes the copies writes the batch's status, then its eventfd. A batch
 * that was waited for is kept for the next one, as its eventfd costs more than it.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "region.h"

/* The CPU, or -errno. */
static int choose_cpu(int cpu)
{
	int here = sched_getcpu();
	cpu_set_t allowed;

	if (cpu < -1 || cpu >= CPU_SETSIZE)
		return -EINVAL;
	if (here < 0 || sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	if (cpu >= 0)
		return CPU_ISSET((size_t)cpu, &allowed) ? cpu : -EPERM;
	for (int i = 1; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)(here + i) % CPU_SETSIZE, &allowed))
			return (here + i) % CPU_SETSIZE;
	return here;
}

/* NULL: errno says why. */
static struct sonde_copyv_batch *make_batch(void)
{
	struct sonde_copyv_batch *batch = aligned_alloc(alignof(struct sonde_copyv_batch),
							sizeof(*batch));

	if (!batch)
		return NULL;
	*batch = (struct sonde_copyv_batch){ .fd = eventfd(0, EFD_CLOEXEC) };
	if (batch->fd >= 0)
		return batch;
	free(batch);
	return NULL;
}

static struct sonde_copyv_batch *get_batch(struct sonde_transfer *t)
{
	struct sonde_copyv_batch *batch;

	pthread_mutex_lock(&t->lock);
	batch = STAILQ_FIRST(&t->idle);
	if (batch)
		STAILQ_REMOVE_HEAD(&t->idle, link);
	pthread_mutex_unlock(&t->lock);
	return batch ? batch : make_batch();
}

static void put_batch(struct sonde_copyv_batch *batch)
{
	struct sonde_transfer *t = batch->transfer;

	pthread_mutex_lock(&t->lock);
	STAILQ_INSERT_HEAD(&t->idle, batch, link);
	pthread_mutex_unlock(&t->lock);
}

void copyv_async_close(struct sonde_transfer *t)
{
	struct sonde_copyv_batch *batch;

	while ((batch = STAILQ_FIRST(&t->idle))) {
		STAILQ_REMOVE_HEAD(&t->idle, link);
		close(batch->fd);
		free(batch);
	}
}

static int is_for_module(const struct sonde_copyv_batch *batch)
{
	if (batch->n > SONDE_COPYV_COPIES)
		return 0;
	for (size_t i = 0; i < batch->n; i++)
		if (batch->copies[i].region->ops != &region_module ||
		    region_check_copy(&batch->copies[i]))
			return 0;
	return 1;
}

int sonde_copyv_start(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n,
		      int cpu, struct sonde_copyv_batch **out)
{
	struct sonde_copyv_batch *batch;
	int err = 0;

	if (!n)
		return -EINVAL;
	cpu = choose_cpu(cpu);
	if (cpu < 0)
		return cpu;
	batch = get_batch(t);
	if (!batch)
		return -errno;
	batch->transfer = t;
	batch->copies = copies;
	batch->n = n;
	batch->cpu = cpu;
	atomic_store_explicit(&batch->status, 0, memory_order_relaxed);
	/* What the module cannot take a thread can. */
	if (!is_for_module(batch) || region_module_start(batch))
		err = copyv_worker_start(batch);
	if (err)
		put_batch(batch);
	else
		*out = batch;
	return err;
}

int sonde_copyv_test(const struct sonde_copyv_batch *batch)
{
	return !!(atomic_load_explicit(&batch->status, memory_order_acquire) &
		  SONDE_STATUS_COMPLETE);
}

int sonde_copyv_fd(const struct sonde_copyv_batch *batch)
{
	return batch->fd;
}

size_t sonde_copyv_wait(struct sonde_copyv_batch *batch)
{
	size_t whole = 0;
	eventfd_t count;

	while (eventfd_read(batch->fd, &count) && errno == EINTR)
		;
	if (batch->module)
		region_module_finish(batch);
	for (size_t i = 0; i < batch->n; i++)
		whole += batch->copies[i].result >= 0 &&
			 (size_t)batch->copies[i].result == batch->copies[i].len;
	put_batch(batch);
	return whole;
}
