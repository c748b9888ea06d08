/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: classes - colours of pages by timing, and whether frames predict them
 *
 * Pages are of one class if their lines at the same offset compete for the same
 * set of the second level. That is found by timing; no frame number is needed.
 * Whether frame numbers predict it is then a question with an answer: on bare
 * metal they do, through plain bits or a hash; a guest's frames mostly do not,
 * since the host puts them anywhere.
 */
#ifndef SONDE_CLASSES_H
#define SONDE_CLASSES_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/clock.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_CLASSES_MASKS	32

enum sonde_classes_verdict {
	SONDE_CLASSES_UNKNOWN,		/* no class was found, or frames are not told */
	SONDE_CLASSES_PLAIN,		/* the low bits of a frame are its class */
	SONDE_CLASSES_HASHED,		/* parities of masked frames are */
	SONDE_CLASSES_PARTLY,		/* some parities are the same, not enough of them */
	SONDE_CLASSES_SCRAMBLED,	/* frames say nothing */
};

/**
 * struct sonde_classes_options - how to look
 * @cpu: the CPU to measure on; the calling thread is bound to it meanwhile
 * @alike: @nalike other CPUs with such caches, as in struct sonde_cache_options; may be NULL
 * @nalike: how many
 * @npages: pages to sort; 0: as many as are needed to judge frames
 * @sort: whether to find every class, or one
 * @seed: of the permutations
 * @progress: as in struct sonde_cache_options; may be NULL
 * @progress_ctx: handed to @progress
 */
struct sonde_classes_options {
	unsigned int cpu;
	const unsigned int *alike;
	size_t nalike;
	size_t npages;
	int sort;
	uint64_t seed;
	int (*progress)(void *ctx, double done, const char *what);
	void *progress_ctx;
};

/**
 * struct sonde_classes_report - what was found
 * @cpu: where
 * @ways: of the level; lines of a class that fit; 0: no class was found
 * @classes: how many there are; 0: not told
 * @classes_se: standard error of it; 0: counted one by one
 * @pages: in the pool
 * @members: pages found to be of one class, whose frames were compared
 * @frames_err: 0, or why frames are not told (-EPERM...)
 * @bits: low bits of a frame that would name as many classes
 * @agree: members that agree in them with most others
 * @p_chance: probability that so many or more agree if frames say nothing
 * @p_predict: probability that so few agree if nine in ten did
 * @rank: dimension of the members' frames over GF(2), of @rank_all of all pages',
 *        but for what nearly all pages share too
 * @nmasks: parities of frames that all members share and about half of all pages
 * @masks: they
 * @p_rank: probability of as small a rank if frames say nothing
 * @verdict: what follows
 * @sizes: pages of each class that was sorted out, @nsizes; NULL unless sorted
 * @nsizes: how many
 * @unsorted: pages that are in none of them
 * @elapsed_s: seconds it took
 */
struct sonde_classes_report {
	unsigned int cpu;
	unsigned int ways;
	double classes, classes_se;
	size_t pages, members;
	int frames_err;
	unsigned int bits;
	unsigned int agree;
	double p_chance, p_predict;
	unsigned int rank, rank_all;
	unsigned int nmasks;
	uint64_t masks[SONDE_CLASSES_MASKS];
	double p_rank;
	enum sonde_classes_verdict verdict;
	size_t *sizes;
	size_t nsizes, unsorted;
	double elapsed_s;
};

/**
 * sonde_probe_classes() - find classes of pages by timing, hold frames against them
 * @clk: the clock to time with
 * @options: how
 * @report: where the report goes, to be freed with sonde_classes_report_free();
 *          untouched on failure
 *
 * Return: 0 (also where nothing could be told: see @report), -EINVAL (options),
 * -ENOMEM, -EPERM (may not run on that CPU), -ECANCELED.
 *
 * Since: 0.1
 */
int sonde_probe_classes(const struct sonde_clock *clk, const struct sonde_classes_options *options,
			struct sonde_classes_report **report);

/** sonde_classes_verdict_name() - "plain", "hashed"... Since: 0.1 */
const char *sonde_classes_verdict_name(enum sonde_classes_verdict verdict);

/** sonde_classes_report_free() - free; @report may be NULL. Since: 0.1 */
void sonde_classes_report_free(struct sonde_classes_report *report);

#ifdef __cplusplus
}
#endif

#endif
