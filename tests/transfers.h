/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two processes and random transfers between them, every byte checked.
 *
 * The peer (a child) says what is to be done. It keeps a shadow of each buffer:
 * what it reads must be that, what it writes goes there too, and when a buffer is
 * retired the owner holds what it has against a checksum of the shadow. Buffers
 * are retired in all ways that the way of the transfer must notice, and a copy from
 * what was retired must fail.
 *
 * The same program is a unit test of what runs on this machine, and runs over the
 * module in the guest.
 */
#ifndef TESTS_TRANSFERS_H
#define TESTS_TRANSFERS_H

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/region.h>

#include "../lib/rng.h"

#define BUFFERS		8
#define MOST_BATCH	64
#define MOST_BYTES	((size_t)64 << 20)
/* Of most buffers: the rest would take all the time. */
#define USUAL_BYTES	((size_t)1 << 20)

enum order { ORDER_NEW, ORDER_RETIRE, ORDER_QUIT };

/* How a buffer comes to its end. */
enum retirement {
	RETIRE_WITHDRAW,	/* told, then unmapped */
	RETIRE_REVOKE,
	RETIRE_CLOSE,
	RETIRE_ANYWAY,		/* those below are for what needs not be told */
	RETIRE_UNMAP = RETIRE_ANYWAY,
	RETIRE_MAP_ANEW,	/* other memory at the same address */
	RETIRE_DROP,		/* MADV_DONTNEED */
	RETIREMENTS
};

/**
 * struct transfers - a run
 * @way: of both sides
 * @count: copies to make
 * @seed: same seed, same run
 * @done: how many were made
 * @why: what went wrong, by either process; shared by both
 */
struct transfers {
	enum sonde_transfer_way way;
	uint64_t count, seed;
	uint64_t *done;
	char *why;
};

struct order_message {
	uint32_t order;
	uint32_t index;
	uint64_t len;
	uint64_t seed;
	uint64_t hash;
	uint32_t rights;
	uint32_t is_shared;
	uint32_t retirement;
};

#define WHY_BYTES 512

#define transfers_need(run, cond, ...) \
	do { \
		if (!(cond)) \
			transfers_fail(run, __LINE__, __VA_ARGS__); \
	} while (0)

__attribute__((format(printf, 3, 4), noreturn))
static void transfers_fail(const struct transfers *run, int line, const char *fmt, ...)
{
	char text[WHY_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Who fails first says it; the other one only loses its peer. */
	if (!*run->why)
		snprintf(run->why, WHY_BYTES, "%s, seed %" PRIu64 ", after %" PRIu64 " copies: "
			 "%.300s (line %d)", sonde_transfer_way_name(run->way), run->seed,
			 *run->done, text, line);
	_exit(EXIT_FAILURE);
}

/* Whole words first: it is quick. */
static void transfers_fill(unsigned char *p, size_t len, uint64_t seed)
{
	uint64_t word;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		word = sonde_rng_splitmix(&seed);
		memcpy(p + i, &word, 8);
	}
	word = sonde_rng_splitmix(&seed);
	memcpy(p + i, &word, len - i);
}

