// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region_cma - process_vm_readv(2) and process_vm_writev(2)
 *
 * The kernel asks at each call for the right to ptrace, looks up a process by a
 * number that may be another's by now, and knows nothing of regions. So each call
 * that reads also reads, last, the region's seal from where the exporter has it:
 * a call sees one address space from begin to end, so what was copied with the
 * right seal was copied from the exporter. It is gone after exit, exec, and
 * sonde_region_close(); a pidfd would tell the first of these only, and cost a
 * call of its own. What writes looks at the seal before and after.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "region.h"
#include "region_page.h"

/* Of the kernel, for either side (UIO_MAXIOV). */
#define IOVECS	1024
/* Copies of one call: their seals may be as many. */
#define PIECES	64
/* A call copies less than 2 GiB whatever it is asked for. */
#define MOST	((size_t)1 << 30)
/* Pages that are looked at in a call, whether they are mapped. */
#define CHECKED	1024

struct cma_region {
	struct sonde_region region;
	const struct region_page *page;	/* its seal as we see it */
	struct region_page *own;	/* the same, of the exporter */
	pid_t pid;
	uint64_t begin;
	uint64_t seal_addr;
	uint64_t nonce[2];
};

/* What was read of a seal; not the atomic itself. */
struct seal_copy {
	uint64_t nonce[2];
	uint64_t state;
};

_Static_assert(sizeof(struct seal_copy) == sizeof(struct region_seal), "copied as bytes");
_Static_assert(2 * PIECES <= IOVECS, "pieces and seals fit in a call");

static struct cma_region *to_cma(const struct sonde_region *region)
{
	return (struct cma_region *)(uintptr_t)region;
}

/* A number in a handle, as an address for the kernel to look at. */
static void *to_remote(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

int region_cma_probe(void)
{
	uint64_t from = REGION_VALID, to = 0;
	struct iovec local = { &to, sizeof(to) }, remote = { &from, sizeof(from) };

	if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)sizeof(to))
		return errno == EPERM ? -EPERM : -EOPNOTSUPP;
	return to == from ? 0 : -EOPNOTSUPP;
}

static int tell_error(int error)
{
	return error == ESRCH ? -EOWNERDEAD : -error;
}

static int is_sealed(const struct cma_region *cma, const struct seal_copy *seen)
{
	return !memcmp(seen->nonce, cma->nonce, sizeof(seen->nonce)) &&
	       seen->state == REGION_VALID;
}

/* ---- one copy ----------------------------------------------------------- */

/* Where the seal cannot be read another program runs there, or it was closed. */
static int check_seal(const struct cma_region *cma)
{
	struct seal_copy seen = { .state = 0 };
	struct iovec local = { &seen, sizeof(seen) };
	struct iovec remote = { to_remote(cma->seal_addr), sizeof(seen) };

	if (process_vm_readv(cma->pid, &local, 1, &remote, 1, 0) < 0)
		return errno == EFAULT ? -ESTALE : tell_error(errno);
	return is_sealed(cma, &seen) ? 0 : -ESTALE;
}

static ssize_t write_piece(const struct cma_region *cma, struct iovec *local,
			   struct iovec *remote)
{
	ssize_t n = process_vm_writev(cma->pid, local, 1, remote, 1, 0);
	int err = check_seal(cma);

	if (n < 0 && errno != EFAULT)
		return tell_error(errno);
	return err ? err : n < 0 ? -EFAULT : n;
}

static ssize_t read_piece(const struct cma_region *cma, struct iovec local[2],
			  struct iovec remote[2])
{
	struct seal_copy seen = { .state = 0 };
	ssize_t n;
	int err;

	local[1] = (struct iovec){ &seen, sizeof(seen) };
	remote[1] = (struct iovec){ to_remote(cma->seal_addr), sizeof(seen) };
	n = process_vm_readv(cma->pid, local, 2, remote, 2, 0);
	if (n < 0 && errno != EFAULT)
		return tell_error(errno);
	if (n == (ssize_t)(local[0].iov_len + sizeof(seen)))
		return is_sealed(cma, &seen) ? (ssize_t)local[0].iov_len : -ESTALE;
	err = check_seal(cma);
	if (err || n < 0)
		return err ? err : -EFAULT;
	return n < (ssize_t)local[0].iov_len ? n : (ssize_t)local[0].iov_len;
}

static ssize_t copy_piece(const struct sonde_region_copy *copy, size_t done)
{
	const struct cma_region *cma = to_cma(copy->region);
	const size_t len = copy->len - done < MOST ? copy->len - done : MOST;
	/* A null pointer is an address like any other here: EFAULT. */
	struct iovec local[2] = { { (void *)((uintptr_t)copy->addr + done), len } };
	struct iovec remote[2] = { { to_remote(cma->begin + copy->offset + done), len } };

	if (copy->flags & SONDE_COPY_WRITE)
		return write_piece(cma, local, remote);
	return read_piece(cma, local, remote);
}

