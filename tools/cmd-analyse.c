// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde analyse - the report of samples that were kept
 *
 * The machine is the recorded one: what describes this one is not looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sonde/log.h>
#include "describe.h"
#include "memory.h"
#include "sharing.h"

#define REASON_LEN 512

struct analyse_options {
	struct cli_common common;
	const char *path;
	int curve;
	int matrix;
};

static int set_path(void *opts, const char *arg)
{
	struct analyse_options *o = opts;

	o->path = arg;
	return CLI_DONE;
}

static int set_curve(void *opts, const char *arg)
{
	struct analyse_options *o = opts;

	(void)arg;
	o->curve = 1;
	return CLI_DONE;
}

static int set_matrix(void *opts, const char *arg)
{
	struct analyse_options *o = opts;

	(void)arg;
	o->matrix = 1;
	return CLI_DONE;
}

static const struct cli_option options[] = {
	{ "curve", 0, NULL, "print the latency curve too, of samples of caches", set_curve },
	{ "matrix", 0, NULL, "print what each comparison gave, of samples of sharing", set_matrix },
	{ "json", 0, NULL, "print JSON, see sonde-profile(5)", cli_set_json },
	{ "help", 'h', NULL, "this list", NULL },
	{ NULL, 0, NULL, NULL, NULL }
};

/* The library's last word says which line of the file is wrong, and why. */
static void keep_reason(void *ctx, const char *line)
{
	snprintf(ctx, REASON_LEN, "%s", line);
}

static int refuse(const struct analyse_options *o, const char *reason, int err)
{
	if (err == -ENODATA)
		cli_error("%s: it says nothing of the machine; sonde cache, share and memory make "
			  "captures that do", o->path);
	else if (err == -EFBIG)
		cli_error("cannot read %s: it is too large to be a capture", o->path);
	else if ((err == -EBADMSG || err == -EPROTO) && *reason)
		cli_error("%s", reason);
	else
		cli_error("cannot analyse %s: %s", o->path, strerror(-err));
	return CLI_FAILED;
}

/* As machine_open(), of the machine that was recorded. */
static int restore_machine(struct machine *m, const struct sonde_samples *samples)
{
	int err = sonde_samples_topology(samples, &m->topo);

	if (!err)
		err = sonde_samples_profile(samples, &m->profile);
	if (!err)
		err = sonde_profile_claims(m->profile, &m->claimed);
	return err == -ENOENT ? -ENODATA : err;
}

/* As machine_measure_caches(), _sharing() and _memory(), each of which may be missing. */
static int ask_again(struct machine *m, struct sonde_samples *samples)
{
	int err = sonde_samples_cache(samples, &m->caches);

	if (!err || err == -ENODATA)
		err = sonde_samples_share(samples, &m->sharing);
	if (!err || err == -ENODATA)
		err = sonde_samples_memory(samples, &m->memory);
	return err == -ENODATA && (m->caches || m->memory) ? 0 : err;
}

static int keep(struct machine *m, int is_servet)
{
	int status = CLI_DONE;

	if (m->caches)
		status = machine_keep_caches(m, is_servet ? METHOD_SERVET : METHOD_SONDE);
	if (status == CLI_DONE && m->sharing)
		status = machine_keep_sharing(m);
	if (status == CLI_DONE && m->memory)
		status = machine_keep_memory(m);
	return status;
}

static int show(struct machine *m, const struct analyse_options *o, int is_servet)
{
	int status = keep(m, is_servet);

	if (status != CLI_DONE)
		return status;
	if (m->sharing)
		return show_sharing(m, o->common.json, o->matrix);
	return m->caches ? show_caches(m, o->common.json, o->curve)
			 : show_memory(m, o->common.json);
}

static int analyse(const struct analyse_options *o)
{
	struct machine m = { .cpu = 0 };
	struct sonde_samples *samples = NULL;
	char reason[REASON_LEN] = "";
	int err, status;

	sonde_set_log(keep_reason, reason);
	err = sonde_samples_load(&samples, o->path);
	if (!err)
		err = restore_machine(&m, samples);
	if (!err)
		err = ask_again(&m, samples);
	sonde_set_log(NULL, NULL);
	status = err ? refuse(o, reason, err)
		     : show(&m, o, !strcmp(sonde_samples_probe(samples), "servet"));
	sonde_samples_free(samples);
	machine_close(&m);
	return status;
}

static int run(int argc, char **argv)
{
	struct analyse_options o = { .path = NULL };
	int status = cli_parse(&cmd_analyse, argc, argv, &o);

	return status >= 0 ? status : analyse(&o);
}

const struct cli_command cmd_analyse = {
	.name = "analyse",
	.summary = "the report of samples that were kept, without the machine",
	.options = options,
	.run = run,
	.operand = "FILE",
	.set_operand = set_path,
};
