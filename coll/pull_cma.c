// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * pull_cma - process_vm_readv(2)
 *
 * A handle is an address. Whether it may be done is found by doing it: each rank
 * reads a random number from each other's memory when a plan asks for the way.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>

#include "local_pull.h"
#include "plan.h"
#include "segment.h"

/* Pieces of one call; the kernel takes 1,024. */
#define PIECES	64
/* A call copies less than 2 GiB whatever it is asked for. */
#define MOST	((size_t)1 << 30)

struct cma {
	uint64_t stamp;
	uint64_t *bases;
};

static void *to_remote(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

static int read_one(int pid, uint64_t from, void *to, size_t len)
{
	struct iovec local = { to, len }, remote = { to_remote(from), len };
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : (size_t)n == len ? 0 : -EFAULT;
}

/* Also the PID is right if the number is. */
static int probe(const struct coll_plan *plan, struct cma *cma)
{
	struct { uint64_t addr, stamp; } mine = { (uintptr_t)&cma->stamp, cma->stamp }, *all;
	const int *pids = plan->segment->pids;
	uint64_t stamp;
	int err = 0;

	all = malloc((size_t)plan->lsize * sizeof(*all));
	err = coll_agree(plan, all ? 0 : -ENOMEM);
	if (!err && PMPI_Allgather(&mine, sizeof(mine), MPI_BYTE, all, sizeof(mine), MPI_BYTE,
				   plan->node))
		err = -EIO;
	for (int i = 0; i < plan->lsize && !err; i++) {
		err = read_one(pids[i], all[i].addr, &stamp, sizeof(stamp));
		if (!err && stamp != all[i].stamp)
			err = -ESRCH;
	}
	free(all);
	/* Nobody goes on while another reads the number. */
	return coll_agree(plan, err);
}

static int cma_open(struct coll_pull *pull, struct coll_plan *plan)
{
	struct cma *cma = calloc(1, sizeof(*cma));
	int err = 0;

	pull->own = cma;
	if (cma)
		cma->bases = calloc((size_t)plan->lsize, sizeof(*cma->bases));
	if (!cma || !cma->bases ||
	    getrandom(&cma->stamp, sizeof(cma->stamp), 0) != sizeof(cma->stamp))
		err = -ENOMEM;
	err = coll_agree(plan, err);
	return err ? err : probe(plan, cma);
}

static void cma_close(struct coll_pull *pull)
{
	struct cma *cma = pull->own;

	if (cma)
		free(cma->bases);
	free(cma);
}

static int cma_offer(struct coll_pull *pull, char *at, size_t len, void *handle)
{
	const uint64_t addr = (uintptr_t)at;

	(void)pull;
	(void)len;
	memcpy(handle, &addr, sizeof(addr));
	return 0;
}

static int cma_accept(struct coll_pull *pull, int from, const void *handle)
{
	struct cma *cma = pull->own;

	memcpy(&cma->bases[from], handle, sizeof(cma->bases[from]));
	return 0;
}

/* As many of what comes next as one call takes. Return: how many reads are whole, -errno. */
static int read_some(const struct coll_pull *pull, struct coll_read *reads, size_t n)
{
	const struct cma *cma = pull->own;
	struct iovec local[PIECES], remote[PIECES];
	const int from = reads->from;
	size_t total = 0, at = 0;
	ssize_t got;
	int done = 0;

	do {
		const size_t len = reads[at].len < MOST - total ? reads[at].len : MOST - total;

		local[at] = (struct iovec){ reads[at].to, len };
		remote[at] = (struct iovec){ to_remote(cma->bases[from] + reads[at].at), len };
		total += len;
		at++;
	} while (at < n && at < PIECES && reads[at].from == from && total < MOST);
	got = process_vm_readv(pull->plan->segment->pids[from], local, at, remote, at, 0);
	if (got <= 0)
		return got < 0 ? -errno : -EFAULT;
	for (size_t i = 0; i < at && got > 0; i++) {
		const size_t part = (size_t)got < reads[i].len ? (size_t)got : reads[i].len;

		reads[i].at += part;
		reads[i].to += part;
		reads[i].len -= part;
		got -= (ssize_t)part;
		done += !reads[i].len;
	}
	return done;
}

static int cma_read(struct coll_pull *pull, struct coll_read *reads, size_t n)
{
	while (n) {
		int done = read_some(pull, reads, n);

		if (done < 0)
			return done;
		reads += done;
		n -= (size_t)done;
	}
	return 0;
}

const struct coll_pull_ops coll_pull_cma = {
	.open = cma_open,
	.close = cma_close,
	.offer = cma_offer,
	.accept = cma_accept,
	.read = cma_read,
};
