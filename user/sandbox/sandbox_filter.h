/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls that are left to the parser (seccomp(2)). */
#ifndef LEAKMON_SANDBOX_SANDBOX_FILTER_H
#define LEAKMON_SANDBOX_SANDBOX_FILTER_H

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

/*
 * Loads the filter: what is neither allowed nor politely refused kills the process. Needs
 * no_new_privs. Messages go through `socket` only. 0 or -errno.
 */
int sandbox_filter_load(int socket);

#endif
