// SPDX-License-Identifier: LGPL-2.1-or-later
/* Masks to bytes and back: the two encodings, and which is shorter. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "../core/faults.h"
#include "variants.h"

enum { RUNS = 1, BITMAP = 2 };

/* The first bit at or after @pos that is set in the masks; @flip: that is clear. */
static size_t next_bit(const uint64_t *masks, size_t pos, size_t end, uint64_t flip)
{
	while (pos < end) {
		uint64_t rest = (masks[pos / 64] ^ flip) >> (pos % 64);

		if (rest)
			return pos + (size_t)__builtin_ctzll(rest);
		pos = (pos | 63) + 1;
	}
	return end;
}

static size_t varint_size(size_t v)
{
	return v < 1 << 7 ? 1 : v < 1 << 14 ? 2 : v < 1 << 21 ? 3 : 4;
}

static uint8_t *put_varint(uint8_t *out, size_t v)
{
	for (; v >= 0x80; v >>= 7)
		*out++ = (uint8_t)(v | 0x80);
	*out++ = (uint8_t)v;
	return out;
}

/* Four bytes hold any offset in the largest unit. */
static const uint8_t *get_varint(const uint8_t *in, const uint8_t *end, size_t *v)
{
	*v = 0;
	for (unsigned int shift = 0; shift < 28 && in < end; shift += 7) {
		*v |= (size_t)(*in & 0x7f) << shift;
		if (!(*in++ & 0x80))
			return in;
	}
	return NULL;
}

static size_t bitmap_size(const uint64_t *masks, size_t unit, size_t bytes)
{
	size_t size = 1 + unit / DSM_BLOCK / 8 + bytes;

	for (size_t i = 0; i < unit / DSM_BLOCK; i++)
		size += masks[i] ? 8 : 0;
	return size;
}

static size_t count_runs(const uint64_t *masks, size_t unit)
{
	uint64_t last = 0;
	size_t runs = 0;

	for (size_t i = 0; i < unit / DSM_BLOCK; i++) {
		runs += (size_t)__builtin_popcountll(masks[i] & ~(masks[i] << 1 | last));
		last = masks[i] >> 63;
	}
	return runs;
}

/* Exact unless it is at least @limit. Of many bytes runs are counted first. */
static size_t runs_size(const uint64_t *masks, size_t unit, size_t bytes, size_t limit)
{
	size_t size = 1 + bytes, end = 0, start;

	if (bytes > unit / 8 && size + 2 * count_runs(masks, unit) >= limit)
		return limit;
	while (size < limit && (start = next_bit(masks, end, unit, 0)) < unit) {
		size += varint_size(start - end);
		end = next_bit(masks, start, unit, ~(uint64_t)0);
		size += varint_size(end - start - 1);
	}
	return size;
}

static uint8_t *encode_runs(const uint8_t *page, const uint64_t *masks, size_t unit, uint8_t *out)
{
	size_t end = 0, start;

	*out++ = RUNS;
	while ((start = next_bit(masks, end, unit, 0)) < unit) {
		out = put_varint(out, start - end);
		end = next_bit(masks, start, unit, ~(uint64_t)0);
		out = put_varint(out, end - start - 1);
		memcpy(out, page + start, end - start);
		out += end - start;
	}
	return out;
}

static void put_le64(uint8_t *out, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	v = __builtin_bswap64(v);
#endif
	memcpy(out, &v, sizeof(v));
}

static uint8_t *encode_bitmap(const struct dsm_diff_ops *ops, const uint8_t *page,
			      const uint64_t *masks, size_t unit, uint8_t *out)
{
	size_t blocks = unit / DSM_BLOCK;
	uint8_t *index = out + 1;

	*out = BITMAP;
	memset(index, 0, blocks / 8);
	out = index + blocks / 8;
	for (size_t i = 0; i < blocks; i++) {
		if (!masks[i])
			continue;
		index[i / 8] |= (uint8_t)(1u << (i % 8));
		put_le64(out, masks[i]);
		out = ops->pack(out + 8, page + i * DSM_BLOCK, masks[i]);
	}
	return out;
}

