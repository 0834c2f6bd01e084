/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives up every right of the calling process but to read the descriptors it has and will be sent
 * through one socket: no capabilities, no identity, no file names, no network, no new programs,
 * little memory. There is no way back.
 */
#ifndef LEAKMON_SANDBOX_SANDBOX_H
#define LEAKMON_SANDBOX_SANDBOX_H

#include <stdint.h>

/* 0, or -errno: then the process is somewhere in between and must end. */
int sandbox_enter(int socket, uint64_t memory_bytes);

/* The same for a process that takes connections at `listening`, which exists already, talks to
 * them, and takes descriptors from `control`. */
int sandbox_enter_server(int control, int listening, uint64_t memory_bytes);

/*
 * For a process that sends to servers: it may connect by IP, look up names and open files to read
 * of name services and certificates. It may not change
 * anything, start anything, nor reach local sockets. What else libraries try is refused; nothing
 * kills it.
 */
int sandbox_enter_pusher(uint64_t memory_bytes);

/* Ends the process (SIGXCPU) once it has used that much more CPU time than up to now. */
void sandbox_limit_cpu(uint32_t seconds);

/* The system calls that are left to the parser (seccomp(2)). */

/* Under AddressSanitizer, which has needs of its own, sandboxes are a little wider. */
#if defined(__SANITIZE_ADDRESS__)
#define SANDBOX_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANDBOX_SANITIZED 1
#endif
#endif
#ifndef SANDBOX_SANITIZED
#define SANDBOX_SANITIZED 0
#endif

#endif
