// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/tmpfs_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_identity.h"
#include "heap/memory/conclusion.h"
#include "process/proc/mounts.h"

/* Most names in all directories, or descriptors: with more, a reading is partial. */
#define NAMES_MAX 4096
#define DEPTH_MAX 6

struct reading {
	pid_t pid;
	int root; /* of the process */
	size_t names;
	VEC(uint64_t) others; /* devices of other mounts than tmpfs */
	/* some mount is served by a process or a server, which may never answer */
	bool served;
	struct tmpfs_files *files;
};

static struct tmpfs_file *file_find(const struct tmpfs_files *files, uint64_t device,
				    uint64_t inode)
{
	for (size_t i = 0; i < files->list.count; i++) {
		struct tmpfs_file *file = &files->list.items[i];

		if (file->device == device && file->inode == inode)
			return file;
	}
	return NULL;
}

/* Adds a file once, even if several mounts and links lead to it. */
static int add_file(struct reading *reading, const struct stat *status, const char *path, bool open)
{
	struct tmpfs_file *file = file_find(reading->files, status->st_dev, status->st_ino);

	if (file) {
		file->open |= open;
		return 0;
	}
	file = vec_push(&reading->files->list);
	if (!file)
		return -ENOMEM;
	*file = (struct tmpfs_file){.device = status->st_dev,
				    .inode = status->st_ino,
				    .bytes = (uint64_t)status->st_blocks * 512,
				    .open = open,
				    .path = strdup(path)};
	return file->path ? 0 : -ENOMEM;
}

/* -------- descriptors */

static bool is_for_writing(pid_t pid, const char *fd)
{
	char path[64], line[128];
	_cleanup_fclose_ FILE *info = NULL;
	unsigned flags = O_RDONLY;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.10s", pid, fd);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info) && sscanf(line, "flags: %o", &flags) != 1)
		continue;
	return (flags & O_ACCMODE) != O_RDONLY;
}

/* Returns whether a file may be in tmpfs, without asking the server of its file system. */
static bool may_be_tmpfs(const struct reading *reading, const char *path)
{
	struct statx status;

	if (file_status_read_path(path, &status) || !S_ISREG(status.stx_mode))
		return false;
	for (size_t i = 0; i < reading->others.count; i++) {
		if (reading->others.items[i] == makedev(status.stx_dev_major, status.stx_dev_minor))
			return false;
	}
	return true;
}

static int add_descriptor(struct reading *reading, const char *fd)
{
	char path[64], target[512];
	struct stat status;
	struct statfs system;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.10s", reading->pid, fd);
	if (!may_be_tmpfs(reading, path) || stat(path, &status) || !S_ISREG(status.st_mode) ||
	    statfs(path, &system) || system.f_type != TMPFS_MAGIC)
		return 0;
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return 0;
	target[length] = '\0';
	return add_file(reading, &status, target, is_for_writing(reading->pid, fd));
}

static int read_descriptors(struct reading *reading)
{
	char path[64];
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;
	size_t names = 0;
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", reading->pid);
	directory = opendir(path);
	while (!error && directory && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		if (++names > NAMES_MAX) {
			reading->files->partial = true;
			break;
		}
		error = add_descriptor(reading, entry->d_name);
	}
	return error;
}

/* -------- mounts */

static int read_directory(struct reading *reading, int fd, const char *path, unsigned depth);

static int read_entry(struct reading *reading, int directory, const struct stat *of,
		      const char *path, const char *name, unsigned depth)
{
	_cleanup_free_ char *whole = NULL;
	struct stat status;
	int below;

	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) || status.st_dev != of->st_dev)
		return 0;
	if (asprintf(&whole, "%s/%s", strcmp(path, "/") ? path : "", name) < 0) {
		whole = NULL;
		return -ENOMEM;
	}
	if (S_ISREG(status.st_mode))
		return add_file(reading, &status, whole, false);
	if (!S_ISDIR(status.st_mode))
		return 0;
	if (depth == DEPTH_MAX) {
		reading->files->partial = true;
		return 0;
	}
	below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return below < 0 ? 0 : read_directory(reading, below, whole, depth + 1);
}

/* Closes fd. */
static int read_directory(struct reading *reading, int fd, const char *path, unsigned depth)
{
	_cleanup_closedir_ DIR *directory = fdopendir(fd);
	const struct dirent *entry;
	struct stat status;
	int error = 0;

	if (!directory)
		close(fd);
	if (!directory || fstat(fd, &status))
		return 0;
	while (!error && (entry = readdir(directory))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (++reading->names > NAMES_MAX) {
			reading->files->partial = true;
			break;
		}
		error = read_entry(reading, fd, &status, path, entry->d_name, depth);
	}
	return error;
}