#ifdef DSM_FAULTS
static size_t widen_to_words(uint64_t *masks, size_t unit)
{
	size_t bytes = 0;

	for (size_t i = 0; i < unit / DSM_BLOCK; i++) {
		uint64_t any = masks[i] | masks[i] >> 1 | masks[i] >> 2 | masks[i] >> 3;

		masks[i] = (any & 0x1111111111111111) * 0xf;
		bytes += (size_t)__builtin_popcountll(masks[i]);
	}
	return bytes;
}
#else
#define widen_to_words(masks, unit) 0
#endif

size_t dsm_diff_encode(const struct dsm_diff_ops *ops, const void *page, const void *twin,
		       size_t unit, uint64_t *masks, uint8_t *out)
{
	size_t bytes = ops->scan(page, twin, unit, masks), bitmap;

	if (!bytes)
		return 0;
	if (dsm_fault(WORD_DIFFS))
		bytes = widen_to_words(masks, unit);
	bitmap = bitmap_size(masks, unit, bytes);
	if (runs_size(masks, unit, bytes, bitmap) < bitmap)
		return (size_t)(encode_runs(page, masks, unit, out) - out);
	return (size_t)(encode_bitmap(ops, page, masks, unit, out) - out);
}

/* Checks with @page NULL, else writes what was checked. */
static bool walk_runs(uint8_t *page, uint8_t *twin, size_t unit, const uint8_t *in,
		      const uint8_t *end)
{
	size_t pos = 0, gap, more;

	while (in < end) {
		in = get_varint(in, end, &gap);
		in = in ? get_varint(in, end, &more) : NULL;
		if (!in || gap > unit - pos || more >= unit - pos - gap ||
		    more >= (size_t)(end - in))
			return false;
		pos += gap;
		if (page)
			memcpy(page + pos, in, more + 1);
		if (page && twin)
			memcpy(twin + pos, in, more + 1);
		pos += more + 1;
		in += more + 1;
	}
	return true;
}

static bool walk_bitmap(const struct dsm_diff_ops *ops, uint8_t *page, uint8_t *twin, size_t unit,
			const uint8_t *in, const uint8_t *end)
{
	size_t blocks = unit / DSM_BLOCK;
	const uint8_t *index = in;

	if ((size_t)(end - in) < blocks / 8)
		return false;
	in += blocks / 8;
	for (size_t i = 0; i < blocks; i++) {
		uint64_t mask;
		size_t bytes;

		if (!(index[i / 8] >> (i % 8) & 1))
			continue;
		if (end - in < 8)
			return false;
		mask = get_le64(in);
		in += 8;
		bytes = (size_t)__builtin_popcountll(mask);
		if (!bytes || (size_t)(end - in) < bytes)
			return false;
		if (page)
			ops->unpack(page + i * DSM_BLOCK, mask, in);
		if (page && twin)
			ops->unpack(twin + i * DSM_BLOCK, mask, in);
		in += bytes;
	}
	return in == end;
}

int dsm_diff_apply(const struct dsm_diff_ops *ops, void *page, void *twin, size_t unit,
		   const uint8_t *in, size_t len)
{
	const uint8_t *end = in + len;

	if (len < 2)
		return -EBADMSG;
	switch (*in++) {
	case RUNS:
		if (!walk_runs(NULL, NULL, unit, in, end))
			return -EBADMSG;
		walk_runs(page, twin, unit, in, end);
		return 0;
	case BITMAP:
		if (!walk_bitmap(ops, NULL, NULL, unit, in, end))
			return -EBADMSG;
		walk_bitmap(ops, page, twin, unit, in, end);
		return 0;
	}
	return -EBADMSG;
}

void dsm_diff_merge(const struct dsm_diff_ops *ops, void *page, void *twin, const void *newer,
		    size_t unit, uint64_t *masks)
{
	uint8_t packed[DSM_BLOCK * 2], *own = page;
	const uint8_t *copy = newer;

	ops->scan(page, twin, unit, masks);
	for (size_t i = 0; i < unit / DSM_BLOCK; i++) {
		if (~masks[i]) {
			ops->pack(packed, copy + i * DSM_BLOCK, ~masks[i]);
			ops->unpack(own + i * DSM_BLOCK, ~masks[i], packed);
		}
	}
	memcpy(twin, newer, unit);
}
