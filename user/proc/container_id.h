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
 */
#ifndef LEAKMON_PROC_CONTAINER_ID_H
#define LEAKMON_PROC_CONTAINER_ID_H

#include <stdbool.h>

#define CONTAINER_ID_LENGTH 64
#define POD_UID_MAX_LENGTH 36

struct container_id {
	char id[CONTAINER_ID_LENGTH + 1];
	char pod_uid[POD_UID_MAX_LENGTH + 1]; /* with dashes, as the API writes it; "": no pod */
};

/*
 * Of nested containers, the innermost. False, and *id untouched: the path is of none, or of the
 * monitor that a runtime runs beside a container (crio-conmon-…, libpod-conmon-…).
 */
bool container_id_from_path(const char *path, struct container_id *id);

#endif
