// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/container.h"

#include <stdlib.h>
#include <string.h>

void container_clear(struct container *container)
{
	free(container->namespace);
	free(container->pod);
	free(container->name);
	container->namespace = container->pod = container->name = NULL;
}

void container_free(struct container *container)
{
	if (!container)
		return;
	container_clear(container);
	free(container);
}

static bool copy_text(char **copy, const char *text)
{
	*copy = text ? strdup(text) : NULL;
	return *copy || !text;
}

struct container *container_copy(const struct container *container)
{
	struct container *copy = container ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return NULL;
	*copy = *container;
	copy->namespace = copy->pod = copy->name = NULL;
	if (copy_text(&copy->namespace, container->namespace) &&
	    copy_text(&copy->pod, container->pod) && copy_text(&copy->name, container->name))
		return copy;
	container_free(copy);
	return NULL;
}

const char *container_path(const struct cgroup_paths *paths, struct container_id *id)
{
	for (size_t i = 0; i < paths->list.count; i++) {
		if (container_id_from_path(paths->list.items[i].path, id))
			return paths->list.items[i].path;
	}
	return NULL;
}

void container_name_set(char **name, const char *text, size_t length)
{
	if (!*name && length && length <= CONTAINER_NAME_MAX)
		*name = strndup(text, length);
}
