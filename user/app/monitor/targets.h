/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes under observation, and how they come and go: those that were named are there from
 * the beginning, and one that cannot be attached to ends the run; those that a word selects, or
 * that a traced process forks, join when they are met, and one that cannot be is left out, with a
 * line that says why.
 */
#ifndef LEAKMON_MONITOR_TARGETS_H
#define LEAKMON_MONITOR_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hash.h"
#include "base/vec.h"
#include "process/proc/cgroup.h"
#include "trace/probe/target.h"
#include "report/runtime_label.h"
#include "heap/threads/thread_target.h"

struct container;
struct session;

struct tracked {
	struct target probes;
	struct thread_target threads; /* see session_threads.h */
	int pidfd;		      /* readable when the whole process has ended; -1: it has */
	bool named;		      /* by -p or -c */
	bool shares;		      /* the memory of another target: no heap of its own */
	struct cgroup_place place; /* its memory counts there, as of the latest snapshot; owned */
	struct managed_share managed; /* of its runtime: the last reading */
	uint64_t managed_read_ns;     /* 0: never */
	struct container *container;  /* it joined in, or NULL; owned */
	uint64_t start_ticks;	      /* of the process: see trace/probe/watched.h */
	uint32_t thread_execs;	      /* lm_target.thread_execs, as the probes were set */
	bool ended; /* its probes are gone; what it held is in the reports until it is purged */
};

/* How leakmon came to know of a process, for the message that it is attached to. */
struct arrival {
	const char *how;   /* "was forked", "execed"; NULL: it had been running */
	uint64_t event_ns; /* CLOCK_MONOTONIC of the event */
	char comm[17];	   /* of what execed; else "" */
	bool at_start;	   /* the user chose it among what runs: that it has ended is reported */
};

/* It has just execed, and its loader has not mapped an allocator yet. */
struct loading {
	pid_t pid;
	uint64_t start_ticks; /* of the process */
	struct arrival arrival;
	uint64_t due_ns; /* CLOCK_MONOTONIC: it is looked at again */
};

struct targets {
	VEC(struct tracked) list;
	VEC(struct loading) loading;
	/* (pid, start time) of processes that were left out: said once, not tried again before they
	 * exec. */
	struct hash refused;
	uint64_t events_lost; /* of them: what came unseen was looked for */
	bool starved;	      /* some of them because descriptors had run out */
	/* Ended before they could be attached to, since that was said last: targets, and those of
	 * which it is not known whether they were. */
	size_t missed, unknown;
	bool said_unknown;
	VEC(int) pids; /* those that reports show even before their first allocation */
};

/* -p: attaches to a process, or says why not. 0 or -errno. */
int targets_attach_named(struct session *session, pid_t pid);

/* -c: the process is known, its probes come as it maps its allocators. 0 or -ENOMEM. */
int targets_add_launched(struct session *session, pid_t pid);

/* Attaches to all that match now. 0; -ENOENT, after a message: a word matches nothing. */
int targets_attach_selected(struct session *session);

/* The same later on: what came unseen is found. */
void targets_rescan(struct session *session);

/* Says how many that targets forked ended before they could be attached to. */
void targets_say_missed(struct session *session);

/* A process that was forked by a traced one, or that has just execed. */
void targets_consider(struct session *session, pid_t pid, const struct arrival *arrival);

/* Looks again at those that had mapped no allocator when they were considered, and are due. */
void targets_load(struct session *session);
/* When the next one is, in milliseconds; -1: there is none. */
int targets_load_in_ms(const struct session *session);

/* Execs and forks may have come unseen: looks for forked processes. Cheap when none was lost. */
void targets_recover(struct session *session);

/* A process that shares the memory of a target, `owner`: what it allocates is that one's. */
void targets_follow_sharer(struct session *session, pid_t pid, pid_t owner);

/*
 * Probes what a target has mapped meanwhile; all of it, where an exec took the probes away. It has
 * just been refreshed.
 */
void targets_attach_again(struct session *session, struct tracked *tracked);

/*
 * Those that have ended lose their probes at once; what is known of them goes after the next
 * report.
 */
void targets_notice_ends(struct session *session);
/* Drops what has ended and is not to be reported again. */
void targets_drop_ended(struct session *session);

/* Fills targets.pids. 0 or -ENOMEM. */
int targets_list_pids(struct session *session);

/*
 * Probes a process that target_check() lets pass, undoing what was begun on failure; 0, -ENOENT (no
 * allocator), -EMFILE, ... Takes a target's probes out.
 */
int targets_probe(struct session *session, pid_t pid, const struct arrival *arrival, bool named);
void targets_end(struct session *session, struct tracked *tracked);

/* Probes what is mapped and not yet probed, as it was read last. 0, or -errno after a message. */
int targets_probe_mapped(struct session *session, struct tracked *tracked);
/* How much is: functions of allocators, or places in thread libraries without a heap. */
size_t targets_probed(const struct session *session, const struct tracked *tracked);

/*
 * Messages for the user: what is probed (`arrival` may be NULL); why nothing
 * is, -ENOENT or 0 if it is a target all the same; why one is left out (`name` follows the PID, or
 * is
 * ""); to wait, if there are many.
 */
void targets_log_attached(const struct session *session, const struct tracked *tracked,
			  const struct arrival *arrival);
void targets_explain_refusal(const struct session *session, const char *name, pid_t pid, int error);

/* NULL if there is none. */
struct tracked *targets_find(struct session *session, pid_t pid);
size_t targets_alive(const struct session *session);
void targets_close(struct session *session);

#endif
