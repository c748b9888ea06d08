// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * measure - open what describes this machine, measure it, fill the profile
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/servet.h>
#include "bench.h"
#include "measure.h"
#include "text.h"

#define SWEEP_LEAST	((uint64_t)48 << 20)
/* With the order of its lines, a sixteenth, and the program less than 256 MiB. */
#define SWEEP_MOST	((uint64_t)192 << 20)

int measure_set_cpu(void *options, const char *arg)
{
	struct measure_options *o = options;
	uint64_t cpu;
	int status = cli_parse_count("cpu", arg, 1 << 20, &cpu);

	if (status == CLI_DONE)
		o->cpu = (int)cpu;
	return status;
}

int measure_set_budget(void *options, const char *arg)
{
	struct measure_options *o = options;

	return cli_parse_seconds("budget", arg, &o->budget_s);
}

int measure_set_quick(void *options, const char *arg)
{
	struct measure_options *o = options;

	(void)arg;
	o->budget_s = BUDGET_QUICK_S;
	return CLI_DONE;
}

int measure_set_max_size(void *options, const char *arg)
{
	struct measure_options *o = options;

	return cli_parse_size("max-size", arg, &o->max_bytes);
}

int measure_set_seed(void *options, const char *arg)
{
	struct measure_options *o = options;

	return cli_parse_count("seed", arg, UINT64_MAX, &o->seed);
}

int measure_set_method(void *opts, const char *arg)
{
	struct measure_options *o = opts;

	if (!strcmp(arg, "sonde")) {
		o->method = METHOD_SONDE;
	} else if (!strcmp(arg, "servet")) {
		o->method = METHOD_SERVET;
	} else {
		cli_error("--method: '%s' is none; sonde and servet are", arg);
		return CLI_USAGE;
	}
	return CLI_DONE;
}

int measure_set_samples(void *options, const char *arg)
{
	struct measure_options *o = options;

	if (!*arg) {
		cli_error("--samples: the file's name is empty");
		return CLI_USAGE;
	}
	o->samples = arg;
	return CLI_DONE;
}

int machine_list_cpus(const struct machine *m, unsigned int **cpus)
{
	int n = sonde_topology_cpus(m->topo, NULL, 0);

	if (n < 0)
		return n;
	*cpus = calloc((size_t)n + 1, sizeof(**cpus));
	if (!*cpus)
		return -ENOMEM;
	return sonde_topology_cpus(m->topo, *cpus, (size_t)n);
}

static int choose_cpu(struct machine *m, int wanted)
{
	unsigned int *cpus;
	int n = machine_list_cpus(m, &cpus);
	char *list;

	if (n < 0)
		return CLI_FAILED;
	for (int i = 0; i < n; i++) {
		if (wanted >= 0 && cpus[i] != (unsigned int)wanted)
			continue;
		m->cpu = cpus[i];
		free(cpus);
		return CLI_DONE;
	}
	list = text_cpus(cpus, (size_t)n);
	cli_error("CPU %d is not among those this process may run on: %s", wanted,
		  list ? list : "?");
	free(list);
	free(cpus);
	return CLI_USAGE;
}

/* What hwloc claims of m->cpu. */
static void read_claims(struct machine *m)
{
	int n = sonde_topology_caches(m->topo, m->cpu, m->claims, MAX_CLAIMS);

	m->nclaims = n < 0 ? 0 : n < MAX_CLAIMS ? (size_t)n : MAX_CLAIMS;
}

/* Whatever says so but which CPUs share them. */
static int is_alike(const struct machine *m, unsigned int cpu)
{
	struct sonde_cache_claim other[MAX_CLAIMS];
	int n = sonde_topology_caches(m->topo, cpu, other, MAX_CLAIMS), alike;

	alike = n == (int)m->nclaims;
	for (int i = 0; i < n && alike; i++) {
		const struct sonde_cache_claim *a = &m->claims[i], *b = &other[i];

		alike = a->level == b->level && a->type == b->type && a->size == b->size &&
			a->ways == b->ways && a->line == b->line;
	}
	return alike;
}

