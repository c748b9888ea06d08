/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the memory of SONDE_IOC_ALLOC is: a file that can be mapped, handed on
 * and held, with real pages, of which nothing is left when its holders go.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "alloc.h"

#define PAGES	40
#define BYTES	(PAGES * SMALL_PAGE)

/* Memory of @npages pages of four colours of 16. */
static int new_memory(uint64_t npages, uint32_t flags)
{
	static struct request rq;
	int probe = open_node(PROBE_NODE);

	ask_colours(&rq, npages, 4);
	want_some(&rq, 4);
	rq.args.flags = flags;
	check_int(alloc(probe, &rq), 0);
	close(probe);
	return rq.args.fd;
}

static void fill(char *p, uint64_t npages, char salt)
{
	uint64_t i;

	for (i = 0; i < npages; i++)
		memset(p + i * SMALL_PAGE, salt + (char)i, SMALL_PAGE);
}

static bool is_filled(const char *p, uint64_t first, uint64_t npages, char salt)
{
	uint64_t i;

	for (i = 0; i < npages; i++)
		if (p[i * SMALL_PAGE] != (char)(salt + (char)(first + i)) ||
		    memcmp(p + i * SMALL_PAGE, p + i * SMALL_PAGE + 1,
			   SMALL_PAGE - 1))
			return false;
	return true;
}

/* ---- mapping ------------------------------------------------------------ */

static void all_mappings_show_the_same_pages(void)
{
	int fd = new_memory(PAGES, 0);
	char *a = map_memory(fd, PAGES), *b = map_memory(fd, PAGES);
	char *part = mmap(NULL, 3 * SMALL_PAGE, PROT_READ, MAP_SHARED, fd,
			  7 * SMALL_PAGE);
	uint64_t *of_a = frames_of(a, PAGES), *of_b = frames_of(b, PAGES);

	check(part != MAP_FAILED);
	check(!memcmp(of_a, of_b, PAGES * sizeof(*of_a)));
	check(!memcmp(of_a + 7, frames_of(part, 3), 3 * sizeof(*of_a)));
	fill(a, PAGES, 1);
	check(is_filled(b, 0, PAGES, 1));
	check(is_filled(part, 7, 3, 1));
}

static void mappings_end_where_the_memory_ends(void)
{
	int fd = new_memory(PAGES, 0);
	const struct {
		uint64_t npages, offset;
	} beyond[] = {
		{ PAGES + 1, 0 }, { 1, PAGES }, { PAGES, 1 }, { 2, PAGES - 1 },
		{ 1, 1ULL << 40 }, { PAGES, (1ULL << 51) - PAGES },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(beyond); i++) {
		void *p = mmap(NULL, beyond[i].npages * SMALL_PAGE, PROT_READ,
			       MAP_SHARED, fd, beyond[i].offset * SMALL_PAGE);

		check(p == MAP_FAILED);
		check(errno == ENXIO || errno == EOVERFLOW);
	}
}

static void a_private_mapping_is_refused(void)
{
	int fd = new_memory(PAGES, 0);

	check(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) ==
	      MAP_FAILED);
	check_int(errno, EINVAL);
}

