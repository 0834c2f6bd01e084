// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file_identity.h"

#include <errno.h>
#include <sys/stat.h>

int file_identity_read(int fd, struct file_identity *identity)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	*identity = (struct file_identity){
		.device = status.st_dev,
		.inode = status.st_ino,
		.size = (uint64_t)status.st_size,
		.modified = status.st_mtim,
		.changed = status.st_ctim,
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
