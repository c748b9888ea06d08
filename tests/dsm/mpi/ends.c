// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What process 1 of a job may do that it should not, while the others wait for it:
 *
 * stop: it stops with a mutex. A deadline of process 0 passes; then it is made to go on.
 * exec FILE: it becomes another program, which waits until FILE, a FIFO, is written.
 * unmap: it takes a page out of its view, which others then write.
 * abort: it ends by a signal that leaves a core.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/dsm.h>

struct all {
	sonde_dsm_mutex_t mutex;
	pid_t pid;
	int count;
};

/* State of another process: R, S, T... */
static char state_of(pid_t pid)
{
	char path[40], line[200], *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	end = f && fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	if (f)
		fclose(f);
	return end ? end[2] : '?';
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 50000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

/* 0 if all went as it should. */
static int stop(struct all *all, unsigned int me)
{
	struct timespec deadline;
	int err;

	if (me == 1) {
		sonde_dsm_mutex_lock(&all->mutex);
		all->pid = getpid();
	}
	/* Of the lock's holder, too: memory is ordered by the barrier. */
	sonde_dsm_barrier_all(1);
	if (me == 1) {
		raise(SIGSTOP);
		all->count++;
		return sonde_dsm_mutex_unlock(&all->mutex);
	}
	if (me)
		return 0;
	while (state_of(all->pid) != 'T')
		sched_yield();
	deadline = soon();
	err = sonde_dsm_mutex_timedlock(&all->mutex, &deadline);
	printf("%s\n", strerror(err));
	if (kill(all->pid, SIGCONT))
		return 1;
	if (!err || sonde_dsm_mutex_lock(&all->mutex))
		return 1;
	printf("count %d\n", all->count);
	return sonde_dsm_mutex_unlock(&all->mutex);
}

static int unmap(uint8_t *page, unsigned int me)
{
	if (me == 1 && munmap(page, sonde_dsm_unit()))
		return 1;
	sonde_dsm_barrier_all(1);
	if (!me)
		page[0] = 1;
	sonde_dsm_barrier_all(1);
	return me == 1 && page[0] != 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned int me;
	void *memory = NULL;
	int err = sonde_dsm_init(NULL);

	if (err) {
		fprintf(stderr, "ends: %s; SONDE_DSM_DEBUG=1 says more\n", strerror(err));
		return 1;
	}
	me = sonde_dsm_process();
	if (!me && sonde_dsm_alloc(&memory, sonde_dsm_unit(), sonde_dsm_unit(), 0))
		return 1;
	if (!me)
		memset(memory, 0, sonde_dsm_unit());
	memory = sonde_dsm_from_first(memory);
	if (!strcmp(what, "stop"))
		err = stop(memory, me);
	else if (!strcmp(what, "unmap"))
		err = unmap(memory, me);
	else if (!strcmp(what, "abort") && me == 1)
		abort();
	else if (!strcmp(what, "exec") && me == 1)
		err = argc > 2 ? execlp("cat", "cat", argv[2], (char *)NULL) : 1;
	sonde_dsm_barrier_all(1);
	return sonde_dsm_exit() || err ? 1 : 0;
}