static void private_memory_cannot_be_seen(void)
{
	int fd = new_memory(PAGES, SONDE_ALLOC_PRIVATE);
	char byte;

	check(mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	check_int(errno, EACCES);
	check(mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED);
	check_int(errno, EACCES);
	check_int(read(fd, &byte, 1), -1);
	check_int(write(fd, "", 1), -1);
}

static sigjmp_buf after_fault;

static void on_fault(int sig)
{
	siglongjmp(after_fault, sig);
}

/* The signal that reading @p gives, or 0. */
static int touch(const char *p)
{
	struct sigaction act = { .sa_handler = on_fault };
	int sig;

	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	sig = sigsetjmp(after_fault, 1);
	if (!sig)
		(void)*(volatile const char *)p;
	return sig;
}

static void a_part_can_be_unmapped(void)
{
	int fd = new_memory(PAGES, 0);
	unsigned long held = pages_held();
	char *p = map_memory(fd, PAGES);
	uint64_t *frames = frames_of(p, PAGES);

	fill(p, PAGES, 3);
	check_int(munmap(p + 10 * SMALL_PAGE, 5 * SMALL_PAGE), 0);
	check_int(touch(p + 9 * SMALL_PAGE), 0);
	check_int(touch(p + 10 * SMALL_PAGE), SIGSEGV);
	check_int(touch(p + 15 * SMALL_PAGE), 0);
	check(is_filled(p, 0, 10, 3));
	check(is_filled(p + 15 * SMALL_PAGE, 15, PAGES - 15, 3));
	check(!memcmp(frames + 15, frames_of(p + 15 * SMALL_PAGE, PAGES - 15),
		      (PAGES - 15) * sizeof(*frames)));
	close(fd);
	check_int(pages_held(), held);
	munmap(p, 10 * SMALL_PAGE);
	check_int(pages_held(), held);
	munmap(p + 15 * SMALL_PAGE, (PAGES - 15) * SMALL_PAGE);
	check_int(pages_held(), held - PAGES);
}

static void a_mapping_can_be_moved_and_cut_but_not_grown(void)
{
	int fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES), *q;
	uint64_t *frames = frames_of(p, PAGES);

	fill(p, PAGES, 5);
	check(mremap(p, BYTES, BYTES + SMALL_PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	q = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	check(mremap(p, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, q) == q);
	check(is_filled(q, 0, PAGES, 5));
	check(!memcmp(frames, frames_of(q, PAGES), PAGES * sizeof(*frames)));
	check(mremap(q, BYTES, 8 * SMALL_PAGE, 0) == q);
	check(is_filled(q, 0, 8, 5));
	check_int(touch(q + 8 * SMALL_PAGE), SIGSEGV);
}

static void pages_come_back_as_they_were_after_dontneed(void)
{
	int fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES);
	uint64_t *frames = frames_of(p, PAGES);

	fill(p, PAGES, 7);
	check_int(madvise(p + SMALL_PAGE, BYTES - SMALL_PAGE, MADV_DONTNEED), 0);
	check(is_filled(p, 0, PAGES, 7));
	check(!memcmp(frames, frames_of(p, PAGES), PAGES * sizeof(*frames)));
	fill(p, PAGES, 9);
	check(is_filled(map_memory(fd, PAGES), 0, PAGES, 9));
}

/* Compaction moves what can be moved, and reclaim takes what can be taken. */
static void pages_stay_where_they_are(void)
{
	int fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES);
	uint64_t *frames = frames_of(p, PAGES);

	fill(p, PAGES, 11);
	write_file("/proc/sys/vm/compact_memory", "1");
	write_file("/proc/sys/vm/drop_caches", "3");
	check(!memcmp(frames, frames_of(p, PAGES), PAGES * sizeof(*frames)));
	check(is_filled(p, 0, PAGES, 11));
}

static void mlock_and_mprotect_work(void)
{
	int fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES);

	check_int(mlock(p, BYTES), 0);
	fill(p, PAGES, 13);
	check_int(mprotect(p, BYTES, PROT_READ), 0);
	check(is_filled(p, 0, PAGES, 13));
	check_int(mprotect(p, BYTES, PROT_READ | PROT_WRITE), 0);
	fill(p, PAGES, 15);
	check_int(munlock(p, BYTES), 0);
}

/* ---- real pages --------------------------------------------------------- */

/* The pipe holds the pages themselves, longer than the memory lives. */
static void pages_in_a_pipe_outlive_the_memory(void)
{
	int fd = new_memory(PAGES, 0), pipes[2];
	unsigned long held = pages_held();
	char *p = map_memory(fd, PAGES), buf[SMALL_PAGE];
	struct iovec iov = { p, 4 * SMALL_PAGE };
	size_t i;

	fill(p, PAGES, 17);
	check_int(pipe(pipes), 0);
	check_int(vmsplice(pipes[1], &iov, 1, 0), 4 * SMALL_PAGE);
	munmap(p, BYTES);
	close(fd);
	check_int(pages_held(), held - PAGES);
	for (i = 0; i < 4; i++) {
		check_int(read(pipes[0], buf, sizeof(buf)), sizeof(buf));
		check(is_filled(buf, i, 1, 17));
	}
}

/* As debuggers and MPI libraries do it: get_user_pages_remote(). */
static void other_processes_can_copy_from_and_to_it(void)
{
	int fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES);
	static char copy[BYTES];
	struct iovec here = { copy, BYTES }, there = { p, BYTES };
	pid_t parent = getpid(), pid;

	fill(p, PAGES, 19);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		check_int(process_vm_readv(parent, &here, 1, &there, 1, 0), BYTES);
		check(is_filled(copy, 0, PAGES, 19));
		fill(copy, PAGES, 21);
		check_int(process_vm_writev(parent, &here, 1, &there, 1, 0), BYTES);
		_exit(0);
	}
	join_child(pid);
	check(is_filled(p, 0, PAGES, 21));
}

