/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: region - memory that another process may copy from and to, once
 *
 * A region is a range of memory of the process that exports it, with rights.
 * Its handle is a file descriptor: it can be inherited or sent over a socket,
 * and who holds it may use the region within its rights. Nobody else can name
 * it.
 *
 * One interface, three implementations ("ways"):
 *
 * - the module: pages are pinned at export; copies answer -ESTALE as soon as
 *   the exporter's mapping is another, and -EOWNERDEAD after its end;
 * - CMA, process_vm_readv(2): any memory, but every user of a region must be
 *   allowed to ptrace its exporter, and nothing tells that the exporter has
 *   unmapped memory: it must say so itself (sonde_transfer_withdraw());
 *   rights bind only who uses this library, and a region cannot be mapped;
 * - shared memory: only what sonde_transfer_alloc() gave, or a memfd that the
 *   caller names; a copy is a memcpy().
 *
 * sonde_region(3) has the table of what each of them can and cannot tell.
 */
#ifndef SONDE_REGION_H
#define SONDE_REGION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/sonde.h>	/* SONDE_REGION_READ, SONDE_REGION_WRITE, SONDE_COPY_WRITE */

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_copyv_batch;
struct sonde_profile;
struct sonde_region;
struct sonde_region_cache;
struct sonde_transfer;

enum sonde_transfer_way {
	SONDE_TRANSFER_AUTO,	/* for each region the best that can be had */
	SONDE_TRANSFER_MODULE,
	SONDE_TRANSFER_CMA,
	SONDE_TRANSFER_SHM,
};

/**
 * struct sonde_region_copy - one element of a batch
 * @region: from or to where
 * @offset: bytes from its begin
 * @addr: local memory
 * @len: bytes
 * @flags: SONDE_COPY_WRITE, or 0
 * @result: out: as of sonde_region_read()
 */
struct sonde_region_copy {
	struct sonde_region *region;
	uint64_t offset;
	void *addr;
	size_t len;
	unsigned int flags;
	ssize_t result;
};

/**
 * sonde_transfer_open() - find out what ways there are
 * @transfer: where it goes; untouched on failure
 * @way: one of them, or SONDE_TRANSFER_AUTO for all
 *
 * It may be used by several threads at once. It is the process's: a child after
 * fork() opens its own.
 *
 * Return: 0, -ENODEV, -EACCES, -EPROTO (as sonde_device_open(), the module),
 * -EOPNOTSUPP (the module has no regions; the kernel has no CMA), -EPERM (a
 * filter of system calls forbids CMA), -EINVAL, -ENOMEM.
 * sonde_region_explain() makes a sentence of it.
 *
 * Since: 0.1
 */
int sonde_transfer_open(struct sonde_transfer **transfer, enum sonde_transfer_way way);

/**
 * sonde_transfer_close() - close; @transfer may be NULL
 * @transfer: all its regions and caches must be closed before
 *
 * Frees what sonde_transfer_alloc() gave.
 *
 * Since: 0.1
 */
void sonde_transfer_close(struct sonde_transfer *transfer);

/** sonde_transfer_way() - the way private memory goes first. Since: 0.1 */
enum sonde_transfer_way sonde_transfer_way(const struct sonde_transfer *transfer);

/** sonde_transfer_way_name() - "module", "cma", "shm" or "auto". Since: 0.1 */
const char *sonde_transfer_way_name(enum sonde_transfer_way way);

/**
 * sonde_transfer_why() - why not the module, and what is lost by it
 * @transfer: the transfer
 *
 * Return: a sentence without newline owned by @transfer, or NULL if it is there.
 *
 * Since: 0.1
 */
const char *sonde_transfer_why(const struct sonde_transfer *transfer);

/**
 * sonde_transfer_tune() - choose by what was measured
 * @transfer: opened with SONDE_TRANSFER_AUTO; another stays as it is
 * @profile: with the findings of `sonde bench copy`
 *
 * From then on the way of a region is chosen by its size; without it the order
 * is: shared memory where it can be, the module, CMA. Call it before the
 * transfer is used by several threads.
 *
 * Return: 0, -ENOENT (the profile has no such findings).
 *
 * Since: 0.1
 */
int sonde_transfer_tune(struct sonde_transfer *transfer, const struct sonde_profile *profile);

/**
 * sonde_transfer_alloc() - memory that every way can export
 * @transfer: the transfer
 * @len: bytes
 * @addr: where its address goes; untouched on failure
 *
 * Zeroed, page-aligned, and shared: a child after fork() has the same memory.
 *
 * Return: 0, -EINVAL, -ENOMEM, -EMFILE, -ENFILE.
 *
 * Since: 0.1
 */
