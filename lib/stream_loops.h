/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loops, once for each kind of vectors. Who includes this defines
 *
 *	LOOP(name)		name with a suffix
 *	TARGET			the function attribute that allows the instructions
 *	BYTES			of a vector
 *	STORE_NT(to, ints)	a store past the caches, and
 *	FENCE()			what has to follow such stores; or neither
 *
 * Eight vectors a turn, so that the loop itself costs next to nothing; each line after the
 * one before: some processors (Zen 4) see only then that lines are stored whole and need
 * not be read, which is half the traffic. The empty assembly keeps compilers from another
 * order, and from making a call of memcpy() of it.
 */
typedef long long LOOP(ints) __attribute__((vector_size(BYTES), may_alias));
typedef double LOOP(reals) __attribute__((vector_size(BYTES), may_alias));

#define KEEP()	__asm__ volatile("" : : : "memory")

TARGET static void LOOP(read)(char *to, const char *from, const char *also, size_t bytes)
{
	const LOOP(ints) *p = (const void *)from, *end = (const void *)(from + bytes);
	LOOP(ints) a = { 0 }, b = a, c = a, d = a, sum;

	(void)to;
	(void)also;
	for (; p < end; p += 8) {
		a ^= p[0];
		b ^= p[1];
		c ^= p[2];
		d ^= p[3];
		KEEP();
		a ^= p[4];
		b ^= p[5];
		c ^= p[6];
		d ^= p[7];
	}
	sum = a ^ b ^ c ^ d;
	__asm__ volatile("" : : "m"(sum));
}

TARGET static void LOOP(write)(char *to, const char *from, const char *also, size_t bytes)
{
	LOOP(ints) *p = (void *)to, *end = (void *)(to + bytes), a = { 0 };

	(void)from;
	(void)also;
	for (; p < end; p += 8) {
		for (int i = 0; i < 8; i++)
			p[i] = a;
		KEEP();
	}
}

TARGET static void LOOP(copy)(char *to, const char *from, const char *also, size_t bytes)
{
	const LOOP(ints) *p = (const void *)from, *end = (const void *)(from + bytes);
	LOOP(ints) *q = (void *)to;

	(void)also;
	for (; p < end; p += 8, q += 8) {
		LOOP(ints) a = p[0], b = p[1], c = p[2], d = p[3];

		q[0] = a;
		q[1] = b;
		q[2] = c;
		q[3] = d;
		a = p[4];
		b = p[5];
		c = p[6];
		d = p[7];
		q[4] = a;
		q[5] = b;
		q[6] = c;
		q[7] = d;
		KEEP();
	}
}

TARGET static void LOOP(triad)(char *to, const char *from, const char *also, size_t bytes)
{
	const LOOP(reals) *b = (const void *)from, *c = (const void *)also;
	LOOP(reals) *a = (void *)to, *end = (void *)(to + bytes);

	for (; a < end; a += 8, b += 8, c += 8) {
		for (int i = 0; i < 8; i++)
			a[i] = b[i] + 3.0 * c[i];
		KEEP();
	}
}

#ifdef STORE_NT
TARGET static void LOOP(write_nt)(char *to, const char *from, const char *also, size_t bytes)
{
	LOOP(ints) *p = (void *)to, *end = (void *)(to + bytes), a = { 0 };

	(void)from;
	(void)also;
	for (; p < end; p += 8) {
		for (int i = 0; i < 8; i++)
			STORE_NT(p + i, a);
	}
	FENCE();
}
#endif

#undef KEEP
