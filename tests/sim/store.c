// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "store.h"

/* Of DIP (Qureshi et al. 2007): one set in so many leads for each side. */
#define LEADERS		32
#define SELECTOR_MAX	512
/* Bimodal insertion: one line in so many is put where a used one would be. */
#define BIMODAL		32
/* The stamp of a line that goes first. */
#define OLDEST		1

/**
 * struct bits - what the other policies remember of a set
 * @valid: ways in use
 * @low: lower bit of each way's age; all there is for a tree or MRU
 * @high: upper bit
 */
struct bits {
	uint64_t valid, low, high;
};

/**
 * struct ages - a variant of QLRU
 * @hit: age after a hit, by the age before
 * @miss: age of a new line
 * @rightmost: R2: the last empty way is filled first
 * @spare: U1: the line just used does not age
 * @late: UMO: ages are made to reach 3 only when something is to be replaced
 */
struct ages {
	unsigned char hit[4];
	unsigned char miss, rightmost, spare, late;
};

static const struct ages ages[MACHINE_POLICIES] = {
	[POLICY_QLRU_H11_M1_R0_U0] = { { 0, 0, 1, 1 }, 1, 0, 0, 0 },
	[POLICY_QLRU_H00_M1_R2_U1] = { { 0, 0, 0, 0 }, 1, 1, 1, 0 },
	[POLICY_QLRU_H21_M2_R0_U0_UMO] = { { 0, 0, 1, 2 }, 2, 0, 0, 1 },
	/* Jaleel et al. 2010, hit priority: the same as this. */
	[POLICY_SRRIP] = { { 0, 0, 0, 0 }, 2, 0, 0, 1 },
};

static struct bits *bits_of(const struct store *s, size_t set)
{
	return (struct bits *)(void *)(s->block + set * s->stride + s->padded);
}

static uint32_t *stamps_of(const struct store *s, size_t set)
{
	return s->block + set * s->stride + s->padded;
}

static uint32_t *set_of(const struct store *s, size_t set)
{
	return s->block + set * s->stride;
}

/* The set is about to change. */
static inline void note_change(struct store *s, uint32_t *words)
{
	uint32_t *mark = words + s->stride - 2;

	if (!s->journal || !s->journal->is_open || *mark == s->journal->epoch)
		return;
	*mark = s->journal->epoch;
	journal_add(s->journal, words, s->stride - 2);
}

/* Chance or a count of all that went before has a part in what happens. */
static void note_chance(struct store *s)
{
	if (s->journal)
		s->journal->is_lost = 1;
}

static uint32_t draw(struct store *s, uint32_t below)
{
	note_chance(s);
	/* xorshift32 (Marsaglia 2003) */
	s->random ^= s->random << 13;
	s->random ^= s->random >> 17;
	s->random ^= s->random << 5;
	return (uint32_t)((uint64_t)s->random * below >> 32);
}

/* ---- ages ---------------------------------------------------------------- */

static unsigned int age_of(const struct bits *b, unsigned int way)
{
	return (unsigned int)((b->high >> way & 1) << 1 | (b->low >> way & 1));
}

static void set_age(struct bits *b, unsigned int way, unsigned int age)
{
	uint64_t bit = 1ULL << way;

	b->low = age & 1 ? b->low | bit : b->low & ~bit;
	b->high = age & 2 ? b->high | bit : b->high & ~bit;
}

/* If nobody is 3 years old, everybody in @who ages until one is. */
static void grow_old(struct bits *b, uint64_t who)
{
	uint64_t carry;

	if (b->low & b->high & b->valid)
		return;
	if (b->high & who) {
		carry = b->low & who;
		b->low ^= who;
		b->high |= carry;
	} else if (b->low & who) {
		b->high |= who;
	} else {
		b->low |= who;
		b->high |= who;
	}
}

static void grow_old_after(const struct store *s, struct bits *b, unsigned int way)
{
	const struct ages *a = &ages[s->policy];

	if (!a->late)
		grow_old(b, a->spare ? b->valid & ~(1ULL << way) : b->valid);
}

/* ---- trees --------------------------------------------------------------- */

