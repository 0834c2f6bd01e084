// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/proc/container_names.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "process/proc/host_file.h"
#include "process/proc/process_list.h"

static void cleanup_json(json_t *const *value)
{
	json_decref(*value);
}

#define _cleanup_json_ _cleanup_(cleanup_json)

/* Annotations of containerd and CRI-O. */
static const struct {
	const char *key;
	size_t offset;
} names[] = {
	{"io.kubernetes.cri.container-name", offsetof(struct container, name)},
	{"io.kubernetes.cri.sandbox-name", offsetof(struct container, pod)},
	{"io.kubernetes.cri.sandbox-namespace", offsetof(struct container, namespace)},
	{"io.kubernetes.container.name", offsetof(struct container, name)},
	{"io.kubernetes.pod.name", offsetof(struct container, pod)},
	{"io.kubernetes.pod.namespace", offsetof(struct container, namespace)},
};

static const char *const uid_keys[] = {"io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid"};

/* `key` is not terminated. */
static bool is_key(const char *wanted, const char *key, size_t length)
{
	return strlen(wanted) == length && !memcmp(wanted, key, length);
}

static void take_annotation(const char *key, size_t key_length, const char *value, size_t length,
			    struct container *container)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (is_key(names[i].key, key, key_length))
			container_name_set((char **)((char *)container + names[i].offset), value,
					   length);
	}
	for (size_t i = 0; i < ARRAY_SIZE(uid_keys); i++) {
		if (is_key(uid_keys[i], key, key_length) && !container->pod_uid[0] &&
		    length < sizeof(container->pod_uid))
			memcpy(container->pod_uid, value, length + 1);
	}
}

static void take_annotations(json_t *annotations, struct container *container)
{
	const char *key;
	json_t *value;

	json_object_foreach(annotations, key, value)
	{
		if (json_is_string(value))
			take_annotation(key, strlen(key), json_string_value(value),
					json_string_length(value), container);
	}
}

static json_t *load_object(const char *text, size_t length)
{
	json_t *root = json_loadb(text, length, 0, NULL);

	if (json_is_object(root))
		return root;
	json_decref(root);
	return NULL;
}

int oci_read_config(const char *text, size_t length, bool trusted, struct container *container)
{
	_cleanup_json_ json_t *root = load_object(text, length);
	const char *cgroup;

	if (!root)
		return -EINVAL;
	cgroup = json_string_value(json_object_get(json_object_get(root, "linux"), "cgroupsPath"));
	if (!trusted && (!cgroup || !strstr(cgroup, container->id)))
		return -ENOENT;
	take_annotations(json_object_get(root, "annotations"), container);
	return 0;
}

/* runc writes an annotation as "key=value", and the bundle's path as one more. */
static char *take_label(const char *label, struct container *container)
{
	const char *value = strchr(label, '=');
	size_t key_length = value ? (size_t)(value - label) : 0;

	if (!value)
		return NULL;
	value++;
	if (is_key("bundle", label, key_length))
		return strndup(value, PATH_MAX);
	take_annotation(label, key_length, value, strlen(value), container);
	return NULL;
}

int oci_read_state(const char *text, size_t length, struct container *container, char **bundle)
{
	_cleanup_json_ json_t *root = load_object(text, length);
	const char *path = json_string_value(json_object_get(root, "bundle"));
	json_t *labels = json_object_get(json_object_get(root, "config"), "labels"), *label;
	_cleanup_free_ char *found = path ? strndup(path, PATH_MAX) : NULL;
	size_t i;

	if (!root)
		return -EINVAL;
	json_array_foreach(labels, i, label)
	{
		const char *line = json_string_value(label);
		char *named = line ? take_label(line, container) : NULL;

		if (named) {
			free(found);
			found = named;
		}
	}
	*bundle = TAKE_PTR(found);
	return 0;
}

