// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions by CMA and by shared memory, with another process as the user. A
 * looped test runs once for each way (_i).
 */
#include <signal.h>

#include "regions.h"

#define LEN	10000

static enum sonde_transfer_way way_of(int i)
{
	return (enum sonde_transfer_way)i;
}

/* What a child gets: a handle, and what it shall find. */
struct visit {
	enum sonde_transfer_way way;
	int fd;
	const unsigned char *expected;
	struct sonde_region *inherited;
};

static struct sonde_region *import(const struct visit *v, struct sonde_transfer **t)
{
	struct sonde_region *region = NULL;

	need(!sonde_transfer_open(t, v->way));
	need(!sonde_region_import(*t, v->fd, &region));
	return region;
}

/* ---- copies ------------------------------------------------------------- */

static void read_all(void *arg)
{
	const struct visit *v = arg;
	struct sonde_transfer *t;
	struct sonde_region *region = import(v, &t);
	unsigned char got[LEN];

	need(sonde_region_bytes(region) == LEN);
	need(sonde_region_rights(region) == SONDE_REGION_READ);
	need(sonde_region_way(region) == v->way);
	need(sonde_region_is_valid(region) && !sonde_region_state(region));
	need(sonde_region_read(region, 0, got, LEN) == LEN);
	need(!memcmp(got, v->expected, LEN));
	need(sonde_region_read(region, 17, got, 1) == 1 && got[0] == v->expected[17]);
	need(sonde_region_read(region, LEN, got, 0) == 0);
	need(sonde_region_write(region, 0, got, 1) == -EACCES);
	sonde_region_close(region);
	sonde_transfer_close(t);
}

START_TEST(another_process_reads_what_the_owner_has)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN + 5) + 5;	/* not the begin of a page */
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_READ);
	struct visit v = { way_of(_i), sonde_region_fd(region), p, region };

	ck_assert_int_eq(in_child(read_all, &v), 0);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

static void write_some(void *arg)
{
	const struct visit *v = arg;
	struct sonde_transfer *t;
	struct sonde_region *region = import(v, &t);
	unsigned char got;

	need(sonde_region_write(region, LEN - 3, "abc", 3) == 3);
	need(sonde_region_write(region, LEN - 3, "abcd", 4) == -EINVAL);
	need(sonde_region_read(region, 0, &got, 1) == -EACCES);
	sonde_region_close(region);
	sonde_transfer_close(t);
}

START_TEST(what_another_process_writes_the_owner_has)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN + 1);
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_WRITE);
	struct visit v = { way_of(_i), sonde_region_fd(region), p, region };
	unsigned char behind = p[LEN];

	ck_assert_int_eq(in_child(write_some, &v), 0);
	ck_assert_int_eq(memcmp(p + LEN - 3, "abc", 3), 0);
	ck_assert_uint_eq(p[LEN], behind);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

static void read_batch(void *arg)
{
	const struct visit *v = arg;
	struct sonde_transfer *t;
	struct sonde_region *region = import(v, &t);
	struct sonde_region_copy copies[200];
	unsigned char got[200][2];

	for (size_t i = 0; i < 200; i++)
		copies[i] = (struct sonde_region_copy){
			.region = region, .offset = i * 50, .addr = got[i], .len = 2,
			.flags = i == 70 ? SONDE_COPY_WRITE : i == 71 ? 1u << 7 : 0,
		};
	copies[3].offset = LEN - 1;
	copies[199].offset = UINT64_MAX;
	need(sonde_copyv(t, copies, 200) == 196);
	for (size_t i = 0; i < 200; i++) {
		if (i == 3 || i == 71 || i == 199)
			need(copies[i].result == -EINVAL);
		else if (i == 70)
			need(copies[i].result == -EACCES);
		else
			need(copies[i].result == 2 && !memcmp(got[i], v->expected + i * 50, 2));
	}
	need(sonde_copyv(t, copies, 0) == 0);
	sonde_region_close(region);
	sonde_transfer_close(t);
}

