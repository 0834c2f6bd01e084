/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON files of OCI runtimes, of Docker and of podman. They are read with a limit on their
 * size, and everything in them is untrusted: a user may run a runtime of their own.
 */
#ifndef LEAKMON_PROC_OCI_FILES_H
#define LEAKMON_PROC_OCI_FILES_H

#include "proc/container.h"

/* Real ones have up to 100 KB, with a long seccomp profile. */
#define OCI_FILE_MAX_BYTES (512u << 10)

/*
 * config.json of a bundle: takes the names from its annotations. `trusted` says that the place of
 * the file proves that it is this container's; otherwise it must name the container's cgroup.
 * 0; -EINVAL: no JSON object; -ENOENT: it is another container's.
 */
int oci_read_config(const char *text, size_t length, bool trusted, struct container *container);

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
 * The list of containers that podman and CRI-O keep (containers/storage): the name by the id.
 * 0; -EINVAL: no JSON array; -ENOENT: the container is not in it.
 */
int storage_read_containers(const char *text, size_t length, struct container *container);

#endif
