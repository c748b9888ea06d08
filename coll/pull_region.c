// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * pull_region - regions of libsonde: a handle is sent once, then named by number
 *
 * What a rank offers is looked up in its cache of exported regions: one load, if
 * the program uses the same buffers again. A region that the others do not know
 * yet is sent to all of them before the line that names it is posted; so each
 * finds it in its socket. Both sides keep the last SLOTS of each rank, region
 * number id in slot id % SLOTS: nobody has to say what may be forgotten.
 *
 * A number is never used for another region, and a region that has a number is
 * held, so the cache cannot close it: memory that was unmapped and mapped anew
 * is a new region with a new number, and reading an old one fails with -ESTALE.
 *
 * All reads of a rank are one sonde_copyv(): with the module one system call.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sonde/region.h>

#include "../lib/fd_message.h"
#include "local_pull.h"
#include "plan.h"
#include "segment.h"

#define SLOTS		16	/* buffers that a program uses by turns */
#define CACHED_BYTES	((uint64_t)1 << 40)
#define SOCKET_NAME	64
#define SEND_MS		10000	/* another rank does not look at its socket */

/* What goes with a handle. */
struct parcel {
	uint64_t nonce[2];
	uint64_t id;
	int32_t from;
	int32_t unused;
};

struct named {
	uint64_t id;
	struct sonde_region *region;
};

struct handle {
	uint64_t id, offset;
};

/**
 * struct regions - of one plan
 * @mine: what this rank has offered; ids count from 1
 * @theirs: what local rank i has: [i * SLOTS + id % SLOTS]
 * @now: what each offers in this step
 */
struct regions {
	struct sonde_transfer *transfer;
	struct sonde_region_cache *cache;
	int sock;
	uint64_t last;
	struct named mine[SLOTS], *theirs;
	struct handle *now;
	struct sonde_region_copy *copies;
	size_t room;
};

_Static_assert(sizeof(struct handle) <= COLL_HANDLE, "a handle fits in a notice");

/* ---- the module --------------------------------------------------------- */

static int has_module;

static void look_for_module(void)
{
	struct sonde_transfer *transfer;

	has_module = !sonde_transfer_open(&transfer, SONDE_TRANSFER_MODULE);
	if (has_module)
		sonde_transfer_close(transfer);
}

int coll_has_module(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, look_for_module);
	return has_module;
}

/* ---- sockets ------------------------------------------------------------ */

/* Of the socket of a rank. */
static const char *get_name(const struct coll_segment *seg, int rank, char name[SOCKET_NAME])
{
	const uint64_t *nonce = coll_head(seg)->nonce;

	snprintf(name, SOCKET_NAME, "sonde-coll-%016llx%016llx-%d", (unsigned long long)nonce[0],
		 (unsigned long long)nonce[1], rank);
	return name;
}

static int open_socket(const struct coll_segment *seg)
{
	char name[SOCKET_NAME];

	return fd_message_open(get_name(seg, seg->me, name));
}

static int send_to(const struct regions *r, const struct coll_segment *seg, int to,
		   const struct parcel *parcel, int fd)
{
	char name[SOCKET_NAME];

	return fd_message_send(r->sock, get_name(seg, to, name), parcel, sizeof(*parcel), fd);
}

/* Return: a descriptor that is the caller's; -EAGAIN if nothing has come. */
static int receive(const struct regions *r, struct parcel *parcel)
{
	int fd;
	const ssize_t n = fd_message_receive(r->sock, parcel, sizeof(*parcel), &fd);

	if (n < 0)
		return (int)n;
	if (fd < 0)
		return -ENOMSG;
	if (n == sizeof(*parcel))
		return fd;
	close(fd);
	return -ENOMSG;
}

/* ---- what others have --------------------------------------------------- */

/* A name that anybody can send to: what does not know the segment's nonce is not ours. */
static int take_in(struct regions *r, const struct coll_segment *seg, const struct parcel *parcel,
		   int fd)
{
	struct sonde_region *region;
	struct named *slot;
	int err;

	if (memcmp(parcel->nonce, coll_head(seg)->nonce, sizeof(parcel->nonce)) ||
	    parcel->from < 0 || parcel->from >= seg->n)
		return 0;
	err = sonde_region_import(r->transfer, fd, &region);
	if (err)
		return err;
	slot = &r->theirs[(size_t)parcel->from * SLOTS + parcel->id % SLOTS];
	sonde_region_close(slot->region);
	*slot = (struct named){ parcel->id, region };
	return 0;
}