/* Prefetchers are off on the core of m->cpu only. */
int machine_list_alike(const struct machine *m, const struct measure_options *options,
		       unsigned int **cpus)
{
	int n, kept = 0;

	*cpus = NULL;
	if (options->cpu >= 0 || options->no_prefetch || options->method == METHOD_SERVET)
		return 0;
	n = machine_list_cpus(m, cpus);
	for (int i = 0; i < n; i++)
		if ((*cpus)[i] != m->cpu && is_alike(m, (*cpus)[i]))
			(*cpus)[kept++] = (*cpus)[i];
	return n < 0 ? n : kept;
}

static int start_profile(struct machine *m)
{
	const struct sonde_clock_info *clock = sonde_clock_info(m->clk);
	const char *frames = sonde_frames_backend_name(sonde_frames_backend(m->frames));
	const char *transfer = sonde_transfer_way_name(sonde_transfer_way(m->transfer));

	return sonde_profile_new(&m->profile) ||
	       sonde_profile_set_machine(m->profile, m->topo) ||
	       sonde_profile_set_clock(m->profile, clock) ||
	       sonde_profile_set_backend(m->profile, "clock", clock->name, clock->why) ||
	       sonde_profile_set_backend(m->profile, "frames", frames,
					 sonde_frames_why(m->frames)) ||
	       sonde_profile_set_backend(m->profile, "meter", sonde_meter_name(SONDE_METER_USER),
					 NULL) ||
	       sonde_profile_set_backend(m->profile, "transfer", transfer,
					 sonde_transfer_why(m->transfer)) ||
	       sonde_profile_set_claims(m->profile, m->claimed, NULL) ? -ENOMEM : 0;
}

int machine_open(struct machine *m, int cpu)
{
	const char *what = "the topology";
	int err, status;

	memset(m, 0, sizeof(*m));
	err = sonde_topology_open(&m->topo);
	if (err)
		goto failed;
	status = choose_cpu(m, cpu);
	if (status != CLI_DONE)
		return status;
	read_claims(m);
	what = "the claims";
	err = sonde_claims_open(&m->claimed, m->topo, m->cpu);
	if (err)
		goto failed;
	what = "the clock";
	err = sonde_clock_open(&m->clk, SONDE_CLOCK_AUTO);
	if (err)
		goto failed;
	what = "the lookup of page frames";
	err = sonde_frames_open(&m->frames, SONDE_FRAMES_AUTO);
	if (err)
		goto failed;
	what = "the ways to copy between processes";
	err = sonde_transfer_open(&m->transfer, SONDE_TRANSFER_AUTO);
	if (err)
		goto failed;
	what = "the profile";
	err = start_profile(m);
	if (!err)
		return CLI_DONE;
failed:
	cli_error("cannot open %s: %s", what, strerror(-err));
	return CLI_FAILED;
}

static int refuse_caches(const struct machine *m, int err)
{
	switch (err) {
	case -ENOMEM:
		cli_error("not enough memory for the smallest sweep; raise the limit "
			  "(ulimit -v, the cgroup's memory.max)");
		return CLI_FAILED;
	case -EPERM:
		cli_error("may not run on CPU %u", m->cpu);
		return CLI_FAILED;
	case -EINVAL:
		cli_error("no cache can be told in so small a sweep; give --max-size 256K or more");
		return CLI_FAILED;
	default:
		cli_error("cannot measure caches: %s", strerror(-err));
		return CLI_FAILED;
	}
}

static int watch_probe(void *ctx, double done, const char *what)
{
	(void)ctx;
	cli_progress(done, what);
	return cli_stop_requested();
}

/*
 * Beyond the last level, so that memory is seen too, but never so much that it
 * hurts who else is on the machine. A claim bounds the sweep; nothing else of it
 * goes into the measurement.
 */
static size_t choose_sweep(const struct machine *m)
{
	uint64_t largest = 0, bytes;

	for (size_t i = 0; i < m->nclaims; i++)
		if (m->claims[i].size > largest)
			largest = m->claims[i].size;
	if (!largest)
		return 0;
	bytes = 3 * largest + SWEEP_LEAST;
	return bytes < SWEEP_MOST ? bytes : SWEEP_MOST;
}

