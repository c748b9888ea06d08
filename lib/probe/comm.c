// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which places communicate at what cost: the plan and the report.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../allowed_cpus.h"
#include "../meter.h"
#include "comm.h"
#include "notes.h"

#define MOST_BYTES	((size_t)4 << 20)
/* Each CPU has two messages of the largest size; unless the caller says how large that
 * is, all together take no more, as long as it is not less than LEAST_BYTES. */
#define MEMORY_MOST	((size_t)512 << 20)
#define LEAST_BYTES	((size_t)64 << 10)
#define BUDGET_S	20
/* Of a size's time, its pairs; of what is left, the curves. */
#define PAIRS_SHARE	0.4
#define CURVES_SHARE	0.75
/* Of all time the first size, which has curves; others share the rest. */
#define FIRST_SHARE	0.7
/* Runs until one comes to an end. */
#define TRIES		3

const char *sonde_comm_method_name(enum sonde_comm_method method)
{
	static const char *const names[SONDE_COMM_METHODS] = {
		[SONDE_COMM_LINE] = "line", [SONDE_COMM_FLAG] = "flag", [SONDE_COMM_SHM] = "shm",
		[SONDE_COMM_COPY] = "copy", [SONDE_COMM_MPI] = "mpi",
	};

	return method < SONDE_COMM_METHODS ? names[method] : NULL;
}

int sonde_comm_has_messages(enum sonde_comm_method method)
{
	return method != SONDE_COMM_LINE && method != SONDE_COMM_FLAG;
}

int comm_note(struct comm *p, const char *fmt, ...)
{
	va_list args;
	int err;

	va_start(args, fmt);
	err = notes_add(&p->report->notes, &p->report->nnotes, fmt, args);
	va_end(args);
	return err;
}

int comm_progress(struct comm *p, double part)
{
	const struct sonde_comm_options *o = p->options;

	return o->progress && o->progress(o->progress_ctx, p->done + p->share * part, p->what)
	       ? -ECANCELED : 0;
}

int comm_run(struct comm *p, const struct comm_pair *pairs, size_t npairs,
	     const struct comm_run *run, double *ns)
{
	int err = -EAGAIN;

	for (int i = 0; i < TRIES && err == -EAGAIN; i++)
		err = p->carrier->ops->together(p->carrier, pairs, npairs, run, ns);
	return err;
}

int comm_complete_options(struct sonde_comm_options *o)
{
	if (!o->nsizes || !o->sizes)
		return -EINVAL;
	for (size_t i = 0; i < o->nsizes; i++)
		if (!o->sizes[i])
			return -EINVAL;
	if (!o->groups)
		o->depth = 0;
	if (!o->most_bytes)
		o->most_bytes = MOST_BYTES;
	if (!(o->budget_s > 0))
		o->budget_s = BUDGET_S;
	return 0;
}

struct sonde_comm_report *comm_report_new(const struct sonde_comm_place *places, size_t n)
{
	struct sonde_comm_report *r = calloc(1, sizeof(*r));

	if (r)
		r->places = calloc(n, sizeof(*r->places));
	if (!r || !r->places) {
		free(r);
		return NULL;
	}
	memcpy(r->places, places, n * sizeof(*places));
	r->nplaces = n;
	return r;
}

/* ---- one carrier ----------------------------------------------------------- */

static int add_matrix(struct sonde_comm_report *r, const struct comm_carrier *c, size_t bytes)
{
	struct sonde_comm_matrix *more = realloc(r->matrices, (r->nmatrices + 1) * sizeof(*more));
	struct sonde_comm_matrix *m;

	if (!more)
		return -ENOMEM;
	r->matrices = more;
	m = &more[r->nmatrices];
	*m = (struct sonde_comm_matrix){ .method = c->method, .bytes = bytes };
	memcpy(m->via, c->via, sizeof(m->via));
	m->ns = calloc(c->n * c->n, sizeof(*m->ns));
	m->layer = calloc(c->n * c->n, sizeof(*m->layer));
	/* From here on it is freed with the report. */
	r->nmatrices++;
	if (!m->ns || !m->layer)
		return -ENOMEM;
	for (size_t i = 0; i < c->n * c->n; i++)
		m->layer[i] = -1;
	return 0;
}

