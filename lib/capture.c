// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/probe.h>
#include <sonde/share.h>
#include "capture.h"
#include "rng.h"
#include "stream.h"
#include "topology.h"

#define NS		1e9
/* So many fit in 63 bits: 285 years. */
#define MOST_SECONDS	9e9
#define FNV_PRIME	0x100000001b3
/* Larger than any second or size, and whole numbers are exact up to there. */
#define MOST_REAL	9e15

/* ---- numbers --------------------------------------------------------------- */

char *capture_whole(char *at, uint64_t x)
{
	char digits[CAPTURE_NUMBER];
	size_t n = 0;

	do
		digits[n++] = (char)('0' + x % 10);
	while (x /= 10);
	while (n)
		*at++ = digits[--n];
	return at;
}

char *capture_signed(char *at, int64_t x)
{
	if (x >= 0)
		return capture_whole(at, (uint64_t)x);
	*at++ = '-';
	return capture_whole(at, -(uint64_t)x);
}

char *capture_hex(char *at, uint64_t x)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[x >> shift & 15];
	return at;
}

int capture_real(char out[32], double x)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before;

	if (!plain)
		return -ENOMEM;
	before = uselocale(plain);
	snprintf(out, 32, "%.17g", x);
	uselocale(before);
	freelocale(plain);
	return 0;
}

uint64_t capture_ns(double seconds)
{
	return seconds > 0 && seconds < MOST_SECONDS ? (uint64_t)llround(seconds * NS) : 0;
}

double capture_seconds(uint64_t ns)
{
	return (double)ns / NS;
}

int capture_read_whole(const char **at, uint64_t max, uint64_t *x)
{
	const char *c = *at;
	uint64_t value = 0;

	if (*c < '0' || *c > '9')
		return -EBADMSG;
	for (; *c >= '0' && *c <= '9'; c++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*c - '0'), &value))
			return -EBADMSG;
	if (value > max)
		return -EBADMSG;
	*at = c;
	*x = value;
	return 0;
}

int capture_read_signed(const char **at, int64_t *x)
{
	int is_negative = **at == '-';
	const char *c = *at + is_negative;
	uint64_t value;

	if (capture_read_whole(&c, (uint64_t)INT64_MAX, &value))
		return -EBADMSG;
	*at = c;
	*x = is_negative ? -(int64_t)value : (int64_t)value;
	return 0;
}

int capture_read_real(const char **at, double *x)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	double value;
	char *end = NULL;

	if (!plain)
		return -ENOMEM;
	/* It would skip blanks, read words and other bases. */
	value = **at >= '0' && **at <= '9' ? strtod_l(*at, &end, plain) : -1;
	freelocale(plain);
	if (!(value >= 0 && value <= MOST_REAL) || memchr(*at, 'x', (size_t)(end - *at)))
		return -EBADMSG;
	*at = end;
	*x = value;
	return 0;
}

int capture_read_char(const char **at, char c)
{
	if (**at != c)
		return -EBADMSG;
	++*at;
	return 0;
}

/* ---- questions -------------------------------------------------------------- */

static char *begin_question(char *at, char letter)
{
	*at++ = letter;
	return at;
}

static char *add_whole(char *at, uint64_t x)
{
	*at++ = '\t';
	return capture_whole(at, x);
}

/* The order of places counts: any two that are exchanged give another number. */
static uint64_t mix_places(const uint32_t *places, size_t n)
{
	uint64_t sum = CAPTURE_SUM_BEGIN;

	for (size_t i = 0; i < n; i++)
		sum = (sum ^ places[i]) * FNV_PRIME;
	return sonde_rng_splitmix(&sum);
}

static char *add_places(char *at, const uint32_t *places, size_t n)
{
	at = add_whole(at, n);
	*at++ = '\t';
	return capture_hex(at, mix_places(places, n));
}

char *capture_pages(char *at, size_t chunks)
{
	return add_whole(begin_question(at, 'p'), chunks);
}

char *capture_frames(char *at, size_t first, size_t n)
{
	return add_whole(add_whole(begin_question(at, 'f'), first), n);
}

char *capture_link(char *at, const uint32_t *places, size_t n)
{
	return add_places(begin_question(at, 'l'), places, n);
}

char *capture_chase(char *at, uint64_t skip, unsigned int steps, size_t nout)
{
	return add_whole(add_whole(add_whole(begin_question(at, 'c'), skip), steps), nout);
}

