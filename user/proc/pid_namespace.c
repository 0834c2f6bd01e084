// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/pid_namespace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "proc/small_file.h"

/* PROC_PID_INIT_INO, include/linux/proc_ns.h: fixed since 3.8. */
#define INITIAL_INODE 0xeffffffcu
#define STATUS_MAX_BYTES (64u << 10)

int pid_namespace_read(struct pid_namespace *namespace)
{
	struct stat status;

	if (stat("/proc/self/ns/pid", &status))
		return -errno;
	*namespace = (struct pid_namespace){.device = status.st_dev,
					    .inode = status.st_ino,
					    .initial = status.st_ino == INITIAL_INODE};
	return 0;
}

int pid_namespace_pids(pid_t pid, pid_t pids[PID_NAMESPACE_MAX_LEVELS])
{
	_cleanup_free_ char *text = NULL;
	char path[64], *at;
	int error, count = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	error = small_file_read(path, STATUS_MAX_BYTES, &text);
	if (error)
		return error == -ENOENT ? -ESRCH : error;
	/* The name comes before, with its newlines escaped. */
	at = strstr(text, "\nNSpid:");
	if (!at)
		return -EBADMSG;
	at += strlen("\nNSpid:");
	while (*at == '\t' && count < PID_NAMESPACE_MAX_LEVELS)
		pids[count++] = (pid_t)strtol(at + 1, &at, 10);
	return count ? count : -EBADMSG;
}
