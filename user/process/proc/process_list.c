// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/process_list.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/page.h"

/* PF_KTHREAD, include/linux/sched.h */
#define FLAG_KERNEL_THREAD 0x00200000u
#define FLAG_FORKED 0x00000040u /* PF_FORKNOEXEC */

int process_parse_stat(const char *text, struct process_entry *entry)
{
	struct process_entry parsed = {0};
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	unsigned long long start, faults;
	unsigned flags;
	size_t length;

	/* A name may contain parentheses and newlines: the last parenthesis closes it. */
	if (!name || !end || end < name)
		return -EBADMSG;
	if (sscanf(text, "%d (", &parsed.pid) != 1 ||
	    sscanf(end,
		   ") %c %d %*d %*d %*d %*d %u %llu %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d "
		   "%llu",
		   &parsed.state, &parsed.parent, &flags, &faults, &parsed.threads, &start) != 6)
		return -EBADMSG;
	length = (size_t)(end - name - 1);
	memcpy(parsed.comm, name + 1, MIN(length, sizeof(parsed.comm) - 1));
	parsed.start_ticks = start;
	parsed.minor_faults = faults;
	parsed.kernel_thread = flags & FLAG_KERNEL_THREAD;
	parsed.forked = flags & FLAG_FORKED;
	*entry = parsed;
	return 0;
}

static int read_stat(const char *path, struct process_entry *entry)
{
	_cleanup_close_ int fd = -1;
	char text[1024];
	ssize_t got;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = read(fd, text, sizeof(text) - 1);
	if (got < 0)
		return -errno;
	text[got] = '\0';
	return process_parse_stat(text, entry);
}

/* Names that runtimes give their first thread, and so the process: Node from 24 on. */
static bool is_thread_name(const char *comm)
{
	return !strcmp(comm, "MainThread") || !strcmp(comm, "node-MainThread");
}

void process_name_program(pid_t pid, char comm[PROCESS_COMM_BYTES])
{
	char link[64], path[PATH_MAX];
	const char *base;
	ssize_t length;

	if (!is_thread_name(comm))
		return;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length <= 0)
		return;
	path[length] = '\0';
	base = strrchr(path, '/');
	if (!base || !base[1])
		return;
	memset(comm, 0, PROCESS_COMM_BYTES);
	snprintf(comm, PROCESS_COMM_BYTES, "%.*s", (int)strcspn(base + 1, " "), base + 1);
}

int process_read(pid_t pid, struct process_entry *entry)
{
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	error = read_stat(path, entry);
	if (!error)
		process_name_program(pid, entry->comm);
	return error;
}

#define AUXILIARY_MAX 64

/* Returns the number of bytes; 0: unreadable. */
static size_t read_auxiliary(pid_t pid, Elf64_auxv_t vector[AUXILIARY_MAX])
{
	_cleanup_close_ int fd = -1;
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, vector, AUXILIARY_MAX * sizeof(*vector));
	return got < 0 ? 0 : (size_t)got;
}

uint64_t process_auxiliary(pid_t pid, uint64_t type)
{
	Elf64_auxv_t vector[AUXILIARY_MAX];
	size_t got = read_auxiliary(pid, vector);

	for (size_t i = 0; i < got / sizeof(*vector); i++) {
		if (vector[i].a_type == type)
			return vector[i].a_un.a_val;
	}
	return 0;
}

bool process_auxiliary_is_32bit(const void *bytes, size_t size)
{
	const uint64_t page = page_size();

	for (size_t at = 0; at + sizeof(Elf64_auxv_t) <= size; at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t entry;

		memcpy(&entry, (const char *)bytes + at, sizeof(entry));
		if (entry.a_type == AT_PAGESZ && entry.a_un.a_val == page)
			return false;
	}
	for (size_t at = 0; at + sizeof(Elf32_auxv_t) <= size; at += sizeof(Elf32_auxv_t)) {
		Elf32_auxv_t entry;

		memcpy(&entry, (const char *)bytes + at, sizeof(entry));
		if (entry.a_type == AT_PAGESZ && entry.a_un.a_val == page)
			return true;
	}
	return false;
}

