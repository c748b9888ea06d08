// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region_shm - memory that has a memfd, mapped by whoever imports it
 *
 * A handle is one descriptor, but two must travel: the memory's, opened anew for
 * as much as the rights say, and the page's with what is said of the region. So the
 * handle is a socket with one message in its queue that carries both. Importing
 * looks at the message and leaves it there; the socket's other end, which the
 * exporter keeps, is closed by its exit.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region.h"
#include "region_page.h"

#define MESSAGE	"sonde-region"	/* with its NUL */

enum { PAGE, MEMORY, NFDS };

struct shm_region {
	struct sonde_region region;
	const struct region_page *page;
	struct region_page *own;	/* the same, of the exporter */
	int peer;			/* of the exporter: the other end; else -1 */
	int memory;			/* of an importer: what to map; else -1 */
	uint64_t begin;			/* in @memory */
	char *base;			/* byte 0 of the region */
	void *mapped;			/* of an importer */
};

static struct shm_region *to_shm(const struct sonde_region *region)
{
	return (struct shm_region *)(uintptr_t)region;
}

/* ---- the message -------------------------------------------------------- */

union control {
	char bytes[CMSG_SPACE(NFDS * sizeof(int))];
	struct cmsghdr align;
};

static int put_message(int sock, const int fds[NFDS])
{
	char text[] = MESSAGE;
	struct iovec iov = { text, sizeof(text) };
	union control control = { .bytes = { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(NFDS * sizeof(int));
	memcpy(CMSG_DATA(cmsg), fds, NFDS * sizeof(int));
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)sizeof(text) ? 0 : -errno;
}

/* Descriptors that came: how many of @fds are ours to close. */
static size_t take_fds(struct msghdr *msg, int fds[NFDS])
{
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(msg);
	size_t n;

	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (n > NFDS)
		n = NFDS;
	memcpy(fds, CMSG_DATA(cmsg), n * sizeof(int));
	return n;
}

/* Anything but our message is no handle: any socket may be handed to us. */
static int peek_message(int sock, int fds[NFDS])
{
	char text[sizeof(MESSAGE)] = "";
	struct iovec iov = { text, sizeof(text) };
	union control control = { .bytes = { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(sock, &msg, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	size_t n;

	if (got < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : -EBADF;
	n = take_fds(&msg, fds);
	if (n == NFDS && got == (ssize_t)sizeof(text) && !memcmp(text, MESSAGE, sizeof(text)))
		return 0;
	while (n)
		close(fds[--n]);
	return msg.msg_flags & MSG_CTRUNC ? -EMFILE : -EBADF;
}

/* ---- export ------------------------------------------------------------- */

/* Who may only read shall not be able to map it writable. */
static int open_memory(const struct region_range *range)
{
	char path[40];
	int fd;

	if (range->rights & SONDE_REGION_WRITE) {
		fd = fcntl(range->fd, F_DUPFD_CLOEXEC, 3);
	} else {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", range->fd);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int fill_handle(struct shm_region *shm, const struct region_range *range)
{
	const struct region_page said = {
		.way = SONDE_TRANSFER_SHM, .begin = range->offset, .len = range->len,
		.rights = range->rights,
	};
	int err, fds[NFDS] = { -1, open_memory(range) };

	if (fds[MEMORY] < 0)
		return fds[MEMORY];
	err = region_page_make(&said, &fds[PAGE], &shm->own);
	if (!err) {
		err = put_message(shm->peer, fds);
		close(fds[PAGE]);
		if (err)
			region_page_close(shm->own);
	}
	close(fds[MEMORY]);
	return err;
}

static int make_handle(struct shm_region *shm, const struct region_range *range)
{
	int err, ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	shm->region.fd = ends[0];
	shm->peer = ends[1];
	err = fill_handle(shm, range);
	if (err) {
		close(ends[0]);
		close(ends[1]);
	}
	return err;
}

static void set_region(struct shm_region *shm, const struct region_page *page)
{
	shm->region.ops = &region_shm;
	shm->region.word = &page->seal.state;
	shm->region.valid = REGION_VALID;
	shm->page = page;
}

static int shm_export(struct sonde_transfer *t, const struct region_range *range,
		      struct sonde_region **region)
{
	struct shm_region *shm = calloc(1, sizeof(*shm));
	int err;

	(void)t;
	if (!shm)
		return -ENOMEM;
	shm->memory = -1;
	err = make_handle(shm, range);
	if (err) {
		free(shm);
		return err;
	}
	set_region(shm, shm->own);
	shm->base = range->addr;
	*region = &shm->region;
	return 0;
}

/* ---- import ------------------------------------------------------------- */

/* A file that may shrink would be SIGBUS here. */
static int check_memory(int fd, const struct region_page *said)
{
	const int seals = fcntl(fd, F_GET_SEALS), flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || flags < 0 || fstat(fd, &st) ||
	    st.st_size < 0 || said->begin > (uint64_t)st.st_size ||
	    said->len > (uint64_t)st.st_size - said->begin)
		return -EBADF;
	if (said->rights & SONDE_REGION_WRITE && (flags & O_ACCMODE) != O_RDWR)
		return -EBADF;
	return 0;
}

static int map_memory(const struct shm_region *shm, uint64_t offset, size_t len, char **out)
{
	const uint64_t begin = shm->begin + offset;
	const size_t in_page = begin % (uint64_t)sysconf(_SC_PAGESIZE);
	int prot = PROT_READ | (shm->region.rights & SONDE_REGION_WRITE ? PROT_WRITE : 0);
	char *p = mmap(NULL, len + in_page, prot, MAP_SHARED, shm->memory,
		       (off_t)(begin - in_page));

	if (p == MAP_FAILED)
		return -errno;
	if (madvise(p, len + in_page, MADV_DONTFORK)) {
		munmap(p, len + in_page);
		return -ENOMEM;
	}
	*out = p + in_page;
	return 0;
}

static int import_memory(struct shm_region *shm, const struct region_page *said,
			 const struct region_page *page)
{
	int err = said->way == SONDE_TRANSFER_SHM ? check_memory(shm->memory, said) : -EBADF;

	if (err)
		return err;
	set_region(shm, page);
	shm->region.rights = said->rights;
	shm->region.len = said->len;
	shm->begin = said->begin;
	err = map_memory(shm, 0, said->len, &shm->base);
	if (!err)
		shm->mapped = shm->base;
	return err;
}

static int shm_state(struct sonde_region *region);

static int import_fds(struct shm_region *shm, const int fds[NFDS])
{
	const struct region_page *page;
	struct region_page said;
	int err = region_page_open(fds[PAGE], &said, &page);

	if (err)
		return err;
	shm->memory = fds[MEMORY];
	err = import_memory(shm, &said, page);
	if (!err)
		err = shm_state(&shm->region);
	if (err) {
		sonde_region_unmap(shm->mapped, said.len);
		region_page_close(page);
	}
	return err;
}

static int shm_import(struct sonde_transfer *t, int fd, struct sonde_region **region)
{
	struct shm_region *shm;
	int fds[NFDS], err = peek_message(fd, fds);

	(void)t;
	if (err)
		return err;
	shm = calloc(1, sizeof(*shm));
	if (shm) {
		shm->peer = -1;
		shm->region.fd = fd;
		err = import_fds(shm, fds);
	} else {
		err = -ENOMEM;
	}
	close(fds[PAGE]);
	if (err) {
		close(fds[MEMORY]);
		free(shm);
	} else {
		*region = &shm->region;
	}
	return err;
}

/* ---- use ---------------------------------------------------------------- */

static void shm_copy(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n)
{
	(void)t;
	for (size_t i = 0; i < n; i++) {
		struct sonde_region_copy *copy = &copies[i];
		char *there = to_shm(copy->region)->base + copy->offset;

		copy->result = -ESTALE;
		if (!region_is_valid(copy->region))
			continue;
		if (copy->flags & SONDE_COPY_WRITE)
			memcpy(there, copy->addr, copy->len);
		else
			memcpy(copy->addr, there, copy->len);
		/* What was read is of the region only if it was valid to the end. */
		atomic_thread_fence(memory_order_acquire);
		if (region_is_valid(copy->region))
			copy->result = (ssize_t)copy->len;
	}
}

static int shm_map(struct sonde_region *region, uint64_t offset, size_t len, void **addr)
{
	struct shm_region *shm = to_shm(region);
	char *p;
	int err;

	if (shm->memory < 0)
		return -EINVAL;
	err = map_memory(shm, offset, len, &p);
	if (!err)
		*addr = p;
	return err;
}

static int shm_state(struct sonde_region *region)
{
	struct pollfd end = { .fd = region->fd };

	if (!region_is_valid(region))
		return -ESTALE;
	return poll(&end, 1, 0) == 1 && end.revents & POLLHUP ? -EOWNERDEAD : 0;
}

/* Release: who sees it sees all that the exporter did before. */
static int shm_revoke(struct sonde_region *region)
{
	atomic_store_explicit(&to_shm(region)->own->seal.state, REGION_REVOKED,
			      memory_order_release);
	return 0;
}

static void shm_close(struct sonde_region *region)
{
	struct shm_region *shm = to_shm(region);

	sonde_region_unmap(shm->mapped, region->len);
	if (shm->memory >= 0)
		close(shm->memory);
	if (shm->peer >= 0)
		close(shm->peer);
	region_page_close(shm->page);
	free(shm);
}

const struct region_ops region_shm = {
	.way = SONDE_TRANSFER_SHM,
	.export = shm_export,
	.import = shm_import,
	.copy = shm_copy,
	.map = shm_map,
	.state = shm_state,
	.revoke = shm_revoke,
	.close = shm_close,
};
