/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds pages of processes that are gone: anonymous, mapped by nobody, not in
 * the swap cache, yet not free. Somebody still holds a reference to them. Run
 * when no test program is left; see Documentation/admin-guide/mm/pagemap.rst
 * for the two files.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define KPF_SLAB	(UINT64_C(1) << 7)
#define KPF_ANON	(UINT64_C(1) << 12)
#define KPF_SWAPCACHE	(UINT64_C(1) << 13)
#define KPF_NOPAGE	(UINT64_C(1) << 20)
#define AT_ONCE		4096

/* Pages on their way to the LRU lists are referenced by the batch they wait in.
 * Compaction begins with emptying the batches of all processors. */
static int empty_batches(void)
{
	int fd = open("/proc/sys/vm/compact_memory", O_WRONLY);
	int ret = fd < 0 || write(fd, "1", 1) != 1;

	if (fd >= 0)
		close(fd);
	return ret;
}

static int is_orphan(uint64_t flags, uint64_t mapped)
{
	return flags & KPF_ANON && !mapped &&
	       !(flags & (KPF_SLAB | KPF_SWAPCACHE | KPF_NOPAGE));
}

int main(void)
{
	static uint64_t flags[AT_ONCE], count[AT_ONCE];
	int fflags = open("/proc/kpageflags", O_RDONLY);
	int fcount = open("/proc/kpagecount", O_RDONLY);
	unsigned long pfn = 0, orphans = 0;
	ssize_t n, i;

	if (fflags < 0 || fcount < 0 || empty_batches())
		return 2;
	while ((n = read(fflags, flags, sizeof(flags))) > 0) {
		if (read(fcount, count, n) != n)
			return 2;
		for (i = 0; i < n / (ssize_t)sizeof(flags[0]); i++, pfn++) {
			if (is_orphan(flags[i], count[i]) && !orphans++)
				printf("frame %#lx (flags %#llx)", pfn,
				       (unsigned long long)flags[i]);
		}
	}
	if (orphans)
		printf(" and %lu more\n", orphans - 1);
	return orphans || !pfn;
}