/* What was copied counts if the region was valid after it. */
static ssize_t copy_alone(const struct sonde_region_copy *copy)
{
	const struct cma_region *cma = to_cma(copy->region);
	size_t done = 0;
	ssize_t n = 0;
	int err = 0;

	if (!region_is_valid(&cma->region))
		return -ESTALE;
	if (copy->flags & SONDE_COPY_WRITE)
		err = check_seal(cma);
	if (err)
		return err;
	for (; done < copy->len && n >= 0; done += n > 0 ? (size_t)n : 0) {
		n = copy_piece(copy, done);
		if (!n)
			break;
	}
	return n == -EFAULT && done ? (ssize_t)done : n < 0 ? n : (ssize_t)done;
}

/* ---- several in one call ------------------------------------------------ */

/**
 * struct call - copies of one process in one direction, each with its seal
 * @n: how many, at most PIECES
 */
struct call {
	struct iovec local[2 * PIECES], remote[2 * PIECES];
	struct seal_copy seen[PIECES];
	size_t n, total;
};

static void add_copy(struct call *call, const struct sonde_region_copy *copy)
{
	const struct cma_region *cma = to_cma(copy->region);

	call->local[call->n] = (struct iovec){ copy->addr, copy->len };
	call->remote[call->n] = (struct iovec){ to_remote(cma->begin + copy->offset), copy->len };
	call->total += copy->len;
	call->n++;
}

/* One for each that has not the region of the one before. Return: how many. */
static size_t add_seals(struct call *call, const struct sonde_region_copy *copies)
{
	size_t at = call->n;

	for (size_t i = 0; i < call->n; i++) {
		if (i && copies[i].region == copies[i - 1].region)
			continue;
		call->local[at] = (struct iovec){ &call->seen[at - call->n],
						  sizeof(call->seen[0]) };
		call->remote[at++] = (struct iovec){
			to_remote(to_cma(copies[i].region)->seal_addr), sizeof(call->seen[0]) };
	}
	return at - call->n;
}

static int are_sealed(const struct call *call, const struct sonde_region_copy *copies)
{
	size_t seal = 0;

	for (size_t i = 0; i < call->n; i++) {
		if (i && copies[i].region == copies[i - 1].region)
			continue;
		if (!is_sealed(to_cma(copies[i].region), &call->seen[seal++]))
			return 0;
	}
	return 1;
}

static int read_together(struct call *call, const struct sonde_region_copy *copies, pid_t pid)
{
	const size_t seals = add_seals(call, copies), n = call->n + seals;
	const size_t total = call->total + seals * sizeof(call->seen[0]);

	return process_vm_readv(pid, call->local, n, call->remote, n, 0) == (ssize_t)total &&
	       are_sealed(call, copies);
}

static int are_sealed_now(struct call *call, const struct sonde_region_copy *copies, pid_t pid,
			  size_t seals)
{
	return process_vm_readv(pid, &call->local[call->n], seals, &call->remote[call->n], seals,
				0) == (ssize_t)(seals * sizeof(call->seen[0])) &&
	       are_sealed(call, copies);
}

static int write_together(struct call *call, const struct sonde_region_copy *copies, pid_t pid)
{
	const size_t seals = add_seals(call, copies);

	return are_sealed_now(call, copies, pid, seals) &&
	       process_vm_writev(pid, call->local, call->n, call->remote, call->n, 0) ==
	       (ssize_t)call->total && are_sealed_now(call, copies, pid, seals);
}

/* How many from @copies on can go in a call with the first. */
static size_t count_together(const struct sonde_region_copy *copies, size_t n)
{
	const pid_t pid = to_cma(copies[0].region)->pid;
	size_t i, total = 0;

	for (i = 0; i < n && i < PIECES; i++) {
		if (to_cma(copies[i].region)->pid != pid || copies[i].flags != copies[0].flags ||
		    copies[i].len > MOST - total || !region_is_valid(copies[i].region))
			break;
		total += copies[i].len;
	}
	return i;
}

/* Where anything is amiss the copies are made anew one by one, to find out which. */
static void copy_together(struct sonde_region_copy *copies, size_t n)
{
	const pid_t pid = to_cma(copies[0].region)->pid;
	struct call call = { .n = 0 };
	int is_done;

	for (size_t i = 0; i < n; i++)
		add_copy(&call, &copies[i]);
	is_done = copies[0].flags & SONDE_COPY_WRITE ? write_together(&call, copies, pid)
						     : read_together(&call, copies, pid);
	for (size_t i = 0; i < n; i++)
		copies[i].result = is_done ? (ssize_t)copies[i].len : copy_alone(&copies[i]);
}

