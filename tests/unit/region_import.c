// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Handles from anybody: what is none is refused, and what lies is not believed.
 */
#include <signal.h>
#include <stdint.h>

#include "../../lib/region_page.h"
#include "regions.h"

#define LEN	4096
#define MESSAGE	"sonde-region"

static struct sonde_transfer *t;

static void open_transfer(void)
{
	t = open_way(SONDE_TRANSFER_AUTO);
}

static void close_transfer(void)
{
	sonde_transfer_close(t);
}

static int import_fd(int fd)
{
	struct sonde_region *region = NULL;
	int err = sonde_region_import(t, fd, &region);

	if (err)
		ck_assert_ptr_null(region);
	sonde_region_close(region);
	return err;
}

static unsigned int count_fds(void)
{
	unsigned int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* ---- what is no handle -------------------------------------------------- */

START_TEST(refuses_descriptors_of_other_things)
{
	int fds[] = {
		open("/dev/null", O_RDWR | O_CLOEXEC), open("/etc/passwd", O_RDONLY | O_CLOEXEC),
		open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), memfd_create("x", MFD_CLOEXEC),
		memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING),
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0),
		socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), open("/", O_PATH | O_CLOEXEC),
	};
	const unsigned int before = count_fds();

	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		ck_assert_int_ge(fds[i], 0);
		ck_assert_int_eq(import_fd(fds[i]), -EBADF);
		close(fds[i]);
	}
	ck_assert_int_eq(import_fd(-1), -EBADF);
	ck_assert_int_eq(import_fd(1000000), -EBADF);
	ck_assert_uint_eq(count_fds(), before - sizeof(fds) / sizeof(fds[0]));
}
END_TEST

