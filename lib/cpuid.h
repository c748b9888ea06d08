/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the CPUID instruction says of caches, as raw leaves: read from a CPU of
 * this machine, or from a recording.
 */
#ifndef SONDE_LIB_CPUID_H
#define SONDE_LIB_CPUID_H

#include <stddef.h>
#include <stdint.h>

#define CPUID_LEAVES	64
/* Subleaves of one leaf: no processor has half as many caches. */
#define CPUID_SUBLEAVES	16

struct cpuid_leaf {
	uint32_t leaf, subleaf;
	uint32_t eax, ebx, ecx, edx;
};

/**
 * struct cpuid_table - the leaves of one CPU that are about caches
 * @leaf: @n of them, in no order; a leaf that the processor does not have is not
 *        there
 */
struct cpuid_table {
	struct cpuid_leaf leaf[CPUID_LEAVES];
	size_t n;
};

/* NULL if it is not there. */
const struct cpuid_leaf *cpuid_find(const struct cpuid_table *table, uint32_t leaf,
				    uint32_t subleaf);

/*
 * From CPU @cpu, to which the calling thread moves and from which it comes back.
 * 0, -EPERM (may not run there), -EOPNOTSUPP (not an x86 processor).
 */
int cpuid_read(struct cpuid_table *table, unsigned int cpu);

/*
 * From the file @path, as `cpuid -r` prints: lines "CPU 3:" begin what one CPU
 * says, "CPU:" what all do; lines that are neither that nor a leaf are passed
 * over. 0, -ENODATA (nothing of that CPU), or what open(2) said.
 */
int cpuid_load(struct cpuid_table *table, const char *path, unsigned int cpu);

#endif
