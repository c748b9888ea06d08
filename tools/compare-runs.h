/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several runs of each side: what differs by more than runs do. */
#ifndef SONDE_TOOLS_COMPARE_RUNS_H
#define SONDE_TOOLS_COMPARE_RUNS_H

#include "compare-fields.h"

/* A field that chance would tell apart more often than this is not said to differ. */
#define RUNS_CHANCE	0.01

/**
 * struct runs - profiles of one side
 * @root: documents, @n of them, by name
 */
struct runs {
	json_t **root;
	size_t n;
};

/**
 * runs_open() - a profile, or all of a folder
 * @runs: to be closed with runs_close(), also on failure
 * @path: a file; or a folder, of which each .json and each folder's profile.json is one
 *
 * Return: CLI_DONE, or CLI_FAILED after saying why.
 */
int runs_open(struct runs *runs, const char *path);
void runs_close(struct runs *runs);

/*
 * Chance that all runs of one side are beyond all of the other where nothing differs:
 * every order of theirs is then as likely as any.
 */
double runs_chance(size_t a, size_t b);

/**
 * runs_judge() - verdicts by all runs
 * @fields: of the first run of each side
 * @sides: the runs
 *
 * Return: 0, -ENOMEM.
 */
int runs_judge(struct fields *fields, const struct runs sides[2]);

#endif
