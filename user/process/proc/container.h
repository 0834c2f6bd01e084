/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which container a cgroup path belongs to. The runtimes write the container's id, 64 hexadecimal
 * digits, into the name of its cgroup; the kubelet writes the pod's UID into a parent:
 *
 *   /kubepods/besteffort/pod<UID>/<ID>                                          cgroupfs driver
 *   /kubepods.slice/kubepods-pod<U_I_D>.slice/cri-containerd-<ID>.scope         systemd driver
 *   /system.slice/containerd.service/kubepods-pod<U_I_D>.slice:cri-containerd:<ID>   v1
 *   /kubepods.slice/…/crio-<ID>.scope[/container]                               CRI-O
 *   /system.slice/docker-<ID>.scope[/init], /docker/<ID>                        Docker
 *   /machine.slice/libpod-<ID>.scope[/container]                                Podman
 *
 * No pattern is anchored at the start: out of a private cgroup namespace a path begins with /../..
 * A container that an operator named (`runc run web`) is found by its runtime's state instead, see
 * container_states.h.
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

/* How it is known that a cgroup is a container's. */
enum container_source {
	CONTAINER_BY_PATH,  /* its name has the id */
	CONTAINER_BY_STATE, /* a runtime's state that only root can write (container_states.h) */
	CONTAINER_BY_CLAIM, /* a state that others than root can write */
};

struct container_id {
	char id[CONTAINER_ID_LENGTH + 1];     /* 64 hexadecimal digits, or chosen: "web" */
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* with dashes, as the API writes it; "": no pod */
	enum container_source source;
	size_t group_length; /* how much of the path is the container's own */
};

/*
 * For nested containers, the innermost. False, and *id untouched: the path is of none, or of the
 * monitor that a runtime runs beside a container (crio-conmon-…, libpod-conmon-…).
 */
bool container_id_from_path(const char *path, struct container_id *id);

/*
 * A container, with the names that Kubernetes gave it. The id comes from the cgroup path
 *, the names from what the runtimes leave on the machine (container_names.h);
 * the cache below knows which container it is.
 */

/* NULL: not known, or the container belongs to no pod. Names are untrusted text; owned. */
struct container_claims {
	char *namespace, *pod, *name;
};

enum container_doubt {
	CONTAINER_PROVEN,	  /* as far as it is known at all */
	CONTAINER_NAMES_UNPROVEN, /* the id is proven; names are only claimed */
	CONTAINER_UNPROVEN,	  /* neither is: anybody could have made this cgroup */
	CONTAINER_DOUBT_MAX_,
};

/*
 * Names are what root says, through files that nobody else can write; an id is proven when only
 * root could put a process into a cgroup of that name. Whoever may make cgroups, or start processes
 * beside files of their own, can claim to be any container: what is only claimed is shown as such,
 * and is neither a label nor a target's name. A container that a user runs without root is one that
 * nobody but that user vouches for.
 */
struct container {
	char id[CONTAINER_ID_LENGTH + 1];
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* "": no pod, or not known */
	char *namespace, *pod, *name;
	enum container_doubt doubt;
	struct container_claims claims; /* of what is unproven; all NULL otherwise */
};

/* The first of the paths that is a container's, and its id; NULL: none is. */
const struct cgroup_path *container_path(const struct cgroup_paths *paths, struct container_id *id);

/* Settles the names of a container in doubt: takes the names of `claimed`, drops its own. With
 * CONTAINER_PROVEN it keeps its own, and drops claims. */
void container_claim(struct container *container, enum container_doubt doubt,
		     struct container *claimed);

/* The id, for whatever is to be said of this container elsewhere; NULL: unproven, or no
 * container. */
const char *container_proven_id(const struct container *container);

/* An operator chose the id (`runc run web`), and it is the name as well. */
bool container_is_named_by_id(const struct container *container);

/* NAMESPACE/POD/NAME, NAME or the id's first digits, with " (unproven)" if so. Not inert. */
void container_print_name(FILE *out, const struct container *container);

/* Why it is in doubt, as part of a sentence on the process: "its control group ...". "": it is
 * not. */
const char *container_doubt_reason(const struct container *container);

/* A deep copy for container_free(). NULL: out of memory, or container is NULL. */
struct container *container_copy(const struct container *container);

/* NULL is allowed. */
void container_free(struct container *container);

/* Limit of a name: a DNS subdomain name (RFC 1123). */
#define CONTAINER_NAME_MAX 253

/* Sets *name to a copy, unless it is set already or the text is empty or too long. */
void container_name_set(char **name, const char *text, size_t length);

/* The container a process runs in: looked up once per container, not once per process. */

/* Containers by id. One that has no names is asked for again after a while, as is one that died. */
struct container_cache;

/* NULL: out of memory. */
struct container_cache *container_cache_new(void);
void container_cache_free(struct container_cache *cache);

/*
 * The container of `pid`, or NULL: it is in none, it has ended, or there is no memory. It belongs
 * to the cache and is good until the next call.
 */
const struct container *container_find(struct container_cache *cache, pid_t pid);

/* The same when the paths are known already. *id, if not NULL: how it is known; untouched on
 * NULL. */
const struct container *container_find_by_paths(struct container_cache *cache, pid_t pid,
						const struct cgroup_paths *paths,
						struct container_id *id);

#endif
