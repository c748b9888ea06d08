// SPDX-License-Identifier: LGPL-2.1-or-later
/* See share.h. Whoever's queue is full empties it, as everybody sends and receives by turns. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "share.h"

#define PATIENCE_S	10

struct parcel {
	uint64_t nonce[2];
	uint32_t from, unused;
};

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static socklen_t get_address(const uint64_t nonce[2], uint32_t number, struct sockaddr_un *address)
{
	int n;

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	n = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1,
		     "sonde-dsm-%016llx%016llx-%u", (unsigned long long)nonce[0],
		     (unsigned long long)nonce[1], number);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int dsm_share_open(const uint64_t nonce[2], uint32_t self)
{
	struct sockaddr_un address;
	const socklen_t len = get_address(nonce, self, &address);
	int sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (sock < 0)
		return -errno;
	if (bind(sock, (struct sockaddr *)&address, len)) {
		int err = -errno;

		close(sock);
		return err;
	}
	return sock;
}

/* 0, -EAGAIN, or another error. */
static int send_to(int sock, uint32_t to, const struct parcel *parcel, int fd)
{
	struct sockaddr_un address;
	union control control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)parcel, sizeof(*parcel) };
	struct msghdr msg = {
		.msg_name = &address, .msg_namelen = get_address(parcel->nonce, to, &address),
		.msg_iov = &iov, .msg_iovlen = 1,
	};
	struct cmsghdr *cmsg;

	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	if (sendmsg(sock, &msg, MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == ENOBUFS || errno == EINTR ? -EAGAIN : -errno;
}

/* 0 and a parcel, *@fd what came with it or -1; -EAGAIN if there is none. */
static int receive(int sock, struct parcel *parcel, int *fd)
{
	union control control = { .bytes = { 0 } };
	struct iovec iov = { parcel, sizeof(*parcel) };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);

	*fd = -1;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(cmsg), sizeof(*fd));
	if (msg.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (n != sizeof(*parcel))
		parcel->from = UINT32_MAX;
	return 0;
}

/* What @from has: whether that is new, and from one of us. */
static bool take_in(const struct parcel *parcel, const uint64_t nonce[2], uint32_t n, int fd,
		    bool *heard, int *fds)
{
	if (parcel->from >= n || heard[parcel->from] ||
	    memcmp(parcel->nonce, nonce, sizeof(parcel->nonce))) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	heard[parcel->from] = true;
	fds[parcel->from] = fd;
	return true;
}

static int exchange(int sock, const struct parcel *mine, uint32_t n, int fd, bool *heard, int *fds)
{
	struct pollfd poller = { .fd = sock, .events = POLLIN };
	uint32_t sent = 1, got = 1;
	time_t deadline = time(NULL) + PATIENCE_S;

	while (sent < n || got < n) {
		struct parcel parcel = { .from = UINT32_MAX };
		int err = sent < n ? send_to(sock, (mine->from + sent) % n, mine, fd) : -EAGAIN;
		int its;

		if (!err)
			sent++;
		else if (err != -EAGAIN)
			return err;
		err = receive(sock, &parcel, &its);
		if (!err)
			got += take_in(&parcel, mine->nonce, n, its, heard, fds);
		else if (err != -EAGAIN)
			return err;
		else if (time(NULL) > deadline)
			return -ETIMEDOUT;
		else
			poll(&poller, 1, 1);
	}
	return 0;
}

int dsm_share(int sock, const uint64_t nonce[2], uint32_t self, uint32_t n, int fd, int *fds)
{
	const struct parcel mine = {
		.nonce = { nonce[0], nonce[1] }, .from = self,
	};
	bool *heard = calloc(n, sizeof(*heard));
	int err;

	for (uint32_t i = 0; i < n; i++)
		fds[i] = -1;
	if (!heard)
		return -ENOMEM;
	heard[self] = true;
	err = exchange(sock, &mine, n, fd, heard, fds);
	free(heard);
	for (uint32_t i = 0; err && i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
	return err;
}
