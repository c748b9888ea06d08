/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How regions are exported and copied: one way a file, chosen in transfer.c. */
#ifndef SONDE_LIB_REGION_H
#define SONDE_LIB_REGION_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sonde/region.h>

#define REGION_WHY	512
#define REGION_WAYS	(SONDE_TRANSFER_SHM + 1)
#define REGION_RIGHTS	(SONDE_REGION_READ | SONDE_REGION_WRITE)

struct sonde_device;

/**
 * struct region_range - what is to be exported
 * @addr: where this process has it; NULL if it is not mapped
 * @fd: the memfd that it is a part of; -1 if of none
 * @offset: where in @fd
 */
struct region_range {
	void *addr;
	size_t len;
	unsigned int rights;
	int fd;
	uint64_t offset;
};

/**
 * struct region_ops - one way
 * @export: what is in a range was checked
 * @import: -EBADF if @fd is not of this way; it stays the caller's
 * @copy: all elements are of regions of this way, within them, and allowed by
 *	their rights; fills in results
 * @map: @len is at least 1, and within the region; NULL if it cannot be done
 * @state: what the word does not tell
 * @revoke: by the exporter; may be done again
 * @close: frees all, and @region
 */
struct region_ops {
	enum sonde_transfer_way way;
	int (*export)(struct sonde_transfer *t, const struct region_range *range,
		      struct sonde_region **region);
	int (*import)(struct sonde_transfer *t, int fd, struct sonde_region **region);
	void (*copy)(struct sonde_transfer *t, struct sonde_region_copy *copies, size_t n);
	int (*map)(struct sonde_region *region, uint64_t offset, size_t len, void **addr);
	int (*state)(struct sonde_region *region);
	int (*revoke)(struct sonde_region *region);
	void (*close)(struct sonde_region *region);
};

extern const struct region_ops region_module, region_cma, region_shm;

/**
 * struct sonde_region - the part that all ways have
 * @fd: the handle
 * @exporter: the process that exported it; 0 if it was imported
 * @addr: where the exporter has it; NULL if it was imported, or is not mapped
 * @word: what to look at; the region is valid as long as it is @valid
 * @mapped: of sonde_region_export_fd(): what was mapped for it, or NULL
 * @cached: the cache's entry, or NULL
 * @link: in the transfer's list of exported regions
 */
struct sonde_region {
	const struct region_ops *ops;
	struct sonde_transfer *transfer;
	int fd;
	unsigned int rights;
	uint64_t len;
	pid_t exporter;
	char *addr;
	const _Atomic uint64_t *word;
	uint64_t valid;
	void *mapped;
	struct cache_entry *cached;
	LIST_ENTRY(sonde_region) link;
};

/* Acquire: what was copied before the load was copied of a valid region. */
static inline int region_is_valid(const struct sonde_region *region)
{
	return atomic_load_explicit(region->word, memory_order_acquire) == region->valid;
}

/* What sonde_transfer_alloc() gave. */
struct region_memory {
	char *addr;
	size_t len;
	int fd;
	LIST_ENTRY(region_memory) link;
};

/**
 * struct sonde_copyv_batch - copies under way
 * @status: as the module writes it, SONDE_STATUS_COMPLETE
 * @fd: an eventfd that gets 1 after that
 * @module: the elements as the module knows them; NULL: a thread makes the copies
 * @link: in a thread's row, or among those of the transfer that are idle
 */
struct sonde_copyv_batch {
	struct sonde_transfer *transfer;
	struct sonde_region_copy *copies;
	size_t n;
	int cpu, fd;
	struct sonde_copy *module;
	alignas(64) _Atomic uint64_t status;
	STAILQ_ENTRY(sonde_copyv_batch) link;
};

/* From so many bytes on that way, and of the shared memory or of all other. */
struct region_choice {
	uint64_t from;
	enum sonde_transfer_way way;
};

#define REGION_CHOICES	16

/**
 * struct sonde_transfer - what there is
 * @asked: one way, or all
 * @has: a bit for each way that can be had
 * @dev: the module, or NULL
 * @words: the module's state words for @dev
 * @slots: a bit for each of the module's slots that is taken
 * @lock: protects @slots and the lists
 * @idle: batches that may be had again, with their eventfd
 * @workers: threads that make copies in the background
 * @choices: by size, ascending; [1] of memory that is shared
 * @why: why not the module; empty if there is none
 */
struct sonde_transfer {
	enum sonde_transfer_way asked;
	unsigned int has;
	struct sonde_device *dev;
	const _Atomic uint64_t *words;
	uint64_t slots[SONDE_SLOTS / 64];
	pthread_mutex_t lock;
	LIST_HEAD(, region_memory) memory;
	LIST_HEAD(, sonde_region) exported;
	STAILQ_HEAD(, sonde_copyv_batch) idle;
	LIST_HEAD(, copyv_worker) workers;
	struct region_choice choices[2][REGION_CHOICES];
	size_t nchoices[2];
	char why[REGION_WHY];
};

static inline int transfer_has(const struct sonde_transfer *t, enum sonde_transfer_way way)
{
	return t->has >> way & 1;
}

/* 0, or why process_vm_readv(2) cannot be used at all: -EOPNOTSUPP, -EPERM. */
int region_cma_probe(void);

/* By size; SONDE_TRANSFER_AUTO if none says anything of it. */
enum sonde_transfer_way region_choose(const struct region_choice *choices, size_t n,
				      uint64_t bytes);

/* The result of an element that is not to be tried, or 0. */
ssize_t region_check_copy(const struct sonde_region_copy *copy);

/*
 * All elements are checked, and of the module: begin. 0, -EOPNOTSUPP (the module has
 * no workers), or what SONDE_IOC_COPYV says; finish fills in results.
 */
int region_module_start(struct sonde_copyv_batch *batch);
void region_module_finish(struct sonde_copyv_batch *batch);

/* Hand it to the transfer's thread for its CPU: 0, -ENOMEM, -EAGAIN (no thread). */
int copyv_worker_start(struct sonde_copyv_batch *batch);
void copyv_worker_close_all(struct sonde_transfer *t);

/* Frees idle batches; none is under way. */
void copyv_async_close(struct sonde_transfer *t);

/* The range is of memory that has a descriptor: tells it. */
void region_find_memory(struct sonde_transfer *t, struct region_range *range);

#endif
