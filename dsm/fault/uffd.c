// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "uffd.h"

/* Linux 6.1, 6.4; older headers are enough to build. */
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW	_IO(0xAA, 0x00)
#endif
#ifndef UFFDIO_CONTINUE_MODE_WP
#define UFFDIO_CONTINUE_MODE_WP	((__u64)1 << 1)
#endif

#define LIST	1024		/* IOV_MAX of Linux */

static const struct {
	uint64_t bit;
	const char *name, *since;
} needed[] = {
	{ UFFD_FEATURE_SIGBUS, "signals", "4.14" },
	{ UFFD_FEATURE_MINOR_SHMEM, "minor faults", "5.14" },
	{ UFFD_FEATURE_WP_HUGETLBFS_SHMEM, "write protection of memory files", "5.19" },
	{ UFFD_FEATURE_WP_ASYNC, "unnoticed writes", "6.7" },
};

/*
 * The device first: its mode is how an administrator grants this. Without privileges the
 * system call gives what serves user mode only, which @user says is enough.
 */
static int open_uffd(bool user, bool *user_only)
{
	int flags = O_CLOEXEC | O_NONBLOCK, device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
	int fd = -1;

	*user_only = false;
	if (device >= 0) {
		fd = ioctl(device, USERFAULTFD_IOC_NEW, flags);
		close(device);
	}
	if (fd < 0)
		fd = (int)syscall(SYS_userfaultfd, flags);
	if (fd < 0 && errno == EPERM && user) {
		*user_only = true;
		fd = (int)syscall(SYS_userfaultfd, flags | UFFD_USER_MODE_ONLY);
	}
	return fd < 0 ? -errno : fd;
}

static int explain_open(int err, char *why, size_t len)
{
	if (err == -ENOSYS)
		return dsm_why(why, len, -ENOTSUP, "this kernel has no userfaultfd");
	if (err == -EPERM || err == -EACCES)
		return dsm_why(why, len, -ENOTSUP, "userfaultfd is not permitted: allow this user "
			       "to open /dev/userfaultfd, or set vm.unprivileged_userfaultfd to 1");
	return dsm_why(why, len, err, "userfaultfd: %s", strerror(-err));
}

/* A descriptor is asked once: one for what there is, another for what is wanted. */
static int check_features(uint64_t features, char *why, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API };
	bool user_only;
	int fd = open_uffd(true, &user_only), err;

	if (fd < 0)
		return explain_open(fd, why, len);
	err = ioctl(fd, UFFDIO_API, &api) ? -errno : 0;
	close(fd);
	if (err)
		return dsm_why(why, len, -ENOTSUP, "userfaultfd has no common version");
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++)
		if (features & needed[i].bit & ~api.features)
			return dsm_why(why, len, -ENOTSUP, "this kernel's userfaultfd lacks %s "
				       "(Linux %s has it)", needed[i].name, needed[i].since);
	return 0;
}

static int open_features(struct dsm_uffd *u, uint64_t features, bool system_calls,
			 char *why, size_t len)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	bool user_only;

	u->fd = open_uffd(true, &user_only);
	if (u->fd < 0)
		return explain_open(u->fd, why, len);
	if (user_only || !system_calls)
		u->m.f.caps &= ~DSM_FAULT_SYSCALLS;
	if (ioctl(u->fd, UFFDIO_API, &api))
		return dsm_why(why, len, -ENOTSUP, "userfaultfd: %s", strerror(errno));
	return 0;
}

/*
 * What was never touched has neither page nor entry: the mark that protects it stands in
 * the page table, so the first write is noticed. The first page tries what no feature bit
 * tells of.
 */
static int prepare_view(struct dsm_uffd *u, char *why, size_t len)
{
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)u->m.f.view, .len = u->m.bytes },
		.mode = UFFDIO_REGISTER_MODE_WP | UFFDIO_REGISTER_MODE_MINOR,
	};
	int err;

	if (ioctl(u->fd, UFFDIO_REGISTER, &reg))
		return dsm_why(why, len, -ENOTSUP, "userfaultfd refuses a memory file: %s",
			       strerror(errno));
	err = dsm_uffd_protect(u, 0, u->m.bytes, true);
	if (err)
		return dsm_why(why, len, err, "%s", u->m.f.why);
	*(volatile unsigned char *)u->m.f.alias;
	if (dsm_uffd_install(u, 0, u->system, true))
		return dsm_why(why, len, -ENOTSUP, "this kernel's userfaultfd does not install "
			       "write-protected pages (Linux 6.4 does)");
	return 0;
}

