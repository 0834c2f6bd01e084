/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PID namespaces (man 7 pid_namespaces). /proc numbers processes as leakmon's own namespace does;
 * BPF's bpf_get_current_pid_tgid() as the initial one does. The two agree only there.
 */
#ifndef LEAKMON_PROC_PID_NAMESPACE_H
#define LEAKMON_PROC_PID_NAMESPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Nesting is limited to this by the kernel: MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */
#define PID_NAMESPACE_MAX_LEVELS 33

struct pid_namespace {
	/* What bpf_get_ns_current_pid_tgid() takes to translate into this namespace. */
	uint64_t device, inode;
	bool initial; /* PIDs of BPF are PIDs of /proc: nothing to translate */
};

/* That of this process. 0 or -errno. */
int pid_namespace_read(struct pid_namespace *namespace);

/*
 * The PIDs of a process from /proc/PID/status (NSpid), from our namespace inwards: pids[0] is
 * `pid`, the last one is what the process itself calls getpid(). Namespaces above ours are not
 * shown by /proc: a PID of the initial one cannot be had from here, only by BPF.
 * Their number, at most PID_NAMESPACE_MAX_LEVELS; -ESRCH; -EBADMSG; -errno.
 */
int pid_namespace_pids(pid_t pid, pid_t pids[PID_NAMESPACE_MAX_LEVELS]);

#endif
