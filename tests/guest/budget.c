/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many instructions the module's calls take. Made for a guest whose clock
 * counts instructions (`run --icount`: 1 ns is 1 instruction); check-budget
 * runs it there and compares with budget.tsv. Elsewhere it prints nanoseconds.
 *
 * Inside the interval: BATCH calls through a function pointer, with the system
 * call's way in and out. Not inside: opening, allocation, faults, the first
 * calls. Subtracted: the same batch of calls to a function that does nothing, or
 * that copies locally what the call copies, and with it what reading the clock
 * costs. A tick of the timer falls into some batches, the allocator now and then
 * goes for more; the least of the batches sees neither, as long as they are
 * shorter than a tick: so long calls come one by one. What a mapping takes depends
 * on how full the allocator's slabs are, so each batch meets them otherwise filled.
 *
 * budget ROW measures only the rows whose names begin with ROW; budget --once makes
 * each call once and measures nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/sonde.h>

#define BATCH		16
#define BATCHES		61
#define WARM_UP		20
#define SHIFTS		40
#define MAX_PAGES	512
#define UNKNOWN_COMMAND	_IO(SONDE_IOC_MAGIC, 0xff)

struct target {
	int fd;
	unsigned char *pages;
	size_t npages;
	struct sonde_frame *entries;
};

struct row {
	const char *name;
	int (*call)(const struct target *t);
	size_t npages;
	int (*minus)(const struct target *t);	/* else call_nothing() */
	int pieces;				/* it is told of one of them; 0: 1 */
	bool is_long;
};

static void die(const char *what)
{
	fprintf(stderr, "budget: %s: %s\n", what, strerror(errno));
	exit(1);
}

#include "budget_region.h"
#include "budget_dsm.h"

static int call_nothing(const struct target *t)
{
	(void)t;
	return 0;
}

static int call_null_ioctl(const struct target *t)
{
	return ioctl(t->fd, UNKNOWN_COMMAND, 0) == -1 && errno == ENOTTY ? 0 : -1;
}

static int call_info(const struct target *t)
{
	struct sonde_info info = { .size = sizeof(info) };

	return ioctl(t->fd, SONDE_IOC_INFO, &info);
}

static int call_frames(const struct target *t)
{
	struct sonde_frames args = {
		.size = sizeof(args),
		.addr = (uintptr_t)t->pages,
		.npages = t->npages,
		.entries = (uintptr_t)t->entries,
	};

	return ioctl(t->fd, SONDE_IOC_FRAMES, &args);
}

