// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Processes in one process, for tests: a queue for each ordered pair. From a seed some
 * messages come twice and some wait until others, of other pairs, have come; order
 * within a pair stays.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/rng.h"
#include "transport.h"

struct letter {
	struct letter *next;
	uint8_t *data;
	size_t len;
	uint32_t held;		/* looks until it may be taken */
	bool again;
};

struct channel {
	struct letter *head, **end;
};

struct process {
	struct dsm_transport t;
	struct dsm_bell bell;
	struct dsm_loop *loop;
	struct sonde_rng rng;	/* of what it sends */
	uint32_t at;		/* whose channel is looked at next */
	pthread_mutex_t lock;	/* of the channels to it */
	struct channel *from;
	size_t waiting;
	uint32_t looks;		/* still in vain */
	uint64_t overslept;
};

struct dsm_loop {
	struct dsm_loop_config config;
	struct process *processes;
};

static struct process *process_of(struct dsm_transport *t)
{
	return (struct process *)t;
}

static void append(struct process *p, uint32_t from, struct letter *l)
{
	struct channel *ch = &p->from[from];

	l->next = NULL;
	*ch->end = l;
	ch->end = &l->next;
	p->waiting++;
}

static int send(struct dsm_transport *t, uint32_t to, uint8_t *data, size_t len)
{
	struct process *p = process_of(t), *q = &p->loop->processes[to];
	const struct dsm_loop_config *c = &p->loop->config;
	struct letter *l = malloc(sizeof(*l));

	if (!l) {
		free(data);
		return -ENOMEM;
	}
	*l = (struct letter){ .data = data, .len = len };
	if (sonde_rng_below(&p->rng, 100) < c->delays)
		l->held = 1 + (uint32_t)sonde_rng_below(&p->rng, 8);
	l->again = sonde_rng_below(&p->rng, 100) < c->duplicates;
	pthread_mutex_lock(&q->lock);
	if (!q->waiting)
		q->looks = c->looks;
	append(q, t->self, l);
	pthread_mutex_unlock(&q->lock);
	dsm_bell_ring(&q->bell);
	return 0;
}

static uint8_t *copy_of(const struct letter *l)
{
	uint8_t *data = malloc(l->len);

	return data ? memcpy(data, l->data, l->len) : NULL;
}

/* One that comes again goes to the end: it is the receiver's to know it. */
static int take(struct process *p, uint32_t from, uint8_t **data, size_t *len)
{
	struct channel *ch = &p->from[from];
	struct letter *l = ch->head;

	*data = l->again ? copy_of(l) : l->data;
	*len = l->len;
	if (!*data)
		return -ENOMEM;
	ch->head = l->next;
	if (!ch->head)
		ch->end = &ch->head;
	p->waiting--;
	if (l->again) {
		l->again = false;
		append(p, from, l);
	} else {
		free(l);
	}
	return 1;
}

static int receive(struct dsm_transport *t, uint8_t **data, size_t *len, uint32_t *from)
{
	struct process *p = process_of(t);
	int err = 0;

	pthread_mutex_lock(&p->lock);
	if (p->waiting && p->looks) {
		p->looks--;
		pthread_mutex_unlock(&p->lock);
		return 0;
	}
	while (p->waiting && !err) {
		p->at = (p->at + 1) % t->processes;
		if (!p->from[p->at].head)
			continue;
		if (p->from[p->at].head->held) {
			p->from[p->at].head->held--;
			continue;
		}
		*from = p->at;
		err = take(p, p->at, data, len);
	}
	pthread_mutex_unlock(&p->lock);
	return err;
}

static int64_t patience(struct dsm_transport *t)
{
	struct process *p = process_of(t);

	pthread_mutex_lock(&p->lock);
	p->overslept += p->waiting != 0;
	pthread_mutex_unlock(&p->lock);
	return 1000000000;
}

static int check(struct dsm_transport *t, uint32_t *who)
{
	(void)t;
	(void)who;
	return 0;
}

/* The loop owns it. */
static void destroy(struct dsm_transport *t)
{
	(void)t;
}

static void end_all(struct dsm_transport *t)
{
	(void)t;
	abort();
}

static const struct dsm_transport_ops ops = {
	.send = send, .receive = receive, .patience = patience, .check = check,
	.destroy = destroy, .abort = end_all,
};

int dsm_loop_create(struct dsm_loop **loop, const struct dsm_loop_config *config)
{
	struct dsm_loop *l = calloc(1, sizeof(*l));
	uint32_t n = config->processes;

	if (!l)
		return -ENOMEM;
	l->config = *config;
	l->processes = calloc(n, sizeof(*l->processes));
	for (uint32_t i = 0; l->processes && i < n; i++) {
		struct process *p = &l->processes[i];

		p->t = (struct dsm_transport){ .ops = &ops, .bell = &p->bell, .processes = n,
					       .self = i, .job = config->seed };
		p->loop = l;
		sonde_rng_seed(&p->rng, config->seed * n + i);
		pthread_mutex_init(&p->lock, NULL);
		p->from = calloc(n, sizeof(*p->from));
		for (uint32_t j = 0; p->from && j < n; j++)
			p->from[j].end = &p->from[j].head;
		if (!p->from) {
			dsm_loop_destroy(l);
			return -ENOMEM;
		}
	}
	if (!l->processes) {
		free(l);
		return -ENOMEM;
	}
	*loop = l;
	return 0;
}

void dsm_loop_destroy(struct dsm_loop *l)
{
	for (uint32_t i = 0; l && i < l->config.processes; i++) {
		struct process *p = &l->processes[i];

		for (uint32_t j = 0; p->from && j < l->config.processes; j++) {
			while (p->from[j].head) {
				struct letter *letter = p->from[j].head;

				p->from[j].head = letter->next;
				free(letter->data);
				free(letter);
			}
		}
		free(p->from);
	}
	if (l)
		free(l->processes);
	free(l);
}

uint64_t dsm_loop_overslept(struct dsm_loop *l)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < l->config.processes; i++)
		n += l->processes[i].overslept;
	return n;
}

struct dsm_transport *dsm_loop_process(struct dsm_loop *l, uint32_t self)
{
	return &l->processes[self].t;
}
