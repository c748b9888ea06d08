// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a colour is, and which are wanted: the caller's description of both,
 * checked, in a form that is quick to ask.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "sonde.h"

#define WORDS	DIV_ROUND_UP(1U << SONDE_ALLOC_MASKS, 64)

/*
 * How many of the masks are independent as far as the low @low bits go. By
 * elimination: the lowest bit of what is left of a mask is taken out of all later
 * ones; a mask of which nothing is left is a sum of earlier ones.
 */
static unsigned int rank_of(const struct sonde_colouring *c, unsigned int low)
{
	u64 left[SONDE_ALLOC_MASKS];
	unsigned int rank = 0, i, j;

	for (i = 0; i < c->bits; i++)
		left[i] = low < 64 ? c->masks[i] & ((1ULL << low) - 1) :
				     c->masks[i];
	for (i = 0; i < c->bits; i++) {
		for (j = i + 1; j < c->bits; j++)
			if (left[j] & left[i] & -left[i])
				left[j] ^= left[i];
		rank += left[i] != 0;
	}
	return rank;
}

/*
 * Who may not see frame numbers is told no more bits of them by which pages
 * are handed out than SONDE_IOC_FRAMES tells.
 */
static int get_masks(struct sonde_colouring *c, const struct sonde_alloc *args,
		     bool may_see_frames)
{
	const u64 told = (1ULL << sonde_colour_bits) - 1;
	unsigned int i;

	if (!args->nmasks) {
		if (args->masks)
			return -EINVAL;
		c->bits = sonde_colour_bits;
		for (i = 0; i < c->bits; i++)
			c->masks[i] = 1ULL << i;
		return 0;
	}
	if (args->nmasks > SONDE_ALLOC_MASKS)
		return -EINVAL;
	if (copy_from_user(c->masks, u64_to_user_ptr(args->masks),
			   args->nmasks * sizeof(*c->masks)))
		return -EFAULT;
	c->bits = args->nmasks;
	if (rank_of(c, 64) < c->bits)	/* some colours would not exist */
		return -EINVAL;
	for (i = 0; i < c->bits; i++)
		if (!may_see_frames && c->masks[i] & ~told)
			return -EPERM;
	return 0;
}

/* The colours of a bitmap, in ascending order. */
static int list_wanted(struct sonde_colouring *c, const u64 *bitmap)
{
	unsigned int colour;

	for (colour = 0; colour < WORDS * 64; colour++) {
		if (!(bitmap[colour / 64] >> colour % 64 & 1))
			continue;
		if (colour >= 1U << c->bits)
			return -EINVAL;
		c->wanted[c->nwanted++] = colour;
	}
	return c->nwanted ? 0 : -EINVAL;
}

static int get_wanted(struct sonde_colouring *c, const struct sonde_alloc *args)
{
	const size_t bytes = DIV_ROUND_UP(1U << c->bits, 64) * sizeof(u64);
	u64 *bitmap = kcalloc(WORDS, sizeof(*bitmap), GFP_KERNEL_ACCOUNT);
	int ret = -ENOMEM;

	c->wanted = kmalloc_array(1U << c->bits, sizeof(*c->wanted),
				  GFP_KERNEL_ACCOUNT);
	if (bitmap && c->wanted)
		ret = copy_from_user(bitmap, u64_to_user_ptr(args->colours),
				     bytes) ? -EFAULT : list_wanted(c, bitmap);
	kfree(bitmap);
	return ret;
}

static void describe(struct sonde_colouring *c)
{
	unsigned int i;

	c->is_low_bits = true;
	for (i = 0; i < c->bits; i++)
		c->is_low_bits &= c->masks[i] == 1ULL << i;
	while (c->order < MAX_PAGE_ORDER && rank_of(c, c->order) < c->bits)
		c->order++;
	c->far_bits = c->bits - rank_of(c, c->order);
}

/**
 * sonde_colouring_get() - fetch what the caller says of colours
 * @c: out: zeroed by the caller; sonde_colouring_put() whatever is returned
 * @args: the command's argument
 * @may_see_frames: whether masks may look at any bit
 *
 * Return: 0, -EFAULT, -EINVAL, -EPERM or -ENOMEM.
 */
int sonde_colouring_get(struct sonde_colouring *c, const struct sonde_alloc *args,
			bool may_see_frames)
{
	int ret;

	ret = get_masks(c, args, may_see_frames);
	if (ret)
		return ret;
	describe(c);
	return get_wanted(c, args);
}

/**
 * sonde_colouring_put() - free what sonde_colouring_get() allocated
 * @c: the colouring
 */
void sonde_colouring_put(struct sonde_colouring *c)
{
	kfree(c->wanted);
}

/**
 * sonde_colour_of() - the colour of a frame
 * @c: the colouring
 * @frame: page frame number
 *
 * Return: 0 to 2^@c->bits - 1.
 */
unsigned int sonde_colour_of(const struct sonde_colouring *c,
			     unsigned long frame)
{
	unsigned int colour = 0, i;

	if (c->is_low_bits)
		return frame & ((1U << c->bits) - 1);
	for (i = 0; i < c->bits; i++)
		colour |= (hweight64(frame & c->masks[i]) & 1) << i;
	return colour;
}
