// SPDX-License-Identifier: LGPL-2.1-or-later
/* See share.h. Whoever's queue is full empties it, as everybody sends and receives by turns. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/fd_message.h"
#include "share.h"

#define PATIENCE_S	10
#define SOCKET_NAME	64

struct parcel {
	uint64_t nonce[2];
	uint32_t from, unused;
};

/* Of the socket of a process. */
static const char *get_name(const uint64_t nonce[2], uint32_t number, char name[SOCKET_NAME])
{
	snprintf(name, SOCKET_NAME, "sonde-dsm-%016llx%016llx-%u", (unsigned long long)nonce[0],
		 (unsigned long long)nonce[1], number);
	return name;
}

int dsm_share_open(const uint64_t nonce[2], uint32_t self)
{
	char name[SOCKET_NAME];

	return fd_message_open(get_name(nonce, self, name));
}

/* 0, -EAGAIN, or another error. */
static int send_to(int sock, uint32_t to, const struct parcel *parcel, int fd)
{
	char name[SOCKET_NAME];
	int err = fd_message_send(sock, get_name(parcel->nonce, to, name), parcel,
				  sizeof(*parcel), fd);

	return err == -ENOBUFS || err == -EINTR ? -EAGAIN : err;
}

/* 0 and a parcel, *@fd what came with it or -1; -EAGAIN if there is none. */
static int receive(int sock, struct parcel *parcel, int *fd)
{
	const ssize_t n = fd_message_receive(sock, parcel, sizeof(*parcel), fd);

	if (n < 0)
		return n == -EINTR ? -EAGAIN : (int)n;
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
