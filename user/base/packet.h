/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets between processes of leakmon, each with at most one descriptor (unix(7), SCM_RIGHTS). */
#ifndef LEAKMON_BASE_PACKET_H
#define LEAKMON_BASE_PACKET_H

#include <stddef.h>

/* Sends a packet; `flags` as in sendmsg(2); fd: -1 for none. Returns 0 or -errno. */
int packet_send(int socket, const void *packet, size_t size, int fd, int flags);

/*
 * Receives a packet of exactly that size; *fd: the descriptor in it, or -1. `flags` as in
 * recvmsg(2). Returns 0; -EAGAIN: no packet, or a signal came; -EPIPE: the other side is gone or
 * corrupt.
 */
int packet_receive(int socket, void *packet, size_t size, int *fd, int flags);

#endif