int sonde_transfer_alloc(struct sonde_transfer *transfer, size_t len, void **addr);

/**
 * sonde_transfer_free() - give it back, after withdrawing what was exported of it
 * @transfer: that it was had from
 * @addr: as sonde_transfer_alloc() gave it, or NULL
 *
 * Since: 0.1
 */
void sonde_transfer_free(struct sonde_transfer *transfer, void *addr);

/**
 * sonde_transfer_withdraw() - revoke every region that has a part of a range
 * @transfer: that exported them
 * @addr: the range, of this process
 * @len: its bytes
 *
 * To be called before memory is unmapped, or used for something else, where the
 * way does not notice by itself. Who waits for copies that are under way must
 * hear of their end from who makes them.
 *
 * Since: 0.1
 */
void sonde_transfer_withdraw(struct sonde_transfer *transfer, const void *addr, size_t len);

/**
 * sonde_region_export() - let others use a range of memory
 * @transfer: the transfer
 * @addr: the range, of this process
 * @len: its bytes, at least 1
 * @rights: SONDE_REGION_READ, SONDE_REGION_WRITE, or both
 * @region: where the region goes; untouched on failure
 *
 * Return: 0, -EINVAL (empty, past the end of addresses, rights), -EFAULT (not
 * all of it is mapped, or not writable; with CMA the latter is found by the copy),
 * -EACCES (rights that the memory does not allow), -EOPNOTSUPP (shared memory
 * only, and this is not), -ENOMEM, -ENOBUFS (RLIMIT_MEMLOCK), -EMFILE, -ENFILE,
 * -ETOOMANYREFS (shared memory: the user has more descriptors in sockets than
 * RLIMIT_NOFILE).
 *
 * Since: 0.1
 */
int sonde_region_export(struct sonde_transfer *transfer, void *addr, size_t len,
			unsigned int rights, struct sonde_region **region);

/**
 * sonde_region_export_fd() - let others use a range of a memfd
 * @transfer: the transfer
 * @fd: a memfd with F_SEAL_SHRINK, or no user of it would be safe; stays the caller's
 * @offset: where the range begins, in bytes
 * @len: its bytes, at least 1
 * @rights: as of sonde_region_export()
 * @region: where the region goes; untouched on failure
 *
 * Return: as sonde_region_export(), -EINVAL (also: not a memfd, not sealed, the
 * range is not within it), -EBADF.
 *
 * Since: 0.1
 */
int sonde_region_export_fd(struct sonde_transfer *transfer, int fd, uint64_t offset, size_t len,
			   unsigned int rights, struct sonde_region **region);

/**
 * sonde_region_import() - use what another process exported
 * @transfer: the transfer; a handle of any way can be imported
 * @fd: the handle; stays the caller's
 * @region: where the region goes; untouched on failure
 *
 * What comes with a handle is checked before it is believed: it may be from
 * anybody. A handle of CMA is followed only into processes of the user who made it.
 *
 * Return: 0, -EBADF (not a handle of a region), -EPROTO (of another version of
 * this library), -EPERM (CMA: this process may not ptrace the exporter),
 * -EXDEV (CMA: the exporter is in another PID namespace), -ESTALE (it was
 * revoked), -EOWNERDEAD (its exporter has ended), -EOPNOTSUPP (a way that this
 * kernel does not have), -ENOMEM, -EMFILE, -ENFILE.
 *
 * Since: 0.1
 */
int sonde_region_import(struct sonde_transfer *transfer, int fd, struct sonde_region **region);

/**
 * sonde_region_close() - close; @region may be NULL
 * @region: not in use by another thread
 *
 * In the process that exported it this revokes it as well: memory is the
 * exporter's again. A child after fork() that closes what it inherited revokes
 * nothing.
 *
 * Since: 0.1
 */
void sonde_region_close(struct sonde_region *region);

/** sonde_region_fd() - the handle, close-on-exec, owned by @region. Since: 0.1 */
int sonde_region_fd(const struct sonde_region *region);

/** sonde_region_way() - the way it goes. Since: 0.1 */
enum sonde_transfer_way sonde_region_way(const struct sonde_region *region);

/** sonde_region_bytes() - how large it is. Since: 0.1 */
uint64_t sonde_region_bytes(const struct sonde_region *region);