/* The tree over ways @from to @to - 1: its root, or ~way. @next is the first free bit. */
static int plant(struct store_tree *t, unsigned int from, unsigned int to, int *next)
{
	unsigned int middle = from + (to - from + 1) / 2;
	int node;

	if (to - from == 1)
		return ~(int)from;
	node = (*next)++;
	for (unsigned int w = from; w < to; w++) {
		t->path[w] |= 1ULL << node;
		if (w < middle)
			t->away[w] |= 1ULL << node;
	}
	t->child[node][0] = plant(t, from, middle, next);
	t->child[node][1] = plant(t, middle, to, next);
	return node;
}

static unsigned int follow(const struct store_tree *t, uint64_t bits, unsigned int ways)
{
	int node = ways > 1 ? 0 : ~0;

	while (node >= 0)
		node = t->child[node][bits >> node & 1];
	return (unsigned int)~node;
}

/* ---- any policy ---------------------------------------------------------- */

/* The way to replace in a full set. */
static unsigned int choose_full(struct store *s, struct bits *b)
{
	switch (s->policy) {
	case POLICY_PLRU:
		return follow(&s->tree, b->low, s->ways);
	case POLICY_MRU:
		return (unsigned int)__builtin_ctzll(~b->low & s->all);
	case POLICY_RANDOM:
		return draw(s, s->ways);
	default:
		if (ages[s->policy].late)
			grow_old(b, b->valid);
		/* R0 leaves open what goes where nobody is 3: the first, as R1. */
		if (!(b->low & b->high))
			return 0;
		return (unsigned int)__builtin_ctzll(b->low & b->high);
	}
}

static unsigned int choose(struct store *s, struct bits *b)
{
	uint64_t empty = s->all & ~b->valid;

	if (!empty)
		return choose_full(s, b);
	if (ages[s->policy].rightmost)
		return 63 - (unsigned int)__builtin_clzll(empty);
	return (unsigned int)__builtin_ctzll(empty);
}

static unsigned int choose_oldest(const uint32_t *stamp, unsigned int ways)
{
	unsigned int oldest = 0;
	uint32_t least = stamp[0];

	for (unsigned int w = 1; w < ways; w++) {
		oldest = stamp[w] < least ? w : oldest;
		least = stamp[w] < least ? stamp[w] : least;
	}
	return oldest;
}

static uint32_t new_stamp(struct store *s)
{
	/* Once in four billion uses a cache is emptied. */
	if (s->clock == UINT32_MAX)
		store_clear(s);
	return ++s->clock;
}

/* DIP: whether a line that misses in @set is put where it goes first. */
static int insert_bimodal(struct store *s, size_t set)
{
	int bimodal = s->selector > 0;

	if (set % LEADERS == 0) {
		s->selector += s->selector < SELECTOR_MAX;
		bimodal = 0;
	} else if (set % LEADERS == LEADERS / 2) {
		s->selector -= s->selector > -SELECTOR_MAX;
		bimodal = 1;
	}
	return bimodal && draw(s, BIMODAL);
}

static uint32_t fill_stamped(struct store *s, size_t set, uint32_t tag)
{
	uint32_t stamp = new_stamp(s), *tags = set_of(s, set), victim;
	uint32_t *stamps = stamps_of(s, set);
	unsigned int way = choose_oldest(stamps, s->ways);

	note_chance(s);
	if (insert_bimodal(s, set))
		stamp = OLDEST;
	victim = tags[way];
	tags[way] = tag;
	stamps[way] = stamp;
	return victim;
}

/* ---- lines in order ------------------------------------------------------ */

/* Have @tag first, instead of what is at @way; those between go one back. */
static void put_first(uint32_t *tags, uint32_t tag, unsigned int way)
{
	memmove(tags + 1, tags, way * sizeof(*tags));
	tags[0] = tag;
}

static uint32_t fill_list(struct store *s, uint32_t *tags, uint32_t tag)
{
	uint32_t victim = tags[s->ways - 1];

	note_change(s, tags);
	put_first(tags, tag, s->ways - 1);
	return victim;
}

static void drop_of_list(struct store *s, uint32_t *tags, unsigned int way)
{
	note_change(s, tags);
	memmove(tags + way, tags + way + 1, (s->ways - 1 - way) * sizeof(*tags));
	tags[s->ways - 1] = 0;
}

/* ---- what happens to a set ----------------------------------------------- */