/* Returns the length of name without `end`; 0 if it does not end with it. */
static size_t length_before(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	if (length <= end_length || strcmp(name + length - end_length, end) != 0)
		return 0;
	return length - end_length;
}

int docker_read_config(const char *text, size_t length, struct container *container)
{
	_cleanup_json_ json_t *root = load_object(text, length);
	const char *id = json_string_value(json_object_get(root, "ID"));
	const char *name = json_string_value(json_object_get(root, "Name"));

	if (!root)
		return -EINVAL;
	if (!id || strcmp(id, container->id) != 0)
		return -ENOENT;
	take_annotations(json_object_get(json_object_get(root, "Config"), "Labels"), container);
	if (name && *name == '/')
		name++;
	if (name)
		container_name_set(&container->name, name, strlen(name));
	return 0;
}

char *docker_find_config(const char *text, size_t length, const char *id)
{
	_cleanup_json_ json_t *root = load_object(text, length);
	char end[CONTAINER_ID_LENGTH + 32];
	json_t *mount;
	size_t i;

	snprintf(end, sizeof(end), "/containers/%s/hostname", id);
	json_array_foreach(json_object_get(root, "mounts"), i, mount)
	{
		const char *source = json_string_value(json_object_get(mount, "source"));
		size_t before = source ? length_before(source, end) : 0;
		char *path;

		if (before && *source == '/')
			return asprintf(&path, "%.*s/containers/%s/config.v2.json", (int)before,
					source, id) < 0
				       ? NULL
				       : path;
	}
	return NULL;
}

/* The first name; the others are aliases. */
static void take_first_name(const json_t *entry, struct container *container)
{
	const json_t *name = json_array_get(json_object_get(entry, "names"), 0);

	if (json_is_string(name))
		container_name_set(&container->name, json_string_value(name),
				   json_string_length(name));
}

int storage_read_containers(const char *text, size_t length, struct container *container)
{
	_cleanup_json_ json_t *root = json_loadb(text, length, 0, NULL);
	json_t *entry;
	size_t i;

	if (!json_is_array(root))
		return -EINVAL;
	json_array_foreach(root, i, entry)
	{
		const char *id = json_string_value(json_object_get(entry, "id"));

		if (!id || strcmp(id, container->id) != 0)
			continue;
		take_first_name(entry, container);
		return 0;
	}
	return -ENOENT;
}

/* A node has a few hundred; a larger directory is not read to its end. */
#define ENTRIES_MAX 16384
#define LINKS "/var/log/containers"
#define PODS "/var/log/pods"

bool container_logs_take_link(const char *name, struct container *container)
{
	char end[CONTAINER_ID_LENGTH + 8];
	const char *namespace, *own;
	size_t length;

	snprintf(end, sizeof(end), "-%s.log", container->id);
	length = length_before(name, end);
	/* Kubernetes names never contain underscores. */
	namespace = length ? memchr(name, '_', length) : NULL;
	own = namespace ? memchr(namespace + 1, '_', length - (size_t)(namespace + 1 - name))
			: NULL;
	if (!own)
		return false;
	container_name_set(&container->pod, name, (size_t)(namespace - name));
	container_name_set(&container->namespace, namespace + 1, (size_t)(own - namespace - 1));
	container_name_set(&container->name, own + 1, length - (size_t)(own + 1 - name));
	return true;
}

bool container_logs_take_pod(const char *name, struct container *container)
{
	char end[POD_UID_MAX_LENGTH + 2];
	const char *pod;
	size_t length;

	if (!container->pod_uid[0])
		return false;
	snprintf(end, sizeof(end), "_%s", container->pod_uid);
	length = length_before(name, end);
	pod = length ? memchr(name, '_', length) : NULL;
	if (!pod)
		return false;
	container_name_set(&container->namespace, name, (size_t)(pod - name));
	container_name_set(&container->pod, pod + 1, length - (size_t)(pod + 1 - name));
	return true;
}

/* From a process up to the runtime that started its container. */
#define ANCESTORS_MAX 64

