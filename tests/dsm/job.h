/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A job whose processes are in this one, over the loop: each has its own view of shared
 * memory, so pointers are handed over as offsets. Some messages come late or twice.
 */
#ifndef SONDE_TESTS_JOB_H
#define SONDE_TESTS_JOB_H

#include <errno.h>
#include <string.h>

#include "../../dsm/api/run.h"
#include "../unit/tap.h"

#define JOB_MOST	4

static const char *const job_names[] = { "module", "uffd-async", "uffd-sigbus", "sigsegv" };
static const char *job_here[4];
static int job_back_ends;
/* Of what is run next: looks in vain before a message is found; how often one slept on. */
static uint32_t job_looks;
static uint64_t job_overslept;

struct job {
	struct dsm_loop *loop;
	struct dsm_run *runs[JOB_MOST];
	pthread_t progress[JOB_MOST], mains[JOB_MOST];
	uint32_t processes;
	void (*body)(struct job *j, uint32_t me);
	uint64_t offset;	/* of what process 0 made for all */
};

static inline void *job_progress(void *run)
{
	dsm_run_progress(run);
	return NULL;
}

struct job_start {
	struct job *j;
	uint32_t me;
};

static inline void *job_begin(void *arg)
{
	struct job_start *s = arg;

	ck_assert_int_eq(0, dsm_run_enter(s->j->runs[s->me]));
	s->j->body(s->j, s->me);
	ck_assert_int_eq(0, dsm_run_finish(s->j->runs[s->me]));
	return NULL;
}

/* What a transport does for processes of a node. */
static inline void job_share(struct job *j)
{
	int fds[JOB_MOST];

	for (uint32_t i = 0; i < j->processes; i++)
		fds[i] = j->runs[i]->fault->fd;
	for (uint32_t i = 0; i < j->processes; i++) {
		struct dsm_fault *f = j->runs[i]->fault;

		if (!(f->caps & DSM_FAULT_PEERS))
			continue;
		fds[i] = -1;
		ck_assert_int_eq(0, f->ops->peers(f, fds, j->processes));
		fds[i] = f->fd;
		for (uint32_t q = 0; q < j->processes; q++)
			if (q != i && fds[q] >= 0)
				ck_assert_int_eq(0, dsm_core_set_peer(j->runs[i]->core, q));
	}
}

/* Runs @body in each process; all are gone when it returns. */
static inline void job_run(int back_end, uint32_t processes, uint32_t unit,
			   void (*body)(struct job *j, uint32_t me))
{
	struct job j = { .processes = processes, .body = body };
	struct job_start starts[JOB_MOST];
	char why[400] = "";

	ck_assert_int_eq(0, dsm_loop_create(&j.loop, &(struct dsm_loop_config){
		.processes = processes, .seed = 1 + (uint64_t)back_end, .duplicates = 10,
		.delays = 20, .looks = job_looks }));
	for (uint32_t i = 0; i < processes; i++) {
		struct dsm_run_config c = {
			.transport = dsm_loop_process(j.loop, i), .unit = unit,
			.pages = (8u << 20) / unit, .fault = job_here[back_end],
		};

		ck_assert_msg(!dsm_run_create(&j.runs[i], &c, why, sizeof(why)), "%s", why);
	}
	job_share(&j);
	for (uint32_t i = 0; i < processes; i++) {
		starts[i] = (struct job_start){ &j, i };
		ck_assert_int_eq(0, pthread_create(&j.progress[i], NULL, job_progress, j.runs[i]));
	}
	for (uint32_t i = 0; i < processes; i++)
		ck_assert_int_eq(0, pthread_create(&j.mains[i], NULL, job_begin, &starts[i]));
	for (uint32_t i = 0; i < processes; i++)
		pthread_join(j.mains[i], NULL);
	for (uint32_t i = 0; i < processes; i++)
		dsm_run_stop(j.runs[i]);
	for (uint32_t i = 0; i < processes; i++)
		pthread_join(j.progress[i], NULL);
	job_overslept = dsm_loop_overslept(j.loop);
	for (uint32_t i = 0; i < processes; i++)
		dsm_run_destroy(j.runs[i]);
	dsm_loop_destroy(j.loop);
}

/* Of this thread's process. */
static inline void *job_at(uint64_t offset)
{
	return dsm_run()->fault->view + offset;
}

static inline uint64_t job_offset(const void *p)
{
	return (uint64_t)((const unsigned char *)p - dsm_run()->fault->view);
}

/* Zeros that process 0 makes for all. */
static inline void *job_shared(struct job *j, uint32_t me, size_t size)
{
	if (!me) {
		void *p = sonde_dsm_calloc(1, size);

		ck_assert_ptr_nonnull(p);
		j->offset = job_offset(p);
	}
	ck_assert_int_eq(0, sonde_dsm_barrier_all(1));
	return job_at(j->offset);
}

/* Which back ends there are, before Check forks. */
static inline void job_look(void)
{
	for (size_t i = 0; i < 4; i++) {
		const struct dsm_fault_config c = { .pages = 8, .unit = 4096,
			.fault = (void (*)(void *, uint32_t, bool))(uintptr_t)abort };
		struct dsm_fault *f;
		char why[400] = "";

		if (!dsm_fault_create(&f, job_names[i], &c, why, sizeof(why))) {
			f->ops->destroy(f);
			job_here[job_back_ends++] = job_names[i];
		} else {
			if (strchr(why, '\n'))
				*strchr(why, '\n') = '\0';
			tap_left_out(why);
		}
	}
}

static inline struct timespec job_soon(int64_t ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

#endif
