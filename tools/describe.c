// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * describe - results in words
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "claims.h"
#include "text.h"
#include "describe.h"

static void name_level(char *buf, size_t len, unsigned int level, enum sonde_cache_type type)
{
	snprintf(buf, len, "L%u%s", level, level == 1 && type == SONDE_CACHE_DATA ? "d" : "");
}

/* "1.6 to 2.2 MiB" would be shorter, but two units are never misread. */
void describe_interval(uint64_t low, uint64_t high, char *buf, size_t len)
{
	char a[TEXT_LEN], b[TEXT_LEN];

	if (low && high)
		snprintf(buf, len, "%s to %s", text_size(a, low), text_size(b, high));
	else if (low)
		snprintf(buf, len, "at least %s", text_size(a, low));
	else if (high)
		snprintf(buf, len, "at most %s", text_size(a, high));
	else
		*buf = '\0';
}

void describe_size(const struct sonde_cache_level *level, char *buf, size_t len)
{
	char size[TEXT_LEN], interval[2 * TEXT_LEN + 8];
	int is_exact = level->size == level->size_low && level->size == level->size_high;

	describe_interval(level->size_low, level->size_high, interval, sizeof(interval));
	if (level->size && (is_exact || !*interval))
		snprintf(buf, len, "%s", text_size(size, level->size));
	else if (level->size)
		snprintf(buf, len, "%s (%s)", text_size(size, level->size), interval);
	else if (*interval)
		snprintf(buf, len, "cannot be told (%s)", interval);
	else
		snprintf(buf, len, "cannot be told here");
}

/* ", 16 ways, 64 B lines": what is known of them. */
static char *text_shape(char buf[TEXT_LEN], int ways, unsigned int line)
{
	int n = 0;

	*buf = '\0';
	if (ways < 0)
		n = snprintf(buf, TEXT_LEN, ", fully associative");
	else if (ways)
		n = snprintf(buf, TEXT_LEN, ", %d ways", ways);
	if (line)
		snprintf(buf + n, (size_t)(TEXT_LEN - n), ", %u B lines", line);
	return buf;
}

/* The same of a level, and what only a measurement tells. */
static char *text_measured_shape(char buf[TEXT_LEN], const struct sonde_cache_level *level)
{
	size_t n;

	text_shape(buf, (int)level->ways, level->line);
	n = strlen(buf);
	if (level->colours)
		n += (size_t)snprintf(buf + n, TEXT_LEN - n, ", %u colour%s", level->colours,
				      level->colours == 1 ? "" : "s");
	if (level->holding == SONDE_HOLDING_OTHER && n < TEXT_LEN)
		snprintf(buf + n, TEXT_LEN - n, ", exclusive");
	return buf;
}

static void print_claim(char *buf, size_t len, const struct sonde_cache_claim *claim)
{
	char size[TEXT_LEN], shape[TEXT_LEN];

	snprintf(buf, len, "%s%s", claim->size ? text_size(size, claim->size) : "size unknown",
		 text_shape(shape, claim->ways, claim->line));
}

static enum verdict judge(const struct sonde_cache_level *level,
			  const struct sonde_cache_claim *claim)
{
	switch (sonde_cache_agrees(level, claim)) {
	case 1:
		return VERDICT_AGREES;
	case 0:
		return VERDICT_DISAGREES;
	default:
		if (!claim->size)
			return VERDICT_NONE;
		return level->size ? VERDICT_UNSURE : VERDICT_OPEN;
	}
}

static const char *name_verdict(enum verdict verdict)
{
	switch (verdict) {
	case VERDICT_AGREES:
		return "agrees";
	case VERDICT_DISAGREES:
		return "DISAGREES";
	case VERDICT_OPEN:
		return "not comparable";
	case VERDICT_UNSURE:
		return "differs, unsure";
	default:
		return "";
	}
}

static void fill_latency(struct cache_row *row, const struct sonde_latency *latency)
{
	if (latency->ns > 0)
		text_ns(row->ns, latency->ns);
	if (latency->cycles > 0)
		text_cycles(row->cycles, latency->cycles);
}

