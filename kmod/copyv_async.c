// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_COPYV_ASYNC: batches of copies that a kernel worker makes.
 *
 * All that a worker touches is pinned by the caller first: the caller's memory,
 * the array for its results and the status word. So a worker never takes a
 * fault, which user space could keep from ending (userfaultfd, FUSE), and
 * closing the file can wait for it. For the same reason it does not settle
 * doubts about a region, as that looks into the owner's page tables: such a
 * copy is refused with EAGAIN.
 */
#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "sonde.h"
#include "copyv.h"

/**
 * struct sonde_queue - what an open file has queued
 * @lock: protects @pending
 * @pending: jobs that have not ended
 * @is_closing: no more copies are to be made
 * @idle: when @pending becomes 0
 */
struct sonde_queue {
	spinlock_t lock;
	unsigned int pending;
	bool is_closing;
	wait_queue_head_t idle;
};

/**
 * struct piece - a copy of a job
 * @file: of the region; NULL if the copy was refused: then @result says why
 * @local: the caller's memory
 * @offset: in the region
 * @to_region: the direction
 * @result: for struct sonde_copy
 */
struct piece {
	struct file *file;
	struct sonde_pinned local;
	unsigned long offset;
	bool to_region;
	s64 result;
};

/**
 * struct job - one call
 * @work: in the workqueue
 * @queue: of the open file, which waits for the job
 * @eventfd: or NULL
 * @array: the caller's array of struct sonde_copy
 * @status: the caller's status word
 * @npieces: entries of @pieces
 * @pieces: the copies
 */
struct job {
	struct work_struct work;
	struct sonde_queue *queue;
	struct eventfd_ctx *eventfd;
	struct sonde_pinned array;
	struct sonde_pinned status;
	u32 npieces;
	struct piece pieces[];
};

static struct workqueue_struct *workers;

/**
 * sonde_async_init() - make the workers, bound to their CPUs
 *
 * Return: 0 or -ENOMEM.
 */
int __init sonde_async_init(void)
{
	workers = alloc_workqueue("sonde",
				  WQ_CPU_INTENSIVE | SONDE_WQ_PERCPU, 0);
	return workers ? 0 : -ENOMEM;
}

/** sonde_async_exit() - no file is open, so nothing is queued */
void sonde_async_exit(void)
{
	destroy_workqueue(workers);
}

/**
 * sonde_queue_create() - for a file that is being opened
 *
 * Return: empty; NULL if there is no memory.
 */
struct sonde_queue *sonde_queue_create(void)
{
	struct sonde_queue *queue = kzalloc(sizeof(*queue), GFP_KERNEL_ACCOUNT);

	if (!queue)
		return NULL;
	spin_lock_init(&queue->lock);
	init_waitqueue_head(&queue->idle);
	return queue;
}

static bool is_idle(struct sonde_queue *queue)
{
	bool idle;

	spin_lock(&queue->lock);
	idle = !queue->pending;
	spin_unlock(&queue->lock);
	return idle;
}

/**
 * sonde_queue_destroy() - a file is closed: cancel what is queued, and wait
 * @queue: or NULL
 */
void sonde_queue_destroy(struct sonde_queue *queue)
{
	if (!queue)
		return;
	WRITE_ONCE(queue->is_closing, true);
	wait_event(queue->idle, is_idle(queue));
	kfree(queue);
}

static int enter_queue(struct sonde_queue *queue)
{
	int ret = 0;

	spin_lock(&queue->lock);
	if (queue->pending < SONDE_COPYV_QUEUED)
		queue->pending++;
	else
		ret = -EAGAIN;
	spin_unlock(&queue->lock);
	return ret;
}

/* The last that touches the queue: it may be gone when the lock is. */
static void leave_queue(struct sonde_queue *queue)
{
	spin_lock(&queue->lock);
	if (!--queue->pending)
		wake_up(&queue->idle);
	spin_unlock(&queue->lock);
}

/* ---- the job ------------------------------------------------------------ */

static void free_piece(struct piece *piece)
{
	if (piece->local.runs)
		sonde_unpin(&piece->local, !piece->to_region);
	if (piece->file)
		fput(piece->file);
}

