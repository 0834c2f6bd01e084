// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/file_identity.h"
#include "process/proc/target_file.h"

#define FIRST_BYTES 4096

/* Reads until the end of the file or of the room. */
static int fill(int fd, char *room, size_t size, size_t *filled)
{
	while (*filled < size) {
		ssize_t got = read(fd, room + *filled, size - *filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		*filled += (size_t)got;
	}
	return -ENOSPC;
}

/* Reads from an open descriptor, which stays open. *length may be NULL. */
static int small_file_read_fd(int fd, size_t max_bytes, char **text, size_t *length)
{
	_cleanup_free_ char *room = NULL;
	size_t size = FIRST_BYTES, filled = 0;
	int error = -ENOSPC;

	while (error == -ENOSPC) {
		char *grown = realloc(room, size + 1);

		if (!grown)
			return -ENOMEM;
		room = grown;
		error = fill(fd, room, size, &filled);
		if (filled > max_bytes)
			return -EFBIG;
		size *= 2;
	}
	if (error)
		return error;
	room[filled] = '\0';
	*text = TAKE_PTR(room);
	if (length)
		*length = filled;
	return 0;
}

int small_file_read(const char *path, size_t max_bytes, char **text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : small_file_read_fd(fd, max_bytes, text, NULL);
}

/* Limit of a path's components. */
#define DEPTH_MAX (PATH_MAX / 2)

/* The inode of the initial user namespace, on every kernel since 3.8: PROC_USER_INIT_INO. */
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

/* Checks the last component of a path, and its target if it is a link. */
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
	/* A link to a file: only the name leads to its directory. */
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
	struct statx program;
	char path[64];

	if (!has_roots_identity(pid))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	if (stat(path, &status) || status.st_ino != INITIAL_USER_NAMESPACE)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	/* Does not ask its file system, which may hang. */
	if (file_status_read_path(path, &program))
		return false;
	status.st_uid = program.stx_uid;
	status.st_mode = program.stx_mode;
	return root_only_status(&status);
}

/* target_file_open_path: 0 is our own root. */
static const pid_t roots[] = {0, 1};

static int open_root(pid_t task)
{
	char name[64] = "/";

	if (task)
		snprintf(name, sizeof(name), "/proc/%d/root", task);
	return open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_root_only(pid_t task, const char *path)
{
	_cleanup_close_ int root = open_root(task);

	return root >= 0 && root_only_path(root, path);
}

int host_file_read(const char *path, size_t max_bytes, char **text, size_t *length, bool *root_only)
{
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = target_file_open_path(roots[i], path);
		int failed = fd < 0 ? fd : small_file_read_fd(fd, max_bytes, text, length);

		if (!failed) {
			*root_only = is_root_only(roots[i], path);
			return 0;
		}
		if (i == 0)
			error = failed;
	}
	return error;
}

static int open_beneath(int directory, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_CLOEXEC, .resolve = resolve};
	long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The directory that the file is in. */
static int open_parent(int directory, const char *path)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *parent = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");

	return parent ? open_beneath(directory, parent, O_PATH | O_DIRECTORY,
				     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)
		      : -ENOMEM;
}

int host_file_read_at(int directory, const char *path, size_t max_bytes, char **text,
		      size_t *length, bool *root_only)
{
	_cleanup_close_ int parent = open_parent(directory, path), fd = -1;
	const char *slash = strrchr(path, '/');
	struct stat status;
	int error;

	if (parent < 0)
		return parent;
	/* O_NONBLOCK: a FIFO must not block before it is recognised. */
	fd = open_beneath(parent, slash ? slash + 1 : path,
			  O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
			  RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return fd;
	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	error = small_file_read_fd(fd, max_bytes, text, length);
	if (!error)
		*root_only = root_only_status(&status) && root_only_directory(parent);
	return error;
}

static DIR *open_in_root(pid_t task, const char *path)
{
	_cleanup_close_ int root = open_root(task), fd = -1;
	DIR *directory;

	if (root < 0)
		return NULL;
	fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY,
			  RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (directory)
		fd = -1; /* it belongs to the stream now */
	return directory;
}

DIR *host_directory_open(const char *path, bool *root_only)
{
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		DIR *directory = open_in_root(roots[i], path);

		if (directory) {
			*root_only = is_root_only(roots[i], path);
			return directory;
		}
	}
	return NULL;
}
