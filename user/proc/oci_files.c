// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/oci_files.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stddef.h>

#include "base/cleanup.h"

static void cleanup_json(json_t *const *value)
{
	json_decref(*value);
}
#define _cleanup_json_ _cleanup_(cleanup_json)

/* What containerd and CRI-O annotate. */
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

/* runc writes an annotation as "key=value", and the bundle as one more. */
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

/* The first of its names: the others are aliases. */
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
