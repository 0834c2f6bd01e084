/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's charges to cgroups: finds the mount of the memory hierarchy. */
#ifndef LEAKMON_TRIAGE_GROUPS_H
#define LEAKMON_TRIAGE_GROUPS_H

#include <limits.h>
#include <stdbool.h>

#include "app/triage/growth.h"
#include "app/triage/population.h"
#include "base/vec.h"
#include "process/proc/cgroup.h"
#include "process/proc/container.h"

struct memory_mount {
	char *point;  /* NULL: not mounted; owned */
	char *root;   /* the mounted part of the hierarchy; owned */
	bool unified; /* cgroup v2 */
};

/* Finds a group's directory below the mount; returns false if it is outside the mounted part. */
bool memory_mount_directory(const struct memory_mount *mount, const char *path,
			    char directory[PATH_MAX]);

/* Returns the path in the memory hierarchy among the paths of a process, or NULL. */
const char *memory_mount_path(const struct cgroup_paths *paths);

/*
 * The cgroups with processes, and their histories: containers and systemd's services. Their memory
 * is the kernel's charge (cgroup v1 and hybrid: total_rss and total_swap of memory.stat; v2: anon
 * of memory.stat and memory.swap.current), so that a leak spread over many short processes shows as
 * well. Where those files are missing or unreadable, it is the sum over their processes.
 */

struct group {
	char *path; /* cgroup path, cut after the container's own component; untrusted; owned */
	struct container *container;  /* owned; NULL: not a container */
	int stat_fd, swap_fd, oom_fd; /* -1: not open */
	int kernel_fd, sock_fd;	      /* v1: kernel memory and TCP buffers */
	struct triage_split split;  /* from the latest poll and from one 5 to 10 minutes earlier */
	struct cgroup_figures next; /* the next reading to compare the split with */
	double before_s, next_s;    /* when these two were read; negative: never */
	uint64_t oom_kills;	    /* kills in the kernel's count whose victims are known */
	unsigned unclaimed;	    /* polls with further kills whose victims are unknown */
	bool charged;		    /* memory is the kernel's charge, not a sum */
	size_t processes;	    /* at the latest poll */
	struct quantities quantities;
	struct series series;
	double first_seen_s;
	double born_s; /* birth of the oldest process in it */
};

/* A process that ended while its group's count of kills rose. */
struct group_kill {
	struct member *member;
	struct group *group; /* the process's group; in `list` or in `ended` */
};

struct groups {
	VEC(struct group *) list; /* owned */
	/* without processes since the latest poll; kept until the next */
	VEC(struct group *) ended;
	VEC(struct group_kill) killed; /* found by the latest poll; borrowed, until the next */
	struct container_cache *containers;
	struct memory_mount mount;
};

/* Finds the mount. Returns 0 or -ENOMEM. */
int groups_init(struct groups *groups);
void groups_free(struct groups *groups);

/*
 * Updates the groups, after population_poll(): assigns processes, drops ended groups, and reads
 * every group. Returns 0 or -ENOMEM.
 */
int groups_poll(struct groups *groups, struct population *population, double now_s);

/*
 * Cuts a container's cgroup path after the component with its id: /a/docker-ID.scope/init loses its
 * last part. Exposed for the tests.
 */
void groups_cut_path(char *path, const char *id);

/*
 * Returns the number of "oom_kill N" in the text of memory.events (v2) or memory.oom_control (v1);
 * 0: absent.
 */
uint64_t groups_parse_kills(const char *text);

/* Returns bytes of anonymous memory and swap from the text of memory.stat; NAN: absent. */
double groups_parse_stat(const char *text, bool unified);

/*
 * Parses the parts in memory.stat; CGROUP_NOT_KNOWN: absent. v1 has kernel memory and sockets in
 * separate files.
 */
void groups_parse_split(const char *text, bool unified, struct cgroup_figures *figures);

/*
 * Returns the part of these charges that belongs to no process and stays (QUANTITY_CHARGED),
 * without reclaimable slab; NAN: unknown.
 */
double groups_charged(const struct cgroup_figures *figures, uint64_t reclaimable_slab);

#endif
