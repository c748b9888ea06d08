/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What sets were before they were first changed, from some moment on: so it can be
 * told whether all caches and TLBs are again as they were then. A set costs one
 * copy; sets that nobody changes cost nothing.
 */
#ifndef TESTS_SIM_JOURNAL_H
#define TESTS_SIM_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct journal_entry - a set that was changed
 * @now: its words, @n of them
 * @was: where its words of then begin in journal.words
 */
struct journal_entry {
	const uint32_t *now;
	size_t was, n;
};

/**
 * struct journal - all of them
 * @is_open: changes are written down
 * @is_lost: something happened that need not happen again after the same: chance
 *           or time had a part in it, or it became too much to remember
 * @epoch: of this journal; a set with the same mark is in it already
 * @entry: @nentries sets
 * @words: of these, @nwords
 * @suspect: the entry that was last found to differ
 */
struct journal {
	int is_open, is_lost;
	uint32_t epoch;
	struct journal_entry *entry;
	size_t nentries, entries_room;
	uint32_t *words;
	size_t nwords, words_room;
	size_t suspect;
};

/* From now on; what was written down is forgotten. */
void journal_open(struct journal *j);

/* Nothing more is written down. */
static inline void journal_shut(struct journal *j)
{
	j->is_open = 0;
}

/* @n words of a set are about to change for the first time. */
void journal_add(struct journal *j, const uint32_t *words, size_t n);

/* Whether every set is as it was when the journal was opened. Not if it is lost. */
int journal_is_as_before(struct journal *j);

void journal_free(struct journal *j);

#endif
