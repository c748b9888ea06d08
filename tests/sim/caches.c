// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * caches - a probe against simulated machines with the caches of a table: what
 * it found of each, beside the truth. The probe gets a meter and nothing else.
 */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/probe/cache.h"
#include "../../lib/probe/servet.h"
#include "answer.h"
#include "keep.h"
#include "plausible.h"

#define EXIT_USAGE	2
#define JOBS_MAX	256
#define KEY_SIZE	(CORPUS_NAME + 24)

typedef int probe_fn(struct meter *, const struct sonde_cache_options *,
		     struct sonde_cache_report **);

/**
 * struct method - a way to find caches
 * @name: after --method
 * @probe: the way
 * @scope: what it tells
 * @budget_s: seconds that it has where nobody says
 */
struct method {
	const char *name;
	probe_fn *probe;
	enum scope scope;
	double budget_s;
};

static const struct method methods[] = {
	/* Geometry needs no budget; the latency curve that one buys tells no ways. */
	{ "sonde", probe_cache_with, SCOPE_ALL, 0 },
	{ "servet", probe_servet_with, SCOPE_SIZE, 40 },
};

/**
 * struct run - what is to be done
 * @path: the table
 * @pattern: of machines' names, NULL: all
 * @budget_s: of the probe; negative: the method's
 * @levels: that are looked for and judged; 0: all
 * @jobs: machines at once
 * @kept: where answers are kept, NULL: nowhere
 */
struct run {
	const char *path, *pattern, *kept;
	enum profile profile;
	uint64_t seed;
	const struct method *method;
	double budget_s;
	unsigned int levels, jobs;
	int verbose;
};

/* The probe's seconds of the machine's time. */
static double budget_of(const struct run *run)
{
	return run->budget_s < 0 ? run->method->budget_s : run->budget_s;
}

/* Levels of a machine that it is judged by. */
static unsigned int judged(const struct run *run, const struct corpus_machine *c)
{
	return run->levels && run->levels < c->usable ? run->levels : c->usable;
}

/**
 * struct result - of one machine, shared with the process that probes it
 * @pid: that process
 * @done: the rest is valid
 * @is_kept: it is in the file
 * @err: of the probe
 * @answer: without one, what was found
 */
struct result {
	pid_t pid;
	int done, is_kept, err;
	struct answer answer;
};

/* ---- one machine --------------------------------------------------------- */

static void take_report(struct answer *a, const struct sonde_cache_report *report)
{
	a->seconds = report->elapsed_s;
	for (size_t i = 0; i < report->nlevels && a->n < ANSWER_LEVELS; i++) {
		const struct sonde_cache_level *l = &report->levels[i];

		a->found[a->n++] = (struct found){ l->size, l->ways, l->line, l->confidence,
						     l->size_low };
	}
}

static void probe_machine(const struct run *run, const struct corpus_machine *c,
			  struct result *r)
{
	struct sonde_cache_options options = {
		.budget_s = budget_of(run),
		.levels = run->levels,
		.seed = run->seed,
	};
	struct sonde_cache_report *report;
	struct machine_model model;
	struct meter *meter;

	plausible_model(c, run->profile, run->seed, &model);
	r->err = machine_open(&meter, &model, run->seed);
	if (!r->err) {
		r->err = run->method->probe(meter, &options, &report);
		r->answer.loads = machine_loads(meter);
		meter->ops->close(meter);
	}
	if (!r->err) {
		take_report(&r->answer, report);
		sonde_cache_report_free(report);
	}
	r->done = 1;
}

/* ---- what is kept -------------------------------------------------------- */

/* The line that tells a run from others. 0, -errno. */
static int format_run(const struct run *run, char *text, size_t size)
{
	uint64_t table, program;
	int err = keep_digest(run->path, &table);

	if (!err)
		err = keep_digest("/proc/self/exe", &program);
	if (!err)
		snprintf(text, size, "caches %s %llu %s %a %u %016llx %016llx",
			 run->profile == PROFILE_CLOUD ? "cloud" : "lab",
			 (unsigned long long)run->seed, run->method->name, budget_of(run),
			 run->levels, (unsigned long long)table, (unsigned long long)program);
	return err;
}

