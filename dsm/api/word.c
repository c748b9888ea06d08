// SPDX-License-Identifier: LGPL-2.1-or-later
/* Words between processes: who makes threads, joins them, wants memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

/* What stands behind the word is the caller's, until the event has begun: it is copied. */
int dsm_say(struct dsm_run *run, uint32_t to, const struct dsm_word *word, bool orders)
{
	struct dsm_request r = {
		.event = { .kind = DSM_EV_TELL, .id = to, .arg = orders, .data = word,
			   .len = sizeof(*word) },
	};

	dsm_submit(run, &r);
	return dsm_await(run, &r, NULL);
}

int dsm_ask(struct dsm_run *run, uint32_t to, struct dsm_word *word, bool orders,
	    uint64_t *value)
{
	struct dsm_call call = { 0 };

	word->call = (uintptr_t)&call;
	dsm_say(run, to, word, orders);
	while (!atomic_load_explicit(&call.is_done, memory_order_acquire))
		dsm_futex_wait(&call.is_done, 0, NULL);
	if (value)
		*value = call.value;
	return call.err;
}

int dsm_say_more(struct dsm_run *run, uint32_t to, const struct dsm_word *word, const void *more,
		 size_t len)
{
	uint8_t *all = malloc(sizeof(*word) + len);
	struct dsm_request r = {
		.event = { .kind = DSM_EV_TELL, .id = to, .data = all,
			   .len = sizeof(*word) + len },
	};

	if (!all)
		return ENOMEM;
	memcpy(all, word, sizeof(*word));
	if (len)
		memcpy(all + sizeof(*word), more, len);
	dsm_submit(run, &r);
	dsm_await(run, &r, NULL);
	free(all);
	return 0;
}

struct later {
	struct dsm_request request;
	uint8_t word[];
};

static void say_later(struct dsm_run *run, uint32_t to, const struct dsm_word *word,
		      const void *more, size_t len, bool orders)
{
	struct later *l = calloc(1, sizeof(*l) + sizeof(*word) + len);

	if (!l)
		dsm_run_fail(run, "no memory for an answer");
	memcpy(l->word, word, sizeof(*word));
	if (len)
		memcpy(l->word + sizeof(*word), more, len);
	l->request.is_nobodys = true;
	l->request.event = (struct dsm_event){ .kind = DSM_EV_TELL, .id = to, .arg = orders,
					       .data = l->word, .len = sizeof(*word) + len };
	dsm_submit(run, &l->request);
}

void dsm_say_later(struct dsm_run *run, uint32_t to, const struct dsm_word *word, bool orders)
{
	say_later(run, to, word, NULL, 0, orders);
}

void dsm_say_more_later(struct dsm_run *run, uint32_t to, const struct dsm_word *word,
			const void *more, size_t len)
{
	say_later(run, to, word, more, len, false);
}

void dsm_reply(struct dsm_run *run, uint32_t to, uint64_t call, int err, uint64_t value,
	       bool orders)
{
	dsm_say_later(run, to, &(struct dsm_word){ .kind = DSM_WORD_ANSWER, .call = call,
						   .a = (uint64_t)err, .b = value }, orders);
}

static void take_answer(const struct dsm_word *w)
{
	struct dsm_call *call = (struct dsm_call *)(uintptr_t)w->call;

	call->err = (int)w->a;
	call->value = w->b;
	/* Partner: dsm_ask(). */
	atomic_store_explicit(&call->is_done, 1, memory_order_release);
	dsm_futex_wake(&call->is_done);
}

void dsm_hear(struct dsm_run *run, uint32_t from, const uint8_t *data, size_t len)
{
	const uint8_t *more = data + sizeof(struct dsm_word);
	struct dsm_word w;

	if (len < sizeof(w))
		dsm_run_fail(run, "a word of process %u is damaged", from);
	memcpy(&w, data, sizeof(w));
	len -= sizeof(w);
	switch ((enum dsm_word_kind)w.kind) {
	case DSM_WORD_CREATE:	dsm_on_create(run, from, &w); return;
	case DSM_WORD_EXITED:	dsm_on_exited(run, &w); return;
	case DSM_WORD_JOIN:	dsm_on_join(run, from, &w); return;
	case DSM_WORD_DETACH:	dsm_on_detach(run, from, &w); return;
	case DSM_WORD_EXTENT:	dsm_on_extent(run, from, &w); return;
	case DSM_WORD_FREE:	dsm_on_free(run, &w); return;
	case DSM_WORD_STATS:	dsm_on_stats(run, from, more, len); return;
	case DSM_WORD_TRACE:	dsm_on_trace(run, from, &w, more, len); return;
	case DSM_WORD_RACE:	dsm_on_race(run, more, len); return;
	case DSM_WORD_NAME:	dsm_on_name(run, &w, more, len); return;
	case DSM_WORD_CLOCK:	dsm_reply(run, from, w.call, 0, dsm_now(), false); return;
	case DSM_WORD_ANSWER:	take_answer(&w); return;
	}
	dsm_run_fail(run, "a word of process %u is not known", from);
}
