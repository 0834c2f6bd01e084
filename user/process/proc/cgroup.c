// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "process/proc/host_file.h"
#include "process/proc/mounts.h"

/* A dozen hierarchies of v1, and v2, with a path of one page each. */
#define TEXT_MAX_BYTES (64 * 4096)

static bool is_known(const struct cgroup_paths *paths, unsigned long hierarchy)
{
	for (size_t i = 0; i < paths->list.count; i++) {
		if (paths->list.items[i].hierarchy == hierarchy)
			return true;
	}
	return false;
}

/* The kernel's mark for a cgroup that was removed. */
static bool cut_deleted(char *path)
{
	static const char mark[] = " (deleted)";
	size_t length = strlen(path);

	if (length < sizeof(mark) || strcmp(path + length - strlen(mark), mark) != 0)
		return false;
	path[length - strlen(mark)] = '\0';
	return true;
}

/* HIERARCHY:CONTROLLERS:PATH */
static int add_line(const char *line, size_t length, struct cgroup_paths *paths)
{
	const char *end = line + length, *controllers, *path;
	struct cgroup_path *added;
	unsigned long hierarchy;
	char *digits_end;

	if (!length || *line < '0' || *line > '9')
		return -EBADMSG;
	hierarchy = strtoul(line, &digits_end, 10);
	controllers = digits_end + 1;
	path = *digits_end == ':' ? memchr(controllers, ':', (size_t)(end - controllers)) : NULL;
	if (!path || path + 1 == end || path[1] != '/' || hierarchy > UINT32_MAX ||
	    is_known(paths, hierarchy))
		return -EBADMSG;
	added = vec_push(&paths->list);
	if (!added)
		return -ENOMEM;
	added->hierarchy = (uint32_t)hierarchy;
	added->controllers = strndup(controllers, (size_t)(path - controllers));
	added->path = strndup(path + 1, (size_t)(end - path - 1));
	if (!added->controllers || !added->path)
		return -ENOMEM;
	added->deleted = cut_deleted(added->path);
	return 0;
}

int cgroup_paths_parse(const char *text, struct cgroup_paths *paths)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths parsed = {0};
	int error = 0;

	while (*text && !error) {
		size_t length = strcspn(text, "\n");

		error = add_line(text, length, &parsed);
		text += length + (text[length] == '\n');
	}
	if (error)
		return error;
	*paths = parsed;
	parsed = (struct cgroup_paths){0};
	return 0;
}

int cgroup_paths_read(pid_t pid, struct cgroup_paths *paths)
{
	_cleanup_free_ char *text = NULL;
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	error = small_file_read(path, TEXT_MAX_BYTES, &text);
	if (error)
		return error == -ENOENT ? -ESRCH : error;
	return cgroup_paths_parse(text, paths);
}

void cgroup_paths_free(struct cgroup_paths *paths)
{
	for (size_t i = 0; i < paths->list.count; i++) {
		free(paths->list.items[i].controllers);
		free(paths->list.items[i].path);
	}
	vec_free(&paths->list);
}

static bool begins_with(const char *path, const char *group, size_t length)
{
	return !strncmp(path, group, length) && (!path[length] || path[length] == '/');
}

bool cgroup_is_within(const char *path, const char *group)
{
	size_t length = strlen(group);

	while (length && group[length - 1] == '/')
		length--;
	if (!length)
		return *group == '/';
	if (*group == '/')
		return begins_with(path, group, length);
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		if (begins_with(slash + 1, group, length))
			return true;
	}
	return false;
}

/* One line of mountinfo: ID PARENT MAJOR:MINOR ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER */
struct mount_line {
	char root[4096], point[4096], type[32];
};

static bool mount_line_parse(const char *line, struct mount_line *mount)
{
	const char *separator = strstr(line, " - ");
	const char *end = line + strcspn(line, "\n");

	return separator && separator < end &&
	       sscanf(line, "%*u %*u %*s %4095s %4095s ", mount->root, mount->point) == 2 &&
	       sscanf(separator, " - %31s", mount->type) == 1;
}

static bool has_word(const char *words, const char *word, size_t length)
{
	for (const char *at = strstr(words, word); at; at = strstr(at + 1, word)) {
		if ((at == words || at[-1] == ',') && (!at[length] || at[length] == ','))
			return true;
	}
	return false;
}

