// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Leaves 4, 8000001Dh, 80000005h and 80000006h of CPUID. Sources: Intel, Software
 * Developer's Manual, volume 2A, CPUID; AMD, Architecture Programmer's Manual,
 * volume 3, appendix E.
 */
#include <errno.h>
#include <string.h>

#include "claims.h"

enum {
	TYPE_NONE,
	TYPE_DATA,
	TYPE_INSTRUCTION,
	TYPE_UNIFIED,
};

/* Bits @high to @low of @x. */
static uint32_t bits(uint32_t x, unsigned int high, unsigned int low)
{
	return x >> low & (uint32_t)((1ULL << (high - low + 1)) - 1);
}

/* A subleaf of leaf 4 or 8000001Dh, which are alike. */
static int add_deterministic(struct sonde_claims *claims, const struct cpuid_leaf *l,
			     enum sonde_claim_source source)
{
	uint64_t sets = (uint64_t)l->ecx + 1, ways = bits(l->ebx, 31, 22) + 1;
	uint32_t line = bits(l->ebx, 11, 0) + 1, partitions = bits(l->ebx, 21, 12) + 1;
	uint32_t type = bits(l->eax, 4, 0);
	uint64_t size;

	if (type != TYPE_DATA && type != TYPE_UNIFIED)
		return 0;
	if (__builtin_mul_overflow(ways * partitions * line, sets, &size))
		return 0;
	return claims_add(claims, &(struct sonde_cache_claim){
		.level = bits(l->eax, 7, 5),
		.type = type == TYPE_DATA ? SONDE_CACHE_DATA : SONDE_CACHE_UNIFIED,
		.size = size,
		.ways = bits(l->eax, 9, 9) ? -1 : (int)ways,
		.line = line,
		.sets = sets,
		.threads = bits(l->eax, 25, 14) + 1,
		.source = source,
	});
}

static int add_all_deterministic(struct sonde_claims *claims, const struct cpuid_table *table,
				 uint32_t leaf, enum sonde_claim_source source)
{
	const struct cpuid_leaf *l = cpuid_find(table, leaf, 0);
	int err = 0;

	if (!l)
		return claims_explain(claims, source, "the processor has no such leaf");
	for (uint32_t i = 0; l && !err; l = cpuid_find(table, leaf, ++i)) {
		if (bits(l->eax, 4, 0) == TYPE_NONE)
			break;
		err = add_deterministic(claims, l, source);
	}
	if (err || claims_has(claims, source))
		return err;
	return claims_explain(claims, source, "the leaf lists no data cache");
}

static int is_intel(const struct cpuid_table *table)
{
	const struct cpuid_leaf *l = cpuid_find(table, 0, 0);

	return l && !memcmp(&l->ebx, "Genu", 4) && !memcmp(&l->edx, "ineI", 4) &&
	       !memcmp(&l->ecx, "ntel", 4);
}

/* ECX: KiB, ways, lines a tag, bytes of a line, a byte each. Intel: reserved. */
static int add_level_1(struct sonde_claims *claims, const struct cpuid_table *table)
{
	const struct cpuid_leaf *l = cpuid_find(table, 0x80000005, 0);
	const enum sonde_claim_source source = SONDE_CLAIM_CPUID_80000005;
	uint32_t ways;

	if (!l)
		return claims_explain(claims, source, "the processor has no such leaf");
	if (is_intel(table) || !bits(l->ecx, 31, 24))
		return claims_explain(claims, source, "the leaf is empty");
	ways = bits(l->ecx, 23, 16);
	return claims_add(claims, &(struct sonde_cache_claim){
		.level = 1,
		.type = SONDE_CACHE_DATA,
		.size = (uint64_t)bits(l->ecx, 31, 24) << 10,
		.ways = ways == 0xff ? -1 : (int)ways,
		.line = bits(l->ecx, 7, 0),
		.source = source,
	});
}

/*
 * Four bits of associativity. Those of 7 (Intel) and 9 (AMD) are told by another
 * leaf; what has no code of its own gets that of the next smaller, as a cache of
 * 24 ways the one of 16.
 */
static int decode_ways(uint32_t code)
{
	static const int ways[16] = {
		[1] = 1, [2] = 2, [3] = 3, [4] = 4, [5] = 6, [6] = 8, [8] = 16,
		[10] = 32, [11] = 48, [12] = 64, [13] = 96, [14] = 128, [15] = -1,
	};

	return ways[code & 15];
}

static int add_lower(struct sonde_claims *claims, unsigned int level, uint64_t size, uint32_t reg)
{
	/* The code 0 is of a cache that is switched off. */
	if (!size || !bits(reg, 15, 12))
		return 0;
	return claims_add(claims, &(struct sonde_cache_claim){
		.level = level,
		.type = SONDE_CACHE_UNIFIED,
		.size = size,
		.ways = decode_ways(bits(reg, 15, 12)),
		.line = bits(reg, 7, 0),
		.source = SONDE_CLAIM_CPUID_80000006,
	});
}

/* ECX: the second level, in KiB. EDX: the third, in 512 KiB; Intel: reserved. */
static int add_levels_2_and_3(struct sonde_claims *claims, const struct cpuid_table *table)
{
	const struct cpuid_leaf *l = cpuid_find(table, 0x80000006, 0);
	const enum sonde_claim_source source = SONDE_CLAIM_CPUID_80000006;
	int err;

	if (!l)
		return claims_explain(claims, source, "the processor has no such leaf");
	err = add_lower(claims, 2, (uint64_t)bits(l->ecx, 31, 16) << 10, l->ecx);
	if (!err && !is_intel(table))
		err = add_lower(claims, 3, (uint64_t)bits(l->edx, 31, 18) << 19, l->edx);
	if (err || claims_has(claims, source))
		return err;
	return claims_explain(claims, source, "the leaf is empty");
}

int claims_cpuid(struct sonde_claims *claims, const struct cpuid_table *table)
{
	int err = claims_descriptors(claims, table);

	if (!err)
		err = add_all_deterministic(claims, table, 4, SONDE_CLAIM_CPUID_4);
	if (!err)
		err = add_level_1(claims, table);
	if (!err)
		err = add_levels_2_and_3(claims, table);
	if (!err)
		err = add_all_deterministic(claims, table, 0x8000001d,
					    SONDE_CLAIM_CPUID_8000001D);
	return err;
}
