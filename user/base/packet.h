/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets between processes of leakmon, each with at most one descriptor (unix(7), SCM_RIGHTS). */
#ifndef LEAKMON_BASE_PACKET_H
#define LEAKMON_BASE_PACKET_H

#include <stddef.h>

/* `flags` as sendmsg(2) has them; fd: -1 for none. 0 or -errno. */
int packet_send(int socket, const void *packet, size_t size, int fd, int flags);

/* A packet of exactly that size; *fd: the descriptor in it, or -1. `flags` as recvmsg(2) has them.
 * 0; -EAGAIN: there is none, or a signal came; -EPIPE: the other side is gone, or not itself. */
int packet_receive(int socket, void *packet, size_t size, int *fd, int flags);

#endif
