// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "proc/root_only.h"
#include "proc/small_file.h"
#include "proc/target_file.h"

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
	/* O_NONBLOCK: a FIFO must not block us before it is found out. */
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
