// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program for pthread, ported: a queue of work that threads in all processes take from,
 * static objects, and one main(). port: prints what came of it. port endless: threads
 * take a lock in turns until somebody ends them.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sonde/dsm-pthread.h>

#define WORKERS	6
#define ITEMS	120

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t nested = SONDE_DSM_RECURSIVE_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t begin;
static sem_t room;

struct work {
	unsigned int made, taken, closed, initialised;
	unsigned long sum, by_process[64];
};

static struct work *the_work;	/* of this process: set by each of its threads */

static void initialise(void)
{
	the_work->initialised++;
}

static void *work(void *arg)
{
	struct work *w = the_work = arg;
	unsigned int item;

	pthread_once(&once, initialise);
	pthread_barrier_wait(&begin);
	for (;;) {
		pthread_mutex_lock(&lock);
		while (w->taken == w->made && !w->closed)
			pthread_cond_wait(&more, &lock);
		if (w->taken == w->made) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		item = w->taken++;
		pthread_mutex_unlock(&lock);
		sem_post(&room);
		pthread_mutex_lock(&nested);
		pthread_mutex_lock(&nested);
		w->sum += item * item;
		pthread_mutex_unlock(&nested);
		pthread_mutex_unlock(&nested);
		pthread_rwlock_wrlock(&table);
		w->by_process[sonde_dsm_process() % 64]++;
		pthread_rwlock_unlock(&table);
	}
}

static void *turn(void *arg)
{
	unsigned int *n = arg;

	for (;;) {
		pthread_mutex_lock(&lock);
		++*n;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void run_endless(void)
{
	unsigned int *n = sonde_dsm_calloc(1, sizeof(*n)), seen = 0;
	pthread_t t;

	for (unsigned int i = 0; i < 2 * sonde_dsm_processes(); i++)
		if (pthread_create(&t, NULL, turn, n))
			exit(1);
	while (seen < 100) {
		pthread_mutex_lock(&lock);
		seen = *n;
		pthread_mutex_unlock(&lock);
	}
	printf("ready\n");
	fflush(stdout);
	pthread_join(t, NULL);
}

static void make(struct work *w)
{
	for (int i = 0; i < ITEMS; i++) {
		sem_wait(&room);
		pthread_mutex_lock(&lock);
		w->made++;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
	pthread_mutex_lock(&lock);
	w->closed = 1;
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
}

/* A child has no shared memory, and is told so. */
static int check_fork(void)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		_exit(pthread_mutex_lock(&lock) != EINVAL || sonde_dsm_is_shared(the_work));
	return child < 0 || waitpid(child, &status, 0) != child || status;
}

int main(int argc, char **argv)
{
	const struct sonde_dsm_options options = { .size = sizeof(options),
						   .flags = SONDE_DSM_ONE_MAIN };
	pthread_t workers[WORKERS];
	unsigned long all = 0;
	struct work *w;
	int err = sonde_dsm_init(&options);

	if (err) {
		fprintf(stderr, "port: %s\n", strerror(err));
		return 1;
	}
	if (argc > 1 && !strcmp(argv[1], "endless"))
		run_endless();
	w = sonde_dsm_calloc(1, sizeof(*w));
	if (sem_init(&room, 0, 10) || pthread_barrier_init(&begin, NULL, WORKERS + 1))
		return 1;
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, work, w))
			return 1;
	pthread_barrier_wait(&begin);
	make(w);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_join(workers[i], NULL))
			return 1;
	for (int i = 0; i < 64; i++)
		all += w->by_process[i];
	if (check_fork())
		return 1;
	printf("sum %lu, items %lu, once %u\n", w->sum, all, w->initialised);
	sonde_dsm_free(w);
	return sonde_dsm_exit() ? 1 : 0;
}