START_TEST(each_element_of_a_batch_has_its_own_result)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_READ);
	struct visit v = { way_of(_i), sonde_region_fd(region), p, region };

	ck_assert_int_eq(in_child(read_batch, &v), 0);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(one_batch_goes_by_several_ways_in_both_directions)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_AUTO);
	unsigned char *shared = get_memory(t, LEN), mine[8] = "12345678", got[3][8];
	struct sonde_region *a = export(t, shared, LEN, RW), *b = export(t, mine, 8, RW);
	struct sonde_region_copy copies[] = {
		{ .region = a, .addr = got[0], .len = 8 },
		{ .region = b, .addr = got[1], .len = 4 },
		{ .region = b, .offset = 4, .addr = (char[]){ "efgh" }, .len = 4,
		  .flags = SONDE_COPY_WRITE },
		{ .region = a, .offset = 8, .addr = got[2], .len = 8 },
	};

	ck_assert_int_eq(sonde_region_way(a), SONDE_TRANSFER_SHM);
	ck_assert_int_ne(sonde_region_way(b), SONDE_TRANSFER_SHM);
	ck_assert_uint_eq(sonde_copyv(t, copies, 4), 4);
	ck_assert_int_eq(memcmp(got[0], shared, 8) || memcmp(got[2], shared + 8, 8), 0);
	ck_assert_int_eq(memcmp(got[1], "1234", 4) || memcmp(mine, "1234efgh", 8), 0);
	sonde_region_close(a);
	sonde_region_close(b);
	sonde_transfer_close(t);
}
END_TEST

/* ---- edges -------------------------------------------------------------- */

START_TEST(refuses_what_is_no_range)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *region = NULL;
	char *end = (char *)UINTPTR_MAX;

	ck_assert_int_eq(sonde_region_export(t, p, 0, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export(t, p, LEN, 0, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export(t, p, LEN, 4, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export(t, p, SIZE_MAX, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export(t, end, 1, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export(t, end - 4095, 4096, RW, &region), -EINVAL);
	ck_assert_ptr_null(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(refuses_copies_that_leave_the_region)
{
	static const struct { uint64_t offset; size_t len; } edges[] = {
		{ LEN, 1 }, { LEN + 1, 0 }, { 0, LEN + 1 }, { 0, SIZE_MAX }, { 1, SIZE_MAX },
		{ UINT64_MAX, 0 }, { UINT64_MAX, 1 }, { UINT64_MAX, SIZE_MAX },
		{ UINT64_MAX - LEN + 1, LEN }, { (uint64_t)1 << 63, 1 },
	};
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN), buf[4];
	struct sonde_region *region = export(t, p, LEN, RW);
	void *map = NULL;

	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
		ck_assert_int_eq(sonde_region_read(region, edges[i].offset, buf, edges[i].len),
				 -EINVAL);
		ck_assert_int_eq(sonde_region_write(region, edges[i].offset, buf, edges[i].len),
				 -EINVAL);
		ck_assert_int_eq(sonde_region_map(region, edges[i].offset, edges[i].len, &map),
				 -EINVAL);
	}
	ck_assert_ptr_null(map);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(cma_does_not_export_what_is_not_mapped)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_CMA);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct sonde_region *region;
	char *p = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_int_eq(munmap(p + page, page), 0);
	ck_assert_int_eq(sonde_region_export(t, p, page + 1, RW, &region), -EFAULT);
	ck_assert_int_eq(sonde_region_export(t, p + page - 1, 1, SONDE_REGION_READ, &region), 0);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(cma_copies_up_to_where_memory_ends)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_CMA);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sonde_region *region = export(t, p, 2 * page, RW);
	char buf[200] = "";

	ck_assert_int_eq(munmap(p + page, page), 0);
	ck_assert_int_eq(sonde_region_read(region, page - 100, buf, 200), 100);
	ck_assert_int_eq(sonde_region_write(region, page - 100, buf, 200), 100);
	ck_assert_int_eq(sonde_region_read(region, page, buf, 1), -EFAULT);
	ck_assert_int_eq(sonde_region_read(region, 0, NULL, 1), -EFAULT);
	ck_assert_int_eq(sonde_region_write(region, page, buf, 1), -EFAULT);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(shared_memory_exports_only_what_has_a_memfd)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_SHM);
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *region = NULL;

	ck_assert_int_eq(sonde_region_export(t, &region, 1, RW, &region), -EOPNOTSUPP);
	ck_assert_int_eq(sonde_region_export(t, p, LEN + 1, RW, &region), -EOPNOTSUPP);
	ck_assert_int_eq(sonde_region_export(t, p - 1, 2, RW, &region), -EOPNOTSUPP);
	ck_assert_int_eq(sonde_region_export(t, p + LEN - 1, 2, RW, &region), -EOPNOTSUPP);
	ck_assert_ptr_null(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(there_is_no_further_way)
{
	struct sonde_transfer *t = NULL;

	ck_assert_int_eq(sonde_transfer_open(&t, (enum sonde_transfer_way)9), -EINVAL);
	ck_assert_ptr_null(t);
	ck_assert_str_eq(sonde_transfer_way_name((enum sonde_transfer_way)9), "unknown");
	sonde_transfer_close(NULL);
	sonde_region_close(NULL);
	sonde_region_unmap(NULL, 1);
}
END_TEST

/* ---- the end of a region ------------------------------------------------ */

static void find_stale(void *arg)
{
	const struct visit *v = arg;
	struct sonde_region *region = v->inherited;
	struct sonde_region_copy copies[2] = { { .len = 0 } };
	unsigned char got[2];

	copies[0] = (struct sonde_region_copy){ .region = region, .addr = got, .len = 1 };
	copies[1] = (struct sonde_region_copy){ .region = region, .addr = got + 1, .len = 1 };
	need(!sonde_region_is_valid(region));
	need(sonde_region_state(region) == -ESTALE);
	need(sonde_region_read(region, 0, got, 1) == -ESTALE);
	need(sonde_region_write(region, 0, got, 1) == -ESTALE);
	need(sonde_copyv(NULL, copies, 2) == 0);
	need(copies[0].result == -ESTALE && copies[1].result == -ESTALE);
	need(sonde_region_revoke(region) == -EPERM);
}

/* Imported before, in this process: the exporter's other self. */
static void check_revoked(enum sonde_transfer_way way, struct sonde_transfer *t,
			  struct sonde_region *imported)
{
	struct visit v = { way, sonde_region_fd(imported), NULL, imported };
	struct sonde_region *again = NULL;

	ck_assert_int_eq(in_child(find_stale, &v), 0);
	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(imported), &again), -ESTALE);
	ck_assert_ptr_null(again);
	sonde_region_close(imported);
	sonde_transfer_close(t);
}

START_TEST(what_is_revoked_is_stale_for_everybody)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	struct sonde_region *region = export(t, get_memory(t, LEN), LEN, RW), *imported;

	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &imported), 0);
	ck_assert_int_eq(sonde_region_revoke(imported), -EPERM);
	ck_assert(sonde_region_is_valid(imported));
	ck_assert_int_eq(sonde_region_revoke(region), 0);
	ck_assert_int_eq(sonde_region_revoke(region), 0);
	ck_assert_int_eq(sonde_region_state(region), -ESTALE);
	sonde_region_close(region);
	check_revoked(way_of(_i), t, imported);
}
END_TEST

