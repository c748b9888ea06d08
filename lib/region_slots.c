// SPDX-License-Identifier: LGPL-2.1-or-later
/* region_slots - state words and slots of the module's open file */
#include <errno.h>
#include <sys/mman.h>

#include "device.h"
#include "region_slots.h"

#define WORDS_BYTES (SONDE_STATE_WORDS * sizeof(uint64_t))

int region_slots_open(struct sonde_transfer *t)
{
	void *p = mmap(NULL, WORDS_BYTES, PROT_READ, MAP_SHARED, sonde_device_fd(t->dev), 0);

	if (p == MAP_FAILED)
		return -errno;
	t->words = p;
	return 0;
}

void region_slots_close(struct sonde_transfer *t)
{
	if (t->words)
		munmap((void *)(uintptr_t)t->words, WORDS_BYTES);
}

static int set_slot(const struct sonde_transfer *t, int slot, int32_t fd)
{
	struct sonde_slots args = {
		.size = sizeof(args), .regions = (uintptr_t)&fd, .first = (uint32_t)slot,
		.nregions = 1,
	};

	return device_command(t->dev, SONDE_IOC_SLOTS, &args);
}

/* Marked as taken, or -1. */
static int find_free(struct sonde_transfer *t)
{
	int slot = -1;

	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < SONDE_SLOTS / 64; i++) {
		if (t->slots[i] == UINT64_MAX)
			continue;
		slot = 64 * i + __builtin_ctzll(~t->slots[i]);
		t->slots[i] |= UINT64_C(1) << slot % 64;
		break;
	}
	pthread_mutex_unlock(&t->lock);
	return slot;
}

static void mark_free(struct sonde_transfer *t, int slot)
{
	pthread_mutex_lock(&t->lock);
	t->slots[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	pthread_mutex_unlock(&t->lock);
}

int region_slots_take(struct sonde_transfer *t, int fd)
{
	int slot = find_free(t);

	if (slot >= 0 && set_slot(t, slot, fd)) {
		mark_free(t, slot);
		slot = -1;
	}
	return slot;
}

void region_slots_give(struct sonde_transfer *t, int slot)
{
	if (slot < 0)
		return;
	set_slot(t, slot, -1);
	mark_free(t, slot);
}
