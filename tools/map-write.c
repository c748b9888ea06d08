// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * map-write - placements as launchers read them
 *
 * hydra: a host file, ranks in its order. It takes the CPUs of a host's ranks only
 * where a host is named once, and then for that host (binding=user:). Where ranks of
 * a host do not follow each other it is named again, and CPUs are for the script.
 *
 * Open MPI: a rankfile, whose slots are cores as hwloc counts, or CPUs with
 * --use-hwthread-cpus.
 *
 * Slurm: a file for SLURM_HOSTFILE and --distribution=arbitrary. --cpu-bind=map_cpu
 * takes one list for all nodes; where they differ CPUs are for the script.
 *
 * The script binds whatever starts it: it looks up its rank and becomes the program.
 */
#include <stdlib.h>
#include <string.h>
#include "map.h"

static const char *const names[MAP_FORMATS] = {
	[MAP_HYDRA] = "hydra",
	[MAP_OPENMPI] = "openmpi",
	[MAP_SLURM] = "slurm",
	[MAP_SCRIPT] = "script",
};

const char *map_format_name(enum map_format format)
{
	return names[format];
}

static const struct map_place *get_place(const struct map_machine *m, const unsigned int *place,
					 size_t rank)
{
	return &m->place[place[rank]];
}

/* Ranks from @rank on that are on the same node. */
static size_t get_run(const struct map_machine *m, size_t n, const unsigned int *place, size_t rank)
{
	size_t next = rank;

	while (next < n && get_place(m, place, next)->node == get_place(m, place, rank)->node)
		next++;
	return next - rank;
}

static int is_in_blocks(const struct map_machine *m, size_t n, const unsigned int *place)
{
	char *is_seen = calloc(m->nnodes, 1);
	int is_block = is_seen != NULL;

	for (size_t r = 0; r < n && is_block; r += get_run(m, n, place, r)) {
		is_block = !is_seen[get_place(m, place, r)->node];
		is_seen[get_place(m, place, r)->node] = 1;
	}
	free(is_seen);
	return is_block;
}

static void write_hydra(const struct map_machine *m, size_t n, const unsigned int *place,
			FILE *file)
{
	int is_block = is_in_blocks(m, n, place);

	if (!is_block && m->is_bound)
		fputs("# CPUs differ from rank to rank: bind with sonde map --format script\n", file);
	for (size_t r = 0; r < n;) {
		size_t run = get_run(m, n, place, r);

		fprintf(file, "%s:%zu", m->node[get_place(m, place, r)->node].name, run);
		for (size_t i = 0; is_block && m->is_bound && i < run; i++)
			fprintf(file, "%s%u", i ? "," : " binding=user:",
				m->cpu[get_place(m, place, r + i)->slot]);
		fputc('\n', file);
		r += run;
	}
}

static void write_openmpi(const struct map_machine *m, size_t n, const unsigned int *place,
			  FILE *file)
{
	if (m->is_bound && m->is_threads)
		fputs("# slots are CPUs, not cores: start with --use-hwthread-cpus\n", file);
	for (size_t r = 0; r < n; r++) {
		const struct map_place *p = get_place(m, place, r);

		fprintf(file, "rank %zu=%s slot=", r, m->node[p->node].name);
		if (m->is_bound)
			fprintf(file, "%u\n", m->is_threads ? m->pu[p->slot] : m->core[p->slot]);
		else
			fprintf(file, "0-%zu\n", m->ncores - 1);
	}
}

static void write_slurm(const struct map_machine *m, size_t n, const unsigned int *place,
			FILE *file)
{
	for (size_t r = 0; r < n; r++)
		fprintf(file, "%s\n", m->node[get_place(m, place, r)->node].name);
}

static void write_script(const struct map_machine *m, size_t n, const unsigned int *place,
			FILE *file)
{
	fputs("#!/bin/sh\n"
	      "# Runs a program on the CPU of its rank: mpiexec ... ./this program arguments\n"
	      "rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${SLURM_PROCID:-${PMIX_RANK:-}}}}\n"
	      "case $rank in\n", file);
	for (size_t r = 0; r < n; r++)
		fprintf(file, "%zu) cpu=%u ;;\n", r, m->cpu[get_place(m, place, r)->slot]);
	fprintf(file, "*) echo \"$0: rank '$rank' is not one of the %zu placed\" >&2; exit 1 ;;\n", n);
	fputs("esac\nexec taskset -c \"$cpu\" \"$@\"\n", file);
}

void map_write(enum map_format format, const struct map_machine *m, size_t n,
	       const unsigned int *place, FILE *file)
{
	if (format == MAP_HYDRA)
		write_hydra(m, n, place, file);
	else if (format == MAP_OPENMPI)
		write_openmpi(m, n, place, file);
	else if (format == MAP_SLURM)
		write_slurm(m, n, place, file);
	else
		write_script(m, n, place, file);
}

/* ---- the command ---------------------------------------------------------- */

/* The CPU of the k-th rank of a node; -1 if it has none. */
static long get_nth_cpu(const struct map_machine *m, size_t n, const unsigned int *place,
			unsigned int node, size_t k)
{
	for (size_t r = 0; r < n; r++)
		if (get_place(m, place, r)->node == node && !k--)
			return (long)m->cpu[get_place(m, place, r)->slot];
	return -1;
}

/* Has every node the same CPUs, in the order of its ranks? */
static int is_alike(const struct map_machine *m, size_t n, const unsigned int *place)
{
	for (size_t k = 0; k < m->most; k++) {
		long cpu = -1;

		for (unsigned int node = 0; node < m->nnodes; node++) {
			long here = get_nth_cpu(m, n, place, node, k);

			if (here >= 0 && cpu >= 0 && here != cpu)
				return 0;
			cpu = here >= 0 ? here : cpu;
		}
	}
	return 1;
}

/* CPUs of the node that has most ranks, in their order. */
static void print_cpus(const struct map_machine *m, size_t n, const unsigned int *place, FILE *to)
{
	for (size_t k = 0; k < m->most; k++) {
		long cpu = -1;

		for (unsigned int node = 0; node < m->nnodes && cpu < 0; node++)
			cpu = get_nth_cpu(m, n, place, node, k);
		if (cpu >= 0)
			fprintf(to, "%s%ld", k ? "," : "", cpu);
	}
}

void map_command(enum map_format format, const struct map_machine *m, size_t n,
		 const unsigned int *place, const char *name, FILE *to)
{
	int is_script = m->is_bound &&
			((format == MAP_HYDRA && !is_in_blocks(m, n, place)) ||
			 (format == MAP_SLURM && !is_alike(m, n, place)));

	if (format == MAP_HYDRA)
		fprintf(to, "mpiexec.hydra -f %s -n %zu", name, n);
	else if (format == MAP_OPENMPI)
		fprintf(to, "mpirun --rankfile %s%s -n %zu", name,
			m->is_bound && m->is_threads ? " --use-hwthread-cpus" : "", n);
	else if (format == MAP_SLURM)
		fprintf(to, "SLURM_HOSTFILE=%s srun -n %zu --distribution=arbitrary", name, n);
	else
		fprintf(to, "mpiexec -n %zu %s%s", n, strchr(name, '/') ? "" : "./", name);
	if (format == MAP_SLURM && m->is_bound && !is_script) {
		fputs(" --cpu-bind=map_cpu:", to);
		print_cpus(m, n, place, to);
	} else if (format == MAP_SLURM && m->is_bound) {
		fputs(" --cpu-bind=none", to);
	}
	fputs(is_script ? " SCRIPT PROGRAM (SCRIPT by sonde map --format script)" : " PROGRAM", to);
}
