/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random calls on both nodes, from several processes of several threads, while
 * other threads unmap, move, protect and drop the memory that is asked about
 * and written to, files are closed under the callers, and processes are killed
 * at any moment.
 *
 * Each call is made from parts whose effect is known (command, size, place and
 * content of the struct, place of the answer), so each has an answer that
 * it must get, or two where another thread interferes. Files, structs and
 * answers come in two sorts: private to the calling thread, where everything
 * must be exact, and shared. Memory that a call gives is mapped, must be zero,
 * and lies in the arena too.
 */
#include <pthread.h>
#include <stddef.h>

#include "hostile.h"

#define CALLERS		2		/* threads of a worker */
#define ARENA		(16UL << 20)
#define HUGE		(2UL << 20)
#define SHARED_FDS	8
#define ENTRIES		2048
#define MEMORY		64		/* pages of a worker's memory */
#define MOST_MEMORY	96		/* pages that a call asks for */
#define MODELLED	3		/* commands that are called, from 0 on */
#define GUARD		4		/* entries behind an answer */
#define STRUCT_MAX	16384		/* _IOC_SIZE() is less */

#ifndef MADV_COLD
#define MADV_COLD	20
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

/* What came of all calls; shared by all processes. */
static struct tally {
	_Atomic unsigned long calls, ok, efault, einval, e2big, enotty, ebadf;
	_Atomic unsigned long partial, memories, lacks, eperm;
} *tally;

/* One process. */
static struct worker {
	char *arena;
	int zero, shm, hugetlb, memory;
	uint64_t max_pages, end;	/* of the module, of the address space */
	uint64_t memory_pages, colour_bits;
	bool sees_frames;
	int shared_fd[SHARED_FDS];
} w;

/* ---- a call and what must come of it ------------------------------------ */

enum place {
	PRIVATE, READ_ONLY, STRADDLING, SHARED, NOWHERE, PLACES
};

struct caller {
	struct rng rng;
	int fd[2];			/* of the main and of the probe node */
	char *struct_page[PLACES];	/* where a struct of that sort starts */
	char *unmapped;
	char *window;			/* a page, to map memory that was given */
	struct sonde_frame *entries;	/* ENTRIES + GUARD of our own */
	struct sonde_frame *read_only;
	uint64_t masks[SONDE_ALLOC_MASKS + 4];
	uint64_t colours[64];
};

struct call {
	bool probe, exact_fd;
	int fd;
	unsigned int cmd;
	enum place where, out;
	void *arg;
	uint32_t usize;
	union {
		struct sonde_info info;
		struct sonde_frames frames;
		struct sonde_alloc alloc;
		unsigned char bytes[STRUCT_MAX];
	} before;
	int want[2];			/* 0 or -errno: either */
};

/* By number: the struct's size now, and when it was first published. */
static const size_t sizes[MODELLED] = {
	sizeof(struct sonde_info), sizeof(struct sonde_frames),
	sizeof(struct sonde_alloc),
};

