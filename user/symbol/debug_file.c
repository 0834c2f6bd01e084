// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debug_file.h"

#include <errno.h>
#include <limits.h>

#include "base/cleanup.h"
#include "elf/elf_sections.h"
#include "proc/target_file.h"

#define DEBUG_ROOT "/usr/lib/debug"

static bool has_build_id(int fd, const char *build_id)
{
	_cleanup_(elf_file_close) struct elf_file file = { .fd = -1 };

	return !elf_file_open(fd, &file) && !strcmp(file.build_id, build_id);
}

/* The target's own root first; a container seldom has debug files, the host may. */
static int open_verified(int task, const char *path, const char *build_id)
{
	int roots[] = { task, 0 };

	for (size_t i = task ? 0 : 1; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = target_file_open_path(roots[i], path);

		if (fd >= 0 && has_build_id(fd, build_id))
			return TAKE_FD(fd);
	}
	return -ENOENT;
}

static int open_by_build_id(int task, const char *build_id)
{
	char path[PATH_MAX];

	if (strlen(build_id) < 4)
		return -ENOENT;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	return open_verified(task, path, build_id);
}

/* The section starts with the name, NUL-terminated; a checksum follows, which build-ids replace. */
static int read_link_name(int fd, char name[NAME_MAX + 1])
{
	_cleanup_(elf_file_close) struct elf_file file = { .fd = -1 };
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	const struct elf_section *section;
	ssize_t got;

	if (elf_file_open(fd, &file) || elf_sections_read(&file, &sections))
		return -ENOENT;
	section = elf_sections_find(&sections, ".gnu_debuglink");
	if (!section)
		return -ENOENT;
	got = elf_file_read(&file, section->offset, name, MIN(section->size, NAME_MAX));
	if (got <= 0)
		return -ENOENT;
	name[got] = '\0';
	return name[0] && !strchr(name, '/') ? 0 : -ENOENT;
}

static int open_by_link(const struct debug_request *request)
{
	static const char *const formats[][2] = {
		{ "", "" },
		{ "", ".debug/" },
		{ DEBUG_ROOT, "" },
	};
	const char *slash = strrchr(request->path, '/');
	char name[NAME_MAX + 1], path[PATH_MAX];

	if (request->path[0] != '/' || read_link_name(request->fd, name))
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		int length = snprintf(path, sizeof(path), "%s%.*s%s%s", formats[i][0],
				      (int)(slash + 1 - request->path), request->path,
				      formats[i][1], name);
		int fd = length < (int)sizeof(path) ?
				 open_verified(request->task, path, request->build_id) :
				 -ENOENT;

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

int debug_file_open(const struct debug_request *request)
{
	int fd;

	if (!request->build_id[0])
		return -ENOENT;
	fd = open_by_build_id(request->task, request->build_id);
	return fd >= 0 ? fd : open_by_link(request);
}

int debug_file_open_alt(int task, const char *name, const char *build_id)
{
	const char *file = strstr(name, "/.dwz/");
	char path[PATH_MAX];
	int fd = open_by_build_id(task, build_id);

	if (fd >= 0)
		return fd;
	if (name[0] == '/')
		return open_verified(task, name, build_id);
	if (!file || snprintf(path, sizeof(path), DEBUG_ROOT "%s", file) >= (int)sizeof(path))
		return -ENOENT;
	return open_verified(task, path, build_id);
}
