// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container_logs.h"

#include <limits.h>

#include "base/cleanup.h"
#include "proc/host_file.h"

/* A node has a few hundred; a directory with more is not read to its end. */
#define ENTRIES_MAX 16384

#define LINKS "/var/log/containers"
#define PODS "/var/log/pods"

/* The part of name before `end`, which it must end with; 0: it does not. */
static size_t length_before(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	if (length <= end_length || strcmp(name + length - end_length, end) != 0)
		return 0;
	return length - end_length;
}

bool container_logs_take_link(const char *name, struct container *container)
{
	char end[CONTAINER_ID_LENGTH + 8];
	const char *namespace, *own;
	size_t length;

	snprintf(end, sizeof(end), "-%s.log", container->id);
	length = length_before(name, end);
	/* No name in Kubernetes has an underscore. */
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

/* The one entry that `take` takes; a copy for the caller to free, or NULL. */
static char *find_entry(const char *path, bool (*take)(const char *, struct container *),
			struct container *proven, struct container *claimed)
{
	bool root_only = false;
	_cleanup_closedir_ DIR *directory = host_directory_open(path, &root_only);
	struct container *container = root_only ? proven : claimed;
	struct dirent *entry;

	for (size_t i = 0; directory && i < ENTRIES_MAX && (entry = readdir(directory)); i++) {
		if (take(entry->d_name, container))
			return strdup(entry->d_name);
	}
	return NULL;
}

/* With several containers in a pod, nothing here says which of them is ours. */
static void take_only_container(const char *pod, struct container *container,
				struct container *claimed)
{
	_cleanup_closedir_ DIR *directory = NULL;
	char path[PATH_MAX], only[NAME_MAX + 1] = "";
	struct dirent *entry;
	size_t count = 0;
	bool root_only = false;

	snprintf(path, sizeof(path), PODS "/%s", pod);
	directory = host_directory_open(path, &root_only);
	if (!root_only)
		container = claimed;
	while (directory && count < 2 && (entry = readdir(directory))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(only, sizeof(only), "%s", entry->d_name);
	}
	if (count == 1)
		container_name_set(&container->name, only, strlen(only));
}

void container_logs_find(struct container *container, struct container *claimed)
{
	_cleanup_free_ char *link = find_entry(LINKS, container_logs_take_link, container, claimed);
	_cleanup_free_ char *pod = NULL;

	if (link)
		return;
	pod = find_entry(PODS, container_logs_take_pod, container, claimed);
	if (pod)
		take_only_container(pod, container, claimed);
}
