// SPDX-License-Identifier: GPL-2.0-only
/*
 * RLIMIT_MEMLOCK, for memory and regions.
 *
 * Charged to the user, as io_uring and AF_XDP do it: an mm would forget the
 * charge at exec(), and would have to outlive its process. The credentials are
 * held because they hold the user.
 */
#include <linux/atomic.h>
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "sonde.h"

/**
 * sonde_count_below() - count more of something that is bounded
 * @count: how many there are
 * @n: how many more; with @limit at most LONG_MAX
 * @limit: the most there may be
 *
 * The bound is not passed for a moment either: who asks for too much must not
 * be the reason that others are refused.
 *
 * Return: whether they were counted.
 */
bool sonde_count_below(atomic_long_t *count, unsigned long n,
		       unsigned long limit)
{
	long now = atomic_long_read(count);

	do {
		if (now + n > limit)
			return false;
	} while (!atomic_long_try_cmpxchg(count, &now, now + n));
	return true;
}

/**
 * sonde_charge_locked() - charge pages to the caller's user
 * @npages: how many
 * @charged: out: for sonde_uncharge_locked(); NULL if the caller need not pay
 *
 * Return: 0 or -ENOBUFS.
 */
int sonde_charge_locked(unsigned long npages, const struct cred **charged)
{
	const unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	*charged = NULL;
	if (capable(CAP_IPC_LOCK))
		return 0;
	if (!sonde_count_below(&current_user()->locked_vm, npages, limit))
		return -ENOBUFS;
	*charged = get_current_cred();
	return 0;
}

/**
 * sonde_uncharge_locked() - take the charge back, in whatever context
 * @charged: of sonde_charge_locked()
 * @npages: how many were charged
 */
void sonde_uncharge_locked(const struct cred *charged, unsigned long npages)
{
	if (!charged)
		return;
	atomic_long_sub(npages, &charged->user->locked_vm);
	put_cred(charged);
}
