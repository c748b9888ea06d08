// SPDX-License-Identifier: LGPL-2.1-or-later
/* Words between processes: who makes threads, joins them, wants memory. */
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

struct later {
	struct dsm_request request;
	struct dsm_word word;
};

void dsm_say_later(struct dsm_run *run, uint32_t to, const struct dsm_word *word, bool orders)
{
	struct later *l = calloc(1, sizeof(*l));

	if (!l)
		dsm_run_fail(run, "no memory for an answer");
	l->word = *word;
	l->request.is_nobodys = true;
	l->request.event = (struct dsm_event){ .kind = DSM_EV_TELL, .id = to, .arg = orders,
					       .data = &l->word, .len = sizeof(l->word) };
	dsm_submit(run, &l->request);
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
	struct dsm_word w;

	if (len < sizeof(w))
		dsm_run_fail(run, "a word of process %u is damaged", from);
	memcpy(&w, data, sizeof(w));
	switch ((enum dsm_word_kind)w.kind) {
	case DSM_WORD_CREATE:	dsm_on_create(run, from, &w); return;
	case DSM_WORD_EXITED:	dsm_on_exited(run, &w); return;
	case DSM_WORD_JOIN:	dsm_on_join(run, from, &w); return;
	case DSM_WORD_DETACH:	dsm_on_detach(run, from, &w); return;
	case DSM_WORD_EXTENT:	dsm_on_extent(run, from, &w); return;
	case DSM_WORD_FREE:	dsm_on_free(run, &w); return;
	case DSM_WORD_STATS:	dsm_on_stats(run, from, data + sizeof(w), len - sizeof(w)); return;
	case DSM_WORD_ANSWER:	take_answer(&w); return;
	}
	dsm_run_fail(run, "a word of process %u is not known", from);
}
