// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file_identity.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

static struct timespec time_of(const struct statx_timestamp *time)
{
	return (struct timespec){.tv_sec = time->tv_sec, .tv_nsec = time->tv_nsec};
}

static int read_status(int at, const char *path, int flags, struct statx *status)
{
	return statx(at, path, flags | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, status) < 0 ? -errno
											  : 0;
}

int file_status_read(int fd, struct statx *status)
{
	return read_status(fd, "", AT_EMPTY_PATH, status);
}

int file_status_read_path(const char *path, struct statx *status)
{
	return read_status(AT_FDCWD, path, 0, status);
}

int file_identity_read(int fd, struct file_identity *identity)
{
	struct statx status;
	int error = file_status_read(fd, &status);

	if (error)
		return error;
	*identity = (struct file_identity){
		.device = makedev(status.stx_dev_major, status.stx_dev_minor),
		.inode = status.stx_ino,
		.size = status.stx_size,
		.modified = time_of(&status.stx_mtime),
		.changed = time_of(&status.stx_ctime),
	};
	return 0;
}

static bool same_time(const struct timespec *left, const struct timespec *right)
{
	return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

bool file_identity_equal(const struct file_identity *left, const struct file_identity *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       left->size == right->size && same_time(&left->modified, &right->modified);
}

bool file_identity_untouched(const struct file_identity *left, const struct file_identity *right)
{
	return file_identity_equal(left, right) && same_time(&left->changed, &right->changed);
}