/* Everything that has come. */
static int drain(struct regions *r, const struct coll_segment *seg)
{
	struct parcel parcel;
	int err = 0;

	for (;;) {
		int fd = receive(r, &parcel), failed;

		if (fd == -EAGAIN || fd == -EINTR)
			return err;
		if (fd == -ENOMSG)
			continue;
		if (fd < 0)
			return fd;
		failed = take_in(r, seg, &parcel, fd);
		close(fd);
		err = err ? err : failed;
	}
}

static int region_accept(struct coll_pull *pull, int from, const void *at)
{
	struct regions *r = pull->own;
	const struct named *slot;
	struct handle handle;
	int err = 0;

	memcpy(&handle, at, sizeof(handle));
	slot = &r->theirs[(size_t)from * SLOTS + handle.id % SLOTS];
	if (slot->id != handle.id)
		err = drain(r, pull->plan->segment);
	if (slot->id != handle.id)
		return err ? err : -ENOMSG;
	r->now[from] = handle;
	return 0;
}

/* ---- what this rank has ------------------------------------------------- */

/* Two ranks whose sockets are full wait for each other: each empties its own. */
static int deliver(struct regions *r, const struct coll_segment *seg, int to,
		   const struct parcel *parcel, int fd)
{
	struct pollfd poller = { .fd = r->sock, .events = POLLIN };
	int err;

	for (int waited = 0; waited < SEND_MS; waited++) {
		err = send_to(r, seg, to, parcel, fd);
		if (err != -EAGAIN && err != -ENOBUFS && err != -EINTR)
			return err;
		drain(r, seg);
		poll(&poller, 1, 1);
	}
	return -ETIMEDOUT;
}

static int send_to_all(struct regions *r, const struct coll_segment *seg, const struct named *named)
{
	struct parcel parcel = { .id = named->id, .from = seg->me };
	int err = 0;

	memcpy(parcel.nonce, coll_head(seg)->nonce, sizeof(parcel.nonce));
	for (int k = 1; k < seg->n && !err; k++)
		err = deliver(r, seg, (seg->me + k) % seg->n, &parcel,
			      sonde_region_fd(named->region));
	return err;
}

/* A number for a region, which is held as long as it has one. */
static int name_region(struct regions *r, const struct coll_segment *seg,
		       struct sonde_region *region, uint64_t *id)
{
	struct named *slot;
	int err;

	for (size_t i = 0; i < SLOTS; i++)
		if (r->mine[i].region == region) {
			sonde_region_cache_put(r->cache, region);
			*id = r->mine[i].id;
			return 0;
		}
	slot = &r->mine[++r->last % SLOTS];
	if (slot->region)
		sonde_region_cache_put(r->cache, slot->region);
	*slot = (struct named){ r->last, region };
	err = send_to_all(r, seg, slot);
	if (err) {
		sonde_region_cache_put(r->cache, region);
		*slot = (struct named){ 0, NULL };
	}
	*id = r->last;
	return err;
}

static int region_offer(struct coll_pull *pull, char *at, size_t len, void *to)
{
	struct regions *r = pull->own;
	struct sonde_region *region;
	struct handle handle;
	int err = sonde_region_cache_get(r->cache, at, len ? len : 1, SONDE_REGION_READ, &region,
					 &handle.offset);

	if (!err)
		err = name_region(r, pull->plan->segment, region, &handle.id);
	if (!err)
		memcpy(to, &handle, sizeof(handle));
	return err;
}

/* ---- reading ------------------------------------------------------------ */

static int make_room(struct regions *r, size_t n)
{
	struct sonde_region_copy *copies;

	if (n <= r->room)
		return 0;
	copies = realloc(r->copies, n * sizeof(*copies));
	if (!copies)
		return -ENOMEM;
	r->copies = copies;
	r->room = n;
	return 0;
}

