/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names from the log files of the kubelet, which are on every node whatever its runtime:
 *
 *   /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log
 *   /var/log/pods/NAMESPACE_POD_UID/CONTAINER/
 */
#ifndef LEAKMON_PROC_CONTAINER_LOGS_H
#define LEAKMON_PROC_CONTAINER_LOGS_H

#include <stdbool.h>

#include "proc/container.h"

/*
 * Fills the names that are still unknown, by the container's id, then by its pod's UID: those of
 * `container` from directories that only root writes to, those of `claimed` from others.
 */
void container_logs_find(struct container *container, struct container *claimed);

/* The name of a link in /var/log/containers: true when it is this container's. */
bool container_logs_take_link(const char *name, struct container *container);

/* The name of a directory in /var/log/pods: true when it is that of this container's pod. */
bool container_logs_take_pod(const char *name, struct container *container);

#endif
