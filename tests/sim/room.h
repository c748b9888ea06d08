/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays that grow. */
#ifndef TESTS_SIM_ROOM_H
#define TESTS_SIM_ROOM_H

#include <stddef.h>
#include <stdlib.h>

#define ROOM_FIRST 1024

/*
 * @array, which has room for @room of @size bytes each, or what it has become to have
 * room for @wanted. NULL: no memory, all is as it was.
 */
static inline void *room_for(void *array, size_t *room, size_t wanted, size_t size)
{
	size_t more = *room ? 2 * *room : ROOM_FIRST;

	if (wanted <= *room)
		return array;
	if (more < wanted)
		more = wanted;
	array = realloc(array, more * size);
	if (array)
		*room = more;
	return array;
}

#endif
