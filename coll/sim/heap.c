// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * heap - four children a node: half as deep as two, and they share a line or two
 */
#include <errno.h>
#include <stdlib.h>
#include "heap.h"

static int is_before(const struct a2a_event *a, const struct a2a_event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->key != b->key)
		return a->key < b->key;
	return a->where < b->where;
}

static int grow(struct a2a_heap *heap)
{
	size_t room = heap->room ? 2 * heap->room : 1024;
	struct a2a_event *events = realloc(heap->events, room * sizeof(*events));

	if (!events)
		return -ENOMEM;
	heap->events = events;
	heap->room = room;
	return 0;
}

int a2a_heap_push(struct a2a_heap *heap, const struct a2a_event *event)
{
	size_t at = heap->n;

	if (heap->n == heap->room && grow(heap))
		return -ENOMEM;
	heap->n++;
	while (at && is_before(event, &heap->events[(at - 1) / 4])) {
		heap->events[at] = heap->events[(at - 1) / 4];
		at = (at - 1) / 4;
	}
	heap->events[at] = *event;
	return 0;
}

static size_t find_first_child(const struct a2a_heap *heap, size_t at)
{
	size_t first = 4 * at + 1, end = first + 4;

	for (size_t child = first + 1; child < end && child < heap->n; child++)
		if (is_before(&heap->events[child], &heap->events[first]))
			first = child;
	return first;
}

int a2a_heap_pop(struct a2a_heap *heap, struct a2a_event *event)
{
	const struct a2a_event *last;
	size_t at = 0;

	if (!heap->n)
		return 0;
	*event = heap->events[0];
	last = &heap->events[--heap->n];
	while (4 * at + 1 < heap->n) {
		size_t child = find_first_child(heap, at);

		if (!is_before(&heap->events[child], last))
			break;
		heap->events[at] = heap->events[child];
		at = child;
	}
	heap->events[at] = *last;
	return 1;
}

void a2a_heap_free(struct a2a_heap *heap)
{
	free(heap->events);
	*heap = (struct a2a_heap){ .events = NULL };
}
