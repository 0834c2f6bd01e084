// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/file_kinds.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/xattr.h>

#include "base/hash.h"
#include "base/cleanup.h"

#define DELETED " (deleted)"

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
	size_t length = strlen(text), tail = strlen(with);

	return length >= tail && !strcmp(text + length - tail, with);
}

/* /var/log/app.log and /var/log/app.log.1 are of one kind; a device is one by itself. */
static void path_kind(const char *target, char *name, size_t size)
{
	const char *slash = strrchr(target, '/');
	const char *deleted = ends(target, DELETED) ? DELETED : "";

	if (begins(target, "/memfd:"))
		snprintf(name, size, "memfd");
	else if (begins(target, "/dev/"))
		snprintf(name, size, "%s", target);
	else
		snprintf(name, size, "%.*s/*%s", (int)MIN(slash - target, (ptrdiff_t)size - 32),
			 target, deleted);
}

void file_kind_name(const char *target, char *name, size_t size)
{
	size_t length = strcspn(target, ":");

	if (*target == '/')
		path_kind(target, name, size);
	else if (begins(target, "anon_inode:"))
		snprintf(name, size, "%s", target + length + 1);
	else
		snprintf(name, size, "%.*s", (int)MIN(length, size), target);
}

/* What lsof asks, too: no look at /proc/net, which can be long. */
static void add_protocol(const char *path, char *name, size_t size)
{
	char protocol[32];
	ssize_t length = getxattr(path, "system.sockprotoname", protocol, sizeof(protocol) - 1);

	if (length <= 0)
		return;
	protocol[length] = '\0';
	snprintf(name, size, "socket (%s)", protocol);
}

static struct file_kind *kind_find(struct file_kinds *kinds, const char *name)
{
	struct file_kind *kind;

	if (kinds->list.count == FILE_KINDS_MAX)
		name = "others";
	for (size_t i = 0; i < kinds->list.count; i++) {
		if (!strcmp(kinds->list.items[i].name, name))
			return &kinds->list.items[i];
	}
	kind = vec_push(&kinds->list);
	if (!kind)
		return NULL;
	kind->name = strdup(name);
	if (kind->name)
		return kind;
	kinds->list.count--;
	return NULL;
}

bool file_kind_read(const char *path, char *name, size_t size, uint64_t *hash)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof(target) - 1);

	if (length < 0)
		return false;
	target[length] = '\0';
	if (hash)
		*hash = hash_text(target);
	file_kind_name(target, name, size);
	if (!strcmp(name, "socket"))
		add_protocol(path, name, size);
	return true;
}

static int look(struct file_kinds *kinds, pid_t pid, const char *descriptor, double weight)
{
	char path[64], name[FILE_KIND_SIZE];
	struct file_kind *kind;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, descriptor);
	if (!file_kind_read(path, name, sizeof(name), NULL)) /* closed meanwhile */
		return 0;
	kind = kind_find(kinds, name);
	if (!kind)
		return -ENOMEM;
	kind->open += weight;
	return 0;
}

int file_kinds_read(struct file_kinds *kinds, pid_t pid, double open_files)
{
	size_t every =
		open_files > FILE_KINDS_LOOKS ? (size_t)(open_files / FILE_KINDS_LOOKS) + 1 : 1;
	_cleanup_closedir_ DIR *directory = NULL;
	struct file_kinds read = {0};
	const struct dirent *entry;
	size_t met = 0, looks = 0;
	char path[32];
	int error = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!error && looks < 2 * FILE_KINDS_LOOKS && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.' || met++ % every)
			continue;
		error = look(&read, pid, entry->d_name, (double)every);
		looks++;
	}
	if (error)
		file_kinds_free(&read);
	else
		*kinds = read;
	return error;
}

void file_kinds_free(struct file_kinds *kinds)
{
	for (size_t i = 0; i < kinds->list.count; i++)
		free(kinds->list.items[i].name);
	vec_free(&kinds->list);
}

double file_kinds_open(const struct file_kinds *kinds, const char *name)
{
	for (size_t i = 0; i < kinds->list.count; i++) {
		if (!strcmp(kinds->list.items[i].name, name))
			return kinds->list.items[i].open;
	}
	return 0;
}
