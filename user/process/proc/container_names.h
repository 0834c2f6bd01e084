/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a container and its pod, cheapest source first:
 *
 *  1. the annotations in the OCI bundle (config.json, OCI runtime specification) in, or beside, the
 *     working directory of the runtime's shim: a shim serves all containers of a pod;
 *  2. the state that runc and crun keep by container id, which names the bundle;
 *  3. Docker's record of the container, by its id: below the data root found in the bundle's mounts
 *     (dockerd --data-root), or else the usual one;
 *  4. the log files that the kubelet names after pod and container;
 *  5. podman's list of containers, by the id.
 *
 * Files are looked for below leakmon's own root, then below that of process 1, which is the host's
 * if leakmon runs in a container with the host's PID namespace.
 */
#ifndef LEAKMON_PROC_CONTAINER_NAMES_H
#define LEAKMON_PROC_CONTAINER_NAMES_H

#include <stdbool.h>

#include "process/proc/container.h"

/*
 * Fills the missing names of container (and its pod_uid), its claims and its doubt, if they are
 * found; `pid` is any process in it, and may be gone, `path` its cgroup, `id` its id. An id chosen
 * by an operator is the name, too.
 *
 * A name is root's word if it is in a file that only root can write, in directories to which the
 * same applies; a shim must also run as root. All of it counts only for a cgroup that only root can
 * create. If that cannot be checked (leakmon in its own cgroup namespace), the shim must prove it.
 */
void container_names_find(pid_t pid, const struct cgroup_path *path, const struct container_id *id,
			  struct container *container);

/*
 * The JSON files of OCI runtimes, of Docker and of podman. They are read with a size limit, and all
 * their contents are untrusted: a user may run their own runtime.
 */

/* Real files have up to 100 KB, with a long seccomp profile. */
#define OCI_FILE_MAX_BYTES (512u << 10)

/*
 * Takes the names from the annotations in a bundle's config.json. `trusted`: its place proves that
 * it is this container's; otherwise it must name the container's cgroup. Returns 0; -EINVAL: not a
 * JSON object; -ENOENT: another container's.
 */
int oci_read_config(const char *text, size_t length, bool trusted, struct container *container);

/*
 * Reads the state that runc or crun keeps of a container in `root`. Arguments and errors as
 * host_file_read().
 */
int oci_state_load(const char *root, const char *id, char **text, size_t *length, bool *root_only);

/*
 * Parses a container's state: runc's state.json, which repeats the annotations, or crun's status.
 * Takes the names, and the path of the bundle in *bundle, which the caller frees: NULL if it has
 * none. Returns 0 or -EINVAL (then *bundle is untouched).
 */
int oci_read_state(const char *text, size_t length, struct container *container, char **bundle);

/*
 * Parses Docker's own record of a container, config.v2.json: the labels from the kubelet
 * (cri-dockerd), or else its name ("/web", as in `docker ps`), without the slash. Returns 0;
 * -EINVAL: not a JSON object; -ENOENT: another container's.
 */
int docker_read_config(const char *text, size_t length, struct container *container);

/*
 * Returns the path of that record, from config.json of the container's bundle: Docker mounts the
 * file "hostname" beside it into each container. NULL: the bundle is not Docker's, or out of
 * memory. The caller frees it; it is no more trustworthy than the bundle.
 */
char *docker_find_config(const char *text, size_t length, const char *id);

/*
 * Finds the name by the id in the list of containers of podman and CRI-O (containers/storage).
 * Returns 0; -EINVAL: not a JSON array; -ENOENT: the container is not in it.
 */
int storage_read_containers(const char *text, size_t length, struct container *container);

/*
 * Names from the kubelet's log files, which every node has whatever its runtime:
 *
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *   /var/log/pods/NAMESPACE_POD_UID/CONTAINER/
 */

/*
 * Takes the names from a link's name in /var/log/containers. Returns whether the link is of this
 * container.
 */
bool container_logs_take_link(const char *name, struct container *container);

/*
 * Takes the names from a directory's name in /var/log/pods. Returns whether the directory is of
 * this container's pod.
 */
bool container_logs_take_pod(const char *name, struct container *container);

#endif