static void free_job(struct job *job)
{
	u32 i;

	for (i = 0; i < job->npieces; i++) {
		free_piece(&job->pieces[i]);
		cond_resched();
	}
	if (job->status.runs)
		sonde_unpin(&job->status, true);
	if (job->array.runs)
		sonde_unpin(&job->array, true);
	if (job->eventfd)
		eventfd_ctx_put(job->eventfd);
	kvfree(job);
}

/* Writes to what the caller pinned, which may begin anywhere. */
static void write_pinned(const struct sonde_pinned *p, unsigned long offset,
			 const void *from, unsigned long len)
{
	const struct sonde_run *run = sonde_run_find(p, offset);
	unsigned long n;

	for (;; run++) {
		n = min(len, run->end - offset);
		memcpy((void *)(run->base + offset), from, n);
		len -= n;
		if (!len)
			return;
		offset += n;
		from += n;
	}
}

/* ---- the worker --------------------------------------------------------- */

static int may_go_on(const struct sonde_queue *queue,
		     const struct sonde_region *r)
{
	int state = READ_ONCE(r->state);

	if (READ_ONCE(queue->is_closing))
		return -ECANCELED;
	return state == SONDE_REGION_IN_DOUBT ? -EAGAIN : state;
}

/* As sonde_region_copy(). Both sides may be the same memory. */
static s64 copy_piece(const struct sonde_queue *queue, const struct piece *p)
{
	struct sonde_region *r = sonde_region_of(p->file);
	const struct sonde_run *far = sonde_run_find(&r->pinned, p->offset);
	const struct sonde_run *near = p->local.runs;
	unsigned long done = 0, at = p->offset, n;
	void *there, *here;
	int ret;

	if (p->to_region)
		sonde_region_mark_dirty(r);
	while (done < p->local.len) {
		ret = may_go_on(queue, r);
		if (ret)
			return done ?: ret;
		n = min3(far->end - at, near->end - done, SONDE_STEP);
		n = min(n, p->local.len - done);
		there = (void *)(far->base + at);
		here = (void *)(near->base + done);
		memmove(p->to_region ? there : here,
			p->to_region ? here : there, n);
		done += n;
		at += n;
		far += at == far->end;
		near += done == near->end;
		cond_resched();
	}
	return done;
}

static void tell_result(const struct job *job, u32 i)
{
	write_pinned(&job->array, i * sizeof(struct sonde_copy) +
		     offsetof(struct sonde_copy, result),
		     &job->pieces[i].result, sizeof(s64));
}

static void tell_end(const struct job *job)
{
	u64 *status = (u64 *)job->status.runs[0].base;

	/* Who sees the status sees the results and what was copied. */
	smp_store_release(status, SONDE_STATUS_COMPLETE | job->npieces);
	if (job->eventfd)
		sonde_eventfd_signal(job->eventfd);
}

static void do_job(struct work_struct *work)
{
	struct job *job = container_of(work, struct job, work);
	struct sonde_queue *queue = job->queue;
	u32 i;

	for (i = 0; i < job->npieces; i++) {
		struct piece *piece = &job->pieces[i];

		if (piece->file)
			piece->result = copy_piece(queue, piece);
		tell_result(job, i);
		cond_resched();
	}
	tell_end(job);
	free_job(job);
	leave_queue(queue);
}

/* ---- the call ----------------------------------------------------------- */

/* The file of a region that may be used so, counted; or the result. */
static s64 get_region(const struct sonde_copy *c,
		      const struct sonde_batches *batches, bool has_slots,
		      struct file **out)
{
	struct file *file;
	int ret;

	if (c->flags & ~(SONDE_COPY_SLOT | SONDE_COPY_WRITE))
		return -EINVAL;
	if (!(c->flags & SONDE_COPY_SLOT)) {
		file = fget(c->region);
	} else {
		file = has_slots ? sonde_slot(batches, c->region) : NULL;
		if (file)
			get_file(file);
	}
	if (!file)
		return -EBADF;
	ret = sonde_copy_check(c, file);
	if (!ret)
		ret = sonde_region_check(sonde_region_of(file));
	if (ret) {
		fput(file);
		return ret;
	}
	*out = file;
	return 0;
}

