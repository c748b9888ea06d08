// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What process 0 calls pieces of shared memory: names that the program gave, allocations,
 * what each process cuts small pieces from, and the library's own pages. A page is in one;
 * one that was given out more than once is in its last.
 *
 * Numbers: the first page of an allocation; then one for each process's small pieces; then
 * names. A page that has a name is in it, whatever else it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"

#define NAME_LEN	48u
#define NAMES_MOST	4096u

struct dsm_names {
	uint16_t *of_page;	/* 0: none; else a name's place and 1 */
	char (*names)[NAME_LEN];
	uint32_t n, room;
};

int dsm_names_create(struct dsm_run *run)
{
	run->names = calloc(1, sizeof(*run->names));
	if (!run->names)
		return -ENOMEM;
	run->names->of_page = calloc(run->pages, sizeof(*run->names->of_page));
	return run->names->of_page ? 0 : -ENOMEM;
}

void dsm_names_destroy(struct dsm_run *run)
{
	if (!run->names)
		return;
	free(run->names->of_page);
	free(run->names->names);
	free(run->names);
}

/* The same name again is the same region. NAMES_MOST if there is no place for it. */
static uint32_t add_name(struct dsm_names *names, const char *name)
{
	uint32_t i = 0;

	while (i < names->n && strcmp(names->names[i], name))
		i++;
	if (i < names->n || i == NAMES_MOST)
		return i;
	if (names->n == names->room) {
		uint32_t room = names->room ? names->room * 2 : 16;
		void *v = realloc(names->names, room * sizeof(*names->names));

		if (!v)
			return NAMES_MOST;
		names->names = v;
		names->room = room;
	}
	memcpy(names->names[names->n], name, NAME_LEN);
	return names->n++;
}

/* What is shown is text: UTF-8, or else ASCII. */
static void clean(char *name)
{
	json_t *text = json_string(name);

	for (; *name; name++)
		if ((unsigned char)*name < ' ' || *name == 0x7f || (!text && *name & 0x80))
			*name = '?';
	json_decref(text);
}

void dsm_on_name(struct dsm_run *run, const struct dsm_word *w, const uint8_t *text, size_t len)
{
	char name[NAME_LEN] = "";
	uint32_t i;

	if (!run->names || w->a + w->b > (uint64_t)run->pages * run->unit || !w->b)
		return;
	memcpy(name, text, len < sizeof(name) - 1 ? len : sizeof(name) - 1);
	clean(name);
	i = add_name(run->names, name);
	for (uint64_t page = w->a / run->unit;
	     i < NAMES_MOST && page <= (w->a + w->b - 1) / run->unit; page++)
		run->names->of_page[page] = (uint16_t)(i + 1);
}

uint32_t dsm_region_of(const struct dsm_run *run, uint32_t page)
{
	uint32_t name = run->names->of_page[page], first;
	uint64_t owner;

	if (name)
		return run->pages + run->processes + name - 1;
	if (!dsm_extent_at(run, page, &first, &owner))
		return page < (dsm_reserved_bytes() + run->unit - 1) / run->unit ? 0 : page;
	return owner == DSM_NOBODY ? first : run->pages + (uint32_t)owner;
}

uint32_t dsm_regions(const struct dsm_run *run)
{
	return run->pages + run->processes + run->names->n;
}

void dsm_region_name(const struct dsm_run *run, uint32_t region, char *name, size_t len)
{
	uint32_t first;
	uint64_t owner;

	if (region >= run->pages + run->processes)
		snprintf(name, len, "%s", run->names->names[region - run->pages - run->processes]);
	else if (region >= run->pages)
		snprintf(name, len, "small pieces of process %u", region - run->pages);
	else if (!region)
		snprintf(name, len, "the library's own");
	else
		snprintf(name, len, "%s at %p",
			 dsm_extent_at(run, region, &first, &owner) ? "allocation" : "nobody's",
			 (void *)(run->fault->view + (size_t)region * run->unit));
}

/* Cut off where it is too long: names are for people. */
int sonde_dsm_name(const void *p, size_t size, const char *name)
{
	struct dsm_run *run = dsm_run();
	struct dsm_word w = { .kind = DSM_WORD_NAME, .b = size };

	if (!run || !size || !name || !*name || !dsm_shares(run, p))
		return EINVAL;
	w.a = (uintptr_t)p - (uintptr_t)run->fault->view;
	if (size > (uint64_t)run->pages * run->unit - w.a)
		return EINVAL;
	if (!dsm_settings_any(&run->settings))
		return 0;
	return dsm_say_more(run, 0, &w, name, strnlen(name, NAME_LEN - 1));
}
