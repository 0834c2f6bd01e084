// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/managed_look.h"

#include <errno.h>

#include "app/triage/goroutine_watch.h"
#include "heap/memory/managed_share.h"
#include "heap/runtime/runtime.h"

/* The number of suspects examined, by rank, and the seconds between two looks at one. */
#define SUSPECTS 10
#define PAUSE_S 10.0
/* A process without a runtime rarely gets one later. */
#define NATIVE_PAUSE_S 60.0
/* The pause between looks that exceed the credit. */
#define OWED_PAUSE_S 60.0

/* The length of a span of recent growth; two spans are kept. */
#define RECENT_S 150.0

/* CPU seconds of one look: skipped if the credit is smaller. */
#define LOOK_S 0.005

static void first_look(struct managed_growth *managed, double now_s)
{
	managed->first_s = now_s;
	managed->heap_grown = managed->all_grown = 0;
	managed->recent[0] = (struct managed_span){.began_s = now_s};
	managed->recent[1] = (struct managed_span){0};
	managed->first = (struct heap_floor){0};
	managed->outside = (struct heap_outside){0};
}

/* Adds the growth since the last look. */
static void add_growth(struct managed_growth *managed, const struct managed_share *share,
		       double now_s)
{
	struct managed_span *recent = managed->recent;
	int64_t heap = (int64_t)(share->heap_bytes - managed->heap);
	int64_t all = (int64_t)(share->anonymous_bytes - managed->all);

	managed->heap_grown += heap;
	managed->all_grown += all;
	if (now_s - recent[0].began_s >= RECENT_S) {
		recent[1] = recent[0];
		recent[0] = (struct managed_span){.began_s = managed->last_s};
	}
	recent[0].heap += heap;
	recent[0].code += (int64_t)(share->code_bytes - managed->code);
	recent[0].all += all;
}

/* Reads the live bytes after a collection; costs about as much as the rest. */
static void look_at_floor(struct managed_growth *managed, pid_t pid)
{
	struct heap_floor now = runtime_floor_read(runtime_find(managed->runtime.key), pid);

	/* A failed reading, during a collection, proves nothing. */
	if (!now.known)
		return;
	managed->now = now;
	if (!managed->first.known || now.key != managed->first.key)
		managed->first = managed->now;
	heap_floor_rebase(&managed->first, &managed->now);
	heap_outside_look(&managed->outside, &managed->now, managed_growth_outside(managed));
}

static int look(struct member *member, double now_s)
{
	struct managed_growth *managed = &member->managed;
	struct managed_share share;
	int error = managed_share_read(member->reading.pid, &share);

	managed->unreadable = error == -EACCES || error == -EPERM;
	if (error)
		return error;
	if (!managed->last_s || managed->runtime.key != share.runtime.key) {
		first_look(managed, now_s);
	} else {
		add_growth(managed, &share, now_s);
	}
	managed->runtime = share.runtime;
	managed->heap = share.heap_bytes;
	managed->code = share.code_bytes;
	managed->all = share.anonymous_bytes;
	managed->last_s = now_s;
	look_at_floor(managed, member->reading.pid);
	return 0;
}

static bool is_due(const struct triage *triage, const struct member *member, double now_s)
{
	double pause_s = member->managed.runtime.key ? PAUSE_S : NATIVE_PAUSE_S;

	/* The first look decides whether call stacks are sampled there: it comes before them. */
	if (!member->managed.last_s)
		return triage_credit_s(triage) >= LOOK_S;
	return now_s - member->managed.last_s >= pause_s && triage_spare_s(triage) >= LOOK_S;
}

/*
 * Returns whether the process is due regardless of credit: one at a time, because it is not called
 * leaking without a look. The next poll then waits longer.
 */
static bool is_owed(struct triage *triage, const struct member *member,
		    const struct triage_entry *entry, double now_s)
{
	const struct managed_growth *managed = &member->managed;

	if (entry->growth.verdict != TREND_LEAKING || managed->unreadable ||
	    now_s - triage->owed_look_s < PAUSE_S)
		return false;
	if (managed->last_s &&
	    (!managed->runtime.collects || now_s - managed->last_s < OWED_PAUSE_S))
		return false;
	triage->owed_look_s = now_s;
	return true;
}

static bool is_looked_for(const struct triage_entry *entry)
{
	return entry->growth.kind == QUANTITY_HEAP &&
	       (trend_is_suspect(entry->growth.verdict) || growth_is_early(&entry->growth));
}

void managed_look(struct triage *triage, struct triage_report *report)
{
	double now_s = triage_now(triage);
	size_t suspects = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		struct triage_entry *entry = &report->processes.items[i];
		struct member *member;

		if (!is_looked_for(entry))
			continue;
		member = population_find(&triage->population, entry->pid);
		if (!member)
			continue;
		if ((suspects++ < SUSPECTS && is_due(triage, member, now_s)) ||
		    is_owed(triage, member, entry, now_s))
			look(member, now_s);
		if (member->managed.runtime.key)
			entry->managed = &member->managed;
		if (triage_entry_is_unproven(entry) ||
		    managed_growth_is_undecided(&member->managed))
			triage_report_doubt(report, entry);
		goroutine_watch_look(triage, member, entry);
	}
}
