/* SPDX-License-Identifier: LGPL-2.1-or-later */
/**
 * DOC: profile - what was measured, as one JSON document a machine
 *
 * Written by `sonde report`, read by whoever tunes itself: see
 * sonde-profile(5) for the schema.
 */
#ifndef SONDE_PROFILE_H
#define SONDE_PROFILE_H

#include <stddef.h>
#include <stdio.h>
#include <sonde/clock.h>
#include <sonde/comm.h>
#include <sonde/memory.h>
#include <sonde/probe.h>
#include <sonde/region.h>
#include <sonde/share.h>
#include <sonde/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The schema this library writes; it reads this one only. */
#define SONDE_PROFILE_SCHEMA	"sonde-profile-1"

struct sonde_profile;

/** sonde_profile_new() - an empty profile of this machine. Return: 0, -ENOMEM. Since: 0.1 */
int sonde_profile_new(struct sonde_profile **profile);

/**
 * sonde_profile_load() - read a profile
 * @profile: where it goes; untouched on failure
 * @path: the file; NULL for the default: $SONDE_PROFILE, else
 *        $XDG_CACHE_HOME/sonde/profile.json, else ~/.cache/sonde/profile.json
 *
 * Return: 0, -EINVAL (not JSON, or not of the schema: see sonde_set_log()),
 * -EPROTO (another version of the schema), -ENOENT (also: none of the default's
 * variables is set), -ENOMEM, or what open(2) or read(2) said.
 *
 * Since: 0.1
 */
int sonde_profile_load(struct sonde_profile **profile, const char *path);

/**
 * sonde_profile_save() - write a profile
 * @profile: the profile
 * @path: the file, replaced as a whole or not at all; NULL for the default of
 *        sonde_profile_load(), whose folders are made
 *
 * Return: 0, -ENOMEM or what open(2), write(2), fsync(2) or rename(2) said.
 *
 * Since: 0.1
 */
int sonde_profile_save(const struct sonde_profile *profile, const char *path);

/** sonde_profile_dump() - write as indented JSON to a stream. Return: 0, -EIO. Since: 0.1 */
int sonde_profile_dump(const struct sonde_profile *profile, FILE *to);

/** sonde_profile_schema() - write the JSON Schema of profiles. Return: 0, -ENOMEM, -EIO. Since: 0.1 */
int sonde_profile_schema(FILE *to);

/**
 * sonde_profile_is_of() - whether a profile is of this machine
 * @profile: the profile
 * @topo: the machine
 *
 * By model, CPUs, NUMA nodes and claimed caches. Two machines that are alike in all are
 * the same.
 *
 * Return: 1, 0, -ENOENT (the profile does not say), -ENOMEM. Since: 0.1
 */
int sonde_profile_is_of(const struct sonde_profile *profile, const struct sonde_topology *topo);

/**
 * sonde_profile_hwloc() - this machine's topology with what was measured, as hwloc's XML
 * @profile: of this machine
 * @to: where it goes
 *
 * The measured CPU's caches get the infos SondeSize, SondeWays, SondeLatencyNs and
 * SondeConfidence; NUMA nodes the memory attributes Latency, Bandwidth (of copies),
 * ReadBandwidth and WriteBandwidth; CPUs, if they are known of all pairs, the distances
 * SondeBandwidthInPairs (MiB/s of each while both copy) and SondeLatencyOfLines
 * (nanoseconds in which a line of cache is handed over).
 *
 * Return: 0, -EXDEV (the profile is of another machine), -ENOENT (it does not say of
 * which), -ENOMEM, -EIO, or what hwloc said. Since: 0.1
 */
int sonde_profile_hwloc(const struct sonde_profile *profile, FILE *to);

/** sonde_profile_free() - free; @profile may be NULL. Since: 0.1 */
void sonde_profile_free(struct sonde_profile *profile);

/** sonde_profile_set_machine() - model, CPUs, memory, kernel. Return: 0, -ENOMEM. Since: 0.1 */
int sonde_profile_set_machine(struct sonde_profile *profile, const struct sonde_topology *topo);

/** sonde_profile_set_clock() - the clock. Return: 0, -ENOMEM. Since: 0.1 */
int sonde_profile_set_clock(struct sonde_profile *profile, const struct sonde_clock_info *info);

