/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two views of the pages and the room for twins, for back ends without the module: a
 * memory file of fixed size, mapped twice, and a pool whose slots are used again in
 * the order in which caches like it. A child of fork() has neither view.
 */
#ifndef SONDE_DSM_FAULT_MEMORY_H
#define SONDE_DSM_FAULT_MEMORY_H

#include "fault.h"

struct dsm_memory {
	struct dsm_fault f;
	size_t bytes;
	int file;
	unsigned char *twins;
	uint32_t *slot;		/* of a page's twin, and 1 more; 0: it has none */
	uint32_t *idle;		/* slots that were given back */
	uint32_t nidle, nslots;
};

/* Leaves @m zero but for the line in @why if it fails. */
int dsm_memory_create(struct dsm_memory *m, const struct dsm_fault_ops *ops,
		      const struct dsm_fault_config *config, char *why, size_t len);
void dsm_memory_destroy(struct dsm_memory *m);

/* As ops of every such back end. */
void *dsm_memory_page(struct dsm_fault *fault, uint32_t page);
void *dsm_memory_twin(struct dsm_fault *fault, uint32_t page);
void dsm_memory_untwin(struct dsm_fault *fault, uint32_t page);

/* Room for the page's twin, with anything in it. */
void *dsm_memory_slot(struct dsm_memory *m, uint32_t page);

/* How many entries from the first on are pages one after the other. */
size_t dsm_run(const uint32_t *pages, size_t n);

/* Writes the line and returns @err. */
int dsm_why(char *why, size_t len, int err, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