int dsm_uffd_create(struct dsm_uffd *u, const struct dsm_fault_ops *ops,
		    const struct dsm_fault_config *config, uint64_t features, bool system_calls,
		    char *why, size_t len)
{
	int err;

	u->fd = u->pidfd = -1;
	u->system = (size_t)sysconf(_SC_PAGESIZE);
	features |= UFFD_FEATURE_MINOR_SHMEM | UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
	err = check_features(features, why, len);
	if (!err)
		err = dsm_memory_create(&u->m, ops, config, why, len);
	if (!err)
		err = open_features(u, features, system_calls, why, len);
	if (!err)
		err = prepare_view(u, why, len);
	if (err) {
		dsm_uffd_destroy(u);
		return err;
	}
	u->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	return 0;
}

void dsm_uffd_destroy(struct dsm_uffd *u)
{
	dsm_memory_destroy(&u->m);
	if (u->fd >= 0)
		close(u->fd);
	if (u->pidfd >= 0)
		close(u->pidfd);
	u->fd = u->pidfd = -1;
}

static int failed(struct dsm_uffd *u, const char *what)
{
	return dsm_why(u->m.f.why, sizeof(u->m.f.why), -errno, "%s: %s", what, strerror(errno));
}

static void wake(struct dsm_uffd *u, size_t at, size_t bytes)
{
	struct uffdio_range range = { .start = (uintptr_t)u->m.f.view + at, .len = bytes };

	ioctl(u->fd, UFFDIO_WAKE, &range);
}

int dsm_uffd_install(struct dsm_uffd *u, size_t at, size_t bytes, bool protect)
{
	size_t end = at + bytes;

	while (at < end) {
		struct uffdio_continue c = {
			.range = { .start = (uintptr_t)u->m.f.view + at, .len = end - at },
			.mode = protect ? UFFDIO_CONTINUE_MODE_WP : 0,
		};

		if (!ioctl(u->fd, UFFDIO_CONTINUE, &c))
			return 0;
		if (errno == EEXIST) {
			/* Nobody was told: what sleeps came just before the page did. */
			wake(u, at, u->system);
			at += u->system;
		} else if (errno == EAGAIN) {
			at += c.mapped > 0 ? (size_t)c.mapped : 0;
		} else {
			return failed(u, "UFFDIO_CONTINUE");
		}
	}
	return 0;
}

int dsm_uffd_protect(struct dsm_uffd *u, size_t at, size_t bytes, bool protect)
{
	struct uffdio_writeprotect w = {
		.range = { .start = (uintptr_t)u->m.f.view + at, .len = bytes },
		.mode = protect ? UFFDIO_WRITEPROTECT_MODE_WP : 0,
	};

	while (ioctl(u->fd, UFFDIO_WRITEPROTECT, &w))
		if (errno != EAGAIN && errno != EINTR)
			return failed(u, "UFFDIO_WRITEPROTECT");
	return 0;
}

static int remove_each(struct dsm_uffd *u, const struct iovec *v, int n)
{
	for (int i = 0; i < n; i++)
		if (madvise(v[i].iov_base, v[i].iov_len, MADV_DONTNEED))
			return failed(u, "madvise");
	return 0;
}

/* Linux 6.13 takes the whole list in one call for the calling process. */
static int remove_list(struct dsm_uffd *u, const struct iovec *v, int n, size_t bytes)
{
	if (n > 1 && u->pidfd >= 0) {
		if (syscall(SYS_process_madvise, u->pidfd, v, n, MADV_DONTNEED, 0) ==
		    (ssize_t)bytes)
			return 0;
		if (errno == EINVAL || errno == ENOSYS || errno == EPERM) {
			close(u->pidfd);
			u->pidfd = -1;
		}
	}
	return remove_each(u, v, n);
}

/* A page that the file does not have would come as zeros, without a fault. */
static void keep_in_file(struct dsm_uffd *u, size_t at, size_t bytes)
{
	for (size_t i = at; i < at + bytes; i += u->system)
		*(volatile unsigned char *)(u->m.f.alias + i);
}

int dsm_uffd_remove(struct dsm_uffd *u, const uint32_t *pages, size_t n)
{
	size_t unit = u->m.f.config.unit;
	struct iovec list[LIST];
	int err = 0;

	while (n && !err) {
		size_t bytes = 0;
		int used = 0;

		for (; n && used < LIST; used++) {
			size_t run = dsm_run(pages, n);

			keep_in_file(u, *pages * unit, run * unit);
			list[used].iov_base = u->m.f.view + *pages * unit;
			list[used].iov_len = run * unit;
			bytes += run * unit;
			pages += run;
			n -= run;
		}
		err = remove_list(u, list, used, bytes);
	}
	return err;
}