char *capture_flush(char *at, const uint32_t *places, size_t n)
{
	return add_places(begin_question(at, 'x'), places, n);
}

char *capture_move(char *at, unsigned int cpu)
{
	return add_whole(begin_question(at, 'm'), cpu);
}

char *capture_together(char *at, size_t nlanes)
{
	return add_whole(begin_question(at, 't'), nlanes);
}

char *capture_lane(char *at, const struct meter_lane *lane)
{
	at = add_whole(begin_question(at, 'a'), lane->cpu);
	at = add_places(at, lane->places, lane->n);
	return add_whole(add_whole(add_whole(at, lane->skip), lane->steps), lane->nout);
}

char *capture_streams(char *at, size_t nlanes)
{
	return add_whole(begin_question(at, 's'), nlanes);
}

char *capture_stream(char *at, const struct meter_stream *lane)
{
	at = add_whole(add_whole(begin_question(at, 'b'), lane->cpu), (uint64_t)lane->kind);
	*at++ = '\t';
	at = capture_signed(at, lane->node);
	at = add_whole(add_whole(at, (uint64_t)lane->pages), lane->bytes);
	return add_whole(add_whole(at, lane->pause_ns), lane->nout);
}

char *capture_gaps(char *at, double seconds)
{
	return add_whole(begin_question(at, 'g'), capture_ns(seconds));
}

char *capture_now(char *at)
{
	return begin_question(at, 'n');
}

/* ---- answers ---------------------------------------------------------------- */

/*
 * A chain takes about what the one before took, and a window begins soon after
 * the end of the one before. Differences wrap, so every number comes back.
 */
static uint64_t expect_begin(const struct meter_window *before, uint64_t chain)
{
	return before->begin + before->ticks + chain;
}

char *capture_windows(char *at, struct capture_last *last, const struct meter_window *w, size_t n)
{
	const struct meter_window *before = &last->window;

	for (size_t i = 0; i < n; before = &w[i++]) {
		at = add_whole(at, w[i].ticks);
		*at++ = ',';
		at = capture_signed(at, (int64_t)(w[i].chain - before->chain));
		*at++ = ',';
		at = capture_signed(at, (int64_t)(w[i].begin - expect_begin(before, w[i].chain)));
	}
	if (n)
		last->window = w[n - 1];
	return at;
}

static int read_window(const char **at, const struct meter_window *before, struct meter_window *w)
{
	int64_t chain, begin;

	if (capture_read_char(at, '\t') || capture_read_whole(at, UINT64_MAX, &w->ticks) ||
	    capture_read_char(at, ',') || capture_read_signed(at, &chain) ||
	    capture_read_char(at, ',') || capture_read_signed(at, &begin))
		return -EBADMSG;
	w->chain = before->chain + (uint64_t)chain;
	w->begin = expect_begin(before, w->chain) + (uint64_t)begin;
	return 0;
}

int capture_read_windows(const char **at, struct capture_last *last, struct meter_window *w,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (read_window(at, &last->window, &w[i]))
			return -EBADMSG;
		last->window = w[i];
	}
	return 0;
}

/* ---- properties ------------------------------------------------------------- */

#define FIELD(type, member, kind) { #member, offsetof(struct type, member), kind }

const struct capture_field capture_cache_fields[] = {
	FIELD(sonde_cache_options, cpu, CAPTURE_UNSIGNED),
	FIELD(sonde_cache_options, budget_s, CAPTURE_REAL),
	FIELD(sonde_cache_options, max_bytes, CAPTURE_SIZE),
	FIELD(sonde_cache_options, levels, CAPTURE_UNSIGNED),
	FIELD(sonde_cache_options, seed, CAPTURE_U64),
	{ NULL, 0, 0 },
};

const struct capture_field capture_share_fields[] = {
	FIELD(sonde_share_options, max_bytes, CAPTURE_SIZE),
	FIELD(sonde_share_options, seed, CAPTURE_U64),
	FIELD(sonde_share_options, all_pairs, CAPTURE_INT),
	{ NULL, 0, 0 },
};

const struct capture_field capture_memory_fields[] = {
	FIELD(sonde_memory_options, depth, CAPTURE_SIZE),
	FIELD(sonde_memory_options, cache_bytes, CAPTURE_SIZE),
	FIELD(sonde_memory_options, max_bytes, CAPTURE_SIZE),
	FIELD(sonde_memory_options, seed, CAPTURE_U64),
	FIELD(sonde_memory_options, all_pairs, CAPTURE_INT),
	{ NULL, 0, 0 },
};

