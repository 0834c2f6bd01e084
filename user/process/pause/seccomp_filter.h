/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluates a seccomp filter for a system call (seccomp(2), Documentation/networking/filter.rst):
 * only the classic BPF that seccomp allows. Nothing is trusted: programs come from the target.
 */
#ifndef LEAKMON_PAUSE_SECCOMP_FILTER_H
#define LEAKMON_PAUSE_SECCOMP_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Returns whether the filter allows the call as if there were no filter. False also for an invalid
 * program.
 */
bool seccomp_filter_allows(const struct sock_filter *program, size_t count,
			   const struct seccomp_data *call);

#endif
