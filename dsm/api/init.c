// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The job of an MPI program. The progress thread is the one that begins MPI, so that
 * MPI_THREAD_FUNNELED does; it makes the process and tells sonde_dsm_init() how it went.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define BYTES		((size_t)256 << 20)
/* Where nothing of a usual program is; the next one if something is. */
#define ADDRESS		((uintptr_t)0x100000000000)
#define ADDRESS_STEP	((uintptr_t)0x080000000000)
#define ADDRESSES	8

struct start {
	struct dsm_run_config config;
	_Atomic uint32_t is_done;
	int err;
	char why[1000];
};

static pthread_t progress;

static uint64_t hash(uint64_t h, uint64_t v)
{
	return (h ^ v) * 0x9e3779b97f4a7c15;
}

/* The same place in all processes, or the next that might be. */
static int create_run(struct start *s, struct dsm_transport *t, struct dsm_run **run)
{
	int err = 0;

	if (!dsm_mpi_agree(t, true, hash(hash(s->config.unit, s->config.pages),
				       dsm_settings_shape(&s->config.settings))))
		return -EPROTO;
	for (int i = 0; i < ADDRESSES; i++) {
		s->config.address = (void *)(ADDRESS + (uintptr_t)i * ADDRESS_STEP);
		*run = NULL;
		err = dsm_run_create(run, &s->config, s->why, sizeof(s->why));
		if (dsm_mpi_agree(t, !err, 0))
			return 0;
		if (!err)
			dsm_run_destroy(*run);
		*run = NULL;
		/* Where something is in the way in one, all try the next place. */
		if (!dsm_mpi_agree(t, !err || err == -EEXIST, 0))
			break;
	}
	return err ? err : -EPROTO;
}

/* What is slower without it goes on without it. */
static void share(struct dsm_run *run, char *why, size_t len)
{
	const char *wanted = getenv("SONDE_DSM_PEERS");
	size_t used = strlen(why);
	int err;

	err = dsm_run_share(run, !wanted || strcmp(wanted, "0"));
	if (err)
		snprintf(why + used, len - used, "pages of this node come by messages: %s\n",
			 run->fault->why[0] ? run->fault->why : strerror(-err));
}

static void *live(void *arg)
{
	struct start *s = arg;
	struct dsm_transport *t = NULL;
	struct dsm_run *run = NULL;
	int err = dsm_mpi_create(&t, s->why, sizeof(s->why));

	if (!err) {
		s->config.transport = t;
		err = create_run(s, t, &run);
	}
	if (!err)
		share(run, s->why, sizeof(s->why));
	if (!err)
		dsm_only_run = run;
	s->err = err;
	/* Partner: sonde_dsm_init(). What @s is may be gone now. */
	atomic_store_explicit(&s->is_done, 1, memory_order_release);
	dsm_futex_wake(&s->is_done);
	if (!err)
		dsm_run_progress(run);
	if (t)
		t->ops->destroy(t);
	return NULL;
}

/* Bytes, with k, m or g behind it; 0 if it is none. */
static size_t size_from(const char *name, size_t otherwise)
{
	const char *s = getenv(name);
	unsigned long long v;
	char *end;

	if (!s || !*s)
		return otherwise;
	errno = 0;
	v = strtoull(s, &end, 10);
	switch (*end) {
	case 'k': case 'K': v <<= 10; end++; break;
	case 'm': case 'M': v <<= 20; end++; break;
	case 'g': case 'G': v <<= 30; end++; break;
	}
	return errno || *end || *s == '-' ? 0 : (size_t)v;
}

static int set_config(struct start *s, const struct sonde_dsm_options *o)
{
	const char *fault = getenv("SONDE_DSM_FAULT");
	size_t unit, bytes, pages;

	if (o && (o->size != sizeof(*o) || o->flags & ~SONDE_DSM_ONE_MAIN))
		return -EINVAL;
	unit = size_from("SONDE_DSM_UNIT", o && o->unit ? o->unit : DSM_UNIT_MIN);
	bytes = size_from("SONDE_DSM_BYTES", o && o->bytes ? o->bytes : BYTES);
	if (unit < DSM_UNIT_MIN || unit > DSM_UNIT_MAX || unit & (unit - 1)) {
		snprintf(s->why, sizeof(s->why), "the unit is a power of two from %u to %u",
			 DSM_UNIT_MIN, DSM_UNIT_MAX);
		return -EINVAL;
	}
	pages = bytes / unit;
	if (pages > UINT32_MAX || bytes < 4 * (size_t)dsm_reserved_bytes() || pages < 8) {
		snprintf(s->why, sizeof(s->why),
			 "shared memory has at least 1 MiB and 8 pages, and at most 2^32 pages");
		return -EINVAL;
	}
	s->config.unit = (uint32_t)unit;
	s->config.pages = (uint32_t)pages;
	s->config.fault = fault && *fault ? fault : o ? o->fault : NULL;
	return dsm_settings_read(&s->config.settings, s->why, sizeof(s->why));
}

static int begin(struct start *s)
{
	sigset_t all, before;
	int err;

	/* Signals are for the program's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&progress, NULL, live, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return err;
	while (!atomic_load_explicit(&s->is_done, memory_order_acquire))
		dsm_futex_wait(&s->is_done, 0, NULL);
	if (s->err)
		pthread_join(progress, NULL);
	return -s->err;
}

static void say_why(const struct start *s)
{
	const char *debug = getenv("SONDE_DSM_DEBUG");

	if (debug && *debug && strcmp(debug, "0") && s->why[0])
		fprintf(stderr, "sonde-dsm: %s%s", s->why,
			s->why[strlen(s->why) - 1] == '\n' ? "" : "\n");
}

/* A child has neither the memory nor the progress thread: functions say EINVAL there. */
static void leave_to_parent(void)
{
	dsm_only_run = NULL;
	dsm_local = NULL;
}

static void watch_fork(void)
{
	pthread_atfork(NULL, NULL, leave_to_parent);
}

int sonde_dsm_init(const struct sonde_dsm_options *options)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct start s = { 0 };
	int err;

	if (dsm_only_run)
		return EBUSY;
	pthread_once(&once, watch_fork);
	err = -set_config(&s, options);
	if (!err)
		err = begin(&s);
	say_why(&s);
	if (err)
		return err;
	err = -dsm_run_enter(dsm_only_run);
	if (err || !options || !(options->flags & SONDE_DSM_ONE_MAIN) || !dsm_only_run->self)
		return err;
	exit(sonde_dsm_exit() ? 1 : 0);
}

int sonde_dsm_exit(void)
{
	struct dsm_run *run = dsm_only_run;
	int err, shown;

	if (!run)
		return EINVAL;
	err = -dsm_run_finish(run);
	shown = -dsm_run_show(run);
	dsm_run_stop(run);
	pthread_join(progress, NULL);
	dsm_only_run = NULL;
	dsm_local = NULL;
	dsm_run_destroy(run);
	return err ? err : shown;
}
