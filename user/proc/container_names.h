/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a container and its pod, cheapest source first:
 *
 *  1. the annotations in the OCI bundle (config.json, OCI runtime specification) that the runtime's
 *     shim has as its working directory, or beside it: a shim serves all containers of a pod;
 *  2. the state that runc and crun keep by container id, which names the bundle;
 *  3. Docker's record of the container, by its id;
 *  4. the log files that the kubelet names after pod and container (container_logs.h);
 *  5. podman's list of containers, by the id.
 *
 * Files are looked for below leakmon's own root, then below that of process 1, which is the host's
 * when leakmon runs in a container with the host's PID namespace.
 */
#ifndef LEAKMON_PROC_CONTAINER_NAMES_H
#define LEAKMON_PROC_CONTAINER_NAMES_H

#include "proc/container.h"

/*
 * Fills the names of container (and its pod_uid) that are still unknown, as far as they can be
 * found, its claims and its doubt; `pid` is any process in it, and may be gone, `path` its cgroup.
 *
 * Root's word is: a file that nobody else can write, in directories of which the same is true; of
 * the shim, also that it runs as root. All of it counts only for a cgroup that only root can make.
 * Where that cannot be seen (leakmon in a cgroup namespace of its own), the shim has to show it.
 */
void container_names_find(pid_t pid, const struct cgroup_path *path, struct container *container);

#endif
