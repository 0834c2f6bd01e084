/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Containers with an id chosen by the operator: `runc run web` and `crun run web` name the cgroup
 * as config.json does (OCI runtime specification, linux.cgroupsPath), or /web, crun-web.scope, ...
 * No path shows that these are containers; the runtimes' own state does. A directory per container
 * below /run/runc, /run/crun or $XDG_RUNTIME_DIR/{runc,crun} has it: state.json with "cgroup_paths"
 * (libcontainer), or status with "cgroup-path" (crun).
 */
#ifndef LEAKMON_PROC_CONTAINER_STATES_H
#define LEAKMON_PROC_CONTAINER_STATES_H

#include "process/proc/container.h"

/* Cached states; reread when containers come or go. */
struct container_states;

/* Returns a new cache; NULL: out of memory. */
struct container_states *container_states_new(void);
void container_states_free(struct container_states *states); /* NULL is allowed */

/*
 * Returns the first of the paths that is in the cgroup of a container with such an id; NULL: none,
 * and *id is untouched. A state that users other than root can write counts only for a cgroup that
 * they can create: a user's own containers.
 */
const struct cgroup_path *container_states_find(struct container_states *states,
						const struct cgroup_paths *paths,
						struct container_id *id);

/*
 * Visits the cgroups in a state: `take` gets each, absolute, with the mount point if `mounted`.
 * Returns 0 or -EINVAL: not a JSON object.
 */
int container_state_read(const char *text, size_t length,
			 void (*take)(void *context, const char *group, bool mounted),
			 void *context);

#endif
