// SPDX-License-Identifier: LGPL-2.1-or-later
/* A process of a job, over whatever transport: made, begun, stopped, and failed. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run.h"

#define BARRIER_END	2u
#define BARRIER_SHOW	3u

_Thread_local struct dsm_local *dsm_local __attribute__((tls_model("initial-exec")));
struct dsm_run *dsm_only_run;

/* ---- what the core asks of its host: the fault back end ---- */
static void *host_page(void *ctx, uint32_t page)
{
	struct dsm_fault *f = ctx;

	return f->ops->page(f, page);
}

static int host_protect(void *ctx, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	struct dsm_fault *f = ctx;

	return f->ops->protect(f, pages, n, prot);
}

static void *host_twin(void *ctx, uint32_t page)
{
	struct dsm_fault *f = ctx;

	return f->ops->twin(f, page);
}

static void host_untwin(void *ctx, uint32_t page)
{
	struct dsm_fault *f = ctx;

	f->ops->untwin(f, page);
}

static ssize_t host_written(void *ctx, uint32_t *pages, size_t room)
{
	struct dsm_fault *f = ctx;

	return f->ops->written(f, pages, room);
}

static void host_offer(void *ctx, uint32_t page, uint32_t home, uint64_t least)
{
	struct dsm_fault *f = ctx;

	f->ops->offer(f, page, home, least);
}

static bool host_withdraw(void *ctx, uint32_t page, uint64_t *version)
{
	struct dsm_fault *f = ctx;

	return f->ops->withdraw(f, page, version);
}

static void host_publish(void *ctx, uint32_t page, uint64_t version)
{
	struct dsm_fault *f = ctx;

	f->ops->publish(f, page, version);
}

/* ---- faults ---- */
/* In a signal handler: stores, an exchange, a futex. */
static void meet(void *ctx, uint32_t page, bool write)
{
	struct dsm_run *run = ctx;
	struct dsm_request r = {
		.event = { .kind = write ? DSM_EV_WRITE : DSM_EV_READ, .id = page },
	};

	dsm_submit(run, &r);
	dsm_await(run, &r, NULL);
}

/* ---- life ---- */
static int create_core(struct dsm_run *run)
{
	struct dsm_config c = {
		.processes = run->processes, .self = run->self, .pages = run->pages,
		.unit = run->unit, .threads = DSM_TICKETS,
		.host = { .ctx = run->fault, .page = host_page, .protect = host_protect,
			  .twin = host_twin, .untwin = host_untwin },
	};

	if (run->fault->caps & DSM_FAULT_WRITES)
		c.host.written = host_written;
	c.races = run->settings.races;
	c.race_reads = run->settings.race_reads;
	c.page_counters = run->page_counters;
	/* Who looks for races must see all writes of homes. */
	if (run->fault->caps & DSM_FAULT_PEERS && !run->settings.races) {
		c.host.offer = host_offer;
		c.host.withdraw = host_withdraw;
		c.host.publish = host_publish;
	}
	return dsm_core_create(&run->core, &c);
}

/* What is there for those who want to see what happens. */
static int prepare_views(struct dsm_run *run)
{
	int err = 0;

	if (run->settings.stats) {
		run->page_counters = calloc(run->pages, sizeof(*run->page_counters));
		err = run->page_counters ? dsm_contention_create(run) : -ENOMEM;
	}
	if (!err && !run->self && dsm_settings_any(&run->settings)) {
		run->reports = calloc(run->processes, sizeof(*run->reports));
		err = run->reports ? dsm_names_create(run) : -ENOMEM;
	}
	if (!err && run->settings.trace_file)
		err = dsm_trace_create(run);
	run->is_timed = run->settings.stats || run->settings.trace_file;
	if (!err)
		dsm_live_create(run);
	return err;
}

