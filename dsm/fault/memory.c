// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

int dsm_why(char *why, size_t len, int err, const char *format, ...)
{
	va_list args;

	if (!why || !len)
		return err;
	va_start(args, format);
	vsnprintf(why, len, format, args);
	va_end(args);
	return err;
}

size_t dsm_run(const uint32_t *pages, size_t n)
{
	size_t i = 1;

	while (i < n && pages[i] == pages[0] + i)
		i++;
	return i;
}

/* Nobody who gets hold of the file can make a page vanish under a mapping. */
static int open_file(size_t bytes)
{
	int fd = memfd_create("sonde-dsm", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	if (!ftruncate(fd, (off_t)bytes) &&
	    !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/*
 * Small pages, for those of a huge one could not be protected one by one; and no huge one
 * that the kernel would have to take apart at the first fault.
 */
static void *map(int fd, size_t bytes, void *address)
{
	void *p = mmap(address, bytes, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE | (address ? MAP_FIXED_NOREPLACE : 0), fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	if (address && p != address) {
		/* A kernel older than the flag took the address for a hint. */
		munmap(p, bytes);
		errno = EEXIST;
		return NULL;
	}
	/* A kernel that knows no huge pages refuses this, rightly. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	if (!madvise(p, bytes, MADV_DONTFORK))
		return p;
	munmap(p, bytes);
	return NULL;
}

static int map_views(struct dsm_memory *m)
{
	m->file = open_file(m->bytes);
	if (m->file < 0)
		return m->file;
	m->f.view = map(m->file, m->bytes, m->f.config.address);
	if (m->f.view)
		m->f.alias = map(m->file, m->bytes, NULL);
	if (!m->f.alias)
		return -errno;
	/* A core file has the pages once, at the addresses that the program knows. */
	madvise(m->f.alias, m->bytes, MADV_DONTDUMP);
	return 0;
}

static int map_twins(struct dsm_memory *m)
{
	void *p = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	m->twins = p;
	m->slot = calloc(m->f.config.pages, sizeof(*m->slot));
	m->idle = calloc(m->f.config.pages, sizeof(*m->idle));
	return m->slot && m->idle ? 0 : -ENOMEM;
}

int dsm_memory_create(struct dsm_memory *m, const struct dsm_fault_ops *ops,
		      const struct dsm_fault_config *config, char *why, size_t len)
{
	size_t bytes = (size_t)config->pages * config->unit;
	int err;

	*m = (struct dsm_memory){
		.f = { .ops = ops, .config = *config, .fd = -1, .wake = -1,
			 .caps = ops->caps },
		.bytes = bytes, .file = -1,
	};
	err = map_views(m);
	if (!err)
		err = map_twins(m);
	if (!err)
		return 0;
	dsm_memory_destroy(m);
	if (err == -EEXIST)
		return dsm_why(why, len, err, "something is mapped at %p already",
			       config->address);
	return dsm_why(why, len, err, "no room for %zu MiB: %s", bytes >> 20, strerror(-err));
}

void dsm_memory_destroy(struct dsm_memory *m)
{
	if (!m->bytes)
		return;
	if (m->file >= 0)
		close(m->file);
	if (m->f.view)
		munmap(m->f.view, m->bytes);
	if (m->f.alias)
		munmap(m->f.alias, m->bytes);
	if (m->twins)
		munmap(m->twins, m->bytes);
	free(m->slot);
	free(m->idle);
	*m = (struct dsm_memory){ 0 };
}

void *dsm_memory_page(struct dsm_fault *fault, uint32_t page)
{
	return fault->alias + (size_t)page * fault->config.unit;
}

void *dsm_memory_slot(struct dsm_memory *m, uint32_t page)
{
	if (!m->slot[page])
		m->slot[page] = m->nidle ? m->idle[--m->nidle] : ++m->nslots;
	return m->twins + (size_t)(m->slot[page] - 1) * m->f.config.unit;
}

void *dsm_memory_twin(struct dsm_fault *fault, uint32_t page)
{
	void *twin = dsm_memory_slot((struct dsm_memory *)fault, page);

	return memcpy(twin, dsm_memory_page(fault, page), fault->config.unit);
}

void dsm_memory_untwin(struct dsm_fault *fault, uint32_t page)
{
	struct dsm_memory *m = (struct dsm_memory *)fault;

	if (!m->slot[page])
		return;
	m->idle[m->nidle++] = m->slot[page];
	m->slot[page] = 0;
}
