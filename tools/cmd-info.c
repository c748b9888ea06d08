// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sonde info - what is there, what is used, and why not something better
 */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/device.h>
#include <linux/sonde.h>
#include "text.h"
#include "describe.h"

/**
 * struct node - one device node of the module
 * @why: why it cannot be used; empty if it can
 */
struct node {
	const char *name;
	enum sonde_node which;
	int err;
	char why[256];
	char version[32];
	uint64_t features;
	uint64_t rights;
};

#define NNODES 2

static void look_at_node(struct node *node)
{
	struct sonde_device *dev;

	node->err = sonde_device_open(&dev, node->which);
	if (node->err) {
		sonde_device_explain(node->which, node->err, node->why, sizeof(node->why));
		return;
	}
	snprintf(node->version, sizeof(node->version), "%s", sonde_device_version(dev));
	node->features = sonde_device_features(dev);
	node->rights = sonde_device_rights(dev);
	sonde_device_close(dev);
}

static void look_at_module(struct node nodes[NNODES])
{
	nodes[0] = (struct node){ .name = "sonde", .which = SONDE_NODE_MAIN };
	nodes[1] = (struct node){ .name = "sonde-probe", .which = SONDE_NODE_PROBE };
	for (size_t i = 0; i < NNODES; i++)
		look_at_node(&nodes[i]);
}

/* A node that is there but may not be opened says that the module is loaded. */
static int is_loaded(const struct node nodes[NNODES])
{
	for (size_t i = 0; i < NNODES; i++)
		if (nodes[i].err != -ENODEV)
			return 1;
	return 0;
}

static const char *name_feature(unsigned int bit)
{
	switch (1ULL << bit) {
	case SONDE_FEAT_FRAMES:
		return "frames";
	case SONDE_FEAT_ALLOC:
		return "alloc";
	case SONDE_FEAT_CHASE:
		return "chase";
	case SONDE_FEAT_CLOCK:
		return "clock";
	case SONDE_FEAT_PREFETCH:
		return "prefetch";
	case SONDE_FEAT_REGION:
		return "region";
	case SONDE_FEAT_COPYV:
		return "copyv";
	case SONDE_FEAT_ASYNC:
		return "async";
	case SONDE_FEAT_MAP:
		return "map";
	case SONDE_FEAT_DSM:
		return "dsm";
	case SONDE_FEAT_DSM_PEERS:
		return "dsm-peers";
	case SONDE_FEAT_DSM_KEEP:
		return "dsm-keep";
	case SONDE_FEAT_DSM_ACCESSED:
		return "dsm-accessed";
	case SONDE_FEAT_DSM_RING:
		return "dsm-ring";
	case SONDE_FEAT_FLUSH:
		return "flush";
	default:
		return NULL;
	}
}

static const char *name_right(unsigned int bit)
{
	return 1ULL << bit == SONDE_RIGHT_FRAMES ? "frames" : NULL;
}

/* Bits by name; one that a newer module has by its number. */
static json_t *list_bits(uint64_t bits, const char *(*name)(unsigned int bit))
{
	json_t *list = json_array();

	for (unsigned int bit = 0; bit < 64; bit++) {
		if (!(bits >> bit & 1))
			continue;
		json_array_append_new(list, name(bit) ? json_string(name(bit)) :
				      json_sprintf("bit-%u", bit));
	}
	return list;
}

static json_t *pack_node(const struct node *node)
{
	return json_pack("{s:s, s:b, s:s?, s:s?, s:o, s:o}", "name", node->name,
			 "reachable", !node->err,
			 "why", node->err ? node->why : NULL,
			 "version", node->err ? NULL : node->version,
			 "features", list_bits(node->features, name_feature),
			 "rights", list_bits(node->rights, name_right));
}

static json_t *pack_module(const struct node nodes[NNODES])
{
	return json_pack("{s:b, s:[o, o]}", "loaded", is_loaded(nodes), "nodes",
			 pack_node(&nodes[0]), pack_node(&nodes[1]));
}

/* The profile as it stands before anything is measured, and the module. */
static int print_json(const struct machine *m, const struct node nodes[NNODES])
{
	char *text = NULL;
	size_t len = 0;
	FILE *memory = open_memstream(&text, &len);
	json_t *root = NULL;
	int err = -ENOMEM;

	if (!memory)
		return -ENOMEM;
	if (sonde_profile_dump(m->profile, memory) == 0 && fflush(memory) == 0)
		root = json_loadb(text, len, 0, NULL);
	if (root && !json_object_set_new(root, "module", pack_module(nodes))) {
		err = 0;
		json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
		putchar('\n');
	}
	json_decref(root);
	fclose(memory);
	free(text);
	return err;
}

static void print_node(const struct node *node)
{
	json_t *features = list_bits(node->features, name_feature);
	json_t *rights = list_bits(node->rights, name_right);
	const json_t *item;
	size_t i;

	if (node->err) {
		printf("  %-11s not usable: %s\n", node->name, node->why);
	} else {
		printf("  %-11s version %s; features:", node->name, node->version);
		json_array_foreach(features, i, item)
			printf(" %s", json_string_value(item));
		printf("%s; rights:", json_array_size(features) ? "" : " none");
		json_array_foreach(rights, i, item)
			printf(" %s", json_string_value(item));
		puts(json_array_size(rights) ? "" : " none");
	}
	json_decref(features);
	json_decref(rights);
}

static void print_text(const struct machine *m, const struct node nodes[NNODES])
{
	struct fact facts[MAX_FACTS];

	puts("Machine");
	print_facts(facts, describe_machine(m, facts));
	printf("\nModule: %s\n", is_loaded(nodes) ? "loaded" : "not loaded");
	for (size_t i = 0; i < NNODES; i++)
		print_node(&nodes[i]);
	puts("\nIn use");
	print_backends(m);
}

static const struct cli_option options[] = {
	CLI_COMMON_OPTIONS
};

static int run(int argc, char **argv)
{
	struct cli_common common = { 0 };
	struct node nodes[NNODES];
	struct machine m;
	int status = cli_parse(&cmd_info, argc, argv, &common);

	if (status >= 0)
		return status;
	status = machine_open(&m, -1);
	look_at_module(nodes);
	if (status == CLI_DONE && !common.json) {
		print_text(&m, nodes);
	} else if (status == CLI_DONE && print_json(&m, nodes)) {
		cli_error("not enough memory for the answer");
		status = CLI_FAILED;
	}
	machine_close(&m);
	return status;
}

const struct cli_command cmd_info = {
	.name = "info",
	.summary = "what is there, what is used, and why not something better",
	.options = options,
	.run = run,
};
