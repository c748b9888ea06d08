// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fault back ends and what else there is in a process: system calls, signals of its own,
 * children, mappings, other memories.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "fault_rig.h"

#define PAGES	64u
#define UNIT	4096u

static struct rig *create(int i)
{
	return rig_create(rig_here[i], PAGES, UNIT);
}

/* ---- system calls ---- */

/* Where it is not promised it may fail, with EFAULT, and never half succeeds. */
static void check_call(const struct rig *r, ssize_t got, ssize_t expected)
{
	if (got < 0 && !rig_has(r, DSM_FAULT_SYSCALLS))
		ck_assert_int_eq(EFAULT, errno);
	else
		ck_assert_int_eq(expected, got);
}

/* Takes the pages themselves, which the module's view gives to nobody. */
static void check_call_on_pages(const struct rig *r, ssize_t got, ssize_t expected)
{
	if (got < 0 && !strcmp(r->f->ops->name, "module"))
		ck_assert_int_eq(EFAULT, errno);
	else
		check_call(r, got, expected);
}

static void void_page(struct rig *r, uint32_t page, int byte)
{
	memset(rig_home(r, page), byte, UNIT);
	rig_void(r, &page, 1);
}

static void open_pair(int fds[2])
{
	ck_assert_int_eq(0, socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

START_TEST(system_calls_write_to_pages_as_the_capability_says)
{
	struct rig *r = create(_i);
	unsigned char bytes[100];
	int fds[2];

	open_pair(fds);
	memset(bytes, 7, sizeof(bytes));
	/* Into a page that is readable, then into one that is not there. */
	ck_assert_int_eq(100, write(fds[1], bytes, 100));
	check_call(r, read(fds[0], rig_view(r, 1) + 50, 100), 100);
	void_page(r, 2, 3);
	ck_assert_int_eq(100, write(fds[1], bytes, 100));
	check_call(r, read(fds[0], rig_view(r, 2) + 50, 100), 100);
	if (rig_has(r, DSM_FAULT_SYSCALLS)) {
		ck_assert_uint_eq(2, rig_release(r));
		ck_assert_uint_eq(7, rig_home(r, 1)[50]);
		ck_assert_uint_eq(3, rig_home(r, 2)[49]);
		ck_assert_uint_eq(7, rig_home(r, 2)[149]);
	}
	close(fds[0]);
	close(fds[1]);
	rig_destroy(r);
}
END_TEST

START_TEST(system_calls_read_pages_as_the_capability_says)
{
	struct rig *r = create(_i);
	unsigned char bytes[UNIT];
	struct iovec v = { .iov_len = UNIT }, into = { bytes, UNIT };
	struct msghdr message = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t got;
	int fds[2];

	open_pair(fds);
	void_page(r, 3, 1);
	check_call(r, write(fds[1], rig_view(r, 3), UNIT), UNIT);
	void_page(r, 4, 2);
	v.iov_base = rig_view(r, 4);
	check_call(r, sendmsg(fds[1], &message, 0), UNIT);
	if (rig_has(r, DSM_FAULT_SYSCALLS)) {
		ck_assert_int_eq(UNIT, recv(fds[0], bytes, UNIT, MSG_WAITALL));
		ck_assert_uint_eq(1, bytes[UNIT - 1]);
		ck_assert_int_eq(UNIT, recv(fds[0], bytes, UNIT, MSG_WAITALL));
		ck_assert_uint_eq(2, bytes[0]);
	}
	bytes[9] = 0;
	void_page(r, 5, 4);
	v.iov_base = rig_view(r, 5);
	got = process_vm_readv(getpid(), &into, 1, &v, 1, 0);
	check_call_on_pages(r, got, UNIT);
	if (got == UNIT)
		ck_assert_uint_eq(4, bytes[9]);
	close(fds[0]);
	close(fds[1]);
	rig_destroy(r);
}
END_TEST

/* Whatever the view is. */
START_TEST(the_alias_is_memory_like_any_other)
{
	struct rig *r = create(_i);
	unsigned char bytes[UNIT];
	struct iovec v = { rig_alias(r, 8), UNIT }, other = { bytes, UNIT };
	int fds[2];

	open_pair(fds);
	void_page(r, 8, 0);
	memset(bytes, 6, UNIT);
	ck_assert_int_eq(UNIT, write(fds[1], bytes, UNIT));
	ck_assert_int_eq(UNIT, recv(fds[0], rig_alias(r, 8), UNIT, MSG_WAITALL));
	memset(bytes, 0, UNIT);
	ck_assert_int_eq(UNIT, process_vm_readv(getpid(), &other, 1, &v, 1, 0));
	ck_assert_uint_eq(6, bytes[UNIT - 1]);
	memset(bytes, 5, UNIT);
	ck_assert_int_eq(UNIT, process_vm_writev(getpid(), &other, 1, &v, 1, 0));
	ck_assert_uint_eq(5, rig_alias(r, 8)[0]);
	ck_assert_int_eq(0, mlock(rig_alias(r, 8), UNIT));
	close(fds[0]);
	close(fds[1]);
	rig_destroy(r);
}
END_TEST

START_TEST(files_are_read_past_the_cache_into_the_alias)
{
	struct rig *r = create(_i);
	char name[] = "fault_system.XXXXXX";
	unsigned char bytes[UNIT];
	int fd = mkostemp(name, O_CLOEXEC), direct = open(name, O_RDONLY | O_DIRECT | O_CLOEXEC);

	unlink(name);
	memset(bytes, 9, UNIT);
	ck_assert_int_eq(UNIT, write(fd, bytes, UNIT));
	fsync(fd);
	if (direct < 0) {
		tap_left_out("no O_DIRECT in the current folder");
	} else {
		void_page(r, 8, 0);
		ck_assert_int_eq(UNIT, pread(direct, rig_alias(r, 8), UNIT, 0));
		ck_assert_uint_eq(9, rig_alias(r, 8)[UNIT - 1]);
		void_page(r, 9, 0);
		check_call_on_pages(r, pread(direct, rig_view(r, 9), UNIT, 0), UNIT);
	}
	close(fd);
	close(direct);
	rig_destroy(r);
}
END_TEST

/* ---- signals ---- */

static sigjmp_buf back;
static void *volatile met;
static volatile int met_signal;

static void note(int sig, siginfo_t *info, void *context)
{
	(void)context;
	met = info->si_addr;
	met_signal = sig;
	siglongjmp(back, 1);
}

/* Of memory that is nobody's, or only half there. */
static void touch(volatile unsigned char *p)
{
	met_signal = 0;
	if (!sigsetjmp(back, 1))
		*p = 1;
}

START_TEST(signals_for_other_addresses_go_to_the_program)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO }, now;
	unsigned char *closed = mmap(NULL, UNIT, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = memfd_create("empty", MFD_CLOEXEC);
	unsigned char *past = mmap(NULL, UNIT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	struct rig *r;

	action.sa_sigaction = note;
	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	r = create(_i);
	for (int round = 0; round < 3; round++) {
		rig_view(r, (uint32_t)round)[0] = 1;
		touch(closed + 8);
		ck_assert_int_eq(SIGSEGV, met_signal);
		ck_assert_ptr_eq(closed + 8, met);
		touch(past + 9);
		ck_assert_int_eq(SIGBUS, met_signal);
		ck_assert_ptr_eq(past + 9, met);
	}
	ck_assert_uint_eq(3, rig_release(r));
	rig_destroy(r);
	/* And the program has its handlers back. */
	sigaction(SIGSEGV, NULL, &now);
	ck_assert(now.sa_sigaction == note);
	sigaction(SIGBUS, NULL, &now);
	ck_assert(now.sa_sigaction == note);
}
END_TEST

static struct sigaction second_before;
static volatile int second_calls;

/* Takes nothing itself; a library that looks at crashes. */
static void second(int sig, siginfo_t *info, void *context)
{
	second_calls++;
	second_before.sa_sigaction(sig, info, context);
}

START_TEST(a_handler_that_came_later_and_calls_ours_is_kept)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };
	const int sigs[] = { SIGSEGV, SIGBUS };
	unsigned char *closed = mmap(NULL, UNIT, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 2; i++) {
		struct rig *r;

		action.sa_sigaction = note;
		sigaction(sigs[i], &action, NULL);
		r = create(_i);
		action.sa_sigaction = second;
		sigaction(sigs[i], &action, &second_before);
		for (int round = 0; round < 2; round++) {
			rig_view(r, 3)[0] = 1;
			ck_assert_uint_eq(1, rig_release(r));
			rig_destroy(r);
			r = create(_i);
		}
		second_calls = 0;
		if (sigs[i] == SIGSEGV) {
			touch(closed);
			ck_assert_int_eq(SIGSEGV, met_signal);
			ck_assert_int_eq(1, second_calls);
		}
		rig_destroy(r);
		signal(sigs[i], SIG_DFL);
	}
}
END_TEST

