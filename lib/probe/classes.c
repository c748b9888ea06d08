// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../binomial.h"
#include "calm.h"
#include "classes.h"
#include "parity.h"
#include "shuffle.h"
#include "survey.h"

/* Enough for a class of a second level of several MiB. Where it hashes, lines at one offset may fall
 * into 256 sets of 8 ways: half as many again as these hold, as of no more than fit few miss, and
 * what a miss costs is told too cheap. */
#define DEFAULT_PAGES	3072
#define LEAST_PAGES	256
#define MOST_PAGES	16384
/* A second level that nothing is found of at first: others were in the way. */
#define ATTEMPTS	4
/* Neither verdict without this. */
#define ALPHA		1e-6
/* Of the pages, those that a parity of classes has on either side at least. */
#define EVEN		0.25
/* Members that agree where frames predict, at least; some may be taken wrongly. */
#define PREDICTED	0.9

struct work {
	struct trial t;
	struct stride first;
	struct survey survey;
	uint32_t *pool;
	size_t npool;
	struct sonde_classes_report *report;
};

static int get_pool(struct work *w, size_t npages)
{
	size_t step, chunks = npages;
	int err = trial_pages(&w->t, STRIDE_CHUNKS);

	if (!err)
		err = calm_find_first(&w->t, &w->first);
	if (err || !w->first.ways)
		return err;
	step = w->first.way_bytes > METER_CHUNK ? w->first.way_bytes / METER_CHUNK : 1;
	chunks *= step;
	err = trial_pages(&w->t, chunks);
	if (err)
		return err;
	w->npool = npages;
	w->pool = malloc(npages * sizeof(*w->pool));
	if (!w->pool)
		return -ENOMEM;
	for (size_t i = 0; i < npages; i++)
		w->pool[i] = (uint32_t)(i * step);
	shuffle(&w->t.rng, w->pool, npages);
	return 0;
}

static int find_class(struct work *w, int sort, uint64_t patience)
{
	struct sonde_classes_report *r = w->report;
	int err;

	w->survey = (struct survey){
		.t = &w->t, .first = &w->first, .above = w->first.ways, .brief = 1,
		.pages = w->pool, .npages = w->npool, .patience = patience,
	};
	err = survey_level(&w->survey);
	if (err || !w->survey.ways)
		return err;
	if (!sort)
		return survey_estimate(&w->survey);
	free(r->sizes);
	err = survey_sort(&w->survey, &r->sizes, &r->nsizes, &r->unsorted);
	/* Ways that fill no class but the one that they were seen in. */
	if (!err && !r->nsizes)
		w->survey.ways = 0;
	return err;
}

static int read_frames(struct work *w, const uint32_t *pages, size_t n, uint64_t *frames)
{
	const struct meter_ops *ops = w->t.meter->ops;
	int err = ops->frames ? 0 : -EOPNOTSUPP;

	for (size_t i = 0; i < n && !err; i++)
		err = ops->frames(w->t.meter, pages[i], 1, &frames[i]);
	return err;
}

/* Members that agree in the low @bits with most others. */
static unsigned int count_agreeing(const uint64_t *frames, size_t n, unsigned int bits)
{
	const uint64_t mask = (1ULL << bits) - 1;
	unsigned int most = 0, same;

	for (size_t i = 0; i < n; i++) {
		same = 0;
		for (size_t j = 0; j < n; j++)
			same += ((frames[i] ^ frames[j]) & mask) == 0;
		most = same > most ? same : most;
	}
	return most;
}

/*
 * The largest of 2^bits groups of n members has k or more: at most as many times
 * as likely as that a given one has (Bonferroni).
 */
static double chance_of(unsigned int n, unsigned int k, unsigned int bits)
{
	double groups = exp2(bits);

	return fmin(1, groups * binomial_above(n, 1 / groups, k - 1));
}

static enum sonde_classes_verdict judge(const struct sonde_classes_report *r)
{
	if (r->p_chance < ALPHA && r->p_predict >= ALPHA)
		return SONDE_CLASSES_PLAIN;
	if (r->p_rank < ALPHA && r->nmasks >= r->bits)
		return SONDE_CLASSES_HASHED;
	if (r->p_rank < ALPHA || r->p_chance < ALPHA)
		return SONDE_CLASSES_PARTLY;
	return r->p_predict < ALPHA ? SONDE_CLASSES_SCRAMBLED : SONDE_CLASSES_UNKNOWN;
}

/*
 * Masks whose parity splits the pages about evenly, as classes do: a bit that few
 * pages have, since memory ends there, is shared by members without any reason.
 */
static unsigned int keep_even(uint64_t *masks, unsigned int n, const uint64_t *all, size_t nall)
{
	unsigned int kept = 0;
	size_t odd;

	for (unsigned int i = 0; i < n; i++) {
		odd = 0;
		for (size_t k = 0; k < nall; k++)
			odd += (size_t)__builtin_parityll(all[k] & masks[i]);
		if ((double)odd > EVEN * (double)nall && (double)odd < (1 - EVEN) * (double)nall)
			masks[kept++] = masks[i];
	}
	return kept;
}