/* Returns whether the line is of the path's hierarchy. */
static bool is_mount_of(const char *line, const struct mount_line *mount,
			const struct cgroup_path *path)
{
	const char *separator = strstr(line, " - ");
	_cleanup_free_ char *first = strndup(path->controllers, strcspn(path->controllers, ","));
	char super[256];

	if (!path->hierarchy)
		return !strcmp(mount->type, "cgroup2");
	return first && !strcmp(mount->type, "cgroup") &&
	       sscanf(separator, " - %*s %*s %255s", super) == 1 &&
	       has_word(super, first, strlen(first));
}

/* Returns where the group is mounted, as seen by mountinfo's owner; NULL: nowhere. */
static char *mounted_at(const struct cgroup_path *path, size_t length, const char *mountinfo)
{
	_cleanup_free_ struct mount_line *mount = malloc(sizeof(*mount));
	char *directory = NULL;

	if (!mount || !strncmp(path->path, "/..", 3))
		return NULL;
	for (const char *line = mountinfo; *line; line += strcspn(line, "\n")) {
		size_t root;

		line += *line == '\n';
		if (!mount_line_parse(line, mount) || !is_mount_of(line, mount, path))
			continue;
		root = strcmp(mount->root, "/") ? strlen(mount->root) : 0;
		if (root > length || (root && !begins_with(path->path, mount->root, root)))
			continue;
		return asprintf(&directory, "%s%.*s", mount->point, (int)(length - root),
				path->path + root) < 0
			       ? NULL
			       : directory;
	}
	return NULL;
}

/*
 * Opens it below leakmon's own root, or that of process 1: see host_file.h. Returns an O_PATH
 * descriptor, or -1.
 */
static int open_group(const struct cgroup_path *path, size_t length)
{
	static const char *const views[][2] = {{"/proc/self/mountinfo", ""},
					       {"/proc/1/mountinfo", "/proc/1/root"}};

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		_cleanup_free_ char *mountinfo = NULL, *directory = NULL, *name = NULL;
		int fd;

		if (small_file_read(views[i][0], MOUNTINFO_MAX_BYTES, &mountinfo))
			continue;
		directory = mounted_at(path, length, mountinfo);
		if (!directory || asprintf(&name, "%s%s", views[i][1], directory) < 0)
			continue;
		fd = open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0)
			return fd;
	}
	return -1;
}

static bool is_cgroup(int fd)
{
	struct statfs status;

	return !fstatfs(fd, &status) &&
	       (status.f_type == CGROUP2_SUPER_MAGIC || status.f_type == CGROUP_SUPER_MAGIC);
}

/* Returns whether only root may create groups here, or put processes into it. */
static bool is_roots(int fd)
{
	struct stat group, members;

	return !fstat(fd, &group) && root_only_status(&group) &&
	       (fstatat(fd, "cgroup.procs", &members, AT_SYMLINK_NOFOLLOW) ||
		root_only_status(&members));
}

enum cgroup_makers cgroup_makers_of(const struct cgroup_path *path, size_t length)
{
	bool unified = !path->hierarchy;
	_cleanup_close_ int at = open_group(path, unified ? length : strlen(path->path));
	bool first = true;

	if (at < 0 || !is_cgroup(at))
		return CGROUP_UNKNOWN;
	while (is_cgroup(at)) {
		struct stat status, above;
		int parent;

		if (!(first && unified) && !is_roots(at))
			return CGROUP_OTHERS;
		first = false;
		parent = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (parent < 0 || fstat(at, &status) || fstat(parent, &above)) {
			cleanup_close(&parent);
			return CGROUP_UNKNOWN;
		}
		close(at);
		at = parent;
		if (status.st_dev == above.st_dev && status.st_ino == above.st_ino)
			break;
	}
	return CGROUP_ROOT_ONLY;
}

/* Returns the part of argument below the mount point, or NULL. */
static const char *below(const char *argument, const struct mount_line *mount)
{
	size_t length = strlen(mount->point);

	if (strcmp(mount->type, "cgroup") != 0 && strcmp(mount->type, "cgroup2") != 0)
		return NULL;
	return begins_with(argument, mount->point, length) ? argument + length : NULL;
}