static uint64_t transfers_hash(const unsigned char *p, size_t len)
{
	uint64_t hash = len, word;
	size_t i;

	for (i = 0; i < len; i += 8) {
		word = 0;
		memcpy(&word, p + i, len - i < 8 ? len - i : 8);
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

/* 1 to @most, each power of two as likely as another. */
static size_t transfers_size(struct sonde_rng *rng, size_t most)
{
	unsigned int bits = 64 - (unsigned int)__builtin_clzll(most);
	uint64_t top = UINT64_C(1) << sonde_rng_below(rng, bits);
	size_t size = (size_t)(top + sonde_rng_below(rng, top));

	return size < most ? size : most;
}

/* ---- the owner ---------------------------------------------------------- */

struct owned {
	unsigned char *p;	/* the buffer, not always the begin of a page */
	unsigned char *mapped;	/* NULL: of sonde_transfer_alloc() */
	size_t len, mapped_len;
	struct sonde_region *region;
};

static void owner_make(const struct transfers *run, struct sonde_transfer *t, struct owned *o,
		       const struct order_message *m)
{
	/* Begin anywhere in a page, if it is no whole number of pages. */
	size_t in_page = m->len % 4096 ? m->seed % 4096 : 0;
	void *p;
	int err;

	*o = (struct owned){ .len = m->len, .mapped_len = m->len + in_page };
	if (m->is_shared) {
		err = sonde_transfer_alloc(t, o->mapped_len, &p);
		transfers_need(run, !err, "alloc: %s", strerror(-err));
	} else {
		p = mmap(NULL, o->mapped_len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		transfers_need(run, p != MAP_FAILED, "mmap: %s", strerror(errno));
		o->mapped = p;
	}
	o->p = (unsigned char *)p + in_page;
	transfers_fill(o->p, o->len, m->seed);
	err = sonde_region_export(t, o->p, o->len, m->rights, &o->region);
	transfers_need(run, !err, "export of %zu bytes: %s", o->len, strerror(-err));
	transfers_need(run, sonde_region_is_valid(o->region), "exported, and not valid");
}

static void owner_unmap(struct sonde_transfer *t, struct owned *o)
{
	if (!o->p)
		return;
	if (o->mapped)
		munmap(o->mapped, o->mapped_len);
	else
		sonde_transfer_free(t, o->p - (uintptr_t)o->p % 4096);
	o->p = NULL;
}

static void owner_map_anew(const struct transfers *run, struct owned *o)
{
	void *p = mmap(o->mapped, o->mapped_len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	transfers_need(run, p == o->mapped, "mmap anew: %s", strerror(errno));
	transfers_fill(o->p, o->len, 0);
}

static void owner_retire(const struct transfers *run, struct sonde_transfer *t, struct owned *o,
			 const struct order_message *m)
{
	transfers_need(run, transfers_hash(o->p, o->len) == m->hash,
		       "the owner of %zu bytes has others than were written", o->len);
	switch ((enum retirement)m->retirement) {
	case RETIRE_WITHDRAW:
		sonde_transfer_withdraw(t, o->p, 1);
		owner_unmap(t, o);
		break;
	case RETIRE_REVOKE:
		transfers_need(run, !sonde_region_revoke(o->region), "revoke");
		break;
	case RETIRE_CLOSE:
		sonde_region_close(o->region);
		o->region = NULL;
		break;
	case RETIRE_UNMAP:
		owner_unmap(t, o);
		break;
	case RETIRE_MAP_ANEW:
		owner_map_anew(run, o);
		break;
	case RETIRE_DROP:
		transfers_need(run, !madvise(o->mapped, o->mapped_len, MADV_DONTNEED),
			       "MADV_DONTNEED: %s", strerror(errno));
		break;
	default:
		transfers_fail(run, __LINE__, "no such end");
	}
	transfers_need(run, !o->region || !sonde_region_is_valid(o->region),
		       "retired (%u), and still valid", m->retirement);
}

static void owner_drop(struct sonde_transfer *t, struct owned *o)
{
	sonde_region_close(o->region);
	owner_unmap(t, o);
	*o = (struct owned){ .p = NULL };
}

static void owner_run(const struct transfers *run, struct sonde_transfer *t, int sock)
{
	struct owned owned[BUFFERS] = { { .p = NULL } };
	struct order_message m;
	char ack = 'A';

	for (;;) {
		if (recv(sock, &m, sizeof(m), 0) != (ssize_t)sizeof(m))
			transfers_fail(run, __LINE__, "the peer is gone");
		if (m.order == ORDER_QUIT)
			break;
		if (m.order == ORDER_NEW) {
			owner_drop(t, &owned[m.index]);
			owner_make(run, t, &owned[m.index], &m);
			transfers_need(run, !sonde_region_send(owned[m.index].region, sock),
				       "send: %s", strerror(errno));
		} else {
			owner_retire(run, t, &owned[m.index], &m);
			transfers_need(run, send(sock, &ack, 1, MSG_NOSIGNAL) == 1, "no peer");
		}
	}
	for (size_t i = 0; i < BUFFERS; i++)
		owner_drop(t, &owned[i]);
}

/* ---- the peer ----------------------------------------------------------- */

struct known {
	struct sonde_region *region;
	unsigned char *shadow;
	size_t len;
	unsigned int rights;
	int is_shared;
	unsigned char *map;	/* of all of it, or NULL */
};

struct peer {
	const struct transfers *run;
	struct sonde_transfer *t;
	struct sonde_rng rng;
	int sock;
	struct known known[BUFFERS];
	unsigned char *scratch;
};

static void peer_order(struct peer *peer, struct order_message *m)
{
	transfers_need(peer->run, send(peer->sock, m, sizeof(*m), MSG_NOSIGNAL) ==
		       (ssize_t)sizeof(*m), "the owner is gone");
}

static void peer_new(struct peer *peer, uint32_t index)
{
	struct known *k = &peer->known[index];
	int is_large = !sonde_rng_below(&peer->rng, 40);
	struct order_message m = {
		.order = ORDER_NEW, .index = index,
		.len = transfers_size(&peer->rng, is_large ? MOST_BYTES : USUAL_BYTES),
		.seed = sonde_rng_next(&peer->rng),
		.rights = 1 + (uint32_t)sonde_rng_below(&peer->rng, 3),
		.is_shared = peer->run->way == SONDE_TRANSFER_SHM ||
			     (peer->run->way != SONDE_TRANSFER_CMA &&
			      sonde_rng_below(&peer->rng, 2)),
	};
	void *map;
	int err;

	peer_order(peer, &m);
	err = sonde_region_receive(peer->t, peer->sock, &k->region);
	transfers_need(peer->run, !err, "import of %" PRIu64 " bytes: %s", m.len, strerror(-err));
	transfers_need(peer->run, sonde_region_bytes(k->region) == m.len &&
		       sonde_region_rights(k->region) == m.rights, "imported something else");
	k->len = m.len;
	k->rights = m.rights;
	k->is_shared = (int)m.is_shared;
	k->shadow = malloc(m.len);
	transfers_need(peer->run, k->shadow, "no memory");
	transfers_fill(k->shadow, k->len, m.seed);
	k->map = NULL;
	if (k->rights & SONDE_REGION_READ && !sonde_region_map(k->region, 0, k->len, &map))
		k->map = map;
}

/* What is mapped stays, and is nobody's SIGBUS. */
static void peer_forget(struct known *k)
{
	volatile unsigned char *map = k->map;

	if (map)
		(void)(map[0] + map[k->len - 1]);
	sonde_region_unmap(k->map, k->len);
	sonde_region_close(k->region);
	free(k->shadow);
}

static enum retirement peer_choose_end(struct peer *peer, const struct known *k)
{
	uint64_t n = RETIRE_ANYWAY;

	/* Only the module needs not be told; shared pages come back as they were. */
	if (peer->run->way == SONDE_TRANSFER_MODULE && !k->is_shared)
		n = RETIREMENTS;
	return (enum retirement)sonde_rng_below(&peer->rng, n);
}

static void peer_retire(struct peer *peer, uint32_t index)
{
	struct known *k = &peer->known[index];
	struct order_message m = {
		.order = ORDER_RETIRE, .index = index, .hash = transfers_hash(k->shadow, k->len),
		.retirement = peer_choose_end(peer, k),
	};
	ssize_t got;
	char ack;

	peer_order(peer, &m);
	transfers_need(peer->run, recv(peer->sock, &ack, 1, 0) == 1, "the owner is gone");
	if (k->rights & SONDE_REGION_READ)
		got = sonde_region_read(k->region, 0, peer->scratch, 1);
	else
		got = sonde_region_write(k->region, 0, peer->scratch, 1);
	transfers_need(peer->run, got == -ESTALE, "a copy after the end (%u) says %zd",
		       m.retirement, got);
	transfers_need(peer->run, !sonde_region_is_valid(k->region) &&
		       sonde_region_state(k->region) == -ESTALE, "valid after the end (%u)",
		       m.retirement);
	peer_forget(k);
	peer_new(peer, index);
}

/* Somewhere in a region; of @n such pieces the @i-th has its own part of it. */
static void peer_choose(struct peer *peer, struct sonde_region_copy *copy, size_t i, size_t n)
{
	const struct known *k = &peer->known[sonde_rng_below(&peer->rng, BUFFERS)];
	size_t begin = k->len / n * i, room = k->len / n;

	if (!room) {
		room = i ? 0 : k->len;
		begin = 0;
	}
	copy->region = k->region;
	copy->len = room ? transfers_size(&peer->rng, room) : 0;
	copy->offset = begin + (room ? sonde_rng_below(&peer->rng, room - copy->len + 1) : 0);
}

static struct known *peer_find(struct peer *peer, const struct sonde_region *region)
{
	size_t i = 0;

	while (peer->known[i].region != region)
		i++;
	return &peer->known[i];
}

static void peer_check(struct peer *peer, const struct sonde_region_copy *copy)
{
	const struct known *k = peer_find(peer, copy->region);
	int is_write = !!(copy->flags & SONDE_COPY_WRITE);
	unsigned int right = is_write ? SONDE_REGION_WRITE : SONDE_REGION_READ;

	if (!(k->rights & right)) {
		transfers_need(peer->run, copy->result == -EACCES, "without the right: %zd",
			       copy->result);
		return;
	}
	transfers_need(peer->run, copy->result == (ssize_t)copy->len,
		       "a copy of %zu at %" PRIu64 " of %zu bytes says %zd", copy->len,
		       copy->offset, k->len, copy->result);
	if (is_write)
		memcpy(k->shadow + copy->offset, copy->addr, copy->len);
	else
		transfers_need(peer->run, !memcmp(k->shadow + copy->offset, copy->addr, copy->len),
			       "wrong bytes in %zu at %" PRIu64 " of %zu", copy->len, copy->offset,
			       k->len);
}

/* At once, or begun here and ended while nothing else is done. */
static size_t peer_copyv(struct peer *peer, struct sonde_region_copy *copies, size_t n)
{
	struct sonde_copyv_batch *batch;
	int err;

	if (sonde_rng_below(&peer->rng, 4))
		return sonde_copyv(peer->t, copies, n);
	err = sonde_copyv_start(peer->t, copies, n, -1, &batch);
	transfers_need(peer->run, !err, "cannot start a batch: %s", strerror(-err));
	return sonde_copyv_wait(batch);
}

static uint64_t peer_batch(struct peer *peer)
{
	size_t n = 1 + (size_t)sonde_rng_below(&peer->rng, MOST_BATCH), at = 0, whole, ok = 0;
	unsigned int flags = sonde_rng_below(&peer->rng, 2) ? SONDE_COPY_WRITE : 0;
	struct sonde_region_copy copies[MOST_BATCH];

	for (size_t i = 0; i < n; i++) {
		peer_choose(peer, &copies[i], i, n);
		copies[i].flags = flags;
		copies[i].addr = peer->scratch + at;
		at += copies[i].len;
	}
	if (flags)
		transfers_fill(peer->scratch, at, sonde_rng_next(&peer->rng));
	whole = peer_copyv(peer, copies, n);
	for (size_t i = 0; i < n; i++) {
		peer_check(peer, &copies[i]);
		ok += copies[i].result == (ssize_t)copies[i].len;
	}
	transfers_need(peer->run, whole == ok, "%zu whole, and %zu said", ok, whole);
	return n;
}

/* By plain system calls on the descriptor, which the module knows. */
static void peer_copy_file(struct sonde_region_copy *copy)
{
	int fd = sonde_region_fd(copy->region);
	off_t offset = (off_t)copy->offset;

	if (copy->flags)
		copy->result = pwrite(fd, copy->addr, copy->len, offset);
	else
		copy->result = pread(fd, copy->addr, copy->len, offset);
	if (copy->result < 0)
		copy->result = errno == EBADF ? -EACCES : -errno;
}

static void peer_copy_map(struct peer *peer, struct sonde_region_copy *copy)
{
	const struct known *k = peer_find(peer, copy->region);

	if (copy->flags && !(k->rights & SONDE_REGION_WRITE)) {
		copy->result = -EACCES;
		return;
	}
	if (copy->flags)
		memcpy(k->map + copy->offset, copy->addr, copy->len);
	else
		memcpy(copy->addr, k->map + copy->offset, copy->len);
	copy->result = (ssize_t)copy->len;
}

static uint64_t peer_single(struct peer *peer)
{
	struct sonde_region_copy copy = { .addr = peer->scratch };
	const uint64_t how = sonde_rng_below(&peer->rng, 4);

	peer_choose(peer, &copy, 0, 1);
	if (sonde_rng_below(&peer->rng, 2)) {
		copy.flags = SONDE_COPY_WRITE;
		transfers_fill(peer->scratch, copy.len, sonde_rng_next(&peer->rng));
	}
	if (!how && sonde_region_way(copy.region) == SONDE_TRANSFER_MODULE)
		peer_copy_file(&copy);
	else if (how == 1 && peer_find(peer, copy.region)->map)
		peer_copy_map(peer, &copy);
	else if (copy.flags)
		copy.result = sonde_region_write(copy.region, copy.offset, copy.addr, copy.len);
	else
		copy.result = sonde_region_read(copy.region, copy.offset, copy.addr, copy.len);
	peer_check(peer, &copy);
	return 1;
}

static void peer_work(struct peer *peer)
{
	struct order_message quit = { .order = ORDER_QUIT };

	for (uint32_t i = 0; i < BUFFERS; i++)
		peer_new(peer, i);
	while (*peer->run->done < peer->run->count) {
		uint64_t what = sonde_rng_below(&peer->rng, 50);

		if (!what)
			peer_retire(peer, (uint32_t)sonde_rng_below(&peer->rng, BUFFERS));
		else
			*peer->run->done += what < 4 ? peer_batch(peer) : peer_single(peer);
	}
	for (size_t i = 0; i < BUFFERS; i++)
		peer_forget(&peer->known[i]);
	peer_order(peer, &quit);
}

static void peer_run(const struct transfers *run, struct sonde_transfer *t, int sock)
{
	struct peer peer = { .run = run, .t = t, .sock = sock };

	sonde_rng_seed(&peer.rng, run->seed);
	peer.scratch = malloc(MOST_BYTES);
	transfers_need(run, peer.scratch, "no memory");
	peer_work(&peer);
	free(peer.scratch);
}

/* ---- both --------------------------------------------------------------- */

/* Descriptors that are open: none may be left over. */
static unsigned int transfers_count_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Mappings of regions and their pages. */
static unsigned int transfers_count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned int n = 0;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps))
		n += !!strstr(line, "sonde-");
	if (maps)
		fclose(maps);
	return n;
}

/* One side, from before its transfer is opened until all of it must be gone. */
static void transfers_main(const struct transfers *run, int sock,
			   void (*side)(const struct transfers *, struct sonde_transfer *, int))
{
	const unsigned int fds = transfers_count_fds(), maps = transfers_count_maps();
	struct sonde_transfer *t;
	int err = sonde_transfer_open(&t, run->way);

	transfers_need(run, !err, "open: %s", strerror(-err));
	side(run, t, sock);
	sonde_transfer_close(t);
	transfers_need(run, transfers_count_fds() == fds, "%u descriptors are left over",
		       transfers_count_fds() - fds);
	transfers_need(run, transfers_count_maps() == maps, "%u mappings are left over",
		       transfers_count_maps() - maps);
}

/* Both in children, so that neither's end is the test's. */
static pid_t transfers_start(const struct transfers *run, int sock, int other,
			     void (*side)(const struct transfers *, struct sonde_transfer *, int))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(other);
	transfers_main(run, sock, side);
	_exit(EXIT_SUCCESS);
}

