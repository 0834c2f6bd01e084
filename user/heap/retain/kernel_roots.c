// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/kernel_roots.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "report/retain_result.h"
#include "trace/probe/held_words.h"

static const char *const holders[] = {
	[LM_HELD_SIGNAL_STACK] = "alternate signal stack",
	[LM_HELD_ROBUST_FUTEXES] = "list of robust futexes",
	[LM_HELD_RSEQ] = "rseq area",
	[LM_HELD_CHILD_TID] = "thread ID to clear",
	[LM_HELD_SYSCALL_FILTER] = "system call selector",
	[LM_HELD_SIGNAL] = "pending signal",
	[LM_HELD_URING_REQUEST] = "io_uring request",
	[LM_HELD_URING_ARGUMENT] = "io_uring request",
	[LM_HELD_URING_UNREAD] = "io_uring queue",
	[LM_HELD_URING_BUFFER] = "io_uring buffer",
	[LM_HELD_AIO] = "AIO request",
	[LM_HELD_QUEUE_NOTICE] = "message queue",
	[KERNEL_EPOLL] = "epoll",
	[KERNEL_TIMER] = "timer",
};
_Static_assert(ARRAY_SIZE(holders) == KERNEL_HOLDER_MAX_, "a name for every holder");

const char *kernel_holder_name(uint32_t holder)
{
	return holders[holder];
}

static int add(struct kernel_roots *roots, uint64_t value, uint32_t holder, int number)
{
	struct kernel_word *word = vec_push(&roots->list);

	if (!word)
		return -ENOMEM;
	*word = (struct kernel_word){value, holder,
				     kernel_root_has_number(holders[holder]) ? number : 0};
	return 0;
}

/* "tfd:        5 events:       19 data: 55d0c0de1000  pos:0 ino:..." */
static int read_epoll(pid_t pid, int fd, struct kernel_roots *roots)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	file = fopen(path, "re");
	while (file && !error && fgets(line, sizeof(line), file)) {
		const char *data = strstr(line, " data:");

		if (!strncmp(line, "tfd:", 4) && data)
			error = add(roots, strtoull(data + 6, NULL, 16), KERNEL_EPOLL, fd);
	}
	return error;
}

/* Descriptors of interest, by their links. */
enum descriptor { OTHER, EPOLL, URING };

static enum descriptor descriptor_of(pid_t pid, const char *name)
{
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return OTHER;
	target[length] = '\0';
	if (!strcmp(target, "anon_inode:[io_uring]"))
		return URING;
	return strcmp(target, "anon_inode:[eventpoll]") ? OTHER : EPOLL;
}

static int read_descriptors(pid_t pid, struct kernel_roots *roots, bool *has_uring)
{
	_cleanup_closedir_ DIR *directory = NULL;
	struct dirent *entry;
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && !error && (entry = readdir(directory))) {
		enum descriptor descriptor = OTHER;

		if (isdigit((unsigned char)entry->d_name[0]))
			descriptor = descriptor_of(pid, entry->d_name);
		*has_uring |= descriptor == URING;
		if (descriptor == EPOLL)
			error = read_epoll(pid, atoi(entry->d_name), roots);
	}
	return error;
}

/*
 * For each page of /proc/PID/timers the kernel walks the list from its beginning (fs/proc/base.c,
 * timers_start()), up to 6.14 with the process's signals locked: 34,000 timers take it seconds.
 */
#define TIMERS_NS 100000000ull

/* "ID: 3", then "signal: 60/00007fff86e452a8". */
static int read_timers(pid_t pid, struct kernel_roots *roots)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t begin_ns = monotonic_ns();
	char path[64], line[256];
	int number = 0, error = 0;

	snprintf(path, sizeof(path), "/proc/%d/timers", pid);
	file = fopen(path, "re");
	while (file && !error && fgets(line, sizeof(line), file)) {
		const char *slash = strchr(line, '/');

		if (monotonic_ns() - begin_ns > TIMERS_NS) {
			roots->why_uncertain = "timers may hold more: not all of them were read";
			break;
		}
		if (!strncmp(line, "ID:", 3))
			number = atoi(line + 3);
		else if (!strncmp(line, "signal:", 7) && slash)
			error = add(roots, strtoull(slash + 1, NULL, 16), KERNEL_TIMER, number);
	}
	return error;
}

/* A ring stays mapped after its descriptor is closed, or registered instead. */
static bool has_mapping(const struct maps *maps, const char *path)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		if (!strcmp(maps->list.items[i].path, path))
			return true;
	}
	return false;
}

static const char *explain(int error)
{
	if (error == -EPERM || error == -EACCES)
		return "BPF needs root, or CAP_BPF and CAP_PERFMON";
	if (error == -ENOMEM)
		return "leakmon's control group has no room to load a BPF program";
	return "this kernel cannot run the BPF program, or lacks type information (leakmon doctor)";
}

static int add_words(const struct held_words *held, struct kernel_roots *roots)
{
	_cleanup_(held_list_free) struct held_list list = {0};
	int error = held_words_list(held, &list);

	for (size_t i = 0; !error && i < list.count; i++)
		error = add(roots, list.words[i].value, list.words[i].kind, list.words[i].number);
	if (list.uring_unknown && list.aio_unknown)
		roots->why_uncertain = "io_uring and AIO may hold more: not all requests in flight "
				       "were found";
	else if (list.uring_unknown)
		roots->why_uncertain =
			"an io_uring may hold more: not all of its requests in flight were found";
	else if (list.aio_unknown)
		roots->why_uncertain = "AIO may hold more: not all requests in flight were found";
	return error;
}

int kernel_roots_read(pid_t pid, const struct maps *maps, const struct held_words *held, int error,
		      struct kernel_roots *roots)
{
	bool has_uring = has_mapping(maps, "anon_inode:[io_uring]");
	int failed = read_descriptors(pid, roots, &has_uring);

	if (!failed)
		failed = read_timers(pid, roots);
	if (failed)
		return failed;
	if (held)
		return add_words(held, roots);
	roots->why_unread = explain(error);
	if (has_uring)
		roots->why_uncertain = "an io_uring may hold more: its requests were not read";
	else if (has_mapping(maps, "/[aio]"))
		roots->why_uncertain = "AIO may hold more: its requests were not read";
	return 0;
}

void kernel_roots_free(struct kernel_roots *roots)
{
	vec_free(&roots->list);
}
