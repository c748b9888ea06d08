// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region_page - make, and look with suspicion at, what is said of a region
 */
#include <errno.h>
#include <limits.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region.h"
#include "region_page.h"

#define MAGIC	UINT64_C(0x6e6f696765722073)	/* "s region", little endian */
#define VERSION	1

/* No new writable mapping, and none that could lose its page. */
#define SEALS	(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* From Linux 6.3 on, which can be told to refuse others (vm.memfd_noexec). */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	0x0008U
#endif

int region_memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

uint64_t region_page_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}

static void fill(struct region_page *page, const struct region_page *said)
{
	*page = *said;
	page->magic = MAGIC;
	page->version = VERSION;
	page->pid = getpid();
	page->namespace = region_page_namespace();
	page->seal_addr = (uintptr_t)&page->seal;
	atomic_store_explicit(&page->seal.state, REGION_VALID, memory_order_relaxed);
}

static int fill_file(int fd, const struct region_page *said, struct region_page **out)
{
	struct region_page *page;
	int err = 0;

	if (ftruncate(fd, (off_t)page_size()))
		return -errno;
	page = mmap(NULL, page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	fill(page, said);
	if (getrandom(page->seal.nonce, sizeof(page->seal.nonce), 0) !=
	    (ssize_t)sizeof(page->seal.nonce))
		err = -EIO;
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS))
		err = -errno;
	if (err)
		munmap(page, page_size());
	else
		*out = page;
	return err;
}

int region_page_make(const struct region_page *said, int *out, struct region_page **page)
{
	int err, fd = region_memfd("sonde-region");

	if (fd < 0)
		return fd;
	err = fill_file(fd, said, page);
	if (err)
		close(fd);
	else
		*out = fd;
	return err;
}

static int check(const struct region_page *said)
{
	if (said->magic != MAGIC)
		return -EBADF;
	if (said->version != VERSION)
		return -EPROTO;
	if (!said->len || said->len > SSIZE_MAX || said->begin > UINT64_MAX - said->len ||
	    !said->rights || said->rights & ~REGION_RIGHTS || said->pid <= 0)
		return -EBADF;
	return 0;
}

int region_page_open(int fd, struct region_page *said, const struct region_page **out)
{
	const struct region_page *page;
	struct stat st;
	int err, seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &st) ||
	    st.st_size != (off_t)page_size())
		return -EBADF;
	page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	memcpy(said, page, sizeof(*said));
	err = check(said);
	if (err)
		region_page_close(page);
	else
		*out = page;
	return err;
}

void region_page_close(const struct region_page *page)
{
	if (page)
		munmap((void *)(uintptr_t)page, page_size());
}
