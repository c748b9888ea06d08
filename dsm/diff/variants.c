// SPDX-License-Identifier: LGPL-2.1-or-later
/* Which variants the processor (and the kernel's saving of registers) allows. */
#include "variants.h"

#ifdef __x86_64__
/* Slowest first; each needs what the one before it needs. */
static const struct dsm_diff_ops *const all[] = {
	&dsm_diff_scalar, &dsm_diff_avx2, &dsm_diff_avx512, NULL,
};
static const struct dsm_diff_ops *const upto_avx2[] = { &dsm_diff_scalar, &dsm_diff_avx2, NULL };
#endif
static const struct dsm_diff_ops *const scalar[] = { &dsm_diff_scalar, NULL };

const struct dsm_diff_ops *const *dsm_diff_variants(void)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) {
		if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2"))
			return all;
		return upto_avx2;
	}
#endif
	return scalar;
}

const struct dsm_diff_ops *dsm_diff_best(void)
{
	const struct dsm_diff_ops *const *v = dsm_diff_variants();

	while (v[1])
		v++;
	return *v;
}
