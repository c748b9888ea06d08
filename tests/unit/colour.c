// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Coloured memory: what is asked of the module, which is played, and what comes
 * of its answers; the search on the kernel that runs, where this process may see
 * frame numbers. The module itself is tested in the guest.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sonde/colour.h>
#include <sonde/frames.h>

#include "fake_module.h"
#include "tap.h"

#define NOBODY 65534

static size_t page;

/* What the module was asked last, and what it answers. */
static struct sonde_alloc asked;
static uint64_t asked_masks[SONDE_ALLOC_MASKS];
static int alloc_errno;

static int fake_alloc(struct sonde_alloc *args)
{
	ck_assert_uint_eq(args->size, sizeof(*args));
	ck_assert_uint_eq(args->reserved, 0);
	asked = *args;
	memset(asked_masks, 0, sizeof(asked_masks));
	if (args->nmasks)
		memcpy(asked_masks, (void *)(uintptr_t)args->masks,
		       args->nmasks * sizeof(*asked_masks));
	if (alloc_errno) {
		errno = alloc_errno;
		return -1;
	}
	args->fd = memfd_create("colour", MFD_CLOEXEC);
	ck_assert_int_ge(args->fd, 0);
	ck_assert_int_eq(ftruncate(args->fd, (off_t)(args->npages * page)), 0);
	args->off_colour = 1;
	args->runs = 2;
	args->longest = 3;
	args->drawn = 4;
	return 0;
}

static int fake_colour_ioctl(int fd, unsigned long command, void *arg)
{
	return command == SONDE_IOC_ALLOC ? fake_alloc(arg) : fake_ioctl(fd, command, arg);
}

static struct sonde_colour_source *open_fake(void)
{
	struct sonde_colour_source *src = NULL;

	load_fake_module();
	fake_info.features |= SONDE_FEAT_ALLOC;
	device_ioctl = fake_colour_ioctl;
	alloc_errno = 0;
	ck_assert_int_eq(sonde_colour_open(&src, SONDE_COLOUR_MODULE), 0);
	return src;
}

static const uint64_t few_colours = 1 << 2 | 1 << 5;

static struct sonde_colour_request make_request(void)
{
	return (struct sonde_colour_request){
		.npages = 8, .node = -1, .bits = 3, .colours = &few_colours,
	};
}

/* ---- the module, played -------------------------------------------------- */

START_TEST(the_module_is_asked_for_what_is_wanted)
{
	const uint64_t masks[] = { 0x11, 0x22, 0x104 };
	struct sonde_colour_source *src = open_fake();
	struct sonde_colour_request request = make_request();
	struct sonde_colour_memory *memory;

	request.node = 1;
	request.flags = SONDE_ALLOC_PARTIAL;
	request.masks = masks;
	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
	ck_assert_uint_eq(asked.npages, 8);
	ck_assert_int_eq(asked.node, 1);
	ck_assert_uint_eq(asked.flags, SONDE_ALLOC_PARTIAL);
	ck_assert_uint_eq(asked.nmasks, 3);
	ck_assert_mem_eq(asked_masks, masks, sizeof(masks));
	ck_assert_uint_eq(asked.colours, (uintptr_t)&few_colours);
	sonde_colour_free(memory);
	sonde_colour_close(src);
}
END_TEST

START_TEST(low_bits_are_masks_of_one_bit)
{
	const uint64_t masks[] = { 1, 2, 4 };
	struct sonde_colour_source *src = open_fake();
	struct sonde_colour_request request = make_request();
	struct sonde_colour_memory *memory;

	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
	ck_assert_uint_eq(asked.nmasks, 3);
	ck_assert_mem_eq(asked_masks, masks, sizeof(masks));
	sonde_colour_free(memory);
	sonde_colour_close(src);
}
END_TEST

START_TEST(memory_of_any_colour_is_asked_for_without_masks)
{
	struct sonde_colour_request request = {
		.npages = 1, .node = -1, .flags = SONDE_ALLOC_CONTIGUOUS,
	};
	struct sonde_colour_source *src = open_fake();
	struct sonde_colour_memory *memory;

	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
	ck_assert_uint_eq(asked.nmasks, 0);
	ck_assert_uint_eq(asked.masks, 0);
	ck_assert_uint_eq(asked.colours, 0);
	sonde_colour_free(memory);
	sonde_colour_close(src);
}
END_TEST

