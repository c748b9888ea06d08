// SPDX-License-Identifier: GPL-2.0-or-later
/* map-report - what a placement costs beside identity and round-robin, and where it puts whom */
#include <errno.h>
#include <stdlib.h>
#include "map.h"
#include "text.h"

static void count_all(const struct map_matrix *m, double *pairs, double *messages, double *bytes)
{
	*pairs = (double)m->first[m->n] / 2;
	*messages = *bytes = 0;
	for (size_t i = 0; i < m->first[m->n]; i++) {
		*messages += m->edge[i].messages / 2;
		*bytes += m->edge[i].bytes / 2;
	}
}

static void print_price(const char *name, const struct map_price *price, FILE *to)
{
	char total[TEXT_LEN], rank[TEXT_LEN], link[TEXT_LEN], network[TEXT_LEN];

	fprintf(to, "%-22s %12s %14s %14s %14s\n", name, text_ns(total, price->total_ns),
		text_ns(rank, price->rank_ns), text_size(link, (uint64_t)price->link_bytes),
		text_size(network, (uint64_t)price->network_bytes));
}

/* Which layers there are between places. */
static void list_layers(const struct map_machine *m, int is_there[MAP_LAYERS])
{
	for (int l = 0; l < MAP_LAYERS; l++)
		is_there[l] = l == MAP_NETWORK && m->nnodes > 1;
	for (size_t a = 0; a < m->most; a++)
		for (size_t b = 0; b < a; b++)
			is_there[m->cost[a * m->most + b]] = 1;
}

static void print_layers(const struct map_machine *m, FILE *to)
{
	int is_there[MAP_LAYERS];
	char ns[TEXT_LEN], byte[TEXT_LEN], name[32];

	list_layers(m, is_there);
	fprintf(to, "\n%-12s %12s %12s  %s\n", "through", "a message", "a KiB", "source");
	for (size_t l = 0; l < MAP_LAYERS; l++) {
		if (!is_there[l])
			continue;
		map_layer_name(l, name);
		fprintf(to, "%-12s %12s %12s  %s\n", name, text_ns(ns, m->layer[l].message_ns),
			text_ns(byte, 1024 * m->layer[l].byte_ns), m->layer[l].source);
	}
}

static void print_node(const struct map_result *result, unsigned int node, FILE *to)
{
	const struct map_machine *m = result->machine;
	int is_first = 1;

	for (size_t r = 0; r < result->matrix->n; r++) {
		const struct map_place *p = &m->place[result->place[r]];

		if (p->node != node)
			continue;
		fprintf(to, "%s%s%zu", is_first ? m->node[node].name : ",", is_first ? ": " : " ", r);
		if (m->is_bound)
			fprintf(to, " on CPU %u", m->cpu[p->slot]);
		is_first = 0;
	}
	if (!is_first)
		fputc('\n', to);
}

int map_report_text(const struct map_result *result, FILE *to)
{
	const struct map_machine *m = result->machine;
	double pairs, messages, bytes;
	char name[TEXT_LEN], size[TEXT_LEN];

	count_all(result->matrix, &pairs, &messages, &bytes);
	fprintf(to, "%zu ranks on %zu place%s of %zu node%s: %.0f pairs talk, %s in %.0f messages.\n",
		result->matrix->n, m->n, m->n == 1 ? "" : "s", m->nnodes,
		m->nnodes == 1 ? "" : "s", pairs, text_size(size, (uint64_t)bytes), messages);
	if (result->matrix->lost)
		fprintf(to, "%llu calls were not counted, for want of memory.\n",
			(unsigned long long)result->matrix->lost);
	if (result->matrix->outside)
		fprintf(to, "%llu messages went to other jobs.\n",
			(unsigned long long)result->matrix->outside);
	fprintf(to, "\n%-22s %12s %14s %14s %14s\n", "placement", "predicted", "busiest rank",
		"busiest link", "between nodes");
	print_price("identity", &result->identity, to);
	print_price("round-robin", &result->round_robin, to);
	snprintf(name, sizeof(name), "found (%s)", result->how);
	print_price(name, &result->best, to);
	print_layers(m, to);
	fputc('\n', to);
	for (unsigned int node = 0; node < m->nnodes; node++)
		print_node(result, node, to);
	if (result->command)
		fprintf(to, "\nStart it as: %s\n", result->command);
	return ferror(to) ? -EIO : 0;
}

/* ---- JSON ----------------------------------------------------------------- */

static json_t *new_price(const struct map_price *price)
{
	return json_pack("{s:f, s:f, s:f, s:f}", "total_ns", price->total_ns, "rank_ns",
			 price->rank_ns, "link_bytes", price->link_bytes, "network_bytes",
			 price->network_bytes);
}

static json_t *new_layers(const struct map_machine *m)
{
	int is_there[MAP_LAYERS];
	json_t *list = json_array();
	char name[32];

	list_layers(m, is_there);
	for (size_t l = 0; l < MAP_LAYERS; l++) {
		if (!is_there[l])
			continue;
		map_layer_name(l, name);
		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:s}", "through", name,
			"message_ns", m->layer[l].message_ns, "byte_ns", m->layer[l].byte_ns,
			"source", m->layer[l].source));
	}
	return list;
}

static json_t *new_ranks(const struct map_result *result)
{
	const struct map_machine *m = result->machine;
	json_t *list = json_array();

	for (size_t r = 0; r < result->matrix->n; r++) {
		const struct map_place *p = &m->place[result->place[r]];
		json_t *rank = json_pack("{s:I, s:i, s:s}", "rank", (json_int_t)r, "node",
					 (int)p->node, "host", m->node[p->node].name);

		json_object_set_new(rank, "cpu", m->is_bound ? json_integer(m->cpu[p->slot]) :
							       json_null());
		json_array_append_new(list, rank);
	}
	return list;
}

int map_report_json(const struct map_result *result, FILE *to)
{
	double pairs, messages, bytes;
	json_t *root;
	int err;

	count_all(result->matrix, &pairs, &messages, &bytes);
	root = json_pack("{s:s, s:s, s:{s:I, s:I, s:f, s:f, s:I, s:I}, s:o, s:{s:o, s:o, s:o}, s:s, s:o}",
			 "schema", "sonde-map-1", "sonde_version", SONDE_VERSION,
			 "matrix", "ranks", (json_int_t)result->matrix->n,
			 "pairs", (json_int_t)pairs, "messages", messages, "bytes", bytes,
			 "outside", (json_int_t)result->matrix->outside,
			 "lost", (json_int_t)result->matrix->lost,
			 "layers", new_layers(result->machine),
			 "costs", "identity", new_price(&result->identity),
			 "round_robin", new_price(&result->round_robin),
			 "found", new_price(&result->best), "found_by", result->how,
			 "ranks", new_ranks(result));
	if (!root)
		return -ENOMEM;
	err = json_dumpf(root, to, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) ||
	      fputc('\n', to) == EOF ? -EIO : 0;
	json_decref(root);
	return err;
}