static int pin_local(struct sonde_pinned *p, u64 addr, u64 len, bool is_written)
{
	const unsigned int flags = is_written ? FOLL_WRITE : 0;

	if (!access_ok((void __user *)addr, len))
		return -EFAULT;
	return sonde_pin(p, addr, len, flags, flags);
}

/* Whatever is wrong with it is its result. */
static void make_piece(struct piece *piece, const struct sonde_copy *c,
		       const struct sonde_batches *batches, bool has_slots)
{
	struct file *file;

	piece->to_region = c->flags & SONDE_COPY_WRITE;
	piece->offset = c->offset;
	piece->result = get_region(c, batches, has_slots, &file);
	if (piece->result)
		return;
	if (c->len)
		piece->result = pin_local(&piece->local, c->addr, c->len,
					  !piece->to_region);
	if (piece->result || !c->len)
		fput(file);
	else
		piece->file = file;
}

static int make_pieces(struct job *job, const struct sonde_copyv *args,
		       const struct sonde_batches *batches, bool has_slots)
{
	const struct sonde_copy __user *ucopies = u64_to_user_ptr(args->copies);
	struct sonde_copy c;
	u32 i;

	for (i = 0; i < job->npieces; i++) {
		if (copy_from_user(&c, ucopies + i, sizeof(c)))
			return -EFAULT;
		make_piece(&job->pieces[i], &c, batches, has_slots);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int make_all_pieces(struct job *job, const struct sonde_copyv *args,
			   struct sonde_batches *batches)
{
	struct srcu_struct *srcu = sonde_slots_srcu(batches);
	int index, ret;

	if (!srcu)
		return make_pieces(job, args, batches, false);
	index = srcu_read_lock(srcu);
	ret = make_pieces(job, args, batches, true);
	srcu_read_unlock(srcu, index);
	return ret;
}

static int get_eventfd(struct job *job, int fd)
{
	struct eventfd_ctx *ctx;

	if (fd == -1)
		return 0;
	ctx = eventfd_ctx_fdget(fd);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	job->eventfd = ctx;
	return 0;
}

static int prepare_job(struct job *job, const struct sonde_copyv *args,
		       struct sonde_batches *batches)
{
	int ret = get_eventfd(job, args->eventfd);

	if (!ret)
		ret = pin_local(&job->status, args->status, sizeof(u64), true);
	if (!ret)
		ret = pin_local(&job->array, args->copies,
				args->ncopies * sizeof(struct sonde_copy),
				true);
	return ret ?: make_all_pieces(job, args, batches);
}

static int check_async(const struct sonde_copyv *args)
{
	if (!args->ncopies || args->status % sizeof(u64))
		return -EINVAL;
	if (args->cpu >= nr_cpu_ids || !cpu_online(args->cpu))
		return -EINVAL;
	return cpumask_test_cpu(args->cpu, current->cpus_ptr) ? 0 : -EPERM;
}

/**
 * sonde_copyv_async() - queue a batch of copies
 * @sf: the open file
 * @args: what the caller wants, with SONDE_COPYV_ASYNC and at most
 *	SONDE_COPYV_COPIES
 *
 * Return: 0, and all will be done or cancelled; or an error of the call.
 */
int sonde_copyv_async(const struct sonde_file *sf,
		      const struct sonde_copyv *args)
{
	struct job *job;
	int ret = check_async(args);

	if (!ret)
		ret = enter_queue(sf->queue);
	if (ret)
		return ret;
	job = kvzalloc(struct_size(job, pieces, args->ncopies),
		       GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!job) {
		ret = -ENOMEM;
		goto leave;
	}
	INIT_WORK(&job->work, do_job);
	job->queue = sf->queue;
	job->npieces = args->ncopies;
	ret = prepare_job(job, args, sf->batches);
	if (ret)
		goto free;
	queue_work_on(args->cpu, workers, &job->work);
	return 0;

free:
	free_job(job);
leave:
	leave_queue(sf->queue);
	return ret;
}
