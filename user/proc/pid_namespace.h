/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PID namespaces (man 7 pid_namespaces). /proc numbers processes as leakmon's own namespace does;
 * BPF's bpf_get_current_pid_tgid() as the initial one does. The two agree only there.
 */
#ifndef LEAKMON_PROC_PID_NAMESPACE_H
#define LEAKMON_PROC_PID_NAMESPACE_H

#include <stdbool.h>

/* Whether this process is known to be in another namespace than the initial one. */
bool pid_namespace_is_own(void);

/* For whoever uses BPF: 0; -EOPNOTSUPP, after a message: the numbers would not match. */
int pid_namespace_check(void);

#endif