/* Two machines of a table may have one name. */
static void format_key(const struct corpus_machine *c, size_t i, char key[KEY_SIZE])
{
	snprintf(key, KEY_SIZE, "%zu %s", i + 1, c[i].name);
}

/* Open the file, if there is to be one, and take the answers there. 0, -1: said why. */
static int open_kept(const struct run *run, const struct corpus_machine *c, size_t n,
		     struct result *r, struct keep **keep)
{
	char line[160], error[512], key[KEY_SIZE];
	const char *answer;
	int err;

	if (!run->kept)
		return 0;
	err = format_run(run, line, sizeof(line));
	if (err)
		snprintf(error, sizeof(error), "%s cannot be told from other runs: %s", run->path,
			 strerror(-err));
	else
		err = keep_open(keep, run->kept, line, error, sizeof(error));
	for (size_t i = 0; i < n && !err; i++) {
		format_key(c, i, key);
		answer = keep_find(*keep, key);
		if (!answer)
			continue;
		r[i].done = 1;
		r[i].is_kept = 1;
		err = answer_parse(answer, &r[i].answer);
		if (err)
			snprintf(error, sizeof(error), "%s: what it says of %s is spoilt: "
				 "remove it", run->kept, c[i].name);
	}
	if (err)
		fprintf(stderr, "caches: %s\n", error);
	return err ? -1 : 0;
}

/* Keep what is new, but no failures. */
static int keep_answers(struct keep *keep, const struct corpus_machine *c, size_t n,
			struct result *r)
{
	char text[ANSWER_TEXT], key[KEY_SIZE];
	int err = 0;

	for (size_t i = 0; i < n && keep && !err; i++) {
		if (!r[i].done || r[i].is_kept || r[i].err)
			continue;
		format_key(c, i, key);
		answer_format(&r[i].answer, text);
		err = keep_add(keep, key, text);
		r[i].is_kept = 1;
	}
	return err;
}

/* ---- what is printed ----------------------------------------------------- */

static void print_left_out(const struct corpus_machine *c)
{
	for (unsigned int i = c->usable; i < c->n; i++)
		printf("%s\tL%u\tleft out: %s\n", c->name, c->cache[i].level, c->cache[i].why);
}

static void print_geometry(uint64_t size, unsigned int ways, unsigned int line)
{
	if (size)
		printf("\t%llu/", (unsigned long long)size);
	else
		printf("\t-/");
	if (ways)
		printf("%u/", ways);
	else
		printf("-/");
	if (line)
		printf("%u", line);
	else
		printf("-");
}

static void print_cache(const struct run *run, const struct corpus_machine *c,
			const struct result *r, unsigned int i, const struct machine_model *model,
			enum verdict v)
{
	const struct corpus_cache *t = &c->cache[i];
	const struct found none = { 0 }, *f = i < r->answer.n ? &r->answer.found[i] : &none;
	char text[160];

	printf("%s\tL%u", c->name, t->level);
	print_geometry(t->bytes, t->ways, t->line);
	print_geometry(f->size, f->ways, f->line);
	printf("\t%.2f\t%s%s", f->confidence, verdict_name(v),
	       v == VERDICT_UNKNOWN && plausible_is_disturbed(model, i) ? ", by right" : "");
	if (run->verbose) {
		plausible_describe(model, i, text, sizeof(text));
		printf("\t%s", text);
		if (!f->size && f->least)
			printf("; at least %llu", (unsigned long long)f->least);
	}
	putchar('\n');
}

/*
 * A level that is not there is as wrong as one that is other than said; what was
 * left out is not there.
 */
