// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions over the module: what it is asked, and what comes of its answers. It is
 * played here; tests/guest/transfers.c has the real one.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sonde/region.h>

#include "fake_module.h"

#define MOST	70000

/* What it was asked, and what it answers. */
static struct sonde_export exported;
static int export_again;		/* times that it says EAGAIN */
static int export_errno;
static uint64_t generation;		/* the words are all zero */
static unsigned int copyv_calls;
static uint32_t copyv_n[8];
static uint32_t copyv_flags, copyv_most;
static int32_t copyv_region;
static int64_t copyv_result, async_result;
static unsigned int async_calls;
static int async_errno;
static uint32_t check_error;
static int slots_errno;
static int32_t slots[SONDE_SLOTS];
static unsigned int revoked;

static int refuse_call(int error)
{
	errno = error;
	return -1;
}

static int fake_export(struct sonde_export *args)
{
	ck_assert_uint_eq(args->size, sizeof(*args));
	ck_assert_uint_eq(args->flags, 0);
	exported = *args;
	if (export_again && export_again--)
		return refuse_call(EAGAIN);
	if (export_errno)
		return refuse_call(export_errno);
	args->fd = memfd_create("region", MFD_CLOEXEC);
	ck_assert_int_ge(args->fd, 0);
	args->generation = generation;
	args->word = 5;
	return 0;
}

static int fake_check(struct sonde_check *args)
{
	ck_assert_uint_eq(args->size, sizeof(*args));
	/* What is no region of the module is a descriptor of something else. */
	if (fcntl(args->region, F_GET_SEALS) < 0)
		return refuse_call(EINVAL);
	args->rights = SONDE_REGION_READ;
	args->len = 1 << 20;
	args->error = check_error;
	args->first = 7;
	return 0;
}

static int fake_slots(struct sonde_slots *args)
{
	ck_assert_uint_eq(args->size, sizeof(*args));
	ck_assert_uint_eq(args->nregions, 1);
	ck_assert_uint_lt(args->first, SONDE_SLOTS);
	if (slots_errno)
		return refuse_call(slots_errno);
	memcpy(&slots[args->first], (void *)(uintptr_t)args->regions, sizeof(slots[0]));
	return 0;
}

/* All is done before it returns: a worker may be that quick. */
static void fake_completion(struct sonde_copyv *args)
{
	*(uint64_t *)(uintptr_t)args->status = SONDE_STATUS_COMPLETE | args->done;
	ck_assert_int_eq(eventfd_write(args->eventfd, 1), 0);
	args->done = 0;
	async_calls++;
}

static int fake_copyv(struct sonde_copyv *args)
{
	struct sonde_copy *copies = (struct sonde_copy *)(uintptr_t)args->copies;

	ck_assert_uint_eq(args->size, sizeof(*args));
	if (args->flags && async_errno)
		return refuse_call(async_errno);
	ck_assert_uint_le(args->ncopies, SONDE_COPYV_COPIES);
	ck_assert_uint_lt(copyv_calls, 8);
	copyv_n[copyv_calls++] = args->ncopies;
	copyv_flags = copies[0].flags;
	copyv_region = copies[0].region;
	for (args->done = 0; args->done < args->ncopies; args->done++) {
		if (args->done == copyv_most)
			return refuse_call(EINTR);
		copies[args->done].result = args->flags && async_result ? async_result :
					    copyv_result ? copyv_result :
					    (int64_t)copies[args->done].len;
	}
	if (args->flags == SONDE_COPYV_ASYNC)
		fake_completion(args);
	else
		ck_assert_uint_eq(args->flags, 0);
	return 0;
}

static int play(int fd, unsigned long command, void *arg)
{
	switch (command) {
	case SONDE_IOC_EXPORT:
		return fake_export(arg);
	case SONDE_IOC_CHECK:
		return fake_check(arg);
	case SONDE_IOC_SLOTS:
		return fake_slots(arg);
	case SONDE_IOC_COPYV:
		return fake_copyv(arg);
	case SONDE_IOC_REVOKE:
		revoked++;
		return 0;
	default:
		return fake_ioctl(fd, command, arg);
	}
}

