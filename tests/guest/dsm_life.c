/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who holds a segment, or waits for one of its pages, may be stopped, signalled
 * or killed at any moment, may fork or run another program, and nothing is left.
 */
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "dsm.h"

#define PAGES	64U
#define TWINS	16U

static const char *self;

static int module_users(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

/* Until the events that nobody reads are as many. */
static void await_events(const struct segment *s, unsigned int n)
{
	while (told(s, "events") < n)
		sched_yield();
}

/* ---- those that wait ---------------------------------------------------- */

static sigjmp_buf *resume;
static volatile sig_atomic_t signals;

static void on_bus(int sig)
{
	(void)sig;
	siglongjmp(*resume, 1);
}

static void *expect_bus(void *arg)
{
	static __thread sigjmp_buf here;
	struct touch *t = arg;

	if (!sigsetjmp(here, 1)) {
		resume = &here;
		t->value = *t->at;
	} else {
		t->done = 2;
	}
	return NULL;
}

/* The mapping alone keeps nobody waiting who could never be answered. */
static void those_that_wait_when_it_is_closed_get_sigbus(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct touch t = { .at = page_at(&s, 3) };

	signal(SIGBUS, on_bus);
	page_at(&s, 1)[0] = 5;
	protect(&s, 3, SONDE_DSM_NONE);
	check_int(pthread_create(&t.thread, NULL, expect_bus, &t), 0);
	await_events(&s, 1);
	check_int(close(s.fd), 0);
	check_int(pthread_join(t.thread, NULL), 0);
	check_int(t.done, 2);
	/* Also who comes later; what is allowed goes on. */
	expect_bus(&t);
	check_int(t.done, 2);
	check_int(page_at(&s, 1)[0], 5);
	page_at(&s, 1)[1] = 6;
	check_int(page_at(&s, 2)[0], 0);
	check_int(s.alias[SMALL_PAGE + 1], 6);
}

/* A descriptor that another process has can still answer. */
static void it_is_closed_when_the_last_descriptor_is(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct touch t;
	int other = dup(s.fd);

	protect(&s, 3, SONDE_DSM_NONE);
	begin_touch(&t, page_at(&s, 3), false, 0);
	await_events(&s, 1);
	close(s.fd);
	s.fd = other;
	sched_yield();
	check(!t.done);
	protect(&s, 3, SONDE_DSM_READ);
	end_touch(&t);
}

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

static void handlers_run_while_a_program_waits(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct touch t;
	int i;

	signal(SIGUSR1, count_signal);
	protect(&s, 3, SONDE_DSM_NONE);
	begin_touch(&t, page_at(&s, 3), false, 0);
	await_events(&s, 1);
	for (i = 0; i < 10; i++) {
		check_int(pthread_kill(t.thread, SIGUSR1), 0);
		while (signals <= i)
			sched_yield();
		check(!t.done);
	}
	/* It was told once, and waits still. */
	check_int(told(&s, "events"), 1);
	protect(&s, 3, SONDE_DSM_READ);
	end_touch(&t);
	end_segment(&s);
}

/* In a child: waits for a page, or in a system call for one. */
static void wait_for_page(struct segment *s, bool in_kernel)
{
	int p[2];

	if (!in_kernel) {
		(void)*(volatile char *)page_at(s, 3);
		return;
	}
	check_int(pipe(p), 0);
	check_int(write(p[1], "abc", 3), 3);
	check_int(read(p[0], page_at(s, 3), 3), 3);
}

/* Returns the child's id; *fd is its segment, by which it can be answered. */
static pid_t start_waiter(bool in_kernel, struct segment *s)
{
	pid_t pid;

	*s = (struct segment){
		.fd = try_create(PAGES, TWINS, SMALL_PAGE), .npages = PAGES, .ntwins = TWINS,
		.unit = SMALL_PAGE,
	};
	check(s->fd >= 0);
	check_int(fcntl(s->fd, F_SETFL, O_NONBLOCK), 0);
	protect(s, 3, SONDE_DSM_NONE);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		s->view = map_segment(s->fd, PAGES * SMALL_PAGE, SONDE_DSM_VIEW);
		wait_for_page(s, in_kernel);
		_exit(7);
	}
	await_events(s, 1);
	return pid;
}

