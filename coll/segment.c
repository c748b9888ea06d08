// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * segment - how it is made, and what of it has memory
 *
 * A memfd has no name, so nothing is left of it whoever dies when, and it knows
 * no limit of /dev/shm. The others open it by /proc; where that is not allowed
 * (another PID namespace, a process that may not be looked at) the segment is a
 * file of shm_open() that is unlinked as soon as all have mapped it. A random
 * number in it shows that all have mapped the same.
 *
 * Each rank backs its own slice, so that it lies on its NUMA node, with
 * fallocate(): memory that is not there is an error here and not SIGBUS later.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "plan.h"
#include "segment.h"

/* How the leader tells the others where it is. */
struct invitation {
	uint64_t nonce[2];
	int pid, fd;
	char name[64];
};

/* 0 if all say 0, else the least of what they say. */
static int agree(MPI_Comm comm, int err)
{
	int all = err;

	return PMPI_Allreduce(&err, &all, 1, MPI_INT, MPI_MIN, comm) ? -EIO : all;
}

static size_t round_to_pages(size_t bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* ---- making and mapping ------------------------------------------------- */

static int create_file(struct invitation *inv, size_t bytes, int has_name)
{
	int fd;

	if (has_name) {
		snprintf(inv->name, sizeof(inv->name), "/sonde-coll-%016llx",
			 (unsigned long long)inv->nonce[0]);
		fd = shm_open(inv->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	} else {
		fd = memfd_create("sonde-coll", MFD_CLOEXEC);
	}
	if (fd >= 0 && ftruncate(fd, (off_t)bytes)) {
		int why = errno;

		close(fd);
		if (has_name)
			shm_unlink(inv->name);
		errno = why;
		fd = -1;
	}
	inv->pid = getpid();
	inv->fd = fd;
	return fd;
}

static int open_file(const struct invitation *inv)
{
	char path[64];

	if (*inv->name)
		return shm_open(inv->name, O_RDWR | O_CLOEXEC, 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", inv->pid, inv->fd);
	return open(path, O_RDWR | O_CLOEXEC);
}

static int map(struct coll_segment *seg, int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);

	/* Some other file of another namespace would be too short. */
	if (end < 0 || (size_t)end < seg->bytes)
		return -ENXIO;
	seg->base = mmap(NULL, seg->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (seg->base == MAP_FAILED) {
		seg->base = NULL;
		return -errno;
	}
	seg->fd = fd;
	return 0;
}

static void unmap(struct coll_segment *seg)
{
	if (seg->base)
		munmap(seg->base, seg->bytes);
	if (seg->fd >= 0)
		close(seg->fd);
	seg->base = NULL;
	seg->fd = -1;
}

/* The leader's part before the others hear of it. */
static int lead(struct coll_segment *seg, struct invitation *inv, int has_name)
{
	int err;

	if (getrandom(inv->nonce, sizeof(inv->nonce), 0) != sizeof(inv->nonce) ||
	    create_file(inv, seg->bytes, has_name) < 0)
		return -errno;
	err = -posix_fallocate(inv->fd, 0, (off_t)COLL_HEAD_BYTES);
	if (!err)
		err = map(seg, inv->fd);
	if (!err) {
		memcpy(coll_head(seg)->nonce, inv->nonce, sizeof(inv->nonce));
		return 0;
	}
	close(inv->fd);
	if (has_name)
		shm_unlink(inv->name);
	return err;
}

static int follow(struct coll_segment *seg, const struct invitation *inv)
{
	int fd = open_file(inv), err;

	if (fd < 0)
		return -errno;
	err = map(seg, fd);
	if (!err && memcmp(coll_head(seg)->nonce, inv->nonce, sizeof(inv->nonce)))
		err = -ENXIO;
	if (err && seg->fd < 0)
		close(fd);
	return err;
}

static int open_together(struct coll_segment *seg, int has_name)
{
	struct invitation inv = { .fd = -1 };
	int err = seg->me ? 0 : lead(seg, &inv, has_name);

	if (agree(seg->comm, err) || PMPI_Bcast(&inv, sizeof(inv), MPI_BYTE, 0, seg->comm)) {
		unmap(seg);
		return err ? err : -EIO;
	}
	if (seg->me)
		err = follow(seg, &inv);
	err = agree(seg->comm, err);
	if (!seg->me && *inv.name)
		shm_unlink(inv.name);
	if (err)
		unmap(seg);
	return err;
}

/* ---- memory ------------------------------------------------------------- */

static int back(struct coll_segment *seg, const char *from, size_t bytes)
{
	int err = posix_fallocate(seg->fd, (off_t)(from - seg->base), (off_t)bytes);

	return err ? -err : 0;
}

int coll_segment_back(struct coll_segment *seg, size_t area)
{
	int err = back(seg, coll_area(seg, seg->me, 0), area);

	return err ? err : back(seg, coll_area(seg, seg->me, 1), area);
}

/* Processes that live in one PID namespace can be asked after. */
static int exchange_pids(struct coll_segment *seg)
{
	int pid = getpid();

	seg->pids = calloc((size_t)seg->n, sizeof(*seg->pids));
	if (agree(seg->comm, seg->pids ? 0 : -ENOMEM))
		return -ENOMEM;
	return PMPI_Allgather(&pid, 1, MPI_INT, seg->pids, 1, MPI_INT, seg->comm) ? -EIO : 0;
}

/* ---- opening ------------------------------------------------------------ */

static struct coll_segment *new_segment(const struct coll_plan *plan)
{
	struct coll_segment *seg = calloc(1, sizeof(*seg));
	const size_t n = (size_t)plan->lsize;

	if (!seg)
		return NULL;
	seg->me = plan->lrank;
	seg->n = plan->lsize;
	seg->fd = -1;
	seg->comm = plan->node;
	seg->lines_bytes = round_to_pages(sizeof(struct coll_bell) +
					  2 * n * sizeof(struct coll_line));
	seg->area_most = round_to_pages(plan->settings.area_most);
	seg->slice_bytes = seg->lines_bytes + 2 * seg->area_most;
	seg->bytes = COLL_HEAD_BYTES + n * seg->slice_bytes;
	return seg;
}

static int prepare(struct coll_segment *seg, const struct coll_plan *plan)
{
	int err = exchange_pids(seg);

	if (!err)
		err = back(seg, coll_slice(seg, seg->me), seg->lines_bytes);
	if (!err)
		err = coll_segment_back(seg, round_to_pages(plan->settings.area_least));
	seg->area = round_to_pages(plan->settings.area_least);
	/* Also: nobody writes to lines that are not there yet. */
	return agree(seg->comm, err);
}

int coll_segment_open(struct coll_segment **out, struct coll_plan *plan)
{
	struct coll_segment *seg = new_segment(plan);
	int err = agree(plan->node, seg ? 0 : -ENOMEM);

	if (!err && open_together(seg, 0))
		err = open_together(seg, 1);
	if (!err)
		err = prepare(seg, plan);
	if (err) {
		coll_segment_close(seg);
		return err;
	}
	*out = seg;
	return 0;
}

void coll_segment_close(struct coll_segment *seg)
{
	if (!seg)
		return;
	unmap(seg);
	free(seg->pids);
	free(seg);
}