/* How a child ends that makes a memory of its own and then does @crime. */
static int fate(int i, void (*crime)(struct rig *r))
{
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (!pid) {
		struct rig *r;

		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		r = create(i);
		rig_view(r, 0)[0] = 1;
		crime(r);
		_exit(0);
	}
	ck_assert_int_eq(pid, waitpid(pid, &status, 0));
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void write_nowhere(struct rig *r)
{
	unsigned char *volatile nowhere = (void *)8;

	(void)r;
	*nowhere = 1;
}

static void write_past_a_file(struct rig *r)
{
	int file = memfd_create("empty", MFD_CLOEXEC);
	void *p = mmap(NULL, UNIT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	(void)r;
	*(volatile int *)p = 1;
}

static void be_sent(struct rig *r)
{
	(void)r;
	kill(getpid(), SIGSEGV);
}

static void ignore_it(struct rig *r)
{
	(void)r;
	kill(getpid(), SIGBUS);
}

/* The module's view goes as a whole or not at all. */
static void unmap_and_write(struct rig *r)
{
	if (munmap(rig_view(r, 4), UNIT))
		munmap(r->f->view, (size_t)r->pages * r->unit);
	rig_view(r, 4)[0] = 1;
}

START_TEST(signals_that_nobody_handles_end_the_process_as_usual)
{
	ck_assert_int_eq(SIGSEGV, fate(_i, write_nowhere));
	ck_assert_int_eq(SIGBUS, fate(_i, write_past_a_file));
	ck_assert_int_eq(SIGSEGV, fate(_i, be_sent));
	ck_assert_int_eq(SIGBUS, fate(_i, ignore_it));
	ck_assert_int_eq(SIGSEGV, fate(_i, unmap_and_write));
}
END_TEST

START_TEST(the_handler_runs_on_the_stack_for_signals)
{
	static unsigned char room[1 << 16];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct rig *r = create(_i);

	ck_assert_int_eq(0, sigaltstack(&stack, NULL));
	memset(room, 0xa5, sizeof(room));
	rig_view(r, 0)[0] = 1;
	if (!rig_has(r, DSM_FAULT_EVENTS)) {
		size_t used = 0;

		for (size_t i = 0; i < sizeof(room); i++)
			used += room[i] != 0xa5;
		ck_assert_uint_gt(used, 0);
	}
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	rig_destroy(r);
}
END_TEST

/* ---- the process ---- */

START_TEST(a_child_has_none_of_the_pages)
{
	struct rig *r = create(_i);
	pid_t pid;
	int status;

	rig_view(r, 0)[0] = 1;
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		rig_view(r, 0)[0] = 2;
		_exit(0);
	}
	ck_assert_int_eq(pid, waitpid(pid, &status, 0));
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	ck_assert_uint_eq(1, rig_view(r, 0)[0]);
	rig_view(r, 1)[0] = 1;
	ck_assert_uint_eq(2, rig_release(r));
	rig_destroy(r);
}
END_TEST

/* Lines of /proc/self/maps for the view. */
static size_t count_mappings(const unsigned char *view, size_t bytes)
{
	FILE *f = fopen("/proc/self/maps", "re");
	uintptr_t first = (uintptr_t)view, begin, end;
	size_t n = 0;

	ck_assert_ptr_nonnull(f);
	while (fscanf(f, "%lx-%lx%*[^\n]", &begin, &end) == 2)
		n += begin < first + bytes && end > first;
	fclose(f);
	return n;
}

static void no_fault(void *ctx, uint32_t page, bool write)
{
	(void)ctx;
	(void)page;
	(void)write;
	abort();
}

/* NULL: the module may not have as much of this machine's memory; says so. */
static struct dsm_fault *create_plain(int i, uint32_t pages)
{
	struct dsm_fault_config config = { .pages = pages, .unit = UNIT, .fault = no_fault };
	struct dsm_fault *f;
	char why[1000] = "";

	if (!dsm_fault_create(&f, rig_here[i], &config, why, sizeof(why)))
		return f;
	if (!strstr(why, "dsm_pages"))
		ck_abort_msg("%s", why);
	why[strcspn(why, "\n")] = '\0';
	tap_left_out(why);
	return NULL;
}

/* 4 GiB of pages, every second one writable, and back. */
START_TEST(a_million_pages_alternate_or_are_refused_with_a_reason)
{
	uint32_t n = 1U << 19, *odd;
	struct dsm_fault *f = create_plain(_i, 2 * n);
	size_t bytes = 2 * (size_t)n * UNIT;
	unsigned char *view;
	int err;

	if (!f)
		return;
	odd = rig_alloc(n, sizeof(*odd));
	view = f->view;
	for (uint32_t i = 0; i < n; i++)
		odd[i] = 2 * i + 1;
	ck_assert_uint_eq(1, count_mappings(view, bytes));
	err = f->ops->protect(f, odd, n, DSM_WRITE);
	if (f->caps & DSM_FAULT_ONE_VMA) {
		ck_assert_int_eq(0, err);
		for (uint32_t i = 0; i < n; i += 997)
			f->view[odd[i] * (size_t)UNIT] = 1;
		ck_assert_uint_eq(1, count_mappings(view, bytes));
		ck_assert_int_eq(0, f->ops->protect(f, odd, n, DSM_READ));
		ck_assert_uint_eq(1, count_mappings(view, bytes));
	} else {
		ck_assert_int_eq(-ENOMEM, err);
		ck_assert_ptr_nonnull(strstr(f->why, "vm.max_map_count"));
		ck_assert_int_eq(0, f->ops->protect(f, odd, 1000, DSM_READ));
	}
	f->ops->destroy(f);
	free(odd);
	ck_assert_uint_eq(0, count_mappings(view, bytes));
}
END_TEST

START_TEST(memories_do_not_meet)
{
	struct rig *a = create(_i), *b = create(rig_count - 1), *c;

	rig_view(a, 1)[0] = 1;
	rig_view(b, 2)[0] = 2;
	ck_assert_uint_eq(1, rig_release(a));
	ck_assert_uint_eq(1, a->list[0]);
	c = create(_i);
	rig_destroy(a);
	rig_view(c, 3)[0] = 3;
	ck_assert_uint_eq(1, rig_release(b));
	ck_assert_uint_eq(2, b->list[0]);
	rig_destroy(b);
	rig_view(c, 4)[0] = 4;
	ck_assert_uint_eq(2, rig_release(c));
	rig_destroy(c);
}
END_TEST

static void *send_alias(void *arg)
{
	struct dsm_fault *f = arg;
	unsigned char *alias = f->alias;
	int fds[2];
	ssize_t got;

	/* Until what it sends from is gone. */
	open_pair(fds);
	do {
		unsigned char bytes[UNIT];

		got = write(fds[1], alias, UNIT);
		if (got > 0 && recv(fds[0], bytes, (size_t)got, MSG_WAITALL) != got)
			break;
	} while (got > 0);
	close(fds[0]);
	close(fds[1]);
	return (void *)(intptr_t)(got < 0 ? errno : 0);
}

START_TEST(a_memory_can_go_while_the_kernel_reads_its_alias)
{
	struct dsm_fault *f = create_plain(_i, PAGES);
	pthread_t thread;
	void *err;

	ck_assert_ptr_nonnull(f);
	f->alias[0] = 1;
	ck_assert_int_eq(0, pthread_create(&thread, NULL, send_alias, f));
	sched_yield();
	f->ops->destroy(f);
	pthread_join(thread, &err);
	ck_assert_int_eq(EFAULT, (int)(intptr_t)err);
}
END_TEST

/* ---- choice ---- */

START_TEST(the_best_that_works_is_chosen)
{
	struct dsm_fault_config config = { .pages = 1, .unit = UNIT, .fault = no_fault };
	struct dsm_fault *f;
	char why[1000];

	for (int i = 0; i < 2; i++) {
		memset(why, 0, sizeof(why));
		ck_assert_int_eq(0, dsm_fault_create(&f, i ? "auto" : NULL, &config, why,
						     sizeof(why)));
		ck_assert_str_eq(rig_here[0], f->ops->name);
		for (size_t k = 0; strcmp(rig_names[k], rig_here[0]); k++)
			ck_assert_ptr_nonnull(strstr(why, rig_names[k]));
		f->ops->destroy(f);
	}
	ck_assert_int_eq(0, dsm_fault_create(&f, NULL, &config, NULL, 0));
	f->ops->destroy(f);
}
END_TEST

START_TEST(a_configuration_that_makes_no_sense_is_refused)
{
	static const struct dsm_fault_config bad[] = {
		{ .pages = 0, .unit = 4096, .fault = no_fault },
		{ .pages = 1, .unit = 2048, .fault = no_fault },
		{ .pages = 1, .unit = 12288, .fault = no_fault },
		{ .pages = 1, .unit = 1U << 31, .fault = no_fault },
		{ .pages = 1, .unit = 8192, .fault = no_fault, .address = (void *)0x100001000 },
		{ .pages = 1, .unit = 4096 },
	};
	struct dsm_fault_config good = { .pages = 1, .unit = 4096, .fault = no_fault };
	struct dsm_fault *f;
	char why[1000];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		ck_assert_int_eq(-EINVAL, dsm_fault_create(&f, "sigsegv", &bad[i], why,
							   sizeof(why)));
		ck_assert_str_ne("", why);
	}
	ck_assert_int_eq(-EINVAL, dsm_fault_create(&f, "sigbus", &good, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "uffd-sigbus"));
}
END_TEST