static int transfers_wait(const struct transfers *run, pid_t pid, const char *who)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid || status) {
		if (!*run->why)
			snprintf(run->why, WHY_BYTES, "%s, seed %" PRIu64 ": the %s ended with 0x%x",
				 sonde_transfer_way_name(run->way), run->seed, who, status);
		return -1;
	}
	return 0;
}

/* SONDE_TRANSFERS copies if that is set, else @count. Return: NULL, or what went wrong. */
__attribute__((unused))
static const char *transfers_run(enum sonde_transfer_way way, uint64_t count)
{
	static char why[WHY_BYTES];
	const char *more = getenv("SONDE_TRANSFERS"), *seed = getenv("SONDE_SEED");
	struct transfers run = {
		.way = way,
		.count = more ? strtoull(more, NULL, 10) : count,
		.seed = seed ? strtoull(seed, NULL, 10) : 1,
	};
	pid_t owner, peer;
	int socks[2], failed;
	void *p;

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, socks))
		return "no memory or sockets";
	run.done = p;
	run.why = (char *)p + 64;
	fflush(stdout);
	owner = transfers_start(&run, socks[0], socks[1], owner_run);
	peer = transfers_start(&run, socks[1], socks[0], peer_run);
	close(socks[0]);
	close(socks[1]);
	failed = transfers_wait(&run, owner, "owner");
	failed |= transfers_wait(&run, peer, "peer");
	memcpy(why, run.why, WHY_BYTES);
	munmap(p, 4096);
	return failed ? why : NULL;
}

#endif
