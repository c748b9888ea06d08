/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Another thread of the core, of another guest or not, has lines in its caches for as long as
 * it runs. In a guest, of CPUs whose caches are alike one is measured where none does.
 */
#ifndef SONDE_LIB_PROBE_CALM_H
#define SONDE_LIB_PROBE_CALM_H

#include "stride.h"

/* As stride_find(), on the first CPU where that is sure; else on the one where it told most. */
int calm_find_first(struct trial *t, struct stride *s);

/*
 * Whether nobody's lines are in the way of the first level @s, to *@calm; if so on another CPU
 * only, that is where it goes on. Outside of guests nobody's are. 0, -errno.
 */
int calm_seek(struct trial *t, const struct stride *s, int *calm);

/* The same here. */
int calm_is(struct trial *t, const struct stride *s, int *calm);

#endif