static int region_read(struct coll_pull *pull, struct coll_read *reads, size_t n)
{
	struct regions *r = pull->own;
	int err = make_room(r, n);

	if (err)
		return err;
	for (size_t i = 0; i < n; i++) {
		const struct handle *handle = &r->now[reads[i].from];
		const size_t slot = (size_t)reads[i].from * SLOTS + handle->id % SLOTS;

		r->copies[i] = (struct sonde_region_copy){
			.region = r->theirs[slot].region,
			.offset = handle->offset + reads[i].at,
			.addr = reads[i].to, .len = reads[i].len,
		};
	}
	if (sonde_copyv(r->transfer, r->copies, n) == n)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (r->copies[i].result < 0)
			return (int)r->copies[i].result;
	return -EFAULT;
}

/* ---- opening ------------------------------------------------------------ */

/* Other ranks' parcels make room in this rank's socket while it waits for lines. */
static void be_idle(void *of)
{
	struct coll_pull *pull = of;

	drain(pull->own, pull->plan->segment);
}

/* Reads what every other rank of the node offers, as calls will do, and compares. */
static int probe(struct coll_pull *pull, struct coll_plan *plan)
{
	const size_t n = (size_t)plan->lsize;
	uint64_t *stamps = calloc(n + 1, sizeof(*stamps));
	struct coll_read *reads = calloc(n, sizeof(*reads));
	size_t at = 0;
	int err;

	if (stamps && reads) {
		stamps[n] = coll_head(plan->segment)->nonce[0] + (uint64_t)plan->lrank;
		for (int i = 0; i < plan->lsize; i++)
			if (i != plan->lrank)
				reads[at++] = (struct coll_read){ i, 0, (char *)&stamps[i],
								  sizeof(*stamps) };
	}
	err = coll_pull_together(pull, stamps ? (char *)&stamps[n] : NULL, sizeof(*stamps),
				 stamps ? reads : NULL, at);
	for (int i = 0; i < plan->lsize && !err; i++)
		if (i != plan->lrank &&
		    stamps[i] != coll_head(plan->segment)->nonce[0] + (uint64_t)i)
			err = -ESTALE;
	if (stamps)
		sonde_transfer_withdraw(((struct regions *)pull->own)->transfer, stamps,
					(n + 1) * sizeof(*stamps));
	free(stamps);
	free(reads);
	/* One error tells as much as another: which of them, the rank that has it knows. */
	return err > 0 ? -EPERM : err;
}

static int open_regions(struct regions *r, const struct coll_plan *plan)
{
	const size_t n = (size_t)plan->lsize;
	int err = sonde_transfer_open(&r->transfer, SONDE_TRANSFER_AUTO);

	if (!err)
		err = sonde_region_cache_open(r->transfer, SLOTS, CACHED_BYTES, &r->cache);
	if (err)
		return err;
	r->theirs = calloc(n * SLOTS, sizeof(*r->theirs));
	r->now = calloc(n, sizeof(*r->now));
	if (!r->theirs || !r->now)
		return -ENOMEM;
	r->sock = open_socket(plan->segment);
	return r->sock < 0 ? r->sock : 0;
}

static int region_open(struct coll_pull *pull, struct coll_plan *plan)
{
	struct regions *r = calloc(1, sizeof(*r));
	int err;

	pull->own = r;
	if (r)
		r->sock = -1;
	err = coll_agree(plan, r ? open_regions(r, plan) : -ENOMEM);
	if (err)
		return err;
	plan->segment->idle = be_idle;
	plan->segment->idle_of = pull;
	return probe(pull, plan);
}

static void region_close(struct coll_pull *pull)
{
	struct regions *r = pull->own;

	pull->plan->segment->idle = NULL;
	if (!r)
		return;
	for (size_t i = 0; r->theirs && i < (size_t)pull->plan->lsize * SLOTS; i++)
		sonde_region_close(r->theirs[i].region);
	for (size_t i = 0; i < SLOTS; i++)
		if (r->mine[i].region)
			sonde_region_cache_put(r->cache, r->mine[i].region);
	sonde_region_cache_close(r->cache);
	sonde_transfer_close(r->transfer);
	if (r->sock >= 0)
		close(r->sock);
	free(r->theirs);
	free(r->now);
	free(r->copies);
	free(r);
}

const struct coll_pull_ops coll_pull_region = {
	.open = region_open,
	.close = region_close,
	.offer = region_offer,
	.accept = region_accept,
	.read = region_read,
};
