// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * profile_collectives - the part that libsonde-coll reads, as text
 *
 * Its schema is that library's: here it is an object, and is handed on as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include "log.h"
#include "profile.h"

#define KEY "collectives"

int sonde_profile_set_collectives(struct sonde_profile *profile, const char *text)
{
	json_error_t error;
	json_t *part = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!part && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	if (!json_is_object(part)) {
		sonde_log("profile: " KEY ": %s", part ? "not an object" : error.text);
		json_decref(part);
		return -EINVAL;
	}
	return profile_set(profile->root, KEY, part);
}

int sonde_profile_collectives(const struct sonde_profile *profile, char **text)
{
	const json_t *part = json_object_get(profile->root, KEY);
	char *dumped;

	if (!part)
		return -ENOENT;
	dumped = json_dumps(part, JSON_COMPACT | JSON_REAL_PRECISION(15));
	if (!dumped)
		return -ENOMEM;
	*text = dumped;
	return 0;
}
