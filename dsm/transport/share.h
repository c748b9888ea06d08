/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Descriptors between processes of a node, over sockets with abstract names: of no file
 * system, gone with the socket. Anybody may send to such a name, so what does not
 * know the nonce, which only these processes do, is thrown away.
 */
#ifndef SONDE_DSM_SHARE_H
#define SONDE_DSM_SHARE_H

#include <stdint.h>

/* A socket for number @self, or -errno. All must have theirs before anybody exchanges. */
int dsm_share_open(const uint64_t nonce[2], uint32_t self);

/*
 * All @n at once, each with @fd, or -1 where it has none: fds[i] is then what number i
 * has, the caller's to close, or -1; so is fds[self]. 0, or -errno, and then no entry is open:
 * -ETIMEDOUT if somebody has said nothing for 10 seconds.
 */
int dsm_share(int sock, const uint64_t nonce[2], uint32_t self, uint32_t n, int fd, int *fds);

#endif
