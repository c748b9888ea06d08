/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of regions share: exports, patterns, and readers. */
#ifndef TESTS_GUEST_REGION_H
#define TESTS_GUEST_REGION_H

#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "nodes.h"

#define READ_WRITE	(SONDE_REGION_READ | SONDE_REGION_WRITE)
#define HUGE_PAGE	(2UL << 20)

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif
#ifndef MADV_PAGEOUT
#define MADV_COLD	20
#define MADV_PAGEOUT	21
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

static struct sonde_export export_of(const void *addr, uint64_t len, uint32_t rights)
{
	return (struct sonde_export){
		.size = sizeof(struct sonde_export), .addr = (uintptr_t)addr,
		.len = len, .rights = rights, .fd = -1,
	};
}

/* The descriptor, or -errno. */
__attribute__((unused))
static int try_export(int dev, const void *addr, uint64_t len, uint32_t rights)
{
	struct sonde_export args = export_of(addr, len, rights);
	int ret = do_ioctl(dev, SONDE_IOC_EXPORT, &args);

	return ret ? ret : args.fd;
}

__attribute__((unused))
static int export_region(int dev, const void *addr, uint64_t len, uint32_t rights)
{
	int fd = try_export(dev, addr, len, rights);

	check_msg(fd >= 0, "cannot export %llu bytes at %p: %s",
		  (unsigned long long)len, addr, strerror(-fd));
	return fd;
}

static struct sonde_check check_region(int dev, int fd)
{
	struct sonde_check args = { .size = sizeof(args), .region = fd };

	check_int(do_ioctl(dev, SONDE_IOC_CHECK, &args), 0);
	return args;
}

/* What copies answer, as a positive errno; 0: all is well. */
__attribute__((unused))
static int region_error(int dev, int fd)
{
	return check_region(dev, fd).error;
}

__attribute__((unused))
static int revoke_region(int dev, int fd)
{
	struct sonde_revoke args = { .size = sizeof(args), .region = fd };

	return do_ioctl(dev, SONDE_IOC_REVOKE, &args);
}

__attribute__((unused))
static const uint64_t *map_words(int dev)
{
	const uint64_t *words = mmap(NULL, SONDE_STATE_WORDS * sizeof(*words),
				     PROT_READ, MAP_SHARED, dev, 0);

	check_msg(words != MAP_FAILED, "state words: %s", strerror(errno));
	return words;
}

/* ---- memory and what is in it ------------------------------------------- */

__attribute__((unused))
static char *map_small(size_t len)
{
	char *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	madvise(p, len, MADV_NOHUGEPAGE);
	return p;
}

/*
 * Pages that lie apart: each second one of those that the kernel gives goes to
 * another mapping, which stays.
 */
__attribute__((unused))
static char *map_scattered(size_t len)
{
	char *p = map_small(len), *q = map_small(len);
	size_t i;

	for (i = 0; i < len; i += SMALL_PAGE)
		p[i] = q[i] = 1;
	return p;
}

/* Aligned to huge pages, and of them if the kernel has them. */
__attribute__((unused))
static char *map_huge(size_t len)
{
	char *p = mmap(NULL, len + HUGE_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uintptr_t at = ((uintptr_t)p + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

	check(p != MAP_FAILED);
	madvise((void *)at, len, MADV_HUGEPAGE);
	return (char *)at;
}

/* Byte @i of the pattern of @seed: no two pages are alike. */
static unsigned char pattern_at(size_t i, unsigned int seed)
{
	return (i * 131 + (i >> 8) * 17 + (i >> 16) + seed * 101) & 0xff;
}

__attribute__((unused))
static void fill_pattern(void *addr, size_t len, unsigned int seed)
{
	unsigned char *p = addr;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = pattern_at(i, seed);
}

/* That [@addr, @addr + @len) is the pattern from @from on. */
__attribute__((unused))
static void check_pattern(const void *addr, size_t len, size_t from,
			  unsigned int seed)
{
	const unsigned char *p = addr;
	size_t i;

	for (i = 0; i < len; i++)
		check_msg(p[i] == pattern_at(from + i, seed),
			  "byte %zu is %#x, not %#x", from + i, p[i],
			  pattern_at(from + i, seed));
}

/* The whole region by pread(). */
__attribute__((unused))
static void check_region_pattern(int fd, size_t len, unsigned int seed)
{
	char *buf = malloc(len);
	ssize_t got;

	check(buf);
	memset(buf, 0, len);
	got = pread(fd, buf, len, 0);
	check_msg(got == (ssize_t)len, "pread: %zd: %s", got, strerror(errno));
	check_pattern(buf, len, 0, seed);
	free(buf);
}

/* That copies fail with @error (or, 0, that they work), both ways to ask. */
__attribute__((unused))
static void check_state(int dev, int fd, int error)
{
	char c;

	check_int(region_error(dev, fd), error);
	if (error) {
		check_int(pread(fd, &c, 1, 0), -1);
		check_int(errno, error);
	} else {
		check_int(pread(fd, &c, 1, 0), 1);
	}
}

static unsigned long region_parameter(const char *name)
{
	char path[100];
	unsigned long value;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/sonde/parameters/%s", name);
	f = fopen(path, "r");
	check_msg(f && fscanf(f, "%lu", &value) == 1, "cannot read %s", path);
	fclose(f);
	return value;
}

/* Pages that all regions have. */
__attribute__((unused))
static unsigned long pages_pinned(void)
{
	return region_parameter("region_held");
}

/* A region that was taken out of a slot goes when the kernel gets round to it. */
__attribute__((unused))
static void await_pinned(unsigned long pages)
{
	time_t deadline = time(NULL) + 30;

	while (pages_pinned() != pages && time(NULL) < deadline)
		sched_yield();
	check_int(pages_pinned(), pages);
}

/* What the tests before have left may still be on its way. */
__attribute__((unused))
static unsigned long await_none_pinned(void)
{
	await_pinned(0);
	return 0;
}

/*
 * Before 5.19 a page that is written to after mprotect() took the right away
 * and gave it back is replaced by a copy, pinned or not. That loses a region.
 */
__attribute__((unused))
static bool replaces_after_mprotect(void)
{
	const char *kernel = getenv("SONDE_GUEST");

	return kernel && !strcmp(kernel, "5.10");
}

/* ---- other processes ---------------------------------------------------- */

__attribute__((unused))
static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", c = 0;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	check_int(sendmsg(sock, &msg, 0), 1);
}

__attribute__((unused))
static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	check_int(recvmsg(sock, &msg, 0), 1);
	check(CMSG_FIRSTHDR(&msg));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* One side of an appointment: each tells the other that it is there. */
__attribute__((unused))
static void tell(int sock)
{
	check_int(write(sock, "", 1), 1);
}

__attribute__((unused))
static void await(int sock)
{
	char c;

	check_int(read(sock, &c, 1), 1);
}

#endif
