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
	};
	return 0;
}

bool file_identity_equal(const struct file_identity *left, const struct file_identity *right)
{
	return left->device == right->device && left->inode == right->inode &&
	       left->size == right->size && left->modified.tv_sec == right->modified.tv_sec &&
	       left->modified.tv_nsec == right->modified.tv_nsec;
}