static void who_waits_can_be_killed(void)
{
	struct segment s;
	int status, i;
	pid_t pid;

	for (i = 0; i < 20; i++) {
		pid = start_waiter(i & 1, &s);
		kill(pid, SIGKILL);
		check_int(waitpid(pid, &status, 0), pid);
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		close(s.fd);
	}
	await_no_segments();
}

static void who_waits_can_be_stopped_and_goes_on(void)
{
	struct segment s;
	pid_t pid = start_waiter(false, &s);
	int status;

	kill(pid, SIGSTOP);
	check_int(waitpid(pid, &status, WUNTRACED), pid);
	check(WIFSTOPPED(status));
	kill(pid, SIGCONT);
	/* Only its own address space may say what its view allows. */
	check_int(try_protect(&s, (uint32_t[]){ 3 }, 1, SONDE_DSM_READ), -EPERM);
	kill(pid, SIGTERM);
	check_int(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	/* It has none any more. */
	check_int(try_protect(&s, (uint32_t[]){ 3 }, 1, SONDE_DSM_READ), 0);
	close(s.fd);
}

/* Without a core of what nobody may see, and without waiting for it. */
static void a_core_dump_does_not_wait(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
	struct segment s;
	int status;
	pid_t pid;

	if (!write_file("/proc/sys/kernel/core_pattern", "/tmp/core.dsm"))
		tap_skip("core_pattern cannot be set");
	check_int(setrlimit(RLIMIT_CORE, &limit), 0);
	pid = start_waiter(false, &s);
	kill(pid, SIGABRT);
	check_int(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	check(WCOREDUMP(status));
	check_int(told(&s, "events"), 1);
	unlink("/tmp/core.dsm");
	close(s.fd);
}

/* ---- fork and exec ------------------------------------------------------ */

static void a_child_has_the_descriptor_but_no_view(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	uint32_t page = 1, n;
	int status;
	pid_t pid;

	page_at(&s, 1)[0] = 1;
	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct sonde_dsm_written w;

		check_int(try_protect(&s, &page, 1, SONDE_DSM_NONE), -EPERM);
		check_int(try_collect(&s, &w, 1, &n), -EPERM);
		check(mmap(NULL, PAGES * SMALL_PAGE, PROT_READ, MAP_SHARED, s.fd,
			   0) == MAP_FAILED);
		check_int(errno, EBUSY);
		(void)*(volatile char *)s.view;
		_exit(0);
	}
	check_int(waitpid(pid, &status, 0), pid);
	check(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	page_at(&s, 1)[0] = 2;
	check_int(told(&s, "written"), 1);
	end_segment(&s);
}

static int after_exec(const char *number)
{
	struct segment s = {
		.fd = atoi(number), .npages = PAGES, .ntwins = TWINS, .unit = SMALL_PAGE,
	};
	struct sonde_dsm_written w;

	check_int(collect(&s, &w, 1), 1);
	check_int(w.page, 5);
	s.view = map_segment(s.fd, PAGES * SMALL_PAGE, SONDE_DSM_VIEW);
	check_int(page_at(&s, 5)[0], 9);
	return 0;
}

static void a_segment_survives_exec_if_it_is_told_to(void)
{
	char number[16];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);

		page_at(&s, 5)[0] = 9;
		check_int(fcntl(s.fd, F_SETFD, 0), 0);
		snprintf(number, sizeof(number), "%d", s.fd);
		execl(self, self, "--after-exec", number, (char *)NULL);
		check_msg(0, "exec %s: %s", self, strerror(errno));
	}
	join_child(pid);
	await_no_segments();
}

/* ---- what is left ------------------------------------------------------- */

static void mappings_keep_the_segment_and_the_module(void)
{
	int before = module_users();
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);

	page_at(&s, 1)[0] = 5;
	check_int(close(s.fd), 0);
	check_int(munmap(s.view, PAGES * SMALL_PAGE), 0);
	check_int(munmap(s.twins, TWINS * SMALL_PAGE), 0);
	check_int(module_users(), before + 1);
	check_int(s.alias[SMALL_PAGE], 5);
	check(pages_of_segments() >= 2);
	check_int(munmap(s.alias, PAGES * SMALL_PAGE), 0);
	check_int(module_users(), before);
	check_int(pages_of_segments(), 0);
}

