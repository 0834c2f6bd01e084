// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/kernel_roots.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"

static int add(struct kernel_roots *held, uint64_t value, bool timer, int number)
{
	struct kernel_word *word = vec_push(&held->list);

	if (!word)
		return -ENOMEM;
	*word = (struct kernel_word){value, timer, number};
	return 0;
}

/* "tfd:        5 events:       19 data: 55d0c0de1000  pos:0 ino:..." */
static int read_epoll(pid_t pid, int fd, struct kernel_roots *held)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	file = fopen(path, "re");
	while (file && !error && fgets(line, sizeof(line), file)) {
		const char *data = strstr(line, " data:");

		if (!strncmp(line, "tfd:", 4) && data)
			error = add(held, strtoull(data + 6, NULL, 16), false, fd);
	}
	return error;
}

static bool is_epoll(pid_t pid, const char *name)
{
	char path[64], target[64];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, name);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	return !strcmp(target, "anon_inode:[eventpoll]");
}

static int read_all_epolls(pid_t pid, struct kernel_roots *held)
{
	_cleanup_closedir_ DIR *directory = NULL;
	struct dirent *entry;
	char path[64];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && !error && (entry = readdir(directory))) {
		if (isdigit((unsigned char)entry->d_name[0]) && is_epoll(pid, entry->d_name))
			error = read_epoll(pid, atoi(entry->d_name), held);
	}
	return error;
}

/* "ID: 3", then "signal: 60/00007fff86e452a8". */
static int read_timers(pid_t pid, struct kernel_roots *held)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	int number = 0, error = 0;

	snprintf(path, sizeof(path), "/proc/%d/timers", pid);
	file = fopen(path, "re");
	while (file && !error && fgets(line, sizeof(line), file)) {
		const char *slash = strchr(line, '/');

		if (!strncmp(line, "ID:", 3))
			number = atoi(line + 3);
		else if (!strncmp(line, "signal:", 7) && slash)
			error = add(held, strtoull(slash + 1, NULL, 16), true, number);
	}
	return error;
}

int kernel_roots_read(pid_t pid, struct kernel_roots *held)
{
	int error = read_all_epolls(pid, held);

	return error ? error : read_timers(pid, held);
}

void kernel_roots_free(struct kernel_roots *held)
{
	vec_free(&held->list);
}
