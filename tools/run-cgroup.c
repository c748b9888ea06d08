// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * run-cgroup - a cpu cgroup for one job, of version 1 or 2
 *
 * Tasks of a cpu cgroup other than the root are in no autogroup: they share one
 * run queue per CPU whatever their sessions are (kernel/sched/autogroup.c,
 * task_wants_autogroup()).
 *
 * Version 1: below the cgroup we are in, so that its limits hold. Version 2:
 * only if we are in the root, since a cgroup that holds processes has no
 * children with controllers, and elsewhere is not ours to go. Who is not in the
 * root there either has a group already or no cpu controller.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "run.h"

/* What one task of nice 0 weighs. */
#define WEIGHT_V1 1024
#define WEIGHT_V2 100

static int write_file(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd, err = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Is @word one of those in the file, which are between blanks? */
static int file_has_word(const char *dir, const char *name, const char *word)
{
	char path[PATH_MAX], found[64];
	FILE *file;
	int has = 0;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (!has && fscanf(file, "%63s", found) == 1)
		has = !strcmp(found, word);
	fclose(file);
	return has;
}

static int has_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, word, len) && (at[len] == ',' || !at[len]))
			return 1;
	}
	return 0;
}

/* Our cgroup's name in the hierarchy of v1's cpu controller, or in v2's. */
static int find_own(int is_v2, char *own, size_t len)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char *line = NULL;
	size_t room = 0;
	int err = -ENOENT;

	if (!file)
		return -errno;
	while (err && getline(&line, &room, file) > 0) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!path)
			continue;
		*path++ = '\0';
		controllers++;
		path[strcspn(path, "\n")] = '\0';
		if (is_v2 ? *controllers : !has_word(controllers, "cpu"))
			continue;
		err = snprintf(own, len, "%s", path) >= (int)len ? -ENAMETOOLONG : 0;
	}
	free(line);
	fclose(file);
	return err;
}

/* Where the hierarchy is mounted, and which of its cgroups is mounted there. */
static int find_mount(int is_v2, char root[PATH_MAX], char point[PATH_MAX])
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	int err = -ENOENT;

	if (!file)
		return -errno;
	while (err && getline(&line, &room, file) > 0) {
		char type[32], options[256];
		const char *rest = strstr(line, " - ");

		if (!rest || sscanf(rest, " - %31s %*s %255s", type, options) != 2)
			continue;
		if (is_v2 ? strcmp(type, "cgroup2") != 0
			  : strcmp(type, "cgroup") != 0 || !has_word(options, "cpu"))
			continue;
		if (sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) == 2)
			err = 0;
	}
	free(line);
	fclose(file);
	return err;
}

/* The folder of the cgroup we are in. */
static int find_folder(int is_v2, char dir[PATH_MAX])
{
	char own[PATH_MAX], root[PATH_MAX], point[PATH_MAX];
	const char *below = own;
	int err = find_own(is_v2, own, sizeof(own));

	if (!err)
		err = find_mount(is_v2, root, point);
	if (err)
		return err;
	/* Only part of the tree may be mounted (a container). */
	if (strcmp(root, "/") && !strncmp(own, root, strlen(root)))
		below = own + strlen(root);
	if (snprintf(dir, PATH_MAX, "%s%s", point, strcmp(below, "/") ? below : "") >= PATH_MAX)
		return -ENAMETOOLONG;
	return access(dir, F_OK) ? -errno : 0;
}

