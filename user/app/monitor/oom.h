/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets that the kernel kills for want of memory (struct oom_kills): what they held is reported
 * before it is given up, and they are counted. Others that it kills are not reported.
 */
#ifndef LEAKMON_MONITOR_OOM_H
#define LEAKMON_MONITOR_OOM_H

#include "report/oom_kills.h"
#include "report/report.h"

struct cgroup_place;

/* It is being killed, and may be gone already: notes what can still be read, and says so. `before`:
 * where it was (process/proc/cgroup.h), or NULL. */
void oom_kills_note(struct oom_kills *kills, pid_t pid, const struct cgroup_place *before);

/* "oom PID,PID": names a snapshot. NULL: out of memory; the caller frees it. */
char *oom_kills_label(const struct oom_kills *kills);

/* The list of such a label, as far as it goes; empty for any other, and NULL. 0 or -ENOMEM. */
int oom_kills_of_label(struct oom_kills *kills, const char *label);

/* Adds those on the list to the totals, by what the snapshot says of them. 0 or -ENOMEM. */
int oom_kills_count(struct oom_kills *kills, const struct snapshot *snapshot);
/* Adds one that is on the list to the totals, as what it was called and where it ran: `comm` is
 * untrusted, `container` may be NULL; a copy stays with it. 0 or -ENOMEM. */
int oom_kills_count_one(struct oom_kills *kills, struct oom_kill *kill, const char *comm,
			const struct container *container);

/* Those on the list are what the named report is made for: keeps the first call stacks of the last
 * of them, until the next kill. Out of memory: fewer. */
void oom_kills_keep_sites(struct oom_kills *kills, const struct report *report);
/* The same one by one, for other kinds of reports: first their process, then each. */
void oom_kills_keep_of(struct oom_kills *kills, const char *comm, const struct container *container,
		       bool profiled);
void oom_kills_keep_site(struct oom_kills *kills, uint64_t id, const struct frames *frames,
			 const struct oom_site *figures);

bool oom_kills_has(const struct oom_kills *kills, pid_t pid);

/* Takes the one noted last off the list. */
void oom_kills_drop_last(struct oom_kills *kills);

/* Empties the list. */
void oom_kills_reported(struct oom_kills *kills);
void oom_kills_free(struct oom_kills *kills);

#endif
