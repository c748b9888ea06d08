/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two processes, random transfers of all kinds between them, 1 byte to 64 MiB,
 * and between transfers whatever an owner may do with its memory.
 *
 * What the owner's memory must hold is known at any time: it is in a mirror
 * that both processes see. All that is read is compared with the mirror, and
 * all that is written is compared by the owner with its own memory. Where the
 * owner did what loses a region every kind of transfer must fail with ESTALE.
 *
 * SONDE_TRANSFERS is how many (default 600), SONDE_SEED where chance begins.
 */
#include <linux/memfd.h>
#include <sys/uio.h>

#include "region.h"

#define TAP_OWN_SECONDS	7200
#define MOST		(64UL << 20)
#define DEFAULT_COUNT	600

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 2685821657736338717ULL;
}

static uint64_t below(uint64_t n)
{
	return (draw() >> 11) % n;
}

/* 1 to @most, each order of magnitude as likely as the others. */
static size_t random_length(size_t most)
{
	size_t n = (1UL << below(27)) + below(1UL << below(27));

	return n > most ? 1 + below(most) : n;
}

static void draw_bytes(void *to, size_t len)
{
	unsigned char *p = to;
	size_t i;

	for (i = 0; i + 8 <= len; i += 8) {
		uint64_t v = draw();

		memcpy(p + i, &v, 8);
	}
	for (; i < len; i++)
		p[i] = draw();
}

/* ---- the owner ---------------------------------------------------------- */

enum act {
	MAKE,		/* new memory of @len bytes, @at bytes behind the begin of a page */
	COMPARE,	/* @len bytes at @at with the mirror */
	FORK, PROTECT, COOL, REWRITE,			/* the region stays */
	UNMAP, DROP, MOVE, REPLACE, REVOKE, ACTS	/* the region is lost */
};

enum kind {
	HEAP, SCATTERED, HUGE, FILE_BACKED, KINDS
};

struct order {
	enum act act;
	enum kind kind;
	size_t at, len;
};

static struct owner {
	int sock, dev, fd;
	char *map;		/* of pages */
	size_t map_len;
	char *p;
	size_t len;
} o;

static char *mirror;

static void unmap_all(void)
{
	if (o.map)
		munmap(o.map, o.map_len);
	o.map = NULL;
}

static void make_memory(const struct order *order)
{
	size_t len = (order->at + order->len + SMALL_PAGE - 1) & ~(SMALL_PAGE - 1);
	int file, flags = MAP_PRIVATE | MAP_ANONYMOUS;

	unmap_all();
	if (order->kind == FILE_BACKED) {
		file = memfd_create("random", 0);
		check(file >= 0);
		check_int(ftruncate(file, len), 0);
		o.map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		close(file);
	} else {
		o.map = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	}
	check(o.map != MAP_FAILED);
	if (order->kind != FILE_BACKED)
		madvise(o.map, len, order->kind == HUGE ? MADV_HUGEPAGE :
							  MADV_NOHUGEPAGE);
	o.map_len = len;
	o.p = o.map + order->at;
	o.len = order->len;
	memcpy(o.p, mirror, o.len);
	if (o.fd >= 0)
		close(o.fd);
	o.fd = export_region(o.dev, o.p, o.len, READ_WRITE);
	send_fd(o.sock, o.fd);
}

/* A child that writes everywhere, and the owner that writes what was there. */
static void fork_and_write(void)
{
	pid_t pid = fork();

	if (!pid) {
		memset(o.p, 0xee, o.len);
		_exit(0);
	}
	memcpy(o.p, mirror, o.len);
	join_child(pid);
}

static void move_memory(void)
{
	char *to = mmap(NULL, o.map_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
			MAP_NORESERVE, -1, 0);

	check(mremap(o.map, o.map_len, o.map_len, MREMAP_MAYMOVE | MREMAP_FIXED,
		     to) == to);
	o.map = to;
}