static void print_invented(const struct corpus_machine *c, const struct result *r,
			   unsigned int count[VERDICTS])
{
	for (unsigned int i = c->usable; i < r->answer.n; i++) {
		const struct found *f = &r->answer.found[i];
		enum verdict v = f->confidence >= VERDICT_CONFIDENT && f->size ?
				 VERDICT_CONFIDENTLY_WRONG : VERDICT_WRONG;

		printf("%s\tL%u\tnone", c->name, i + 1);
		print_geometry(f->size, f->ways, f->line);
		printf("\t%.2f\t%s\n", f->confidence, verdict_name(v));
		count[v]++;
	}
}

static void print_machine(const struct run *run, const struct corpus_machine *c,
			  const struct result *r, unsigned int count[VERDICTS])
{
	struct machine_model model;

	plausible_model(c, run->profile, run->seed, &model);
	if (r->err)
		printf("%s\tnot probed: %s\n", c->name,
		       r->err == -ECHILD ? "the probe crashed" : strerror(-r->err));
	for (unsigned int i = 0; i < judged(run, c); i++) {
		enum verdict v = verdict_of(&c->cache[i], i < r->answer.n ? &r->answer.found[i] : NULL,
					    run->method->scope);

		count[v]++;
		print_cache(run, c, r, i, &model, v);
	}
	print_invented(c, r, count);
	print_left_out(c);
	if (run->verbose)
		printf("# %s: %.1f s of its time, %.1f million loads, prefetch %u\n", c->name,
		       r->answer.seconds, (double)r->answer.loads * 1e-6, model.prefetch);
	fflush(stdout);
}

/* ---- all of them --------------------------------------------------------- */

static int is_wanted(const struct run *run, const struct corpus_machine *c)
{
	return c->usable && (!run->pattern || !fnmatch(run->pattern, c->name, 0));
}

/* A process of its own for each machine: one that dies takes no other with it. */
static int start_job(const struct run *run, const struct corpus_machine *c, struct result *r)
{
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		/* Nobody would read the answer of a run that was cut short. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		probe_machine(run, c, r);
		_exit(0);
	}
	/* Not in the process itself: it shares the result. */
	r->pid = pid;
	return 0;
}

/* One of @n ends; it may have died before its answer. */
static int wait_job(struct result *r, size_t n)
{
	pid_t pid = wait(NULL);

	if (pid < 0)
		return -errno;
	for (size_t i = 0; i < n; i++) {
		if (r[i].pid != pid || r[i].done)
			continue;
		r[i].err = -ECHILD;
		r[i].answer.n = 0;
		r[i].done = 1;
	}
	return 0;
}

static int run_all(const struct run *run, const struct corpus_machine *c, size_t n,
		   struct result *r, struct keep *keep, unsigned int count[VERDICTS])
{
	unsigned int running = 0;
	size_t next = 0, shown = 0;
	int err = 0;

	while (shown < n && !err) {
		if (!is_wanted(run, &c[shown])) {
			if (!run->pattern)
				print_left_out(&c[shown]);
			shown++;
		} else if (r[shown].done) {
			print_machine(run, &c[shown], &r[shown], count);
			shown++;
		} else if (next < n && running < run->jobs) {
			if (is_wanted(run, &c[next]) && !r[next].done) {
				err = start_job(run, &c[next], &r[next]);
				running++;
			}
			next++;
		} else {
			err = wait_job(r, n);
			running--;
			if (!err)
				err = keep_answers(keep, c, n, r);
		}
	}
	while (running-- && wait(NULL) > 0)
		;
	return err;
}

static unsigned int count_caches(const struct run *run, const struct corpus_machine *c, size_t n)
{
	unsigned int caches = 0;

	for (size_t i = 0; i < n; i++)
		if (is_wanted(run, &c[i]))
			caches += judged(run, &c[i]);
	return caches;
}

static int all_probed(const struct result *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (r[i].err)
			return 0;
	return 1;
}

