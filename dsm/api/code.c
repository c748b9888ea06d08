// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Programs and libraries are at other addresses in each process. A function, or a
 * static variable, is the same one if it is at the same offset of a file of the same
 * name: 32 bits of a hash of the name, 32 of the offset.
 */
#include <link.h>
#include <string.h>

#include "run.h"

struct search {
	uintptr_t address;
	uint64_t code;
};

/* FNV-1a of what follows the last slash; the program itself has no name. */
static uint32_t hash(const char *path)
{
	const char *name = strrchr(path, '/');
	uint32_t h = 2166136261;

	for (name = name ? name + 1 : path; *name; name++)
		h = (h ^ (unsigned char)*name) * 16777619;
	return h;
}

static int find_code(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || s->address < begin ||
		    s->address - begin >= p->p_memsz)
			continue;
		s->code = (uint64_t)hash(info->dlpi_name) << 32 |
			  (uint32_t)(s->address - info->dlpi_addr);
		return 1;
	}
	return 0;
}

static int find_address(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;

	(void)size;
	if (hash(info->dlpi_name) != s->code >> 32)
		return 0;
	s->address = info->dlpi_addr + (uint32_t)s->code;
	return 1;
}

uint64_t dsm_code_of(const void *address)
{
	struct search s = { .address = (uintptr_t)address };

	dl_iterate_phdr(find_code, &s);
	return s.code;
}

void *dsm_code_at(uint64_t code)
{
	struct search s = { .code = code };

	dl_iterate_phdr(find_address, &s);
	return (void *)s.address;
}