static char *joined(const char *root, const char *rest)
{
	char *path = NULL;

	if (!strcmp(root, "/"))
		root = "";
	if (!*root && !*rest)
		rest = "/";
	return asprintf(&path, "%s%s", root, rest) < 0 ? NULL : path;
}

char *cgroup_path_from_argument(const char *argument, const char *mountinfo)
{
	_cleanup_free_ struct mount_line *mount = malloc(sizeof(*mount));

	if (!mount)
		return NULL;
	for (const char *line = mountinfo; *line && *argument == '/';) {
		const char *rest = mount_line_parse(line, mount) ? below(argument, mount) : NULL;

		if (rest)
			return joined(mount->root, rest);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return strdup(argument);
}

/* -------- the group to which memory is charged */

char *cgroup_memory_path(pid_t pid, bool *unified)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};
	const struct cgroup_path *found = NULL;

	if (cgroup_paths_read(pid, &paths))
		return NULL;
	/* The controller belongs to one hierarchy: v1's if there is one. */
	for (size_t i = 0; i < paths.list.count; i++) {
		const struct cgroup_path *path = &paths.list.items[i];

		if (path->hierarchy == 0 ? !found : !strcmp(path->controllers, "memory"))
			found = path;
	}
	if (!found)
		return NULL;
	*unified = found->hierarchy == 0;
	return strdup(found->path);
}

const struct cgroup_mount cgroup_mounts[CGROUP_MOUNTS] = {
	{"/sys/fs/cgroup", true},
	{"/sys/fs/cgroup/unified", true},
	{"/sys/fs/cgroup/memory", false},
};

/*
 * Reads the limit of the group named by the first `length` bytes of the path. CGROUP_NOT_KNOWN: no
 * limit is set; -ENOENT: the file is unreadable.
 */
static int limit_of(const char *point, bool unified, const char *path, size_t length,
		    uint64_t *limit)
{
	char file[4096];
	int fd, size = snprintf(file, sizeof(file), "%s%.*s/%s", point, (int)length, path,
				unified ? "memory.max" : "memory.limit_in_bytes");
	char text[32];
	ssize_t got;

	if (size < 0 || (size_t)size >= sizeof(file))
		return -ENOENT;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	cleanup_close(&fd);
	if (got <= 0)
		return -ENOENT;
	text[got] = '\0';
	*limit = CGROUP_NOT_KNOWN;
	if (*text >= '0' && *text <= '9' && strtoull(text, NULL, 10) <= CGROUP_LIMIT_MAX)
		*limit = strtoull(text, NULL, 10);
	return 0;
}

/* The group's own file must exist; v2's root has none. */
static bool read_limits(struct cgroup_place *place, const char *point)
{
	size_t length = strlen(place->path);
	uint64_t limit, least;
	size_t of = length;

	if (limit_of(point, place->unified, place->path, length, &least))
		return false;
	while (length) {
		do
			length--;
		while (length && place->path[length] != '/');
		if (limit_of(point, place->unified, place->path, length, &limit) || limit >= least)
			continue;
		least = limit;
		of = length;
	}
	place->limit = least;
	place->limit_length = of;
	place->known = true;
	return true;
}

void cgroup_place_set(struct cgroup_place *place, const char *path, bool unified)
{
	if (!place->path || strcmp(place->path, path) != 0 || place->unified != unified) {
		cgroup_place_free(place);
		place->path = strdup(path);
		place->unified = unified;
	}
	/* Seen from another cgroup namespace it begins with /.. */
	if (!place->path || strstr(place->path, "/.."))
		return;
	for (size_t i = 0; i < CGROUP_MOUNTS; i++) {
		if (cgroup_mounts[i].unified == unified &&
		    read_limits(place, cgroup_mounts[i].point))
			return;
	}
}

void cgroup_place_read(struct cgroup_place *place, pid_t pid)
{
	bool unified = false;
	_cleanup_free_ char *path = cgroup_memory_path(pid, &unified);

	/* v1 shows the root for an ending process: the earlier place stays. */
	if (path && (strcmp(path, "/") != 0 || !place->path))
		cgroup_place_set(place, path, unified);
}

void cgroup_place_free(struct cgroup_place *place)
{
	free(place->path);
	*place = (struct cgroup_place){0};
}
