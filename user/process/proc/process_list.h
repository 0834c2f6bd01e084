/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The existing processes, from /proc (man 5 proc): thread group leaders only. PIDs are those of
 * leakmon's own PID namespace, as its user sees them.
 */
#ifndef LEAKMON_PROC_PROCESS_LIST_H
#define LEAKMON_PROC_PROCESS_LIST_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

#define PROCESS_COMM_BYTES 16 /* TASK_COMM_LEN */

struct process_entry {
	pid_t pid, parent;
	/*
	 * Since boot, in clock ticks: (pid, start_ticks) identifies a process, a PID alone does
	 * not.
	 */
	uint64_t start_ticks;
	uint64_t minor_faults; /* so far, of all its threads, not its children */
	unsigned threads;
	char state; /* 'R', 'S', 'Z', ... */
	bool kernel_thread;
	bool forked;		       /* it has not execed since its fork */
	char comm[PROCESS_COMM_BYTES]; /* untrusted: any bytes; a kernel thread's name is cut */
};

/* Thread group leaders by ascending PID, without reading any of them. */
struct pid_list {
	VEC(pid_t) list;
};

/* Reads the PIDs. Returns 0, -ENOMEM, or -errno of opening /proc; free it in either case. */
int pid_list_read(struct pid_list *pids);
void pid_list_free(struct pid_list *pids);
/*
 * Returns whether PIDs are missing: every PID namespace has a process 1; a user who does not see it
 * sees only their own (hidepid).
 */
bool pid_list_is_partial(const struct pid_list *pids);

struct process_list {
	VEC(struct process_entry) list; /* by ascending PID */
	bool truncated;			/* there are more than `max` */
	bool hidden; /* /proc is mounted with hidepid: processes of other users are missing */
};

/*
 * Reads one process, with one small read. Returns 0; -ESRCH: no such process; -EACCES or -EPERM:
 * hidepid; -EBADMSG: malformed. *entry is untouched on error.
 */
int process_read(pid_t pid, struct process_entry *entry);

/*
 * Returns the CPU seconds of leakmon and its children, including running ones started by the first
 * thread, which /proc/PID/stat counts in their own files.
 */
double process_own_cpu_s(void);
/* Returns the CPU time used by all threads of a process, in seconds; 0: it has ended. */
double process_cpu_s(pid_t pid);

/*
 * Opens the threads of a process, for closedir(); NULL: errno of opendir(), ENOENT: it has ended.
 */
DIR *process_tasks_open(pid_t pid);
/* Returns the next TID; 0: no more, or `tasks` is NULL. */
pid_t process_tasks_next(DIR *tasks);

/* Returns the state of one thread, as process_entry.state; 0: it is gone, or unreadable. */
char process_task_state(pid_t pid, pid_t tid);

/*
 * Returns a value of a 64-bit process's auxiliary vector (getauxval(3)), e.g. AT_ENTRY; 0: missing
 * or unreadable.
 */
uint64_t process_auxiliary(pid_t pid, uint64_t type);

/*
 * Returns whether these bytes of an auxiliary vector are a 32-bit process's. Its words are half as
 * wide: the page size, which every process has, is found in that layout and not in the other.
 */
bool process_auxiliary_is_32bit(const void *bytes, size_t size);

/* Returns whether a process runs a 32-bit program (CONFIG_COMPAT). False also if unreadable. */
bool process_is_32bit(pid_t pid);

/*
 * If a process's first thread has a thread's name, replaces it by its program's file: "node", not
 * "MainThread". Else comm is untouched.
 */
void process_name_program(pid_t pid, char comm[PROCESS_COMM_BYTES]);
/*
 * Reads the name of a process, or of its thread `tid` if not 0. comm is untouched if the thread is
 * gone.
 */
void process_read_comm(pid_t pid, pid_t tid, char *comm, size_t size);

/* Parses the text of /proc/PID/stat for process_read(). Returns 0 or -EBADMSG. */
int process_parse_stat(const char *text, struct process_entry *entry);

/*
 * Reads at most `max` processes, those with the lowest PIDs; ended or hidden ones are left out.
 * Returns 0, -ENOMEM, or -errno of opening /proc. *processes is untouched on error.
 */
int process_list_read(size_t max, struct process_list *processes);
void process_list_free(struct process_list *processes);

/*
 * PID namespaces (man 7 pid_namespaces). /proc uses the PIDs of leakmon's own namespace; BPF's
 * bpf_get_current_pid_tgid() those of the initial one. The two agree only there.
 */

/* Returns whether leakmon is outside the initial namespace; false if unknown. */
bool pid_namespace_is_own(void);

/*
 * Checks that the PIDs of /proc and of BPF agree. Returns 0; -EOPNOTSUPP, after a message, if they
 * do not.
 */
int pid_namespace_check(void);

#endif
