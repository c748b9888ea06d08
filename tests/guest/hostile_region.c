/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls of regions from several processes of several threads, while
 * another thread of each does whatever an owner may do with half of the memory,
 * and processes are killed at any moment.
 *
 * Arguments are drawn from parts whose effect is known, so each call has a set
 * of results that it may have: one, where only memory is concerned that nobody
 * touches. What is read from such memory must be what is there.
 */
#include <pthread.h>

#include "hostile.h"
#include "region.h"

#define CALLERS		2
#define PAGES		32UL
#define BYTES		(PAGES * SMALL_PAGE)
#define REGIONS		8
#define COPIES		24

/* What came of all calls; shared by all processes. */
static struct tally {
	_Atomic unsigned long calls, exports, copies, lost, refused;
} *tally;

/* A region of ours, and what is known of it. */
struct mine {
	int fd;
	bool is_calm;		/* nobody touches its memory */
	bool is_revoked;
	uint32_t rights;
	size_t at, len;		/* in the calm or the wild memory */
};

struct caller {
	struct rng rng;
	int dev, null;
	char *calm, *wild;	/* the pattern of 1; anything */
	char *buf;
	char *window;		/* a page, to map regions */
	struct mine regions[REGIONS];
	const struct mine *slots[REGIONS];
};

/* ---- what an owner may do ----------------------------------------------- */