START_TEST(what_the_owner_closes_is_stale)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	struct sonde_region *region = export(t, get_memory(t, LEN), LEN, RW), *imported;

	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &imported), 0);
	sonde_region_close(region);
	check_revoked(way_of(_i), t, imported);
}
END_TEST

START_TEST(what_the_owner_frees_is_stale)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN), *other = get_memory(t, LEN);
	struct sonde_region *region = export(t, p, LEN, RW), *stays = export(t, other, LEN, RW);
	struct sonde_region *imported;

	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &imported), 0);
	sonde_transfer_free(t, p);
	sonde_transfer_free(t, NULL);
	ck_assert(!sonde_region_is_valid(region) && sonde_region_is_valid(stays));
	sonde_region_close(region);
	sonde_region_close(stays);
	check_revoked(way_of(_i), t, imported);
}
END_TEST

START_TEST(withdrawing_takes_what_overlaps_and_no_more)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *regions[4];

	for (size_t i = 0; i < 4; i++)
		regions[i] = export(t, p + 1000 * i, 1000, RW);
	sonde_transfer_withdraw(t, p + 1999, 2);
	ck_assert(sonde_region_is_valid(regions[0]) && !sonde_region_is_valid(regions[1]) &&
		  !sonde_region_is_valid(regions[2]) && sonde_region_is_valid(regions[3]));
	sonde_transfer_withdraw(t, p, 0);
	ck_assert(sonde_region_is_valid(regions[0]));
	sonde_transfer_withdraw(t, p - 5, 6);
	sonde_transfer_withdraw(t, p + 3000, SIZE_MAX - (uintptr_t)p - 3000);
	ck_assert(!sonde_region_is_valid(regions[0]) && !sonde_region_is_valid(regions[3]));
	for (size_t i = 0; i < 4; i++)
		sonde_region_close(regions[i]);
	sonde_transfer_close(t);
}
END_TEST

