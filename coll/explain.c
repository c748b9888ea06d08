// SPDX-License-Identifier: LGPL-2.1-or-later
/* explain - lines for people; the library prints nowhere else */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call.h"
#include "explain.h"
#include "plan.h"

#define LINE	512
#define COUNTERS	64

static const char *const op_names[COLL_OPS] = { "MPI_Alltoall", "MPI_Alltoallv" };

/* One write, so that lines of several ranks do not mix. */
__attribute__((format(printf, 1, 0)))
static void say(const char *format, va_list args)
{
	static const char prefix[] = "sonde-coll: ";
	char line[LINE];
	int n = (int)sizeof(prefix) - 1, more;

	memcpy(line, prefix, sizeof(prefix));
	more = vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	if (more < 0)
		return;
	n += more < LINE - n - 2 ? more : LINE - n - 2;
	line[n++] = '\n';
	while (write(STDERR_FILENO, line, (size_t)n) < 0)
		break;
}

__attribute__((format(printf, 1, 2)))
static void say_line(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

/* Launchers tell each process its number before MPI does. */
static int is_first_process(void)
{
	static const char *const told[] = { "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
					    "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const char *rank = getenv(told[i]);

		if (rank)
			return !strcmp(rank, "0");
	}
	return 1;
}

void coll_complain(const char *format, ...)
{
	va_list args;

	if (!is_first_process())
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void coll_tell(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

/* A choice is for all sizes down to the next smaller power of two. */
static char *say_bytes(size_t bytes, char word[48])
{
	const int shift = bytes >= 1 << 20 ? 20 : bytes >= 1 << 10 ? 10 : 0;
	const char *const units[] = { "B", "KiB", "MiB" };

	snprintf(word, 48, "blocks of up to %zu %s", bytes >> shift, units[shift / 10]);
	return word;
}

void coll_explain(const struct coll_plan *plan, enum coll_op op, size_t block,
		  int is_in_place, const struct coll_choice *choice)
{
	char name[COLL_NAME], bytes[48], ranks[48];

	if (!plan->settings.is_explained || plan->rank)
		return;
	if (coll_is_regular(plan))
		snprintf(ranks, sizeof(ranks), "%d x %d", plan->nnodes, plan->most);
	else
		snprintf(ranks, sizeof(ranks), "%d nodes of %d to %d", plan->nnodes, plan->least,
			 plan->most);
	say_line("%s, %d ranks (%s), %s%s: %s: %s", op_names[op], plan->size, ranks,
		 op == COLL_ALLTOALLV ? "blocks of any size" : say_bytes(block, bytes),
		 is_in_place ? ", in place" : "",
		 coll_choice_name(choice, name), choice->why);
}

/* ---- counters ----------------------------------------------------------- */

/**
 * struct counter - calls that went one way
 * @what: the composition, or why MPI did it
 */
struct counter {
	enum coll_op op;
	char what[COLL_SENTENCE];
	unsigned long long calls, bytes;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of the two below */
static struct counter counters[COUNTERS];
static size_t ncounters;

static void count(enum coll_op op, const char *what, size_t bytes)
{
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < ncounters; i++)
		if (counters[i].op == op && !strcmp(counters[i].what, what))
			break;
	if (i == ncounters && ncounters < COUNTERS) {
		counters[ncounters].op = op;
		snprintf(counters[ncounters++].what, COLL_SENTENCE, "%s", what);
	}
	if (i < ncounters) {
		counters[i].calls++;
		counters[i].bytes += bytes;
	}
	pthread_mutex_unlock(&lock);
}

void coll_count(const struct coll_choice *choice, enum coll_op op, size_t bytes)
{
	char name[COLL_NAME];

	if (coll_settings_get()->is_explained)
		count(op, coll_choice_name(choice, name), bytes);
}

void coll_count_handed(enum coll_op op, const char *why)
{
	char what[COLL_SENTENCE];

	if (!coll_settings_get()->is_explained)
		return;
	snprintf(what, sizeof(what), "mpi (%s)", why);
	count(op, what, 0);
}

void coll_explain_counts(void)
{
	int rank;

	if (!coll_settings_get()->is_explained || PMPI_Comm_rank(MPI_COMM_WORLD, &rank) || rank)
		return;
	for (size_t i = 0; i < ncounters; i++)
		say_line("%s: %llu calls, %llu bytes sent: %s", op_names[counters[i].op],
			 counters[i].calls, counters[i].bytes, counters[i].what);
}
