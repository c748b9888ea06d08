// SPDX-License-Identifier: LGPL-2.1-or-later
/* Numbers and heads to bytes and back, with bounds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

static void put(uint8_t *to, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *from, unsigned int bytes)
{
	uint64_t v = 0;

	for (unsigned int i = 0; i < bytes; i++)
		v |= (uint64_t)from[i] << (8 * i);
	return v;
}

uint8_t *dsm_buf_room(struct dsm_buf *b, size_t more)
{
	size_t room = b->room ? b->room : 64;
	uint8_t *v;

	if (b->failed)
		return NULL;
	while (room < b->len + more)
		room *= 2;
	if (room > b->room) {
		v = realloc(b->v, room);
		if (!v) {
			b->failed = true;
			return NULL;
		}
		b->v = v;
		b->room = room;
	}
	return b->v + b->len;
}

void dsm_buf_bytes(struct dsm_buf *b, const void *bytes, size_t n)
{
	uint8_t *to = dsm_buf_room(b, n);

	if (!to || !n)
		return;
	memcpy(to, bytes, n);
	b->len += n;
}

void dsm_buf_u32(struct dsm_buf *b, uint32_t v)
{
	uint8_t *to = dsm_buf_room(b, 4);

	if (!to)
		return;
	put(to, v, 4);
	b->len += 4;
}

void dsm_buf_u64(struct dsm_buf *b, uint64_t v)
{
	uint8_t *to = dsm_buf_room(b, 8);

	if (!to)
		return;
	put(to, v, 8);
	b->len += 8;
}

void dsm_buf_free(struct dsm_buf *b)
{
	free(b->v);
	*b = (struct dsm_buf){ 0 };
}

void dsm_set_u32(uint8_t *at, uint32_t v)
{
	put(at, v, 4);
}

const uint8_t *dsm_read_bytes(struct dsm_reader *r, size_t n)
{
	const uint8_t *p = r->p;

	if (dsm_left(r) < n) {
		r->bad = true;
		return NULL;
	}
	r->p += n;
	return p;
}

uint32_t dsm_read_u32(struct dsm_reader *r)
{
	const uint8_t *p = dsm_read_bytes(r, 4);

	return p ? (uint32_t)get(p, 4) : 0;
}

uint64_t dsm_read_u64(struct dsm_reader *r)
{
	const uint8_t *p = dsm_read_bytes(r, 8);

	return p ? get(p, 8) : 0;
}

int dsm_read_end(const struct dsm_reader *r)
{
	return r->bad || r->p != r->end ? -EBADMSG : 0;
}

void dsm_put_head(uint8_t *to, const struct dsm_message_head *h)
{
	to[0] = DSM_WIRE_VERSION;
	to[1] = h->kind;
	put(to + 2, h->from, 2);
	put(to + 4, h->len, 4);
	put(to + 8, h->id, 8);
	put(to + 16, h->arg, 8);
	put(to + 24, h->number, 8);
}

int dsm_get_head(const uint8_t *data, size_t len, struct dsm_message_head *h,
		 struct dsm_reader *payload)
{
	if (len < DSM_HEAD || data[0] != DSM_WIRE_VERSION)
		return -EBADMSG;
	h->kind = data[1];
	h->from = (uint16_t)get(data + 2, 2);
	h->len = (uint32_t)get(data + 4, 4);
	h->id = get(data + 8, 8);
	h->arg = get(data + 16, 8);
	h->number = get(data + 24, 8);
	if (h->len != len - DSM_HEAD)
		return -EBADMSG;
	*payload = (struct dsm_reader){ .p = data + DSM_HEAD, .end = data + len };
	return 0;
}