/** sonde_region_rights() - SONDE_REGION_READ, SONDE_REGION_WRITE. Since: 0.1 */
unsigned int sonde_region_rights(const struct sonde_region *region);

/**
 * sonde_region_send() - send the handle over a connected Unix socket
 * @region: the region
 * @sock: stream, datagram or sequenced packets; one byte goes with the handle
 *
 * Return: 0, or what sendmsg(2) said.
 *
 * Since: 0.1
 */
int sonde_region_send(const struct sonde_region *region, int sock);

/**
 * sonde_region_receive() - receive a handle and import it
 * @transfer: the transfer
 * @sock: where sonde_region_send() sends to
 * @region: where the region goes; untouched on failure
 *
 * Return: as sonde_region_import(), -ENOMSG (what came has no handle), -ECONNRESET
 * (the other end is closed), or what recvmsg(2) said.
 *
 * Since: 0.1
 */
int sonde_region_receive(struct sonde_transfer *transfer, int sock, struct sonde_region **region);

/**
 * sonde_region_read() - copy from a region
 * @region: the region; in several threads at once if need be
 * @offset: bytes from its begin
 * @buf: where they go
 * @len: how many bytes
 *
 * An error leaves @buf undefined: what was copied before is not to be used.
 *
 * Return: @len; fewer if memory ends before, there or here; or a negative error:
 * -EINVAL (not within the region), -EACCES (not by its rights), -ESTALE (revoked,
 * or the exporter's memory is another), -EOWNERDEAD (the exporter has ended),
 * -EFAULT, -EPERM, -ENOMEM, -EINTR (a fatal signal).
 *
 * With shared memory a wrong @buf is SIGSEGV, as of memcpy(), and the
 * exporter's end is told by sonde_region_state() only.
 *
 * Since: 0.1
 */
ssize_t sonde_region_read(struct sonde_region *region, uint64_t offset, void *buf, size_t len);

/** sonde_region_write() - copy to a region, as sonde_region_read(). Since: 0.1 */
ssize_t sonde_region_write(struct sonde_region *region, uint64_t offset, const void *buf,
			   size_t len);

/**
 * sonde_copyv() - many copies in as few system calls as the ways allow
 * @transfer: the transfer that the regions are of
 * @copies: @n elements; each gets its result
 * @n: how many
 *
 * In what order they are done is not said: elements must not overlap. The module
 * takes the whole batch in a call, CMA what follows each other of one exporter and
 * direction.
 *
 * Return: how many elements were copied whole.
 *
 * Since: 0.1
 */
size_t sonde_copyv(struct sonde_transfer *transfer, struct sonde_region_copy *copies, size_t n);

/**
 * sonde_copyv_start() - begin many copies, and do not wait
 * @transfer: the transfer that the regions are of
 * @copies: @n elements, as of sonde_copyv(); they, their regions and the memory
 *	that they name are the batch's until sonde_copyv_wait()
 * @n: at least 1
 * @cpu: where the copies are made, one on which the caller may run; -1: another
 *	one than the caller's, if it may run on more
 * @batch: where it goes; untouched on failure
 *
 * The module's kernel workers make them. By the other ways, in a batch of several
 * ways, and where the module cannot take it now (RLIMIT_MEMLOCK, too many under way)
 * a thread of this library does.
 *
 * Return: 0, -EINVAL (no element, no such CPU), -EPERM (the CPU), -EAGAIN (no thread can
 * be started), -ENOMEM, -EMFILE, -ENFILE.
 *
 * Since: 0.1
 */
int sonde_copyv_start(struct sonde_transfer *transfer, struct sonde_region_copy *copies, size_t n,
		      int cpu, struct sonde_copyv_batch **batch);

/** sonde_copyv_test() - with one load, whether all are made: 1, 0. Since: 0.1 */
int sonde_copyv_test(const struct sonde_copyv_batch *batch);

/**
 * sonde_copyv_fd() - to be polled: readable when all are made
 * @batch: under way
 *
 * Return: a descriptor owned by @batch, not to be read from.
 *
 * Since: 0.1
 */
int sonde_copyv_fd(const struct sonde_copyv_batch *batch);

/**
 * sonde_copyv_wait() - wait for the end, and free the batch
 * @batch: each must be waited for before its transfer is closed
 *
 * Return: how many elements were copied whole; each has its result.
 *
 * Since: 0.1
 */
size_t sonde_copyv_wait(struct sonde_copyv_batch *batch);

