// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/file_identity.h"
#include "process/proc/core.h"
#include "process/proc/file_opener.h"

static int open_beneath(int directory, const char *path, uint64_t resolve)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
	long fd = syscall(SYS_openat2, directory, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Turns an O_PATH descriptor into a readable one, now that the file is known to be harmless. */
static int open_regular(int place)
{
	struct statx status;
	char path[64];
	int fd = file_status_read(place, &status);

	if (fd < 0)
		return fd;
	if (!S_ISREG(status.stx_mode))
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
	/* Inodes are not compared: this is the mapped file itself, and overlayfs shows others. */
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
	struct statx status;
	int error;

	/* Paths in maps contain no links: a link there was placed to mislead us. */
	place = open_beneath(root, path,
			     RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (place < 0)
		return place == -ELOOP ? -ESTALE : place;
	error = file_status_read(place, &status);
	if (error)
		return error;
	/*
	 * Compares only the inode: overlayfs and btrfs show another device in maps than in stat
	 * (the underlying one, and the subvolume's), so a differing device proves nothing.
	 */
	if (status.stx_ino != mapping->inode)
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

static int open_mapping(int task, const struct mapping *mapping)
{
	int fd = open_map_file(task, mapping);

	/* -EINVAL is final; other errors may be missing rights, or a mapping just split. */
	if (fd >= 0 || fd == -EINVAL || mapping->path[0] != '/')
		return fd;
	return open_by_path(task, mapping);
}

static int open_below(int root, const char *path, uint64_t links)
{
	_cleanup_close_ int place = open_beneath(root, path, RESOLVE_IN_ROOT | links);

	return place < 0 ? place : open_regular(place);
}

static int open_path(int task, const char *path, uint64_t links)
{
	_cleanup_close_ int root = open_root(task);

	return root < 0 ? root : open_below(root, path, links);
}

static int open_requested(const struct open_request *request, int directory)
{
	struct mapping mapping = {.start = request->start,
				  .end = request->end,
				  .inode = request->inode,
				  .major = request->major,
				  .minor = request->minor,
				  .path = (char *)request->path};

	switch ((enum open_kind)request->kind) {
	case OPEN_MAPPING:
		return open_mapping(request->task, &mapping);
	case OPEN_PATH:
		return open_path(request->task, request->path, RESOLVE_NO_MAGICLINKS);
	case OPEN_PLAIN:
		return open_path(request->task, request->path,
				 RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	case OPEN_BELOW:
		return open_below(directory, request->path, RESOLVE_NO_MAGICLINKS);
	}
	return -EINVAL;
}

/* Opens in this process, or in the separate one. */
static int open_there(struct open_request *request, const char *path, int directory)
{
	if (strlen(path) >= sizeof(request->path))
		return -ENAMETOOLONG;
	strcpy(request->path, path);
	return file_opener_is_used() ? file_opener_ask(request, directory)
				     : open_requested(request, directory);
}

void target_file_opener_enter(int argc, char **argv)
{
	file_opener_enter(argc, argv, open_requested);
}

int target_file_open_mapping(struct memory_source source, const struct mapping *mapping)
{
	struct open_request request = {.kind = OPEN_MAPPING,
				       .task = source.task,
				       .start = mapping->start,
				       .end = mapping->end,
				       .inode = mapping->inode,
				       .major = mapping->major,
				       .minor = mapping->minor};

	if (source.core)
		return core_open_file(source.core, mapping);
	return mapping->inode ? open_there(&request, mapping->path, -1) : -ENOENT;
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
	struct open_request request = {.kind = OPEN_BELOW};

	return open_there(&request, path, root);
}

int target_file_open_path(int task, const char *path)
{
	struct open_request request = {.kind = OPEN_PATH, .task = task};

	return open_there(&request, path, -1);
}

int target_file_open_plain(int task, const char *path)
{
	struct open_request request = {.kind = OPEN_PLAIN, .task = task};

	return open_there(&request, path, -1);
}