/* Directories in which runtimes keep one directory per container id. */
static const char *const state_roots[] = {
	"/run/containerd/runc/k8s.io",
	"/run/crun",
	"/run/runc",
	"/run/docker/runtime-runc/moby",
	"/run/containerd/runc/moby",
	"/run/containerd/runc/default",
};

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

/* Returns the first ancestor outside the container; 0: none visible. */
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

/* Sorts findings: root's word goes to the container, anything else to its claims. */
struct search {
	struct container *container;
	struct container claimed;
	bool cgroup_is_roots;  /* only root could have given the cgroup its name */
	bool cgroup_is_hidden; /* that was impossible to check */
};

static struct container *place_for(struct search *search, bool root_only)
{
	return root_only && search->cgroup_is_roots ? search->container : &search->claimed;
}

/* `trusted`: the source of the record's path. */
static void read_record(struct search *search, const char *path, bool trusted,
			int (*read)(const char *, size_t, struct container *))
{
	_cleanup_free_ char *text = NULL;
	bool root_only;
	size_t length;

	if (!host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length, &root_only))
		read(text, length, place_for(search, root_only && trusted));
}

/*
 * `namer_is_roots`: the source of the bundle's path. `directory`: -1 for an absolute path. A Docker
 * bundle has no names, but the path of the record that has them.
 */
static void read_bundle(struct search *search, int directory, const char *path, bool named,
			bool namer_is_roots)
{
	_cleanup_free_ char *text = NULL, *record = NULL;
	bool root_only;
	size_t length;
	int error = directory < 0
			    ? host_file_read(path, OCI_FILE_MAX_BYTES, &text, &length, &root_only)
			    : host_file_read_at(directory, path, OCI_FILE_MAX_BYTES, &text, &length,
						&root_only);
	bool trusted = !error && root_only && namer_is_roots;

	if (error || oci_read_config(text, length, named, place_for(search, trusted)))
		return;
	record = docker_find_config(text, length, search->container->id);
	if (record)
		read_record(search, record, trusted, docker_read_config);
}

/* Returns whether the last component of a directory's path is the id. */
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
	/* If the cgroup cannot be checked, the shim that started its processes decides. */
	if (search->cgroup_is_hidden)
		search->cgroup_is_roots = runtime_is_roots;
	snprintf(link, sizeof(link), "/proc/%d/cwd", shim);
	directory = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (directory < 0)
		return;
	read_bundle(search, directory, "config.json", is_named(link, container->id),
		    runtime_is_roots);
	snprintf(sibling, sizeof(sibling), "../%s/config.json", container->id);
	if (!is_complete(container))
		read_bundle(search, directory, sibling, true, runtime_is_roots);
}

int oci_state_load(const char *root, const char *id, char **text, size_t *length, bool *root_only)
{
	static const char *const files[] = {"state.json", "status"};
	char path[PATH_MAX];
	int error = -ENOENT;

	for (size_t i = 0; error && i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", root, id, files[i]);
		error = host_file_read(path, OCI_FILE_MAX_BYTES, text, length, root_only);
	}
	return error;
}

static void names_from_state(struct search *search)
{
	const struct container *container = search->container;

	for (size_t i = 0; i < ARRAY_SIZE(state_roots) && !is_complete(container); i++) {
		_cleanup_free_ char *text = NULL, *bundle = NULL;
		char path[PATH_MAX];
		bool root_only;
		size_t length;

		if (oci_state_load(state_roots[i], container->id, &text, &length, &root_only) ||
		    oci_read_state(text, length, place_for(search, root_only), &bundle) ||
		    !bundle || *bundle != '/' || is_complete(container))
			continue;
		if (snprintf(path, sizeof(path), "%s/config.json", bundle) < (int)sizeof(path))
			read_bundle(search, -1, path, true, root_only);
	}
}

