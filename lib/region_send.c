// SPDX-License-Identifier: LGPL-2.1-or-later
/* region_send - a handle over a socket, with one byte that carries it */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "region.h"

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int sonde_region_send(const struct sonde_region *region, int sock)
{
	char byte = 'R';
	struct iovec iov = { &byte, 1 };
	union control control = { .bytes = { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	ssize_t n;

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &region->fd, sizeof(int));
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n == 1 ? 0 : -errno;
}

/* The descriptor that came with a byte, or a negative error. */
static int receive_fd(int sock)
{
	char byte;
	struct iovec iov = { &byte, 1 };
	union control control = { .bytes = { 0 } };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	ssize_t n;
	int fd;

	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return n ? -errno : -ECONNRESET;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (!cmsg || cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS ||
	    cmsg->cmsg_len < CMSG_LEN(sizeof(int)))
		return msg.msg_flags & MSG_CTRUNC ? -EMFILE : -ENOMSG;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	return fd;
}

int sonde_region_receive(struct sonde_transfer *t, int sock, struct sonde_region **region)
{
	int err, fd = receive_fd(sock);

	if (fd < 0)
		return fd;
	err = sonde_region_import(t, fd, region);
	close(fd);
	return err;
}
