/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers with an id of the operator's choice: `runc run web` and `crun run web` name the cgroup
 * as config.json has it (OCI runtime specification, linux.cgroupsPath), or /web, crun-web.scope,
 * ... No path shows that these are containers; the runtimes' own state does. A directory per
 * container below /run/runc, /run/crun or $XDG_RUNTIME_DIR/{runc,crun} has it: state.json with
 * "cgroup_paths" (libcontainer), or status with "cgroup-path" (crun).
 */
#ifndef LEAKMON_PROC_CONTAINER_STATES_H
#define LEAKMON_PROC_CONTAINER_STATES_H

#include "process/proc/container.h"

/* States as they were read; read again when containers came or went. */
struct container_states;

/* NULL: out of memory. */
struct container_states *container_states_new(void);
void container_states_free(struct container_states *states); /* NULL is allowed */

/*
 * The first of the paths that is, or is below, the cgroup of a container with such an id; NULL:
 * none, and *id is untouched. A state that others than root can write counts only for a cgroup that
 * others than root can make: its user's own containers.
 */
const struct cgroup_path *container_states_find(struct container_states *states,
						const struct cgroup_paths *paths,
						struct container_id *id);

/*
 * The cgroups in a state: `take` gets each, absolute, with the mount point if `mounted`. 0 or
 * -EINVAL: no JSON object.
 */
int container_state_read(const char *text, size_t length,
			 void (*take)(void *context, const char *group, bool mounted),
			 void *context);

#endif
