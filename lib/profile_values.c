// SPDX-License-Identifier: LGPL-2.1-or-later
/* profile_values - what the sections of a profile are put together of */
#include <math.h>
#include "profile.h"

json_t *profile_append(json_t *list, json_t *value)
{
	if (list && !json_array_append_new(list, value))
		return list;
	json_decref(list);
	return NULL;
}

json_t *profile_measured(double x)
{
	return profile_real(x > 0 ? x : NAN);
}

json_t *profile_unless(int failed, json_t *object)
{
	if (!failed)
		return object;
	json_decref(object);
	return NULL;
}

json_t *profile_interval(const struct sonde_interval *ci)
{
	return profile_append(profile_append(json_array(), profile_measured(ci->low)),
			      profile_measured(ci->high));
}