static int futex(uint32_t *word, int op, uint32_t value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static uint32_t *word_in(int fd)
{
	return (void *)(map_memory(fd, PAGES) + 8 * SMALL_PAGE);
}

/* A child that has a mapping of its own and waits there, and was seen to. */
static pid_t wait_in_child(int fd, uint32_t *word)
{
	int woken;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		word = word_in(fd);
		while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
			check(!futex(word, FUTEX_WAIT, 0) || errno == EAGAIN);
		_exit(0);
	}
	do {
		woken = futex(word, FUTEX_WAKE, 1);
		check_msg(woken >= 0, "FUTEX_WAKE: %s", strerror(errno));
		sched_yield();
	} while (!woken);
	return pid;
}

static void end_wait(pid_t pid, uint32_t *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	check(futex(word, FUTEX_WAKE, INT_MAX) >= 0);
	join_child(pid);
}

/* A shared futex is known by the mapping of its page, and its index there. */
static void futexes_in_it_work_between_processes(void)
{
	int fd = new_memory(PAGES, 0);
	uint32_t *word = word_in(fd);

	end_wait(wait_in_child(fd, word), word);
}

static void futexes_of_other_memory_are_others(void)
{
	int fd = new_memory(PAGES, 0), other = new_memory(PAGES, 0), i;
	uint32_t *word = word_in(fd), *there = word_in(other);
	pid_t pid = wait_in_child(fd, word);

	for (i = 0; i < 100; i++) {
		check_int(futex(there, FUTEX_WAKE, INT_MAX), 0);
		check_int(futex(word + 1, FUTEX_WAKE, INT_MAX), 0);
		sched_yield();
	}
	end_wait(pid, word);
}

static void it_can_be_written_from_without_a_copy(void)
{
	int fd = new_memory(PAGES, 0), file;
	char *p = map_memory(fd, PAGES);
	static char copy[BYTES];

	file = open("/dev/shm", O_TMPFILE | O_RDWR | O_DIRECT, 0600);
	if (file < 0)
		tap_skip("this kernel's tmpfs has no O_DIRECT");
	fill(p, PAGES, 23);
	check_int(pwrite(file, p, BYTES, 0), BYTES);
	check_int(pread(file, copy, BYTES, 0), BYTES);
	check(is_filled(copy, 0, PAGES, 23));
	fill(copy, PAGES, 25);
	check_int(pwrite(file, copy, BYTES, 0), BYTES);
	check_int(pread(file, p, BYTES, 0), BYTES);
	check(is_filled(p, 0, PAGES, 25));
	close(file);
}

/* ---- handing on --------------------------------------------------------- */