static int has_anything(const struct sonde_comm_matrix *m)
{
	return m->nlayers > 0;
}

static int run_parts(struct comm *p, double seconds, int is_first)
{
	const double end = p->begin + seconds;
	double now;
	int err;

	p->deadline = is_first ? p->begin + PAIRS_SHARE * seconds : end;
	err = comm_measure_pairs(p);
	if (err || !is_first)
		return err;
	now = p->carrier->ops->now(p->carrier);
	p->deadline = end > now ? now + CURVES_SHARE * (end - now) : now;
	err = comm_measure_curves(p);
	/* The lines of one reader are no load. */
	if (err || p->carrier->method == SONDE_COMM_LINE)
		return err;
	p->deadline = end;
	return comm_measure_loads(p);
}

static int probe_size(struct comm *p, size_t bytes, double seconds, int is_first)
{
	int err = add_matrix(p->report, p->carrier, bytes);

	if (err)
		return err;
	p->matrix = &p->report->matrices[p->report->nmatrices - 1];
	p->begin = p->carrier->ops->now(p->carrier);
	err = run_parts(p, seconds, is_first);
	p->matrix->elapsed_s = p->carrier->ops->now(p->carrier) - p->begin;
	free(p->pairs);
	free(p->measured);
	p->pairs = NULL;
	p->measured = NULL;
	p->npairs = p->nmeasured = 0;
	p->nkins = 0;
	if (!err && !has_anything(p->matrix))
		err = -EAGAIN;
	return err;
}

int comm_probe(struct comm_carrier *carrier, const struct sonde_comm_options *options,
	       double seconds, double done, double share, struct sonde_comm_report *report)
{
	const size_t n = sonde_comm_has_messages(carrier->method) ? options->nsizes : 1;
	const double rest = n > 1 ? (1 - FIRST_SHARE) / (double)(n - 1) : 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const double part = n == 1 ? 1 : i ? rest : FIRST_SHARE;
		struct comm p = {
			.carrier = carrier, .options = options, .report = report,
			.done = done, .share = share * part, .what = "pairs",
		};

		sonde_rng_seed(&p.rng, options->seed + i);
		err = probe_size(&p, sonde_comm_has_messages(carrier->method) ? options->sizes[i] : 0,
				 seconds * part, !i);
		done += share * part;
	}
	return err;
}

/* ---- this machine ------------------------------------------------------------ */

/* Of all time, what each method may take. */
static const double shares[] = {
	[SONDE_COMM_LINE] = 0.05, [SONDE_COMM_FLAG] = 0.15, [SONDE_COMM_SHM] = 0.4,
	[SONDE_COMM_COPY] = 0.4,
};

#define METHODS (sizeof(shares) / sizeof(shares[0]))

/**
 * struct node - this machine at work
 * @most: the largest message of any kind
 * @done: share of all work
 */
struct node {
	const struct sonde_clock *clk;
	struct sonde_comm_options options;
	struct sonde_comm_report *report;
	size_t most;
	double all, done;
};

static int probe_line(struct node *node, double seconds, double share)
{
	struct sonde_comm_report *r = node->report;
	struct comm_carrier *carrier;
	struct meter *meter;
	int err = meter_user_open(&meter, node->clk, (unsigned int)r->places[0].cpu);

	if (err)
		return err;
	err = comm_line_open(&carrier, meter, node->options.seed, r->places, r->nplaces);
	if (!err) {
		err = comm_probe(carrier, &node->options, seconds, node->done, share, r);
		carrier->ops->close(carrier);
	}
	meter->ops->close(meter);
	return err;
}

static int probe_threads(struct node *node, enum sonde_comm_method method, double seconds,
			 double share)
{
	struct sonde_comm_report *r = node->report;
	struct comm_carrier *carrier;
	int err = comm_threads_open(&carrier, method, node->clk, r->places, r->nplaces, node->most);

	if (err)
		return err;
	carrier->most_bytes = node->options.most_bytes;
	err = comm_probe(carrier, &node->options, seconds, node->done, share, r);
	carrier->ops->close(carrier);
	return err;
}

