/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of `sonde run` share: a place where ranks can give way to each
 * other, what is preloaded, and the job. */
#ifndef SONDE_TOOLS_RUN_H
#define SONDE_TOOLS_RUN_H

#include <limits.h>
#include <stddef.h>
#include <sys/types.h>

/* How ranks come into one group of the scheduler. */
enum way {
	WAY_NONE,	/* they do not */
	WAY_ALREADY,	/* they are */
	WAY_CGROUP,	/* a cpu cgroup of the job's own */
	WAY_SESSION,	/* the launcher makes no sessions, so autogroups neither */
	WAY_AUTOGROUP,	/* kernel.sched_autogroup_enabled = 0, for the whole machine */
};

#define NWAYS 5

const char *way_name(enum way way);

/**
 * struct place - where the job runs, and what is to be undone after it
 * @way: what was done
 * @why: for each way, why it was not taken; empty if it was not tried
 * @cgroup: folder of the cgroup; empty if there is none
 * @enabled: root folder of cgroup2 whose children got the cpu controller from us
 * @is_v2: the cgroup is of cgroup2
 * @weight: of the cgroup, in tasks of nice 0; 0 for one a CPU
 * @lock: the machine's setting; -1 if it is not to be touched
 * @is_off: we switched it off
 *
 * In memory that the keeper sees too.
 */
struct place {
	enum way way;
	char why[NWAYS][256];
	char cgroup[PATH_MAX];
	char enabled[PATH_MAX];
	int is_v2;
	int weight;
	int lock;
	int is_off;
};

/* A cgroup's, in tasks: 10000 hundredths of version 2. */
#define MOST_WEIGHT 100

/* One that is not used yet; NULL for want of memory. */
struct place *place_new(void);

/**
 * place_take() - look what is there, and make what is wanted
 * @wanted: an enum way that must be, or WAY_ANY for the best there is
 *
 * Return: 0 (with WAY_ANY also if nothing helps), or -errno; why[@wanted] says it.
 */
int place_take(struct place *place, int wanted);

#define WAY_ANY (-1)

/* In a child: be in the place. 0 or -errno. */
int place_enter(const struct place *place);

/* Ends what is left in the cgroup after @grace_s, and undoes everything. */
void place_undo(struct place *place, double grace_s);

/* run-cgroup.c: 0 or -errno; @why says what is in the way. */
int cgroup_is_root(void);	/* are we in the one whose tasks have autogroups? */
int cgroup_make(struct place *place, char *why, size_t len);
int cgroup_enter(const struct place *place);
void cgroup_remove(struct place *place, double grace_s);

/* run-autogroup.c: the machine's setting; opened before the keeper starts, which
 * then holds the lock too. */
int autogroup_is_off(void);
int autogroup_open(struct place *place, char *why, size_t len);
int autogroup_disable(struct place *place, char *why, size_t len);
void autogroup_restore(struct place *place);

/**
 * struct keeper - a process that undoes the place if we are killed
 */
struct keeper {
	pid_t pid;
	int pipe;
};

/* Before anything is made. @report is removed too; NULL. 0 or -errno. */
int keeper_start(struct keeper *keeper, struct place *place, const char *report);
/* All is undone: it may go. */
void keeper_dismiss(struct keeper *keeper);

/**
 * struct preload - a library for the ranks
 * @name: of the file
 * @variable: what tells libsonde-yield to preload it into the MPI programs it is
 *            for; NULL for what goes into all
 * @path: where it is; empty if it is not used
 * @why: why not
 */
struct preload {
	const char *name;
	const char *variable;
	char path[PATH_MAX];
	char why[128];
};

void preload_find(struct preload *preload);
/* Into the environment. 0 or -errno. */
int preload_set(const struct preload *preloads, size_t n);

/**
 * job_run() - run a program to its end and pass signals on
 * @keeper: a child that is no part of it
 * @status: as waitpid(2) has it
 *
 * What it leaves running is ended.
 *
 * Return: 0, or -errno if it could not be started.
 */
int job_run(char **argv, const struct place *place, pid_t keeper, int *status);

#endif
