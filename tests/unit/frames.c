// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames: the choice of a backend, and each backend by itself. The module is
 * played; what pagemap says is compared with the kernel's own words where this
 * process may see frame numbers, and with what it may not see elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/frames.h>

#include "../../lib/frames.h"
#include "fake_module.h"
#include "tap.h"

#define NOBODY 65534
#define PAGES  1200	/* more than two chunks of pagemap */
#define FRAME_BITS ((UINT64_C(1) << 55) - 1)

static size_t page;

static char *map_pages(size_t n)
{
	char *p = mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(madvise(p, n * page, MADV_NOHUGEPAGE), 0);
	return p;
}

static struct sonde_frames_source *open_source(enum sonde_frames_backend backend)
{
	struct sonde_frames_source *src = NULL;

	ck_assert_int_eq(sonde_frames_open(&src, backend), 0);
	ck_assert_ptr_nonnull(src);
	return src;
}

static void assert_why(const struct sonde_frames_source *src, const char *part)
{
	const char *why = sonde_frames_why(src);

	ck_assert_ptr_nonnull(why);
	ck_assert_msg(strstr(why, part) != NULL, "\"%s\" lacks \"%s\"", why, part);
	ck_assert_ptr_null(strchr(why, '\n'));
}

static int shows_frames(void)
{
	struct sonde_frames_source *src;
	int err = frames_pagemap_open(&src);

	if (!err)
		sonde_frames_close(src);
	return !err;
}

/* ---- the module, played -------------------------------------------------- */

START_TEST(auto_takes_the_module_that_shows_frames)
{
	struct sonde_frames_source *src;

	load_fake_module();
	src = open_source(SONDE_FRAMES_AUTO);
	ck_assert_int_eq(sonde_frames_backend(src), SONDE_FRAMES_MODULE);
	ck_assert_ptr_null(sonde_frames_why(src));
	sonde_frames_close(src);
}
END_TEST

START_TEST(auto_prefers_frames_of_pagemap_to_colours_of_the_module)
{
	struct sonde_frames_source *src;

	load_fake_module();
	fake_info.rights = 0;
	src = open_source(SONDE_FRAMES_AUTO);
	if (shows_frames()) {
		ck_assert_int_eq(sonde_frames_backend(src), SONDE_FRAMES_PAGEMAP);
		assert_why(src, "the module gives colours only");
	} else {
		ck_assert_int_eq(sonde_frames_backend(src), SONDE_FRAMES_MODULE);
		assert_why(src, "frame numbers need root");
	}
	sonde_frames_close(src);
}
END_TEST

START_TEST(a_module_with_colours_only_says_what_is_lost)
{
	struct sonde_frames_source *src;

	load_fake_module();
	fake_info.rights = 0;
	src = open_source(SONDE_FRAMES_MODULE);
	assert_why(src, "frame numbers need root (CAP_SYS_ADMIN");
	assert_why(src, "colours only");
	sonde_frames_close(src);
}
END_TEST

START_TEST(asks_the_module_for_no_more_pages_than_it_allows)
{
	struct sonde_frame out[10] = { 0 };
	struct sonde_frames_source *src;
	char *p = map_pages(10);

	load_fake_module();
	src = open_source(SONDE_FRAMES_MODULE);
	ck_assert_int_eq(sonde_frames_read(src, p, 10, out), 10);
	ck_assert_uint_eq(fake_calls, 4);
	ck_assert(fake_pages[0] == 3 && fake_pages[1] == 3 && fake_pages[2] == 3);
	ck_assert_uint_eq(fake_pages[3], 1);
	for (size_t i = 0; i < 10; i++)
		ck_assert_uint_eq(out[i].frame, (uintptr_t)p / page + i);
	ck_assert_int_eq(sonde_frames_read(src, p, 0, out), 0);
	ck_assert_uint_eq(fake_calls, 4);
	sonde_frames_close(src);
	munmap(p, 10 * page);
}
END_TEST

START_TEST(hands_on_what_the_module_refuses)
{
	struct sonde_frames_source *src;
	struct sonde_frame out[2];
	char *p = map_pages(2);

	load_fake_module();
	src = open_source(SONDE_FRAMES_MODULE);
	fake_errno = EINTR;
	ck_assert_int_eq(sonde_frames_read(src, p, 2, out), -EINTR);
	fake_errno = 0;
	fake_short = 1;
	ck_assert_int_eq(sonde_frames_read(src, p, 2, out), -EIO);
	sonde_frames_close(src);
	munmap(p, 2 * page);
}
END_TEST

START_TEST(a_module_without_frames_is_of_another_ABI)
{
	struct sonde_frames_source *src = NULL;

	load_fake_module();
	fake_info.features = 0;
	ck_assert_int_eq(sonde_frames_open(&src, SONDE_FRAMES_MODULE), -EPROTO);
	ck_assert_ptr_null(src);
}
END_TEST

/* ---- no module ----------------------------------------------------------- */

