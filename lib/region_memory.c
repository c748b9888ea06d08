// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region_memory - memory that has a descriptor, and telling what becomes of memory
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"
#include "region_page.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

static int map_memfd(struct region_memory *memory)
{
	void *p;

	if (ftruncate(memory->fd, (off_t)memory->len) || fcntl(memory->fd, F_ADD_SEALS, SEALS))
		return -errno;
	p = mmap(NULL, memory->len, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	memory->addr = p;
	return 0;
}

static int make_memory(struct region_memory *memory)
{
	int err;

	memory->fd = region_memfd("sonde-memory");
	if (memory->fd < 0)
		return memory->fd;
	err = map_memfd(memory);
	if (err)
		close(memory->fd);
	return err == -EFBIG ? -ENOMEM : err;
}

int sonde_transfer_alloc(struct sonde_transfer *t, size_t len, void **addr)
{
	struct region_memory *memory;
	int err;

	if (!len || len > SSIZE_MAX)
		return -EINVAL;
	memory = calloc(1, sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	memory->len = len;
	err = make_memory(memory);
	if (err) {
		free(memory);
		return err;
	}
	pthread_mutex_lock(&t->lock);
	LIST_INSERT_HEAD(&t->memory, memory, link);
	pthread_mutex_unlock(&t->lock);
	*addr = memory->addr;
	return 0;
}

void sonde_transfer_free(struct sonde_transfer *t, void *addr)
{
	struct region_memory *memory;

	pthread_mutex_lock(&t->lock);
	LIST_FOREACH(memory, &t->memory, link)
		if (memory->addr == addr)
			break;
	if (memory)
		LIST_REMOVE(memory, link);
	pthread_mutex_unlock(&t->lock);
	if (!memory)
		return;
	sonde_transfer_withdraw(t, memory->addr, memory->len);
	munmap(memory->addr, memory->len);
	close(memory->fd);
	free(memory);
}

void region_find_memory(struct sonde_transfer *t, struct region_range *range)
{
	const char *begin = range->addr;
	struct region_memory *memory;

	pthread_mutex_lock(&t->lock);
	LIST_FOREACH(memory, &t->memory, link) {
		if (begin < memory->addr || range->len > memory->len ||
		    begin > memory->addr + (memory->len - range->len))
			continue;
		range->fd = memory->fd;
		range->offset = (uint64_t)(begin - memory->addr);
		break;
	}
	pthread_mutex_unlock(&t->lock);
}

/* Revoking only sets a word or asks the module: it may be done under the lock. */
void sonde_transfer_withdraw(struct sonde_transfer *t, const void *addr, size_t len)
{
	const uintptr_t begin = (uintptr_t)addr;
	struct sonde_region *region;

	if (!len)
		return;
	pthread_mutex_lock(&t->lock);
	LIST_FOREACH(region, &t->exported, link) {
		uintptr_t at = (uintptr_t)region->addr;

		if (at - begin < len || begin - at < region->len)
			sonde_region_revoke(region);
	}
	pthread_mutex_unlock(&t->lock);
}
