/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fd_message - some bytes and a descriptor over a socket: unix(7), SCM_RIGHTS
 *
 * Private to the libraries; each that needs it has it linked in.
 */
#ifndef SONDE_LIB_FD_MESSAGE_H
#define SONDE_LIB_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * fd_message_open() - a socket that others of this machine can send to by its name
 * @name: up to 106 bytes; abstract: of no file system, gone with the socket. Anybody may
 *	send to it, so what comes has to prove itself.
 *
 * Return: a datagram socket that does not block, or -errno: EADDRINUSE for one.
 */
int fd_message_open(const char *name);

/**
 * fd_message_send() - send once
 * @sock: any Unix socket
 * @to: the name of another; NULL: it is connected
 * @data: @len bytes, one at least
 * @fd: goes with them; -1: none does
 *
 * Return: 0, or -errno: EAGAIN, ENOBUFS and EINTR may pass.
 */
int fd_message_send(int sock, const char *to, const void *data, size_t len, int fd);

/**
 * fd_message_receive() - receive once
 * @sock: any Unix socket
 * @data: room for @len bytes
 * @fd: what came with them, close-on-exec and the caller's, or -1
 *
 * Return: how many bytes, or -errno; EMFILE if a descriptor came that this process has no
 * room for.
 */
ssize_t fd_message_receive(int sock, void *data, size_t len, int *fd);

#endif
