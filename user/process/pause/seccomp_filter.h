/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of a seccomp filter to a system call (seccomp(2),
 * Documentation/networking/filter.rst): the classic BPF that seccomp allows, and nothing else.
 * Nothing is trusted: a program comes from the target.
 */
#ifndef LEAKMON_PAUSE_SECCOMP_FILTER_H
#define LEAKMON_PAUSE_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether it lets the call be made as if it were not there. False also of what is no program. */
bool seccomp_filter_allows(const struct sock_filter *program, size_t count,
			   const struct seccomp_data *call);

#endif