static const struct row rows[] = {
	{ "null-ioctl", call_null_ioctl, .npages = 1 },
	{ "info", call_info, .npages = 1 },
	{ "frames-1", call_frames, .npages = 1 },
	{ "frames-512", call_frames, .npages = MAX_PAGES },
	{ "dsm-write", call_dsm_write, .pieces = DSM_LIST, .is_long = true },
	{ "dsm-keep", call_dsm_keep, .pieces = DSM_LIST, .is_long = true },
	{ "dsm-look", call_dsm_look, .minus = call_dsm_keep,
	  .pieces = DSM_LIST * DSM_LOOKS, .is_long = true },
	{ "dsm-switch", call_dsm_switch, .minus = call_dsm_no_switch,
	  .pieces = DSM_SWITCHES, .is_long = true },
	{ "dsm-accessed", call_dsm_accessed, .pieces = DSM_LIST, .is_long = true },
	{ "dsm-write-sigsegv", call_dsm_write_sigsegv, .pieces = DSM_LIST,
	  .is_long = true },
	{ "dsm-miss", call_dsm_miss, .pieces = DSM_MISSES, .is_long = true },
	{ "dsm-miss-ring", call_dsm_miss_ring, .pieces = DSM_MISSES, .is_long = true },
	{ "dsm-copy", call_dsm_copy, .pieces = DSM_MISSES, .is_long = true },
	{ "dsm-shut", call_dsm_shut, .pieces = DSM_MISSES, .is_long = true },
	{ "dsm-miss-sigsegv", call_dsm_miss_sigsegv, .pieces = DSM_MISSES,
	  .is_long = true },
	{ "dsm-protect", call_dsm_protect, .pieces = DSM_LIST, .is_long = true },
	{ "dsm-protect-mprotect", call_dsm_protect_mprotect,
	  .pieces = DSM_LIST, .is_long = true },
	{ "copy-4k", call_copy_4k, .minus = call_local_4k },
	{ "copy-4k-cma", call_copy_4k_cma, .minus = call_local_4k },
	{ "copy-4k-batch32", call_copy_pieces, .minus = call_local_pieces,
	  .pieces = PIECES, .is_long = true },
	{ "copy-4k-batch32-cma", call_copy_pieces_cma,
	  .minus = call_local_pieces, .pieces = PIECES, .is_long = true },
	{ "copy-1m", call_copy_1m, .minus = call_local_1m, .is_long = true },
	{ "copy-1m-cma", call_copy_1m_cma, .minus = call_local_1m,
	  .is_long = true },
	{ "copy-1m-20-runs", call_copy_1m_20_runs, .minus = call_local_1m,
	  .is_long = true },
	{ "copy-1m-scattered", call_copy_1m_scattered,
	  .minus = call_local_1m, .is_long = true },
	{ "copy-1m-scattered-cma", call_copy_1m_scattered_cma,
	  .minus = call_local_1m, .is_long = true },
	{ "copy-1m-thp", call_copy_1m_thp, .minus = call_local_1m,
	  .is_long = true },
	{ "copy-1m-thp-cma", call_copy_1m_thp_cma, .minus = call_local_1m,
	  .is_long = true },
	{ "export-close-1m", call_export_close, .is_long = true },
	{ "export-close-1m-thp", call_export_close_thp, .is_long = true },
	{ "map-touch-unmap-1m", call_map_touch_unmap, .is_long = true },
	{ "map-touch-unmap-page", call_map_touch_unmap,
	  .minus = call_map_touch_unmap_half, .pieces = MIB / 2 / SMALL,
	  .is_long = true },
	{ "map-touch-unmap-page-scattered", call_map_touch_unmap_scattered,
	  .minus = call_map_touch_unmap_scattered_half,
	  .pieces = MIB / 2 / SMALL, .is_long = true },
	{ "map-touch-unmap-2m-thp", call_map_touch_unmap_thp, .is_long = true },
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

/* One mapping more each time, of which no two become one; after SHIFTS all go. */
static void shift_slabs(int i)
{
	static void *held[SHIFTS];
	const int at = i % SHIFTS;
	const int prot = at % 2 ? PROT_READ : PROT_NONE;
	const size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int k;

	for (k = 0; at == 0 && k < SHIFTS && held[k]; k++) {
		munmap(held[k], size);
		held[k] = NULL;
	}
	held[at] = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (held[at] == MAP_FAILED)
		die("no memory");
}

/* The least over BATCHES of what a batch of calls takes. */
static int64_t measure(int (*call)(const struct target *),
		       const struct target *t, int batch)
{
	int64_t least = INT64_MAX;
	int i, k, failed = 0;

	for (i = -WARM_UP; i < BATCHES; i++) {
		int64_t took, start;

		shift_slabs(i + WARM_UP);
		start = now_ns();
		for (k = 0; k < batch; k++)
			failed |= call(t);
		took = now_ns() - start;
		if (i >= 0 && took < least)
			least = took;
	}
	if (failed)
		die("a call failed");
	return least;
}

/* Instructions of one call, or of one piece of it, beyond what is subtracted. */
static int64_t measure_row(const struct row *row, const struct target *t)
{
	const int batch = row->is_long ? 1 : BATCH;
	const int parts = batch * (row->pieces ? row->pieces : 1);
	int64_t rest = measure(row->minus ? row->minus : call_nothing, t, batch);

	return (measure(row->call, t, batch) - rest + parts / 2) / parts;
}

static void stay_on_one_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

/* Base pages, all present, that stay where they are. */
static void make_pages(struct target *t)
{
	size_t size = MAX_PAGES * (size_t)sysconf(_SC_PAGESIZE);

	t->pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t->entries = calloc(MAX_PAGES, sizeof(*t->entries));
	if (t->pages == MAP_FAILED || !t->entries)
		die("no memory");
	madvise(t->pages, size, MADV_NOHUGEPAGE);
	memset(t->pages, 1, size);
	memset(t->entries, 1, MAX_PAGES * sizeof(*t->entries));
	if (mlockall(MCL_CURRENT))
		die("mlockall");
}

/* A row that measured something else than it says would be worth nothing. */
static void check_pages(struct target *t)
{
	size_t i;

	t->npages = MAX_PAGES;
	if (call_frames(t))
		die("SONDE_IOC_FRAMES");
	for (i = 0; i < MAX_PAGES; i++) {
		if (!(t->entries[i].flags & SONDE_FRAME_FRAME) ||
		    t->entries[i].order) {
			fprintf(stderr, "budget: page %zu is not a present base page\n", i);
			exit(1);
		}
	}
}

/* Those of segments are a child's, which has exported nothing and ends with its threads. */
static void run_rows(struct target *t, bool is_dsm, bool once, const char *which)
{
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strncmp(rows[i].name, "dsm-", 4) != is_dsm ||
		    strncmp(rows[i].name, which, strlen(which)))
			continue;
		t->npages = rows[i].npages;
		if (!once)
			printf("%s\t%lld\n", rows[i].name, (long long)measure_row(&rows[i], t));
		else if (rows[i].call(t))
			die(rows[i].name);
	}
}

int main(int argc, char **argv)
{
	bool once = argc == 2 && !strcmp(argv[1], "--once");
	const char *which = argc == 2 && !once ? argv[1] : "";
	struct target t;
	int status;
	pid_t child;

	if (argc > 2 || (argc == 2 && argv[1][0] == '-' && !once)) {
		fprintf(stderr, "Usage: budget [--once | ROW]\n");
		return 2;
	}

	stay_on_one_cpu();
	t.fd = open("/dev/sonde-probe", O_RDWR | O_CLOEXEC);
	if (t.fd < 0)
		die("/dev/sonde-probe");
	make_pages(&t);
	check_pages(&t);
	fflush(stdout);
	child = fork();
	if (!child) {
		run_rows(&t, true, once, which);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status)
		die("rows of segments");
	make_peer();
	run_rows(&t, false, once, which);
	end_peer();
	return 0;
}
