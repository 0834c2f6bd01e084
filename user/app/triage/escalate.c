// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/escalate.h"

#include <errno.h>
#include <string.h>

#include "app/monitor/session.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "trace/collect/reading.h"

/* Estimated cost of one probe hit: above the cost of a pair in `make bench`. */
#define ALLOCATION_COST_S 2.0e-6
#define FREE_COST_S 0.7e-6
/* A window cut shorter by the end of the run is not meaningful. */
#define WINDOW_MIN_S 1.0
/* Blocks younger than this share of the window may still be freed: they are not counted. */
#define YOUNG_SHARE 0.1
#define SITES_SHOWN 5
/* Our CPU time for loading, attaching and naming, per suspect. */
#define SETUP_COST_S 0.5

struct suspect {
	pid_t pid;
	uint64_t start_ticks;
	enum quantity kind; /* heap or mapping */
	double value_begin; /* of that kind, when its probes were attached */
	double begin_s;
	struct session_options options;
	struct session session;
	bool attached;
	struct snapshot snapshot;
	struct report report;
	struct triage_sites sites;
};

struct escalation {
	const struct triage_options *options;
	struct triage *triage;
	struct suspect *suspects; /* options->escalate of them; owned */
	size_t count;		  /* > 0: a window is open, or its results are being shown */
	double begin_s, probe_begin_s;
	bool running;
};

struct escalation *escalation_new(const struct triage_options *options, struct triage *triage)
{
	struct escalation *escalation = calloc(1, sizeof(*escalation));
	struct suspect *suspects = calloc(options->escalate, sizeof(*suspects));

	if (!escalation || !suspects) {
		free(escalation);
		free(suspects);
		return NULL;
	}
	escalation->options = options;
	escalation->triage = triage;
	escalation->suspects = suspects;
	return escalation;
}

void escalation_free(struct escalation *escalation)
{
	if (!escalation)
		return;
	escalation_clear(escalation);
	free(escalation->suspects);
	free(escalation);
}

bool escalation_is_running(const struct escalation *escalation)
{
	return escalation->running;
}

static bool has_cooled_down(const struct escalation *escalation, const struct member *member)
{
	return member->escalated_s < 0 ||
	       triage_now(escalation->triage) - member->escalated_s >= ESCALATE_COOLDOWN_S;
}

static bool is_due(const struct escalation *escalation, const struct triage_entry *entry,
		   const struct member *member)
{
	/* No probe here covers files; dead threads belong to another command. */
	return member &&
	       (entry->growth.kind == QUANTITY_HEAP || entry->growth.kind == QUANTITY_MAPPING) &&
	       growth_is_worth_probes(&entry->growth) && has_cooled_down(escalation, member);
}

static void suspect_options(struct suspect *suspect, const struct triage_options *options)
{
	suspect->options = options->session;
	memset(&suspect->options.targets.chosen.pids, 0,
	       sizeof(suspect->options.targets.chosen.pids));
	suspect->options.output.path = NULL; /* this engine writes the output */
	suspect->options.tracking.families[FAMILY_MAPPING] = suspect->kind == QUANTITY_MAPPING;
	suspect->options.tracking.older_ns = (uint64_t)((double)options->window_ns * YOUNG_SHARE);
	suspect->options.output.report.top = SITES_SHOWN;
}

static int suspect_attach(struct suspect *suspect, const struct triage_options *options)
{
	int *slot, error;

	suspect_options(suspect, options);
	slot = vec_push(&suspect->options.targets.chosen.pids);
	if (!slot)
		return -ENOMEM;
	*slot = suspect->pid;
	error = session_open_beside(&suspect->session, &suspect->options);
	suspect->attached = !error;
	return error;
}

static void suspect_add(struct escalation *escalation, struct member *member, enum quantity kind)
{
	struct suspect *suspect = &escalation->suspects[escalation->count++];
	int error;

	*suspect = (struct suspect){
		.pid = member->reading.pid,
		.start_ticks = member->reading.start_ticks,
		.kind = kind,
		.sites.kind = kind,
	};
	member->escalated_s = triage_now(escalation->triage);
	error = suspect_attach(suspect, escalation->options);
	suspect->value_begin = member_value_now(member, kind);
	suspect->begin_s = triage_now(escalation->triage);
	if (error)
		suspect->sites.refusal =
			error == -ESRCH ? "it has ended" : "the reason is on standard error";
}

static size_t attached_count(const struct escalation *escalation)
{
	size_t count = 0;

	for (size_t i = 0; i < escalation->count; i++)
		count += escalation->suspects[i].attached;
	return count;
}

static void attach_due(struct escalation *escalation, const struct triage_report *report)
{
	double credit_s = triage_credit_s(escalation->triage);
	size_t limit = MIN(escalation->options->escalate, (size_t)(credit_s / SETUP_COST_S));

	/* Processes near a limit come first, whatever their rank: later may be too late. */
	for (size_t i = 0; i < report->limits.count && escalation->count < limit; i++) {
		struct member *member = population_find(&escalation->triage->population,
							report->limits.items[i].entry.pid);

		if (member && has_cooled_down(escalation, member))
			suspect_add(escalation, member, QUANTITY_HEAP);
	}
	for (size_t i = 0; i < report->processes.count && escalation->count < limit; i++) {
		const struct triage_entry *entry = &report->processes.items[i];
		struct member *member =
			population_find(&escalation->triage->population, entry->pid);

		if (is_due(escalation, entry, member))
			suspect_add(escalation, member, entry->growth.kind);
	}
}

