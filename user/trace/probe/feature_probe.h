/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Features of this kernel, found by trials on leakmon itself before a target is touched. Kernel
 * versions are never checked: distributions backport both features and bugs.
 */
#ifndef LEAKMON_PROBE_FEATURE_PROBE_H
#define LEAKMON_PROBE_FEATURE_PROBE_H

#include <stdbool.h>
#include <sys/types.h>

#include "binary/parse/plan.h"

struct btf;

struct kernel_features {
	/*
	 * The best working attach method: the probe fires at entry and return, in every thread of
	 * the given process (6.6-6.9 let only the main thread through).
	 */
	enum attach_method method;
	/*
	 * A process under a seccomp filter survives a uretprobe. On 6.11 to early 6.13 the kernel's
	 * own uretprobe system call is refused by filters such as Docker's, and the process dies.
	 */
	bool seccomp_safe;
	/*
	 * So does one with a shadow stack (arch_prctl(2), since 6.6); before 6.11 (488af8ea7131)
	 * its processor detects the redirected return, and it dies. True without such processors.
	 */
	bool shadow_stack_safe;
	/*
	 * So does one with Syscall User Dispatch, from which no kernel exempts its uretprobe system
	 * call (since 6.11; older ones have none). Session programs decline the return.
	 */
	bool dispatch_safe;
	struct dispatch_finder *dispatch_finder; /* unless dispatch_safe; owned */
	struct async_detach *detach;		 /* detaches the trials' probes; owned, or NULL */
};

/* Returns "session", "multi", "perf". */
const char *attach_method_name(enum attach_method method);

/* Returns 0, or -errno after an error message. */
int feature_probe_run(struct kernel_features *features, enum attach_method method);
void feature_probe_close(struct kernel_features *features);

/*
 * Returns a missing kernel function for BPF programs that all tracking needs, with the version that
 * introduced it; NULL: none. Static.
 */
const char *feature_probe_missing(void);
/* Logs an error that names it. Returns false if none is missing. */
bool feature_probe_explain_missing(void);

/*
 * Returns whether a thread of the process is under Syscall User Dispatch, which /proc does not
 * show; for kernels where that matters. 1, 0, or -errno.
 */
int feature_probe_dispatches(const struct kernel_features *features, pid_t pid);

/* Arguments of this kernel's tracepoints, from its own type information. */

/*
 * Returns whether the tracepoint exists and its arguments begin with `signature`, one character
 * each: 'p' a pointer, '4' or '8' an integer of that many bytes. Arguments have moved between
 * versions (kmalloc in 5.19 and 6.1): a program must not confuse them.
 */
bool tracepoint_has(const struct btf *btf, const char *tracepoint, const char *signature);

#endif
