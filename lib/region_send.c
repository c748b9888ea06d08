// SPDX-License-Identifier: LGPL-2.1-or-later
/* region_send - a handle over a socket, with one byte that carries it */
#include <errno.h>
#include <unistd.h>

#include "fd_message.h"
#include "region.h"

int sonde_region_send(const struct sonde_region *region, int sock)
{
	const char byte = 'R';
	int err;

	do {
		err = fd_message_send(sock, NULL, &byte, 1, region->fd);
	} while (err == -EINTR);
	return err;
}

/* The descriptor that came with a byte, or a negative error. */
static int receive_fd(int sock)
{
	char byte;
	ssize_t n;
	int fd;

	do {
		n = fd_message_receive(sock, &byte, 1, &fd);
	} while (n == -EINTR);
	if (n <= 0)
		return n ? (int)n : -ECONNRESET;
	return fd < 0 ? -ENOMSG : fd;
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