static void act(const struct order *order)
{
	switch (order->act) {
	case MAKE:
		make_memory(order);
		break;
	case COMPARE:
		check_msg(!memcmp(o.p + order->at, mirror + order->at, order->len),
			  "the owner has not what was written, %zu bytes at %zu",
			  order->len, order->at);
		break;
	case FORK:
		/* A child of a shared file would write to the same memory. */
		if (order->kind != FILE_BACKED)
			fork_and_write();
		break;
	case PROTECT:
		check_int(mprotect(o.map, o.map_len, PROT_READ), 0);
		check_int(mprotect(o.map, o.map_len, PROT_READ | PROT_WRITE), 0);
		break;
	case COOL:
		madvise(o.map, o.map_len, MADV_COLD);
		madvise(o.map, o.map_len, MADV_PAGEOUT);
		madvise(o.map, o.map_len, MADV_COLLAPSE);
		break;
	case REWRITE:
		memcpy(o.p, mirror, o.len);
		break;
	case UNMAP:
		unmap_all();
		break;
	case DROP:
		/* Of a file the pages stay: that is no loss. */
		if (order->kind == FILE_BACKED)
			unmap_all();
		else
			check_int(madvise(o.map, o.map_len, MADV_DONTNEED), 0);
		break;
	case MOVE:
		move_memory();
		break;
	case REPLACE:
		check(mmap(o.map, SMALL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == o.map);
		break;
	default:
		check_int(revoke_region(o.dev, o.fd), 0);
	}
}

static void own_until_closed(int sock)
{
	struct order order;

	o.sock = sock;
	o.fd = -1;
	o.dev = open_node(MAIN_NODE);
	while (read(sock, &order, sizeof(order)) == sizeof(order)) {
		act(&order);
		if (order.act != MAKE)
			tell(sock);
	}
	_exit(0);
}

/* ---- who transfers ------------------------------------------------------ */

enum way {
	READ, READV, WRITE, WRITEV, COPY, COPY_BACK, SLOT, MAP, WAYS
};

static struct peer {
	int sock, dev, fd;
	enum kind kind;
	size_t at, len;
	char *buf;
	unsigned long count[WAYS], lost;
	uint64_t bytes;
} me;

static void tell_owner(enum act what, size_t at, size_t len)
{
	struct order order = { what, me.kind, at, len };

	check_int(write(me.sock, &order, sizeof(order)), sizeof(order));
	if (what != MAKE)
		await(me.sock);
}

static void renew(void)
{
	struct sonde_slots slots = {
		.size = sizeof(slots), .regions = (uintptr_t)&me.fd, .nregions = 1,
	};

	me.kind = below(KINDS);
	me.len = random_length(MOST);
	me.at = below(3) ? below(SMALL_PAGE) : 0;
	draw_bytes(mirror, me.len);
	if (me.fd >= 0)
		close(me.fd);
	tell_owner(MAKE, me.at, me.len);
	me.fd = receive_fd(me.sock);
	check_int(do_ioctl(me.dev, SONDE_IOC_SLOTS, &slots), 0);
}

static ssize_t copy_one(uint32_t flags, int region, size_t at, size_t len)
{
	struct sonde_copy c = {
		.region = region, .flags = flags, .offset = at,
		.addr = (uintptr_t)me.buf, .len = len,
	};
	struct sonde_copyv args = {
		.size = sizeof(args), .copies = (uintptr_t)&c, .ncopies = 1,
	};

	check_int(do_ioctl(me.dev, SONDE_IOC_COPYV, &args), 0);
	if (c.result >= 0)
		return c.result;
	errno = -c.result;
	return -1;
}

/* Through a mapping of the whole pages; the rest, if any, by a copy. */
static ssize_t read_mapped(size_t at, size_t len)
{
	const size_t whole = me.len & ~(SMALL_PAGE - 1);
	char *q;

	if (me.at || at + len > whole)
		return pread(me.fd, me.buf, len, at);
	do {
		q = mmap(NULL, whole, PROT_READ, MAP_SHARED, me.fd, 0);
	} while (q == MAP_FAILED && errno == EAGAIN &&
		 !region_error(me.dev, me.fd));
	if (q == MAP_FAILED)
		return -1;
	memcpy(me.buf, q + at, len);
	check_int(munmap(q, whole), 0);
	return len;
}

static bool is_write(enum way way)
{
	return way == WRITE || way == WRITEV || way == COPY_BACK;
}

static ssize_t do_transfer(enum way way, size_t at, size_t len)
{
	size_t first = len / 3;
	struct iovec iov[2] = {
		{ me.buf, first }, { me.buf + first, len - first },
	};

	switch (way) {
	case READ:
		return pread(me.fd, me.buf, len, at);
	case READV:
		return preadv(me.fd, iov, 2, at);
	case WRITE:
		return pwrite(me.fd, me.buf, len, at);
	case WRITEV:
		return pwritev(me.fd, iov, 2, at);
	case COPY:
		return copy_one(0, me.fd, at, len);
	case COPY_BACK:
		return copy_one(SONDE_COPY_WRITE, me.fd, at, len);
	case SLOT:
		return copy_one(SONDE_COPY_SLOT, 0, at, len);
	default:
		return read_mapped(at, len);
	}
}

static void transfer(void)
{
	enum way way = below(WAYS);
	size_t len = random_length(me.len), at = below(me.len - len + 1);
	ssize_t got;

	me.count[way]++;
	me.bytes += len;
	if (is_write(way))
		draw_bytes(me.buf, len);
	else
		memset(me.buf, 0xa5, len);
	got = do_transfer(way, at, len);
	check_msg(got == (ssize_t)len, "way %d, %zu bytes at %zu of %zu, kind %d: %zd: %s",
		  way, len, at, me.len, me.kind, got, strerror(errno));
	if (is_write(way)) {
		memcpy(mirror + at, me.buf, len);
		tell_owner(COMPARE, 0, me.len);
		return;
	}
	check_msg(!memcmp(me.buf, mirror + at, len),
		  "wrong bytes: way %d, %zu bytes at %zu of %zu, kind %d", way, len,
		  at, me.len, me.kind);
}

static void check_all_ways_fail(void)
{
	enum way way;

	for (way = READ; way < WAYS; way++) {
		check_int(do_transfer(way, 0, me.len), -1);
		check_msg(errno == ESTALE, "way %d: %s", way, strerror(errno));
	}
	me.lost++;
}

static void disturb(void)
{
	enum act what = FORK + below(ACTS - FORK);

	tell_owner(what, 0, 0);
	if (what == PROTECT && replaces_after_mprotect()) {
		renew();
		return;
	}
	if (what >= UNMAP) {
		check_all_ways_fail();
		renew();
	}
}

static unsigned long number_of(const char *variable, unsigned long otherwise)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

static void no_byte_is_ever_wrong(void)
{
	unsigned long count = number_of("SONDE_TRANSFERS", DEFAULT_COUNT), i;
	const unsigned long before = await_none_pinned();
	int sock[2];
	pid_t pid;

	alarm(TAP_OWN_SECONDS);
	state = number_of("SONDE_SEED", time(NULL)) * 2654435761UL + 1;
	printf("# SONDE_SEED=%ld\n", (long)number_of("SONDE_SEED", time(NULL)));
	mirror = mmap(NULL, MOST, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	me.buf = map_small(MOST);
	me.dev = open_node(MAIN_NODE);
	me.fd = -1;
	check(mirror != MAP_FAILED);
	check_int(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sock), 0);
	me.sock = sock[0];
	fflush(stdout);
	pid = fork();
	if (!pid) {
		close(sock[0]);
		own_until_closed(sock[1]);
	}
	close(sock[1]);
	renew();
	for (i = 0; i < count; i++) {
		transfer();
		if (!below(4))
			disturb();
	}
	close(me.sock);
	join_child(pid);
	close(me.fd);
	close(me.dev);
	printf("# %lu transfers, %llu MiB, %lu regions lost; by way:", count,
	       (unsigned long long)me.bytes >> 20, me.lost);
	for (i = 0; i < WAYS; i++)
		printf(" %lu", me.count[i]);
	putchar('\n');
	await_pinned(before);
}

static const struct tap_test tests[] = {
	TAP_TEST(no_byte_is_ever_wrong),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
