/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a container and its pod, cheapest source first:
 *
 *  1. the annotations in the OCI bundle (config.json, OCI runtime specification) that the runtime's
 *     shim has as its working directory, or beside it: a shim serves all containers of a pod;
 *  2. the state that runc and crun keep by container id, which names the bundle;
 *  3. Docker's record of the container, by its id: below the data root that the bundle's mounts
 *     have (dockerd --data-root), or else the usual one;
 *  4. the log files that the kubelet names after pod and container;
 *  5. podman's list of containers, by the id.
 *
 * Files are looked for below leakmon's own root, then below that of process 1, which is the host's
 * when leakmon runs in a container with the host's PID namespace.
 */
#ifndef LEAKMON_PROC_CONTAINER_NAMES_H
#define LEAKMON_PROC_CONTAINER_NAMES_H

#include <stdbool.h>

#include "process/proc/container.h"

/*
 * Fills the names of container (and its pod_uid) that are still unknown, as far as they can be
 * found, its claims and its doubt; `pid` is any process in it, and may be gone, `path` its cgroup,
 * `id` what is known by that. An id that an operator chose is the name, too.
 *
 * Root's word is: a file that nobody else can write, in directories of which the same is true; of
 * the shim, also that it runs as root. All of it counts only for a cgroup that only root can make.
 * Where that cannot be seen (leakmon in a cgroup namespace of its own), the shim has to show it.
 */
void container_names_find(pid_t pid, const struct cgroup_path *path, const struct container_id *id,
			  struct container *container);

/*
 * The JSON files of OCI runtimes, of Docker and of podman. They are read with a limit on their
 * size, and everything in them is untrusted: a user may run a runtime of their own.
 */

/* Real ones have up to 100 KB, with a long seccomp profile. */
#define OCI_FILE_MAX_BYTES (512u << 10)

/*
 * config.json of a bundle: takes the names from its annotations. `trusted` says that the place of
 * the file proves that it is this container's; otherwise it must name the container's cgroup.
 * 0; -EINVAL: no JSON object; -ENOENT: it is another container's.
 */
int oci_read_config(const char *text, size_t length, bool trusted, struct container *container);

/* The state that runc or crun keeps of a container in `root`. Arguments and errors as those of
 * host_file_read(). */
int oci_state_load(const char *root, const char *id, char **text, size_t *length, bool *root_only);

/*
 * The state of a container: runc's state.json, which repeats the annotations, or crun's status.
 * Takes the names, and the path of the bundle in *bundle, for the caller to free: NULL if it has
 * none. 0 or -EINVAL (then *bundle is untouched).
 */
int oci_read_state(const char *text, size_t length, struct container *container, char **bundle);

/*
 * Docker's own record of a container, config.v2.json: the labels that the kubelet gave it
 * (cri-dockerd), or else its name ("/web": what `docker ps` shows), without the slash.
 * 0; -EINVAL: no JSON object; -ENOENT: it is another container's.
 */
int docker_read_config(const char *text, size_t length, struct container *container);

/*
 * The path of that record, from config.json of the container's bundle: Docker mounts the file
 * "hostname" beside it into each container. NULL: the bundle is not Docker's, or there is no
 * memory. For the caller to free; no more to be trusted than the bundle is.
 */
char *docker_find_config(const char *text, size_t length, const char *id);

/*
 * The list of containers that podman and CRI-O keep (containers/storage): the name by the id.
 * 0; -EINVAL: no JSON array; -ENOENT: the container is not in it.
 */
int storage_read_containers(const char *text, size_t length, struct container *container);

/*
 * Names from the log files of the kubelet, which are on every node whatever its runtime:
 *
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *   /var/log/pods/NAMESPACE_POD_UID/CONTAINER/
 */

/* The name of a link in /var/log/containers: true when it is this container's. */
bool container_logs_take_link(const char *name, struct container *container);

/* The name of a directory in /var/log/pods: true when it is that of this container's pod. */
bool container_logs_take_pod(const char *name, struct container *container);

#endif
