/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: prefetch - hardware prefetchers off while something is measured
 *
 * Only by the module, and only for root: the switches are registers of the
 * processor. Whatever becomes of the process, what it switched off is on again
 * when its object is closed.
 */
#ifndef SONDE_PREFETCH_H
#define SONDE_PREFETCH_H

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_prefetch_switch;

/* Prefetchers; a processor has some of them, under names of its own. */
enum sonde_prefetcher {
	SONDE_PREFETCHER_L1_STREAM = 1 << 0,	/* next line (Intel: DCU) */
	SONDE_PREFETCHER_L1_STRIDE = 1 << 1,	/* by instruction (Intel: IP) */
	SONDE_PREFETCHER_L1_REGION = 1 << 2,	/* AMD */
	SONDE_PREFETCHER_L2_STREAM = 1 << 3,	/* streamer */
	SONDE_PREFETCHER_L2_PAIR = 1 << 4,	/* adjacent line; AMD: up/down */
};

/**
 * sonde_prefetch_open() - get hold of the switches
 * @sw: where the object goes; untouched on failure
 *
 * Nothing is switched by that.
 *
 * Return: 0, what sonde_device_open() says where there is no module, -EPERM
 * (CAP_SYS_ADMIN is needed), -EOPNOTSUPP (the module is older and does not
 * switch), -ENOMEM.
 *
 * Since: 0.1
 */
int sonde_prefetch_open(struct sonde_prefetch_switch **sw);

/**
 * sonde_prefetch_close() - switch on what @sw switched off; @sw may be NULL
 *
 * Prefetchers that others want off, or that were off before, stay off.
 *
 * Since: 0.1
 */
void sonde_prefetch_close(struct sonde_prefetch_switch *sw);

/**
 * sonde_prefetch_set() - say which prefetchers of a core are to be off
 * @sw: the switches
 * @cpu: a CPU of the core
 * @off: SONDE_PREFETCHER_*, in place of what @sw wanted off on this core before
 *
 * Return: 0, -EINVAL (no such CPU, or offline, or not a prefetcher of
 * sonde_prefetch_get()'s @known), -EOPNOTSUPP (this processor has no documented
 * switch, or its hypervisor does not give it), -EBUSY (the threads of the core do
 * not agree on what is off already).
 *
 * Since: 0.1
 */
int sonde_prefetch_set(struct sonde_prefetch_switch *sw, unsigned int cpu, unsigned int off);

/**
 * sonde_prefetch_get() - which prefetchers are off, and which could be
 * @sw: the switches
 * @cpu: a CPU of the core
 * @off: SONDE_PREFETCHER_* that are off, for whatever reason; may be NULL
 * @known: those that have a switch; may be NULL
 *
 * Return: 0, or as sonde_prefetch_set().
 *
 * Since: 0.1
 */
int sonde_prefetch_get(struct sonde_prefetch_switch *sw, unsigned int cpu, unsigned int *off,
		       unsigned int *known);

#ifdef __cplusplus
}
#endif

#endif
