/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two profiles, field by field. */
#ifndef SONDE_TOOLS_COMPARE_H
#define SONDE_TOOLS_COMPARE_H

/**
 * compare_profiles() - say what differs, on standard output
 * @paths: of the two, or of folders with several runs of each
 * @json: as JSON, every field
 *
 * Return: CLI_DONE, or CLI_FAILED after saying why.
 */
int compare_profiles(const char *const paths[2], int json);

#endif