static void cma_copy(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n)
{
	size_t together;

	(void)t;
	for (size_t i = 0; i < n; i += together) {
		together = count_together(&copies[i], n - i);
		if (together > 1) {
			copy_together(&copies[i], together);
			continue;
		}
		together = 1;
		copies[i].result = copy_alone(&copies[i]);
	}
}

/* ---- the region --------------------------------------------------------- */

/* Whether all pages are mapped; what may be done with them the copy finds. */
static int check_mapped(const struct region_range *range)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t before = (uintptr_t)range->addr % page;
	const size_t len = range->len + before, most = page * CHECKED;
	char *p = (char *)range->addr - before;
	unsigned char resident[CHECKED];

	for (size_t done = 0; done < len; done += most)
		if (mincore(p + done, len - done < most ? len - done : most, resident))
			return errno == ENOMEM ? -EFAULT : -errno;
	return 0;
}

static void set_region(struct cma_region *cma, const struct region_page *said,
		       const struct region_page *page)
{
	cma->region.ops = &region_cma;
	cma->region.word = &page->seal.state;
	cma->region.valid = REGION_VALID;
	cma->page = page;
	cma->pid = said->pid;
	cma->begin = said->begin;
	cma->seal_addr = said->seal_addr;
	memcpy(cma->nonce, said->seal.nonce, sizeof(cma->nonce));
}

static int cma_export(struct sonde_transfer *t, const struct region_range *range,
		      struct sonde_region **region)
{
	const struct region_page said = {
		.way = SONDE_TRANSFER_CMA, .begin = (uintptr_t)range->addr, .len = range->len,
		.rights = range->rights,
	};
	struct cma_region *cma;
	int err = check_mapped(range);

	(void)t;
	if (err)
		return err;
	cma = calloc(1, sizeof(*cma));
	if (!cma)
		return -ENOMEM;
	err = region_page_make(&said, &cma->region.fd, &cma->own);
	if (err) {
		free(cma);
		return err;
	}
	set_region(cma, cma->own, cma->own);
	*region = &cma->region;
	return 0;
}

/*
 * Whoever made the handle could say any number and address: it is followed only
 * into processes that are its maker's own.
 */
static int check_process(int fd, const struct region_page *said)
{
	struct stat made, process;
	char path[32];

	if (said->namespace != region_page_namespace())
		return -EXDEV;
	snprintf(path, sizeof(path), "/proc/%d", said->pid);
	if (fstat(fd, &made))
		return -errno;
	/* Not to be seen is not to be gone: /proc may hide those of others. */
	if (stat(path, &process))
		return kill(said->pid, 0) && errno == ESRCH ? -EOWNERDEAD : -EPERM;
	return made.st_uid == process.st_uid ? 0 : -EPERM;
}

static int import_page(int fd, const struct region_page *said, const struct region_page *page,
		       struct sonde_region **region)
{
	struct cma_region *cma;
	int err = check_process(fd, said);

	if (err)
		return err;
	cma = calloc(1, sizeof(*cma));
	if (!cma)
		return -ENOMEM;
	set_region(cma, said, page);
	cma->region.rights = said->rights;
	cma->region.len = said->len;
	err = check_seal(cma);
	if (err)
		free(cma);
	else
		*region = &cma->region;
	return err;
}

static int cma_import(struct sonde_transfer *t, int fd, struct sonde_region **region)
{
	const struct region_page *page;
	struct region_page said;
	int err = region_page_open(fd, &said, &page);

	if (err)
		return err;
	if (said.way != SONDE_TRANSFER_CMA)
		err = -EBADF;
	else if (!transfer_has(t, SONDE_TRANSFER_CMA) && region_cma_probe())
		err = -EOPNOTSUPP;
	else if (said.seal_addr > UINTPTR_MAX || said.begin > UINTPTR_MAX - said.len)
		err = -EBADF;
	else
		err = import_page(fd, &said, page, region);
	if (err)
		region_page_close(page);
	return err;
}

static int cma_state(struct sonde_region *region)
{
	return region_is_valid(region) ? check_seal(to_cma(region)) : -ESTALE;
}

/* Release: who sees it sees all that the exporter did before. */
static int cma_revoke(struct sonde_region *region)
{
	atomic_store_explicit(&to_cma(region)->own->seal.state, REGION_REVOKED,
			      memory_order_release);
	return 0;
}

static void cma_close(struct sonde_region *region)
{
	region_page_close(to_cma(region)->page);
	free(region);
}

const struct region_ops region_cma = {
	.way = SONDE_TRANSFER_CMA,
	.export = cma_export,
	.import = cma_import,
	.copy = cma_copy,
	.state = cma_state,
	.revoke = cma_revoke,
	.close = cma_close,
};
