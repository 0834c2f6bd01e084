// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/debug_file.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/questions.h"
#include "proc/target_file.h"
#include "symbol/debuginfod.h"

#define DEBUG_ROOT "/usr/lib/debug"

/* Whoever made it or sent it: another file's lines would be lies. */
static bool is_the_one(const struct debug_request *request, int fd, struct debug_description *found)
{
	return !parse_description(request->worker, fd, found) &&
	       !strcmp(found->build_id, request->build_id);
}

/* The target's own root first; a container seldom has debug files, the host may. */
static int open_verified(const struct debug_request *request, const char *path,
			 struct debug_description *found)
{
	int roots[] = {request->task, 0};

	for (size_t i = request->task ? 0 : 1; i < ARRAY_SIZE(roots); i++) {
		_cleanup_close_ int fd = target_file_open_path(roots[i], path);

		if (fd >= 0 && is_the_one(request, fd, found))
			return TAKE_FD(fd);
	}
	return -ENOENT;
}

static int open_by_build_id(const struct debug_request *request, struct debug_description *found)
{
	const char *build_id = request->build_id;
	char path[PATH_MAX];

	if (strlen(build_id) < 4)
		return -ENOENT;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	return open_verified(request, path, found);
}

static int open_by_link(const struct debug_request *request, struct debug_description *found)
{
	static const char *const formats[][2] = {
		{"", ""},
		{"", ".debug/"},
		{DEBUG_ROOT, ""},
	};
	const char *slash = strrchr(request->path, '/');
	char path[PATH_MAX];

	if (request->path[0] != '/' || !request->link[0])
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		int length = snprintf(path, sizeof(path), "%s%.*s%s%s", formats[i][0],
				      (int)(slash + 1 - request->path), request->path,
				      formats[i][1], request->link);
		int fd = length < (int)sizeof(path) ? open_verified(request, path, found) : -ENOENT;

		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

int debug_file_fetch(const struct debug_request *request, struct debug_description *found)
{
	_cleanup_close_ int fd = -1;

	if (!request->debuginfod || !request->build_id[0])
		return -ENOENT;
	fd = debuginfod_open(request->debuginfod, request->build_id, request->path);
	if (fd < 0)
		return TAKE_FD(fd);
	if (is_the_one(request, fd, found))
		return TAKE_FD(fd);
	log_warning("debuginfod: what came as the debug file of %s is another one, or none: it is "
		    "not used",
		    request->path);
	return -ENOENT;
}

int debug_file_open(const struct debug_request *request, struct debug_description *found)
{
	int fd;

	if (!request->build_id[0])
		return -ENOENT;
	fd = open_by_build_id(request, found);
	if (fd < 0)
		fd = open_by_link(request, found);
	return fd >= 0 ? fd : debug_file_fetch(request, found);
}

static int open_alternate(const struct debug_request *request, struct debug_description *found)
{
	const char *file = strstr(request->link, "/.dwz/");
	char path[PATH_MAX];
	int fd = open_by_build_id(request, found);

	if (fd >= 0)
		return fd;
	if (request->link[0] == '/')
		return open_verified(request, request->link, found);
	if (!file || snprintf(path, sizeof(path), DEBUG_ROOT "%s", file) >= (int)sizeof(path))
		return -ENOENT;
	return open_verified(request, path, found);
}

int debug_file_open_alternate(const struct debug_request *request)
{
	struct debug_description ignored;
	int fd = open_alternate(request, &ignored);

	return fd >= 0 ? fd : debug_file_fetch(request, &ignored);
}
