// SPDX-License-Identifier: LGPL-2.1-or-later
#include "calm.h"

static int go_to(struct trial *t, size_t at)
{
	int err = t->meter->ops->settle(t->meter, t->cpus[at]);

	if (!err)
		t->at = at;
	return err;
}

static int go_on(struct trial *t)
{
	return go_to(t, (t->at + 1) % t->ncpus);
}

static int tells_more(const struct stride *a, const struct stride *b)
{
	return a->is_sure || a->ways > b->ways || (a->ways == b->ways && a->agree > b->agree);
}

int calm_find_first(struct trial *t, struct stride *s)
{
	struct stride here;
	size_t best = t->at;
	int err = stride_find(t, s);

	for (size_t i = 1; i < t->ncpus && t->meter->is_guest && !s->is_sure && !err; i++) {
		err = go_on(t);
		if (!err)
			err = stride_find(t, &here);
		if (!err && tells_more(&here, s)) {
			*s = here;
			best = t->at;
		}
	}
	return err || t->at == best ? err : go_to(t, best);
}

int calm_is(struct trial *t, const struct stride *s, int *calm)
{
	*calm = 1;
	return t->meter->is_guest ? stride_is_calm(t, s, calm) : 0;
}

int calm_seek(struct trial *t, const struct stride *s, int *calm)
{
	int err = calm_is(t, s, calm);

	/* Where nobody is calm, back to where it began. */
	for (size_t i = 0; i < t->ncpus && t->ncpus > 1 && !*calm && !err; i++) {
		err = go_on(t);
		if (!err && i + 1 < t->ncpus)
			err = calm_is(t, s, calm);
	}
	return err;
}
