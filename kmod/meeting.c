// SPDX-License-Identifier: GPL-2.0-only
/*
 * meeting - threads that work at the same time, each bound to a CPU
 *
 * The caller waits until all have ended, or is killed and makes them end, so no
 * thread outlives the call. The threads are ordinary ones: nobody on their CPUs
 * is kept from running. Where a CPU goes offline its thread is moved away by the
 * kernel, which the thread sees (slice.c) and gives up.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>

#include "compat.h"
#include "core.h"
#include "measure.h"

struct member {
	struct sonde_meeting *meeting;
	unsigned int number;
	struct task_struct *task;
};

/**
 * sonde_check_cpu() - may the caller measure there?
 * @cpu: a number from user space
 *
 * Return: 0, -EINVAL (no such CPU, or offline) or -EPERM (the caller's affinity,
 * which its cpuset bounds, leaves it out).
 */
int sonde_check_cpu(unsigned int cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;
	return cpumask_test_cpu(cpu, current->cpus_ptr) ? 0 : -EPERM;
}

/**
 * sonde_meeting_give_up() - make all end
 * @m: the meeting
 * @err: why; the first reason stays
 */
void sonde_meeting_give_up(struct sonde_meeting *m, int err)
{
	atomic_cmpxchg(&m->err, 0, err);
}

/**
 * sonde_meeting_wait() - is there still somebody to wait for?
 * @m: the meeting
 * @count: one of the meeting's; who asks has counted itself
 * @deadline: of the counter, after which the meeting gives up
 *
 * The acquire pairs with the full barrier of sonde_meeting_count(): what the
 * others did before is seen by who goes on.
 *
 * Return: true while somebody is missing and nobody has given up.
 */
bool sonde_meeting_wait(struct sonde_meeting *m, atomic_t *count, u64 deadline)
{
	if (atomic_read_acquire(count) == m->n || sonde_meeting_err(m))
		return false;
	if (core_ticks() < deadline)
		return true;
	sonde_meeting_give_up(m, -EAGAIN);
	return false;
}

static int run_member(void *arg)
{
	struct member *member = arg;
	struct sonde_meeting *m = member->meeting;

	m->work(m, member->number, m->ctx);
	if (atomic_dec_and_test(&m->running))
		complete(&m->ended);
	return 0;
}

static int make_thread(struct member *member, unsigned int cpu)
{
	struct task_struct *task;

	task = kthread_create_on_node(run_member, member, cpu_to_node(cpu),
				      "sonde/%u", cpu);
	if (IS_ERR(task))
		return PTR_ERR(task);
	kthread_bind(task, cpu);
	/* It may end before sonde_meeting_run() asks it to. */
	get_task_struct(task);
	member->task = task;
	return 0;
}

static void end_thread(struct member *member)
{
	if (!member->task)
		return;
	kthread_stop(member->task);
	put_task_struct(member->task);
}

/**
 * sonde_meeting_run() - have threads work until all are done
 * @m: .n, .work and .ctx are set; the rest is filled in here
 * @cpus: where each runs; sonde_check_cpu() has passed each
 *
 * Return: 0, -ENOMEM, -EINTR (a fatal signal), or what one gave up for.
 */
int sonde_meeting_run(struct sonde_meeting *m, const unsigned int *cpus)
{
	struct member *members;
	unsigned int i;
	int ret = 0;

	members = kvcalloc(m->n, sizeof(*members), GFP_KERNEL_ACCOUNT);
	if (!members)
		return -ENOMEM;
	atomic_set(&m->started, 0);
	atomic_set(&m->come, 0);
	atomic_set(&m->finished, 0);
	atomic_set(&m->running, m->n);
	atomic_set(&m->err, 0);
	init_completion(&m->ended);

	for (i = 0; i < m->n && !ret; i++) {
		members[i].meeting = m;
		members[i].number = i;
		ret = make_thread(&members[i], cpus[i]);
	}
	for (i = 0; i < m->n && !ret; i++)
		wake_up_process(members[i].task);
	if (!ret)
		ret = wait_for_completion_killable(&m->ended) ? -EINTR : 0;
	if (ret)
		sonde_meeting_give_up(m, ret);
	for (i = 0; i < m->n; i++)
		end_thread(&members[i]);
	kvfree(members);
	return sonde_meeting_err(m);
}