static void close_inherited(void *arg)
{
	sonde_region_close(((const struct visit *)arg)->inherited);
}

START_TEST(a_child_that_closes_what_it_inherited_revokes_nothing)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	struct sonde_region *region = export(t, get_memory(t, LEN), LEN, RW);
	struct visit v = { way_of(_i), sonde_region_fd(region), NULL, region };
	unsigned char got;

	ck_assert_int_eq(in_child(close_inherited, &v), 0);
	ck_assert(sonde_region_is_valid(region));
	ck_assert_int_eq(sonde_region_read(region, 0, &got, 1), 1);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

/* An owner that hands over a region and then does what is sent to it. */
struct owner {
	enum sonde_transfer_way way;
	int sock;
};

static void own(const struct owner *o)
{
	struct sonde_transfer *t = NULL;
	struct sonde_region *region = NULL;
	char order, **no_environment = (char *[]){ NULL };
	void *p = NULL;

	need(!sonde_transfer_open(&t, o->way) && !sonde_transfer_alloc(t, LEN, &p));
	need(!sonde_region_export(t, p, LEN, RW, &region));
	need(!sonde_region_send(region, o->sock));
	need(recv(o->sock, &order, 1, 0) == 1);
	/* cat lives as long as its standard input, this socket, has another end. */
	if (order == 'x') {
		need(dup2(o->sock, 0) == 0);
		execle("/bin/cat", "cat", (char *)NULL, no_environment);
	}
	_exit(order == 'q' ? 0 : 1);
}

static pid_t start_owner(enum sonde_transfer_way way, int *sock)
{
	int socks[2];
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks), 0);
	pid = fork();
	if (!pid) {
		struct owner o = { way, socks[1] };

		close(socks[0]);
		own(&o);
	}
	ck_assert_int_gt(pid, 0);
	close(socks[1]);
	*sock = socks[0];
	return pid;
}

static struct sonde_region *receive(struct sonde_transfer *t, int sock)
{
	struct sonde_region *region = NULL;

	ck_assert_int_eq(sonde_region_receive(t, sock, &region), 0);
	return region;
}

START_TEST(the_owners_end_is_told)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	struct sonde_region *region, *again;
	int sock, status;
	pid_t pid = start_owner(way_of(_i), &sock);
	char got;

	region = receive(t, sock);
	ck_assert_int_eq(sonde_region_state(region), 0);
	ck_assert_int_eq(send(sock, "q", 1, MSG_NOSIGNAL), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(sonde_region_state(region), -EOWNERDEAD);
	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &again), -EOWNERDEAD);
	/* Memory that is shared lives on. */
	ck_assert_int_eq(sonde_region_read(region, 0, &got, 1),
			 _i == SONDE_TRANSFER_SHM ? 1 : -EOWNERDEAD);
	sonde_region_close(region);
	sonde_transfer_close(t);
	close(sock);
}
END_TEST

/* Closed by exec: then what the region was of is gone. */
static int is_other_program(pid_t pid)
{
	char path[32], name[16] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	if (!fgets(name, sizeof(name), file))
		name[0] = '\0';
	fclose(file);
	return !strcmp(name, "cat\n");
}

START_TEST(an_owner_that_became_another_program_is_not_copied_from)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	struct sonde_region *region;
	const int expected = _i == SONDE_TRANSFER_SHM ? -EOWNERDEAD : -ESTALE;
	int sock, status;
	pid_t pid = start_owner(way_of(_i), &sock);
	char got = 0;

	region = receive(t, sock);
	ck_assert_int_eq(send(sock, "x", 1, MSG_NOSIGNAL), 1);
	while (!is_other_program(pid))
		usleep(1000);
	/* The kernel closes files a little later. */
	while (_i == SONDE_TRANSFER_SHM && !sonde_region_state(region))
		usleep(1000);
	ck_assert_int_eq(sonde_region_state(region), expected);
	if (_i == SONDE_TRANSFER_CMA) {
		ck_assert_int_eq(sonde_region_read(region, 0, &got, 1), -ESTALE);
		ck_assert_int_eq(sonde_region_write(region, 0, &got, 1), -ESTALE);
	}
	close(sock);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