/* Its node can be mapped, as the module's state words can. */
static struct sonde_transfer *open_fake(enum sonde_transfer_way way)
{
	struct sonde_transfer *t = NULL;

	load_fake_module();
	unlink(node);
	snprintf(node, sizeof(node), "%s/sonde", dev_dir);
	ck_assert_int_eq(symlink("/dev/zero", node), 0);
	device_ioctl = play;
	fake_info.features = SONDE_FEAT_REGION | SONDE_FEAT_COPYV | SONDE_FEAT_ASYNC;
	export_again = export_errno = slots_errno = 0;
	generation = copyv_calls = revoked = 0;
	copyv_result = async_result = check_error = 0;
	async_calls = 0;
	async_errno = 0;
	copyv_most = UINT32_MAX;
	memset(slots, 0xff, sizeof(slots));
	ck_assert_int_eq(sonde_transfer_open(&t, way), 0);
	return t;
}

static char memory[100];

static struct sonde_region *export(struct sonde_transfer *t)
{
	struct sonde_region *region = NULL;

	ck_assert_int_eq(sonde_region_export(t, memory, 100, SONDE_REGION_READ, &region), 0);
	return region;
}

/* The handle of something that the module takes for a region. */
static struct sonde_region *import(struct sonde_transfer *t)
{
	struct sonde_region *region = NULL;
	int fd = memfd_create("region", MFD_CLOEXEC);

	ck_assert_int_eq(sonde_region_import(t, fd, &region), 0);
	close(fd);
	return region;
}

START_TEST(exports_what_is_asked_and_revokes_when_it_closes)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = export(t);

	ck_assert_ptr_null(sonde_transfer_why(t));
	ck_assert_int_eq(sonde_region_way(region), SONDE_TRANSFER_MODULE);
	ck_assert_uint_eq(exported.addr, (uintptr_t)memory);
	ck_assert_uint_eq(exported.len, 100);
	ck_assert_uint_eq(exported.rights, SONDE_REGION_READ);
	ck_assert(sonde_region_is_valid(region));
	ck_assert_uint_eq(revoked, 0);
	sonde_region_close(region);
	ck_assert_uint_eq(revoked, 1);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(the_state_word_says_whether_it_is_valid)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region;

	generation = 3;
	region = export(t);
	ck_assert(!sonde_region_is_valid(region));
	/* The word only suspects: the module knows. */
	ck_assert_int_eq(sonde_region_state(region), 0);
	check_error = ESTALE;
	ck_assert_int_eq(sonde_region_state(region), -ESTALE);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(tries_again_while_memory_is_being_changed)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = NULL;

	export_again = 3;
	sonde_region_close(export(t));
	export_again = 1000;
	ck_assert_int_eq(sonde_region_export(t, memory, 1, SONDE_REGION_READ, &region), -EAGAIN);
	ck_assert_ptr_null(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(limits_of_the_module_leave_other_ways)
{
	static const struct { int error, expected; } cases[] = {
		{ ENOBUFS, 0 }, { EDQUOT, 0 }, { EOPNOTSUPP, 0 }, { ENOSPC, -ENOSPC },
		{ EFAULT, -EFAULT }, { EACCES, -EACCES },
	};
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_AUTO), *only;
	struct sonde_region *region = NULL;
	int err;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		export_errno = cases[i].error;
		err = sonde_region_export(t, memory, 1, SONDE_REGION_READ, &region);
		ck_assert_int_eq(err, cases[i].expected);
		if (err)
			continue;
		ck_assert_int_eq(sonde_region_way(region), SONDE_TRANSFER_CMA);
		sonde_region_close(region);
	}
	sonde_transfer_close(t);
	unlink(node);
	only = open_fake(SONDE_TRANSFER_MODULE);
	export_errno = ENOBUFS;
	ck_assert_int_eq(sonde_region_export(only, memory, 1, SONDE_REGION_READ, &region),
			 -ENOBUFS);
	sonde_transfer_close(only);
}
END_TEST