__attribute__((format(printf, 2, 3), noreturn))
static void wrong(const struct call *c, const char *fmt, ...)
{
	char what[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	violated("%s: cmd %#x node %d struct %d answer %d size %u addr %#llx npages %#llx flags %#x",
		 what, c->cmd, c->probe, c->where, c->out, c->before.frames.size,
		 (unsigned long long)c->before.frames.addr,
		 (unsigned long long)c->before.frames.npages,
		 c->before.frames.flags);
}

static unsigned int random_command(struct rng *r, uint32_t *usize, bool *known,
				   bool probe)
{
	unsigned int dir = _IOC_READ | _IOC_WRITE, type = SONDE_IOC_MAGIC;
	unsigned int nr = below(r, MODELLED);
	uint32_t size = sizes[nr];

	switch (below(r, 12)) {
	case 0: dir = below(r, 4); break;
	case 1: type = below(r, 256); break;
	case 2:
		nr = below(r, 256);
		if (nr >= MODELLED && nr < COMMANDS)
			nr += COMMANDS;
		break;
	case 3: size = below(r, 1 << _IOC_SIZEBITS); break;
	case 4: size += 8 * below(r, 16); break;
	case 5: size = below(r, size + 1); break;
	}
	*usize = size;
	*known = dir == (_IOC_READ | _IOC_WRITE) && type == SONDE_IOC_MAGIC &&
		 nr < (probe ? MODELLED : 1U);
	return _IOC(dir, type, nr, size);
}

static uint64_t random_address(struct rng *r)
{
	switch (below(r, 8)) {
	case 0: return draw(r);
	case 1: return draw(r) & ~(SMALL_PAGE - 1);
	case 2: return (draw(r) & ((1UL << 47) - 1)) & ~(SMALL_PAGE - 1);
	case 3: return w.end - below(r, 4) * SMALL_PAGE;
	case 4: return ((uintptr_t)r & ~(SMALL_PAGE - 1)) -
		       below(r, 64) * SMALL_PAGE;
	default: return (uintptr_t)w.arena + below(r, ARENA / SMALL_PAGE) *
			SMALL_PAGE;
	}
}

static uint64_t random_count(struct rng *r)
{
	switch (below(r, 16)) {
	case 0: return draw(r);
	case 1: return 0;
	case 2: return w.max_pages + 1 + below(r, 2);
	case 3: return UINT64_MAX >> below(r, 64);
	default: return 1 + below(r, one_in(r, 8) ? ENTRIES : 64);
	}
}

static uint64_t random_answer(struct caller *me, struct call *c, uint64_t n)
{
	static const uint64_t nowhere[] = {
		0, 16, 0xffff888000000000UL, -4096UL, 1UL << 60,
	};
	struct rng *r = &me->rng;

	c->out = below(r, PLACES);
	/* An answer larger than ours must not be written to memory of others. */
	if (n > ENTRIES && (c->out == PRIVATE || c->out == SHARED))
		c->out = NOWHERE;
	switch (c->out) {
	case PRIVATE:
		return (uintptr_t)me->entries;
	case READ_ONLY:
		return (uintptr_t)me->read_only;
	case STRADDLING:
		return (uintptr_t)me->unmapped - below(r, SMALL_PAGE);
	case SHARED:
		return (uintptr_t)w.arena + below(r, ARENA - ENTRIES *
						  sizeof(struct sonde_frame));
	default:
		return nowhere[below(r, ARRAY_SIZE(nowhere))];
	}
}

/* Mostly bits that anybody may use; seldom dependent, seldom high. */
static void random_masks(struct caller *me, unsigned int n)
{
	struct rng *r = &me->rng;
	unsigned int i, first = below(r, w.colour_bits);

	for (i = 0; i < ARRAY_SIZE(me->masks); i++) {
		me->masks[i] = 1ULL << (first + i) % w.colour_bits;
		if (one_in(r, 8))
			me->masks[i] |= draw(r) & ((1 << w.colour_bits) - 1);
	}
	if (n && one_in(r, 5))
		me->masks[below(r, n)] = draw(r) >> below(r, 64);
}

static uint64_t random_array(struct caller *me, const void *array)
{
	switch (below(&me->rng, 16)) {
	case 0: return 0;
	case 1: return (uintptr_t)me->unmapped;
	case 2: return draw(&me->rng) | 1ULL << 63;
	default: return (uintptr_t)array;
	}
}

static void random_alloc(struct caller *me, struct sonde_alloc *a)
{
	struct rng *r = &me->rng;
	unsigned int bits;

	a->flags = one_in(r, 12) ? draw(r) : below(r, 8);
	a->npages = one_in(r, 8) ? random_count(r) : 1 + below(r, MOST_MEMORY);
	if (a->npages > MOST_MEMORY && a->npages <= w.memory_pages)
		a->npages = MOST_MEMORY;
	a->node = one_in(r, 12) ? (int)draw(r) : (int)below(r, 2) - 1;
	a->reserved = one_in(r, 24) ? draw(r) : 0;
	a->fd = draw(r);
	if (a->flags & SONDE_ALLOC_CONTIGUOUS ? !one_in(r, 8) : one_in(r, 4))
		return;		/* without colours */
	a->nmasks = one_in(r, 12) ? below(r, SONDE_ALLOC_MASKS + 4) :
				    1 + below(r, 4);
	random_masks(me, a->nmasks);
	a->masks = a->nmasks || one_in(r, 8) ? random_array(me, me->masks) : 0;
	bits = a->nmasks ? a->nmasks : w.colour_bits;
	/* Not longer than it takes somebody to be killed with patience. */
	if (a->npages <= w.memory_pages && a->npages > 1024U >> (bits & 15))
		a->npages = 1 + (1024U >> (bits & 15));
	memset(me->colours, 0, sizeof(me->colours));
	do {
		uint64_t colour = below(r, one_in(r, 16) ? 4096 : 1ULL << (bits & 15));

		me->colours[colour / 64 % ARRAY_SIZE(me->colours)] |=
			1ULL << colour % 64;
	} while (!one_in(r, 4));
	a->colours = random_array(me, me->colours);
}

static void random_content(struct caller *me, struct call *c)
{
	struct rng *r = &me->rng;
	struct sonde_frames *f = &c->before.frames;
	unsigned int nr = _IOC_NR(c->cmd);
	size_t known = sizes[nr < MODELLED ? nr : 1];
	size_t i;

	memset(&c->before, 0, sizeof(c->before));
	if (nr == 2) {
		c->out = PLACES;
		random_alloc(me, &c->before.alloc);
	} else if (nr) {
		f->addr = random_address(r);
		f->npages = random_count(r);
		f->entries = random_answer(me, c, f->npages);
		f->flags = one_in(r, 8) ? draw(r) : below(r, 2);
		f->done = draw(r);
	} else {
		c->out = PLACES;
		for (i = 4; i < known; i++)
			c->before.bytes[i] = draw(r);
	}
	f->size = one_in(r, 16) ? draw(r) : c->usize;
	/* Not where the struct is cut off: which of two errors is told first? */
	if (c->usize > known && c->where != STRADDLING && one_in(r, 4))
		c->before.bytes[known + below(r, c->usize - known)] = 1;
}

static bool is_good_range(const struct sonde_frames *f)
{
	return !(f->flags & ~SONDE_FRAMES_COLOURS) && f->npages &&
	       f->npages <= w.max_pages && !(f->addr % SMALL_PAGE) &&
	       f->addr < w.end && f->npages <= (w.end - f->addr) / SMALL_PAGE;
}

static bool has_tail(const struct call *c, size_t known)
{
	size_t i;

	for (i = known; i < c->usize; i++)
		if (c->before.bytes[i])
			return true;
	return false;
}

static bool is_readable(const struct caller *me, uint64_t addr)
{
	return addr == (uintptr_t)me->masks || addr == (uintptr_t)me->colours;
}

/* By brute force: no sum of some of them is 0. */
static bool are_independent(const uint64_t *masks, unsigned int n)
{
	unsigned int some, i;

	for (some = 1; some < 1U << n; some++) {
		uint64_t sum = 0;

		for (i = 0; i < n; i++)
			if (some >> i & 1)
				sum ^= masks[i];
		if (!sum)
			return false;
	}
	return true;
}

static int predict_masks(const struct caller *me, const struct sonde_alloc *a)
{
	unsigned int i;

	if (!a->nmasks)
		return a->masks ? -EINVAL : 0;
	if (a->nmasks > SONDE_ALLOC_MASKS)
		return -EINVAL;
	if (!is_readable(me, a->masks))
		return -EFAULT;
	if (!are_independent(me->masks, a->nmasks))
		return -EINVAL;
	for (i = 0; i < a->nmasks; i++)
		if (!w.sees_frames && me->masks[i] >> w.colour_bits)
			return -EPERM;
	return 0;
}

static int predict_colours(const struct caller *me, const struct sonde_alloc *a)
{
	const unsigned int n = 1U << (a->nmasks ? a->nmasks : w.colour_bits);
	unsigned int colour;
	bool any = false;

	if (!is_readable(me, a->colours))
		return -EFAULT;
	for (colour = 0; colour < (n < 64 ? 64 : n); colour++) {
		if (!(me->colours[colour / 64] >> colour % 64 & 1))
			continue;
		if (colour >= n)
			return -EINVAL;
		any = true;
	}
	return any ? 0 : -EINVAL;
}

static int predict_alloc(const struct caller *me, const struct sonde_alloc *a)
{
	int ret;

	if (a->flags & ~7U || a->reserved || !a->npages || a->node < -1 ||
	    a->node > 0)
		return -EINVAL;
	if (!a->colours && (a->masks || a->nmasks))
		return -EINVAL;
	if (a->colours && a->flags & SONDE_ALLOC_CONTIGUOUS)
		return -EINVAL;
	if (a->npages > w.memory_pages)
		return -EDQUOT;
	if (!a->colours)
		return 0;
	ret = predict_masks(me, a);
	return ret ? ret : predict_colours(me, a);
}

/* What may be lacking where all is right: nobody can tell. */
static bool is_lack(const struct call *c, int ret)
{
	return _IOC_NR(c->cmd) == 2 && c->want[0] != -EINVAL &&
	       (ret == -ENOSPC || ret == -ENOMEM || ret == -ENOBUFS ||
		ret == -EDQUOT || ret == -EMFILE);
}

/* The answer that a call must get if nobody interferes. */
static int predict(const struct caller *me, const struct call *c, bool known)
{
	const struct sonde_frames *f = &c->before.frames;
	unsigned int nr = _IOC_NR(c->cmd);
	size_t size = sizes[nr < MODELLED ? nr : 1];
	int ret;

	if (!known)
		return -ENOTTY;
	if (c->usize < size)	/* as first published */
		return -EINVAL;
	if (c->where == NOWHERE || c->where == STRADDLING)
		return -EFAULT;
	if (has_tail(c, size))
		return -E2BIG;
	if (f->size != c->usize)
		return -EINVAL;
	if (nr == 2) {
		ret = predict_alloc(me, &c->before.alloc);
		if (ret)
			return ret;
	} else if (nr) {
		if (!is_good_range(f))
			return -EINVAL;
		if (c->out == READ_ONLY || c->out == NOWHERE)
			return -EFAULT;
		if (c->out == STRADDLING &&
		    f->npages * sizeof(struct sonde_frame) >
		    (-f->entries & (SMALL_PAGE - 1)))
			return -EFAULT;
	}
	return c->where == READ_ONLY ? -EFAULT : 0;
}

/* ---- after the call ----------------------------------------------------- */

static void check_entries(const struct call *c, const struct sonde_frame *f,
			  uint64_t n)
{
	const bool frames = w.sees_frames &&
			    !(c->before.frames.flags & SONDE_FRAMES_COLOURS);
	static const unsigned char zero[sizeof(f->reserved)];
	uint64_t i;

	for (i = 0; i < n; i++, f++) {
		const bool present = f->flags & SONDE_FRAME_PRESENT;

		if (f->flags & ~0x1f || f->node ||
		    (f->order && f->order != 9 && f->order != 18) ||
		    memcmp(f->reserved, zero, sizeof(zero)))
			wrong(c, "entry %llu is not well formed",
				 (unsigned long long)i);
		if (present && !(f->flags & SONDE_FRAME_MAPPED))
			wrong(c, "present outside of any mapping");
		if (!(f->flags & SONDE_FRAME_FRAME) != !(present && frames))
			wrong(c, "entry flags %#x", f->flags);
		if (f->frame && !(f->flags & SONDE_FRAME_FRAME))
			wrong(c, "a frame is told that must not be");
	}
}

static void check_canary(const struct call *c, const struct sonde_frame *f,
			 uint64_t n)
{
	const unsigned char *p = (const void *)(f + n);
	const unsigned char *end = (const void *)(f + ENTRIES + GUARD);

	for (; p < end; p++)
		if (*p != 0xa5)
			wrong(c, "written behind the answer of %llu entries",
				 (unsigned long long)n);
}

static void check_private_struct(const struct call *c, int ret)
{
	const struct sonde_frames *now = c->arg;
	const struct sonde_frames *then = &c->before.frames;
	bool ran = _IOC_NR(c->cmd) == 1 && (!ret || ret == -EFAULT);

	if (_IOC_NR(c->cmd) == 2 && !ret)
		return;

	if (ran && now->done > then->npages)
		wrong(c, "done is %llu", (unsigned long long)now->done);
	if (ran && !ret && now->done != then->npages)
		wrong(c, "done is %llu though all is well",
			 (unsigned long long)now->done);
	if (ran && ret && now->done == then->npages)
		wrong(c, "all is done though it failed");
	if (ran && now->done && now->done < then->npages)
		tally->partial++;
	if (ran ? memcmp(now, then, offsetof(struct sonde_frames, done)) :
	    ret && memcmp(now, then, c->usize))
		wrong(c, "the struct was changed, result %d", ret);
}

/*
 * Maps what was given, checks it, closes it. Another thread may have closed the
 * descriptor already, if it got the number of a file that this one closes.
 */
static void check_memory(const struct caller *me, const struct call *c)
{
	const struct sonde_alloc *a = c->arg;
	uint64_t page = a->npages / 2;
	char *p;

	if (a->fd < 0 || a->runs > a->npages || a->longest > a->npages ||
	    a->off_colour > a->npages || !a->runs || !a->longest)
		wrong(c, "the answer makes no sense: fd %d", a->fd);
	if (a->off_colour && !(a->flags & SONDE_ALLOC_PARTIAL))
		wrong(c, "off-colour pages that were not allowed");
	p = mmap(me->window, SMALL_PAGE, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, a->fd, page * SMALL_PAGE);
	if (p != MAP_FAILED) {
		if (a->flags & SONDE_ALLOC_PRIVATE)
			wrong(c, "private memory was mapped");
		if (p[0] || memcmp(p, p + 1, SMALL_PAGE - 1))
			wrong(c, "the memory is not zero");
		memset(p, 0xa5, SMALL_PAGE);
	}
	/* Never unmapped: a hole is where somebody else's memory may come. */
	if (mmap(me->window, SMALL_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_FIXED, -1, 0) == MAP_FAILED)
		wrong(c, "the window cannot be closed: errno %d", errno);
	close(a->fd);
	tally->memories++;
}

static void check_answer(const struct caller *me, const struct call *c, int ret)
{
	bool asked_frames = _IOC_NR(c->cmd) == 1 && c->exact_fd;

	if (is_lack(c, ret)) {
		tally->lacks++;
		return;
	}

	if (ret != c->want[0] && ret != c->want[1])
		wrong(c, "result %d, not %d or %d", ret, c->want[0],
			 c->want[1]);
	if (c->where == PRIVATE && c->exact_fd)
		check_private_struct(c, ret);
	if (!asked_frames || c->out != PRIVATE)
		return;
	if (!ret)
		check_entries(c, me->entries, c->before.frames.npages);
	if (c->where != SHARED)
		check_canary(c, me->entries, ret == -EFAULT || !ret ?
			     c->before.frames.npages : 0);
}

static void count(int ret)
{
	tally->calls++;
	switch (ret) {
	case 0: tally->ok++; break;
	case -EFAULT: tally->efault++; break;
	case -EINVAL: tally->einval++; break;
	case -E2BIG: tally->e2big++; break;
	case -ENOTTY: tally->enotty++; break;
	case -EBADF: tally->ebadf++; break;
	case -EPERM: tally->eperm++; break;
	}
}

/* ---- making the call ---------------------------------------------------- */

static void place_struct(struct caller *me, struct call *c)
{
	static void *const nowhere[] = {
		NULL, (void *)24, (void *)0xffff888000000000UL, (void *)-64L,
	};

	switch (c->where) {
	case STRADDLING:
		c->arg = me->unmapped - (c->usize ? below(&me->rng, c->usize) : 0);
		memcpy(c->arg, &c->before, me->unmapped - (char *)c->arg);
		return;
	case SHARED:
		/* May be gone: the kernel copies it, and does not mind. */
		c->arg = w.arena + below(&me->rng, ARENA - STRUCT_MAX);
		return;
	case NOWHERE:
		c->arg = nowhere[below(&me->rng, ARRAY_SIZE(nowhere))];
		return;
	default:
		c->arg = me->struct_page[c->where];
	}
	if (c->where == READ_ONLY)
		mprotect(c->arg, STRUCT_MAX, PROT_READ | PROT_WRITE);
	memcpy(c->arg, &c->before, c->usize);
	if (c->where == READ_ONLY)
		mprotect(c->arg, STRUCT_MAX, PROT_READ);
}

static void choose_file(struct caller *me, struct call *c)
{
	c->probe = below(&me->rng, 4);
	c->exact_fd = !one_in(&me->rng, 4);
	c->fd = c->exact_fd ? me->fd[c->probe] :
		w.shared_fd[below(&me->rng, SHARED_FDS)];
}

/* Whatever a shared file or struct makes of a call, it is one of these. */
static bool is_documented(const struct call *c, int ret)
{
	if (_IOC_NR(c->cmd) == 2 && (ret == -EPERM || ret == -EDQUOT ||
				     is_lack(c, ret)))
		return true;
	return !ret || ret == -EFAULT || ret == -EINVAL || ret == -E2BIG ||
	       ret == -ENOTTY;
}

static void call_once(struct caller *me)
{
	static __thread struct call c;
	bool known;
	int ret;

	choose_file(me, &c);
	c.cmd = random_command(&me->rng, &c.usize, &known, c.probe);
	c.where = below(&me->rng, 3) ? PRIVATE : below(&me->rng, PLACES);
	/* Memory must be given back, by a descriptor that can be found. */
	if (_IOC_NR(c.cmd) == 2 && c.where == SHARED)
		c.where = PRIVATE;
	random_content(me, &c);
	place_struct(me, &c);
	c.want[0] = c.want[1] = predict(me, &c, known);
	if (c.out == SHARED && !c.want[0])
		c.want[1] = -EFAULT;
	if (c.out == PRIVATE)
		memset(me->entries, 0xa5,
		       (ENTRIES + GUARD) * sizeof(*me->entries));

	ret = do_ioctl(c.fd, c.cmd, c.arg);
	count(ret);
	if (_IOC_NR(c.cmd) == 2 && !ret && c.where == PRIVATE)
		check_memory(me, &c);
	if (c.where == SHARED || !c.exact_fd) {
		if (!is_documented(&c, ret) && (c.exact_fd || ret != -EBADF))
			wrong(&c, "undocumented result %d", ret);
		/* What the struct holds cannot be told; what is not known can. */
		if (c.exact_fd && !known && ret != -ENOTTY)
			wrong(&c, "result %d of an unknown command", ret);
		return;
	}
	check_answer(me, &c, ret);
}

static char *map_or_die(size_t size, int prot)
{
	char *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(TAP_FAILED);
	return p;
}

static struct caller *new_caller(uint64_t seed)
{
	const size_t size = (ENTRIES + GUARD) * sizeof(struct sonde_frame);
	struct caller *me = (void *)map_or_die(sizeof(*me),
					       PROT_READ | PROT_WRITE);

	me->rng.s = seed;
	me->fd[0] = open_node(MAIN_NODE);
	me->fd[1] = open_node(PROBE_NODE);
	me->struct_page[PRIVATE] = map_or_die(STRUCT_MAX, PROT_READ | PROT_WRITE);
	me->struct_page[READ_ONLY] = map_or_die(STRUCT_MAX, PROT_READ);
	me->unmapped = map_or_die(2 * STRUCT_MAX, PROT_READ | PROT_WRITE) +
		       STRUCT_MAX;
	/* Inaccessible rather than unmapped, so that nobody moves in. */
	check_int(mprotect(me->unmapped, STRUCT_MAX, PROT_NONE), 0);
	me->window = map_or_die(SMALL_PAGE, PROT_NONE);
	me->entries = (void *)map_or_die(size, PROT_READ | PROT_WRITE);
	me->read_only = (void *)map_or_die(size, PROT_READ);
	return me;
}

static void *run_caller(void *arg)
{
	await_start();
	for (;;)
		call_once(arg);
	return NULL;
}

/* ---- those who disturb -------------------------------------------------- */

static void map_something(struct rng *r, char *p, size_t len)
{
	const int prot = one_in(r, 8) ? PROT_NONE : PROT_READ | PROT_WRITE;
	const off_t off = below(r, 8) * HUGE;
	bool is_shared;

	switch (below(r, 5)) {
	case 0:
		mmap(p, len, prot, MAP_SHARED | MAP_FIXED, w.shm, off);
		break;
	case 2:
		len = (1 + below(r, MEMORY)) * SMALL_PAGE;
		mmap(p, len, prot, MAP_SHARED | MAP_FIXED, w.memory,
		     below(r, MEMORY + 1) * SMALL_PAGE);
		break;
	case 1:
		p -= (uintptr_t)p % HUGE;
		is_shared = one_in(r, 2);
		p = mmap(p, HUGE, prot, (is_shared ? MAP_SHARED : MAP_PRIVATE) |
			 MAP_FIXED, w.hugetlb, off % (4 * HUGE));
		/*
		 * Without any module kernels lock up (5.10, 6.1, 6.12) where a private page
		 * that a child has too is written, no huge page is left, and another process
		 * touches the file's: hugetlb_cow() waits for who waits for its page lock.
		 */
		if (p != MAP_FAILED && !is_shared)
			madvise(p, HUGE, MADV_DONTFORK);
		break;
	default:
		mmap(p, len, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
	}
}

static void cut_file(struct rng *r)
{
	int fd = one_in(r, 2) ? w.shm : w.hugetlb;

	if (one_in(r, 2))
		fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			  below(r, 8) * HUGE, HUGE);
	else if (!ftruncate(fd, below(r, 8) * HUGE))
		(void)!ftruncate(fd, fd == w.shm ? ARENA : 4 * HUGE);
}

static void advise(struct rng *r, char *p, size_t len)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
		MADV_COLD, MADV_PAGEOUT, MADV_COLLAPSE, MADV_WILLNEED,
	};

	madvise(p, len, advice[below(r, ARRAY_SIZE(advice))]);
}