void escalation_begin(struct escalation *escalation, const struct triage_report *report)
{
	double before_s = triage_cpu_s();

	if (escalation->count)
		return;
	attach_due(escalation, report);
	escalation->triage->escalation_cpu_s += triage_cpu_s() - before_s;
	if (!escalation->count)
		return;
	escalation->running = true;
	escalation->begin_s = triage_now(escalation->triage);
	escalation->probe_begin_s = escalation->triage->probe_s;
	if (attached_count(escalation))
		log_info("tracking %zu suspect%s for %.3g s", attached_count(escalation),
			 attached_count(escalation) == 1 ? "" : "s",
			 (double)escalation->options->window_ns / 1e9);
}

/* Returns the estimated cost of the probes in the suspect so far. */
static double suspect_cost_s(const struct suspect *suspect)
{
	struct ledgers ledgers = {0};
	double allocations = 0, frees = 0;

	if (!suspect->attached || ledgers_read(&suspect->session.bpf, &ledgers))
		return 0;
	for (size_t i = 0; i < ledgers.count; i++) {
		const struct lm_ledger *ledger = &ledgers.slots[i];

		allocations += (double)(ledger->allocations + ledger->filtered + ledger->unsampled +
					ledger->failed);
		frees +=
			(double)(ledger->frees + ledger->untracked_frees + ledger->inherited_frees);
	}
	ledgers_free(&ledgers);
	return allocations * ALLOCATION_COST_S + frees * FREE_COST_S;
}

bool escalation_is_over(struct escalation *escalation)
{
	struct triage *triage = escalation->triage;
	double lasted_s = triage_now(triage) - escalation->begin_s, cost_s = 0;
	double window_s = (double)escalation->options->window_ns / 1e9;

	if (!escalation->running)
		return false;
	for (size_t i = 0; i < escalation->count; i++) {
		struct suspect *suspect = &escalation->suspects[i];

		cost_s += suspect_cost_s(suspect);
		if (suspect->attached)
			event_streams_consume(&suspect->session.streams);
	}
	triage->probe_s = escalation->probe_begin_s + cost_s;
	if (lasted_s >= window_s || !attached_count(escalation))
		return true;
	if (cost_s <= triage_credit_s(triage))
		return false;
	log_info(
		"window ended after %.1f s of %.3g: the probes cost %.2g s of CPU time, and --budget had saved %.2g",
		lasted_s, window_s, cost_s, triage_credit_s(triage));
	return true;
}

static void suspect_examine(struct suspect *suspect, const struct member *member, double now_s)
{
	struct triage_sites *sites = &suspect->sites;
	double value = member_value_now(member, suspect->kind), lasted_s = now_s - suspect->begin_s;

	/* A shortened window excludes the same share. */
	suspect->session.collect_options.older_ns = (uint64_t)(lasted_s * 1e9 * YOUNG_SHARE);
	sites->window_s = lasted_s;
	if (lasted_s < WINDOW_MIN_S) {
		sites->refusal = "the run ended when its window had just begun";
		return;
	}
	sites->counted_s = lasted_s * (1 - YOUNG_SHARE);
	sites->growth_per_s = lasted_s > 0 ? (value - suspect->value_begin) / lasted_s : 0;
	if (session_examine(&suspect->session, &suspect->snapshot, &suspect->report))
		return;
	sites->report = &suspect->report;
	for (size_t i = 0; i < suspect->report.processes.count; i++) {
		const struct report_process *process = &suspect->report.processes.items[i];

		if (process->process->pid == (uint32_t)suspect->pid)
			sites->process = process;
	}
}

void escalation_end(struct escalation *escalation)
{
	double before_s;

	if (!escalation->running)
		return;
	escalation->running = false;
	if (triage_poll(escalation->triage)) /* growth until now */
		return;
	before_s = triage_cpu_s();
	for (size_t i = 0; i < escalation->count; i++) {
		struct suspect *suspect = &escalation->suspects[i];
		struct member *member = population_find_same(&escalation->triage->population,
							     suspect->pid, suspect->start_ticks);

		if (!member) {
			log_info("PID %d ended while it was tracked", suspect->pid);
			continue;
		}
		if (suspect->attached)
			suspect_examine(suspect, member, triage_now(escalation->triage));
		member->sites = &suspect->sites;
	}
	escalation->triage->escalation_cpu_s += triage_cpu_s() - before_s;
}

void escalation_clear(struct escalation *escalation)
{
	double before_s = triage_cpu_s();

	for (size_t i = 0; i < escalation->count; i++) {
		struct suspect *suspect = &escalation->suspects[i];
		struct member *member = population_find_same(&escalation->triage->population,
							     suspect->pid, suspect->start_ticks);

		if (member)
			member->sites = NULL;
		report_free(&suspect->report);
		snapshot_free(&suspect->snapshot);
		if (suspect->attached)
			session_close(&suspect->session);
		vec_free(&suspect->options.targets.chosen.pids);
	}
	escalation->count = 0;
	escalation->running = false;
	escalation->triage->escalation_cpu_s += triage_cpu_s() - before_s;
}
