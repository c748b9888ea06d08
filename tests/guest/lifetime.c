/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an open file holds, who may use it, and what is left when a process
 * goes: the module stays while files are open, a descriptor works in a child
 * and after exec for the memory of whoever uses it, and a kill in the middle
 * of a call ends that call.
 */
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "pagemap.h"

static const char *self;

/* How many files the module knows to be open. */
static int module_users(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

static void open_files_keep_the_module_loaded(void)
{
	int before = module_users();
	int a = open_node(MAIN_NODE), b = open_node(PROBE_NODE), c = dup(a);

	check_int(module_users(), before + 2);
	check_int(syscall(SYS_delete_module, "sonde", O_NONBLOCK), -1);
	check_int(errno, EAGAIN);
	close(a);
	check_int(module_users(), before + 2);
	check_int(get_info(c).abi, SONDE_ABI);
	close(b);
	close(c);
	check_int(module_users(), before);
}

/* The frame that [page, page + one page) has for the caller. */
static uint64_t frame_of(int fd, const char *page)
{
	struct sonde_frame frame;

	check_int(get_frames(fd, page, 1, &frame, 0, NULL), 0);
	check(frame.flags & SONDE_FRAME_FRAME);
	return frame.frame;
}

static uint64_t pagemap_frame_of(const char *page)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t pm;

	check(fd >= 0);
	read_pagemap(fd, page, 1, &pm);
	close(fd);
	check(pm & PM_PRESENT);
	return pm & PM_FRAME;
}

static char *map_page(void)
{
	char *p = mmap(NULL, SMALL_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED);
	p[0] = 1;
	return p;
}

static void a_child_asks_about_its_own_memory(void)
{
	int fd = open_node(PROBE_NODE);
	char *page = map_page();
	uint64_t parents = frame_of(fd, page);
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		check_int(frame_of(fd, page), parents);
		page[0] = 2;	/* the child's own copy */
		check(frame_of(fd, page) != parents);
		check_int(frame_of(fd, page), pagemap_frame_of(page));
		_exit(0);
	}
	join_child(pid);
	check_int(frame_of(fd, page), pagemap_frame_of(page));
}

/* The other half of the test below, in the new program. */
static int after_exec(const char *number)
{
	int fd = atoi(number);
	char *page = map_page();

	check_int(get_info(fd).rights, ROOT_RIGHTS);
	check_int(frame_of(fd, page), pagemap_frame_of(page));
	return 0;
}

static void a_file_survives_exec(void)
{
	char number[16];
	pid_t pid;
	int fd = open(PROBE_NODE, O_RDWR);	/* no O_CLOEXEC */

	check(fd >= 0);
	snprintf(number, sizeof(number), "%d", fd);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		execl(self, self, "--after-exec", number, (char *)NULL);
		check_msg(0, "exec %s: %s", self, strerror(errno));
	}
	join_child(pid);
}

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", c = 0;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	check_int(sendmsg(sock, &msg, 0), 1);
}

static void a_file_queued_in_its_own_socket_goes_with_it(void)
{
	int before = module_users(), sock[2];
	int fd = open_node(PROBE_NODE);

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	send_fd(sock[0], fd);
	close(fd);
	check_int(module_users(), before + 1);
	close(sock[0]);
	close(sock[1]);
	check_int(module_users(), before);
}

/* ---- killed in the middle ----------------------------------------------- */

struct victim {
	int fd;
	struct sonde_frames args;
};

static int ask(void *arg)
{
	struct victim *victim = arg;

	ioctl(victim->fd, SONDE_IOC_FRAMES, &victim->args);
	return 0;
}

/*
 * One call over as many pages as may be, in a process that shares our memory
 * and is killed once the first entry is there. Returns how far it came.
 */
static uint64_t kill_in_the_middle(int fd, const char *range, uint64_t npages,
				   struct sonde_frame *entries)
{
	static char stack[65536] __attribute__((aligned(16)));
	volatile const uint16_t *first = &entries[0].flags;
	struct victim victim = {
		.fd = fd,
		.args = {
			.size = sizeof(victim.args), .npages = npages,
			.addr = (uintptr_t)range, .done = UINT64_MAX,
			.entries = (uintptr_t)entries,
		},
	};
	time_t deadline = time(NULL) + 20;
	int status;
	pid_t pid;

	entries[0].flags = 0;
	pid = clone(ask, stack + sizeof(stack), CLONE_VM | CLONE_FILES | SIGCHLD,
		    &victim);
	check(pid > 0);
	while (!*first && time(NULL) < deadline)
		sched_yield();
	kill(pid, SIGKILL);
	check_int(waitpid(pid, &status, 0), pid);
	return victim.args.done;
}

static void a_kill_ends_a_long_call(void)
{
	int before = module_users(), fd = open_node(PROBE_NODE), i;
	uint64_t max = get_info(fd).max_pages, done = 0, middle = 0;
	const size_t bytes = max * sizeof(struct sonde_frame);
	struct sonde_frame *entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* The same few pages again and again: much to look at, little to hold. */
	char *range = mmap(NULL, max * SMALL_PAGE, PROT_READ, MAP_PRIVATE |
			   MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t p;

	check(entries != MAP_FAILED && range != MAP_FAILED);
	check_int(madvise(range, max * SMALL_PAGE, MADV_NOHUGEPAGE), 0);
	for (p = 0; p < max; p += 8)
		(void)*(volatile char *)(range + p * SMALL_PAGE);
	check_int(madvise(entries, bytes, MADV_NOHUGEPAGE), 0);
	for (i = 0; i < 40; i++) {
		done = kill_in_the_middle(fd, range, max, entries);
		check(done <= max);
		middle += done > 0 && done < max;
	}
	check_msg(middle, "no call was ended in the middle, the last one after %llu",
		  (unsigned long long)done);
	close(fd);
	check_int(module_users(), before);
}

static void killed_processes_leave_nothing(void)
{
	int before = module_users(), i, fd;
	char *range = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	static struct sonde_frame entries[16384];
	struct timespec t = { 0 };
	pid_t pid;

	check(range != MAP_FAILED);
	for (i = 0; i < 50; i++) {
		pid = fork();
		if (!pid) {
			fd = open_node(PROBE_NODE);
			for (;;)
				get_frames(fd, range, 16384, entries, 0, NULL);
		}
		check(pid > 0);
		t.tv_nsec = i * 1000000L;	/* another point each time */
		nanosleep(&t, NULL);
		kill(pid, SIGKILL);
		check_int(waitpid(pid, NULL, 0), pid);
	}
	check_int(module_users(), before);
}

static const struct tap_test tests[] = {
	TAP_TEST(open_files_keep_the_module_loaded),
	TAP_TEST(a_child_asks_about_its_own_memory),
	TAP_TEST(a_file_survives_exec),
	TAP_TEST(a_file_queued_in_its_own_socket_goes_with_it),
	TAP_TEST(a_kill_ends_a_long_call),
	TAP_TEST(killed_processes_leave_nothing),
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
