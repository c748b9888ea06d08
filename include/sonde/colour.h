/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: colour - memory of chosen colours, or physically contiguous
 *
 * Pages whose frames have the same colour compete for the same sets of a cache
 * that is indexed by frame. What a colour is, is data: bit i of a colour is the
 * parity of the frame number and mask i; plain low bits unless masks are given.
 *
 * One interface, two implementations: the module, which sorts pages by colour in
 * the kernel and keeps those that were not wanted for the next call, and a search
 * in user space: map pages, look up their frames, keep some. Whether colours by
 * frame mean anything for a cache here is another question: in a virtual machine
 * they mostly do not.
 */
#ifndef SONDE_COLOUR_H
#define SONDE_COLOUR_H

#include <stddef.h>
#include <stdint.h>
#include <linux/sonde.h>	/* SONDE_ALLOC_CONTIGUOUS, SONDE_ALLOC_PARTIAL */

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_colour_source;

enum sonde_colour_backend {
	SONDE_COLOUR_AUTO,	/* the module if it can be had, else the search */
	SONDE_COLOUR_MODULE,
	SONDE_COLOUR_SEARCH,
};

/**
 * struct sonde_colour_request - what memory is wanted
 * @npages: base pages
 * @node: NUMA node that all pages are to be on, or -1
 * @flags: SONDE_ALLOC_CONTIGUOUS, SONDE_ALLOC_PARTIAL
 * @bits: bits of a colour, at most SONDE_ALLOC_MASKS
 * @masks: @bits masks, linearly independent; NULL: the low @bits bits of a frame
 * @colours: bitmap of 2^@bits bits, the first word holds colours 0 to 63: those
 *           that are wanted; NULL: pages of any colour, and @bits must be 0
 */
struct sonde_colour_request {
	size_t npages;
	int node;
	unsigned int flags;
	unsigned int bits;
	const uint64_t *masks;
	const uint64_t *colours;
};

/**
 * struct sonde_colour_memory - memory that was had; not to be written to
 * @addr: the memory, mapped shared and zeroed; not inherited by fork()
 * @npages: as asked for
 * @fd: the module's descriptor of it, which others can map; -1 from the search
 * @off_colour: pages that have not the colour of their place
 * @runs: runs of pages whose frames follow each other
 * @longest: pages of the longest run
 * @drawn: pages that were taken from the kernel to find these; 0 if all were in
 *         the module's pool
 */
struct sonde_colour_memory {
	void *addr;
	size_t npages;
	int fd;
	uint64_t off_colour;
	uint64_t runs;
	uint64_t longest;
	uint64_t drawn;
};

/**
 * sonde_colour_open() - choose where coloured memory comes from
 * @src: where the source goes; untouched on failure
 * @backend: one backend, or SONDE_COLOUR_AUTO
 *
 * A source of the module has a pool of pages by colour, which makes further
 * calls much quicker than the first, and which sonde_colour_close() gives back.
 *
 * Return: 0, -ENODEV (the module is not loaded, and there is no pagemap), -EACCES
 * (neither is for this user), -EPROTO (the module does not know colours),
 * -EINVAL, -ENOMEM. sonde_colour_explain() makes a sentence of it.
 *
 * Since: 0.1
 */
int sonde_colour_open(struct sonde_colour_source **src, enum sonde_colour_backend backend);

/** sonde_colour_close() - close; @src may be NULL; memory stays. Since: 0.1 */
void sonde_colour_close(struct sonde_colour_source *src);

/** sonde_colour_backend() - which backend was chosen. Since: 0.1 */
enum sonde_colour_backend sonde_colour_backend(const struct sonde_colour_source *src);

/** sonde_colour_backend_name() - "module", "search" or "auto". Since: 0.1 */
const char *sonde_colour_backend_name(enum sonde_colour_backend backend);

/**
 * sonde_colour_why() - why not the module, and what is lost by it
 * @src: the source
 *
 * Return: a sentence without newline owned by @src, or NULL if it is the module.
 *
 * Since: 0.1
 */
const char *sonde_colour_why(const struct sonde_colour_source *src);

/**
 * sonde_colour_alloc() - get memory of chosen colours, or contiguous
 * @src: the source
 * @request: what is wanted
 * @memory: where the memory goes; untouched on failure
 *
 * Page i has the (i mod k)-th of the k wanted colours, in ascending order. What
 * cannot be had is refused, unless SONDE_ALLOC_PARTIAL is given: then places
 * without a page of their colour get another and are counted, and contiguous
 * memory may have several runs. Too few pages is always an error.
 *
 * The module's pages stay where they are. Those of the search are locked, but
 * the kernel may still move them; each is a mapping of its own, so their number
 * is limited by vm.max_map_count. The search cannot make memory contiguous.
 *
 * Not to be called for one source from two threads at once.
 *
 * Return: 0, -EINVAL (count, flags, node, masks, colours), -ENOSPC (wanted colours
 * or one run cannot be had), -ENOMEM, -ENOBUFS (RLIMIT_MEMLOCK), -EDQUOT (more
 * than the module may hold), -EPERM (masks that tell frame numbers to who may not
 * see them), -EOPNOTSUPP (contiguous memory by the search), -EMFILE, -ENFILE,
 * -EINTR. sonde_colour_explain() makes a sentence of it.
 *
 * Since: 0.1
 */
int sonde_colour_alloc(struct sonde_colour_source *src, const struct sonde_colour_request *request,
		       struct sonde_colour_memory **memory);

/** sonde_colour_free() - give it back; @memory may be NULL. Since: 0.1 */
void sonde_colour_free(struct sonde_colour_memory *memory);

/**
 * sonde_colour_of() - the colour of a frame
 * @request: for its bits and masks
 * @frame: page frame number
 *
 * Return: 0 to 2^bits - 1.
 *
 * Since: 0.1
 */
unsigned int sonde_colour_of(const struct sonde_colour_request *request, uint64_t frame);

/**
 * sonde_colour_explain() - why opening or allocating failed, and what to do
 * @err: the result
 * @buf: where the sentence goes (no newline)
 * @len: bytes of @buf
 *
 * Return: @buf.
 *
 * Since: 0.1
 */
char *sonde_colour_explain(int err, char *buf, size_t len);

#ifdef __cplusplus
}
#endif

#endif
