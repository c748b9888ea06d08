// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * region - what can be checked before a way is asked, and which way that is
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "log.h"
#include "region.h"

static const struct region_ops *const all_ways[REGION_WAYS] = {
	[SONDE_TRANSFER_MODULE] = &region_module,
	[SONDE_TRANSFER_CMA] = &region_cma,
	[SONDE_TRANSFER_SHM] = &region_shm,
};

/* ---- which way ---------------------------------------------------------- */

/* Memory that is shared anyway needs nobody to copy it. */
static const enum sonde_transfer_way usual[] = {
	SONDE_TRANSFER_SHM, SONDE_TRANSFER_MODULE, SONDE_TRANSFER_CMA,
};

#define NUSUAL (sizeof(usual) / sizeof(usual[0]))

/* Another way may be able to do what this one cannot. */
static int is_limit(int err)
{
	return err == -ENOBUFS || err == -EDQUOT || err == -EOPNOTSUPP || err == -ENOMEM ||
	       err == -ETOOMANYREFS;
}

static int export_by(struct sonde_transfer *t, enum sonde_transfer_way way,
		     const struct region_range *range, struct sonde_region **region)
{
	if (!transfer_has(t, way) || (way == SONDE_TRANSFER_SHM && range->fd < 0))
		return -EOPNOTSUPP;
	return all_ways[way]->export(t, range, region);
}

static int export_best(struct sonde_transfer *t, const struct region_range *range,
		       struct sonde_region **region)
{
	const int is_shared = range->fd >= 0;
	enum sonde_transfer_way first = region_choose(t->choices[is_shared],
						      t->nchoices[is_shared], range->len);
	int err = -EOPNOTSUPP, said = 0;

	if (first != SONDE_TRANSFER_AUTO)
		said = err = export_by(t, first, range, region);
	for (size_t i = 0; i < NUSUAL && err && is_limit(err); i++) {
		if (usual[i] == first)
			continue;
		err = export_by(t, usual[i], range, region);
		/* What a limit was says more than that there is no further way. */
		if (err != -EOPNOTSUPP)
			said = err;
	}
	return err == -EOPNOTSUPP && said ? said : err;
}

static int export_range(struct sonde_transfer *t, const struct region_range *range,
			struct sonde_region **out)
{
	struct sonde_region *region;
	int err;

	if (t->asked == SONDE_TRANSFER_AUTO)
		err = export_best(t, range, &region);
	else
		err = export_by(t, t->asked, range, &region);
	if (err)
		return err;
	region->transfer = t;
	region->rights = range->rights;
	region->len = range->len;
	region->exporter = getpid();
	region->addr = range->addr;
	pthread_mutex_lock(&t->lock);
	LIST_INSERT_HEAD(&t->exported, region, link);
	pthread_mutex_unlock(&t->lock);
	*out = region;
	return 0;
}

/* ---- export and import -------------------------------------------------- */

static int is_range(uint64_t begin, uint64_t len, unsigned int rights)
{
	return len && len <= SSIZE_MAX && begin <= UINT64_MAX - len && rights &&
	       !(rights & ~REGION_RIGHTS);
}

int sonde_region_export(struct sonde_transfer *t, void *addr, size_t len, unsigned int rights,
			struct sonde_region **region)
{
	struct region_range range = { .addr = addr, .len = len, .rights = rights, .fd = -1 };

	if (!is_range((uintptr_t)addr, len, rights) || (uintptr_t)addr > UINTPTR_MAX - len)
		return -EINVAL;
	region_find_memory(t, &range);
	return export_range(t, &range, region);
}

/* A file that may shrink is SIGBUS to who has mapped it. */
static int check_memfd(int fd, const struct region_range *range)
{
	int seals = fcntl(fd, F_GET_SEALS);
	int access = fcntl(fd, F_GETFL);
	struct stat st;

	if (access < 0 || fstat(fd, &st))
		return -errno;
	if (seals < 0 || !(seals & F_SEAL_SHRINK) || st.st_size < 0 ||
	    range->offset + range->len > (uint64_t)st.st_size)
		return -EINVAL;
	if (range->rights & SONDE_REGION_WRITE &&
	    (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || (access & O_ACCMODE) != O_RDWR))
		return -EACCES;
	return 0;
}