static void *disturb(void *arg)
{
	struct caller *me = arg;
	struct rng r = { me->rng.s ^ 0x1234567 };

	await_start();
	for (;;) {
		size_t page = below(&r, PAGES), n = 1 + below(&r, PAGES - page);
		char *at = me->wild + page * SMALL_PAGE;

		n *= SMALL_PAGE;
		switch (below(&r, 8)) {
		case 0: munmap(at, n); break;
		case 1: madvise(at, n, MADV_DONTNEED); break;
		case 2: mprotect(at, n, PROT_NONE); break;
		case 3: mprotect(at, n, PROT_READ); break;
		case 4: mprotect(at, n, PROT_READ | PROT_WRITE); break;
		case 5: madvise(at, n, MADV_PAGEOUT); break;
		default:
			mmap(at, n, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		}
		sched_yield();
	}
	return NULL;
}

/* ---- calls -------------------------------------------------------------- */

static uint64_t random_number(struct rng *r)
{
	switch (below(r, 4)) {
	case 0: return draw(r);
	case 1: return UINT64_MAX - below(r, 3 * SMALL_PAGE);
	case 2: return UINT64_MAX >> below(r, 64);
	default: return below(r, 2 * BYTES);
	}
}

static bool is_lack(int ret)
{
	return ret == -ENOMEM || ret == -ENOBUFS || ret == -EDQUOT || ret == -EMFILE;
}

static void close_region(struct caller *me, struct mine *m)
{
	size_t i;
	int none = -1;

	for (i = 0; i < REGIONS; i++) {
		struct sonde_slots args = {
			.size = sizeof(args), .regions = (uintptr_t)&none,
			.first = i, .nregions = 1,
		};

		if (me->slots[i] != m)
			continue;
		if (do_ioctl(me->dev, SONDE_IOC_SLOTS, &args))
			violated("a slot cannot be emptied");
		me->slots[i] = NULL;
	}
	if (m->fd >= 0)
		close(m->fd);
	m->fd = -1;
}

static void call_export(struct caller *me)
{
	struct rng *r = &me->rng;
	struct mine *m = &me->regions[below(r, REGIONS)];
	struct sonde_export args;
	int ret;

	close_region(me, m);
	*m = (struct mine){
		.fd = -1, .is_calm = below(r, 2), .rights = below(r, 5),
		.at = below(r, BYTES), .len = below(r, BYTES),
	};
	args = export_of((m->is_calm ? me->calm : me->wild) + m->at, m->len, m->rights);
	if (!below(r, 8))
		args.len = random_number(r);
	/* Not over the memory of others, but out of the address space. */
	if (args.len > 2 * BYTES - m->at)
		args.len |= 1ULL << 60;
	if (!below(r, 8))
		args.flags = draw(r);
	ret = do_ioctl(me->dev, SONDE_IOC_EXPORT, &args);
	if (ret && args.fd != -1)
		violated("a failing export gave descriptor %d", args.fd);
	if (args.flags && ret && ret != -EINVAL)
		violated("export with flags %#x: %d", args.flags, ret);
	if (!m->rights || m->rights > 3 || !args.len) {
		if (ret != -EINVAL)
			violated("export with rights %#x, length %llu: %d", m->rights,
				 (unsigned long long)args.len, ret);
		return;
	}
	if (!ret && args.len != m->len)
		m->len = args.len;
	if (!ret) {
		m->fd = args.fd;
		tally->exports++;
		return;
	}
	if (m->is_calm && args.len == m->len && !args.flags &&
	    m->at + m->len <= BYTES && !is_lack(ret))
		violated("export of %zu calm bytes at %zu: %d", m->len, m->at, ret);
	tally->refused++;
}

/* A copy as it may be asked for, and whether it must be as it is asked. */
static struct sonde_copy random_copy(struct caller *me, const struct mine **which,
				     size_t room)
{
	struct rng *r = &me->rng;
	size_t slot = below(r, REGIONS);
	struct sonde_copy c = { .flags = below(r, 4), .result = 12345 };

	if (c.flags & SONDE_COPY_SLOT) {
		c.region = slot;
		*which = me->slots[slot];
	} else {
		*which = &me->regions[slot];
		c.region = (*which)->fd;
		if ((*which)->fd < 0)
			*which = NULL;
	}
	c.len = below(r, room);
	c.addr = (uintptr_t)me->buf;
	if (*which && (*which)->len > c.len)
		c.offset = below(r, (*which)->len - c.len);
	if (!below(r, 10))
		c.offset = random_number(r);
	if (!below(r, 10))
		c.len = random_number(r);
	return c;
}

static int64_t predict(const struct sonde_copy *c, const struct mine *m)
{
	uint32_t right = c->flags & SONDE_COPY_WRITE ? SONDE_REGION_WRITE :
						       SONDE_REGION_READ;

	if (!m)
		return -EBADF;
	if (!(m->rights & right))
		return -EBADF;
	if (c->len > m->len || c->offset > m->len - c->len)
		return -EINVAL;
	if (m->is_revoked)
		return -ESTALE;
	return c->len;
}

static void check_copy(struct caller *me, const struct sonde_copy *c,
		       const struct mine *m)
{
	int64_t want = predict(c, m);

	if (c->result == want) {
		tally->copies += want > 0;
	} else if (m && !m->is_calm && want >= 0 &&
		   (c->result == -ESTALE || (c->result > 0 && c->result < want))) {
		tally->lost++;
	} else {
		violated("copy of %lld at %lld, flags %#x: %lld, not %lld",
			 (long long)c->len, (long long)c->offset, c->flags,
			 (long long)c->result, (long long)want);
	}
	if (c->result > 0 && m->is_calm && !(c->flags & SONDE_COPY_WRITE))
		check_pattern(me->buf, c->result, m->at + c->offset, 1);
}

/* Into calm memory only what is there already. */
static void prepare(struct caller *me, const struct sonde_copy *c,
		    const struct mine *m)
{
	if (m && c->flags & SONDE_COPY_WRITE && predict(c, m) > 0 && m->is_calm)
		memcpy(me->buf, me->calm + m->at + c->offset, c->len);
}

/* Several into one buffer cannot be told apart: those are not compared. */
static void call_copyv(struct caller *me)
{
	const uint32_t n = below(&me->rng, 3) ? 1 : 1 + below(&me->rng, COPIES);
	const struct mine *which[COPIES];
	struct sonde_copy c[COPIES];
	struct sonde_copyv args = {
		.size = sizeof(args), .copies = (uintptr_t)c, .ncopies = n,
	};
	uint32_t i;

	for (i = 0; i < n; i++) {
		c[i] = random_copy(me, &which[i], BYTES);
		if (n > 1)
			c[i].flags &= ~SONDE_COPY_WRITE;
	}
	prepare(me, &c[0], which[0]);
	if (do_ioctl(me->dev, SONDE_IOC_COPYV, &args) || args.done != n)
		violated("a batch of %u ended after %u", n, args.done);
	for (i = 0; i < n; i++) {
		if (n == 1) {
			check_copy(me, &c[i], which[i]);
		} else if (which[i] && which[i]->is_calm &&
			   c[i].result != predict(&c[i], which[i])) {
			violated("in a batch: %lld, not %lld", (long long)c[i].result,
				 (long long)predict(&c[i], which[i]));
		}
	}
}

static void call_slots(struct caller *me)
{
	struct rng *r = &me->rng;
	size_t slot = below(r, REGIONS);
	const struct mine *m = &me->regions[below(r, REGIONS)];
	int fd = below(r, 8) ? m->fd : me->null;
	struct sonde_slots args = {
		.size = sizeof(args), .regions = (uintptr_t)&fd, .first = slot,
		.nregions = 1,
	};
	int ret = do_ioctl(me->dev, SONDE_IOC_SLOTS, &args);

	if (ret == -ENOMEM)
		return;
	if (ret != (fd == me->null ? -EINVAL : 0) || args.done != !ret)
		violated("slot with descriptor %d: %d, done %u", fd, ret, args.done);
	if (!ret)
		me->slots[slot] = fd >= 0 ? m : NULL;
}

static void call_revoke(struct caller *me)
{
	struct mine *m = &me->regions[below(&me->rng, REGIONS)];
	int ret = revoke_region(me->dev, m->fd);

	if (ret != (m->fd < 0 ? -EBADF : 0))
		violated("revocation: %d", ret);
	m->is_revoked = true;
}

static void call_check(struct caller *me)
{
	const struct mine *m = &me->regions[below(&me->rng, REGIONS)];
	struct sonde_check args = { .size = sizeof(args), .region = m->fd };
	int ret = do_ioctl(me->dev, SONDE_IOC_CHECK, &args);

	if (ret != (m->fd < 0 ? -EBADF : 0))
		violated("check: %d", ret);
	if (ret)
		return;
	if (args.len != m->len || args.rights != m->rights)
		violated("check tells %llu bytes, rights %#x",
			 (unsigned long long)args.len, args.rights);
	if (args.error != (m->is_revoked ? ESTALE : 0) &&
	    (m->is_calm || args.error != ESTALE))
		violated("check tells error %u", args.error);
}

static void call_map(struct caller *me)
{
	const struct mine *m = &me->regions[below(&me->rng, REGIONS)];
	char *p = mmap(me->window, SMALL_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
		       m->fd, 0);
	bool may;

	if (m->fd < 0) {
		if (p != MAP_FAILED)
			violated("nothing was mapped");
		return;
	}
	may = m->rights & SONDE_REGION_READ && !(m->at % SMALL_PAGE) &&
	      m->len >= SMALL_PAGE && !m->is_revoked;
	if (p == MAP_FAILED) {
		if (may && m->is_calm && errno != ENOMEM)
			violated("no mapping: errno %d", errno);
		return;
	}
	if (!may)
		violated("a mapping that must not be");
	if (m->is_calm)
		check_pattern(p, SMALL_PAGE, m->at, 1);
	if (mmap(p, SMALL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) != p)
		violated("the window cannot be closed: errno %d", errno);
}

static void *call_for_ever(void *arg)
{
	struct caller *me = arg;
	size_t i;

	for (i = 0; i < REGIONS; i++)
		me->regions[i].fd = -1;
	await_start();
	for (;;) {
		switch (below(&me->rng, 12)) {
		case 0: case 1: call_export(me); break;
		case 2: call_slots(me); break;
		case 3: call_check(me); break;
		case 4: call_map(me); break;
		case 5:
			if (!below(&me->rng, 8))
				call_revoke(me);
			break;
		default: call_copyv(me);
		}
		tally->calls++;
	}
	return NULL;
}

/* ---- processes ---------------------------------------------------------- */

static void work(uint64_t seed, bool root)
{
	static struct caller callers[CALLERS];
	pthread_t thread;
	size_t i;

	(void)root;
	for (i = 0; i < CALLERS; i++) {
		struct caller *me = &callers[i];

		me->rng.s = (seed + i) * 0x9e3779b97f4a7c15ULL | 1;
		me->dev = open_node(MAIN_NODE);
		me->null = open("/dev/null", O_RDWR);
		me->calm = map_small(2 * BYTES);
		fill_pattern(me->calm, 2 * BYTES, 1);
		me->wild = map_small(2 * BYTES);
		me->buf = map_small(2 * BYTES);
		me->window = map_small(SMALL_PAGE);
		if (pthread_create(&thread, NULL, disturb, me) ||
		    pthread_create(&thread, NULL, call_for_ever, me))
			_exit(TAP_FAILED);
	}
	all_is_mapped = true;
	pause();
}

static void print_counts(void)
{
	printf("# %lu calls: %lu exports, %lu copies, %lu met a lost region, %lu exports refused\n",
	       tally->calls, tally->exports, tally->copies, tally->lost, tally->refused);
}

static bool saw_all(void)
{
	return tally->exports && tally->copies && tally->lost && tally->refused;
}

static void expect_nothing_pinned(void)
{
	await_pinned(0);
}

int main(int argc, char **argv)
{
	static const struct hostile test = {
		.name = "hostile_region", .seconds = 20, .workers = 3,
		.work = work, .after = expect_nothing_pinned,
		.print_counts = print_counts, .saw_all = saw_all,
	};

	tally = share_memory(sizeof(*tally));
	return hostile_main(argc, argv, &test);
}
