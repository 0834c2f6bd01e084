// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "proc/small_file.h"
#include "proc/target_file.h"

/* target_file_open_path: 0 is our own root. */
static const pid_t roots[] = {0, 1};

int host_file_read(const char *path, size_t max_bytes, char **text, size_t *length)
{
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = target_file_open_path(roots[i], path);
		int failed = fd < 0 ? fd : small_file_read_fd(fd, max_bytes, text, length);

		if (!failed)
			return 0;
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

int host_file_read_at(int directory, const char *path, size_t max_bytes, char **text,
		      size_t *length)
{
	/* O_NONBLOCK: a FIFO must not block us before it is found out. */
	_cleanup_close_ int fd =
		open_beneath(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
			     RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	return small_file_read_fd(fd, max_bytes, text, length);
}

static DIR *open_in_root(pid_t task, const char *path)
{
	_cleanup_close_ int root = -1, fd = -1;
	char name[64] = "/";
	DIR *directory;

	if (task)
		snprintf(name, sizeof(name), "/proc/%d/root", task);
	root = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return NULL;
	fd = open_beneath(root, path, O_RDONLY | O_DIRECTORY,
			  RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	directory = fd >= 0 ? fdopendir(fd) : NULL;
	if (directory)
		fd = -1; /* it belongs to the stream now */
	return directory;
}

DIR *host_directory_open(const char *path)
{
	DIR *directory = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(roots) && !directory; i++)
		directory = open_in_root(roots[i], path);
	return directory;
}
