// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde colour verify, sonde colour classes - classes of pages by timing
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/classes.h>
#include "colour.h"
#include "measure.h"

#define SORT_PAGES	1536
#define LEAST_PAGES	256
#define MOST_PAGES	16384
#define BAR		40

/* Begins as struct measure_options does, whose setters it uses. */
struct classes_options {
	struct measure_options measure;
	uint64_t pages;
};

static int set_pages(void *options, const char *arg)
{
	struct classes_options *o = options;
	int status = cli_parse_count("pages", arg, MOST_PAGES, &o->pages);

	if (status == CLI_DONE && o->pages < LEAST_PAGES) {
		cli_error("--pages wants %d to %d", LEAST_PAGES, MOST_PAGES);
		return CLI_USAGE;
	}
	return status;
}

#define CLASSES_OPTIONS \
	{ "cpu", 0, "N", "measure on this CPU; else on one that is allowed", measure_set_cpu }, \
	{ "seed", 0, "N", "of the random orders: the same seed, the same; else 1", \
	  measure_set_seed }

static const struct cli_option verify_table[] = {
	CLASSES_OPTIONS,
	CLI_COMMON_OPTIONS
};

static const struct cli_option classes_table[] = {
	{ "pages", 'n', "N", "sort so many pages; else 1536", set_pages },
	CLASSES_OPTIONS,
	CLI_COMMON_OPTIONS
};

static int watch(void *ctx, double done, const char *what)
{
	(void)ctx;
	cli_progress(done, what);
	return cli_stop_requested();
}

/* ---- in words ------------------------------------------------------------ */

static const char *sentence_of(const struct sonde_classes_report *r)
{
	switch (r->verdict) {
	case SONDE_CLASSES_PLAIN:
		return "frames predict conflicts: the low bits of a frame are its colour";
	case SONDE_CLASSES_HASHED:
		return "frames predict conflicts through a hash: the parities below are the colour";
	case SONDE_CLASSES_PARTLY:
		return "frames predict conflicts in part: some parities are shared, not all";
	case SONDE_CLASSES_SCRAMBLED:
		return "frames do not predict conflicts: they are not those of the machine, "
		       "as in a guest";
	default:
		return r->frames_err ? "frame numbers cannot be seen here (root can), so whether "
				       "they predict conflicts cannot be told" :
				       "whether frames predict conflicts cannot be told here";
	}
}

static void print_verify(const struct sonde_classes_report *r)
{
	printf("%s\n\n", sentence_of(r));
	printf("  second level  %u ways, %.1f classes of pages by timing\n", r->ways, r->classes);
	if (r->frames_err || !r->bits)
		return;
	printf("  low %2u bits   %u of %zu pages of one class agree; as many by chance: p = %.2g; "
	       "as few if frames predicted: p = %.2g\n", r->bits, r->agree, r->members,
	       r->p_chance, r->p_predict);
	printf("  parities      %u shared by the class (rank %u of %u, by chance: p = %.2g)\n",
	       r->nmasks, r->rank, r->rank_all, r->p_rank);
	for (unsigned int i = 0; i < r->nmasks; i++)
		printf("                parity of frame & %#" PRIx64 "\n", r->masks[i]);
	printf("  time          %.2f s\n", r->elapsed_s);
}

static void print_classes(const struct sonde_classes_report *r)
{
	static const char bar[BAR + 1] = "########################################";
	size_t most = 1;

	for (size_t i = 0; i < r->nsizes; i++)
		most = r->sizes[i] > most ? r->sizes[i] : most;
	printf("%zu classes of pages in the second level, by timing (%u ways)\n\n", r->nsizes,
	       r->ways);
	puts("   class      pages");
	for (size_t i = 0; i < r->nsizes; i++)
		printf("  %6zu %10zu  %.*s\n", i, r->sizes[i], (int)(r->sizes[i] * BAR / most), bar);
	printf("\n  in no class   %zu of %zu pages\n", r->unsorted, r->pages);
	printf("  frames        %s\n", sentence_of(r));
	printf("  time          %.2f s\n", r->elapsed_s);
}

/* ---- as JSON ------------------------------------------------------------- */

static json_t *pack_masks(const struct sonde_classes_report *r)
{
	json_t *list = json_array();
	char text[20];

	for (unsigned int i = 0; i < r->nmasks; i++) {
		snprintf(text, sizeof(text), "%#" PRIx64, r->masks[i]);
		json_array_append_new(list, json_string(text));
	}
	return list;
}