static int judge_table(const struct run *run, const struct corpus_machine *c, size_t n)
{
	unsigned int count[VERDICTS] = { 0 }, caches = count_caches(run, c, n);
	struct keep *keep = NULL;
	struct result *r;
	int err, status;

	if (!caches) {
		fprintf(stderr, "caches: no machine of %s%s%s can be simulated\n", run->path,
			run->pattern ? " matches and " : "", run->pattern ? run->pattern : "");
		return EXIT_FAILURE;
	}
	r = mmap(NULL, n * sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (r == MAP_FAILED) {
		fprintf(stderr, "caches: no memory for the results\n");
		return EXIT_FAILURE;
	}
	if (open_kept(run, c, n, r, &keep)) {
		keep_close(keep);
		munmap(r, n * sizeof(*r));
		return EXIT_FAILURE;
	}
	err = run_all(run, c, n, r, keep, count);
	keep_close(keep);
	status = all_probed(r, n) ? EXIT_SUCCESS : EXIT_FAILURE;
	munmap(r, n * sizeof(*r));
	if (err) {
		fprintf(stderr, "caches: a probe could not be started, or its answer not kept: %s\n",
			strerror(-err));
		return EXIT_FAILURE;
	}
	printf("%u of %u caches right, %u unknown, %u confidently wrong\n", count[VERDICT_RIGHT],
	       caches, count[VERDICT_UNKNOWN], count[VERDICT_CONFIDENTLY_WRONG]);
	return status;
}

/* ---- options ------------------------------------------------------------- */

static void print_help(void)
{
	puts("usage: tests/sim/caches [OPTION...] FILE.tsv\n"
	     "\n"
	     "Makes a simulated machine of each machine in a table of caches, probes it, and prints\n"
	     "a line for each cache: machine, level, size/ways/line in truth and as found (- is\n"
	     "not told), confidence, verdict. Fields are separated by tabs.\n"
	     "\n"
	     "  --profile lab|cloud    lab (default): nothing disturbs and frames are true.\n"
	     "                         cloud: pauses of 12-38 us at 460/s and of 20-60 ms, a clock of\n"
	     "                         10 ns, frames of a guest, a neighbour that takes up to half of\n"
	     "                         the last level\n"
	     "  --seed N               of all that the table does not say, and of chance; default 1\n"
	     "  --method sonde|servet  how caches are found; default sonde\n"
	     "  --machine PATTERN      only machines whose name matches (as the shell matches)\n"
	     "  --budget SECONDS       of the machine's own time for the latency curve; default 0 (none)\n"
	     "                         for sonde, 40 for servet, which has nothing else\n"
	     "  --levels N             only the first N levels of each are looked for, and judged\n"
	     "  --jobs N               machines at once; default: as many as there are CPUs\n"
	     "  --keep FILE            keep each machine's answer in FILE; the same run again goes on\n"
	     "                         where it was cut short. A run of another build, table, seed...\n"
	     "                         is refused\n"
	     "  --verbose              also what was chosen for each cache, and what the probe took\n"
	     "  --help                 this text\n"
	     "\n"
	     "Columns of the table: machine, level, size_bytes, ways, line_bytes, sets,\n"
	     "shared_by_threads. Caches of which too little is known, or whose sets x ways x line is\n"
	     "not their size, are left out, with those behind them, and said to be; they are in no\n"
	     "number of the last line.\n"
	     "\n"
	     "The last line is `R of N caches right, U unknown, W confidently wrong`. Right: size, ways\n"
	     "and line are all told and all true. Unknown: something is not told, the rest is true,\n"
	     "also what a size that is not told is at least.\n"
	     "Confidently wrong: something told is not true, and its confidence is 0.95 or more;\n"
	     "also a cache found that is not there. What is wrong with less confidence is printed\n"
	     "as `wrong` and is in none of R, U and W. An `unknown, by right` is a last level\n"
	     "that a neighbour uses. Servet tells sizes only and is judged by them.\n"
	     "\n"
	     "Exit: 0 when all was probed, whatever the verdicts; 1 bad table, or a probe failed, which\n"
	     "is printed and leaves its caches unknown; 2 usage.");
}

__attribute__((format(printf, 1, 2)))
static int refuse(const char *fmt, ...)
{
	va_list args;

	fputs("caches: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("; see --help\n", stderr);
	return EXIT_USAGE;
}

static int parse_count(const char *text, unsigned long long max, unsigned long long *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && *out <= max ? 0 : -EINVAL;
}

static int parse_profile(const char *text, enum profile *out)
{
	if (strcmp(text, "lab") && strcmp(text, "cloud"))
		return -EINVAL;
	*out = strcmp(text, "lab") ? PROFILE_CLOUD : PROFILE_LAB;
	return 0;
}

static int parse_method(const char *text, const struct method **out)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (!strcmp(text, methods[i].name)) {
			*out = &methods[i];
			return 0;
		}
	}
	return -EINVAL;
}

