/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the container of a cgroup path. The runtimes write the container's id, 64 hexadecimal
 * digits, into the name of its cgroup; the kubelet writes the pod's UID into a parent:
 *
 *   /kubepods/besteffort/pod<UID>/<ID>                                          cgroupfs driver
 *   /kubepods.slice/kubepods-pod<U_I_D>.slice/cri-containerd-<ID>.scope         systemd driver
 *   /system.slice/containerd.service/kubepods-pod<U_I_D>.slice:cri-containerd:<ID>   v1
 *   /kubepods.slice/…/crio-<ID>.scope[/container]                               CRI-O
 *   /system.slice/docker-<ID>.scope[/init], /docker/<ID>                        Docker
 *   /machine.slice/libpod-<ID>.scope[/container]                                Podman
 *
 * No pattern is anchored at the start: seen from a private cgroup namespace a path begins with
 * /../.. A container that an operator named (`runc run web`) is found by its runtime's state
 * instead, see container_states.h.
 */
#ifndef LEAKMON_PROC_CONTAINER_H
#define LEAKMON_PROC_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "process/proc/cgroup.h"

#define CONTAINER_ID_LENGTH 64
#define POD_UID_MAX_LENGTH 36

/* The evidence that a cgroup is a container's. */
enum container_source {
	CONTAINER_BY_PATH,  /* the id in its name */
	CONTAINER_BY_STATE, /* a runtime's state that only root can write (container_states.h) */
	CONTAINER_BY_CLAIM, /* a state that users other than root can write */
};

struct container_id {
	char id[CONTAINER_ID_LENGTH + 1];     /* 64 hexadecimal digits, or chosen: "web" */
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* with dashes, as the API writes it; "": no pod */
	enum container_source source;
	size_t group_length; /* length of the container's own part of the path */
};

/*
 * Finds the id in a path; for nested containers, the innermost. Returns false, with *id untouched,
 * for a path of no container, or of the monitor that a runtime runs beside one (crio-conmon-…,
 * libpod-conmon-…).
 */
bool container_id_from_path(const char *path, struct container_id *id);

/*
 * A container, with its names from Kubernetes. The id comes from the cgroup path, the names from
 * files of the runtimes (container_names.h); the cache below finds a process's container.
 */

/* NULL: unknown, or the container belongs to no pod. Names are untrusted text; owned. */
struct container_claims {
	char *namespace, *pod, *name;
};

enum container_doubt {
	CONTAINER_PROVEN,	  /* the id and the known names are proven */
	CONTAINER_NAMES_UNPROVEN, /* the id is proven; names are only claimed */
	CONTAINER_UNPROVEN,	  /* neither is: anyone could have created this cgroup */
	CONTAINER_DOUBT_MAX_,
};

/*
 * Names are proven by files that only root can write; an id is proven if only root could put a
 * process into a cgroup of that name. Anyone who may create cgroups, or start processes beside
 * their own files, can claim to be any container: claims are shown as such, and are neither labels
 * nor names of targets. A user's rootless container is vouched for by that user only.
 */
struct container {
	char id[CONTAINER_ID_LENGTH + 1];
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* "": no pod, or unknown */
	char *namespace, *pod, *name;
	enum container_doubt doubt;
	struct container_claims claims; /* the unproven names; all NULL otherwise */
};

/* Returns the first of the paths that is a container's, and its id; NULL: none. */
const struct cgroup_path *container_path(const struct cgroup_paths *paths, struct container_id *id);

/*
 * Settles the names of a container in doubt: takes the names of `claimed`, drops its own. With
 * CONTAINER_PROVEN it keeps its own, and drops claims.
 */
void container_claim(struct container *container, enum container_doubt doubt,
		     struct container *claimed);

/* Returns the id for use in other outputs; NULL: unproven, or no container. */
const char *container_proven_id(const struct container *container);

/* Returns whether the operator chose the id (`runc run web`), so that it is the name, too. */
bool container_is_named_by_id(const struct container *container);

/* Prints NAMESPACE/POD/NAME, NAME or the id's first digits, with " (unproven)" if so. Not inert. */
void container_print_name(FILE *out, const struct container *container);

/*
 * Returns the reason for doubt, as part of a sentence on the process: "its control group ...". "":
 * no doubt.
 */
const char *container_doubt_reason(const struct container *container);

/* Returns a deep copy for container_free(). NULL: out of memory, or container is NULL. */
struct container *container_copy(const struct container *container);

/* NULL is allowed. */
void container_free(struct container *container);

/* Limit of a name: a DNS subdomain name (RFC 1123). */
#define CONTAINER_NAME_MAX 253

/* Sets *name to a copy, unless it is set already or the text is empty or too long. */
void container_name_set(char **name, const char *text, size_t length);

/* The container a process runs in: looked up once per container, not once per process. */

/* Containers by id. One without names is looked up again after a while, as is one that died. */
struct container_cache;

/* NULL: out of memory. */
struct container_cache *container_cache_new(void);
void container_cache_free(struct container_cache *cache);

/*
 * Returns the container of `pid`, or NULL: it is in none, it has ended, or out of memory. Owned by
 * the cache and valid until the next call.
 */
const struct container *container_find(struct container_cache *cache, pid_t pid);

/*
 * Finds the container as container_find() does, with paths that are already known. *id, if not
 * NULL, gets the evidence; untouched on NULL.
 */
const struct container *container_find_by_paths(struct container_cache *cache, pid_t pid,
						const struct cgroup_paths *paths,
						struct container_id *id);

#endif
