// SPDX-License-Identifier: GPL-2.0-only
/*
 * SONDE_DSM_KEEP: pages that are written in one interval after the other stay writable,
 * with their twin, and whether they were written say the dirty bits of their entries.
 * Eight looks cost what a fault with a twin does (tests/guest/budget.tsv).
 *
 * A page is kept when it was noted, with a twin, and was so before not more than NEAR
 * turns ago; a turn is a collection, in one call or more, that told of anything. It is
 * kept no longer when one look more than LOOKS in a row found nothing. These have cost
 * what a fault does: who rents until that has cost as much as to buy pays at most about
 * twice the least, whatever a program does (Karlin et al. 1988). A new protection ends
 * it, and so does a twin that others lack.
 *
 * An entry is cleaned first, and its translations are flushed before the collection
 * returns: what a thread writes by a stale one until then is in the page when user space
 * looks at it. The processor makes an entry dirty that was clean only if it is
 * writable at that moment. So shutting it, and only then reading whether it is dirty,
 * loses no write. Entries that vanish in any other way than by us take their bits with
 * them, so the end of the view counts as a write to all.
 */
#include <linux/mm.h>
#include <linux/mmu_notifier.h>

#include "sonde.h"
#include "dsm.h"

#define NEAR	4
#define LOOKS	7U

static struct mm_struct *mm_of(const struct sonde_dsm_flush *f)
{
	return f->vma->vm_mm;
}

static void count(struct sonde_dsm *dsm, int kept, int unseen)
{
	spin_lock(&dsm->lock);
	dsm->nkept += kept;
	dsm->unseen += unseen;
	spin_unlock(&dsm->lock);
}

/* Nobody can lack one where each page may have its own. */
static bool is_short_of_twins(const struct sonde_dsm *dsm)
{
	return dsm->ntwins < dsm->npages && !READ_ONCE(dsm->nfree);
}

/**
 * sonde_dsm_take_turn() - pages were collected
 * @dsm: the segment, with @looking held
 * @count: how many
 * @was_all: whether there were no more
 */
void sonde_dsm_take_turn(struct sonde_dsm *dsm, u32 count, bool was_all)
{
	dsm->has_told |= count;
	if (!dsm->has_told || !was_all)
		return;
	dsm->has_told = false;
	/* Zero says of a page that it was not collected lately. */
	if (!++dsm->turn)
		dsm->turn = 1;
}

/* This turn is the page's last. Returns whether the one before was not long ago. */
static bool note_turn(struct sonde_dsm *dsm, struct sonde_dsm_page *p)
{
	const u8 last = (p->flags & DSM_TURN) >> DSM_TURN_SHIFT;

	WRITE_ONCE(p->flags, (p->flags & ~(DSM_TURN | DSM_CLEAN)) |
		   dsm->turn << DSM_TURN_SHIFT);
	return last && (u8)(dsm->turn - last) <= NEAR;
}

static bool may_keep(const struct sonde_dsm_flush *f,
		     const struct sonde_dsm_page *p)
{
	/* Who is told of each change by zapping would have each write be a fault. */
	return (p->flags & DSM_PROTECTION) == SONDE_DSM_READ &&
	       p->twin != SONDE_DSM_NO_TWIN && f->vma &&
	       !mm_has_notifiers(mm_of(f)) && !is_short_of_twins(f->dsm);
}

static void begin_keeping(struct sonde_dsm *dsm, u32 page)
{
	struct sonde_dsm_page *p = &dsm->pages[page];

	sonde_dsm_push(&dsm->kept, page);
	WRITE_ONCE(p->flags, p->flags | DSM_KEPT | DSM_IN_KEPT);
	count(dsm, 1, 0);
}

/**
 * sonde_dsm_keep() - have a page stay writable that is told of as written
 * @f: to flush with
 * @page: whose lock is held, and @looking
 *
 * One that is among the kept pages already, or was and is still on their list, is not: the
 * same collection, which is about to look at these, would tell of it twice.
 *
 * Return: whether it does; else the caller takes that back.
 */
