// SPDX-License-Identifier: GPL-2.0-only
/*
 * State words of an open file: a word for each region that was exported through
 * it, in pages that user space maps to read. While all is well with a region
 * its word holds the generation of its export.
 *
 * Pages come when they are needed, and stay until the open file and its regions
 * are gone. Words are used again, generations never are.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/gfp.h>
#include <linux/kref.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "sonde.h"
#include "region.h"

#define WORDS_OF_PAGE	(PAGE_SIZE / sizeof(u64))
#define STATE_PAGES	(SONDE_STATE_WORDS / WORDS_OF_PAGE)

static_assert(SONDE_STATE_WORDS % WORDS_OF_PAGE == 0);

/**
 * struct sonde_states - the state words of an open file
 * @refs: the open file, and each region that has a word
 * @lock: protects all below; @pages never change once set
 * @generation: the last one that was given out
 * @hint: where to begin to look for a free word
 * @pages: of words; NULL where nobody asked yet
 * @used: words that are taken
 */
struct sonde_states {
	struct kref refs;
	struct mutex lock;
	u64 generation;
	unsigned int hint;
	struct page *pages[STATE_PAGES];
	DECLARE_BITMAP(used, SONDE_STATE_WORDS);
};

/**
 * sonde_states_create() - for a file that is being opened
 *
 * Return: without any page; NULL if there is no memory.
 */
struct sonde_states *sonde_states_create(void)
{
	struct sonde_states *states;

	states = kvzalloc(sizeof(*states), GFP_KERNEL_ACCOUNT);
	if (!states)
		return NULL;
	kref_init(&states->refs);
	mutex_init(&states->lock);
	return states;
}

static void free_states(struct kref *refs)
{
	struct sonde_states *states = container_of(refs, struct sonde_states,
						   refs);
	unsigned int i;

	for (i = 0; i < STATE_PAGES; i++)
		if (states->pages[i])
			put_page(states->pages[i]);
	mutex_destroy(&states->lock);
	kvfree(states);
}

/**
 * sonde_states_put() - one who needs them less
 * @states: or NULL
 */
void sonde_states_put(struct sonde_states *states)
{
	if (states)
		kref_put(&states->refs, free_states);
}

/* Under the lock. */
static struct page *get_state_page(struct sonde_states *states, unsigned int i)
{
	if (!states->pages[i])
		states->pages[i] = alloc_page(GFP_USER | __GFP_ZERO |
					      SONDE_GFP_ACCOUNT);
	return states->pages[i];
}

/* ---- words -------------------------------------------------------------- */

/* Under the lock. SONDE_STATE_WORDS if there is none. */
static unsigned int find_free(const struct sonde_states *states)
{
	unsigned int n;

	n = find_next_zero_bit(states->used, SONDE_STATE_WORDS, states->hint);
	if (n == SONDE_STATE_WORDS)
		n = find_first_zero_bit(states->used, SONDE_STATE_WORDS);
	return n;
}

/**
 * sonde_state_get() - take a word for a region
 * @states: of the open file; held from then on
 * @number: out: the word's index
 * @word: out: the word, which holds something else than @generation still
 * @generation: out: what it is to hold
 *
 * Return: 0, -ENOSPC or -ENOMEM.
 */
int sonde_state_get(struct sonde_states *states, u32 *number, u64 **word,
		    u64 *generation)
{
	struct page *page = NULL;
	unsigned int n;

	mutex_lock(&states->lock);
	n = find_free(states);
	if (n < SONDE_STATE_WORDS)
		page = get_state_page(states, n / WORDS_OF_PAGE);
	if (page) {
		__set_bit(n, states->used);
		states->hint = n + 1 < SONDE_STATE_WORDS ? n + 1 : 0;
		*generation = ++states->generation;
	}
	mutex_unlock(&states->lock);
	if (!page)
		return n < SONDE_STATE_WORDS ? -ENOMEM : -ENOSPC;
	kref_get(&states->refs);
	*number = n;
	*word = (u64 *)page_address(page) + n % WORDS_OF_PAGE;
	return 0;
}

/**
 * sonde_state_put() - give a word back
 * @states: as for sonde_state_get()
 * @number: the word's index
 */
void sonde_state_put(struct sonde_states *states, u32 number)
{
	u64 *words = page_address(states->pages[number / WORDS_OF_PAGE]);

	mutex_lock(&states->lock);
	WRITE_ONCE(words[number % WORDS_OF_PAGE], 0);
	__clear_bit(number, states->used);
	mutex_unlock(&states->lock);
	sonde_states_put(states);
}

/* ---- the mapping -------------------------------------------------------- */

static vm_fault_t sonde_states_fault(struct vm_fault *vmf)
{
	struct sonde_states *states = vmf->vma->vm_private_data;
	struct page *page;

	if (vmf->pgoff >= STATE_PAGES)
		return VM_FAULT_SIGBUS;
	mutex_lock(&states->lock);
	page = get_state_page(states, vmf->pgoff);
	mutex_unlock(&states->lock);
	if (!page)
		return VM_FAULT_OOM;
	get_page(page);
	vmf->page = page;
	return 0;
}

static const struct vm_operations_struct sonde_states_vm_ops = {
	.fault = sonde_states_fault,
};

/**
 * sonde_states_mmap() - map the words, to read
 * @states: of the open file, which the mapping holds
 * @vma: where
 *
 * Return: 0, -EINVAL (not shared), -EACCES (to write) or -ENXIO (not there).
 */
int sonde_states_mmap(struct sonde_states *states, struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	if (vma->vm_pgoff >= STATE_PAGES ||
	    vma_pages(vma) > STATE_PAGES - vma->vm_pgoff)
		return -ENXIO;
	sonde_vm_flags_clear(vma, VM_MAYWRITE);
	sonde_vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_private_data = states;
	vma->vm_ops = &sonde_states_vm_ops;
	return 0;
}
