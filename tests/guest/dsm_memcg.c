/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who uses more of a segment than its memory cgroup has is killed by that cgroup, as with
 * other memory: in the middle of a first write, of its twin, of a system call. What it
 * wrote until then is there for whoever holds the descriptor, and nothing is left.
 */
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "dsm.h"

#define GROUP	"/sys/fs/cgroup/sonde-test"
#define LIMIT	"8388608"
#define PAGES	8192U		/* four times that */

static void put_text(const char *path, const char *text)
{
	check_msg(write_file(path, text), "%s: %s", path, strerror(errno));
}

/* A number of the group's memory.events. */
static long group_events(const char *what)
{
	char line[64], name[32];
	bool found = false;
	long value = -1;
	FILE *f = fopen(GROUP "/memory.events", "r");

	check(f);
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%31s %ld", name, &value) == 2 && !strcmp(name, what);
	fclose(f);
	check(found);
	return value;
}

static void make_group(void)
{
	struct utsname u;
	int major = 0, minor = 0;

	uname(&u);
	sscanf(u.release, "%d.%d", &major, &minor);
	if (major == 5 && minor < 11)
		tap_skip("pages that are mapped cannot be charged before Linux 5.11");
	rmdir(GROUP);
	put_text("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	check_int(mkdir(GROUP, 0755), 0);
	put_text(GROUP "/memory.max", LIMIT);
}

/* Runs @use in the group with a view of the segment; it is killed there. */
static void use_in_group(struct segment *s, void (*use)(struct segment *s))
{
	char pid_text[16];
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		snprintf(pid_text, sizeof(pid_text), "%d", getpid());
		put_text(GROUP "/cgroup.procs", pid_text);
		s->view = map_segment(s->fd, (size_t)PAGES * SMALL_PAGE, SONDE_DSM_VIEW);
		use(s);
		_exit(0);
	}
	check_int(waitpid(pid, &status, 0), pid);
	check_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "status %#x", status);
	check_int(group_events("oom_kill"), 1);
	check_int(rmdir(GROUP), 0);
}

/* With a byte in each page of the alias, which is ours. */
static struct segment make_full(uint32_t ntwins)
{
	struct segment s = { .npages = PAGES, .ntwins = ntwins, .unit = SMALL_PAGE };
	uint32_t i;

	s.fd = try_create(PAGES, ntwins, SMALL_PAGE);
	check(s.fd >= 0);
	s.alias = map_segment(s.fd, (size_t)PAGES * SMALL_PAGE, SONDE_DSM_ALIAS);
	for (i = 0; i < PAGES; i++)
		s.alias[i * SMALL_PAGE] = 1;
	return s;
}

static void write_all(struct segment *s)
{
	uint32_t i;

	for (i = 0; i < PAGES; i++)
		page_at(s, i)[0] = 2;
}

static void read_into_all(struct segment *s)
{
	int fd = open("/dev/zero", O_RDONLY);

	check(fd >= 0);
	while (read(fd, s->view, (size_t)PAGES * SMALL_PAGE) > 0)
		continue;
}

static void *wait_for_last(void *arg)
{
	(void)*(volatile char *)page_at(arg, PAGES - 1);
	return NULL;
}

/* While others wait for a page that nobody answers. */
static void write_beside_waiters(struct segment *s)
{
	pthread_t threads[4];
	int i;

	protect(s, PAGES - 1, SONDE_DSM_NONE);
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, wait_for_last, s);
	while (told(s, "events") < 1)
		sched_yield();
	write_all(s);
}

static void who_lacks_memory_for_pages_is_killed(void (*use)(struct segment *s))
{
	struct segment s = { .npages = PAGES, .ntwins = PAGES, .unit = SMALL_PAGE };

	make_group();
	s.fd = try_create(PAGES, PAGES, SMALL_PAGE);
	check(s.fd >= 0);
	use_in_group(&s, use);
	close(s.fd);
	await_no_segments();
}

static void a_first_write_beyond_the_cgroup_is_killed(void)
{
	who_lacks_memory_for_pages_is_killed(write_all);
}

static void a_system_call_beyond_the_cgroup_is_killed(void)
{
	who_lacks_memory_for_pages_is_killed(read_into_all);
}

static void those_that_wait_meanwhile_are_killed_too(void)
{
	who_lacks_memory_for_pages_is_killed(write_beside_waiters);
}

/* Pages are ours, twins its own: each page that it wrote has one, and is listed. */
static void a_twin_beyond_the_cgroup_is_killed_and_writes_are_kept(void)
{
	static struct sonde_dsm_written w[PAGES];
	struct segment s;
	uint32_t n, i;

	make_group();
	s = make_full(PAGES);
	use_in_group(&s, write_all);
	n = collect(&s, w, PAGES);
	check_msg(n > 100 && n < PAGES, "%u pages were written", n);
	s.twins = map_segment(s.fd, (size_t)PAGES * SMALL_PAGE, SONDE_DSM_TWINS);
	for (i = 0; i < n; i++) {
		check(w[i].twin < PAGES);
		check_int(s.twins[w[i].twin * SMALL_PAGE], 1);
		check(s.alias[w[i].page * SMALL_PAGE] == 2 || i + 1 == n);
	}
	/* All others are free. */
	check_int(told(&s, "twins-free"), PAGES - n);
	check_int(munmap(s.alias, (size_t)PAGES * SMALL_PAGE), 0);
	check_int(munmap(s.twins, (size_t)PAGES * SMALL_PAGE), 0);
	close(s.fd);
	await_no_segments();
}

static const struct tap_test tests[] = {
	TAP_TEST(a_first_write_beyond_the_cgroup_is_killed),
	TAP_TEST(a_system_call_beyond_the_cgroup_is_killed),
	TAP_TEST(those_that_wait_meanwhile_are_killed_too),
	TAP_TEST(a_twin_beyond_the_cgroup_is_killed_and_writes_are_kept),
};

int main(void)
{
	if (!have_nodes())
		return tap_skip_all("sonde is not loaded");
	if (access("/sys/fs/cgroup/cgroup.controllers", R_OK))
		return tap_skip_all("no cgroup v2 is mounted");
	return tap_main(tests, ARRAY_SIZE(tests));
}