START_TEST(what_is_imported_has_a_slot_while_there_are_some)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *a = import(t), *b = import(t), *c;
	char buf[4];

	ck_assert_int_eq(slots[0], sonde_region_fd(a));
	ck_assert_int_eq(slots[1], sonde_region_fd(b));
	ck_assert_int_eq(sonde_region_read(b, 0, buf, 4), 4);
	ck_assert_uint_eq(copyv_flags, SONDE_COPY_SLOT);
	ck_assert_int_eq(copyv_region, 1);
	sonde_region_close(a);
	ck_assert_int_eq(slots[0], -1);
	slots_errno = ENOMEM;
	c = import(t);
	ck_assert_int_eq(sonde_region_read(c, 0, buf, 4), 4);
	ck_assert_uint_eq(copyv_flags, 0);
	ck_assert_int_eq(copyv_region, sonde_region_fd(c));
	slots_errno = 0;
	sonde_region_close(c);
	c = import(t);
	ck_assert_int_eq(slots[0], sonde_region_fd(c));
	sonde_region_close(b);
	sonde_region_close(c);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(a_batch_is_one_call)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = import(t);
	struct sonde_region_copy *copies = calloc(MOST, sizeof(*copies));
	static char buf[MOST];

	for (size_t i = 0; i < MOST; i++)
		copies[i] = (struct sonde_region_copy){
			.region = region, .offset = i, .addr = &buf[i], .len = 1,
		};
	ck_assert_uint_eq(sonde_copyv(t, copies, 5), 5);
	ck_assert_uint_eq(sonde_copyv(t, copies, 1000), 1000);
	/* More than the module takes are two. */
	ck_assert_uint_eq(sonde_copyv(t, copies, MOST), MOST);
	ck_assert_uint_eq(copyv_calls, 4);
	ck_assert_uint_eq(copyv_n[0], 5);
	ck_assert_uint_eq(copyv_n[1], 1000);
	ck_assert_uint_eq(copyv_n[2], SONDE_COPYV_COPIES);
	ck_assert_uint_eq(copyv_n[3], MOST - SONDE_COPYV_COPIES);
	free(copies);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(what_a_batch_did_not_reach_has_its_error)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = import(t);
	struct sonde_region_copy copies[4] = { { .len = 0 } };
	char buf[4];

	for (size_t i = 0; i < 4; i++)
		copies[i] = (struct sonde_region_copy){
			.region = region, .addr = &buf[i], .len = 1,
		};
	copyv_most = 3;
	ck_assert_uint_eq(sonde_copyv(t, copies, 4), 3);
	ck_assert_int_eq(copies[2].result, 1);
	ck_assert_int_eq(copies[3].result, -EINTR);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

/* Two copies, begun and waited for. Return: how many were whole. */
static size_t copy_later(struct sonde_transfer *t, struct sonde_region_copy *copies)
{
	struct sonde_copyv_batch *batch = NULL;

	ck_assert_int_eq(sonde_copyv_start(t, copies, 2, -1, &batch), 0);
	return sonde_copyv_wait(batch);
}