/*
 * The members' frames against all frames. A rank that falls short by d, of n
 * members in a space of D dimensions, has a probability of at most
 * 2^-(d (n - 1 - D + d)): each of the 2^D parities that could be shared halves
 * with every member more.
 */
static void compare(struct sonde_classes_report *r, const uint64_t *members,
		    const uint64_t *all, size_t nall)
{
	unsigned int n = (unsigned int)r->members;

	r->bits = (unsigned int)lround(fmax(log2(r->classes), 1));
	r->agree = count_agreeing(members, n, r->bits);
	r->p_chance = chance_of(n, r->agree, r->bits);
	/* Few agreeing are many that do not. */
	r->p_predict = binomial_above(n, 1 - PREDICTED, n - r->agree - 1 + (r->agree == n));
	if (r->agree == n)
		r->p_predict = 1;
	r->rank_all = parity_rank(all, nall);
	r->nmasks = keep_even(r->masks, parity_shared(members, n, all, nall, r->masks,
						      SONDE_CLASSES_MASKS), all, nall);
	r->rank = r->rank_all - r->nmasks;
	r->p_rank = r->nmasks && n > r->rank_all ?
		    exp2(-(double)r->nmasks * (n - 1.0 - r->rank)) : 1;
	r->verdict = judge(r);
}

static int hold_frames(struct work *w)
{
	struct sonde_classes_report *r = w->report;
	const struct class *c = &w->survey.class;
	uint64_t members[HUNT_WAYS], *all;
	int err;

	r->frames_err = read_frames(w, c->page, c->n, members);
	if (r->frames_err || r->classes < 2)
		return 0;
	all = malloc(w->npool * sizeof(*all));
	if (!all)
		return -ENOMEM;
	err = read_frames(w, w->pool, w->npool, all);
	r->frames_err = err;
	if (!err)
		compare(r, members, all, w->npool);
	free(all);
	return 0;
}

/* Lines that are all of one class are more often those of a moment in which all missed. */
static int is_told(const struct survey *s)
{
	return s->ways && s->classes >= 2;
}

static int look(struct work *w, const struct sonde_classes_options *options)
{
	struct sonde_classes_report *r = w->report;
	int err = 0, calm;

	for (int i = 0; i < ATTEMPTS && !err && !is_told(&w->survey); i++) {
		if (i && w->t.ncpus > 1)
			err = calm_seek(&w->t, &w->first, &calm);
		if (!err)
			err = find_class(w, options->sort, (uint64_t)SURVEY_HASTE << i);
	}
	if (err || !w->survey.ways)
		return err;
	r->ways = w->survey.ways;
	r->members = w->survey.class.n;
	r->classes = w->survey.classes;
	r->classes_se = w->survey.classes_se;
	return hold_frames(w);
}

int probe_classes_with(struct meter *meter, const struct sonde_classes_options *options,
		       struct sonde_classes_report **report)
{
	size_t npages = options->npages ? options->npages : DEFAULT_PAGES;
	struct work *w;
	int err;

	if (npages < LEAST_PAGES || npages > MOST_PAGES)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->report = calloc(1, sizeof(*w->report));
	trial_open(&w->t, meter, options->seed);
	trial_offer(&w->t, options->cpu, options->alike, options->nalike);
	w->t.progress = options->progress;
	w->t.progress_ctx = options->progress_ctx;
	err = w->report ? get_pool(w, npages) : -ENOMEM;
	if (!err && w->first.ways) {
		w->report->pages = npages;
		w->t.what = "classes of pages";
		err = look(w, options);
	}
	if (!err) {
		w->report->cpu = w->t.cpus[w->t.at];
		w->report->elapsed_s = trial_elapsed(&w->t);
		*report = w->report;
		w->report = NULL;
	}
	sonde_classes_report_free(w->report);
	trial_close(&w->t);
	free(w->pool);
	free(w);
	return err;
}

int sonde_probe_classes(const struct sonde_clock *clk, const struct sonde_classes_options *options,
			struct sonde_classes_report **report)
{
	struct meter *meter;
	int err = meter_user_open(&meter, clk, options->cpu);

	if (err)
		return err;
	err = probe_classes_with(meter, options, report);
	meter->ops->close(meter);
	return err;
}

const char *sonde_classes_verdict_name(enum sonde_classes_verdict verdict)
{
	static const char *const names[] = {
		[SONDE_CLASSES_UNKNOWN] = "unknown",
		[SONDE_CLASSES_PLAIN] = "plain",
		[SONDE_CLASSES_HASHED] = "hashed",
		[SONDE_CLASSES_PARTLY] = "partly",
		[SONDE_CLASSES_SCRAMBLED] = "scrambled",
	};

	return (unsigned int)verdict < sizeof(names) / sizeof(*names) ? names[verdict] : "unknown";
}

void sonde_classes_report_free(struct sonde_classes_report *report)
{
	if (!report)
		return;
	free(report->sizes);
	free(report);
}
