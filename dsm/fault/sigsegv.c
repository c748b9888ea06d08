// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The last resort, on any kernel: mprotect() and SIGSEGV. Each change of protection from
 * one page to the next is a mapping of its own, of which a process may have so many; what
 * would take the last ones is refused, since malloc() and threads need them too.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "memory.h"
#include "trap.h"

#define MAPPINGS	65530u		/* vm.max_map_count of a kernel that does not say */

struct sigsegv {
	struct dsm_memory m;
	uint8_t *prot;
	size_t borders, borders_max;
};

static bool handle_fault(struct dsm_fault *fault, size_t at, bool write)
{
	fault->config.fault(fault->config.ctx, (uint32_t)(at / fault->config.unit), write);
	return true;
}

/* Seven of eight of those that there may be. */
static size_t mappings_max(void)
{
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned int max;

	if (!f)
		return MAPPINGS / 8 * 7;
	if (fscanf(f, "%u", &max) != 1)
		max = MAPPINGS;
	fclose(f);
	return max / 8 * 7;
}

static size_t borders(const uint8_t *prot, size_t first, size_t last)
{
	size_t n = 0;

	for (size_t i = first; i < last; i++)
		n += prot[i] != prot[i + 1];
	return n;
}

/* How many there would be if pages @first to @end - 1 were @prot. */
static size_t borders_after(const struct sigsegv *s, size_t first, size_t end, enum dsm_prot prot)
{
	size_t left = first ? first - 1 : 0;
	size_t right = end < s->m.f.config.pages ? end : end - 1;
	size_t n = s->borders - borders(s->prot, left, right);

	n += first && s->prot[left] != prot;
	return n + (right == end && s->prot[right] != prot);
}

static int change(struct sigsegv *s, size_t first, size_t n, enum dsm_prot prot)
{
	static const int flags[] = {
		[DSM_NONE] = PROT_NONE, [DSM_READ] = PROT_READ, [DSM_WRITE] = PROT_READ | PROT_WRITE,
	};
	size_t after = borders_after(s, first, first + n, prot), unit = s->m.f.config.unit;
	int err;

	if (after <= s->borders || after <= s->borders_max) {
		if (!mprotect(s->m.f.view + first * unit, n * unit, flags[prot])) {
			memset(s->prot + first, prot, n);
			s->borders = after;
			return 0;
		}
		err = -errno;
		if (err != -ENOMEM)
			return dsm_why(s->m.f.why, sizeof(s->m.f.why), err, "mprotect: %s",
				       strerror(-err));
	}
	return dsm_why(s->m.f.why, sizeof(s->m.f.why), -ENOMEM,
		       "protected pages make %zu mappings, too many: raise vm.max_map_count, "
		       "take a larger unit or another back end", after + 1);
}

static int protect(struct dsm_fault *fault, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	struct sigsegv *s = (struct sigsegv *)fault;

	while (n) {
		size_t run = dsm_run(pages, n);
		int err = change(s, *pages, run, prot);

		if (err)
			return err;
		pages += run;
		n -= run;
	}
	return 0;
}

static void destroy(struct dsm_fault *fault)
{
	struct sigsegv *s = (struct sigsegv *)fault;

	if (!s)
		return;
	dsm_trap_unset(SIGSEGV, fault);
	dsm_memory_destroy(&s->m);
	free(s->prot);
	free(s);
}

static int create(struct dsm_fault **fault, const struct dsm_fault_config *config,
		  char *why, size_t len)
{
	struct sigsegv *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->borders_max = mappings_max();
	s->prot = malloc(config->pages);
	err = s->prot ? dsm_memory_create(&s->m, &dsm_fault_sigsegv, config, why, len) : -ENOMEM;
	if (!err) {
		memset(s->prot, DSM_READ, config->pages);
		if (mprotect(s->m.f.view, s->m.bytes, PROT_READ))
			err = -errno;
	}
	if (!err)
		err = dsm_trap_set(SIGSEGV, &s->m.f, handle_fault, why, len);
	if (err) {
		destroy(&s->m.f);
		return err;
	}
	*fault = &s->m.f;
	return 0;
}

const struct dsm_fault_ops dsm_fault_sigsegv = {
	.name = "sigsegv",
	.create = create, .destroy = destroy,
	.page = dsm_memory_page, .protect = protect,
	.twin = dsm_memory_twin, .untwin = dsm_memory_untwin,
};
