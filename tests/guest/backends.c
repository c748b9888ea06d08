// SPDX-License-Identifier: GPL-2.0-or-later
/* libsonde's ways to frames hold against each other with the module there. */
#include <sonde/device.h>
#include <sonde/frames.h>

#include "nodes.h"
#include "tap.h"

#define PAGES	10000

static struct sonde_frame of_module[PAGES], of_pagemap[PAGES];

static char *touched_pages(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, PAGES * size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	memset(p, 1, PAGES * size);
	/* Some not there: every third page is given back. */
	for (size_t i = 0; i < PAGES; i += 3)
		check_int(madvise(p + i * size, size, MADV_DONTNEED), 0);
	return p;
}

static void read_all(enum sonde_frames_backend backend, const char *p, struct sonde_frame *out)
{
	struct sonde_frames_source *src;

	check_int(sonde_frames_open(&src, backend), 0);
	check_int(sonde_frames_backend(src), backend);
	check_int(sonde_frames_read(src, p, PAGES, out), PAGES);
	sonde_frames_close(src);
}

static void the_module_and_pagemap_give_the_same_frames(void)
{
	char *p = touched_pages();
	unsigned int present = 0;

	read_all(SONDE_FRAMES_MODULE, p, of_module);
	read_all(SONDE_FRAMES_PAGEMAP, p, of_pagemap);
	for (size_t i = 0; i < PAGES; i++) {
		check_int(of_module[i].flags & SONDE_FRAME_PRESENT,
			  of_pagemap[i].flags & SONDE_FRAME_PRESENT);
		check(of_module[i].frame == of_pagemap[i].frame);
		check_int(of_module[i].colour, of_pagemap[i].colour);
		present += of_module[i].flags & SONDE_FRAME_PRESENT;
	}
	check_int(present, PAGES - (PAGES + 2) / 3);
}

static void auto_takes_the_module_and_knows_nodes(void)
{
	struct sonde_frames_source *src;
	char *p = touched_pages();

	check_int(sonde_frames_open(&src, SONDE_FRAMES_AUTO), 0);
	check_int(sonde_frames_backend(src), SONDE_FRAMES_MODULE);
	check(!sonde_frames_why(src));
	check_int(sonde_frames_read(src, p, PAGES, of_module), PAGES);
	check(of_module[1].flags & SONDE_FRAME_NODE);
	check(of_module[1].flags & SONDE_FRAME_MAPPED);
	sonde_frames_close(src);
}

static void the_device_negotiates(void)
{
	struct sonde_device *dev;

	check_int(sonde_device_open(&dev, SONDE_NODE_MAIN), 0);
	check(!(sonde_device_features(dev) & SONDE_FEAT_FRAMES));
	sonde_device_close(dev);
	check_int(sonde_device_open(&dev, SONDE_NODE_PROBE), 0);
	check(sonde_device_features(dev) & SONDE_FEAT_FRAMES);
	check(sonde_device_rights(dev) & SONDE_RIGHT_FRAMES);
	sonde_device_close(dev);
}

static const struct tap_test tests[] = {
	TAP_TEST(the_module_and_pagemap_give_the_same_frames),
	TAP_TEST(auto_takes_the_module_and_knows_nodes),
	TAP_TEST(the_device_negotiates),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
