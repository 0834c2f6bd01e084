// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the readers of cgroup text: the input is /proc/PID/cgroup, and again
 * /proc/self/mountinfo, with its first line as an operator's input.
 *
 * Seeds: those of v1, v2 and hybrid machines, and of the runtimes' paths.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/container.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_id(const char *path)
{
	struct container_id id = {0};

	if (!container_id_from_path(path, &id)) {
		check(!id.id[0] && !id.pod_uid[0]);
		return;
	}
	check(strspn(id.id, "0123456789abcdef") == CONTAINER_ID_LENGTH &&
	      strlen(id.id) == CONTAINER_ID_LENGTH && strstr(path, id.id));
	check(memchr(id.pod_uid, 0, sizeof(id.pod_uid)) != NULL);
}

static void check_paths(const struct cgroup_paths *paths)
{
	struct container_id id;

	for (size_t i = 0; i < paths->list.count; i++) {
		const struct cgroup_path *path = &paths->list.items[i];

		check(path->path[0] == '/' && !strchr(path->path, '\n'));
		check(cgroup_is_within(path->path, path->path));
		check(cgroup_is_within(path->path, "/"));
		check_id(path->path);
		for (size_t j = 0; j < i; j++)
			check(paths->list.items[j].hierarchy != path->hierarchy);
	}
	container_path(paths, &id);
}

static void check_argument(char *text)
{
	char *mountinfo = text + strcspn(text, "\n");
	_cleanup_free_ char *path = NULL;

	if (*mountinfo)
		*mountinfo++ = '\0';
	path = cgroup_path_from_argument(text, mountinfo);
	check(path != NULL);
	cgroup_is_within(path, text);
	cgroup_is_within(text, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = strndup((const char *)data, size);
	struct cgroup_paths paths = {0};

	if (!text)
		return 0;
	if (!cgroup_paths_parse(text, &paths))
		check_paths(&paths);
	else
		check(!paths.list.count);
	cgroup_paths_free(&paths);
	check_argument(text);
	return 0;
}