START_TEST(the_module_asked_for_but_absent_is_an_error)
{
	struct sonde_frames_source *src = NULL;

	ck_assert_int_eq(sonde_frames_open(&src, SONDE_FRAMES_MODULE), -ENODEV);
	ck_assert_ptr_null(src);
}
END_TEST

START_TEST(without_the_module_auto_says_why_and_what_is_lost)
{
	struct sonde_frames_source *src = open_source(SONDE_FRAMES_AUTO);

	assert_why(src, "modprobe sonde");
	if (shows_frames()) {
		ck_assert_int_eq(sonde_frames_backend(src), SONDE_FRAMES_PAGEMAP);
		assert_why(src, "the NUMA node and the size of translations are not known");
	} else {
		ck_assert_int_eq(sonde_frames_backend(src), SONDE_FRAMES_NONE);
		assert_why(src, "neither frame numbers nor colours are known");
	}
	sonde_frames_close(src);
}
END_TEST

static uint64_t word_of(const void *addr)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t word;

	ck_assert_int_eq(pread(fd, &word, sizeof(word), (off_t)((uintptr_t)addr / page * 8)), 8);
	close(fd);
	return word;
}

/* A page may move between two looks at it: then look again. */
static void assert_frame(struct sonde_frames_source *src, struct sonde_frame *found, char *addr)
{
	uint64_t frame = 0;

	for (int tries = 0; tries < 5; tries++) {
		frame = word_of(addr) & FRAME_BITS;
		if (found->frame == frame)
			break;
		ck_assert_int_eq(sonde_frames_read(src, addr, 1, found), 1);
	}
	ck_assert_uint_ne(frame, 0);
	ck_assert_uint_eq(found->frame, frame);
	ck_assert_uint_eq(found->colour, frame % 1024);
	ck_assert_uint_eq(found->flags, SONDE_FRAME_PRESENT | SONDE_FRAME_FRAME |
			  SONDE_FRAME_COLOUR | SONDE_FRAME_MAPPED);
	ck_assert_uint_eq(found->node, 0);
	ck_assert_uint_eq(found->order, 0);
}

START_TEST(pagemap_gives_the_frames_that_the_kernel_gives)
{
	static struct sonde_frame out[PAGES];
	struct sonde_frames_source *src;
	char *p = map_pages(PAGES);

	for (size_t i = 0; i < PAGES; i++)
		if (i % 3)
			p[i * page] = 1;
	src = open_source(SONDE_FRAMES_PAGEMAP);
	memset(out, 0xff, sizeof(out));
	ck_assert_int_eq(sonde_frames_read(src, p, PAGES, out), PAGES);
	for (size_t i = 0; i < PAGES; i++) {
		if (i % 3)
			assert_frame(src, &out[i], p + i * page);
		else
			ck_assert_uint_eq(out[i].flags, 0);
	}
	sonde_frames_close(src);
	munmap(p, PAGES * page);
}
END_TEST

START_TEST(pagemap_leaves_what_is_not_mapped_empty)
{
	struct sonde_frame out[3], empty = { 0 };
	struct sonde_frames_source *src;
	char *p = map_pages(3);

	memset(p, 1, 3 * page);
	munmap(p + page, page);
	src = open_source(SONDE_FRAMES_PAGEMAP);
	memset(out, 0xff, sizeof(out));
	ck_assert_int_eq(sonde_frames_read(src, p, 3, out), 3);
	ck_assert_uint_ne(out[0].frame, 0);
	ck_assert_mem_eq(&out[1], &empty, sizeof(empty));
	ck_assert_uint_ne(out[2].frame, 0);
	sonde_frames_close(src);
}
END_TEST

START_TEST(pagemap_refuses_what_no_process_can_have)
{
	struct sonde_frames_source *src = open_source(SONDE_FRAMES_PAGEMAP);
	struct sonde_frame out[2];

	ck_assert_int_eq(sonde_frames_read(src, (void *)(UINTPTR_MAX / page * page - 2 * page), 2,
					   out), -EINVAL);
	sonde_frames_close(src);
}
END_TEST

/* A child writes to a page and so has its own copy of it: is that the one it is told of? */
static int child_sees_its_own(struct sonde_frames_source *src, char *p, uint64_t parent)
{
	struct sonde_frame frame;
	ssize_t n;

	*p = 2;
	n = sonde_frames_read(src, p, 1, &frame);
	sonde_frames_close(src);
	return n == 1 && frame.frame != parent && frame.frame == (word_of(p) & FRAME_BITS);
}

START_TEST(after_fork_pagemap_is_of_the_child)
{
	struct sonde_frames_source *src;
	struct sonde_frame frame;
	char *p = map_pages(1);
	int status;
	pid_t pid;

	*p = 1;
	src = open_source(SONDE_FRAMES_PAGEMAP);
	ck_assert_int_eq(sonde_frames_read(src, p, 1, &frame), 1);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(!child_sees_its_own(src, p, frame.frame));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	sonde_frames_close(src);
	munmap(p, page);
}
END_TEST

