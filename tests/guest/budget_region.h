/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of the budget about regions: another process owns memory of several
 * kinds and sleeps; we copy from it by sonde and by process_vm_readv(2) (CMA).
 *
 * What is told of a copy is what it takes beyond a local copy of as many bytes
 * (rep movsb, as the kernel's copies to users are on this processor).
 */
#ifndef TESTS_GUEST_BUDGET_REGION_H
#define TESTS_GUEST_BUDGET_REGION_H

#include <linux/prctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define MIB		(1UL << 20)
#define SMALL		4096UL
#define PIECES		32

/* What the owner's memory is like. */
enum kind {
	FRESH, PIECES_OF_13, SCATTERED, HUGE, KINDS
};

/* What the owner tells of itself, and what we have. */
static struct peer {
	pid_t pid;
	char *addr[KINDS];
	int fd[KINDS];
	char *own[KINDS];	/* memory of ours of the same kinds */
	int dev;
	char *to;
	char *hole;		/* 2 MiB where nothing is mapped */
	struct sonde_copy copies[PIECES];
} peer;

/*
 * Where a mapping needs one page table of its own, wherever the kernel has put
 * the rest; between neighbours, so that it needs no others.
 */
static char *make_hole(void)
{
	char *p = mmap(NULL, 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory");
	p = (char *)(((uintptr_t)p + 4 * MIB - 1) & ~(2 * MIB - 1));
	if (munmap(p, 2 * MIB))
		die("munmap");
	return p;
}

static char *map_memory(size_t len, int advice)
{
	char *p = mmap(NULL, len + 2 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("no memory");
	p = (char *)(((uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1));
	madvise(p, len, advice);
	return p;
}

/* Of the pages that the kernel gives each one after @run goes elsewhere. */
static char *map_broken_memory(size_t run)
{
	char *p = map_memory(MIB, MADV_NOHUGEPAGE);
	char *q = map_memory(MIB, MADV_NOHUGEPAGE);
	size_t i;

	for (i = 0; i < MIB / SMALL; i++) {
		p[i * SMALL] = 1;
		if (i % run == run - 1)
			q[i * SMALL] = 1;
	}
	return p;
}

static char *make_kind(enum kind kind)
{
	const size_t len = kind == HUGE ? 2 * MIB : MIB;
	char *p;

	if (kind == PIECES_OF_13 || kind == SCATTERED)
		return map_broken_memory(kind == SCATTERED ? 1 : 13);
	p = map_memory(len, kind == HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	memset(p, 1, len);
	return p;
}

static struct sonde_export do_export(int dev, const char *addr, size_t len)
{
	struct sonde_export args = {
		.size = sizeof(args), .addr = (uintptr_t)addr, .len = len,
		.rights = SONDE_REGION_READ,
	};

	if (ioctl(dev, SONDE_IOC_EXPORT, &args))
		die("SONDE_IOC_EXPORT");
	return args;
}

/*
 * A row that measured other memory than it says would be worth nothing; other
 * memory is tried, while what has been given stays given.
 */
static struct sonde_export export_kind(int dev, enum kind kind, char **addr)
{
	static const struct {
		uint64_t least, most;
		size_t len;
	} of[] = {
		[FRESH] = { 1, 2, MIB }, [PIECES_OF_13] = { 20, 20, MIB },
		[SCATTERED] = { 250, 256, MIB }, [HUGE] = { 1, 1, 2 * MIB },
	};
	struct sonde_export args;
	int tries;

	for (tries = 0; tries < 64; tries++) {
		*addr = make_kind(kind);
		args = do_export(dev, *addr, of[kind].len);
		if (args.runs >= of[kind].least && args.runs <= of[kind].most)
			return args;
		close(args.fd);
	}
	fprintf(stderr, "budget: memory of kind %d has %llu runs\n", kind,
		(unsigned long long)args.runs);
	exit(1);
}

/*
 * Not by sharing a table of descriptors, in which each look-up would have to
 * count.
 */
static void hand_over(int sock, bool sends)
{
	char control[CMSG_SPACE(sizeof(peer.fd))] = "";
	struct iovec iov = { peer.addr, sizeof(peer.addr) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	if (sends) {
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(peer.fd));
		memcpy(CMSG_DATA(cmsg), peer.fd, sizeof(peer.fd));
		if (sendmsg(sock, &msg, 0) != sizeof(peer.addr))
			die("sendmsg");
		return;
	}
	if (recvmsg(sock, &msg, 0) != sizeof(peer.addr)) {
		fprintf(stderr, "budget: the owner has no such memory\n");
		exit(1);
	}
	memcpy(peer.fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(peer.fd));
}

/* It goes when we do. */
static void own_memory(int sock)
{
	int kind;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (kind = 0; kind < KINDS; kind++)
		peer.fd[kind] = export_kind(peer.dev, kind, &peer.addr[kind]).fd;
	hand_over(sock, true);
	(void)!read(sock, &c, 1);	/* for ever */
	_exit(0);
}

static void fill_pieces(void)
{
	struct sonde_slots slots = {
		.size = sizeof(slots), .regions = (uintptr_t)&peer.fd[FRESH],
		.nregions = 1,
	};
	int i;

	if (ioctl(peer.dev, SONDE_IOC_SLOTS, &slots))
		die("SONDE_IOC_SLOTS");
	for (i = 0; i < PIECES; i++)
		peer.copies[i] = (struct sonde_copy){
			.flags = SONDE_COPY_SLOT, .offset = i * SMALL,
			.addr = (uintptr_t)peer.to + i * SMALL, .len = SMALL,
		};
}

static void make_peer(void)
{
	int sock[2], kind;

	peer.dev = open("/dev/sonde", O_RDWR | O_CLOEXEC);
	if (peer.dev < 0)
		die("/dev/sonde");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock))
		die("socketpair");
	peer.pid = fork();
	if (peer.pid < 0)
		die("fork");
	if (!peer.pid)
		own_memory(sock[1]);
	close(sock[1]);		/* or we would wait for an owner that gave up */
	hand_over(sock[0], false);
	for (kind = 0; kind < KINDS; kind++)
		close(export_kind(peer.dev, kind, &peer.own[kind]).fd);
	peer.to = map_memory(MIB + SMALL, MADV_NOHUGEPAGE) + 64;
	memset(peer.to, 1, MIB);
	peer.hole = make_hole();
	fill_pieces();
}

static void end_peer(void)
{
	kill(peer.pid, SIGKILL);
}

/* ---- copies ------------------------------------------------------------- */

static void copy_local(char *to, const char *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D" (to), "+S" (from), "+c" (n) :
			 : "memory");
}

static int call_local_4k(const struct target *t)
{
	(void)t;
	copy_local(peer.to, peer.own[FRESH], SMALL);
	return 0;
}

static int call_local_pieces(const struct target *t)
{
	int i;

	(void)t;
	for (i = 0; i < PIECES; i++)
		copy_local(peer.to + i * SMALL, peer.own[FRESH] + i * SMALL, SMALL);
	return 0;
}

static int call_local_1m(const struct target *t)
{
	(void)t;
	copy_local(peer.to, peer.own[FRESH], MIB);
	return 0;
}

static int copy_region(enum kind kind, size_t n)
{
	return pread(peer.fd[kind], peer.to, n, 0) == (ssize_t)n ? 0 : -1;
}

static int copy_cma(enum kind kind, size_t n)
{
	struct iovec to = { peer.to, n }, from = { peer.addr[kind], n };

	return process_vm_readv(peer.pid, &to, 1, &from, 1, 0) == (ssize_t)n ? 0 : -1;
}

static int call_copy_4k(const struct target *t)
{
	(void)t;
	return copy_region(FRESH, SMALL);
}

static int call_copy_4k_cma(const struct target *t)
{
	(void)t;
	return copy_cma(FRESH, SMALL);
}

static int call_copy_1m(const struct target *t)
{
	(void)t;
	return copy_region(FRESH, MIB);
}

static int call_copy_1m_cma(const struct target *t)
{
	(void)t;
	return copy_cma(FRESH, MIB);
}

/* As memory is where others have been before, and as a fresh guest gave it. */
static int call_copy_1m_20_runs(const struct target *t)
{
	(void)t;
	return copy_region(PIECES_OF_13, MIB);
}

static int call_copy_1m_scattered(const struct target *t)
{
	(void)t;
	return copy_region(SCATTERED, MIB);
}

static int call_copy_1m_scattered_cma(const struct target *t)
{
	(void)t;
	return copy_cma(SCATTERED, MIB);
}

static int call_copy_1m_thp(const struct target *t)
{
	(void)t;
	return copy_region(HUGE, MIB);
}

static int call_copy_1m_thp_cma(const struct target *t)
{
	(void)t;
	return copy_cma(HUGE, MIB);
}

static int call_copy_pieces(const struct target *t)
{
	struct sonde_copyv args = {
		.size = sizeof(args), .copies = (uintptr_t)peer.copies,
		.ncopies = PIECES,
	};
	int i;

	(void)t;
	if (ioctl(peer.dev, SONDE_IOC_COPYV, &args))
		return -1;
	for (i = 0; i < PIECES; i++)
		if (peer.copies[i].result != SMALL)
			return -1;
	return 0;
}

static int call_copy_pieces_cma(const struct target *t)
{
	struct iovec to[PIECES], from[PIECES];
	int i;

	(void)t;
	for (i = 0; i < PIECES; i++) {
		to[i] = (struct iovec){ peer.to + i * SMALL, SMALL };
		from[i] = (struct iovec){ peer.addr[FRESH] + i * SMALL, SMALL };
	}
	return process_vm_readv(peer.pid, to, PIECES, from, PIECES, 0) ==
	       (ssize_t)(PIECES * SMALL) ? 0 : -1;
}

/* ---- handles ------------------------------------------------------------ */

static int call_export_close(const struct target *t)
{
	(void)t;
	return close(do_export(peer.dev, peer.own[FRESH], MIB).fd);
}

static int call_export_close_thp(const struct target *t)
{
	(void)t;
	return close(do_export(peer.dev, peer.own[HUGE], MIB).fd);
}

static int map_touch_unmap(enum kind kind, size_t len)
{
	volatile char *p = mmap(peer.hole, len, PROT_READ, MAP_SHARED | MAP_FIXED,
				peer.fd[kind], 0);
	size_t i;

	if (p != peer.hole)
		return -1;
	for (i = 0; i < len; i += SMALL)
		(void)p[i];
	return munmap((void *)p, len);
}

static int call_map_touch_unmap(const struct target *t)
{
	(void)t;
	return map_touch_unmap(FRESH, MIB);
}

static int call_map_touch_unmap_half(const struct target *t)
{
	(void)t;
	return map_touch_unmap(FRESH, MIB / 2);
}

static int call_map_touch_unmap_scattered(const struct target *t)
{
	(void)t;
	return map_touch_unmap(SCATTERED, MIB);
}

static int call_map_touch_unmap_scattered_half(const struct target *t)
{
	(void)t;
	return map_touch_unmap(SCATTERED, MIB / 2);
}

static int call_map_touch_unmap_thp(const struct target *t)
{
	(void)t;
	return map_touch_unmap(HUGE, 2 * MIB);
}

#endif
