/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What this kernel can do, found out by doing it to ourselves before a target is touched. Kernel
 * versions are never asked: distributions backport both features and bugs.
 */
#ifndef LEAKMON_PROBE_TRIAL_H
#define LEAKMON_PROBE_TRIAL_H

#include <stdbool.h>

#include "cli/options.h"

struct trial {
	/* uprobe_multi links exist, and their PID filter lets every thread of a process through
	 * (6.6-6.9 let only the main thread through). */
	bool multi;
	/* A process under a seccomp filter survives a uretprobe. On 6.11 to early 6.13 the kernel's
	 * own uretprobe system call is refused by filters such as Docker's, and the process dies. */
	bool seccomp_safe;
	char multi_reason[128]; /* why not, for -v and doctor; "" when it works */
};

/* 0, or -errno after an error message. */
int trial_run(struct trial *trial, enum attach_method method);

#endif