/* ---- rights, maps, descriptors ------------------------------------------ */

START_TEST(maps_what_it_may_and_no_more)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_SHM);
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *region = export(t, p + 5, LEN - 5, RW), *imported;
	void *map;

	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &imported), 0);
	ck_assert_int_eq(sonde_region_map(imported, 4095, 100, &map), 0);
	ck_assert_int_eq(memcmp(map, p + 5 + 4095, 100), 0);
	((unsigned char *)map)[99] = 200;
	ck_assert_uint_eq(p[5 + 4095 + 99], 200);
	sonde_region_revoke(region);
	/* What is mapped stays. */
	ck_assert_uint_eq(((unsigned char *)map)[99], 200);
	sonde_region_unmap(map, 100);
	ck_assert_int_eq(sonde_region_map(imported, 0, 1, &map), -ESTALE);
	sonde_region_close(imported);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

#define CAUGHT	42

static void catch(int sig)
{
	(void)sig;
	_exit(CAUGHT);
}

static void write_to_map(void *arg)
{
	const struct visit *v = arg;
	struct sonde_transfer *t;
	struct sonde_region *region = import(v, &t);
	void *map;

	need(!sonde_region_map(region, 0, LEN, &map));
	need(!memcmp(map, v->expected, LEN));
	need(signal(SIGSEGV, catch) != SIG_ERR);
	((volatile unsigned char *)map)[0] = 1;
}

START_TEST(a_map_of_what_may_only_be_read_cannot_be_written)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_SHM);
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_READ);
	struct visit v = { SONDE_TRANSFER_SHM, sonde_region_fd(region), p, region };
	int status = in_child(write_to_map, &v);

	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), CAUGHT);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

START_TEST(cma_cannot_map)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_CMA);
	struct sonde_region *region = export(t, get_memory(t, LEN), LEN, RW);
	void *map;

	ck_assert_int_eq(sonde_region_map(region, 0, LEN, &map), -EOPNOTSUPP);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

static void visit_as_nobody(void *arg)
{
	const struct visit *v = arg;
	struct sonde_transfer *t;
	struct sonde_region *region = NULL;
	unsigned char got[LEN];
	int err;

	need(!setgid(NOBODY) && !setuid(NOBODY));
	need(!sonde_transfer_open(&t, v->way));
	err = sonde_region_import(t, v->fd, &region);
	if (v->way == SONDE_TRANSFER_CMA) {
		need(err == -EPERM);
		return;
	}
	need(!err);
	need(sonde_region_read(region, 0, got, LEN) == LEN && !memcmp(got, v->expected, LEN));
	need(sonde_region_write(region, 0, got, 1) == -EACCES);
}

START_TEST(another_user_gets_shared_memory_by_its_handle_and_nothing_by_cma)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	unsigned char *p = get_memory(t, LEN);
	struct sonde_region *region = export(t, p, LEN, SONDE_REGION_READ);
	struct visit v = { way_of(_i), sonde_region_fd(region), p, region };

	ck_assert_int_eq(in_child(visit_as_nobody, &v), 0);
	sonde_region_close(region);
	sonde_transfer_close(t);
}
END_TEST

static int make_memfd(size_t len, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, (off_t)len), 0);
	ck_assert_int_eq(pwrite(fd, "memfd", 5, 4090), 5);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

START_TEST(exports_a_range_of_a_memfd)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	int fd = make_memfd(8192, F_SEAL_SHRINK);
	struct sonde_region *region, *imported;
	char got[5];

	ck_assert_int_eq(sonde_region_export_fd(t, fd, 4090, 5, RW, &region), 0);
	ck_assert_int_eq(sonde_region_import(t, sonde_region_fd(region), &imported), 0);
	ck_assert_int_eq(sonde_region_read(imported, 0, got, 5), 5);
	ck_assert_int_eq(memcmp(got, "memfd", 5), 0);
	ck_assert_int_eq(sonde_region_write(imported, 1, "X", 1), 1);
	ck_assert_int_eq(pread(fd, got, 5, 4090), 5);
	ck_assert_int_eq(memcmp(got, "mXmfd", 5), 0);
	ck_assert_int_eq(sonde_region_read(imported, 0, got, 6), -EINVAL);
	sonde_region_close(imported);
	sonde_region_close(region);
	sonde_transfer_close(t);
	close(fd);
}
END_TEST