bool sonde_dsm_keep(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[page];
	bool is_near;

	if (!dsm->has_kept)
		return false;
	is_near = note_turn(dsm, p);
	if (p->flags & DSM_KEPT) {
		WRITE_ONCE(p->flags, p->flags & ~DSM_KEPT);
		count(dsm, -1, 0);
	}
	if (!is_near || p->flags & DSM_IN_KEPT || !may_keep(f, p))
		return false;
	begin_keeping(dsm, page);
	if (f->vma && sonde_dsm_clean(mm_of(f), sonde_dsm_addr(dsm, page),
				      sonde_dsm_unit(dsm)))
		sonde_dsm_flush_add(f, page);
	return true;
}

/* From now on it is as others are. Returns whether it was written since the last look. */
static bool end_keeping(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[page];
	bool is_written = true;

	WRITE_ONCE(p->flags, p->flags & ~DSM_KEPT);
	if (f->vma) {
		is_written = sonde_dsm_shut(mm_of(f), sonde_dsm_addr(dsm, page),
					    sonde_dsm_unit(dsm)) & DSM_WAS_DIRTY;
		sonde_dsm_flush_add(f, page);
	}
	if (!is_written && !(p->flags & (DSM_TOLD | DSM_WRITTEN)))
		sonde_dsm_twin_drop(dsm, page);
	count(dsm, -1, is_written);
	return is_written;
}

/**
 * sonde_dsm_unkeep() - a kept page becomes one as others are
 * @f: to flush with
 * @page: whose lock is held
 *
 * Noted, if it was written.
 */
void sonde_dsm_unkeep(struct sonde_dsm_flush *f, u32 page)
{
	if (end_keeping(f, page))
		sonde_dsm_note(f->dsm, page);
}

/**
 * sonde_dsm_unkeep_all() - the view has gone, with what its entries said
 * @dsm: the segment, with @mapping held for writing
 */
void sonde_dsm_unkeep_all(struct sonde_dsm *dsm)
{
	struct sonde_dsm_flush f = { .dsm = dsm };
	u32 n, page;

	for (n = dsm->kept.count; n; n--) {
		struct mutex *lock;

		page = sonde_dsm_pop(&dsm->kept);
		lock = sonde_dsm_lock_of(dsm, page);
		mutex_lock(lock);
		if (dsm->pages[page].flags & DSM_KEPT)
			sonde_dsm_unkeep(&f, page);
		WRITE_ONCE(dsm->pages[page].flags,
			   dsm->pages[page].flags & ~DSM_IN_KEPT);
		mutex_unlock(lock);
		cond_resched();
	}
}

/* Without the list. */
static bool look(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm *dsm = f->dsm;
	struct sonde_dsm_page *p = &dsm->pages[page];
	const u32 was = p->flags;

	if (!(was & DSM_KEPT))
		return false;
	if (!f->vma || is_short_of_twins(dsm))
		return end_keeping(f, page);
	if (!sonde_dsm_clean(mm_of(f), sonde_dsm_addr(dsm, page),
			     sonde_dsm_unit(dsm))) {
		if ((was & DSM_CLEAN) == LOOKS << DSM_CLEAN_SHIFT)
			return end_keeping(f, page);
		WRITE_ONCE(p->flags, was + (1U << DSM_CLEAN_SHIFT));
		return false;
	}
	note_turn(dsm, p);
	sonde_dsm_flush_add(f, page);
	count(dsm, 0, 1);
	return true;
}

/**
 * sonde_dsm_look() - whether a kept page was written since the last look
 * @f: to flush with
 * @page: taken from the list of kept pages, its lock held, and @looking
 *
 * It is on that list again if it is kept on.
 *
 * Return: whether it was written, and is to be told of.
 */
bool sonde_dsm_look(struct sonde_dsm_flush *f, u32 page)
{
	struct sonde_dsm_page *p = &f->dsm->pages[page];
	const bool is_written = look(f, page);

	if (p->flags & DSM_KEPT)
		sonde_dsm_push(&f->dsm->kept, page);
	else
		WRITE_ONCE(p->flags, p->flags & ~(DSM_IN_KEPT | DSM_CLEAN));
	return is_written;
}