/* In a child, for good: who has been root may not look at itself at first. */
static int is_hidden_from_nobody(void)
{
	struct sonde_frames_source *src = NULL;

	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 0;
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	if (sonde_frames_open(&src, SONDE_FRAMES_PAGEMAP) != -EACCES || src)
		return 0;
	if (sonde_frames_open(&src, SONDE_FRAMES_AUTO) ||
	    sonde_frames_backend(src) != SONDE_FRAMES_NONE ||
	    !strstr(sonde_frames_why(src), "frame numbers need root (CAP_SYS_ADMIN"))
		return 0;
	sonde_frames_close(src);
	return 1;
}

START_TEST(pagemap_that_hides_frames_is_refused_and_auto_goes_on_with_none)
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid)
		_exit(!is_hidden_from_nobody());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- all of them --------------------------------------------------------- */

START_TEST(none_knows_nothing)
{
	struct sonde_frames_source *src = open_source(SONDE_FRAMES_NONE);
	struct sonde_frame out[2], empty[2] = { 0 };
	char *p = map_pages(2);

	memset(out, 0xff, sizeof(out));
	ck_assert_int_eq(sonde_frames_read(src, p, 2, out), 2);
	ck_assert_mem_eq(out, empty, sizeof(out));
	ck_assert_int_eq(sonde_frames_backend(src), SONDE_FRAMES_NONE);
	assert_why(src, "neither frame numbers nor colours are known");
	sonde_frames_close(src);
	munmap(p, 2 * page);
}
END_TEST

START_TEST(refuses_a_range_that_is_not_of_pages_or_wraps_around)
{
	struct sonde_frames_source *src = open_source(SONDE_FRAMES_NONE);
	struct sonde_frame out[1];
	char *p = map_pages(1);

	ck_assert_int_eq(sonde_frames_read(src, p + 1, 1, out), -EINVAL);
	ck_assert_int_eq(sonde_frames_read(src, p, SIZE_MAX, out), -EINVAL);
	ck_assert_int_eq(sonde_frames_read(src, p, SIZE_MAX / page, out), -EINVAL);
	sonde_frames_close(src);
	munmap(p, page);
}
END_TEST

START_TEST(refuses_a_backend_that_it_does_not_know)
{
	struct sonde_frames_source *src = NULL;

	ck_assert_int_eq(sonde_frames_open(&src, (enum sonde_frames_backend)9), -EINVAL);
	ck_assert_ptr_null(src);
}
END_TEST

START_TEST(backends_have_names)
{
	ck_assert_str_eq(sonde_frames_backend_name(SONDE_FRAMES_MODULE), "module");
	ck_assert_str_eq(sonde_frames_backend_name(SONDE_FRAMES_PAGEMAP), "pagemap");
	ck_assert_str_eq(sonde_frames_backend_name(SONDE_FRAMES_NONE), "none");
	ck_assert_str_eq(sonde_frames_backend_name(SONDE_FRAMES_AUTO), "auto");
	ck_assert_str_eq(sonde_frames_backend_name((enum sonde_frames_backend)9), "unknown");
}
END_TEST

START_TEST(close_takes_NULL)
{
	sonde_frames_close(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("frames");
	TCase *tc = add_case(suite, "module");

	page = (size_t)sysconf(_SC_PAGESIZE);
	tcase_add_test(tc, auto_takes_the_module_that_shows_frames);
	tcase_add_test(tc, auto_prefers_frames_of_pagemap_to_colours_of_the_module);
	tcase_add_test(tc, a_module_with_colours_only_says_what_is_lost);
	tcase_add_test(tc, asks_the_module_for_no_more_pages_than_it_allows);
	tcase_add_test(tc, hands_on_what_the_module_refuses);
	tcase_add_test(tc, a_module_without_frames_is_of_another_ABI);
	tc = add_case(suite, "pagemap");
	tcase_add_test(tc, the_module_asked_for_but_absent_is_an_error);
	tcase_add_test(tc, without_the_module_auto_says_why_and_what_is_lost);
	if (shows_frames()) {
		tcase_add_test(tc, pagemap_gives_the_frames_that_the_kernel_gives);
		tcase_add_test(tc, pagemap_leaves_what_is_not_mapped_empty);
		tcase_add_test(tc, pagemap_refuses_what_no_process_can_have);
		tcase_add_test(tc, after_fork_pagemap_is_of_the_child);
	} else {
		tap_left_out("frames of pagemap: only root is shown them");
	}
	tcase_add_test(tc, pagemap_that_hides_frames_is_refused_and_auto_goes_on_with_none);
	tc = add_case(suite, "any");
	tcase_add_test(tc, none_knows_nothing);
	tcase_add_test(tc, refuses_a_range_that_is_not_of_pages_or_wraps_around);
	tcase_add_test(tc, refuses_a_backend_that_it_does_not_know);
	tcase_add_test(tc, backends_have_names);
	tcase_add_test(tc, close_takes_NULL);
	return tap_run(suite);
}
