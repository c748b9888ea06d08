/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * local_pull - exchanges in a node in which each reads from the others' memory
 *
 * CMA and regions differ in how memory is named and read, and in nothing else.
 */
#ifndef SONDE_COLL_LOCAL_PULL_H
#define SONDE_COLL_LOCAL_PULL_H

#include <stddef.h>
#include <stdint.h>

#include "choice.h"

struct coll_call;
struct coll_map;
struct coll_plan;
struct coll_pull;

#define COLL_HANDLE	48	/* bytes of what names memory to the others */

/**
 * struct coll_read - bytes of another local rank's memory
 * @from: local rank
 * @at: bytes from the begin of what it has offered
 */
struct coll_read {
	int from;
	size_t at;
	char *to;
	size_t len;
};

/**
 * struct coll_pull_ops - a way
 * @open: collective over the node; an error of one rank is one of all, later
 * @offer: memory of this rank to all of its node; its handle
 * @accept: what another has offered in this step
 * @read: all of them, by as few calls as can be. Return: 0, -errno
 */
struct coll_pull_ops {
	int (*open)(struct coll_pull *pull, struct coll_plan *plan);
	void (*close)(struct coll_pull *pull);
	int (*offer)(struct coll_pull *pull, char *at, size_t len, void *handle);
	int (*accept)(struct coll_pull *pull, int from, const void *handle);
	int (*read)(struct coll_pull *pull, struct coll_read *reads, size_t n);
};

/**
 * struct coll_pull - one way of one plan
 * @is_there: all ranks of all nodes can read so
 * @why: the error, where it is not
 * @nothing: what is offered by who has nothing
 * @ground: what was last given to receive in, to be offered
 * @reads: memory for lists of them
 */
struct coll_pull {
	const struct coll_pull_ops *ops;
	int is_there, why;
	struct coll_plan *plan;
	char *ground;
	size_t ground_bytes;
	char nothing[8];
	struct coll_read *reads;
	size_t room;
	void *own;
};

extern const struct coll_pull_ops coll_pull_cma, coll_pull_region;

/* Opens the way if need be: collective over the plan. Return: 1; 0, and why not. */
int coll_pull_is_there(struct coll_plan *plan, enum coll_way way, char *why, size_t len);
/* Whether regions of this process go by the module, not by CMA behind the scenes. */
int coll_has_module(void);
void coll_pull_close(struct coll_pull *pull);

/*
 * Offers [@at, @at + @len), and reads; @reads NULL: it went wrong before. Return:
 * 0; -EOWNERDEAD; COLL_DECLINED; 1: it went wrong for some rank of the node, and all know.
 */
int coll_pull_together(struct coll_pull *pull, char *at, size_t len, struct coll_read *reads,
		       size_t n);

/*
 * Collects through the segment what one copy could not get: all of the blocks of a
 * flat send side, whatever its size. The cells from slot 1 on go to @whole.
 */
int coll_collect_parts(struct coll_call *call, const struct coll_map *map, size_t len,
		       char *whole);

/*
 * Blocks of different sizes, each side of which is flat; @begin, @len: all that is
 * sent. Return: 0; -EOWNERDEAD; 1: it went wrong for some rank, and all know.
 */
int coll_pull_v(struct coll_pull *pull, struct coll_call *call, char *begin, size_t len);

#endif
