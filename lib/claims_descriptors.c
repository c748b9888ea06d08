// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Leaf 2 of CPUID: up to 15 bytes, each the name of a cache, a TLB or a
 * prefetcher. Source: Intel, Software Developer's Manual, volume 2A, CPUID,
 * "Encoding of CPUID leaf 2 descriptors".
 */
#include <errno.h>

#include "claims.h"

#define KIB(x) ((uint32_t)(x) << 10)
#define MIB(x) ((uint32_t)(x) << 20)

#define IN_LEAF_4	0xff
/* The third level of Xeon MP of family 15, model 6, else a second level. */
#define AMBIGUOUS	0x49

/**
 * struct descriptor - a data or unified cache by its byte
 */
static const struct descriptor {
	uint8_t byte, level, ways, line;
	uint32_t size;
} descriptors[] = {
	{ 0x0a, 1, 2, 32, KIB(8) },	{ 0x0c, 1, 4, 32, KIB(16) },
	{ 0x0d, 1, 4, 64, KIB(16) },	{ 0x0e, 1, 6, 64, KIB(24) },
	{ 0x1d, 2, 2, 64, KIB(128) },	{ 0x21, 2, 8, 64, KIB(256) },
	{ 0x22, 3, 4, 64, KIB(512) },	{ 0x23, 3, 8, 64, MIB(1) },
	{ 0x24, 2, 16, 64, MIB(1) },	{ 0x25, 3, 8, 64, MIB(2) },
	{ 0x29, 3, 8, 64, MIB(4) },	{ 0x2c, 1, 8, 64, KIB(32) },
	{ 0x39, 2, 4, 64, KIB(128) },	{ 0x3a, 2, 6, 64, KIB(192) },
	{ 0x3b, 2, 2, 64, KIB(128) },	{ 0x3c, 2, 4, 64, KIB(256) },
	{ 0x3d, 2, 6, 64, KIB(384) },	{ 0x3e, 2, 4, 64, KIB(512) },
	{ 0x3f, 2, 2, 64, KIB(256) },	{ 0x41, 2, 4, 32, KIB(128) },
	{ 0x42, 2, 4, 32, KIB(256) },	{ 0x43, 2, 4, 32, KIB(512) },
	{ 0x44, 2, 4, 32, MIB(1) },	{ 0x45, 2, 4, 32, MIB(2) },
	{ 0x46, 3, 4, 64, MIB(4) },	{ 0x47, 3, 8, 64, MIB(8) },
	{ 0x48, 2, 12, 64, MIB(3) },	{ 0x49, 2, 16, 64, MIB(4) },
	{ 0x4a, 3, 12, 64, MIB(6) },	{ 0x4b, 3, 16, 64, MIB(8) },
	{ 0x4c, 3, 12, 64, MIB(12) },	{ 0x4d, 3, 16, 64, MIB(16) },
	{ 0x4e, 2, 24, 64, MIB(6) },	{ 0x60, 1, 8, 64, KIB(16) },
	{ 0x66, 1, 4, 64, KIB(8) },	{ 0x67, 1, 4, 64, KIB(16) },
	{ 0x68, 1, 4, 64, KIB(32) },	{ 0x78, 2, 4, 64, MIB(1) },
	{ 0x79, 2, 8, 64, KIB(128) },	{ 0x7a, 2, 8, 64, KIB(256) },
	{ 0x7b, 2, 8, 64, KIB(512) },	{ 0x7c, 2, 8, 64, MIB(1) },
	{ 0x7d, 2, 8, 64, MIB(2) },	{ 0x7f, 2, 2, 64, KIB(512) },
	{ 0x80, 2, 8, 64, KIB(512) },	{ 0x82, 2, 8, 32, KIB(256) },
	{ 0x83, 2, 8, 32, KIB(512) },	{ 0x84, 2, 8, 32, MIB(1) },
	{ 0x85, 2, 8, 32, MIB(2) },	{ 0x86, 2, 4, 64, KIB(512) },
	{ 0x87, 2, 8, 64, MIB(1) },	{ 0xd0, 3, 4, 64, KIB(512) },
	{ 0xd1, 3, 4, 64, MIB(1) },	{ 0xd2, 3, 4, 64, MIB(2) },
	{ 0xd6, 3, 8, 64, MIB(1) },	{ 0xd7, 3, 8, 64, MIB(2) },
	{ 0xd8, 3, 8, 64, MIB(4) },	{ 0xdc, 3, 12, 64, KIB(1536) },
	{ 0xdd, 3, 12, 64, MIB(3) },	{ 0xde, 3, 12, 64, MIB(6) },
	{ 0xe2, 3, 16, 64, MIB(2) },	{ 0xe3, 3, 16, 64, MIB(4) },
	{ 0xe4, 3, 16, 64, MIB(8) },	{ 0xea, 3, 24, 64, MIB(12) },
	{ 0xeb, 3, 24, 64, MIB(18) },	{ 0xec, 3, 24, 64, MIB(24) },
};

static int is_xeon_mp(const struct cpuid_table *table)
{
	const struct cpuid_leaf *l = cpuid_find(table, 1, 0);

	return l && (l->eax >> 8 & 15) == 15 && (l->eax >> 4 & 15) == 6 && !(l->eax >> 16 & 0xfff);
}

static int add_descriptor(struct sonde_claims *claims, const struct cpuid_table *table,
			  uint8_t byte)
{
	const struct descriptor *d = descriptors;

	while (d < descriptors + sizeof(descriptors) / sizeof(*d) && d->byte != byte)
		d++;
	if (d == descriptors + sizeof(descriptors) / sizeof(*d))
		return 0;
	return claims_add(claims, &(struct sonde_cache_claim){
		.level = byte == AMBIGUOUS && is_xeon_mp(table) ? 3 : d->level,
		.type = d->level == 1 ? SONDE_CACHE_DATA : SONDE_CACHE_UNIFIED,
		.size = d->size,
		.ways = d->ways,
		.line = d->line,
		.source = SONDE_CLAIM_CPUID_2,
	});
}

int claims_descriptors(struct sonde_claims *claims, const struct cpuid_table *table)
{
	const struct cpuid_leaf *l = cpuid_find(table, 2, 0);
	const enum sonde_claim_source source = SONDE_CLAIM_CPUID_2;
	int elsewhere = 0, err = 0;
	uint32_t regs[4];

	if (!l)
		return claims_explain(claims, source, "the processor has no such leaf");
	/* The lowest byte is a number and no descriptor. */
	regs[0] = l->eax & ~0xffU;
	regs[1] = l->ebx;
	regs[2] = l->ecx;
	regs[3] = l->edx;
	for (unsigned int i = 0; i < 16 && !err; i++) {
		uint8_t byte = (uint8_t)(regs[i / 4] >> i % 4 * 8);

		/* Bit 31: the register holds nothing. */
		if (regs[i / 4] >> 31)
			continue;
		elsewhere |= byte == IN_LEAF_4;
		err = add_descriptor(claims, table, byte);
	}
	if (err || claims_has(claims, source))
		return err;
	return claims_explain(claims, source, elsewhere ? "it refers to leaf 4" :
			      "it lists no data cache that is known here");
}
