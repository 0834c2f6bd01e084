// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container_names.h"

#include <fcntl.h>
#include <limits.h>

#include "base/cleanup.h"
#include "proc/container_logs.h"
#include "proc/host_file.h"
#include "proc/oci_files.h"
#include "proc/process_list.h"

/* From a process up to the runtime that started its container. */
#define ANCESTORS_MAX 64

/* Where runtimes keep a directory per container id. */
static const char *const state_roots[] = {
	"/run/containerd/runc/k8s.io",
	"/run/crun",
	"/run/runc",
	"/run/docker/runtime-runc/moby",
	"/run/containerd/runc/moby",
	"/run/containerd/runc/default",
};
static const char *const state_files[] = {"state.json", "status"};

static bool is_complete(const struct container *container)
{
	return container->name && container->pod && container->namespace;
}

static bool is_inside(pid_t pid, const char *id)
{
	_cleanup_(cgroup_paths_free) struct cgroup_paths paths = {0};
	struct container_id found;

	return !cgroup_paths_read(pid, &paths) && container_path(&paths, &found) &&
	       !strcmp(found.id, id);
}

/* The first ancestor outside of the container; 0: none that we may see. */
static pid_t find_shim(pid_t pid, const char *id)
{
	struct process_entry entry;

	for (size_t i = 0; i < ANCESTORS_MAX && pid > 1 && !process_read(pid, &entry); i++) {
		pid = entry.parent;
		if (pid > 1 && !is_inside(pid, id))
			return pid;
	}
	return 0;
}

static void read_bundle_at(int directory, const char *path, bool trusted,
			   struct container *container)
{
	_cleanup_free_ char *text = NULL;
	size_t length;

	if (!host_file_read_at(directory, path, OCI_FILE_MAX_BYTES, &text, &length))
		oci_read_config(text, length, trusted, container);
}

/* Whether the last component of a directory's path is the id. */
static bool is_named(const char *link, const char *id)
{
	char path[PATH_MAX];
	ssize_t length = readlink(link, path, sizeof(path));
	size_t id_length = strlen(id);

	return length > (ssize_t)id_length && path[(size_t)length - id_length - 1] == '/' &&
	       !memcmp(path + length - id_length, id, id_length);
}

static void names_from_shim(pid_t pid, struct container *container)
{
	pid_t shim = find_shim(pid, container->id);
	char link[64], sibling[CONTAINER_ID_LENGTH + 32];
	_cleanup_close_ int directory = -1;

	if (!shim)
		return;
	snprintf(link, sizeof(link), "/proc/%d/cwd", shim);
	directory = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	read_bundle_at(directory, "config.json", is_named(link, container->id), container);
	snprintf(sibling, sizeof(sibling), "../%s/config.json", container->id);
	if (!is_complete(container))
		read_bundle_at(directory, sibling, true, container);
}

static void read_bundle(const char *bundle, struct container *container)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	size_t length;

	if (asprintf(&path, "%s/config.json", bundle) < 0) {
		path = NULL;
		return;
	}
	if (!host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length))
		oci_read_config(text, length, true, container);
}

static void read_state(const char *path, struct container *container)
{
	_cleanup_free_ char *text = NULL, *bundle = NULL;
	size_t length;

	if (host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length) ||
	    oci_read_state(text, length, container, &bundle))
		return;
	if (bundle && *bundle == '/' && !is_complete(container))
		read_bundle(bundle, container);
}

static void names_from_state(struct container *container)
{
	size_t count = ARRAY_SIZE(state_roots) * ARRAY_SIZE(state_files);

	for (size_t i = 0; i < count && !is_complete(container); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s/%s", state_roots[i / ARRAY_SIZE(state_files)],
			 container->id, state_files[i % ARRAY_SIZE(state_files)]);
		read_state(path, container);
	}
}

/* Docker has no pods: more than a name there is only where the kubelet runs upon it. */
static void names_from_docker(struct container *container)
{
	_cleanup_free_ char *text = NULL;
	char path[128];
	size_t length;

	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json", container->id);
	if (!host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length))
		docker_read_config(text, length, container);
}

/* Containers that are to be removed when they end are in the volatile list. */
static void names_from_storage(struct container *container)
{
	static const char *const lists[] = {
		"/var/lib/containers/storage/overlay-containers/containers.json",
		"/run/containers/storage/overlay-containers/volatile-containers.json",
		"/var/lib/containers/storage/vfs-containers/containers.json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists) && !container->name; i++) {
		_cleanup_free_ char *text = NULL;
		size_t length;

		if (!host_file_read(lists[i], OCI_FILE_MAX_BYTES, &text, &length))
			storage_read_containers(text, length, container);
	}
}

void container_names_find(pid_t pid, struct container *container)
{
	if (!is_complete(container))
		names_from_shim(pid, container);
	if (!is_complete(container))
		names_from_state(container);
	if (!is_complete(container))
		names_from_docker(container);
	if (!is_complete(container))
		container_logs_find(container);
	names_from_storage(container);
}
