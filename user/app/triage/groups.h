/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's charges to cgroups: the mount of the memory hierarchy. */
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
	char *point;  /* NULL: it is mounted nowhere; owned */
	char *root;   /* what of the hierarchy is mounted there; owned */
	bool unified; /* cgroup v2 */
};

/* A group's directory seen through the mount; false: outside of what is mounted. */
bool memory_mount_directory(const struct memory_mount *mount, const char *path,
			    char directory[PATH_MAX]);

/* The path in the memory hierarchy among the paths of a process, or NULL. */
const char *memory_mount_path(const struct cgroup_paths *paths);

/*
 * The cgroups that hold processes, with their pasts: containers, and what systemd runs as services.
 * Their memory is what the kernel charges to them (cgroup v1 and hybrid: total_rss and total_swap
 * of memory.stat; v2: anon of memory.stat and memory.swap.current), so that a leak spread over many
 * short processes shows as well. Where their files cannot be found or read, it is the sum over
 * their processes.
 */

struct group {
	char *path;		      /* cgroup, cut behind the container's own; untrusted; owned */
	struct container *container;  /* owned; NULL: none */
	int stat_fd, swap_fd, oom_fd; /* -1: not open */
	int kernel_fd, sock_fd;	      /* v1: the kernel's memory, and that of TCP's buffers */
	struct triage_split split;    /* of the latest poll, and of one 5 to 10 minutes before */
	struct cgroup_figures next;   /* what the split is compared with after that */
	double before_s, next_s;      /* when these were read; negative: never */
	uint64_t oom_kills;	      /* that the kernel counts, with known victims */
	unsigned unclaimed;	      /* polls since there are more, with unknown victims */
	bool charged;		      /* memory is what the kernel charges, and no sum */
	size_t processes;	      /* of the latest poll */
	struct quantities quantities;
	struct series series;
	double first_seen_s;
	double born_s; /* of the oldest process in it */
};

/* A process that ended while its group's count of kills rose. */
struct group_kill {
	struct member *member;
	struct group *group; /* it was in; that is in `list` or in `ended` */
};

struct groups {
	VEC(struct group *) list;      /* owned */
	VEC(struct group *) ended;     /* have no processes since the latest poll; until the next */
	VEC(struct group_kill) killed; /* of the latest poll; borrowed, until the next */
	struct container_cache *containers;
	struct memory_mount mount;
};

/* 0 or -ENOMEM. */
int groups_init(struct groups *groups);
void groups_free(struct groups *groups);

/* After population_poll(): places and ends of processes, and a reading of every group. 0 or
 * -ENOMEM. */
int groups_poll(struct groups *groups, struct population *population, double now_s);

/* Cuts a container's cgroup path behind the component with its id: /a/docker-ID.scope/init loses
 * its last part. Exposed for the tests. */
void groups_cut_path(char *path, const char *id);

/* "oom_kill N" among the lines of memory.events (v2) or memory.oom_control (v1); 0: not there. */
uint64_t groups_parse_kills(const char *text);

/* Bytes of anonymous memory and swap in the text of memory.stat; NAN: not there. */
double groups_parse_stat(const char *text, bool unified);

/* The parts in memory.stat; CGROUP_NOT_KNOWN: not there. v1 has the kernel's memory and
 * the sockets in files of their own. */
void groups_parse_split(const char *text, bool unified, struct cgroup_figures *figures);

/* The part of these that is no process's and stays (QUANTITY_CHARGED), without slab that the kernel
 * takes back; NAN: not known. */
double groups_charged(const struct cgroup_figures *figures, uint64_t reclaimable_slab);

#endif
