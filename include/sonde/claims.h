/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: claims - what each source says about a CPU's caches
 *
 * Kernel, processor and hwloc each say something, and do not always say the
 * same: hypervisors invent, leaves contradict each other, cores of one machine
 * differ. Every claim is kept with who made it, to be set beside the others and
 * beside a measurement; none is corrected by another.
 */
#ifndef SONDE_CLAIMS_H
#define SONDE_CLAIMS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_claims;
struct sonde_topology;

enum sonde_cache_type {
	SONDE_CACHE_DATA,
	SONDE_CACHE_UNIFIED,
};

/**
 * enum sonde_claim_source - who claims
 * @SONDE_CLAIM_SYSFS: the kernel, in /sys/devices/system/cpu/cpuN/cache
 * @SONDE_CLAIM_CPUID_2: CPUID leaf 2 of Intel processors, one-byte descriptors
 * @SONDE_CLAIM_CPUID_4: CPUID leaf 4, deterministic cache parameters
 * @SONDE_CLAIM_CPUID_80000005: CPUID leaf 80000005h of AMD processors, level 1
 * @SONDE_CLAIM_CPUID_80000006: CPUID leaf 80000006h, level 2 and, of AMD, 3
 * @SONDE_CLAIM_CPUID_8000001D: CPUID leaf 8000001Dh of AMD processors
 * @SONDE_CLAIM_HWLOC: hwloc
 * @SONDE_CLAIM_SOURCES: how many there are
 */
enum sonde_claim_source {
	SONDE_CLAIM_SYSFS,
	SONDE_CLAIM_CPUID_2,
	SONDE_CLAIM_CPUID_4,
	SONDE_CLAIM_CPUID_80000005,
	SONDE_CLAIM_CPUID_80000006,
	SONDE_CLAIM_CPUID_8000001D,
	SONDE_CLAIM_HWLOC,
	SONDE_CLAIM_SOURCES,
};

/**
 * struct sonde_cache_claim - a data or unified cache as claimed
 * @level: 1 is nearest to the core
 * @type: data or unified
 * @size: bytes, 0 unknown
 * @ways: associativity, 0 unknown, -1 fully associative
 * @line: bytes of a line, 0 unknown
 * @cpus: CPUs sharing it, as a list ("0-3,8"), also those that this process may
 *        not use; NULL unknown; owned by whoever gave the claim
 * @sets: number of sets, 0 unknown
 * @threads: how many CPUs share it, 0 unknown. Leaf 4 counts numbers set aside
 *           for them, so there it is an upper bound
 * @source: who says so
 */
struct sonde_cache_claim {
	unsigned int level;
	enum sonde_cache_type type;
	uint64_t size;
	int ways;
	unsigned int line;
	const char *cpus;
	uint64_t sets;
	unsigned int threads;
	enum sonde_claim_source source;
};

/**
 * sonde_claims_open() - ask every source about one CPU
 * @claims: where the claims go; untouched on failure
 * @topo: what hwloc found; NULL to leave hwloc out
 * @cpu: the operating system's number of the CPU
 *
 * The processor answers only about the CPU that asks, so the calling thread
 * moves there and back. A source that says nothing, or fails, is no error: see
 * sonde_claims_why().
 *
 * SONDE_CLAIMS_ROOT in the environment names a folder to read in place of this
 * machine: sysfs in its sys/, CPUID as printed by `cpuid -r` in its file cpuid.
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_claims_open(struct sonde_claims **claims, const struct sonde_topology *topo,
		      unsigned int cpu);

/** sonde_claims_close() - free; @claims may be NULL. Since: 0.1 */
void sonde_claims_close(struct sonde_claims *claims);

/**
 * sonde_claims_list() - all claims, by source, of each the nearest level first
 * @claims: the claims
 * @n: how many there are
 *
 * Return: them, owned by @claims. Since: 0.1
 */
const struct sonde_cache_claim *sonde_claims_list(const struct sonde_claims *claims, size_t *n);

/**
 * sonde_claims_why() - why a source says nothing
 * @claims: the claims
 * @source: of whom
 *
 * Return: a sentence without its end, owned by @claims; NULL if it made claims.
 * Since: 0.1
 */
const char *sonde_claims_why(const struct sonde_claims *claims, enum sonde_claim_source source);

/** sonde_claim_source_name() - "sysfs", "CPUID 80000006h", ... Since: 0.1 */
const char *sonde_claim_source_name(enum sonde_claim_source source);

#ifdef __cplusplus
}
#endif

#endif