START_TEST(a_memory_stands_where_it_is_asked_for_unless_something_does)
{
	struct dsm_fault_config config = { .pages = 4, .unit = UNIT, .fault = no_fault };
	void *p = mmap(NULL, 16 * UNIT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dsm_fault *f;
	char why[1000];

	config.address = p;
	ck_assert_int_eq(-EEXIST, dsm_fault_create(&f, rig_here[_i], &config, why, sizeof(why)));
	munmap(p, 16 * UNIT);
	ck_assert_int_eq(0, dsm_fault_create(&f, rig_here[_i], &config, why, sizeof(why)));
	ck_assert_ptr_eq(p, f->view);
	f->ops->destroy(f);
}
END_TEST

static Suite *suite(void)
{
	const TTest *each[] = {
		system_calls_write_to_pages_as_the_capability_says,
		system_calls_read_pages_as_the_capability_says,
		the_alias_is_memory_like_any_other, files_are_read_past_the_cache_into_the_alias,
		signals_for_other_addresses_go_to_the_program,
		a_handler_that_came_later_and_calls_ours_is_kept,
		signals_that_nobody_handles_end_the_process_as_usual,
		the_handler_runs_on_the_stack_for_signals, a_child_has_none_of_the_pages,
		a_million_pages_alternate_or_are_refused_with_a_reason, memories_do_not_meet,
		a_memory_can_go_while_the_kernel_reads_its_alias,
		a_memory_stands_where_it_is_asked_for_unless_something_does,
	};
	TCase *tcase = tcase_create("fault_system");
	Suite *s = suite_create("dsm fault back ends and the system");

	tcase_set_timeout(tcase, 60);
	for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
		tcase_add_loop_test(tcase, each[i], 0, rig_count);
	tcase_add_test(tcase, the_best_that_works_is_chosen);
	tcase_add_test(tcase, a_configuration_that_makes_no_sense_is_refused);
	suite_add_tcase(s, tcase);
	return s;
}

int main(void)
{
	rig_look();
	return tap_run(suite());
}
