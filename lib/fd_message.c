// SPDX-License-Identifier: LGPL-2.1-or-later
/* fd_message - see fd_message.h */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fd_message.h"

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

/* Return: how much of it is used. */
static socklen_t get_address(const char *name, struct sockaddr_un *address)
{
	const size_t len = strnlen(name, sizeof(address->sun_path) - 2);

	memset(address, 0, sizeof(*address));
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path + 1, name, len);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len);
}

int fd_message_open(const char *name)
{
	struct sockaddr_un address;
	const socklen_t len = get_address(name, &address);
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

int fd_message_send(int sock, const char *to, const void *data, size_t len, int fd)
{
	struct sockaddr_un address;
	union control control = { .bytes = { 0 } };
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *cmsg;

	if (to) {
		msg.msg_name = &address;
		msg.msg_namelen = get_address(to, &address);
	}
	if (fd >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

ssize_t fd_message_receive(int sock, void *data, size_t len, int *fd)
{
	union control control = { .bytes = { 0 } };
	struct iovec iov = { data, len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	const ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	const struct cmsghdr *cmsg;

	*fd = -1;
	if (n < 0)
		return -errno;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS &&
	    cmsg->cmsg_len >= CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(cmsg), sizeof(*fd));
	return *fd < 0 && msg.msg_flags & MSG_CTRUNC ? -EMFILE : n;
}
