// SPDX-License-Identifier: LGPL-2.1-or-later
#include "calm.h"

/* Until it is tried on the next CPU: one more than it takes. */
#define ATTEMPTS	3

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
	if (a->is_sure != b->is_sure)
		return a->is_sure;
	return a->ways > b->ways || (a->ways == b->ways && a->agree > b->agree);
}

/* One round of all CPUs, as long as none is sure. */
static int try_each(struct trial *t, struct stride *here, unsigned int attempts)
{
	int err = 0;

	for (size_t i = 0; i < t->ncpus && !here[t->at].is_sure && !err; i++) {
		err = i ? go_on(t) : 0;
		if (!err)
			err = stride_go_on(t, &here[t->at], attempts);
	}
	return err;
}

/* A few attempts on each, as who is beside one may be there for good; then the rest of them. */
int calm_find_first(struct trial *t, struct stride *s)
{
	struct stride here[TRIAL_CPUS] = { { .ways = 0 } };
	size_t best = t->at;
	int err;

	if (!t->meter->is_guest || t->ncpus < 2)
		return stride_find(t, s);
	err = try_each(t, here, ATTEMPTS);
	if (!err)
		err = try_each(t, here, STRIDE_ATTEMPTS - ATTEMPTS);
	for (size_t i = 0; i < t->ncpus; i++)
		if (tells_more(&here[i], &here[best]))
			best = i;
	*s = here[best];
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
