// SPDX-License-Identifier: LGPL-2.1-or-later
#include <errno.h>
#include <sched.h>
#include <stdio.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "bind.h"
#include "cpuid.h"

const struct cpuid_leaf *cpuid_find(const struct cpuid_table *table, uint32_t leaf,
				    uint32_t subleaf)
{
	for (size_t i = 0; i < table->n; i++)
		if (table->leaf[i].leaf == leaf && table->leaf[i].subleaf == subleaf)
			return &table->leaf[i];
	return NULL;
}

#if defined(__x86_64__) || defined(__i386__)
static void add_leaf(struct cpuid_table *table, uint32_t leaf, uint32_t subleaf)
{
	struct cpuid_leaf *l = &table->leaf[table->n++];

	l->leaf = leaf;
	l->subleaf = subleaf;
	__cpuid_count(leaf, subleaf, l->eax, l->ebx, l->ecx, l->edx);
}

/* All caches of leaf 4 or 8000001Dh, and the subleaf that ends them. */
static void add_caches(struct cpuid_table *table, uint32_t leaf)
{
	for (uint32_t i = 0; i < CPUID_SUBLEAVES; i++) {
		add_leaf(table, leaf, i);
		if (!(table->leaf[table->n - 1].eax & 0x1f))
			return;
	}
}

/* A leaf beyond the last one would answer with what another one says. */
static void read_here(struct cpuid_table *table)
{
	uint32_t last, last_extended;

	table->n = 0;
	add_leaf(table, 0, 0);
	last = table->leaf[0].eax;
	if (last >= 1)
		add_leaf(table, 1, 0);
	if (last >= 2)
		add_leaf(table, 2, 0);
	if (last >= 4)
		add_caches(table, 4);
	add_leaf(table, 0x80000000, 0);
	last_extended = table->leaf[table->n - 1].eax;
	if (last_extended < 0x80000000)
		return;
	if (last_extended >= 0x80000005)
		add_leaf(table, 0x80000005, 0);
	if (last_extended >= 0x80000006)
		add_leaf(table, 0x80000006, 0);
	if (last_extended >= 0x8000001d)
		add_caches(table, 0x8000001d);
}

int cpuid_read(struct cpuid_table *table, unsigned int cpu)
{
	cpu_set_t before;
	int moved;

	if (cpu >= CPU_SETSIZE)
		return -EPERM;
	if (sched_getaffinity(0, sizeof(before), &before) || bind_to(cpu))
		return -EPERM;
	read_here(table);
	/* Somebody else may have moved the thread, or the CPU may be gone. */
	moved = sched_getcpu() != (int)cpu;
	sched_setaffinity(0, sizeof(before), &before);
	return moved ? -EPERM : 0;
}
#else
int cpuid_read(struct cpuid_table *table, unsigned int cpu)
{
	(void)table;
	(void)cpu;
	return -EOPNOTSUPP;
}
#endif

/* What follows a line "CPU 3:" or "CPU:" is of that CPU, or of all. */
static int is_of_cpu(const char *line, unsigned int cpu, int before)
{
	unsigned int number;

	while (*line == ' ')
		line++;
	if (sscanf(line, "CPU %u:", &number) == 1)
		return number == cpu;
	return line[0] == 'C' && line[1] == 'P' && line[2] == 'U' && line[3] == ':' ? 1 : before;
}

int cpuid_load(struct cpuid_table *table, const char *path, unsigned int cpu)
{
	FILE *f = fopen(path, "re");
	struct cpuid_leaf l;
	char line[256];
	int mine = 0;

	if (!f)
		return -errno;
	table->n = 0;
	while (table->n < CPUID_LEAVES && fgets(line, sizeof(line), f)) {
		mine = is_of_cpu(line, cpu, mine);
		if (mine && sscanf(line, " 0x%x 0x%x: eax=0x%x ebx=0x%x ecx=0x%x edx=0x%x",
				   &l.leaf, &l.subleaf, &l.eax, &l.ebx, &l.ecx, &l.edx) == 6)
			table->leaf[table->n++] = l;
	}
	fclose(f);
	return table->n ? 0 : -ENODATA;
}