/**
 * sonde_region_map() - map a region
 * @region: the region
 * @offset: bytes from its begin
 * @len: bytes, at least 1
 * @addr: where the address of the first byte goes; untouched on failure
 *
 * Readable, and writable if the rights say so. Pages stay as long as they are
 * mapped, whatever the exporter does; a child after fork() does not have them.
 *
 * Return: 0, -EINVAL (not within the region), -EACCES (a region that may not be
 * read), -EOPNOTSUPP (CMA), -ESTALE, -EOWNERDEAD, -ENOMEM.
 *
 * Since: 0.1
 */
int sonde_region_map(struct sonde_region *region, uint64_t offset, size_t len, void **addr);

/** sonde_region_unmap() - unmap; @addr may be NULL. Since: 0.1 */
void sonde_region_unmap(void *addr, size_t len);

/**
 * sonde_region_is_valid() - whether it was neither revoked nor found stale
 * @region: the region
 *
 * One load. By the module its exporter sees here also what became of the memory: then
 * 0 may be a mere suspicion, of which sonde_region_state() finds out. For who imported
 * it by the module this is what copies and sonde_region_state() found.
 *
 * Return: 1, 0.
 *
 * Since: 0.1
 */
int sonde_region_is_valid(const struct sonde_region *region);

/**
 * sonde_region_state() - ask all that can be known
 * @region: the region
 *
 * Return: 0 (valid), -ESTALE, -EOWNERDEAD, -EPERM (CMA: no longer allowed).
 *
 * Since: 0.1
 */
int sonde_region_state(struct sonde_region *region);

/**
 * sonde_region_revoke() - take it back from everybody
 * @region: exported by this process
 *
 * Copies that begin afterwards answer -ESTALE. Mappings that others made stay.
 *
 * Return: 0 (also if it was before), -EPERM (another process exported it).
 *
 * Since: 0.1
 */
int sonde_region_revoke(struct sonde_region *region);

/**
 * sonde_region_explain() - why a function here failed, and what to do
 * @err: its result
 * @buf: where the sentence goes (no newline)
 * @len: bytes of @buf
 *
 * Return: @buf.
 *
 * Since: 0.1
 */
char *sonde_region_explain(int err, char *buf, size_t len);

/**
 * struct sonde_region_cache_counts - what a cache did
 * @regions: exported now
 * @bytes: the same in bytes
 * @hits: found
 * @misses: exported anew
 * @stale: were no longer valid when they were looked for
 * @evicted: had to go for others
 */
struct sonde_region_cache_counts {
	size_t regions;
	uint64_t bytes;
	uint64_t hits, misses, stale, evicted;
};

/**
 * sonde_region_cache_open() - a cache of exported regions by address
 * @transfer: what exports them
 * @max_regions: the most to keep
 * @max_bytes: likewise, of all together
 * @cache: where it goes; untouched on failure
 *
 * For an owner that hands over the same buffers again and again: only the first
 * time costs an export. It may be used by several threads at once.
 *
 * Return: 0, -EINVAL (a limit of 0), -ENOMEM.
 *
 * Since: 0.1
 */
int sonde_region_cache_open(struct sonde_transfer *transfer, size_t max_regions,
			    uint64_t max_bytes, struct sonde_region_cache **cache);

/**
 * sonde_region_cache_close() - close all regions of it; @cache may be NULL
 * @cache: what was got of it must have been put back
 *
 * Since: 0.1
 */
void sonde_region_cache_close(struct sonde_region_cache *cache);

/**
 * sonde_region_cache_get() - a region that has a range
 * @cache: the cache
 * @addr: the range, of this process
 * @len: its bytes, at least 1
 * @rights: as of sonde_region_export(); exactly these, as more would give too much away
 * @region: where the region goes, owned by @cache; untouched on failure
 * @offset: where the range begins in it
 *
 * A region that was kept is looked at with one load: one that is no longer
 * valid is exported anew. What overlaps is exported as one. Regions that are
 * in use count, but are not evicted: a cache may be over its limits by them.
 *
 * Return: 0, or as sonde_region_export().
 *
 * Since: 0.1
 */
int sonde_region_cache_get(struct sonde_region_cache *cache, void *addr, size_t len,
			   unsigned int rights, struct sonde_region **region, uint64_t *offset);

/** sonde_region_cache_put() - no longer in use; it is kept. Since: 0.1 */
void sonde_region_cache_put(struct sonde_region_cache *cache, struct sonde_region *region);

/** sonde_region_cache_count() - what it did so far. Since: 0.1 */
void sonde_region_cache_count(struct sonde_region_cache *cache,
			      struct sonde_region_cache_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