START_TEST(a_batch_that_is_begun_is_a_kernel_workers)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = import(t);
	char buf[2];
	struct sonde_region_copy copies[2] = {
		{ .region = region, .addr = &buf[0], .len = 1 },
		{ .region = region, .addr = &buf[1], .len = 1 },
	};

	ck_assert_uint_eq(copy_later(t, copies), 2);
	ck_assert_uint_eq(async_calls, 1);
	ck_assert_uint_eq(copyv_calls, 1);
	/* What a worker may not pin, or does not look at twice, is copied here. */
	async_result = -EAGAIN;
	ck_assert_uint_eq(copy_later(t, copies), 2);
	ck_assert_uint_eq(async_calls, 2);
	ck_assert_uint_eq(copyv_calls, 4);
	/* A call that is refused is a thread's. */
	async_errno = ENOBUFS;
	ck_assert_uint_eq(copy_later(t, copies), 2);
	ck_assert_uint_eq(async_calls, 2);
	ck_assert_uint_eq(copyv_calls, 5);
	async_errno = 0;
	async_result = -ESTALE;
	ck_assert_uint_eq(copy_later(t, copies), 0);
	ck_assert(!sonde_region_is_valid(region));
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(a_copy_that_finds_it_stale_is_remembered)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = import(t), *again = NULL;
	char buf;

	ck_assert(sonde_region_is_valid(region));
	copyv_result = -EFAULT;
	ck_assert_int_eq(sonde_region_read(region, 0, &buf, 1), -EFAULT);
	ck_assert(sonde_region_is_valid(region));
	copyv_result = -EOWNERDEAD;
	ck_assert_int_eq(sonde_region_read(region, 0, &buf, 1), -EOWNERDEAD);
	ck_assert(!sonde_region_is_valid(region));
	check_error = EOWNERDEAD;
	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &again), -EOWNERDEAD);
	ck_assert_ptr_null(again);
	sonde_region_close(region);
	ck_assert_uint_eq(revoked, 0);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(what_is_imported_has_its_rights_and_bounds)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_MODULE);
	struct sonde_region *region = import(t), *none = NULL;
	int pipes[2];
	void *map;
	char buf;

	ck_assert_uint_eq(sonde_region_bytes(region), 1 << 20);
	ck_assert_int_eq(sonde_region_write(region, 0, &buf, 1), -EACCES);
	ck_assert_int_eq(sonde_region_read(region, 1 << 20, &buf, 1), -EINVAL);
	/* It begins within a page. */
	ck_assert_int_eq(sonde_region_map(region, 0, 1, &map), -EOPNOTSUPP);
	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(sonde_region_import(t, pipes[0], &none), -EBADF);
	ck_assert_ptr_null(none);
	close(pipes[0]);
	close(pipes[1]);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(a_module_without_regions_is_none)
{
	struct sonde_transfer *t = open_fake(SONDE_TRANSFER_AUTO), *none = NULL;

	sonde_transfer_close(t);
	fake_info.features = SONDE_FEAT_REGION;
	ck_assert_int_eq(sonde_transfer_open(&none, SONDE_TRANSFER_MODULE), -EOPNOTSUPP);
	ck_assert_ptr_null(none);
	ck_assert_int_eq(sonde_transfer_open(&t, SONDE_TRANSFER_AUTO), 0);
	ck_assert_ptr_nonnull(strstr(sonde_transfer_why(t), "has no regions"));
	sonde_transfer_close(t);
	unlink(node);
	ck_assert_int_eq(sonde_transfer_open(&none, SONDE_TRANSFER_MODULE), -ENODEV);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region_module");
	TCase *tc = add_case(suite, "played");

	tcase_add_test(tc, exports_what_is_asked_and_revokes_when_it_closes);
	tcase_add_test(tc, the_state_word_says_whether_it_is_valid);
	tcase_add_test(tc, tries_again_while_memory_is_being_changed);
	tcase_add_test(tc, limits_of_the_module_leave_other_ways);
	tcase_add_test(tc, what_is_imported_has_a_slot_while_there_are_some);
	tcase_add_test(tc, a_batch_is_one_call);
	tcase_add_test(tc, what_a_batch_did_not_reach_has_its_error);
	tcase_add_test(tc, a_batch_that_is_begun_is_a_kernel_workers);
	tcase_add_test(tc, a_copy_that_finds_it_stale_is_remembered);
	tcase_add_test(tc, what_is_imported_has_its_rights_and_bounds);
	tcase_add_test(tc, a_module_without_regions_is_none);
	return tap_run(suite);
}
