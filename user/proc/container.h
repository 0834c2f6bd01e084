/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A container, with the names that Kubernetes gave it. The id comes from the cgroup path
 * (container_id.h), the names from what the runtimes leave on the machine (container_names.h);
 * whose container it is, container_cache.h tells.
 */
#ifndef LEAKMON_PROC_CONTAINER_H
#define LEAKMON_PROC_CONTAINER_H

#include <stddef.h>

#include "proc/cgroup.h"
#include "proc/container_id.h"

/* NULL: not known, or the container belongs to no pod. Names are untrusted text; owned. */
struct container {
	char id[CONTAINER_ID_LENGTH + 1];
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* "": no pod, or not known */
	char *namespace, *pod, *name;
};

/* The first of the paths that is a container's, and its id; NULL: none is. */
const char *container_path(const struct cgroup_paths *paths, struct container_id *id);

/* A deep copy for container_free(). NULL: out of memory, or container is NULL. */
struct container *container_copy(const struct container *container);
/* NULL is allowed. */
void container_free(struct container *container);
/* Frees the names only. */
void container_clear(struct container *container);

/* What a name may have: a DNS subdomain name (RFC 1123). */
#define CONTAINER_NAME_MAX 253

/* Sets *name to a copy, unless it is set already or the text is empty or too long. */
void container_name_set(char **name, const char *text, size_t length);

#endif