static void fill_measured(struct cache_row *row, const struct sonde_cache_level *level)
{
	char size[CELL_LEN - TEXT_LEN], shape[TEXT_LEN];

	name_level(row->level, sizeof(row->level), level->level, level->type);
	describe_size(level, size, sizeof(size));
	snprintf(row->measured, sizeof(row->measured), "%s%s", size,
		 text_measured_shape(shape, level));
	fill_latency(row, &level->latency);
	snprintf(row->confidence, sizeof(row->confidence), "%.2f", level->confidence);
}

static void fill_claim(struct cache_row *row, const struct claim_group *group,
		       const struct sonde_cache_level *level)
{
	char sources[SOURCES_LEN];

	print_claim(row->claimed, sizeof(row->claimed), &group->claim);
	snprintf(row->by, sizeof(row->by), "%s", name_sources(sources, group->sources, ", "));
	if (!level)
		return;
	row->verdict = judge(level, &group->claim);
	snprintf(row->claim_verdict, sizeof(row->claim_verdict), "%s", name_verdict(row->verdict));
}

/* A level that is only claimed: the sweep did not come so far, or saw no edge. */
static void fill_missing(struct cache_row *row, const struct sonde_cache_claim *claim,
			 const struct sonde_cache_report *caches)
{
	size_t reached = caches->npoints ? caches->points[caches->npoints - 1].bytes : 0;

	name_level(row->level, sizeof(row->level), claim->level, claim->type);
	snprintf(row->measured, sizeof(row->measured), "%s",
		 reached > claim->size ? "not found" : "not reached");
}

unsigned int find_deepest(const struct machine *m)
{
	const struct sonde_cache_claim *claims;
	unsigned int deepest = 0;
	size_t n;

	for (size_t i = 0; i < m->caches->nlevels; i++)
		if (m->caches->levels[i].level > deepest)
			deepest = m->caches->levels[i].level;
	claims = sonde_claims_list(m->claimed, &n);
	for (size_t i = 0; i < n; i++)
		if (claims[i].level > deepest)
			deepest = claims[i].level;
	return deepest;
}

const struct sonde_cache_level *find_level(const struct machine *m, unsigned int number)
{
	for (size_t i = 0; i < m->caches->nlevels; i++)
		if (m->caches->levels[i].level == number)
			return &m->caches->levels[i];
	return NULL;
}

void describe_level_name(const struct machine *m, unsigned int number, char *buf, size_t len)
{
	const struct sonde_cache_level *level = find_level(m, number);
	struct claim_group groups[SONDE_CLAIM_SOURCES];

	if (level)
		name_level(buf, len, number, level->type);
	else if (group_claims(m, number, groups))
		name_level(buf, len, number, groups[0].claim.type);
	else
		name_level(buf, len, number, SONDE_CACHE_UNIFIED);
}

/* The rows of one level. Return: how many. */
static size_t describe_level(const struct machine *m, unsigned int number, struct cache_row *row)
{
	const struct sonde_cache_level *level = find_level(m, number);
	struct claim_group groups[SONDE_CLAIM_SOURCES];
	size_t n = group_claims(m, number, groups);

	if (level)
		fill_measured(row, level);
	else if (n)
		fill_missing(row, &groups[0].claim, m->caches);
	for (size_t i = 0; i < n; i++)
		fill_claim(&row[i], &groups[i], level);
	return n ? n : level != NULL;
}

int describe_caches(const struct machine *m, struct cache_row **rows)
{
	unsigned int deepest = find_deepest(m);
	struct cache_row *row = calloc((size_t)deepest * SONDE_CLAIM_SOURCES + 1, sizeof(*row));

	if (!row)
		return -ENOMEM;
	*rows = row;
	for (unsigned int number = 1; number <= deepest; number++)
		row += describe_level(m, number, row);
	if (m->caches->memory.ns > 0) {
		snprintf(row->level, sizeof(row->level), "memory");
		fill_latency(row, &m->caches->memory);
		row++;
	}
	return (int)(row - *rows);
}

char *describe_tlb_step(const struct machine *m, const struct sonde_tlb_step *step, char *buf,
			size_t len)
{
	uint64_t page = sonde_topology_page_bytes(m->topo);
	char size[TEXT_LEN], cycles[TEXT_LEN];

	snprintf(buf, len, "%u pages (%s) fit; beyond them a load costs %s more", step->pages,
		 text_size(size, step->pages * page), text_cycles(cycles, step->cycles));
	return buf;
}