/* What one method cannot do is no reason to measure none. */
static int forgive(struct node *node, enum sonde_comm_method method, int err)
{
	struct sonde_comm_report *r = node->report;
	const char *name = sonde_comm_method_name(method);

	if (!err || err == -ENOMEM || err == -ECANCELED || err == -EPERM)
		return err;
	if (err == -EAGAIN)
		return notes_say(&r->notes, &r->nnotes, "%s: the CPUs are so busy that not all of it "
				 "could be measured; try again when they are not", name);
	return notes_say(&r->notes, &r->nnotes, "%s: cannot be measured here: %s", name,
			 strerror(-err));
}

static int probe_methods(struct node *node)
{
	const struct sonde_comm_options *o = &node->options;
	int err = 0;

	for (size_t i = 0; i < METHODS; i++)
		node->all += o->methods >> i & 1 ? shares[i] : 0;
	for (size_t i = 0; i < METHODS && !err; i++) {
		const enum sonde_comm_method method = (enum sonde_comm_method)i;
		const double share = shares[i] / node->all;

		if (!(o->methods >> i & 1))
			continue;
		err = method == SONDE_COMM_LINE ? probe_line(node, o->budget_s * share, share) :
		      probe_threads(node, method, o->budget_s * share, share);
		err = forgive(node, method, err);
		node->done += share;
	}
	for (size_t i = 0; i < node->report->nmatrices && !err; i++)
		if (has_anything(&node->report->matrices[i]))
			return 0;
	return err ? err : -EAGAIN;
}

static int check_cpus(const struct sonde_comm_options *o)
{
	for (size_t i = 1; i < o->ncpus; i++)
		if (o->cpus[i] <= o->cpus[i - 1])
			return -EINVAL;
	return o->ncpus < 2 ? -ERANGE : 0;
}

static int make_report(struct node *node)
{
	const struct sonde_comm_options *o = &node->options;
	struct sonde_comm_place *places = calloc(o->ncpus, sizeof(*places));

	if (!places)
		return -ENOMEM;
	for (size_t i = 0; i < o->ncpus; i++) {
		places[i] = (struct sonde_comm_place){ .cpu = (int)o->cpus[i], .rank = -1 };
		gethostname(places[i].host, sizeof(places[i].host) - 1);
	}
	node->report = comm_report_new(places, o->ncpus);
	free(places);
	return node->report ? 0 : -ENOMEM;
}

int sonde_probe_comm(const struct sonde_clock *clk, const struct sonde_comm_options *options,
		     struct sonde_comm_report **report)
{
	struct node node = { .clk = clk, .options = *options };
	unsigned int cpus[CPU_SETSIZE];
	int n, err = comm_complete_options(&node.options);

	if (!node.options.methods)
		node.options.methods = (1 << METHODS) - 1;
	if (!err && node.options.methods >> METHODS)
		err = -EINVAL;
	if (!err && !options->cpus) {
		n = allowed_cpus(cpus);
		if (n < 0)
			return n;
		node.options.cpus = cpus;
		node.options.ncpus = (size_t)n;
	}
	if (!err)
		err = check_cpus(&node.options);
	for (size_t *most = &node.options.most_bytes; !options->most_bytes && *most > LEAST_BYTES &&
	     2 * *most * node.options.ncpus > MEMORY_MOST;)
		*most /= 2;
	node.most = node.options.most_bytes;
	for (size_t i = 0; i < options->nsizes && !err; i++)
		if (options->sizes[i] > node.most)
			node.most = options->sizes[i];
	if (!err)
		err = make_report(&node);
	if (!err)
		err = probe_methods(&node);
	if (err)
		sonde_comm_report_free(node.report);
	else
		*report = node.report;
	return err;
}

static void free_matrix(struct sonde_comm_matrix *m)
{
	for (size_t i = 0; i < m->nlayers; i++) {
		free(m->layers[i].group);
		free(m->layers[i].points);
		free(m->layers[i].loads);
	}
	free(m->layers);
	free(m->pairs);
	free(m->ns);
	free(m->layer);
}

void sonde_comm_report_free(struct sonde_comm_report *report)
{
	if (!report)
		return;
	for (size_t i = 0; i < report->nmatrices; i++)
		free_matrix(&report->matrices[i]);
	for (size_t i = 0; i < report->nnotes; i++)
		free(report->notes[i]);
	free(report->matrices);
	free(report->notes);
	free(report->places);
	free(report);
}