START_TEST(what_the_module_answers_is_told_and_mapped)
{
	struct sonde_colour_source *src = open_fake();
	struct sonde_colour_request request = make_request();
	struct sonde_colour_memory *memory;
	char *other;
	int fd;

	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
	ck_assert_uint_eq(memory->npages, 8);
	ck_assert_uint_eq(memory->off_colour, 1);
	ck_assert_uint_eq(memory->runs, 2);
	ck_assert_uint_eq(memory->longest, 3);
	ck_assert_uint_eq(memory->drawn, 4);
	other = mmap(NULL, 8 * page, PROT_READ, MAP_SHARED, memory->fd, 0);
	memset(memory->addr, 0x5a, 8 * page);
	ck_assert_int_eq(other[8 * page - 1], 0x5a);
	munmap(other, 8 * page);
	fd = memory->fd;
	sonde_colour_close(src);	/* memory stays */
	((char *)memory->addr)[0] = 1;
	sonde_colour_free(memory);
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

START_TEST(errors_of_the_module_are_handed_on_with_a_sentence)
{
	static const int errors[] = { ENOSPC, ENOMEM, ENOBUFS, EDQUOT, EPERM, EMFILE };
	struct sonde_colour_source *src = open_fake();
	struct sonde_colour_request request = make_request();
	struct sonde_colour_memory *memory = (void *)&request;
	char why[512];

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		alloc_errno = errors[i];
		ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), -errors[i]);
		ck_assert_ptr_eq(memory, &request);
		ck_assert_ptr_eq(sonde_colour_explain(-errors[i], why, sizeof(why)), why);
		ck_assert_uint_gt(strlen(why), 10);
		ck_assert_ptr_null(strchr(why, '\n'));
	}
	ck_assert_ptr_nonnull(strstr(sonde_colour_explain(-ENOBUFS, why, sizeof(why)),
				     "RLIMIT_MEMLOCK"));
	ck_assert_ptr_nonnull(strstr(sonde_colour_explain(-ENODEV, why, sizeof(why)), "root"));
	sonde_colour_close(src);
}
END_TEST

START_TEST(a_module_without_memory_is_passed_over)
{
	struct sonde_colour_source *src = NULL;
	int err;

	load_fake_module();
	ck_assert_int_eq(sonde_colour_open(&src, SONDE_COLOUR_MODULE), -EPROTO);
	ck_assert_ptr_null(src);
	err = sonde_colour_open(&src, SONDE_COLOUR_AUTO);
	ck_assert(err == -EPROTO || (!err && sonde_colour_backend(src) == SONDE_COLOUR_SEARCH));
	if (!err)
		ck_assert_ptr_nonnull(sonde_colour_why(src));
	sonde_colour_close(src);
}
END_TEST

START_TEST(auto_takes_the_module)
{
	struct sonde_colour_source *src = open_fake();

	sonde_colour_close(src);
	ck_assert_int_eq(sonde_colour_open(&src, SONDE_COLOUR_AUTO), 0);
	ck_assert_int_eq(sonde_colour_backend(src), SONDE_COLOUR_MODULE);
	ck_assert_ptr_null(sonde_colour_why(src));
	ck_assert_str_eq(sonde_colour_backend_name(SONDE_COLOUR_MODULE), "module");
	sonde_colour_close(src);
}
END_TEST

/* ---- requests ------------------------------------------------------------ */

static void assert_refused(const struct sonde_colour_request *request)
{
	struct sonde_colour_source *src = open_fake();
	struct sonde_colour_memory *memory = NULL;

	memset(&asked, 0, sizeof(asked));
	ck_assert_int_eq(sonde_colour_alloc(src, request, &memory), -EINVAL);
	ck_assert_uint_eq(asked.size, 0);	/* it was not asked */
	ck_assert_ptr_null(memory);
	sonde_colour_close(src);
	remove(node);
}

START_TEST(requests_that_make_no_sense_are_refused)
{
	const uint64_t dependent[] = { 3, 5, 6 }, zero[] = { 1, 0, 2 };
	const uint64_t none = 0, ninth = 1 << 8;
	struct sonde_colour_request bad[12];
	size_t n;

	for (n = 0; n < 12; n++)
		bad[n] = make_request();
	bad[0].npages = 0;
	bad[1].npages = SIZE_MAX / page;
	bad[2].node = -2;
	bad[3].flags = SONDE_ALLOC_PRIVATE;
	bad[4].flags = SONDE_ALLOC_CONTIGUOUS;
	bad[5].bits = SONDE_ALLOC_MASKS + 1;
	bad[6].bits = 0;
	bad[7].colours = NULL;
	bad[8].colours = &none;
	bad[9].colours = &ninth;
	bad[10].masks = dependent;
	bad[11].masks = zero;
	for (n = 0; n < 12; n++)
		assert_refused(&bad[n]);
}
END_TEST

