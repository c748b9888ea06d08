/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Messages as bytes: all numbers little endian, none aligned. A head of 32 bytes:
 *
 *	0  version of this format, 1
 *	1  kind, enum dsm_message
 *	2  sender (16 bits)
 *	4  bytes that follow the head (32 bits)
 *	8  id: page, lock, barrier or condition
 *	16 arg, by kind
 *	24 number of the message between these two processes, from 1
 */
#ifndef SONDE_DSM_WIRE_H
#define SONDE_DSM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DSM_WIRE_VERSION	1
#define DSM_HEAD		32u

struct dsm_message_head {
	uint64_t id, arg, number;
	uint32_t len;
	uint16_t from;
	uint8_t kind;
};

/* Grows; an allocation that failed is remembered, and said by dsm_buf_error(). */
struct dsm_buf {
	uint8_t *v;
	size_t len, room;
	bool failed;
};

uint8_t *dsm_buf_room(struct dsm_buf *b, size_t more);	/* NULL if there is none */
void dsm_buf_bytes(struct dsm_buf *b, const void *bytes, size_t n);
void dsm_buf_u32(struct dsm_buf *b, uint32_t v);
void dsm_buf_u64(struct dsm_buf *b, uint64_t v);
void dsm_buf_free(struct dsm_buf *b);
void dsm_set_u32(uint8_t *at, uint32_t v);

/* Reads zeros from beyond the end, and remembers that it did. */
struct dsm_reader {
	const uint8_t *p, *end;
	bool bad;
};

uint32_t dsm_read_u32(struct dsm_reader *r);
uint64_t dsm_read_u64(struct dsm_reader *r);
const uint8_t *dsm_read_bytes(struct dsm_reader *r, size_t n);

static inline size_t dsm_left(const struct dsm_reader *r)
{
	return (size_t)(r->end - r->p);
}

/* 0 if all was read and nothing was missing, else -EBADMSG. */
int dsm_read_end(const struct dsm_reader *r);

void dsm_put_head(uint8_t *to, const struct dsm_message_head *h);
int dsm_get_head(const uint8_t *data, size_t len, struct dsm_message_head *h,
		 struct dsm_reader *payload);

#endif
