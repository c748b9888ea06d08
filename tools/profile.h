/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SONDE_TOOLS_PROFILE_H
#define SONDE_TOOLS_PROFILE_H

#include <sonde/profile.h>

/* A profile that the user named; NULL after it was said what is wrong with it. */
struct sonde_profile *profile_open(const char *path);

#endif
