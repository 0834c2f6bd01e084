// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container_names.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/cleanup.h"
#include "proc/container_logs.h"
#include "proc/host_file.h"
#include "proc/oci_files.h"
#include "proc/process_list.h"
#include "proc/root_only.h"

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

/*
 * What is found goes to where it belongs: root's word to the container, anything else to what is
 * merely claimed.
 */
struct search {
	struct container *container;
	struct container claimed;
	bool cgroup_is_roots;  /* only root could have given the cgroup its name */
	bool cgroup_is_hidden; /* that could not be seen */
};

static struct container *place_for(struct search *search, bool root_only)
{
	return root_only && search->cgroup_is_roots ? search->container : &search->claimed;
}

static void read_bundle_at(struct search *search, int directory, const char *path, bool named,
			   bool runtime_is_roots)
{
	_cleanup_free_ char *text = NULL;
	bool root_only;
	size_t length;

	if (!host_file_read_at(directory, path, OCI_FILE_MAX_BYTES, &text, &length, &root_only))
		oci_read_config(text, length, named,
				place_for(search, root_only && runtime_is_roots));
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

static void names_from_shim(pid_t pid, struct search *search)
{
	const struct container *container = search->container;
	pid_t shim = find_shim(pid, container->id);
	char link[64], sibling[CONTAINER_ID_LENGTH + 32];
	_cleanup_close_ int directory = -1;
	bool runtime_is_roots;

	if (!shim)
		return;
	runtime_is_roots = root_only_process(shim);
	/* A cgroup that we cannot look at is known by who started what is in it. */
	if (search->cgroup_is_hidden)
		search->cgroup_is_roots = runtime_is_roots;
	snprintf(link, sizeof(link), "/proc/%d/cwd", shim);
	directory = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	read_bundle_at(search, directory, "config.json", is_named(link, container->id),
		       runtime_is_roots);
	snprintf(sibling, sizeof(sibling), "../%s/config.json", container->id);
	if (!is_complete(container))
		read_bundle_at(search, directory, sibling, true, runtime_is_roots);
}

/* `root_only`: what named the bundle is. */
static void read_bundle(const char *bundle, bool root_only, struct search *search)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	bool bundle_is_roots;
	size_t length;

	if (asprintf(&path, "%s/config.json", bundle) < 0) {
		path = NULL;
		return;
	}
	if (!host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length, &bundle_is_roots))
		oci_read_config(text, length, true,
				place_for(search, root_only && bundle_is_roots));
}

static void read_state(const char *path, struct search *search)
{
	_cleanup_free_ char *text = NULL, *bundle = NULL;
	bool root_only;
	size_t length;

	if (host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length, &root_only) ||
	    oci_read_state(text, length, place_for(search, root_only), &bundle))
		return;
	if (bundle && *bundle == '/' && !is_complete(search->container))
		read_bundle(bundle, root_only, search);
}

static void names_from_state(struct search *search)
{
	const struct container *container = search->container;
	size_t count = ARRAY_SIZE(state_roots) * ARRAY_SIZE(state_files);

	for (size_t i = 0; i < count && !is_complete(container); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s/%s/%s", state_roots[i / ARRAY_SIZE(state_files)],
			 container->id, state_files[i % ARRAY_SIZE(state_files)]);
		read_state(path, search);
	}
}

/* Docker has no pods: more than a name there is only where the kubelet runs upon it. */
static void names_from_docker(struct search *search)
{
	_cleanup_free_ char *text = NULL;
	bool root_only;
	char path[128];
	size_t length;

	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json",
		 search->container->id);
	if (!host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length, &root_only))
		docker_read_config(text, length, place_for(search, root_only));
}

/* Containers that are to be removed when they end are in the volatile list. */
static void names_from_storage(struct search *search)
{
	static const char *const lists[] = {
		"/var/lib/containers/storage/overlay-containers/containers.json",
		"/run/containers/storage/overlay-containers/volatile-containers.json",
		"/var/lib/containers/storage/vfs-containers/containers.json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists) && !search->container->name; i++) {
		_cleanup_free_ char *text = NULL;
		bool root_only;
		size_t length;

		if (!host_file_read(lists[i], OCI_FILE_MAX_BYTES, &text, &length, &root_only))
			storage_read_containers(text, length, place_for(search, root_only));
	}
}

static void names_from_logs(struct search *search)
{
	container_logs_find(place_for(search, true), &search->claimed);
}

/* Names that are proven stand alone: what somebody claims beside them is of no interest. */
static void settle(struct search *search)
{
	struct container *container = search->container, *claimed = &search->claimed;
	bool named = container->name || container->pod;
	bool claims = claimed->name || claimed->pod;

	container_claim(container,
			!search->cgroup_is_roots ? CONTAINER_UNPROVEN
			: !named && claims	 ? CONTAINER_NAMES_UNPROVEN
						 : CONTAINER_PROVEN,
			claimed);
}

void container_names_find(pid_t pid, const struct cgroup_path *path, struct container *container)
{
	enum cgroup_makers makers =
		cgroup_makers_of(path, container_path_length(path->path, container->id));
	struct search search = {
		.container = container,
		.cgroup_is_roots = makers == CGROUP_ROOT_ONLY,
		.cgroup_is_hidden = makers == CGROUP_UNKNOWN,
	};

	memcpy(search.claimed.id, container->id, sizeof(container->id));
	memcpy(search.claimed.pod_uid, container->pod_uid, sizeof(container->pod_uid));
	if (!is_complete(container))
		names_from_shim(pid, &search);
	if (!is_complete(container))
		names_from_state(&search);
	if (!is_complete(container))
		names_from_docker(&search);
	if (!is_complete(container))
		names_from_logs(&search);
	names_from_storage(&search);
	settle(&search);
}