/*
 * Opens a mount. If a server may not answer, the path is resolved from cached directories alone;
 * those above a mount mostly are cached. -EAGAIN: they are not, or were changing.
 */
static int open_mount(const struct reading *reading, const char *point)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
					  (reading->served ? RESOLVE_CACHED : 0)};
	int fd = -1;

	for (int turn = 0; turn < 3 && fd < 0; turn++) {
		fd = (int)syscall(SYS_openat2, reading->root, point, &how, sizeof(how));
		if (fd < 0 && errno == EINVAL) /* before Linux 5.12 */
			how.resolve &= ~(uint64_t)RESOLVE_CACHED;
		else if (fd < 0 && errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int read_mount(struct reading *reading, const char *point)
{
	struct statfs system;
	int fd;

	fd = open_mount(reading, point);
	if (fd < 0) {
		reading->files->partial |= fd == -EAGAIN;
		return 0;
	}
	/* Another file system may be mounted above it. */
	if (fstatfs(fd, &system) || system.f_type != TMPFS_MAGIC) {
		close(fd);
		return 0;
	}
	return read_directory(reading, fd, point, 0);
}

static int note_other(void *context, const struct mount *mount)
{
	struct reading *reading = context;
	uint64_t *place;

	/* devtmpfs is built on tmpfs, and rootfs may be (mm/shmem.c, init/do_mounts.c). */
	if (!strcmp(mount->type, "rootfs") || !strcmp(mount->type, "tmpfs") ||
	    !strcmp(mount->type, "devtmpfs"))
		return 0;
	reading->served |= mount_is_served(mount);
	place = vec_push(&reading->others);
	if (!place)
		return -ENOMEM;
	*place = mount->device;
	return 0;
}

static int read_tmpfs(void *context, const struct mount *mount)
{
	return strcmp(mount->type, "tmpfs") ? 0 : read_mount(context, mount->point);
}

/* -------- what the process wrote */

static void read_written(pid_t pid, struct tmpfs_files *files)
{
	char path[64], line[128];
	_cleanup_fclose_ FILE *io = NULL;
	uint64_t all = 0, stored = 0;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/io", pid);
	io = fopen(path, "re");
	while (io && fgets(line, sizeof(line), io)) {
		found += sscanf(line, "wchar: %" SCNu64, &all) == 1;
		found += sscanf(line, "write_bytes: %" SCNu64, &stored) == 1;
	}
	files->has_written = found == 2;
	files->written = all > stored ? all - stored : 0;
}

int tmpfs_files_read(pid_t pid, struct tmpfs_files *files)
{
	_cleanup_close_ int root = -1;
	struct reading reading = {.pid = pid, .files = files};
	char path[64];
	int error;

	*files = (struct tmpfs_files){0};
	snprintf(path, sizeof(path), "/proc/%d/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	reading.root = root;
	read_written(pid, files);
	/* A process without mounts has ended. */
	error = mounts_visit(pid, note_other, &reading);
	if (error != -ENOMEM)
		error = read_descriptors(&reading);
	if (!error && root >= 0 && mounts_visit(pid, read_tmpfs, &reading) == -ENOMEM)
		error = -ENOMEM;
	vec_free(&reading.others);
	return error;
}

void tmpfs_files_free(struct tmpfs_files *files)
{
	for (size_t i = 0; i < files->list.count; i++)
		free(files->list.items[i].path);
	vec_free(&files->list);
}

/* Returns whether a file grew by about the bytes written: the rest went elsewhere, or to another
 * file. */
static bool is_written(const struct tmpfs_files *before, const struct tmpfs_files *now,
		       uint64_t grown)
{
	uint64_t written = now->written - before->written;

	return before->has_written && now->has_written && now->written > before->written &&
	       written >= grown - grown / 16 && written <= grown + grown / 4;
}

struct tmpfs_growth tmpfs_files_grown(const struct tmpfs_files *before,
				      const struct tmpfs_files *now)
{
	struct tmpfs_growth most = {0};
	uint64_t most_grown = MEMORY_GROWTH_MIN - 1;

	for (size_t i = 0; i < now->list.count; i++) {
		const struct tmpfs_file *file = &now->list.items[i];
		const struct tmpfs_file *was = file_find(before, file->device, file->inode);
		uint64_t from = was ? was->bytes : 0;

		/* It may have existed unread. */
		if ((!was && before->partial) || file->bytes < from ||
		    file->bytes - from <= most_grown)
			continue;
		if (!file->open && !(was && was->open) &&
		    !is_written(before, now, file->bytes - from))
			continue;
		most_grown = file->bytes - from;
		most = (struct tmpfs_growth){file, from};
	}
	return most;
}