static void a_child_has_the_descriptor_but_not_the_mapping(void)
{
	int fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES);
	pid_t pid;

	fill(p, PAGES, 27);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		check_int(touch(p), SIGSEGV);
		p = map_memory(fd, PAGES);
		check(is_filled(p, 0, PAGES, 27));
		fill(p, PAGES, 29);
		_exit(0);
	}
	join_child(pid);
	check(is_filled(p, 0, PAGES, 29));
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

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], c;
	struct iovec iov = { &c, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	int fd;

	check_int(recvmsg(sock, &msg, MSG_CMSG_CLOEXEC), 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* Who receives it needs no right to the device, and it outlives who sent it. */
static void a_stranger_who_is_handed_the_memory_can_use_it(void)
{
	unsigned long held = pages_held();
	int sock[2], fd;
	char *p;
	pid_t pid;

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		fd = new_memory(PAGES, 0);
		fill(map_memory(fd, PAGES), PAGES, 31);
		send_fd(sock[0], fd);
		_exit(0);
	}
	join_child(pid);
	become_nobody(NOBODY);
	check_int(pages_held(), held + PAGES);
	fd = receive_fd(sock[1]);
	p = map_memory(fd, PAGES);
	check(is_filled(p, 0, PAGES, 31));
	munmap(p, BYTES);
	close(fd);
	check_int(pages_held(), held);
}

static void memory_queued_in_a_socket_goes_with_it(void)
{
	unsigned long held = pages_held();
	int sock[2], fd = new_memory(PAGES, 0);

	check_int(socketpair(AF_UNIX, SOCK_STREAM, 0, sock), 0);
	send_fd(sock[0], fd);
	close(fd);
	check_int(pages_held(), held + PAGES);
	close(sock[0]);
	close(sock[1]);
	check_int(pages_held(), held);
}

static int module_users(void)
{
	FILE *f = fopen("/sys/module/sonde/refcnt", "r");
	int n = -1;

	check(f && fscanf(f, "%d", &n) == 1);
	fclose(f);
	return n;
}

static void memory_keeps_the_module_loaded(void)
{
	int before = module_users(), fd = new_memory(PAGES, 0);
	char *p = map_memory(fd, PAGES);

	check_int(module_users(), before + 1);
	close(fd);
	check_int(module_users(), before + 1);
	check_int(syscall(SYS_delete_module, "sonde", O_NONBLOCK), -1);
	check_int(errno, EAGAIN);
	fill(p, PAGES, 33);
	munmap(p, BYTES);
	check_int(module_users(), before);
}

static void the_descriptor_is_closed_by_exec(void)
{
	int fd = new_memory(PAGES, 0);

	check_int(fcntl(fd, F_GETFD), FD_CLOEXEC);
}

static void fdinfo_tells_what_it_is(void)
{
	int fd = new_memory(PAGES, 0);
	char path[64], line[100];
	unsigned long pages = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "r");
	check(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "sonde-pages: %lu", &pages);
	fclose(f);
	check_int(pages, PAGES);
}

/* ---- nothing is left ---------------------------------------------------- */

/* Free pages, those on the lists of each CPU included: MemFree lacks them. */
static unsigned long free_pages(void)
{
	unsigned long sum = 0, n;
	char line[200];
	FILE *f = fopen("/proc/zoneinfo", "r");

	check(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " nr_free_pages %lu", &n) == 1 ||
		    sscanf(line, " count: %lu", &n) == 1)
			sum += n;
	fclose(f);
	return sum;
}

static void one_round(unsigned int i)
{
	static struct request rq;
	int probe = open_node(PROBE_NODE);
	char *p;

	ask_colours(&rq, 32, 4);
	want_some(&rq, 1 + i % 4);
	if (i % 5 == 0)
		ask_pages(&rq, 32, SONDE_ALLOC_CONTIGUOUS | SONDE_ALLOC_PARTIAL);
	check_int(alloc(probe, &rq), 0);
	p = map_memory(rq.args.fd, 32);
	fill(p, 32, (char)i);
	if (i % 2)
		close(rq.args.fd);
	munmap(p, 32 * SMALL_PAGE);
	if (!(i % 2))
		close(rq.args.fd);
	close(probe);
}

/* If each round lost one page of the 32 or more that it takes, it would show. */
static void a_thousand_rounds_leak_nothing(void)
{
	unsigned long held = pages_held(), before, after;
	int users = module_users();
	unsigned int i;

	for (i = 0; i < 50; i++)
		one_round(i);
	write_file("/proc/sys/vm/drop_caches", "3");
	before = free_pages();
	for (i = 0; i < 1000; i++)
		one_round(i);
	write_file("/proc/sys/vm/drop_caches", "3");
	after = free_pages();
	check_int(pages_held(), held);
	check_int(module_users(), users);
	printf("# %lu pages free before, %lu after\n", before, after);
	check(after + 900 > before);
}

/* Takes, maps and drops memory until it is killed. */
static void take_for_ever(unsigned int seed)
{
	static struct request rq;
	int probe = open_node(PROBE_NODE);
	unsigned int i;

	for (i = seed; ; i++) {
		ask_colours(&rq, 50 + i % 100, 4 + i % 3);
		want_some(&rq, 1 + i % 7);
		rq.args.flags = i % 3 ? 0 : SONDE_ALLOC_PARTIAL;
		if (alloc(probe, &rq))
			_exit(TAP_FAILED);
		fill(map_memory(rq.args.fd, rq.args.npages), rq.args.npages, 1);
		if (i % 3)
			close(rq.args.fd);
		if (i % 16 == 15)
			_exit(0);
	}
}

