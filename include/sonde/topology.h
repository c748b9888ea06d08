/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: topology - what firmware and kernel claim about the machine
 *
 * Through hwloc. Everything here is a claim, to be set beside a measurement,
 * never mixed into one. What others claim about caches: sonde/claims.h.
 */
#ifndef SONDE_TOPOLOGY_H
#define SONDE_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>
#include <sonde/claims.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sonde_topology;

/**
 * sonde_topology_open() - discover the machine
 * @topo: where the topology goes; untouched on failure
 *
 * HWLOC_XMLFILE and its kin are obeyed, as by every hwloc program.
 *
 * Return: 0, -ENOMEM, or what hwloc said. Since: 0.1
 */
int sonde_topology_open(struct sonde_topology **topo);

/** sonde_topology_close() - close; @topo may be NULL. Since: 0.1 */
void sonde_topology_close(struct sonde_topology *topo);

/**
 * sonde_topology_caches() - data and unified caches above one CPU, level 1 first
 * @topo: the topology
 * @cpu: the operating system's number of the CPU
 * @out: room for @max claims
 *
 * Return: how many there are (none claimed: 0), of which the first @max are
 * written; -EINVAL (no such CPU, or not for this process). Since: 0.1
 */
int sonde_topology_caches(const struct sonde_topology *topo, unsigned int cpu,
			  struct sonde_cache_claim *out, size_t max);

/**
 * sonde_topology_cpus() - CPUs this process may run on, ascending
 * @topo: the topology
 * @out: room for @max numbers; may be NULL if @max is 0
 *
 * As it was when the topology was opened: allowed by cgroup, and by the affinity
 * of some thread of the process.
 *
 * Return: how many there are, of which the first @max are written. Since: 0.1
 */
int sonde_topology_cpus(const struct sonde_topology *topo, unsigned int *out, size_t max);

/** sonde_topology_nodes() - NUMA nodes with memory. Since: 0.1 */
int sonde_topology_nodes(const struct sonde_topology *topo);

/** sonde_topology_memory() - bytes of memory the process may use. Since: 0.1 */
uint64_t sonde_topology_memory(const struct sonde_topology *topo);

/** sonde_topology_page_bytes() - bytes of a base page. Since: 0.1 */
uint64_t sonde_topology_page_bytes(const struct sonde_topology *topo);

/** sonde_topology_cpu_model() - the CPU's name, "unknown" if there is none. Since: 0.1 */
const char *sonde_topology_cpu_model(const struct sonde_topology *topo);

#ifdef __cplusplus
}
#endif

#endif