static size_t count_cpus(const struct machine *m, char *buf, size_t len)
{
	int n = sonde_topology_cpus(m->topo, NULL, 0);
	unsigned int *cpus = calloc(n > 0 ? (size_t)n : 1, sizeof(*cpus));
	char *list = NULL;

	if (cpus && n > 0 && sonde_topology_cpus(m->topo, cpus, (size_t)n) == n)
		list = text_cpus(cpus, (size_t)n);
	snprintf(buf, len, "%d%s%s%s", n, list ? " (" : "", list ? list : "", list ? ")" : "");
	free(list);
	free(cpus);
	return n > 0 ? (size_t)n : 0;
}

size_t describe_machine(const struct machine *m, struct fact facts[MAX_FACTS])
{
	char size[TEXT_LEN];
	struct utsname u;
	size_t n = 0;

	facts[n].name = "processor";
	snprintf(facts[n++].value, CELL_LEN, "%s", sonde_topology_cpu_model(m->topo));
	facts[n].name = "CPUs";
	count_cpus(m, facts[n++].value, CELL_LEN);
	facts[n].name = "NUMA nodes";
	snprintf(facts[n++].value, CELL_LEN, "%d", sonde_topology_nodes(m->topo));
	facts[n].name = "memory";
	snprintf(facts[n++].value, CELL_LEN, "%s", text_size(size, sonde_topology_memory(m->topo)));
	facts[n].name = "page";
	snprintf(facts[n++].value, CELL_LEN, "%s",
		 text_size(size, sonde_topology_page_bytes(m->topo)));
	if (!uname(&u)) {
		facts[n].name = "kernel";
		snprintf(facts[n++].value, CELL_LEN, "%s %s (%s)", u.sysname, u.release, u.machine);
	}
	return n;
}

size_t describe_clock(const struct sonde_clock_info *info, struct fact facts[MAX_FACTS])
{
	double ns = 1e9 / info->hz;
	size_t n = 0;

	facts[n].name = "source";
	snprintf(facts[n++].value, CELL_LEN, "%s (%s)", info->name,
		 info->source == SONDE_CLOCK_COUNTER ? "the processor's counter" :
		 "CLOCK_MONOTONIC_RAW of the kernel");
	facts[n].name = "frequency";
	snprintf(facts[n++].value, CELL_LEN, "%.6f MHz (%.6f to %.6f)", info->hz / 1e6,
		 info->hz_low / 1e6, info->hz_high / 1e6);
	facts[n].name = "claimed";
	if (info->claimed_hz > 0)
		snprintf(facts[n++].value, CELL_LEN, "%.6f MHz", info->claimed_hz / 1e6);
	else
		snprintf(facts[n++].value, CELL_LEN, "nothing");
	facts[n].name = "read costs";
	snprintf(facts[n++].value, CELL_LEN, "%.6g ticks, %.3g ns", info->overhead_ticks,
		 info->overhead_ticks * ns);
	facts[n].name = "step";
	snprintf(facts[n++].value, CELL_LEN, "%llu %s, %.3g ns",
		 (unsigned long long)info->step_ticks, info->step_ticks == 1 ? "tick" : "ticks",
		 (double)info->step_ticks * ns);
	if (info->why) {
		facts[n].name = "why";
		snprintf(facts[n++].value, CELL_LEN, "%s", info->why);
	}
	return n;
}

void describe_backends(const struct machine *m, struct backend backends[NBACKENDS])
{
	const struct sonde_clock_info *clock = sonde_clock_info(m->clk);

	backends[0] = (struct backend){
		.seam = "frames",
		.purpose = "which page frame backs a page",
		.using = sonde_frames_backend_name(sonde_frames_backend(m->frames)),
		.why = sonde_frames_why(m->frames),
	};
	backends[1] = (struct backend){
		.seam = "meter",
		.purpose = "the loops that are timed",
		.using = sonde_meter_name(SONDE_METER_USER),
	};
	backends[2] = (struct backend){
		.seam = "clock",
		.purpose = "what times them",
		.using = clock->name,
		.why = clock->why,
	};
	backends[3] = (struct backend){
		.seam = "transfer",
		.purpose = "what copies between processes",
		.using = sonde_transfer_way_name(sonde_transfer_way(m->transfer)),
		.why = sonde_transfer_why(m->transfer),
	};
}