START_TEST(a_colour_is_low_bits_or_parities)
{
	const uint64_t masks[] = { 0x101, 0x6, UINT64_C(1) << 40 };
	struct sonde_colour_request request = { .bits = 3 };

	ck_assert_uint_eq(sonde_colour_of(&request, 0xabcd), 5);
	request.masks = masks;
	ck_assert_uint_eq(sonde_colour_of(&request, 0x100), 1);
	ck_assert_uint_eq(sonde_colour_of(&request, 0x101), 0);
	ck_assert_uint_eq(sonde_colour_of(&request, 0x4), 2);
	ck_assert_uint_eq(sonde_colour_of(&request, UINT64_C(1) << 40 | 6), 4);
}
END_TEST

/* ---- the search ---------------------------------------------------------- */

static int shows_frames(void)
{
	struct sonde_frames_source *src;
	int err = sonde_frames_open(&src, SONDE_FRAMES_PAGEMAP);

	if (!err)
		sonde_frames_close(src);
	return !err;
}

static struct sonde_colour_source *open_search(void)
{
	struct sonde_colour_source *src = NULL;

	ck_assert_int_eq(sonde_colour_open(&src, SONDE_COLOUR_SEARCH), 0);
	ck_assert_int_eq(sonde_colour_backend(src), SONDE_COLOUR_SEARCH);
	return src;
}

/* Pages of another colour than that of their place, by their frames now. */
static uint64_t count_off_colour(const struct sonde_colour_request *request,
				 const struct sonde_colour_memory *memory)
{
	struct sonde_frame frames[256];
	struct sonde_frames_source *src;
	unsigned int wanted[64], k = 0;
	uint64_t off = 0;

	ck_assert_uint_le(memory->npages, 256);
	for (unsigned int colour = 0; colour < 1U << request->bits; colour++)
		if (request->colours[0] >> colour & 1)
			wanted[k++] = colour;
	ck_assert_int_eq(sonde_frames_open(&src, SONDE_FRAMES_PAGEMAP), 0);
	ck_assert_int_eq(sonde_frames_read(src, memory->addr, memory->npages, frames),
			 (ssize_t)memory->npages);
	for (size_t i = 0; i < memory->npages; i++) {
		ck_assert(frames[i].flags & SONDE_FRAME_FRAME);
		off += sonde_colour_of(request, frames[i].frame) != wanted[i % k];
	}
	sonde_frames_close(src);
	return off;
}

START_TEST(the_search_finds_only_the_wanted_colours)
{
	static const uint64_t sets[] = { 1 << 7, 0x1248, 0xffff };
	struct sonde_colour_source *src = open_search();
	struct sonde_colour_request request = { .npages = 101, .node = -1, .bits = 4 };
	struct sonde_colour_memory *memory;
	size_t used;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		request.colours = &sets[i];
		ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
		ck_assert_uint_eq(memory->off_colour, 0);
		ck_assert_uint_eq(count_off_colour(&request, memory), 0);
		ck_assert_int_eq(memory->fd, -1);
		ck_assert_uint_ge(memory->drawn, 101);
		used = 0;
		for (size_t b = 0; b < 101 * page; b++)
			used += ((char *)memory->addr)[b] != 0;
		ck_assert_uint_eq(used, 0);
		memset(memory->addr, 1, 101 * page);
		sonde_colour_free(memory);
	}
	sonde_colour_close(src);
}
END_TEST

/* No frame has bit 50: of the two colours there is one. */
START_TEST(the_search_refuses_or_counts_what_does_not_exist)
{
	const uint64_t mask = UINT64_C(1) << 50, both = 3;
	struct sonde_colour_request request = {
		.npages = 11, .node = -1, .bits = 1, .masks = &mask, .colours = &both,
	};
	struct sonde_colour_source *src = open_search();
	struct sonde_colour_memory *memory = NULL;

	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), -ENOSPC);
	ck_assert_ptr_null(memory);
	request.flags = SONDE_ALLOC_PARTIAL;
	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
	ck_assert_uint_eq(memory->off_colour, 5);
	ck_assert_uint_eq(count_off_colour(&request, memory), 5);
	sonde_colour_free(memory);
	sonde_colour_close(src);
}
END_TEST

