/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The events to come, the earliest first. What happens at the same time is in
 * the order of its key, which is the same on every node of a symmetric program:
 * so one node alone goes through the same as all of them together.
 */
#ifndef SONDE_COLL_SIM_HEAP_H
#define SONDE_COLL_SIM_HEAP_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct a2a_event - something that will happen
 * @key: order at the same time within a node
 * @where: rank or node; tells events of several nodes apart
 * @message: what it is about
 */
struct a2a_event {
	double time;
	uint64_t key;
	uint32_t where;
	uint32_t message;
};

struct a2a_heap {
	struct a2a_event *events;
	size_t n, room;
};

/* Return: 0, -ENOMEM. */
int a2a_heap_push(struct a2a_heap *heap, const struct a2a_event *event);

/* Return: 1 and the earliest, 0 if there is none. */
int a2a_heap_pop(struct a2a_heap *heap, struct a2a_event *event);

void a2a_heap_free(struct a2a_heap *heap);

#endif
