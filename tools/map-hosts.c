// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-hosts - the nodes: "HOST", "HOST:RANKS" as hydra has it, or "HOST slots=RANKS"
 * as Open MPI has it; # begins a comment
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "map.h"

static int add_node(struct map_machine *m, const char *name, size_t slots)
{
	struct map_node *more = realloc(m->node, (m->nnodes + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	m->node = more;
	more[m->nnodes] = (struct map_node){ strdup(name), (unsigned int)slots };
	return more[m->nnodes++].name ? 0 : -ENOMEM;
}

int map_hosts_make(struct map_machine *m, size_t nodes, size_t slots)
{
	char name[32];
	int err = 0;

	for (size_t i = 0; i < nodes && !err; i++) {
		snprintf(name, sizeof(name), nodes > 1 ? "node%zu" : "localhost", i);
		err = add_node(m, name, slots);
	}
	return err;
}

/* A number of ranks, to the end of a word. 0 if it is none. */
static size_t parse_slots(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n <= MAP_MOST ? n : 0;
}

static int has_node(const struct map_machine *m, const char *name)
{
	for (size_t i = 0; i < m->nnodes; i++)
		if (!strcmp(m->node[i].name, name))
			return 1;
	return 0;
}

static int read_line(struct map_machine *m, char *line, size_t slots, char *why)
{
	char *saved, *name, *word, *colon;
	size_t n = slots;

	line[strcspn(line, "#\r\n")] = '\0';
	name = strtok_r(line, " \t", &saved);
	if (!name)
		return 0;
	colon = strrchr(name, ':');
	if (colon) {
		*colon = '\0';
		n = parse_slots(colon + 1);
	}
	while ((word = strtok_r(NULL, " \t", &saved)))
		n = strncmp(word, "slots=", 6) ? 0 : parse_slots(word + 6);
	if (!n) {
		snprintf(why, MAP_WHY, "give HOST, HOST:RANKS or HOST slots=RANKS");
		return -EINVAL;
	}
	if (has_node(m, name)) {
		snprintf(why, MAP_WHY, "%.100s is there twice; give it once, with all its ranks",
			 name);
		return -EINVAL;
	}
	return add_node(m, name, n);
}

int map_hosts_read(struct map_machine *m, const char *path, size_t slots, char *why)
{
	FILE *file = fopen(path, "re");
	char *line = NULL, reason[MAP_WHY] = "";
	size_t room = 0;
	int number = 0, err = 0;

	if (!file) {
		err = -errno;
		snprintf(why, MAP_WHY, "%s: %s", path, strerror(-err));
		return err;
	}
	while (!err && getline(&line, &room, file) >= 0) {
		number++;
		err = read_line(m, line, slots, reason);
	}
	if (!err && ferror(file))
		err = -EIO;
	if (err)
		snprintf(why, MAP_WHY, "%.100s, line %d: %s", path, number,
			 *reason ? reason : strerror(-err));
	else if (!m->nnodes)
		snprintf(why, MAP_WHY, "%.100s names no host", path);
	free(line);
	fclose(file);
	return err ? err : m->nnodes ? 0 : -EINVAL;
}