/* Docker has no pods: it has more than a name only below the kubelet. */
static void names_from_docker(struct search *search)
{
	char path[128];

	snprintf(path, sizeof(path), "/var/lib/docker/containers/%s/config.v2.json",
		 search->container->id);
	read_record(search, path, true, docker_read_config);
}

/* Containers to be removed when they end are in the volatile list. */
static void names_from_storage(struct search *search)
{
	static const char *const lists[] = {
		"/var/lib/containers/storage/overlay-containers/containers.json",
		"/run/containers/storage/overlay-containers/volatile-containers.json",
		"/var/lib/containers/storage/vfs-containers/containers.json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists) && !search->container->name; i++)
		read_record(search, lists[i], true, storage_read_containers);
}

/* Finds the one entry that `take` accepts. Returns a copy that the caller frees, or NULL. */
static char *find_entry(struct search *search, const char *path,
			bool (*take)(const char *, struct container *))
{
	bool root_only = false;
	_cleanup_closedir_ DIR *directory = host_directory_open(path, &root_only);
	struct container *container = place_for(search, root_only);
	struct dirent *entry;

	for (size_t i = 0; directory && i < ENTRIES_MAX && (entry = readdir(directory)); i++) {
		if (take(entry->d_name, container))
			return strdup(entry->d_name);
	}
	return NULL;
}

/* If a pod has several containers, the directory does not tell which one is ours. */
static void take_only_container(struct search *search, const char *pod)
{
	_cleanup_closedir_ DIR *directory = NULL;
	char path[PATH_MAX], only[NAME_MAX + 1] = "";
	struct dirent *entry;
	size_t count = 0;
	bool root_only = false;

	snprintf(path, sizeof(path), PODS "/%s", pod);
	directory = host_directory_open(path, &root_only);
	while (directory && count < 2 && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(only, sizeof(only), "%s", entry->d_name);
	}
	if (count == 1)
		container_name_set(&place_for(search, root_only)->name, only, strlen(only));
}

/* By the container's id, then by its pod's UID. */
static void names_from_logs(struct search *search)
{
	_cleanup_free_ char *link = find_entry(search, LINKS, container_logs_take_link);
	_cleanup_free_ char *pod = link ? NULL : find_entry(search, PODS, container_logs_take_pod);

	if (pod)
		take_only_container(search, pod);
}

/* Proven names stand alone: claims beside them are dropped. */
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

/* Sources of generated ids: shims, Docker, Podman, the kubelet. */
static void names_by_generated_id(pid_t pid, struct search *search)
{
	const struct container *container = search->container;

	if (!is_complete(container))
		names_from_shim(pid, search);
	if (!is_complete(container))
		names_from_state(search);
	if (!is_complete(container))
		names_from_docker(search);
	if (!is_complete(container))
		names_from_logs(search);
	names_from_storage(search);
}

/* The state's annotations, then the id. */
static void names_by_chosen_id(const struct container_id *id, struct search *search)
{
	bool root_only = id->source == CONTAINER_BY_STATE;

	if (root_only)
		names_from_state(search);
	container_name_set(&place_for(search, root_only)->name, id->id, strlen(id->id));
}

void container_names_find(pid_t pid, const struct cgroup_path *path, const struct container_id *id,
			  struct container *container)
{
	enum cgroup_makers makers = cgroup_makers_of(path, id->group_length);
	struct search search = {
		.container = container,
		.cgroup_is_roots = makers == CGROUP_ROOT_ONLY ||
				   (makers == CGROUP_UNKNOWN && id->source == CONTAINER_BY_STATE),
		.cgroup_is_hidden = makers == CGROUP_UNKNOWN,
	};

	memcpy(search.claimed.id, container->id, sizeof(container->id));
	memcpy(search.claimed.pod_uid, container->pod_uid, sizeof(container->pod_uid));
	if (id->source == CONTAINER_BY_PATH)
		names_by_generated_id(pid, &search);
	else
		names_by_chosen_id(id, &search);
	settle(&search);
}