static void fork_and_ask(void)
{
	struct sonde_frame frames[64];
	pid_t pid = fork();

	if (!pid) {
		get_frames(w.shared_fd[0], w.arena, ARRAY_SIZE(frames), frames,
			   0, NULL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void disturb_memory(struct rng *r)
{
	static const int prots[] = {
		PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_WRITE,
	};
	size_t pages = one_in(r, 4) ? HUGE / SMALL_PAGE : 1 + below(r, 200);
	size_t len = pages * SMALL_PAGE;
	char *p = w.arena + below(r, (ARENA - len) / SMALL_PAGE) * SMALL_PAGE;
	char *to = w.arena + below(r, (ARENA - len) / SMALL_PAGE) * SMALL_PAGE;

	switch (below(r, 12)) {
	case 0: munmap(p, len); break;
	case 1: mprotect(p, len, prots[below(r, ARRAY_SIZE(prots))]); break;
	case 2: mremap(p, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to); break;
	case 3: cut_file(r); break;
	case 4:
		if (one_in(r, 20))
			fork_and_ask();
		break;
	case 5: case 6: advise(r, p, len); break;
	case 7: case 8: map_something(r, p, len); break;
	default:
		/* Written by the kernel, which minds no hole. */
		(void)!read(w.zero, p, len);
	}
}

static void *run_disturber(void *arg)
{
	struct rng r = { (uintptr_t)arg };

	for (;;)
		disturb_memory(&r);
	return NULL;
}

/* Closes files under those who use them; the number stays the slot's. */
static void *run_closer(void *arg)
{
	struct rng r = { (uintptr_t)arg };

	for (;;) {
		size_t i = below(&r, SHARED_FDS);
		int fd = open(one_in(&r, 4) ? MAIN_NODE : PROBE_NODE,
			      O_RDWR | O_CLOEXEC);

		if (fd < 0)
			_exit(TAP_FAILED);
		if (one_in(&r, 2)) {
			dup3(fd, w.shared_fd[i], O_CLOEXEC);
			close(fd);
		} else {
			close(w.shared_fd[i]);
			w.shared_fd[i] = fd;
		}
		sched_yield();
	}
	return NULL;
}

/* ---- processes ---------------------------------------------------------- */

static uint64_t find_end(int fd)
{
	uint64_t end = (1UL << 56) - SMALL_PAGE;
	struct sonde_frame frame;

	if (!get_frames(fd, (void *)(end - SMALL_PAGE), 1, &frame, 0, NULL))
		return end;
	return (1UL << 47) - SMALL_PAGE;
}

static uint64_t parameter(const char *path)
{
	unsigned long value = 0;
	FILE *f = fopen(path, "r");

	check(f && fscanf(f, "%lu", &value) == 1);
	fclose(f);
	return value;
}

/* To be mapped in the arena; without it if the module may hold no more. */
static int take_memory(int probe)
{
	struct sonde_alloc args = {
		.size = sizeof(args), .npages = MEMORY, .node = -1, .fd = -1,
	};

	do_ioctl(probe, SONDE_IOC_ALLOC, &args);
	return args.fd;
}

static void set_up_worker(bool root)
{
	struct sonde_info info = { .size = sizeof(info) };
	gid_t group = probe_group();
	size_t i;

	if (!root)
		become_nobody(group);
	for (i = 0; i < SHARED_FDS; i++)
		w.shared_fd[i] = open_node(i % 4 ? PROBE_NODE : MAIN_NODE);
	check_int(do_ioctl(w.shared_fd[1], SONDE_IOC_INFO, &info), 0);
	w.max_pages = info.max_pages;
	w.colour_bits = info.colour_bits;
	w.memory_pages = parameter("/sys/module/sonde/parameters/memory_pages");
	w.memory = take_memory(w.shared_fd[1]);
	w.sees_frames = root;
	check_int(info.rights, root ? ROOT_RIGHTS : 0);
	w.end = find_end(w.shared_fd[1]);
	w.zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	w.shm = memfd_create("hostile", MFD_CLOEXEC);
	w.hugetlb = memfd_create("hostile", MFD_CLOEXEC | MFD_HUGETLB);
	check(w.zero >= 0 && w.shm >= 0);
	check_int(ftruncate(w.shm, ARENA), 0);
	if (w.hugetlb >= 0)
		(void)!ftruncate(w.hugetlb, 4 * HUGE);
	w.arena = map_or_die(ARENA + 2 * HUGE, PROT_READ | PROT_WRITE);
	w.arena += -(uintptr_t)w.arena & (HUGE - 1);
}

static void run_worker(uint64_t seed, bool root)
{
	struct rng r = { seed };
	pthread_t thread;
	int i;

	set_up_worker(root);
	for (i = 0; i < CALLERS; i++)
		check_int(pthread_create(&thread, NULL, run_caller,
					 new_caller(draw(&r) | 1)), 0);
	check_int(pthread_create(&thread, NULL, run_closer,
				 (void *)(draw(&r) | 1)), 0);
	all_is_mapped = true;
	run_disturber((void *)(draw(&r) | 1));
}

static void print_counts(void)
{
	printf("# %lu calls: %lu ok, %lu EFAULT (%lu partial), %lu EINVAL, %lu E2BIG, %lu ENOTTY, %lu EBADF\n",
	       tally->calls, tally->ok, tally->efault, tally->partial,
	       tally->einval, tally->e2big, tally->enotty, tally->ebadf);
	printf("# %lu memories, %lu lacks, %lu EPERM\n", tally->memories,
	       tally->lacks, tally->eperm);
}

static bool saw_all(void)
{
	return tally->ok && tally->efault && tally->einval && tally->e2big &&
	       tally->enotty && tally->ebadf && tally->eperm &&
	       tally->memories && tally->partial;
}

int main(int argc, char **argv)
{
	static const struct hostile test = {
		.name = "hostile", .seconds = 60, .workers = 4,
		.work = run_worker, .print_counts = print_counts,
		.saw_all = saw_all,
	};

	tally = share_memory(sizeof(*tally));
	return hostile_main(argc, argv, &test);
}
