// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/root_only.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

/* A path has no more components. */
#define DEPTH_MAX (PATH_MAX / 2)
/* Of the initial user namespace, on every kernel since 3.8: PROC_USER_INIT_INO. */
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

bool root_only_status(const struct stat *status)
{
	if (status->st_uid != 0)
		return false;
	if (S_ISLNK(status->st_mode) || !(status->st_mode & (S_IWGRP | S_IWOTH)))
		return true;
	return S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool root_only_directory(int fd)
{
	_cleanup_close_ int at = openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat status, above;

	if (at < 0 || fstat(at, &status))
		return false;
	for (int i = 0; i < DEPTH_MAX; i++) {
		int parent;

		if (!root_only_status(&status))
			return false;
		parent = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0)
			return false;
		close(at);
		at = parent;
		if (fstat(at, &above))
			return false;
		if (is_same(&status, &above))
			return true;
		status = above;
	}
	return false;
}

static int open_in(int root, const char *path, uint64_t flags)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

/* The last component of a path, and what it leads to if it is a link. */
static bool component_is_roots(int root, const char *path)
{
	_cleanup_close_ int fd = open_in(root, path, O_NOFOLLOW), parent = -1;
	_cleanup_free_ char *real = NULL;
	struct stat status;
	char own[64];

	if (fd < 0 || fstat(fd, &status) || !root_only_status(&status))
		return false;
	if (!S_ISLNK(status.st_mode))
		return true;
	close(fd);
	fd = open_in(root, path, 0);
	if (fd < 0 || fstat(fd, &status) || !root_only_status(&status))
		return false;
	if (S_ISDIR(status.st_mode))
		return root_only_directory(fd);
	/* A link to a file: its directory is known by its name only. */
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	real = calloc(1, PATH_MAX + 1);
	if (!real || readlink(own, real, PATH_MAX) <= 0 || !strrchr(real, '/'))
		return false;
	*strrchr(real, '/') = '\0';
	parent = open_in(root, *real ? real : "/", O_DIRECTORY);
	return parent >= 0 && root_only_directory(parent);
}

bool root_only_path(int root, const char *path)
{
	size_t length = strlen(path);
	char prefix[PATH_MAX];

	if (*path != '/' || length >= sizeof(prefix) || !root_only_directory(root))
		return false;
	for (size_t i = 1; i <= length; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		if (prefix[i - 1] != '/' && !component_is_roots(root, prefix))
			return false;
	}
	return true;
}

static bool has_roots_identity(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned real, effective, saved, fs;
	char line[256];

	snprintf(line, sizeof(line), "/proc/%d/status", pid);
	file = fopen(line, "re");
	/* A name cannot fake the line: the kernel escapes newlines in it. */
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u %u %u %u", &real, &effective, &saved, &fs) == 4)
			return !real && !effective && !saved && !fs;
	}
	return false;
}

bool root_only_process(pid_t pid)
{
	struct stat status;
	char path[64];

	if (!has_roots_identity(pid))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (stat(path, &status) || status.st_ino != INITIAL_USER_NAMESPACE)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, &status) && root_only_status(&status);
}