/* A socket with one message in it. */
static int send_message(const char *text, size_t len, const int *fds, size_t n)
{
	union {
		char bytes[CMSG_SPACE(16 * sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec iov = { (char *)(uintptr_t)text, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	if (n) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, n * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(ends[1], &msg, 0), (ssize_t)len);
	close(ends[1]);
	return ends[0];
}

START_TEST(refuses_sockets_with_other_messages)
{
	const int three[] = { 0, 1, 2 };
	const struct { const char *text; size_t len, nfds; } messages[] = {
		{ MESSAGE, sizeof(MESSAGE), 0 }, { MESSAGE, sizeof(MESSAGE), 1 },
		{ MESSAGE, sizeof(MESSAGE), 2 }, { MESSAGE, sizeof(MESSAGE), 3 },
		{ "sonde-regioN", sizeof(MESSAGE), 2 }, { "x", 1, 2 }, { "", 0, 2 },
		{ MESSAGE "and more", 20, 2 },
	};
	const unsigned int before = count_fds();

	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		int fd = send_message(messages[i].text, messages[i].len, three,
				      messages[i].nfds);
		int err = import_fd(fd);

		/* One descriptor too many is as if there were none to be had. */
		ck_assert(err == -EBADF || (messages[i].nfds == 3 && err == -EMFILE));
		close(fd);
	}
	ck_assert_uint_eq(count_fds(), before);
}
END_TEST

/* ---- what lies ---------------------------------------------------------- */

/* A page as its maker could write it. */
static int forge(const struct region_page *said, void (*change)(struct region_page *))
{
	struct region_page *page;
	int fd, err;

	ck_assert_int_eq(region_page_make(said, &fd, &page), 0);
	if (change)
		change(page);
	err = import_fd(fd);
	region_page_close(page);
	close(fd);
	return err;
}

static unsigned char memory[LEN];

static struct region_page honest(void)
{
	return (struct region_page){
		.way = SONDE_TRANSFER_CMA, .begin = (uintptr_t)memory, .len = LEN,
		.rights = RW,
	};
}

static void change_magic(struct region_page *page) { page->magic++; }
static void change_version(struct region_page *page) { page->version++; }
static void change_way(struct region_page *page) { page->way = 77; }
static void change_len(struct region_page *page) { page->len = 0; }
static void change_len_more(struct region_page *page) { page->len = UINT64_MAX; }
static void change_begin(struct region_page *page) { page->begin = UINT64_MAX - LEN + 1; }
static void change_rights(struct region_page *page) { page->rights = 0; }
static void change_rights_more(struct region_page *page) { page->rights = 8; }
static void change_pid(struct region_page *page) { page->pid = -1; }
static void change_pid_gone(struct region_page *page) { page->pid = 0x3fffffff; }
static void change_namespace(struct region_page *page) { page->namespace++; }
static void change_nonce(struct region_page *page) { page->seal_addr = (uintptr_t)memory; }
static void change_seal(struct region_page *page) { page->seal_addr = 4096; }
static void change_seal_more(struct region_page *page) { page->seal_addr = UINT64_MAX; }

START_TEST(believes_no_page_that_lies)
{
	static const struct { void (*change)(struct region_page *); int err; } lies[] = {
		{ NULL, 0 }, { change_magic, -EBADF }, { change_version, -EPROTO },
		{ change_way, -EBADF }, { change_len, -EBADF }, { change_len_more, -EBADF },
		{ change_begin, -EBADF }, { change_rights, -EBADF },
		{ change_rights_more, -EBADF }, { change_pid, -EBADF },
		{ change_pid_gone, -EOWNERDEAD }, { change_namespace, -EXDEV },
		{ change_nonce, -ESTALE }, { change_seal, -ESTALE },
		{ change_seal_more, -ESTALE },
	};
	const struct region_page said = honest();
	const unsigned int before = count_fds();

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		ck_assert_msg(forge(&said, lies[i].change) == lies[i].err, "lie %zu: %d", i,
			      forge(&said, lies[i].change));
	ck_assert_uint_eq(count_fds(), before);
}
END_TEST

START_TEST(believes_no_page_that_others_could_change)
{
	const struct region_page said = honest();
	struct region_page *page;
	char copy[4096];
	int fd, open_fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_eq(region_page_make(&said, &fd, &page), 0);
	ck_assert_int_eq(pread(fd, copy, sizeof(copy), 0), sizeof(copy));
	ck_assert_int_eq(pwrite(open_fd, copy, sizeof(copy), 0), sizeof(copy));
	ck_assert_int_eq(import_fd(open_fd), -EBADF);
	ck_assert_int_eq(fcntl(open_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	ck_assert_int_eq(import_fd(open_fd), -EBADF);
	/* Its maker's own is sealed even against who holds the descriptor. */
	ck_assert_int_eq(pwrite(fd, copy, sizeof(copy), 0), -1);
	ck_assert_int_eq(ftruncate(fd, 0), -1);
	ck_assert_ptr_eq(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	region_page_close(page);
	close(fd);
	close(open_fd);
}
END_TEST

static pid_t other;

static void name_other(struct region_page *page)
{
	page->pid = other;
}

START_TEST(is_not_led_into_a_process_that_exported_nothing)
{
	const struct region_page said = honest();

	other = fork();
	if (!other) {
		pause();
		_exit(0);
	}
	ck_assert_int_eq(forge(&said, name_other), -ESTALE);
	kill(other, SIGKILL);
	ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

/* What a liar could put into the socket of shared memory. */
static int forge_shared(size_t size, int seals, int flags, uint64_t begin, uint64_t len)
{
	const struct region_page said = {
		.way = SONDE_TRANSFER_SHM, .begin = begin, .len = len, .rights = RW,
	};
	struct region_page *page;
	char path[40];
	int fds[2], fd, handle, err;

	fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(fd, (off_t)size), 0);
	ck_assert_int_eq(fcntl(fd, F_ADD_SEALS, seals), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fds[1] = open(path, flags | O_CLOEXEC);
	ck_assert_int_eq(region_page_make(&said, &fds[0], &page), 0);
	handle = send_message(MESSAGE, sizeof(MESSAGE), fds, 2);
	err = import_fd(handle);
	region_page_close(page);
	close(handle);
	close(fds[0]);
	close(fds[1]);
	close(fd);
	return err;
}

START_TEST(maps_no_memory_that_could_vanish_or_is_not_there)
{
	const unsigned int before = count_fds();

	/* Only the exporter's end is missing: what was sent is sound. */
	ck_assert_int_eq(forge_shared(8192, F_SEAL_SHRINK, O_RDWR, 0, 8192), -EOWNERDEAD);
	ck_assert_int_eq(forge_shared(8192, F_SEAL_GROW, O_RDWR, 0, 8192), -EBADF);
	ck_assert_int_eq(forge_shared(8192, F_SEAL_SHRINK, O_RDWR, 0, 8193), -EBADF);
	ck_assert_int_eq(forge_shared(8192, F_SEAL_SHRINK, O_RDWR, 1, 8192), -EBADF);
	ck_assert_int_eq(forge_shared(8192, F_SEAL_SHRINK, O_RDWR, 8192, 1), -EBADF);
	ck_assert_int_eq(forge_shared(8192, F_SEAL_SHRINK, O_RDWR, UINT64_MAX - 1, 1), -EBADF);
	ck_assert_int_eq(forge_shared(8192, F_SEAL_SHRINK, O_RDONLY, 0, 8192), -EBADF);
	ck_assert_uint_eq(count_fds(), before);
}
END_TEST

/* ---- sockets ------------------------------------------------------------ */

START_TEST(a_handle_can_be_sent_and_imported_again_and_again)
{
	for (int way = has_cma() ? SONDE_TRANSFER_CMA : SONDE_TRANSFER_SHM;
	     way <= SONDE_TRANSFER_SHM; way++) {
		struct sonde_transfer *own = open_way((enum sonde_transfer_way)way);
		struct sonde_region *regions[8];
		unsigned char *p = get_memory(own, LEN), got;
		int socks[2];

		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks), 0);
		regions[0] = export(own, p, LEN, RW);
		/* Each is sent by who received it from the one before. */
		for (size_t i = 1; i < 8; i++) {
			ck_assert_int_eq(sonde_region_send(regions[i - 1], socks[0]), 0);
			ck_assert_int_eq(sonde_region_receive(t, socks[1], &regions[i]), 0);
			ck_assert_int_eq(sonde_region_read(regions[i], i, &got, 1), 1);
			ck_assert_uint_eq(got, p[i]);
		}
		for (size_t i = 8; i-- > 0;)
			sonde_region_close(regions[i]);
		sonde_transfer_close(own);
		close(socks[0]);
		close(socks[1]);
	}
}
END_TEST

START_TEST(what_has_no_handle_is_no_region)
{
	struct sonde_region *region = NULL;
	const unsigned int before = count_fds();
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC), sock;

	sock = send_message("R", 1, NULL, 0);
	ck_assert_int_eq(sonde_region_receive(t, sock, &region), -ENOMSG);
	ck_assert_int_eq(sonde_region_receive(t, sock, &region), -ECONNRESET);
	close(sock);
	sock = send_message("R", 1, &fd, 1);
	ck_assert_int_eq(sonde_region_receive(t, sock, &region), -EBADF);
	close(sock);
	ck_assert_int_eq(sonde_region_receive(t, fd, &region), -ENOTSOCK);
	close(fd);
	ck_assert_ptr_null(region);
	ck_assert_uint_eq(count_fds(), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("region_import");
	TCase *tc = tcase_create("import");

	tcase_add_checked_fixture(tc, open_transfer, close_transfer);
	tcase_add_test(tc, refuses_descriptors_of_other_things);
	tcase_add_test(tc, refuses_sockets_with_other_messages);
	tcase_add_test(tc, maps_no_memory_that_could_vanish_or_is_not_there);
	tcase_add_test(tc, believes_no_page_that_others_could_change);
	tcase_add_test(tc, a_handle_can_be_sent_and_imported_again_and_again);
	tcase_add_test(tc, what_has_no_handle_is_no_region);
	if (has_cma()) {
		tcase_add_test(tc, believes_no_page_that_lies);
		tcase_add_test(tc, is_not_led_into_a_process_that_exported_nothing);
	} else {
		tap_left_out("this kernel lets no process read another's memory");
	}
	suite_add_tcase(suite, tc);
	return tap_run(suite);
}