static int set_method(struct sonde_profile *profile, enum measure_method method)
{
	if (method == METHOD_SERVET)
		return sonde_profile_set_backend(profile, "method", "servet",
						 "asked for; it knows no doubt, so its confidence "
						 "says nothing");
	return sonde_profile_set_backend(profile, "method", "sonde", NULL);
}

int machine_keep_caches(struct machine *m, enum measure_method method)
{
	m->cpu = m->caches->cpu;
	read_claims(m);
	if (!sonde_profile_set_caches(m->profile, m->caches, m->claims, m->nclaims) &&
	    !sonde_profile_set_claims(m->profile, m->claimed, m->caches) &&
	    !set_method(m->profile, method))
		return CLI_DONE;
	cli_error("not enough memory for the profile");
	return CLI_FAILED;
}

static int refuse_samples(const char *path, int err)
{
	cli_error("cannot write the samples to %s: %s", path,
		  err == -EINVAL ? "it is there, and is not a file" : strerror(-err));
	return CLI_FAILED;
}

/* Before anything is measured: nobody measures for nothing. */
int machine_start_samples(struct machine *m, const struct measure_options *options)
{
	int err;

	if (!options->samples || m->recorder)
		return CLI_DONE;
	err = sonde_recorder_open(&m->recorder, options->samples, m->topo, m->profile);
	return err ? refuse_samples(options->samples, err) : CLI_DONE;
}

int machine_save_samples(struct machine *m, const struct measure_options *options)
{
	int err;

	if (!m->recorder || cli_stop_requested())
		return CLI_DONE;
	err = sonde_recorder_save(m->recorder);
	return err ? refuse_samples(options->samples, err) : CLI_DONE;
}

int machine_measure_caches(struct machine *m, const struct measure_options *options)
{
	struct sonde_cache_options how = {
		.cpu = m->cpu,
		.meter = options->meter,
		.budget_s = options->budget_s,
		.max_bytes = options->max_bytes ? options->max_bytes : choose_sweep(m),
		.levels = options->levels,
		.seed = options->seed,
		.progress = watch_probe,
	};
	int status = machine_start_samples(m, options), n, err;
	unsigned int *alike;

	if (status != CLI_DONE)
		return status;
	how.recorder = m->recorder;
	n = machine_list_alike(m, options, &alike);
	if (n < 0)
		return refuse_caches(m, n);
	how.alike = alike;
	how.nalike = (size_t)n;
	err = (options->method == METHOD_SERVET ? sonde_servet_cache : sonde_probe_cache)(
		m->clk, &how, &m->caches);
	free(alike);
	cli_progress_end();
	if (cli_stop_requested())
		return CLI_FAILED;
	if (err)
		return refuse_caches(m, err);
	return machine_keep_caches(m, options->method);
}

/* What does not fit into the caches of today is longer than there is time for. */
#define TRANSFER_MOST	((size_t)4 << 20)

int machine_measure_transfers(struct machine *m, const struct measure_options *options)
{
	struct bench_request request = {
		.clk = m->clk, .max_bytes = TRANSFER_MOST,
		.budget_s = options->budget_s / 10,
	};
	int status = bench_choose_cpus(NULL, m->topo, request.cpus);

	m->transfers = calloc(1, sizeof(*m->transfers));
	if (status == CLI_DONE && m->transfers)
		status = bench_measure(&request, m->transfers);
	if (status == CLI_DONE &&
	    (!m->transfers || sonde_profile_set_transfers(m->profile, m->transfers->points,
							  m->transfers->npoints))) {
		cli_error("not enough memory for the profile");
		status = CLI_FAILED;
	}
	return status;
}

void machine_close(struct machine *m)
{
	free(m->transfers);
	sonde_prefetch_close(m->prefetch);
	sonde_recorder_close(m->recorder);
	sonde_profile_free(m->profile);
	sonde_comm_report_free(m->comm);
	sonde_memory_report_free(m->memory);
	sonde_share_report_free(m->sharing);
	sonde_cache_report_free(m->caches);
	sonde_transfer_close(m->transfer);
	sonde_frames_close(m->frames);
	sonde_clock_close(m->clk);
	sonde_claims_close(m->claimed);
	sonde_topology_close(m->topo);
}