/* The pipe has a page when the segment goes. */
static void a_page_that_somebody_holds_outlives_it(void)
{
	struct segment s = make_segment(PAGES, TWINS, SMALL_PAGE);
	struct iovec iov = { s.alias, SMALL_PAGE };
	char buf[SMALL_PAGE];
	int p[2];

	memset(s.alias, 3, SMALL_PAGE);
	check_int(pipe(p), 0);
	check_int(syscall(SYS_vmsplice, p[1], &iov, 1, 0), SMALL_PAGE);
	end_segment(&s);
	check_int(read(p[0], buf, SMALL_PAGE), SMALL_PAGE);
	check(buf[0] == 3 && buf[SMALL_PAGE - 1] == 3);
}

static void memory_comes_as_it_is_used(void)
{
	struct segment s = make_segment(4096, 4096, 16384);
	long before = pages_of_segments();

	check_int(before, 0);
	(void)*(volatile char *)page_at(&s, 7);
	check_int(pages_of_segments(), 4);
	page_at(&s, 7)[1] = 1;
	check_int(pages_of_segments(), 8);
	end_segment(&s);
	check_int(pages_of_segments(), 0);
}

/* ---- killed in the middle of everything --------------------------------- */

static void *disturb(void *arg)
{
	struct segment *s = arg;
	struct sonde_dsm_written w[8];
	uint32_t pages[8], i, n, x = getpid();
	struct sonde_dsm_event event;

	for (;;) {
		for (i = 0; i < 8; i++)
			pages[i] = (x = x * 1103515245 + 12345) >> 16 & (PAGES - 1);
		try_protect(s, pages, 8, (x >> 8) % 4);
		if (try_collect(s, w, 8, &n))
			continue;
		for (i = 0; i < n; i++)
			try_untwin(s, &w[i].page, 1);
		while (read(s->fd, &event, sizeof(event)) > 0)
			try_protect(s, &event.page, 1, SONDE_DSM_READ);
	}
	return NULL;
}

static void *wander(void *arg)
{
	struct segment *s = arg;
	uint32_t x = (uintptr_t)&x >> 12;

	for (;;) {
		x = x * 1664525 + 1013904223;
		if (x & 0x800000)
			page_at(s, x >> 26)[x & 4095] = 1;
		else
			(void)*(volatile char *)page_at(s, x >> 26);
	}
	return NULL;
}

static void the_killed_leave_nothing(void)
{
	int i, users = module_users();
	struct timespec t = { 0, 0 };
	pid_t pid;

	for (i = 0; i < 25; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid) {
			struct segment s = make_segment(PAGES, TWINS, i & 1 ? 16384 : 4096);
			pthread_t thread;

			pthread_create(&thread, NULL, wander, &s);
			pthread_create(&thread, NULL, wander, &s);
			disturb(&s);
		}
		t.tv_nsec = 20000000 + i * 7000000;
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		check_int(waitpid(pid, NULL, 0), pid);
	}
	await_no_segments();
	check_int(module_users(), users);
}

static const struct tap_test tests[] = {
	TAP_TEST(those_that_wait_when_it_is_closed_get_sigbus),
	TAP_TEST(it_is_closed_when_the_last_descriptor_is),
	TAP_TEST(handlers_run_while_a_program_waits),
	TAP_TEST(who_waits_can_be_killed),
	TAP_TEST(who_waits_can_be_stopped_and_goes_on),
	TAP_TEST(a_core_dump_does_not_wait),
	TAP_TEST(a_child_has_the_descriptor_but_no_view),
	TAP_TEST(a_segment_survives_exec_if_it_is_told_to),
	TAP_TEST(mappings_keep_the_segment_and_the_module),
	TAP_TEST(a_page_that_somebody_holds_outlives_it),
	TAP_TEST(memory_comes_as_it_is_used),
	TAP_TEST(the_killed_leave_nothing),
};

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--after-exec"))
		return after_exec(argv[2]);
	self = argv[0];
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
