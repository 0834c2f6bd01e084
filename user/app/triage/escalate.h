/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --escalate: tracks the heap of a triage's top suspects for a bounded window. Each gets its own
 * session, so that a failure to probe one does not stop the others. Blocks from the window's first
 * tenth on that survive it are compared with the growth of the process in that time.
 *
 * A suspect is escalated once per COOLDOWN; a window ends early when the estimated time of the
 * probes in the targets exceeds the credit of --budget.
 */
#ifndef LEAKMON_TRIAGE_ESCALATE_H
#define LEAKMON_TRIAGE_ESCALATE_H

#include "app/monitor/session.h"
#include "app/triage/triage.h"

#define ESCALATE_COOLDOWN_S 600.0

struct triage_options {
	struct session_options session; /* options of --escalate's sessions; no targets */
	double budget;			/* share of one core, for leakmon and its probes */
	bool no_stacks;			/* suspects get only the probes of --escalate */
	uint64_t escalate;		/* number of suspects to profile at most; 0: none */
	bool exact;			/* they are tracked exactly instead */
	uint64_t window_ns;		/* length of that window */
	double near_limit;		/* a process this close to a limit is a suspect; 0: off */
};

_Static_assert(!offsetof(struct triage_options, session), "a session's options stand first");

struct escalation;

/* Returns NULL when out of memory. `options` and `triage` are borrowed. */
struct escalation *escalation_new(const struct triage_options *options, struct triage *triage);
void escalation_free(struct escalation *escalation);

bool escalation_is_running(const struct escalation *escalation);

/* Attaches to the report's suspects that are due, if no window is open. */
void escalation_begin(struct escalation *escalation, const struct triage_report *report);

/* Call it now and then while a window is open. Returns true when its time or its budget is over. */
bool escalation_is_over(struct escalation *escalation);

/*
 * escalation_end() ends the window: the next report shows the results. Call escalation_clear()
 * after that report. Both may be called without an open window.
 */
void escalation_end(struct escalation *escalation);
void escalation_clear(struct escalation *escalation);

#endif