static int parse_budget(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0 && *out <= 86400 ? 0 : -EINVAL;
}

/* One option. 0, -EINVAL. */
static int take_option(struct run *run, int option, const char *arg)
{
	unsigned long long x;
	int err = 0;

	switch (option) {
	case 'p':
		return parse_profile(arg, &run->profile);
	case 's':
		err = parse_count(arg, UINT64_MAX, &x);
		run->seed = x;
		return err;
	case 'm':
		return parse_method(arg, &run->method);
	case 'n':
		run->pattern = arg;
		return 0;
	case 'b':
		return parse_budget(arg, &run->budget_s);
	case 'k':
		run->kept = arg;
		return *arg ? 0 : -EINVAL;
	case 'l':
		err = parse_count(arg, ANSWER_LEVELS, &x);
		run->levels = (unsigned int)x;
		return err || !x ? -EINVAL : 0;
	case 'j':
		err = parse_count(arg, JOBS_MAX, &x);
		run->jobs = (unsigned int)x;
		return err || !x ? -EINVAL : 0;
	default:
		run->verbose = 1;
		return 0;
	}
}

static const struct option long_options[] = {
	{ "profile", required_argument, NULL, 'p' },
	{ "seed", required_argument, NULL, 's' },
	{ "method", required_argument, NULL, 'm' },
	{ "machine", required_argument, NULL, 'n' },
	{ "budget", required_argument, NULL, 'b' },
	{ "levels", required_argument, NULL, 'l' },
	{ "jobs", required_argument, NULL, 'j' },
	{ "keep", required_argument, NULL, 'k' },
	{ "verbose", no_argument, NULL, 'v' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/* Fill @run. -1: go on, else the exit status. */
static int parse_options(struct run *run, int argc, char **argv)
{
	int option, at;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", long_options, &at)) != -1) {
		if (option == 'h') {
			print_help();
			return EXIT_SUCCESS;
		}
		if (option == '?')
			return refuse("bad option '%s', or its value is missing",
				      argv[optind - 1]);
		if (take_option(run, option, optarg))
			return refuse("'%s' is no value for --%s", optarg,
				      long_options[at].name);
	}
	if (optind + 1 != argc)
		return refuse("%s", optind == argc ? "which table?" : "one table only");
	run->path = argv[optind];
	return -1;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct run run = {
		.seed = 1, .method = methods, .budget_s = -1,
		.jobs = cpus > 0 && cpus < JOBS_MAX ? (unsigned int)cpus : 1,
	};
	struct corpus_machine *machines;
	char error[512];
	size_t n;
	int status = parse_options(&run, argc, argv);

	if (status >= 0)
		return status;
	if (corpus_read(run.path, &machines, &n, error, sizeof(error))) {
		fprintf(stderr, "caches: %s\n", error);
		return EXIT_FAILURE;
	}
	status = judge_table(&run, machines, n);
	free(machines);
	return status;
}
