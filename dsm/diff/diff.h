/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a process changed in a page: the bytes in which the page differs from its
 * twin, the copy made before the first write. Adjacent bytes are distinct objects
 * (C11 3.14), so not one byte is sent that was not changed: it would undo what
 * another process wrote there.
 *
 * A diff is made in two steps. scan() turns page and twin into one 64-bit mask for
 * each 64 bytes; encoding needs the masks only. Two encodings, the shorter is taken:
 *
 *	runs	0x01, then for each run: gap, length - 1 (LEB128), the bytes
 *	bitmap	0x02, a bit for each block of 64 bytes, lowest first, then for each
 *		block that has one: its mask (8 bytes, little endian), its bytes packed
 *
 * Runs suit what is sparse or contiguous, the bitmap what alternates (red-black).
 */
#ifndef SONDE_DSM_DIFF_H
#define SONDE_DSM_DIFF_H

#include <stddef.h>
#include <stdint.h>

#define DSM_UNIT_MIN	4096u
#define DSM_UNIT_MAX	(1u << 26)
#define DSM_BLOCK	64u

/* Room behind the longest diff that pack() may scribble on. */
#define DSM_DIFF_SLACK	64u

struct dsm_diff_ops {
	const char *name;
	/* Fills @unit / 64 masks; returns how many bytes differ. */
	size_t (*scan)(const uint8_t *page, const uint8_t *twin, size_t unit, uint64_t *masks);
	/* The bytes of @block that @mask names; returns the end. May write 64. */
	uint8_t *(*pack)(uint8_t *out, const uint8_t *block, uint64_t mask);
	/* The other way round; reads no more than the mask has bits. */
	const uint8_t *(*unpack)(uint8_t *block, uint64_t mask, const uint8_t *in);
};

/* The variants that this processor can run, slowest first; ends with NULL. */
const struct dsm_diff_ops *const *dsm_diff_variants(void);
const struct dsm_diff_ops *dsm_diff_best(void);

static inline size_t dsm_diff_masks(size_t unit)
{
	return unit / DSM_BLOCK;
}

/* The longest diff of a unit, slack included. */
static inline size_t dsm_diff_bound(size_t unit)
{
	return 1 + unit / DSM_BLOCK / 8 + unit / 8 + unit + DSM_DIFF_SLACK;
}

/*
 * The next page to be compared, and its twin: their first lines are fetched meanwhile, and
 * show the processor where to go on by itself. More lines only wait for each other.
 */
static inline void dsm_diff_ahead(const void *page, const void *twin)
{
	for (size_t at = 0; at < 4 * DSM_BLOCK; at += DSM_BLOCK) {
		__builtin_prefetch((const uint8_t *)page + at);
		__builtin_prefetch((const uint8_t *)twin + at);
	}
}

/*
 * @masks: scratch of dsm_diff_masks(@unit); @out: of dsm_diff_bound(@unit)
 * Returns the length, 0 if nothing differs.
 */
size_t dsm_diff_encode(const struct dsm_diff_ops *ops, const void *page, const void *twin,
		       size_t unit, uint64_t *masks, uint8_t *out);

/*
 * To @page and, unless NULL, to @twin: a twin that missed it would make the next
 * diff send another's bytes again. -EBADMSG if @in is not a diff of a unit;
 * then nothing was written.
 */
int dsm_diff_apply(const struct dsm_diff_ops *ops, void *page, void *twin, size_t unit,
		   const uint8_t *in, size_t len);

/*
 * A newer copy of the page came while it has changes of its own: bytes that differ
 * from the twin stay, all others become the new ones; the twin becomes the copy.
 */
void dsm_diff_merge(const struct dsm_diff_ops *ops, void *page, void *twin, const void *newer,
		    size_t unit, uint64_t *masks);

#endif
