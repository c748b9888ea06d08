/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The text of a capture: what a probe asked of a meter, a question a line, and
 * what it was told behind it. sonde-samples(5) describes it.
 *
 * The same functions write the questions of a recording and those of a replay,
 * so that a question is recognised by its text. They use little more than
 * registers: between two questions the caches belong to the probe.
 */
#ifndef SONDE_LIB_CAPTURE_H
#define SONDE_LIB_CAPTURE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "meter.h"

#define CAPTURE_MAGIC	"sonde-samples"
#define CAPTURE_FORMAT	"1"

/* More than a question, a number and its separator, a window take. */
#define CAPTURE_QUESTION 160
#define CAPTURE_NUMBER	24
#define CAPTURE_WINDOW	(3 * CAPTURE_NUMBER)

/* ---- numbers: each function returns the end of what it wrote -------------- */

char *capture_whole(char *at, uint64_t x);
char *capture_signed(char *at, int64_t x);

/* As many digits as give the same number back; a point in every locale. 0, -ENOMEM. */
int capture_real(char out[32], double x);

/* Seconds as whole nanoseconds and back: what both sides of a capture see. */
uint64_t capture_ns(double seconds);
double capture_seconds(uint64_t ns);

/* Of text whose last byte is a newline. 0 and *@at behind it, or -EBADMSG. */
int capture_read_whole(const char **at, uint64_t max, uint64_t *x);
int capture_read_signed(const char **at, int64_t *x);
int capture_read_real(const char **at, double *x);
int capture_read_char(const char **at, char c);

/* ---- questions ------------------------------------------------------------ */

char *capture_pages(char *at, size_t chunks);
char *capture_frames(char *at, size_t first, size_t n);
char *capture_link(char *at, const uint32_t *places, size_t n);
char *capture_chase(char *at, uint64_t skip, unsigned int steps, size_t nout);
char *capture_flush(char *at, const uint32_t *places, size_t n);
char *capture_move(char *at, unsigned int cpu);
char *capture_together(char *at, size_t nlanes);
char *capture_lane(char *at, const struct meter_lane *lane);
char *capture_streams(char *at, size_t nlanes);
char *capture_stream(char *at, const struct meter_stream *lane);
char *capture_gaps(char *at, double seconds);
char *capture_now(char *at);

/* ---- answers -------------------------------------------------------------- */

/**
 * struct capture_last - what differences are taken from; begins as zeros
 * @window: the one before
 * @now: nanoseconds
 */
struct capture_last {
	struct meter_window window;
	uint64_t now;
};

char *capture_windows(char *at, struct capture_last *last, const struct meter_window *w, size_t n);
int capture_read_windows(const char **at, struct capture_last *last, struct meter_window *w,
			 size_t n);

/* ---- properties: named numbers in a struct, in the order of a table -------- */

enum capture_kind {
	CAPTURE_INT,
	CAPTURE_UNSIGNED,
	CAPTURE_SIZE,
	CAPTURE_U64,
	CAPTURE_REAL,		/* finite, not negative */
	CAPTURE_POSITIVE,	/* the same, not 0 */
};

struct capture_field {
	const char *name;
	size_t offset;
	enum capture_kind kind;
};

/* Each ends with .name NULL. */
extern const struct capture_field capture_cache_fields[];	/* struct sonde_cache_options */
extern const struct capture_field capture_share_fields[];	/* struct sonde_share_options */
extern const struct capture_field capture_memory_fields[];	/* struct sonde_memory_options */
extern const struct capture_field capture_level_fields[];	/* struct sonde_cache_level */
extern const struct capture_field capture_meter_fields[];	/* struct meter */
extern const struct capture_field capture_machine_fields[];	/* struct sonde_topology */

/* A value as text, at most 31 bytes, ended by 0; 0, -ENOMEM. */
int capture_field_text(const struct capture_field *f, const void *object, char out[32]);

/* 0, -EBADMSG. */
int capture_field_read(const struct capture_field *f, void *object, const char **at);

/* ---- the sum over all lines before the last -------------------------------- */

#define CAPTURE_SUM_BEGIN	0xcbf29ce484222325
#define CAPTURE_SUM_DIGITS	16

/* FNV-1a (Fowler, Noll, Vo): against damage, not against malice. */
uint64_t capture_sum(uint64_t sum, const char *text, size_t len);
char *capture_hex(char *at, uint64_t x);

#endif