/**
 * sonde_profile_set_caches() - caches, TLB and the latency curve
 * @profile: the profile
 * @report: what was measured
 * @claims: what is claimed of the same CPU, set beside by level
 * @nclaims: how many
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_caches(struct sonde_profile *profile, const struct sonde_cache_report *report,
			     const struct sonde_cache_claim *claims, size_t nclaims);

/**
 * sonde_profile_set_claims() - what every source claims of the caches
 * @profile: the profile
 * @claims: all claims of the CPU that was measured
 * @report: what was measured, which each claim is held against; may be NULL
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_claims(struct sonde_profile *profile, const struct sonde_claims *claims,
			     const struct sonde_cache_report *report);

/**
 * sonde_profile_set_bandwidth() - what CPUs get of the memory
 * @profile: the profile
 * @report: what sonde_probe_memory() measured
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_bandwidth(struct sonde_profile *profile,
				const struct sonde_memory_report *report);

/**
 * sonde_profile_set_communication() - what messages between places cost
 * @profile: the profile
 * @report: what sonde_probe_comm() measured, or `sonde comm` in an MPI job
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_communication(struct sonde_profile *profile,
				    const struct sonde_comm_report *report);

/**
 * sonde_profile_set_sharing() - which CPUs share which cache
 * @profile: the profile
 * @report: what was measured
 * @topo: what hwloc claims, set beside
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_sharing(struct sonde_profile *profile,
			      const struct sonde_share_report *report,
			      const struct sonde_topology *topo);

/**
 * struct sonde_transfer_point - what a copy from another process costs
 * @way: "module", "cma", "shm" as of sonde_transfer_way_name(); "map": memcpy()
 *       from a region mapped by the module; "memcpy": memcpy() from shared memory,
 *       which all are held against; "twice": memcpy() into shared memory by one
 *       process and out of it by the other
 * @bytes: of the copy
 * @ns: median; @ns_low, @ns_high: 95 % confidence interval of it
 * @samples: how many
 */
struct sonde_transfer_point {
	const char *way;
	uint64_t bytes;
	double ns, ns_low, ns_high;
	size_t samples;
};

/**
 * sonde_profile_set_transfers() - costs of copies, and the way to choose by size
 * @profile: the profile
 * @points: @n of them
 * @n: how many
 *
 * The choice begins with the best way of the smallest size and changes where
 * another is better by more than 5 %.
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_transfers(struct sonde_profile *profile,
				const struct sonde_transfer_point *points, size_t n);

/**
 * sonde_profile_set_backend() - which implementation a seam used, and why
 * @profile: the profile
 * @seam: "frames", "meter", ...
 * @name: the implementation's name
 * @why: why no better one, NULL if it is the best
 *
 * Return: 0, -ENOMEM. Since: 0.1
 */
int sonde_profile_set_backend(struct sonde_profile *profile, const char *seam,
			      const char *name, const char *why);

/**
 * sonde_profile_cache() - a cache level of a profile
 * @profile: the profile
 * @level: 1 is nearest to the core
 * @cache: filled in, but for sweeps and capacity curve, which stay empty
 *
 * Return: 0, -ENOENT (the profile has no such level). Since: 0.1
 */
int sonde_profile_cache(const struct sonde_profile *profile, unsigned int level,
			struct sonde_cache_level *cache);

/**
 * sonde_profile_sharing() - the CPUs that share a cache with one
 * @profile: the profile
 * @level: 1 is nearest to the core
 * @cpu: the CPU
 * @cpus: where they go, ascending, @cpu among them
 * @n: room for that many; may be 0
 *
 * Return: how many they are, also if that is more than @n; -ENOENT (the profile does
 * not say), -ENOMEM. Since: 0.1
 */
int sonde_profile_sharing(const struct sonde_profile *profile, unsigned int level,
			  unsigned int cpu, unsigned int *cpus, size_t n);

/**
 * sonde_profile_tile() - the side of square tiles that stay in a level
 * @profile: the profile
 * @level: 1 is nearest to the core
 * @tiles: that are used together, 3 in a product of matrices
 * @element: bytes of an element
 * @side: elements of a side, of whole lines where it is longer than one; untouched on
 *	failure
 *
 * Of the level a CPU has its part, if others share it, and of that all ways but one,
 * which is for what only passes through. Where the size is not known its lower
 * bound stands for it.
 *
 * Return: 0, -EINVAL (no tile, no element), -ENOENT (the profile has no such level, or
 * it does not hold so much). Since: 0.1
 */
int sonde_profile_tile(const struct sonde_profile *profile, unsigned int level,
		       unsigned int tiles, size_t element, size_t *side);

/**
 * enum sonde_profile_basis - what a value that is asked for is known from
 * @SONDE_BASIS_MEASURED: from just these CPUs
 * @SONDE_BASIS_ALIKE: from others of the same layer, class or curve
 * @SONDE_BASIS_SHARING: from the nearest cache that they share; communication was not
 *	measured
 */
enum sonde_profile_basis {
	SONDE_BASIS_MEASURED,
	SONDE_BASIS_ALIKE,
	SONDE_BASIS_SHARING,
};

/** sonde_profile_basis_name() - as words, for people. Since: 0.1 */
const char *sonde_profile_basis_name(enum sonde_profile_basis basis);

