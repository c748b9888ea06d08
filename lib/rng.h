/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A seeded generator: xoshiro256** (Blackman and Vigna 2021), its state filled
 * by splitmix64 as its authors advise. The same seed gives the same numbers
 * on every machine; it is fast enough for resampling, and not for secrets.
 */
#ifndef SONDE_LIB_RNG_H
#define SONDE_LIB_RNG_H

#include <stdint.h>

struct sonde_rng {
	uint64_t s[4];
};

static inline uint64_t sonde_rng_splitmix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Any seed will do, 0 also. */
static inline void sonde_rng_seed(struct sonde_rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		rng->s[i] = sonde_rng_splitmix(&seed);
}

static inline uint64_t sonde_rng_rotl(uint64_t x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static inline uint64_t sonde_rng_next(struct sonde_rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = sonde_rng_rotl(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = sonde_rng_rotl(s[3], 45);
	return result;
}

/*
 * Uniform on 0 to @n - 1 for @n of 1 or more, every value as likely as any
 * other (Lemire 2019: the high half of a product; what would make some values
 * likelier is drawn again, and only that case divides).
 */
static inline uint64_t sonde_rng_below(struct sonde_rng *rng, uint64_t n)
{
	unsigned __int128 product = (unsigned __int128)sonde_rng_next(rng) * n;
	uint64_t unfair;

	if ((uint64_t)product >= n)
		return (uint64_t)(product >> 64);
	unfair = -n % n;	/* 2^64 mod n */
	while ((uint64_t)product < unfair)
		product = (unsigned __int128)sonde_rng_next(rng) * n;
	return (uint64_t)(product >> 64);
}

#endif
