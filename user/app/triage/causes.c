// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/causes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/memory/memory_parts.h"
#include "heap/memory/conclusion.h"
#include "report/memory_split.h"

/* Processes examined at once: the most urgent ones. */
#define MAX_LOOKED_AT 10
/* Pause until explained growth is examined again. */
#define AGAIN_S 30.0
/*
 * Blocks in use during a look are live, too, so live blocks are blamed only after this many looks
 * agree, at least this far apart. The smallest live count is used.
 */
#define LIVE_LOOKS 3
#define LIVE_LOOK_S 1.0
/* Pause after a heap could not be read; doubled on each further failure, up to this many times. */
#define FAILED_LOOK_S 10.0
#define FAILED_DOUBLINGS 4
/* CPU seconds expected for a first look, and the worst case for each GiB. */
#define LOOK_COST_S 0.05
#define GIB_COST_S 1.0

/*
 * Growth that would be called leaking but is not yet explained is called growing for this long: a
 * heap retained by its allocator grows as evenly as one that leaks. To settle that, a look may
 * exceed the saved budget, for one process at a time, if it costs at most this.
 */
#define ASK_S 60.0
#define OWED_PAUSE_S 3.0
#define OWED_COST_S 0.3

struct look {
	pid_t pid;
	uint64_t start_ticks;
	bool listed; /* in the current report */
	bool has_first;
	unsigned failures;	   /* in a row: the pause grows with each */
	struct memory_split first; /* when it was first listed */
	double looked_s, cost_s;   /* time of the latest look on the triage's clock, and its cost */
	bool explained;
	bool told;	  /* it was reported as leaking: only an explanation takes that back */
	double leaking_s; /* when it would first have been called leaking; 0: never */
	unsigned looks;	  /* since it was last known not to leak */
	struct memory_conclusion conclusion;
	struct triage_cause cause;
};

struct causes {
	struct triage *triage;
	double owed_s; /* time of the latest look that exceeded the credit */
	VEC(struct look *) looks;
};

struct causes *causes_new(struct triage *triage)
{
	struct causes *causes = calloc(1, sizeof(*causes));

	if (causes)
		causes->triage = triage;
	return causes;
}

void causes_free(struct causes *causes)
{
	if (!causes)
		return;
	for (size_t i = 0; i < causes->looks.count; i++)
		free(causes->looks.items[i]);
	vec_free(&causes->looks);
	free(causes);
}

static struct look *find(const struct causes *causes, pid_t pid)
{
	for (size_t i = 0; i < causes->looks.count; i++) {
		if (causes->looks.items[i]->pid == pid)
			return causes->looks.items[i];
	}
	return NULL;
}

static void forget(struct causes *causes, const struct look *look)
{
	for (size_t i = 0; i < causes->looks.count; i++) {
		if (causes->looks.items[i] != look)
			continue;
		free(causes->looks.items[i]);
		causes->looks.items[i] = causes->looks.items[--causes->looks.count];
		return;
	}
}

static bool is_open(const struct causes *causes, const struct look *look)
{
	return look->leaking_s > 0 && !look->explained && !look->told && !look->failures &&
	       triage_now(causes->triage) - look->leaking_s < ASK_S;
}

static bool is_owed(struct causes *causes, const struct look *look, double expected_s)
{
	double now_s = triage_now(causes->triage);

	if (!is_open(causes, look) || expected_s > OWED_COST_S ||
	    (causes->owed_s > 0 && now_s - causes->owed_s < OWED_PAUSE_S))
		return false;
	causes->owed_s = now_s;
	return true;
}

/* Reads the process if the credit suffices and its heap can be read. Returns 0 or -errno. */
static int look_at(struct causes *causes, struct look *look, double expected_s,
		   struct memory_process *now)
{
	double before_s = triage_cpu_s();
	int error;

	if (expected_s > triage_spare_s(causes->triage) && !is_owed(causes, look, expected_s))
		return -EAGAIN;
	error = memory_process_read(look->pid, NULL, now);
	look->cost_s = triage_cpu_s() - before_s;
	look->looked_s = triage_now(causes->triage);
	causes->triage->escalation_cpu_s += look->cost_s;
	/* A busy process's heap keeps changing: maybe next time. */
	if (!error && now->heap_changed) {
		memory_process_free(now);
		error = -EAGAIN;
	}
	look->failures = error ? look->failures + 1 : 0;
	return error;
}

static struct look *look_new(struct causes *causes, pid_t pid)
{
	struct look *look = calloc(1, sizeof(*look)), **kept;

