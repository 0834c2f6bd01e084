/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The watched processes, and how they come and go. A named process is there from the beginning, and
 * a failure to attach to it ends the run. Processes selected by a pattern, or forked by a target,
 * join when they appear; a failure leaves them out, with a message that says why.
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
	int pidfd;		      /* readable when the whole process has ended; -1: ended */
	bool named;		      /* by -p or -c */
	bool shares;		      /* it shares the memory, and the heap, of another target */
	struct cgroup_place place;    /* its cgroup as of the latest snapshot; owned */
	struct managed_share managed; /* latest reading of its runtime */
	uint64_t managed_read_ns;     /* 0: never */
	struct container *container;  /* container at its arrival, or NULL; owned */
	uint64_t start_ticks;	      /* of the process: see trace/probe/watched.h */
	uint32_t thread_execs;	      /* lm_target.thread_execs when the probes were set */
	bool ended; /* its probes are gone; its blocks are reported until it is purged */
};

/* How leakmon learnt of a process, for the message about attaching. */
struct arrival {
	const char *how;   /* "was forked", "execed"; NULL: it was already running */
	uint64_t event_ns; /* CLOCK_MONOTONIC of the event */
	char comm[17];	   /* of a process that execed; else "" */
	bool at_start; /* chosen by the user among running processes: its early end is reported */
};

/* A process that has just execed, and has not yet mapped an allocator. */
struct loading {
	pid_t pid;
	uint64_t start_ticks; /* of the process */
	struct arrival arrival;
	uint64_t due_ns; /* CLOCK_MONOTONIC of the next attempt */
};

struct targets {
	VEC(struct tracked) list;
	VEC(struct loading) loading;
	/* Refused processes, by PID and start time: logged once, not retried before they exec. */
	struct hash refused;
	uint64_t events_lost; /* lost events whose processes were already searched for */
	bool starved;	      /* some were refused for lack of descriptors */
	/* Processes that ended before the attach, since the last message: targets, and those that
	 * may have been targets. */
	size_t missed, unknown;
	bool said_unknown;
	VEC(int) pids; /* processes that reports show even before their first allocation */
};

/* For -p: attaches to a process, or logs why not. Returns 0 or -errno. */
int targets_attach_named(struct session *session, pid_t pid);

/*
 * For -c: adds the launched process; its probes follow as it maps its allocators. Returns 0 or
 * -ENOMEM.
 */
int targets_add_launched(struct session *session, pid_t pid);

/*
 * Attaches to all current matches. Returns 0; or -ENOENT, after a message, if a pattern matches
 * nothing.
 */
int targets_attach_selected(struct session *session);

/* Attaches to later matches, in case events were missed. */
void targets_rescan(struct session *session);

/* Logs the number of children of targets that ended before the attach. */
void targets_say_missed(struct session *session);

/* Handles a process that a target forked, or that has just execed. */
void targets_consider(struct session *session, pid_t pid, const struct arrival *arrival);

/* Retries the processes without an allocator that are due. */
void targets_load(struct session *session);
/* Returns milliseconds until the next one is due; -1: none. */
int targets_load_in_ms(const struct session *session);

/* Searches for processes whose exec or fork event was lost. Cheap if none was lost. */
void targets_recover(struct session *session);

/*
 * Handles a process that shares the memory of a target, `owner`: its allocations belong to the
 * owner.
 */
void targets_follow_sharer(struct session *session, pid_t pid, pid_t owner);

/*
 * Probes the new mappings of a target; all of them if an exec removed the probes. The process must
 * just have been refreshed.
 */
void targets_attach_again(struct session *session, struct tracked *tracked);

/* Removes the probes of ended processes at once; their data goes after the next report. */
void targets_notice_ends(struct session *session);
/* Drops ended processes that need no further report. */
void targets_drop_ended(struct session *session);

/* Fills targets.pids. Returns 0 or -ENOMEM. */
int targets_list_pids(struct session *session);

/*
 * targets_probe() probes a process that passed target_check(), and undoes all steps on failure;
 * returns 0, -ENOENT (no allocator), -EMFILE, ... targets_end() removes a target's probes.
 */
int targets_probe(struct session *session, pid_t pid, const struct arrival *arrival, bool named);
void targets_end(struct session *session, struct tracked *tracked);

/*
 * Probes mappings not yet probed, as of the latest reading. Returns 0, or -errno after a message.
 */
int targets_probe_mapped(struct session *session, struct tracked *tracked);
/*
 * Returns the number of probed functions of allocators; or, without a heap, of probed points in
 * thread libraries.
 */
size_t targets_probed(const struct session *session, const struct tracked *tracked);

/*
 * Messages for the user: the probes of a target (`arrival` may be NULL); and why a process is left
 * out (`name` follows the PID, or is "").
 */
void targets_log_attached(const struct session *session, const struct tracked *tracked,
			  const struct arrival *arrival);
void targets_explain_refusal(const struct session *session, const char *name, pid_t pid, int error);

/* Returns the live target with that PID, or NULL. */
struct tracked *targets_find(struct session *session, pid_t pid);
size_t targets_alive(const struct session *session);
void targets_close(struct session *session);

#endif