static json_t *pack_sizes(const struct sonde_classes_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->nsizes; i++)
		json_array_append_new(list, json_integer((json_int_t)r->sizes[i]));
	return list;
}

static int print_json(const struct sonde_classes_report *r)
{
	int seen = !r->frames_err && r->bits;
	json_t *root;

	root = json_pack("{s:i, s:s, s:i, s:f, s:f, s:I, s:I, s:o, s:o, s:I, s:f}",
			 "cpu", (int)r->cpu, "verdict", sonde_classes_verdict_name(r->verdict),
			 "ways", (int)r->ways, "classes", r->classes,
			 "classes_se", r->classes_se,
			 "pages", (json_int_t)r->pages, "members", (json_int_t)r->members,
			 "masks", pack_masks(r), "pages_of_class", pack_sizes(r),
			 "unsorted", (json_int_t)r->unsorted, "elapsed_s", r->elapsed_s);
	if (root && json_object_set_new(root, "frames", !seen ? json_null() :
			json_pack("{s:i, s:i, s:f, s:f, s:i, s:i, s:f}", "bits", (int)r->bits,
				  "agree", (int)r->agree, "p_chance", r->p_chance,
				  "p_predict", r->p_predict, "rank", (int)r->rank,
				  "rank_all", (int)r->rank_all, "p_rank", r->p_rank))) {
		json_decref(root);
		root = NULL;
	}
	if (!root) {
		cli_error("not enough memory for the answer");
		return CLI_FAILED;
	}
	json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
	return CLI_DONE;
}

/* ---- the commands -------------------------------------------------------- */

static int refuse(int err, unsigned int cpu)
{
	switch (err) {
	case -EPERM:
		cli_error("may not run on CPU %u any more; see --cpu", cpu);
		break;
	case -ENOMEM:
		cli_error("not enough memory; give less with --pages, or free some");
		break;
	default:
		cli_error("cannot measure: %s", strerror(-err));
	}
	return CLI_FAILED;
}

static int measure(const struct classes_options *o, int sort, struct sonde_classes_report **r)
{
	struct sonde_classes_options how = {
		.npages = o->pages ? o->pages : sort ? SORT_PAGES : 0, .sort = sort,
		.seed = o->measure.seed, .progress = watch,
	};
	struct machine m;
	int status = machine_open(&m, o->measure.cpu), n, err;
	unsigned int *alike;

	if (status == CLI_DONE) {
		how.cpu = m.cpu;
		n = machine_list_alike(&m, &o->measure, &alike);
		how.alike = alike;
		how.nalike = n < 0 ? 0 : (size_t)n;
		cli_stop_catch();
		err = n < 0 ? n : sonde_probe_classes(m.clk, &how, r);
		free(alike);
		cli_progress_end();
		if (cli_stop_requested())
			status = CLI_FAILED;
		else if (err)
			status = refuse(err, m.cpu);
	}
	machine_close(&m);
	if (cli_stop_requested())
		cli_stop_die();
	return status;
}

static int run_either(const struct cli_command *command, int sort, int argc, char **argv,
		      void (*print)(const struct sonde_classes_report *))
{
	struct classes_options o = { .measure = MEASURE_DEFAULTS };
	struct sonde_classes_report *r = NULL;
	int status = cli_parse(command, argc, argv, &o);

	if (status >= 0)
		return status;
	status = measure(&o, sort, &r);
	if (status == CLI_DONE && !r->ways) {
		cli_error("no second level of cache could be told apart here; try again when "
			  "the machine is quieter");
		status = CLI_CANNOT_MEASURE;
	} else if (status == CLI_DONE && o.measure.common.json) {
		status = print_json(r);
	} else if (status == CLI_DONE) {
		print(r);
	}
	sonde_classes_report_free(r);
	return status;
}

static int run_verify(int argc, char **argv)
{
	return run_either(&colour_verify, 0, argc, argv, print_verify);
}

static int run_classes(int argc, char **argv)
{
	return run_either(&colour_classes, 1, argc, argv, print_classes);
}

const struct cli_command colour_verify = {
	.name = "colour verify",
	.summary = "whether frame numbers predict conflicts in the cache",
	.options = verify_table,
	.run = run_verify,
};

const struct cli_command colour_classes = {
	.name = "colour classes",
	.summary = "sort pages into classes by timing, without frame numbers",
	.options = classes_table,
	.run = run_classes,
};
