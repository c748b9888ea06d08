// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * userfaultfd, and a signal in the thread that faults, which needs nobody else's turn of
 * a processor. System calls do not work on pages that may not be used as they ask.
 *
 * A page that may be used may still be missing in the view, since only the alias was
 * touched or the kernel took it away: the handler puts it there itself, and marks the
 * page so long; protect() waits for that, or it could be undone by what came late.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "trap.h"
#include "uffd.h"

#define INSTALLING	0x80u

struct sigbus {
	struct dsm_uffd u;
	_Atomic(uint8_t) *state;	/* enum dsm_prot, and INSTALLING */
};

static bool handle_fault(struct dsm_fault *fault, size_t at, bool write)
{
	struct sigbus *s = (struct sigbus *)fault;
	uint32_t page = (uint32_t)(at / fault->config.unit);
	uint8_t prot = atomic_load_explicit(&s->state[page], memory_order_acquire);
	size_t system = s->u.system;
	int err;

	if (prot & INSTALLING) {
		sched_yield();
		return true;
	}
	if (prot == DSM_NONE || (prot == DSM_READ && write)) {
		fault->config.fault(fault->config.ctx, page, write);
		return true;
	}
	if (!atomic_compare_exchange_strong(&s->state[page], &prot, prot | INSTALLING))
		return true;
	err = dsm_uffd_install(&s->u, at / system * system, system, prot == DSM_READ);
	atomic_store_explicit(&s->state[page], prot, memory_order_release);
	return !err;
}

/* Returns what it was. */
static uint8_t set_state(struct sigbus *s, uint32_t page, uint8_t prot)
{
	uint8_t was = atomic_load_explicit(&s->state[page], memory_order_relaxed);

	for (;;) {
		if (was & INSTALLING) {
			sched_yield();
			was = atomic_load_explicit(&s->state[page], memory_order_relaxed);
		} else if (atomic_compare_exchange_weak(&s->state[page], &was, prot)) {
			return was;
		}
	}
}

static int grant(struct sigbus *s, size_t at, size_t bytes, uint8_t was, enum dsm_prot prot)
{
	if (was == prot)
		return 0;
	if (was == DSM_NONE)
		return dsm_uffd_install(&s->u, at, bytes, prot == DSM_READ);
	return dsm_uffd_protect(&s->u, at, bytes, prot == DSM_READ);
}

static int protect(struct dsm_fault *fault, const uint32_t *pages, size_t n, enum dsm_prot prot)
{
	struct sigbus *s = (struct sigbus *)fault;
	size_t unit = fault->config.unit, first, i = 0;
	uint8_t was = 0, next = 0;
	int err = 0;

	if (prot == DSM_NONE) {
		for (; i < n; i++)
			set_state(s, pages[i], DSM_NONE);
		return dsm_uffd_remove(&s->u, pages, n);
	}
	if (n)
		next = set_state(s, pages[0], prot);
	while (i < n && !err) {
		was = next;
		for (first = i++; i < n; i++) {
			next = set_state(s, pages[i], prot);
			if (next != was || pages[i] != pages[i - 1] + 1)
				break;
		}
		err = grant(s, pages[first] * unit, (i - first) * unit, was, prot);
	}
	return err;
}

static void destroy(struct dsm_fault *fault)
{
	struct sigbus *s = (struct sigbus *)fault;

	if (!s)
		return;
	dsm_trap_unset(SIGBUS, fault);
	dsm_uffd_destroy(&s->u);
	free(s->state);
	free(s);
}

static int create(struct dsm_fault **fault, const struct dsm_fault_config *config,
		  char *why, size_t len)
{
	struct sigbus *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->state = malloc(config->pages * sizeof(*s->state));
	if (!s->state) {
		free(s);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < config->pages; i++)
		atomic_init(&s->state[i], DSM_READ);
	err = dsm_uffd_create(&s->u, &dsm_fault_uffd_sigbus, config, UFFD_FEATURE_SIGBUS, false,
			      why, len);
	if (!err)
		err = dsm_trap_set(SIGBUS, &s->u.m.f, handle_fault, why, len);
	if (err) {
		destroy(&s->u.m.f);
		return err;
	}
	*fault = &s->u.m.f;
	return 0;
}

const struct dsm_fault_ops dsm_fault_uffd_sigbus = {
	.name = "uffd-sigbus", .caps = DSM_FAULT_ONE_VMA,
	.create = create, .destroy = destroy,
	.page = dsm_memory_page, .protect = protect,
	.twin = dsm_memory_twin, .untwin = dsm_memory_untwin,
};
