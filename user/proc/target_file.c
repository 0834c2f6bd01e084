// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "proc/core.h"

static int open_beneath(int directory, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* From a mere place (O_PATH) to a descriptor to read from, now that it is known to be harmless. */
static int open_regular(int place)
{
	struct stat status;
	char path[64];
	int fd;

	if (fstat(place, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_root(int task)
{
	char path[64] = "/";
	int fd;

	if (task)
		snprintf(path, sizeof(path), "/proc/%d/root", task);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_map_file(int task, const struct mapping *mapping)
{
	_cleanup_close_ int place = -1;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", task,
		 (unsigned long)mapping->start, (unsigned long)mapping->end);
	/* No comparison of inodes: this is the mapped file itself, and overlayfs shows others. */
	place = open_beneath(AT_FDCWD, path, 0);
	return place < 0 ? place : open_regular(place);
}

/* The kernel writes a newline as \012, and a backslash as itself. */
static void decode_newlines(char *path)
{
	char *out = path;

	for (const char *in = path; *in; out++) {
		if (!strncmp(in, "\\012", 4)) {
			*out = '\n';
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

static int open_same_inode(int root, const char *path, const struct mapping *mapping)
{
	_cleanup_close_ int place = -1;
	struct stat status;

	/* Paths in maps are without links: whoever put one there wants to mislead us. */
	place = open_beneath(root, path,
			     RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (place < 0)
		return place == -ELOOP ? -ESTALE : place;
	if (fstat(place, &status) < 0)
		return -errno;
	/*
	 * Only the inode: overlayfs and btrfs show another device in maps than in stat (the
	 * underlying one, and the subvolume's), so a differing device says nothing.
	 */
	if (status.st_ino != mapping->inode)
		return -ESTALE;
	return open_regular(place);
}

static int open_by_path(int task, const struct mapping *mapping)
{
	_cleanup_close_ int root = open_root(task);
	_cleanup_free_ char *decoded = NULL;
	int fd;

	if (root < 0)
		return root;
	fd = open_same_inode(root, mapping->path, mapping);
	if (fd >= 0 || !strstr(mapping->path, "\\012"))
		return fd;
	decoded = strdup(mapping->path);
	if (!decoded)
		return -ENOMEM;
	decode_newlines(decoded);
	return open_same_inode(root, decoded, mapping);
}

int target_file_open_mapping(struct memory_source source, const struct mapping *mapping)
{
	int fd;

	if (source.core)
		return core_open_file(source.core, mapping);
	if (!mapping->inode)
		return -ENOENT;
	fd = open_map_file(source.task, mapping);
	/* -EINVAL is a final answer; the rest may be a lack of rights, or a mapping just split. */
	if (fd >= 0 || fd == -EINVAL || mapping->path[0] != '/')
		return fd;
	return open_by_path(source.task, mapping);
}

bool target_file_is_missing(int task, const struct mapping *mapping, int error)
{
	_cleanup_(maps_free) struct maps maps = {0};

	if (!mapping->executable || error == -EINVAL || maps_read(task, MAPS_EXECUTABLE, &maps))
		return false;
	for (size_t i = 0; i < maps.list.count; i++) {
		const struct mapping *now = &maps.list.items[i];

		if (now->inode == mapping->inode && now->major == mapping->major &&
		    now->minor == mapping->minor)
			return true;
	}
	return false;
}

int target_file_open_below(int root, const char *path)
{
	_cleanup_close_ int place =
		open_beneath(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);

	return place < 0 ? place : open_regular(place);
}

int target_file_open_path(int task, const char *path)
{
	_cleanup_close_ int root = open_root(task);

	return root < 0 ? root : target_file_open_below(root, path);
}