	if (!look)
		return NULL;
	look->pid = pid;
	kept = vec_push(&causes->looks);
	if (!kept) {
		free(look);
		return NULL;
	}
	*kept = look;
	return look;
}

static void look_first(struct causes *causes, struct look *look, const struct triage_entry *entry)
{
	/* A runtime's heap is not walked. */
	double heap = entry->now.values[QUANTITY_HEAP] -
		      (entry->managed ? (double)entry->managed->heap : 0);
	double guess_s = LOOK_COST_S + GIB_COST_S * fmax(heap, 0) / (1 << 30);
	struct memory_process now;

	if (look_at(causes, look, MAX(guess_s, look->cost_s), &now))
		return;
	look->first = memory_split_of(&now);
	look->start_ticks = now.start_ticks;
	look->has_first = true;
	memory_process_free(&now);
}

static void conclude(struct look *look, const struct memory_split *now)
{
	const struct memory_growth *growth = &look->conclusion.growth;
	struct memory_conclusion conclusion;

	memory_conclude(&look->first, now, &conclusion);
	if (look->explained && look->looks++ < LIVE_LOOKS &&
	    conclusion.growth.groups[GROUP_LIVE] > growth->groups[GROUP_LIVE])
		return;
	look->conclusion = conclusion;
	look->explained = conclusion.verdict != MEMORY_STEADY;
	look->cause = (struct triage_cause){
		.verdict = memory_verdict_name(look->conclusion.verdict),
		.text = look->conclusion.text,
		.no_leak = look->conclusion.no_leak,
		.unproven = look->conclusion.unproven,
		.since_s = (double)growth->since_ms / 1000,
		.grown = growth->total,
		.live = growth->groups[GROUP_LIVE],
	};
	if (look->cause.no_leak)
		look->looks = 0;
}

static double pause_of(const struct look *look)
{
	if (look->failures)
		return FAILED_LOOK_S * (1u << MIN(look->failures - 1, FAILED_DOUBLINGS));
	if (!look->explained)
		return 0;
	return !look->cause.no_leak && look->looks < LIVE_LOOKS ? LIVE_LOOK_S : AGAIN_S;
}

/* Returns false if the PID belongs to another process by now. */
static bool look_again(struct causes *causes, struct look *look)
{
	struct memory_process now = {0};
	bool same = true;

	if (look_at(causes, look, look->cost_s, &now))
		return true;
	same = now.start_ticks == look->start_ticks;
	if (same) {
		const struct memory_split split = memory_split_of(&now);

		conclude(look, &split);
		heap_floor_rebase(&look->first.floor, &split.floor);
	}
	memory_process_free(&now);
	return same;
}

static bool is_worth_a_look(const struct triage_entry *entry)
{
	/* Goroutines that do not end are the cause. */
	return entry->pid && entry->growth.kind == QUANTITY_HEAP && !entry->goroutines &&
	       (growth_is_early(&entry->growth) || trend_is_suspect(entry->growth.verdict));
}

static bool is_due(const struct causes *causes, const struct look *look)
{
	return !look->looked_s || triage_now(causes->triage) - look->looked_s >= pause_of(look);
}

static void explain(struct causes *causes, struct triage_report *report, struct triage_entry *entry)
{
	struct look *look = find(causes, entry->pid);
	bool is_suspect = trend_is_suspect(entry->growth.verdict);

	if (!look && causes->looks.count < MAX_LOOKED_AT)
		look = look_new(causes, entry->pid);
	if (!look)
		return;
	look->listed = true;
	if (entry->growth.verdict == TREND_LEAKING && !look->leaking_s)
		look->leaking_s = triage_now(causes->triage);
	if (is_due(causes, look) && !look->has_first) {
		look_first(causes, look, entry);
	} else if (is_due(causes, look) && is_suspect && !look_again(causes, look)) {
		forget(causes, look);
		return;
	}
	if (is_suspect && look->explained)
		triage_report_explain(report, entry, &look->cause);
	else if (is_open(causes, look))
		triage_report_doubt(report, entry);
	look->told |= entry->growth.verdict == TREND_LEAKING;
}

void causes_explain(struct causes *causes, struct triage_report *report)
{
	for (size_t i = 0; i < causes->looks.count; i++)
		causes->looks.items[i]->listed = false;
	for (size_t i = 0; i < report->processes.count; i++) {
		if (is_worth_a_look(&report->processes.items[i]))
			explain(causes, report, &report->processes.items[i]);
	}
	for (size_t i = causes->looks.count; i > 0; i--) {
		if (!causes->looks.items[i - 1]->listed)
			forget(causes, causes->looks.items[i - 1]);
	}
	triage_report_rank(report);
}
