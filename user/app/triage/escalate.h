/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --escalate: heap tracking of the first suspects of a triage, for a bounded window. Each gets a
 * session of its own, so that one that cannot be probed stops none of the others. What survived a
 * window's first tenth is set against what the process grew by meanwhile.
 *
 * A suspect is escalated once in COOLDOWN; a window ends early when the estimated time of the
 * probes in the targets exceeds what --budget has saved up so far.
 */
#ifndef LEAKMON_TRIAGE_ESCALATE_H
#define LEAKMON_TRIAGE_ESCALATE_H

#include "app/monitor/session.h"
#include "app/triage/triage.h"

#define ESCALATE_COOLDOWN_S 600.0

struct triage_options {
	struct session_options session; /* of what --escalate tracks; no targets */
	double budget;			/* of one core, ours and our probes' */
	bool no_stacks;			/* suspects get no probes but those of --escalate */
	uint64_t escalate;		/* so many suspects at most are profiled; 0: none */
	bool exact;			/* they are tracked instead */
	uint64_t window_ns;		/* and for so long */
	double near_limit;		/* a process that near a limit is a suspect; 0: none */
};

_Static_assert(!offsetof(struct triage_options, session), "a session's options stand first");

struct escalation;

/* `options` and `triage` are borrowed. NULL: out of memory. */
struct escalation *escalation_new(const struct triage_options *options, struct triage *triage);
void escalation_free(struct escalation *escalation);

bool escalation_is_running(const struct escalation *escalation);

/* Attaches to the suspects of a report that are due, if there are any and no window is open. */
void escalation_begin(struct escalation *escalation, const struct triage_report *report);

/* Now and then while a window is open. True: its time, or its budget, is over. */
bool escalation_is_over(struct escalation *escalation);

/*
 * Ends the window: the next report shows what was found. After it, escalation_clear(). Both may be
 * called when no window is open.
 */
void escalation_end(struct escalation *escalation);
void escalation_clear(struct escalation *escalation);

#endif
