/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control groups of a process (man 7 cgroups): one path in v2, one per hierarchy in v1, both in
 * a hybrid set-up. A path is relative to the root of leakmon's own cgroup namespace, and begins
 * with /.. if the process is outside it.
 */
#ifndef LEAKMON_PROC_CGROUP_H
#define LEAKMON_PROC_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct cgroup_path {
	uint32_t hierarchy; /* 0: v2 */
	char *controllers;  /* "memory", "cpu,cpuacct", "name=systemd"; "" in v2; owned */
	char *path;	    /* untrusted; begins with '/'; owned */
	bool deleted;	    /* " (deleted)" was cut off */
};

struct cgroup_paths {
	VEC(struct cgroup_path) list; /* in the kernel's order */
};

/*
 * Parses the text of /proc/PID/cgroup; its paths may contain colons. Returns 0; -ENOMEM; -EBADMSG:
 * a line is malformed or names a hierarchy twice. No kernel since 3.16 allows a newline in a path
 * (mkdir fails): a text with one is not to be trusted in any of its lines.
 */
int cgroup_paths_parse(const char *text, struct cgroup_paths *paths);

/*
 * Reads the paths of a process. Returns 0; -ESRCH: no such process; -ENAMETOOLONG: the kernel does
 * not print paths of 4,096 bytes; -EACCES (hidepid), -ENOMEM, -EBADMSG. *paths is untouched on
 * error.
 */
int cgroup_paths_read(pid_t pid, struct cgroup_paths *paths);
void cgroup_paths_free(struct cgroup_paths *paths);

/*
 * Returns whether `path` is `group` or below it, component by component: /a/bc is not below /a/b. A
 * group without a leading slash may begin at any component: "web.service" matches
 * /system.slice/web.service. Trailing slashes of group are ignored. "/" contains everything.
 */
bool cgroup_is_within(const char *path, const char *group);

/*
 * Converts an operator's argument to a path as in /proc/PID/cgroup: a directory below a mounted
 * hierarchy (/sys/fs/cgroup/memory/web) loses the mount point; anything else is unchanged. Returns
 * NULL if out of memory. The caller frees it. `mountinfo` is the text of /proc/self/mountinfo.
 */
char *cgroup_path_from_argument(const char *argument, const char *mountinfo);

enum cgroup_makers {
	CGROUP_UNKNOWN, /* the hierarchy is not mounted here, or its root is unknown */
	CGROUP_OTHERS,	/* users other than root, too: it, or a group above it, was delegated */
	CGROUP_ROOT_ONLY,
};

/*
 * Returns who could create a group of this name, and put processes into it: the first `length`
 * bytes of the path are the group's own. In v2, root may have delegated the subtree to the
 * container: no outside process can enter it without write access to the groups above. In v1 any
 * owner of a group can move their own processes into it.
 */
enum cgroup_makers cgroup_makers_of(const struct cgroup_path *path, size_t length);

/* Usual mount points of hierarchies with a memory controller. */
#define CGROUP_MOUNTS 3
struct cgroup_mount {
	const char *point;
	bool unified;
};
extern const struct cgroup_mount cgroup_mounts[CGROUP_MOUNTS];

/*
 * Returns the group to which a process's memory is charged; v1 shows "/" for an ending process.
 * NULL: unknown, or out of memory. The caller frees it.
 */
char *cgroup_memory_path(pid_t pid, bool *unified);

/* Value of a figure that no file of the group has. */
#define CGROUP_NOT_KNOWN UINT64_MAX
/* v1 writes "no limit" as a number beyond all memory. */
#define CGROUP_LIMIT_MAX (INT64_MAX / 2)

/* The group to which a process's memory is charged, and its limit. Zero-initialised: unknown. */
struct cgroup_place {
	char *path; /* as of cgroup_memory_path(); untrusted; owned */
	bool unified;
	bool known; /* whether there is a limit */
	/*
	 * The lowest limit of the group and all its ancestors that leakmon sees; CGROUP_NOT_KNOWN:
	 * no limit. And the length of the path of the group with that limit; 0: the root.
	 */
	uint64_t limit;
	size_t limit_length;
};

/*
 * Updates the place; values that are no longer readable, because the process ends or its group is
 * removed, stay.
 */
void cgroup_place_read(struct cgroup_place *place, pid_t pid);
/* Sets the place to that of a group. */
void cgroup_place_set(struct cgroup_place *place, const char *path, bool unified);
void cgroup_place_free(struct cgroup_place *place);

#endif
