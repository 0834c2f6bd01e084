/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Targets that were OOM-killed (struct oom_kills): their blocks are reported before the records are
 * freed, and they are counted. Other processes' kills are not reported.
 */
#ifndef LEAKMON_MONITOR_OOM_H
#define LEAKMON_MONITOR_OOM_H

#include "report/oom_kills.h"
#include "report/report.h"

struct cgroup_place;

/*
 * Records a process that is being killed and may already be gone, with what can still be read, and
 * logs it. `before`: its cgroup before the kill (process/proc/cgroup.h), or NULL.
 */
void oom_kills_note(struct oom_kills *kills, pid_t pid, const struct cgroup_place *before);

/* Returns the label of a snapshot, "oom PID,PID". NULL: out of memory; the caller frees it. */
char *oom_kills_label(const struct oom_kills *kills);

/*
 * Parses such a label into a list, up to the first error; any other label, or NULL, leaves the list
 * empty. Returns 0 or -ENOMEM.
 */
int oom_kills_of_label(struct oom_kills *kills, const char *label);

/* Adds the listed kills to the totals, with names from the snapshot. Returns 0 or -ENOMEM. */
int oom_kills_count(struct oom_kills *kills, const struct snapshot *snapshot);
/*
 * Adds one listed kill to the totals under its name and container: `comm` is untrusted, `container`
 * may be NULL; both are copied. Returns 0 or -ENOMEM.
 */
int oom_kills_count_one(struct oom_kills *kills, struct oom_kill *kill, const char *comm,
			const struct container *container);

/*
 * Keeps the top call stacks of the latest listed kill from the named report, until the next kill.
 * Out of memory: fewer.
 */
void oom_kills_keep_sites(struct oom_kills *kills, const struct report *report);
/*
 * Keep single call stacks, for other kinds of reports: first call oom_kills_keep_of() for their
 * process.
 */
void oom_kills_keep_of(struct oom_kills *kills, const char *comm, const struct container *container,
		       bool profiled);
void oom_kills_keep_site(struct oom_kills *kills, uint64_t id, const struct frames *frames,
			 const struct oom_site *figures);

bool oom_kills_has(const struct oom_kills *kills, pid_t pid);

/* Removes the latest kill from the list. */
void oom_kills_drop_last(struct oom_kills *kills);

/* Empties the list. */
void oom_kills_reported(struct oom_kills *kills);
void oom_kills_free(struct oom_kills *kills);

#endif