/* Files that a cgroup other than the root has, or only the root. */
static int has_file(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

/* Of version 2, a group of tasks is made where the parent hands the controller
 * down; below that its tasks stay in it. */
static int has_group_v2(char dir[PATH_MAX])
{
	while (has_file(dir, "cgroup.type")) {
		if (file_has_word(dir, "cgroup.controllers", "cpu"))
			return 1;
		*strrchr(dir, '/') = '\0';
	}
	return 0;
}

int cgroup_is_root(void)
{
	char dir[PATH_MAX];

	if (!find_folder(0, dir))
		return has_file(dir, "release_agent");
	/* Without a cpu controller there is but the root. */
	return find_folder(1, dir) || !has_group_v2(dir);
}

static int refuse(char *why, size_t len, int err, const char *text)
{
	snprintf(why, len, "%s", text);
	return err;
}

static int plan_v2(char dir[PATH_MAX], char *why, size_t len)
{
	int err = find_folder(1, dir);

	if (err)
		return refuse(why, len, err, "no cpu controller is mounted, of version 1 or 2");
	if (has_file(dir, "cgroup.type"))
		return refuse(why, len, -EBUSY, "we are in a cgroup of version 2 that is not the "
			      "root, and its processes are in the way of children");
	if (!file_has_word(dir, "cgroup.controllers", "cpu"))
		return refuse(why, len, -ENOENT, "version 2 has no cpu controller here");
	return 0;
}

/* Where it will be. What is noted in @place is what there is to undo. */
static int plan(struct place *place, char *why, size_t len)
{
	char dir[PATH_MAX];
	int err = find_folder(0, dir);

	place->is_v2 = err != 0;
	if (err)
		err = plan_v2(dir, why, len);
	if (err)
		return err;
	if (access(dir, W_OK)) {
		err = -errno;
		snprintf(why, len, "%.120s: %s", dir, strerror(-err));
		return err;
	}
	if (place->is_v2 && !file_has_word(dir, "cgroup.subtree_control", "cpu"))
		memcpy(place->enabled, dir, sizeof(dir));
	if (snprintf(place->cgroup, sizeof(place->cgroup), "%s/sonde-run.%d", dir,
		     (int)getpid()) >= (int)sizeof(place->cgroup))
		return refuse(why, len, -ENAMETOOLONG, "the cgroup's name is too long");
	return 0;
}

/*
 * As a group the job would get what one task gets. On each CPU it is to have
 * what a rank without a group has.
 */
static int count_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

static void set_weight(struct place *place)
{
	char text[16];
	int weight;

	if (!place->weight)
		place->weight = count_cpus();
	if (place->weight > MOST_WEIGHT)
		place->weight = MOST_WEIGHT;
	weight = place->weight * (place->is_v2 ? WEIGHT_V2 : WEIGHT_V1);
	snprintf(text, sizeof(text), "%d", weight);
	/* A group is born with that of one task. */
	if (write_file(place->cgroup, place->is_v2 ? "cpu.weight" : "cpu.shares", text))
		place->weight = 1;
}

int cgroup_make(struct place *place, char *why, size_t len)
{
	int err = plan(place, why, len);

	if (err)
		return err;
	if (*place->enabled)
		err = write_file(place->enabled, "cgroup.subtree_control", "+cpu");
	if (!err && mkdir(place->cgroup, 0755))
		err = -errno;
	if (err) {
		snprintf(why, len, "cannot make %.120s: %s", place->cgroup, strerror(-err));
		return err;
	}
	set_weight(place);
	return 0;
}

int cgroup_enter(const struct place *place)
{
	return write_file(place->cgroup, "cgroup.procs", "0");
}

/* Return: how many processes are in it; each was sent @sig unless that is 0. */
static int signal_members(const char *dir, int sig)
{
	char path[PATH_MAX];
	FILE *file;
	int pid, n = 0;

	if (snprintf(path, sizeof(path), "%s/cgroup.procs", dir) >= (int)sizeof(path))
		return 0;
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fscanf(file, "%d", &pid) == 1) {
		n++;
		/* 0 is one that this pid namespace does not see. */
		if (sig && pid > 0)
			kill(pid, sig);
	}
	fclose(file);
	return n;
}

static double read_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How long the kernel may take to bury what was killed. */
#define BURIAL_S 10

void cgroup_remove(struct place *place, double grace_s)
{
	double patience = read_seconds() + grace_s;
	const struct timespec pause = { .tv_nsec = 2000000 };
	int killed = 0;

	if (!*place->cgroup)
		return;
	/* There is nothing to be told of an empty cgroup but by asking. */
	while (rmdir(place->cgroup) && errno == EBUSY) {
		if (read_seconds() > patience + BURIAL_S)
			return;
		if (read_seconds() > patience) {
			if (!killed && place->is_v2)
				write_file(place->cgroup, "cgroup.kill", "1");
			signal_members(place->cgroup, SIGKILL);
			killed = 1;
		}
		nanosleep(&pause, NULL);
	}
	*place->cgroup = '\0';
	/* Refused if somebody else's cgroups use it by now: then it stays. */
	if (*place->enabled)
		write_file(place->enabled, "cgroup.subtree_control", "-cpu");
	*place->enabled = '\0';
}