/* Only shared memory goes by descriptor; other ways need an address. */
static int map_range(struct region_range *range, void **mapped, size_t *len)
{
	const uint64_t in_page = range->offset % (uint64_t)sysconf(_SC_PAGESIZE);
	int prot = PROT_READ | (range->rights & SONDE_REGION_WRITE ? PROT_WRITE : 0);
	char *p;

	*len = range->len + in_page;
	p = mmap(NULL, *len, prot, MAP_SHARED, range->fd, (off_t)(range->offset - in_page));
	if (p == MAP_FAILED)
		return -errno;
	*mapped = p;
	range->addr = p + in_page;
	return 0;
}

int sonde_region_export_fd(struct sonde_transfer *t, int fd, uint64_t offset, size_t len,
			   unsigned int rights, struct sonde_region **region)
{
	struct region_range range = { .len = len, .rights = rights, .fd = fd, .offset = offset };
	size_t mapped_len = 0;
	void *mapped = NULL;
	int err;

	if (!is_range(offset, len, rights) || offset > INT64_MAX - len)
		return -EINVAL;
	err = check_memfd(fd, &range);
	if (!err)
		err = map_range(&range, &mapped, &mapped_len);
	if (err)
		return err;
	err = export_range(t, &range, region);
	if (err)
		munmap(mapped, mapped_len);
	else
		(*region)->mapped = mapped;
	return err;
}

int sonde_region_import(struct sonde_transfer *t, int fd, struct sonde_region **out)
{
	static const enum sonde_transfer_way order[] = {
		SONDE_TRANSFER_CMA, SONDE_TRANSFER_SHM, SONDE_TRANSFER_MODULE,
	};
	struct sonde_region *region = NULL;
	int err = -EBADF, own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (own < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && err == -EBADF; i++)
		err = all_ways[order[i]]->import(t, own, &region);
	if (err) {
		close(own);
		return err;
	}
	region->transfer = t;
	region->fd = own;
	*out = region;
	return 0;
}

static void unmap_range(struct sonde_region *region)
{
	const uintptr_t in_page = (uintptr_t)region->addr % (uintptr_t)sysconf(_SC_PAGESIZE);

	if (region->mapped)
		munmap(region->mapped, region->len + in_page);
}

void sonde_region_close(struct sonde_region *region)
{
	if (!region)
		return;
	if (region->exporter) {
		pthread_mutex_lock(&region->transfer->lock);
		LIST_REMOVE(region, link);
		pthread_mutex_unlock(&region->transfer->lock);
		sonde_region_revoke(region);
		unmap_range(region);
	}
	close(region->fd);
	region->ops->close(region);
}

/* ---- what a region is --------------------------------------------------- */

int sonde_region_fd(const struct sonde_region *region)
{
	return region->fd;
}

enum sonde_transfer_way sonde_region_way(const struct sonde_region *region)
{
	return region->ops->way;
}

uint64_t sonde_region_bytes(const struct sonde_region *region)
{
	return region->len;
}

unsigned int sonde_region_rights(const struct sonde_region *region)
{
	return region->rights;
}

int sonde_region_is_valid(const struct sonde_region *region)
{
	return region_is_valid(region);
}

int sonde_region_state(struct sonde_region *region)
{
	return region->ops->state(region);
}

int sonde_region_revoke(struct sonde_region *region)
{
	if (region->exporter != getpid())
		return -EPERM;
	return region->ops->revoke(region);
}

/* ---- mapping ------------------------------------------------------------ */

int sonde_region_map(struct sonde_region *region, uint64_t offset, size_t len, void **addr)
{
	int err;

	if (!len || offset > region->len || len > region->len - offset)
		return -EINVAL;
	if (!region->ops->map)
		return -EOPNOTSUPP;
	if (!(region->rights & SONDE_REGION_READ))
		return -EACCES;
	err = region_is_valid(region) ? 0 : sonde_region_state(region);
	return err ? err : region->ops->map(region, offset, len, addr);
}

void sonde_region_unmap(void *addr, size_t len)
{
	const uintptr_t in_page = (uintptr_t)addr % (uintptr_t)sysconf(_SC_PAGESIZE);

	if (addr)
		munmap((char *)addr - in_page, len + in_page);
}
