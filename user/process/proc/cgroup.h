/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control groups of a process (man 7 cgroups): one path in v2, one per hierarchy in v1, both in
 * a hybrid set-up. A path is relative to the root of leakmon's own cgroup namespace, and begins
 * with /.. when the process is outside of it.
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
 * Parses the text of /proc/PID/cgroup; its paths may hold colons. 0; -ENOMEM; -EBADMSG: a line
 * is malformed or names a hierarchy twice. No kernel since 3.16 lets a newline into a path (they
 * refuse the mkdir): a text that shows one is not to be trusted in any of its lines.
 */
int cgroup_paths_parse(const char *text, struct cgroup_paths *paths);

/*
 * 0; -ESRCH: no such process; -ENAMETOOLONG: the kernel does not print paths of 4,096 bytes;
 * -EACCES (hidepid), -ENOMEM, -EBADMSG. *paths is untouched on error.
 */
int cgroup_paths_read(pid_t pid, struct cgroup_paths *paths);
void cgroup_paths_free(struct cgroup_paths *paths);

/*
 * Whether `path` is `group` or below it, component by component: /a/bc is not below /a/b. A group
 * without a leading slash may begin at any component: "web.service" matches
 * /system.slice/web.service. Slashes at the end of group mean nothing. "/" holds everything.
 */
bool cgroup_is_within(const char *path, const char *group);

/*
 * An operator's argument as a path of /proc/PID/cgroup: a directory below a mounted hierarchy
 * (/sys/fs/cgroup/memory/web) loses the mount point; anything else stays. NULL: out of memory. The
 * caller frees it. `mountinfo` is the text of /proc/self/mountinfo.
 */
char *cgroup_path_from_argument(const char *argument, const char *mountinfo);

enum cgroup_makers {
	CGROUP_UNKNOWN, /* the hierarchy is not mounted here, or its root is not known */
	CGROUP_OTHERS,	/* others than root, too: it, or a group above it, was delegated */
	CGROUP_ROOT_ONLY,
};

/*
 * The user that could make a group with this name, and put processes into it: the first `length`
 * bytes of the path are the group's own. In v2, root may have given what is below the name away to
 * the container: no process from elsewhere gets in there without the right to write to the groups
 * above. In v1 any owner of a group can move processes of theirs into it.
 */
enum cgroup_makers cgroup_makers_of(const struct cgroup_path *path, size_t length);

/* Where hierarchies with a memory controller are usually mounted. */
#define CGROUP_MOUNTS 3
struct cgroup_mount {
	const char *point;
	bool unified;
};
extern const struct cgroup_mount cgroup_mounts[CGROUP_MOUNTS];

/* The group that a process's memory counts in; v1 says "/" of one that is ending. NULL: not known,
 * or out of memory. The caller frees it. */
char *cgroup_memory_path(pid_t pid, bool *unified);

/* A figure that no file of the group has. */
#define CGROUP_NOT_KNOWN UINT64_MAX
/* v1 writes "no limit" as a number beyond all memory. */
#define CGROUP_LIMIT_MAX (INT64_MAX / 2)

/*
 * Where a process's memory counts, and what it may come to there. Zero-initialise: not known.
 */
struct cgroup_place {
	char *path; /* as of cgroup_memory_path(); untrusted; owned */
	bool unified;
	bool known; /* whether there is a limit */
	/* The least of the group's own and of all above it that leakmon sees; CGROUP_NOT_KNOWN:
	 * there is none. And how much of the path names the group that has it; 0: the root. */
	uint64_t limit;
	size_t limit_length;
};

/* Reads where it is now; what can no longer be read, because it ends or its group is removed, stays
 * as it was. */
void cgroup_place_read(struct cgroup_place *place, pid_t pid);
/* The same of a group. */
void cgroup_place_set(struct cgroup_place *place, const char *path, bool unified);
void cgroup_place_free(struct cgroup_place *place);

#endif
