/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drops every right of the calling process except reading its descriptors and those sent through
 * one socket: no capabilities, no identity, no file names, no network, no new programs, little
 * memory. Irreversible.
 */
#ifndef LEAKMON_SANDBOX_SANDBOX_H
#define LEAKMON_SANDBOX_SANDBOX_H

#include <stdint.h>

/* Returns 0, or -errno: then the process is partly confined and must end. */
int sandbox_enter(int socket, uint64_t memory_bytes);

/*
 * Confines a process that accepts connections at `listening`, which is already open, serves them,
 * and receives descriptors from `control`. Returns as sandbox_enter().
 */
int sandbox_enter_server(int control, int listening, uint64_t memory_bytes);

/*
 * Confines a process that sends to servers: it may connect by IP, resolve names, and read the files
 * of name services and certificates. It may change nothing, start nothing, and reach no local
 * sockets. Other calls by libraries fail; none is fatal. Returns as sandbox_enter().
 */
int sandbox_enter_pusher(uint64_t memory_bytes);

/* Ends the process (SIGXCPU) after that much more CPU time. */
void sandbox_limit_cpu(uint32_t seconds);

/* The system calls still open to the parser (seccomp(2)). */

/* AddressSanitizer needs slightly wider sandboxes. */
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