START_TEST(refuses_a_memfd_that_is_not_safe_or_not_so_large)
{
	struct sonde_transfer *t = open_way(way_of(_i));
	int fd = make_memfd(8192, F_SEAL_SHRINK), loose = make_memfd(8192, F_SEAL_GROW);
	int sealed = make_memfd(8192, F_SEAL_SHRINK | F_SEAL_WRITE), pipes[2];
	struct sonde_region *region = NULL;

	ck_assert_int_eq(pipe(pipes), 0);
	ck_assert_int_eq(sonde_region_export_fd(t, loose, 0, 1, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, pipes[0], 0, 1, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, -1, 0, 1, RW, &region), -EBADF);
	ck_assert_int_eq(sonde_region_export_fd(t, fd, 8192, 1, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, fd, 8191, 2, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, fd, UINT64_MAX, 1, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, fd, INT64_MAX, 1, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, fd, 0, 0, RW, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, fd, 0, 1, 8, &region), -EINVAL);
	ck_assert_int_eq(sonde_region_export_fd(t, sealed, 0, 1, RW, &region), -EACCES);
	ck_assert_ptr_null(region);
	ck_assert_int_eq(sonde_region_export_fd(t, sealed, 0, 1, SONDE_REGION_READ, &region), 0);
	sonde_region_close(region);
	sonde_transfer_close(t);
	close(fd);
	close(loose);
	close(sealed);
	close(pipes[0]);
	close(pipes[1]);
}
END_TEST

START_TEST(says_why_and_what_to_do)
{
	struct sonde_transfer *t = open_way(SONDE_TRANSFER_SHM);
	char why[512];

	ck_assert_ptr_nonnull(sonde_transfer_why(t));
	ck_assert_int_eq(sonde_transfer_way(t), SONDE_TRANSFER_SHM);
	ck_assert_ptr_nonnull(strstr(sonde_region_explain(-EPERM, why, sizeof(why)), "ptrace"));
	ck_assert_ptr_nonnull(strstr(sonde_region_explain(-EMFILE, why, sizeof(why)),
				     "open files"));
	sonde_transfer_close(t);
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("region");
	TCase *ways = tcase_create("each way"), *one = tcase_create("one way");

	add_for_ways(ways, another_process_reads_what_the_owner_has);
	add_for_ways(ways, what_another_process_writes_the_owner_has);
	add_for_ways(ways, each_element_of_a_batch_has_its_own_result);
	add_for_ways(ways, refuses_what_is_no_range);
	add_for_ways(ways, refuses_copies_that_leave_the_region);
	add_for_ways(ways, what_is_revoked_is_stale_for_everybody);
	add_for_ways(ways, what_the_owner_closes_is_stale);
	add_for_ways(ways, what_the_owner_frees_is_stale);
	add_for_ways(ways, withdrawing_takes_what_overlaps_and_no_more);
	add_for_ways(ways, a_child_that_closes_what_it_inherited_revokes_nothing);
	add_for_ways(ways, the_owners_end_is_told);
	add_for_ways(ways, an_owner_that_became_another_program_is_not_copied_from);
	add_for_ways(ways, exports_a_range_of_a_memfd);
	add_for_ways(ways, refuses_a_memfd_that_is_not_safe_or_not_so_large);
	if (geteuid())
		tap_left_out("only root can become another user");
	else
		add_for_ways(ways,
			     another_user_gets_shared_memory_by_its_handle_and_nothing_by_cma);
	tcase_add_test(one, shared_memory_exports_only_what_has_a_memfd);
	tcase_add_test(one, maps_what_it_may_and_no_more);
	tcase_add_test(one, a_map_of_what_may_only_be_read_cannot_be_written);
	tcase_add_test(one, there_is_no_further_way);
	tcase_add_test(one, says_why_and_what_to_do);
	if (has_cma()) {
		tcase_add_test(one, one_batch_goes_by_several_ways_in_both_directions);
		tcase_add_test(one, cma_does_not_export_what_is_not_mapped);
		tcase_add_test(one, cma_copies_up_to_where_memory_ends);
		tcase_add_test(one, cma_cannot_map);
	} else {
		tap_left_out("this kernel lets no process read another's memory");
	}
	suite_add_tcase(suite, ways);
	suite_add_tcase(suite, one);
	return suite;
}

int main(void)
{
	return tap_run(make_suite());
}
