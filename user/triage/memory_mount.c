// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/memory_mount.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/small_file.h"

#define MOUNTINFO_MAX_BYTES (1u << 20)

struct mount_line {
	char root[PATH_MAX], point[PATH_MAX], type[32], super[256];
};

/* ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER (man 5 proc) */
static bool mount_line_parse(const char *line, struct mount_line *mount)
{
	const char *separator = strstr(line, " - "), *end = line + strcspn(line, "\n");

	_Static_assert(PATH_MAX == 4096, "the widths below");
	return separator && separator < end &&
	       sscanf(line, "%*u %*u %*s %4095s %4095s ", mount->root, mount->point) == 2 &&
	       sscanf(separator, " - %31s %*s %255s", mount->type, mount->super) == 2;
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
		if ((at == words || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

static int mount_take(struct memory_mount *mount, const struct mount_line *line, bool unified)
{
	memory_mount_free(mount);
	mount->point = strdup(line->point);
	mount->root = strdup(line->root);
	mount->unified = unified;
	return mount->point && mount->root ? 0 : -ENOMEM;
}

/* In a hybrid set-up both are there, and memory is with v1. */
static int find(struct memory_mount *mount, const char *mountinfo)
{
	_cleanup_free_ struct mount_line *parsed = malloc(sizeof(*parsed));
	int error = parsed ? 0 : -ENOMEM;

	for (const char *line = mountinfo; *line && !error;) {
		if (mount_line_parse(line, parsed)) {
			if (!strcmp(parsed->type, "cgroup") && has_word(parsed->super, "memory"))
				return mount_take(mount, parsed, false);
			if (!strcmp(parsed->type, "cgroup2"))
				error = mount_take(mount, parsed, true);
		}
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return error;
}

int memory_mount_find(struct memory_mount *mount)
{
	_cleanup_free_ char *mountinfo = NULL;

	*mount = (struct memory_mount){0};
	if (small_file_read("/proc/self/mountinfo", MOUNTINFO_MAX_BYTES, &mountinfo))
		return 0;
	return find(mount, mountinfo);
}

void memory_mount_free(struct memory_mount *mount)
{
	free(mount->point);
	free(mount->root);
	*mount = (struct memory_mount){0};
}

const char *memory_mount_path(const struct cgroup_paths *paths)
{
	const char *unified = NULL;

	for (size_t i = 0; i < paths->list.count; i++) {
		if (has_word(paths->list.items[i].controllers, "memory"))
			return paths->list.items[i].path;
		if (!paths->list.items[i].hierarchy)
			unified = paths->list.items[i].path;
	}
	return unified;
}

bool memory_mount_directory(const struct memory_mount *mount, const char *path,
			    char directory[PATH_MAX])
{
	size_t length;
	int size;

	if (!mount->point)
		return false;
	length = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
	if (!strncmp(path, "/..", 3) || strncmp(path, mount->root, length) != 0)
		return false;
	size = snprintf(directory, PATH_MAX, "%s%s", mount->point, path + length);
	return size > 0 && size < PATH_MAX;
}