const struct capture_field capture_level_fields[] = {
	FIELD(sonde_cache_level, level, CAPTURE_UNSIGNED),
	FIELD(sonde_cache_level, type, CAPTURE_INT),
	FIELD(sonde_cache_level, size, CAPTURE_U64),
	FIELD(sonde_cache_level, size_low, CAPTURE_U64),
	FIELD(sonde_cache_level, size_high, CAPTURE_U64),
	FIELD(sonde_cache_level, latency.ns, CAPTURE_REAL),
	FIELD(sonde_cache_level, latency.cycles, CAPTURE_REAL),
	FIELD(sonde_cache_level, confidence, CAPTURE_REAL),
	FIELD(sonde_cache_level, ways, CAPTURE_UNSIGNED),
	FIELD(sonde_cache_level, line, CAPTURE_UNSIGNED),
	{ NULL, 0, 0 },
};

const struct capture_field capture_meter_fields[] = {
	FIELD(meter, page_size, CAPTURE_SIZE),
	FIELD(meter, max_bytes, CAPTURE_SIZE),
	FIELD(meter, chain_cycles, CAPTURE_POSITIVE),
	FIELD(meter, tick_ns, CAPTURE_POSITIVE),
	FIELD(meter, is_guest, CAPTURE_INT),
	{ NULL, 0, 0 },
};

const struct capture_field capture_machine_fields[] = {
	FIELD(sonde_topology, nodes, CAPTURE_UNSIGNED),
	FIELD(sonde_topology, memory, CAPTURE_U64),
	FIELD(sonde_topology, page, CAPTURE_U64),
	{ NULL, 0, 0 },
};

static uint64_t get_whole(const struct capture_field *f, const void *object)
{
	const char *p = (const char *)object + f->offset;

	switch (f->kind) {
	case CAPTURE_INT:
		return (uint64_t)(*(const int *)(const void *)p != 0);
	case CAPTURE_UNSIGNED:
		return *(const unsigned int *)(const void *)p;
	case CAPTURE_SIZE:
		return *(const size_t *)(const void *)p;
	default:
		return *(const uint64_t *)(const void *)p;
	}
}

int capture_field_text(const struct capture_field *f, const void *object, char out[32])
{
	const char *p = (const char *)object + f->offset;

	if (f->kind == CAPTURE_REAL || f->kind == CAPTURE_POSITIVE)
		return capture_real(out, *(const double *)(const void *)p);
	*capture_whole(out, get_whole(f, object)) = '\0';
	return 0;
}

static int read_real(const struct capture_field *f, char *p, const char **at)
{
	double x;
	int err = capture_read_real(at, &x);

	if (!err && f->kind == CAPTURE_POSITIVE && !(x > 0))
		err = -EBADMSG;
	if (!err)
		*(double *)(void *)p = x;
	return err;
}

static int read_whole(const struct capture_field *f, char *p, const char **at)
{
	static const uint64_t most[] = {
		[CAPTURE_INT] = 1,
		[CAPTURE_UNSIGNED] = UINT_MAX,
		[CAPTURE_SIZE] = SIZE_MAX,
		[CAPTURE_U64] = UINT64_MAX,
	};
	uint64_t x;

	if (capture_read_whole(at, most[f->kind], &x))
		return -EBADMSG;
	if (f->kind == CAPTURE_INT)
		*(int *)(void *)p = (int)x;
	else if (f->kind == CAPTURE_UNSIGNED)
		*(unsigned int *)(void *)p = (unsigned int)x;
	else if (f->kind == CAPTURE_SIZE)
		*(size_t *)(void *)p = (size_t)x;
	else
		*(uint64_t *)(void *)p = x;
	return 0;
}

int capture_field_read(const struct capture_field *f, void *object, const char **at)
{
	char *p = (char *)object + f->offset;

	if (f->kind == CAPTURE_REAL || f->kind == CAPTURE_POSITIVE)
		return read_real(f, p, at);
	return read_whole(f, p, at);
}

/* ---- the sum ---------------------------------------------------------------- */

uint64_t capture_sum(uint64_t sum, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ (unsigned char)text[i]) * FNV_PRIME;
	return sum;
}
