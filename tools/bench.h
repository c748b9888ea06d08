/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of `sonde bench copy` share. */
#ifndef SONDE_TOOLS_BENCH_H
#define SONDE_TOOLS_BENCH_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sonde/clock.h>
#include <sonde/profile.h>
#include <sonde/region.h>
#include <sonde/topology.h>
#include "cli.h"
#include "picture.h"

/* One file each; the table is in cmd-bench.c. */
extern const struct cli_command bench_copy;

/* Powers of four from 1 B on, and the largest. */
#define BENCH_SIZES	16

/* What is compared; the names are those of struct sonde_transfer_point. */
enum bench_method {
	BENCH_MEMCPY,		/* from shared memory that is mapped */
	BENCH_SHM,
	BENCH_CMA,
	BENCH_CMA_BATCH,	/* BENCH_BATCH copies in a call, told for one */
	BENCH_MODULE,
	BENCH_MODULE_BATCH,
	BENCH_MAP,
	BENCH_TWICE,
	BENCH_METHODS
};

#define BENCH_BATCH		32
/* A batch of larger ones is one of copies: the call is no longer seen. */
#define BENCH_BATCH_BYTES	((size_t)64 << 10)

const char *bench_method_name(enum bench_method method);

/* Pages of private memory. */
enum bench_pages { BENCH_PAGES_SYSTEM, BENCH_PAGES_SMALL, BENCH_PAGES_HUGE };

/**
 * struct bench_stage - shared memory through which data goes twice
 * @filled: slots that the owner has filled, ever
 * @emptied: slots that the reader has emptied
 * @ready: orders that the owner has taken
 * @go: orders that it may begin with
 *
 * Each word is written by one side, on a line of its own.
 */
struct bench_stage {
	_Alignas(64) _Atomic uint64_t filled;
	_Alignas(64) _Atomic uint64_t emptied;
	_Alignas(64) _Atomic uint64_t ready;
	_Alignas(64) _Atomic uint64_t go;
	_Alignas(64) unsigned char slots[];
};

#define BENCH_SLOT_BYTES	((size_t)64 << 10)
#define BENCH_SLOTS		8
#define BENCH_STAGE_BYTES	(sizeof(struct bench_stage) + BENCH_SLOTS * BENCH_SLOT_BYTES)

/* Let the other side go on: it may have the same CPU. */
void bench_wait(const _Atomic uint64_t *word, uint64_t at_least);

/**
 * struct bench_owner - the process whose memory is copied
 * @pid: it; 0 if there is none
 * @sock: where it takes orders and sends handles
 * @stage: mapped by both
 */
struct bench_owner {
	pid_t pid;
	int sock;
	struct bench_stage *stage;
};

/**
 * bench_owner_start() - a process with @bytes of memory for each way
 * @cpu: where it runs
 * @ways: a bit for each way that is to be exported
 *
 * For each, in the order of enum sonde_transfer_way, it sends an int, which is 0
 * or an error, and a handle in the first case. The memory holds what
 * bench_pattern() says. The process ends with this one.
 *
 * Return: 0, -errno.
 */
int bench_owner_start(struct bench_owner *owner, size_t bytes, unsigned int cpu,
		      unsigned int ways, enum bench_pages pages);

/*
 * Have it put @bytes through the stage @count times, as soon as bench_stage.go
 * says so. Return: 0, -errno.
 */
int bench_owner_order(const struct bench_owner *owner, size_t bytes, uint64_t count);

/* End it and wait for that. */
void bench_owner_stop(struct bench_owner *owner);

/* Byte @i of the owner's memory. */
static inline unsigned char bench_pattern(size_t i)
{
	return (unsigned char)(i * 151 + (i >> 8) * 37 + 1);
}

/**
 * struct bench_result - what was measured
 * @whys: why not that way, or empty
 * @points: by size, then method
 */
struct bench_result {
	char whys[SONDE_TRANSFER_SHM + 1][256];
	struct sonde_transfer_point points[BENCH_SIZES * BENCH_METHODS];
	size_t npoints;
	uint64_t sizes[BENCH_SIZES];
	size_t nsizes;
	double worst;		/* half an interval by its median, the largest */
};

/**
 * struct bench_request - what to measure
 * @cpus: of the reader and of the owner; the same: what needs both at once is left out
 */
struct bench_request {
	const struct sonde_clock *clk;
	unsigned int cpus[2];
	size_t max_bytes;
	double budget_s;
	enum bench_pages pages;
};

/* "READER,OWNER", or NULL: the first two allowed. Return: exit status, likewise. */
int bench_choose_cpus(const char *text, const struct sonde_topology *topo,
		      unsigned int chosen[2]);

/* Return: exit status, after an error was said. */
int bench_measure(const struct bench_request *request, struct bench_result *result);

/*
 * Lines of text, without their ends: the best ways by size, and why a way was
 * not measured.
 */
void bench_describe(const struct bench_result *result, const struct sonde_profile *profile,
		    void (*say)(void *ctx, const char *line), void *ctx);

/* One that says it on standard output. */
void bench_print_line(void *ctx, const char *line);

/*
 * The figure's file, so that what cannot be written is known before anything is
 * measured: a descriptor, or -1 after an error was said.
 */
int bench_figure_open(const char *path);

/* The same as an element of a page. Return: 0, -ECANCELED, or @picture says why not. */
int picture_transfers(const struct machine *m, struct picture *picture);

/* Return: exit status, after an error was said. */
int bench_figure_write(const struct bench_result *result, const char *path, int fd);

#endif