/**
 * struct sonde_bandwidth - what CPUs copy together
 * @bytes_s: bytes a second, of all of them
 * @ci: its 95 % interval within the run that measured it; NaN where there is none
 * @basis: what it is known from
 */
struct sonde_bandwidth {
	double bytes_s;
	struct sonde_interval ci;
	enum sonde_profile_basis basis;
};

/**
 * sonde_profile_bandwidth() - what the memory gives CPUs that copy at the same time
 * @profile: the profile
 * @cpus: which, @n of them, in any order; NULL: as many as @n, as they were measured
 * @n: how many
 * @bandwidth: where it goes; untouched on failure
 *
 * Measured if one CPU is asked for, or those of a curve (all CPUs, or a group of a
 * class), else added up: CPUs that were found to disturb each other get together what
 * their class's curve says of as many, or what they get by parts if that is less.
 * Numbers of cores that were not measured are interpolated.
 *
 * Return: 0, -EINVAL (@n is 0, a CPU is named twice), -ENOENT (the profile does not say),
 * -ENOMEM. Since: 0.1
 */
int sonde_profile_bandwidth(const struct sonde_profile *profile, const unsigned int *cpus,
			    size_t n, struct sonde_bandwidth *bandwidth);

/**
 * struct sonde_distance - what it takes one CPU to tell another
 * @ns: one way
 * @ci: its 95 % interval within the run that measured it; NaN where there is none
 * @basis: what it is known from
 * @method: of the profile's communication, which it lives as long as; NULL with
 *	SONDE_BASIS_SHARING
 */
struct sonde_distance {
	double ns;
	struct sonde_interval ci;
	enum sonde_profile_basis basis;
	const char *method;
};

/**
 * sonde_profile_latency() - how long it takes from one CPU to another
 * @profile: the profile
 * @a: a CPU
 * @b: another one, of the same node
 * @bytes: of a message, by the quickest way that was measured; 0: a line of cache
 * @distance: where it goes; untouched on failure
 *
 * Of the pair where it was measured, else of its layer; sizes between two that were
 * measured are interpolated, larger ones go on as the last two. Where communication was
 * not measured, the line is what a load of it took when it was found out which caches
 * the two share: one way of a hand-over, and @distance says so.
 *
 * Return: 0, -EINVAL (@a is @b), -ENOENT (the profile does not say). Since: 0.1
 */
int sonde_profile_latency(const struct sonde_profile *profile, unsigned int a, unsigned int b,
			  uint64_t bytes, struct sonde_distance *distance);

/**
 * sonde_profile_claims() - what was claimed of the caches of a profile's machine
 * @profile: the profile
 * @claims: where they go, to be closed with sonde_claims_close(); untouched on
 *          failure
 *
 * Return: 0, -ENOENT (the profile has no claims), -ENOMEM. Since: 0.1
 */
int sonde_profile_claims(const struct sonde_profile *profile, struct sonde_claims **claims);

/**
 * sonde_profile_transfer_way() - the way that was found best for a copy
 * @profile: the profile
 * @is_shared: whether the memory has a memfd
 * @bytes: of the copy
 * @way: where it goes; untouched on failure
 *
 * Return: 0, -ENOENT (the profile does not say). Since: 0.1
 */
int sonde_profile_transfer_way(const struct sonde_profile *profile, int is_shared,
			       uint64_t bytes, enum sonde_transfer_way *way);

/**
 * sonde_profile_transfer_twice() - up to where two copies beat one
 * @profile: the profile
 * @bytes: where it goes; untouched on failure; 0: nowhere
 *
 * Up to that size private memory is quicker handed over by a copy into shared
 * memory and one out of it, by either process, than by one copy of the best way.
 *
 * Return: 0, -ENOENT (the profile does not say). Since: 0.1
 */
int sonde_profile_transfer_twice(const struct sonde_profile *profile, uint64_t *bytes);

/**
 * sonde_profile_set_collectives() - rules for collectives, in place of what stood there
 * @profile: the profile
 * @text: a JSON object, as sonde-coll(7) has it; rules are not looked at
 *
 * Return: 0, -EINVAL (not a JSON object: see sonde_set_log()), -ENOMEM. Since: 0.1
 */
int sonde_profile_set_collectives(struct sonde_profile *profile, const char *text);

/**
 * sonde_profile_collectives() - rules for collectives, to hand them on
 * @profile: the profile
 * @text: where they go as JSON, to be freed with free(3); untouched on failure
 *
 * Return: 0, -ENOENT (the profile has none), -ENOMEM. Since: 0.1
 */
int sonde_profile_collectives(const struct sonde_profile *profile, char **text);

#ifdef __cplusplus
}
#endif

#endif