bool process_is_32bit(pid_t pid)
{
	Elf64_auxv_t vector[AUXILIARY_MAX];

	return process_auxiliary_is_32bit(vector, read_auxiliary(pid, vector));
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

double process_cpu_s(pid_t pid)
{
	clockid_t clock;

	return clock_getcpuclockid(pid, &clock) ? 0 : clock_s(clock);
}

/* If the kernel does not list them (CONFIG_PROC_CHILDREN), they count once they have ended. */
static double running_children_cpu_s(void)
{
	_cleanup_fclose_ FILE *children = NULL;
	double sum = 0;
	char path[64];
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &pid) == 1)
		sum += process_cpu_s(pid);
	return sum;
}

double process_own_cpu_s(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	double sum = running_children_cpu_s();

	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		struct rusage usage = {0};

		getrusage(whose[i], &usage);
		sum += seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
	}
	return sum;
}

char process_task_state(pid_t pid, pid_t tid)
{
	struct process_entry task = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	return read_stat(path, &task) ? '\0' : task.state;
}

void process_read_comm(pid_t pid, pid_t tid, char *comm, size_t size)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], text[64];
	size_t length;

	if (tid)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	file = fopen(path, "re");
	length = file ? fread(text, 1, sizeof(text), file) : 0;
	/* The last newline is the kernel's own; the name may contain others. */
	if (length)
		snprintf(comm, size, "%.*s", (int)length - 1, text);
	if (length && !tid && size == PROCESS_COMM_BYTES)
		process_name_program(pid, comm);
}

static int by_pid(const void *a, const void *b)
{
	pid_t one = *(const pid_t *)a, other = *(const pid_t *)b;

	return (one > other) - (one < other);
}

void pid_list_free(struct pid_list *pids)
{
	vec_free(&pids->list);
}

DIR *process_tasks_open(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return opendir(path);
}

/* An entry that is not a number is no thread, and in /proc no process. */
pid_t process_tasks_next(DIR *tasks)
{
	struct dirent *entry;

	while (tasks && (entry = readdir(tasks))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			return (pid_t)strtol(entry->d_name, NULL, 10);
	}
	return 0;
}

int pid_list_read(struct pid_list *pids)
{
	_cleanup_closedir_ DIR *directory = opendir("/proc");
	pid_t pid;

	if (!directory)
		return -errno;
	while ((pid = process_tasks_next(directory))) {
		pid_t *slot = vec_push(&pids->list);

		if (!slot)
			return -ENOMEM;
		*slot = pid;
	}
	if (pids->list.count)
		qsort(pids->list.items, pids->list.count, sizeof(*pids->list.items), by_pid);
	return 0;
}

bool pid_list_is_partial(const struct pid_list *pids)
{
	return !pids->list.count || pids->list.items[0] != 1;
}

static int add_process(pid_t pid, struct process_list *processes)
{
	struct process_entry entry, *slot;
	int error = process_read(pid, &entry);

	if (error == -EACCES || error == -EPERM)
		processes->hidden = true;
	if (error)
		return 0;
	slot = vec_push(&processes->list);
	if (!slot)
		return -ENOMEM;
	*slot = entry;
	return 0;
}

int process_list_read(size_t max, struct process_list *processes)
{
	_cleanup_(pid_list_free) struct pid_list pids = {0};
	_cleanup_(process_list_free) struct process_list read = {0};
	int error = pid_list_read(&pids);

	if (error)
		return error;
	read.hidden = pid_list_is_partial(&pids);
	for (size_t i = 0; i < pids.list.count && !error; i++) {
		if (read.list.count == max) {
			read.truncated = true;
			break;
		}
		error = add_process(pids.list.items[i], &read);
	}
	if (error)
		return error;
	*processes = read;
	read = (struct process_list){0};
	return 0;
}

void process_list_free(struct process_list *processes)
{
	vec_free(&processes->list);
}

/* PROC_PID_INIT_INO, include/linux/proc_ns.h: fixed since 3.8. */
#define INITIAL_INODE 0xeffffffcu

bool pid_namespace_is_own(void)
{
	struct stat status;

	return !stat("/proc/self/ns/pid", &status) && status.st_ino != INITIAL_INODE;
}

int pid_namespace_check(void)
{
	if (!pid_namespace_is_own())
		return 0;
	log_error(
		"leakmon has its own PID namespace, but the kernel reports the host's PIDs; share it (docker: --pid=host, Kubernetes: hostPID: true)");
	return -EOPNOTSUPP;
}