int dsm_run_create(struct dsm_run **run, const struct dsm_run_config *config, char *why,
		   size_t len)
{
	struct dsm_run *r = calloc(1, sizeof(*r));
	struct dsm_fault_config f = {
		.address = config->address, .pages = config->pages, .unit = config->unit,
		.ctx = r, .fault = meet,
	};
	int err;

	if (!r)
		return -ENOMEM;
	r->transport = config->transport;
	r->processes = config->transport->processes;
	r->self = config->transport->self;
	r->pages = config->pages;
	r->unit = config->unit;
	r->backlog_end = &r->backlog;
	r->next_process = r->self;
	pthread_mutex_init(&r->threads_lock, NULL);
	while (r->ntickets < DSM_TICKETS) {
		r->tickets[r->ntickets] = DSM_TICKETS - 1 - r->ntickets;
		r->ntickets++;
	}
	err = dsm_settings_copy(&r->settings, &config->settings, !r->self, why, len);
	if (!err)
		err = dsm_fault_create(&r->fault, config->fault, &f, why, len);
	if (!err)
		err = prepare_views(r);
	if (!err)
		err = create_core(r);
	if (!err)
		err = dsm_heap_create(r, (dsm_reserved_bytes() + r->unit - 1) / r->unit);
	if (err) {
		dsm_run_destroy(r);
		return err;
	}
	dsm_set_homes(r);
	r->shared = (struct dsm_shared *)r->fault->view;
	err = dsm_events_start(r);
	if (err) {
		dsm_run_destroy(r);
		return err;
	}
	*run = r;
	return 0;
}

/* Without it, or where it fails, pages of this node come by messages like others. */
int dsm_run_share(struct dsm_run *run, bool wants)
{
	const bool can = wants && run->fault->caps & DSM_FAULT_PEERS && !run->settings.races;
	int *fds, err;

	if (!run->transport->ops->share)
		return 0;
	fds = malloc(run->processes * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	err = run->transport->ops->share(run->transport, can ? run->fault->fd : -1, fds);
	if (!err && can)
		err = run->fault->ops->peers(run->fault, fds, run->processes);
	for (uint32_t i = 0; i < run->processes; i++) {
		if (fds[i] < 0)
			continue;
		close(fds[i]);
		if (!err && can && i != run->self)
			err = dsm_core_set_peer(run->core, i);
	}
	free(fds);
	return err;
}

/* After the last barrier nothing is under way; what ends it comes from here. */
int dsm_run_finish(struct dsm_run *run)
{
	/* Then all is done, all writes are at home, and races that were found are on their way. */
	if (dsm_settings_any(&run->settings))
		dsm_do(run, DSM_EV_BARRIER, BARRIER_SHOW, 1, NULL);
	if (run->trace)
		dsm_trace_say(run);
	if (dsm_settings_any(&run->settings))
		dsm_stats_say(run);
	return dsm_do(run, DSM_EV_BARRIER, BARRIER_END, 1, NULL);
}

int dsm_run_show(struct dsm_run *run)
{
	int err, again;

	if (run->self || !dsm_settings_any(&run->settings))
		return 0;
	dsm_stats_wait(run);
	if (run->settings.races)
		dsm_races_show(run);
	err = dsm_stats_show(run);
	again = run->trace ? dsm_trace_write(run) : 0;
	return err ? err : again;
}

void dsm_run_stop(struct dsm_run *run)
{
	struct dsm_request stop = { .kind = DSM_REQUEST_STOP };

	dsm_submit(run, &stop);
	dsm_await(run, &stop, NULL);
}

void dsm_run_destroy(struct dsm_run *run)
{
	if (!run)
		return;
	dsm_events_stop(run);
	dsm_core_destroy(run->core);
	dsm_heap_destroy(run);
	if (run->fault)
		run->fault->ops->destroy(run->fault);
	dsm_actions_free(&run->actions);
	dsm_threads_destroy(run);
	pthread_mutex_destroy(&run->threads_lock);
	dsm_live_destroy(run);
	dsm_trace_destroy(run);
	dsm_names_destroy(run);
	dsm_contention_destroy(run);
	for (uint32_t i = 0; run->reports && i < run->processes; i++) {
		free(run->reports[i].pages);
		free(run->reports[i].locks);
	}
	free(run->reports);
	free(run->races);
	free(run->page_counters);
	dsm_settings_free(&run->settings);
	free(run);
}

void dsm_run_fail(struct dsm_run *run, const char *format, ...)
{
	char line[400];
	va_list args;
	int n = snprintf(line, sizeof(line), "sonde-dsm: process %u: ", run->self);

	va_start(args, format);
	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, (size_t)n) < 0)
		n = 0;
	run->transport->ops->abort(run->transport);
	_exit(1);
}