static void note_use(struct store *s, struct bits *b, unsigned int way)
{
	switch (s->policy) {
	case POLICY_PLRU:
		b->low = (b->low & ~s->tree.path[way]) | s->tree.away[way];
		break;
	case POLICY_MRU:
		b->low |= 1ULL << way;
		if (b->low == s->all)
			b->low = s->ways > 1 ? 1ULL << way : 0;
		break;
	case POLICY_RANDOM:
		break;
	default:
		grow_old_after(s, b, way);
	}
}

uint32_t store_fill(struct store *s, size_t set, uint32_t tag)
{
	uint32_t *tags = set_of(s, set), victim;
	struct bits *b;
	unsigned int way;

	if (s->is_list)
		return fill_list(s, tags, tag);
	if (s->policy == POLICY_DIP)
		return fill_stamped(s, set, tag);
	note_change(s, tags);
	b = bits_of(s, set);
	way = choose(s, b);
	victim = tags[way];
	tags[way] = tag;
	b->valid |= 1ULL << way;
	if (s->policy >= POLICY_QLRU_H11_M1_R0_U0)
		set_age(b, way, ages[s->policy].miss);
	note_use(s, b, way);
	return victim;
}

void store_use(struct store *s, size_t set, unsigned int way)
{
	uint32_t *tags = set_of(s, set);
	struct bits *b;

	switch (s->policy) {
	case POLICY_LRU:
		if (way) {
			note_change(s, tags);
			put_first(tags, tags[way], way);
		}
		return;
	case POLICY_FIFO:
	case POLICY_RANDOM:
		return;
	case POLICY_DIP:
		note_chance(s);
		stamps_of(s, set)[way] = new_stamp(s);
		return;
	default:
		note_change(s, tags);
		b = bits_of(s, set);
		if (s->policy >= POLICY_QLRU_H11_M1_R0_U0)
			set_age(b, way, ages[s->policy].hit[age_of(b, way)]);
		note_use(s, b, way);
	}
}

void store_drop(struct store *s, size_t set, unsigned int way)
{
	uint32_t *tags = set_of(s, set);
	struct bits *b;

	if (s->is_list) {
		drop_of_list(s, tags, way);
		return;
	}
	note_change(s, tags);
	tags[way] = 0;
	if (s->policy == POLICY_DIP) {
		note_chance(s);
		stamps_of(s, set)[way] = 0;
		return;
	}
	b = bits_of(s, set);
	b->valid &= ~(1ULL << way);
	if (s->policy != POLICY_PLRU)
		set_age(b, way, 0);
}

void store_clear(struct store *s)
{
	/* Private memory that is given back is zero when it is next used. */
	madvise(s->block, s->bytes, MADV_DONTNEED);
	s->clock = OLDEST;
	s->selector = 0;
}

static int keeps_bits(enum machine_policy policy)
{
	return policy != POLICY_LRU && policy != POLICY_FIFO && policy != POLICY_DIP;
}

int store_open(struct store *s, size_t sets, unsigned int ways, enum machine_policy policy,
	       uint32_t seed)
{
	unsigned int words = 0;
	int next = 0;

	*s = (struct store){
		.sets = sets, .ways = ways, .policy = policy,
		.clock = OLDEST, .random = seed | 1,
		.padded = (ways + 3) & ~3U,
		.is_list = policy == POLICY_LRU || policy == POLICY_FIFO,
		.all = ways < 64 ? (1ULL << ways) - 1 : UINT64_MAX,
	};
	if (keeps_bits(policy) && ways > MACHINE_WAYS)
		return -EINVAL;
	if (policy == POLICY_DIP)
		words = ways;
	else if (!s->is_list)
		words = sizeof(struct bits) / sizeof(uint32_t);
	/* The last two words are the journal's and the caller's. */
	s->stride = (s->padded + words + 2 + 3) & ~3U;
	s->bytes = (sets * s->stride + STORE_AT_ONCE) * sizeof(*s->block);
	s->block = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (s->block == MAP_FAILED) {
		s->block = NULL;
		return -ENOMEM;
	}
	if (policy == POLICY_PLRU)
		plant(&s->tree, 0, ways, &next);
	return 0;
}

void store_close(struct store *s)
{
	if (s->block)
		munmap(s->block, s->bytes);
	s->block = NULL;
}