/* A mapping that each of 20 rounds left would show beside what malloc maps. */
START_TEST(the_search_leaves_no_mapping_behind)
{
	struct sonde_colour_source *src = open_search();
	struct sonde_colour_request request = make_request();
	struct sonde_colour_memory *memory;
	char line[256];
	int before = 0, after = 0;
	FILE *f;

	for (int i = 0; i < 22; i++) {
		ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
		sonde_colour_free(memory);
		f = fopen("/proc/self/maps", "re");
		ck_assert_ptr_nonnull(f);
		for (after = 0; fgets(line, sizeof(line), f); after++)
			;
		fclose(f);
		if (i == 1)
			before = after;
	}
	ck_assert_int_lt(after, before + 10);
	sonde_colour_close(src);
}
END_TEST

START_TEST(the_search_cannot_make_memory_contiguous)
{
	struct sonde_colour_request request = {
		.npages = 4, .node = -1, .flags = SONDE_ALLOC_CONTIGUOUS,
	};
	struct sonde_colour_source *src = open_search();
	struct sonde_colour_memory *memory;

	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), -EOPNOTSUPP);
	sonde_colour_close(src);
}
END_TEST

START_TEST(children_do_not_inherit_the_memory)
{
	struct sonde_colour_source *src = open_search();
	struct sonde_colour_request request = make_request();
	struct sonde_colour_memory *memory;
	int status;
	pid_t pid;

	ck_assert_int_eq(sonde_colour_alloc(src, &request, &memory), 0);
	pid = fork();
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile char *)memory->addr = 1;
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	sonde_colour_free(memory);
	sonde_colour_close(src);
}
END_TEST

START_TEST(a_user_without_either_way_is_told_so)
{
	struct sonde_colour_source *src = NULL;
	char why[512];
	int status, err;
	pid_t pid;

	pid = fork();
	if (!pid) {
		if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
		    setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		err = sonde_colour_open(&src, SONDE_COLOUR_SEARCH);
		if (err != -EACCES || src)
			_exit(2);
		err = sonde_colour_open(&src, SONDE_COLOUR_AUTO);
		if (err != -ENODEV || src)	/* the module's reason */
			_exit(3);
		sonde_colour_explain(err, why, sizeof(why));
		_exit(strstr(why, "modprobe sonde") && strstr(why, "root") ? 0 : 4);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", (unsigned int)status);
}
END_TEST

START_TEST(nothing_is_freed_without_complaint)
{
	sonde_colour_free(NULL);
	sonde_colour_close(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("colour");
	TCase *tc = add_case(suite, "module");

	page = (size_t)sysconf(_SC_PAGESIZE);
	tcase_add_test(tc, the_module_is_asked_for_what_is_wanted);
	tcase_add_test(tc, low_bits_are_masks_of_one_bit);
	tcase_add_test(tc, memory_of_any_colour_is_asked_for_without_masks);
	tcase_add_test(tc, what_the_module_answers_is_told_and_mapped);
	tcase_add_test(tc, errors_of_the_module_are_handed_on_with_a_sentence);
	tcase_add_test(tc, a_module_without_memory_is_passed_over);
	tcase_add_test(tc, auto_takes_the_module);
	tcase_add_test(tc, requests_that_make_no_sense_are_refused);
	tcase_add_test(tc, a_colour_is_low_bits_or_parities);
	tcase_add_test(tc, nothing_is_freed_without_complaint);

	if (shows_frames()) {
		tc = add_case(suite, "search");
		tcase_set_timeout(tc, 60);
		tcase_add_test(tc, the_search_finds_only_the_wanted_colours);
		tcase_add_test(tc, the_search_refuses_or_counts_what_does_not_exist);
		tcase_add_test(tc, the_search_leaves_no_mapping_behind);
		tcase_add_test(tc, the_search_cannot_make_memory_contiguous);
		tcase_add_test(tc, children_do_not_inherit_the_memory);
	} else {
		tap_left_out("the search: it needs frame numbers, and so root");
	}
	if (!geteuid())
		tcase_add_test(add_case(suite, "user"), a_user_without_either_way_is_told_so);
	else
		tap_left_out("becoming another user needs root");
	return tap_run(suite);
}
