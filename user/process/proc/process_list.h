/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes that there are, from /proc (man 5 proc): thread group leaders only. PIDs are as
 * leakmon's own PID namespace numbers them, which is how its user sees them.
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
	/* Since boot, in clock ticks: (pid, start_ticks) is one process, a PID alone is not. */
	uint64_t start_ticks;
	uint64_t minor_faults; /* so far, of all its threads; none that its children had */
	unsigned threads;
	char state; /* 'R', 'S', 'Z', ... */
	bool kernel_thread;
	bool forked;		       /* it has not executed a program since it was forked */
	char comm[PROCESS_COMM_BYTES]; /* untrusted: any bytes; the name of a kernel thread is cut
					*/
};

/* Thread group leaders by ascending PID, without a look at any of them. */
struct pid_list {
	VEC(pid_t) list;
};

/* 0, -ENOMEM, or -errno of opening /proc; free it in either case. */
int pid_list_read(struct pid_list *pids);
void pid_list_free(struct pid_list *pids);
/* Every PID namespace has a process 1; a user that does not see it sees only its own (hidepid). */
bool pid_list_is_partial(const struct pid_list *pids);

struct process_list {
	VEC(struct process_entry) list; /* by ascending PID */
	bool truncated;			/* there are more than `max` */
	bool hidden; /* /proc is mounted with hidepid: processes of other users are missing */
};

/*
 * One small read. 0; -ESRCH: no such process; -EACCES or -EPERM: hidepid; -EBADMSG: not a line that
 * a kernel writes. *entry is untouched on error.
 */
int process_read(pid_t pid, struct process_entry *entry);

/* CPU seconds of this process and its children, those that the first thread started and that still
 * run included: /proc/PID/stat counts these in their own files. */
double process_own_cpu_s(void);
/* CPU time that all threads of a process have used, in seconds; 0: the process has ended. */
double process_cpu_s(pid_t pid);

/* The threads of a process, for closedir(); NULL: errno of opendir(), ENOENT: it has ended. */
DIR *process_tasks_open(pid_t pid);
/* The TID of the next one; 0: there is no other, or `tasks` is NULL. */
pid_t process_tasks_next(DIR *tasks);

/* The state of one thread, as process_entry.state; 0: it is gone, or cannot be read. */
char process_task_state(pid_t pid, pid_t tid);

/* From the auxiliary vector of a 64-bit process (getauxval(3)), AT_ENTRY say; 0: it is not there,
 * or cannot be read. */
uint64_t process_auxiliary(pid_t pid, uint64_t type);

/*
 * Whether these bytes of an auxiliary vector are a 32-bit process's. Its words are half as wide:
 * the size of a page, which every process has, is found in that layout and not in the other.
 */
bool process_auxiliary_is_32bit(const void *bytes, size_t size);

/* Whether a process runs a 32-bit program (CONFIG_COMPAT). False, too: it cannot be read. */
bool process_is_32bit(pid_t pid);

/* A process whose first thread has a name for threads is called by its program's file: "node", not
 * "MainThread". Else comm is untouched. */
void process_name_program(pid_t pid, char comm[PROCESS_COMM_BYTES]);
/* The name of a process, or of its thread `tid` if that is not 0. comm is untouched if the thread
 * is gone. */
void process_read_comm(pid_t pid, pid_t tid, char *comm, size_t size);

/* The parser of process_read() for the text of /proc/PID/stat. 0 or -EBADMSG. */
int process_parse_stat(const char *text, struct process_entry *entry);

/*
 * At most `max` processes, those with the lowest PIDs; what ends meanwhile, or is hidden, is left
 * out. 0, -ENOMEM, or -errno of opening /proc. *processes is untouched on error.
 */
int process_list_read(size_t max, struct process_list *processes);
void process_list_free(struct process_list *processes);

/*
 * PID namespaces (man 7 pid_namespaces). /proc numbers processes as leakmon's own namespace does;
 * BPF's bpf_get_current_pid_tgid() as the initial one does. The two agree only there.
 */

/* Whether this process is known to be in another namespace than the initial one. */
bool pid_namespace_is_own(void);

/* For whoever uses BPF: 0; -EOPNOTSUPP, after a message: the numbers would not match. */
int pid_namespace_check(void);

#endif
