/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays the module: a folder with a node that is /dev/null by another name, and
 * ioctls answered here. The module itself is tested in the guest.
 */
#ifndef SONDE_TESTS_FAKE_MODULE_H
#define SONDE_TESTS_FAKE_MODULE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../lib/device.h"
#include "tap.h"

static char dev_dir[256];
static char node[288];

/* What it answers, and what it was asked. */
static struct sonde_info fake_info;
static int fake_errno;
static int fake_short;		/* pages that the next answer lacks */
static unsigned int fake_calls;
static uint64_t fake_pages[16];	/* of each call */

static int fake_frames(struct sonde_frames *args)
{
	struct sonde_frame *out = (struct sonde_frame *)(uintptr_t)args->entries;

	ck_assert_uint_eq(args->size, sizeof(*args));
	ck_assert_uint_eq(args->flags, 0);
	ck_assert_uint_eq(args->done, 0);
	ck_assert_uint_le(args->npages, fake_info.max_pages);
	ck_assert_uint_lt(fake_calls, 16);
	fake_pages[fake_calls++] = args->npages;
	args->done = args->npages - (uint64_t)fake_short;
	for (uint64_t i = 0; i < args->done; i++)
		out[i] = (struct sonde_frame){
			.frame = args->addr / fake_info.page_size + i,
			.flags = SONDE_FRAME_PRESENT | SONDE_FRAME_FRAME,
		};
	return 0;
}

static int fake_ioctl(int fd, unsigned long command, void *arg)
{
	ck_assert_int_ge(fd, 0);
	if (fake_errno) {
		errno = fake_errno;
		return -1;
	}
	if (command == SONDE_IOC_FRAMES)
		return fake_frames(arg);
	ck_assert(command == SONDE_IOC_INFO);
	ck_assert_uint_eq(((struct sonde_info *)arg)->size, sizeof(fake_info));
	memcpy(arg, &fake_info, sizeof(fake_info));
	return 0;
}

/* A module that agrees with this library. */
static void load_fake_module(void)
{
	ck_assert_int_eq(symlink("/dev/null", node), 0);
	device_ioctl = fake_ioctl;
	fake_errno = 0;
	fake_short = 0;
	fake_calls = 0;
	fake_info = (struct sonde_info){
		.size = sizeof(fake_info),
		.abi = SONDE_ABI,
		.features = SONDE_FEAT_FRAMES,
		.rights = SONDE_RIGHT_FRAMES,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
		.max_pages = 3,
		.colour_bits = 10,
		.version = "1.2.3",
	};
}

/* An empty folder for nodes, that anybody may look into. */
static void make_dev_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dev_dir, sizeof(dev_dir), "%.200s/sonde-dev-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dev_dir));
	ck_assert_int_eq(chmod(dev_dir, 0755), 0);
	snprintf(node, sizeof(node), "%s/sonde-probe", dev_dir);
	setenv("SONDE_DEV_DIR", dev_dir, 1);
}

static void remove_dev_dir(void)
{
	unlink(node);
	rmdir(dev_dir);
}

/* A case whose tests have a folder of nodes of their own. */
static inline TCase *add_case(Suite *suite, const char *name)
{
	TCase *tc = tcase_create(name);

	tcase_add_checked_fixture(tc, make_dev_dir, remove_dev_dir);
	suite_add_tcase(suite, tc);
	return tc;
}

#endif