static void killed_processes_leave_nothing(void)
{
	unsigned long held = pages_held();
	int users = module_users(), i, status, killed = 0;
	pid_t pid;

	for (i = 0; i < 60; i++) {
		struct timespec t = { 0, i * 1000000L };

		fflush(stdout);
		pid = fork();
		if (!pid)
			take_for_ever(i);
		check(pid > 0);
		nanosleep(&t, NULL);	/* another point each time */
		kill(pid, SIGKILL);
		check_int(waitpid(pid, &status, 0), pid);
		killed += WIFSIGNALED(status);
		check(WIFSIGNALED(status) || !WEXITSTATUS(status));
	}
	check(killed);
	check_int(pages_held(), held);
	check_int(module_users(), users);
}

/* One call that has much to do ends soon when its process is killed. */
static void a_kill_ends_a_long_call(void)
{
	unsigned long held = pages_held(), most = parameter("memory_pages");
	int probe = open_node(PROBE_NODE), status, i, killed = 0;
	static struct request rq;
	pid_t pid;

	ask_colours(&rq, most / 20, 4);
	want(&rq, 9);
	for (i = 0; i < 10; i++) {
		fflush(stdout);
		pid = fork();
		if (!pid)
			_exit(alloc(probe, &rq) ? TAP_FAILED : 0);
		while (pages_held() < held + most / 40 &&
		       !waitpid(pid, &status, WNOHANG))
			sched_yield();
		kill(pid, SIGKILL);
		if (waitpid(pid, &status, 0) == pid)
			killed += WIFSIGNALED(status);
		close(probe);
		check_int(pages_held(), held);
		probe = open_node(PROBE_NODE);
	}
	check_msg(killed, "no call was ended in the middle");
}

static void allocate_and_check(unsigned int salt, int probe)
{
	static struct request rq;
	unsigned int i;
	char *p;

	for (i = 0; i < 60; i++) {
		ask_colours(&rq, 64, 3 + (i + salt) % 3);
		want_some(&rq, 1 + i % 4);
		check_int(alloc(probe, &rq), 0);
		p = map_memory(rq.args.fd, 64);
		check_int(count_off_colour(&rq, frames_of(p, 64)), 0);
		fill(p, 64, (char)salt);
		check(is_filled(p, 0, 64, (char)salt));
		munmap(p, 64 * SMALL_PAGE);
		close(rq.args.fd);
	}
}

/* With a file, and so a pool, of their own each, and with one for all. */
static void processes_do_not_get_in_each_others_way(void)
{
	int shared = open_node(PROBE_NODE), i;
	pid_t pids[4];

	fflush(stdout);
	for (i = 0; i < 4; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			allocate_and_check(i, i % 2 ? shared :
					   open_node(PROBE_NODE));
			fflush(stdout);
			_exit(0);
		}
	}
	for (i = 0; i < 4; i++)
		join_child(pids[i]);
}

static const struct tap_test tests[] = {
	TAP_TEST(all_mappings_show_the_same_pages),
	TAP_TEST(mappings_end_where_the_memory_ends),
	TAP_TEST(a_private_mapping_is_refused),
	TAP_TEST(private_memory_cannot_be_seen),
	TAP_TEST(a_part_can_be_unmapped),
	TAP_TEST(a_mapping_can_be_moved_and_cut_but_not_grown),
	TAP_TEST(pages_come_back_as_they_were_after_dontneed),
	TAP_TEST(pages_stay_where_they_are),
	TAP_TEST(mlock_and_mprotect_work),
	TAP_TEST(pages_in_a_pipe_outlive_the_memory),
	TAP_TEST(other_processes_can_copy_from_and_to_it),
	TAP_TEST(futexes_in_it_work_between_processes),
	TAP_TEST(futexes_of_other_memory_are_others),
	TAP_TEST(it_can_be_written_from_without_a_copy),
	TAP_TEST(a_child_has_the_descriptor_but_not_the_mapping),
	TAP_TEST(a_stranger_who_is_handed_the_memory_can_use_it),
	TAP_TEST(memory_queued_in_a_socket_goes_with_it),
	TAP_TEST(memory_keeps_the_module_loaded),
	TAP_TEST(the_descriptor_is_closed_by_exec),
	TAP_TEST(fdinfo_tells_what_it_is),
	TAP_TEST(a_thousand_rounds_leak_nothing),
	TAP_TEST(killed_processes_leave_nothing),
	TAP_TEST(a_kill_ends_a_long_call),
	TAP_TEST(processes_do_not_get_in_each_others_way),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	return tap_main(tests, ARRAY_SIZE(tests));
}
