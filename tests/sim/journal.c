// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "journal.h"
#include "room.h"

/* More is not remembered: 4 MiB. */
#define WORDS_MAX	(1UL << 20)

void journal_open(struct journal *j)
{
	/* No run has so many that one of a mark's age comes again. */
	j->epoch++;
	j->is_open = 1;
	j->is_lost = 0;
	j->nentries = 0;
	j->nwords = 0;
	j->suspect = 0;
}

void journal_add(struct journal *j, const uint32_t *words, size_t n)
{
	struct journal_entry *entry;
	uint32_t *copies;

	if (j->is_lost)
		return;
	j->is_lost = 1;
	if (j->nwords + n > WORDS_MAX)
		return;
	entry = room_for(j->entry, &j->entries_room, j->nentries + 1, sizeof(*entry));
	if (!entry)
		return;
	j->entry = entry;
	copies = room_for(j->words, &j->words_room, j->nwords + n, sizeof(*copies));
	if (!copies)
		return;
	j->words = copies;
	memcpy(copies + j->nwords, words, n * sizeof(*words));
	entry[j->nentries++] = (struct journal_entry){ words, j->nwords, n };
	j->nwords += n;
	j->is_lost = 0;
}

static int differs(const struct journal *j, size_t i)
{
	const struct journal_entry *e = &j->entry[i];

	return memcmp(e->now, j->words + e->was, e->n * sizeof(*e->now)) != 0;
}

int journal_is_as_before(struct journal *j)
{
	if (j->is_lost)
		return 0;
	/* What differed at the last look is the likeliest to differ still. */
	if (j->suspect < j->nentries && differs(j, j->suspect))
		return 0;
	for (size_t i = 0; i < j->nentries; i++) {
		if (differs(j, i)) {
			j->suspect = i;
			return 0;
		}
	}
	return 1;
}

void journal_free(struct journal *j)
{
	free(j->entry);
	free(j->words);
	*j = (struct journal){ .epoch = j->epoch };
}
