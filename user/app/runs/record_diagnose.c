// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/record_diagnose.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "heap/memory/cgroup_memory.h"
#include "report/analyze/site_trend.h"
#include "report/store/diagnosis_rows.h"
#include "report/stored_diagnosis.h"

/* The processes of a report that hold or grow most, and the first call stacks of each. */
#define PROCESSES_MAX 64
#define SITES_MAX 64
/* A limit is near from this share of usage on. */
#define NEAR_SHARE 0.9

/* -------- answers */

/*
 * Pushes an answer through its own queue: that of the reports waits for its server, and answers are
 * few.
 */
static void push_answer(struct record_diagnose *diagnose, const char *answer)
{
	const struct push_options *options = diagnose->push_options;
	struct push_options events = {0};

	if (!options)
		return;
	events = *options;
	events.to[PUSH_TO_PYROSCOPE] = (struct push_destination){0};
	if (!diagnose->push && report_push_open(&diagnose->push, &events))
		return;
	report_push_answer(diagnose->push, answer);
}

static void keep_answer(struct record_diagnose *diagnose, const char *answer)
{
	struct stored_diagnosis diagnosis = {.pid = diagnose->child.pid,
					     .comm = diagnose->comm,
					     .reason = diagnose->child.reason,
					     .answer = answer};

	clock_gettime(CLOCK_REALTIME, &diagnosis.time);
	if (!answer)
		log_warning(
			"PID %d: its diagnosis has no answer; `leakmon diagnose -p %d` reports why",
			(int)diagnosis.pid, (int)diagnosis.pid);
	else if (!diagnosis_rows_append(diagnose->path, &diagnosis, &diagnose->keep))
		log_info("PID %d: its diagnosis is in %s: `leakmon report %s` shows it",
			 (int)diagnosis.pid, diagnose->path, diagnose->path);
	if (answer)
		push_answer(diagnose, answer);
}

static void take_answer(struct record_diagnose *diagnose)
{
	char *answer = NULL;

	if (!diagnose_child_take(&diagnose->child, &answer))
		return;
	keep_answer(diagnose, answer);
	free(answer);
}

uint64_t record_diagnose_finish(struct record_diagnose *diagnose)
{
	char *answer = NULL;

	if (diagnose_child_hurry(&diagnose->child, &answer))
		keep_answer(diagnose, answer);
	free(answer);
	vec_free(&diagnose->asked);
	return report_push_close(diagnose->push);
}

/* -------- reasons */

static bool waits(const struct record_diagnose *diagnose, const char *reason, double now_s)
{
	return diagnose->last_s && now_s < diagnose->last_s + RECORD_DIAGNOSE_GAP_S &&
	       strcmp(reason, DIAGNOSED_FOR_LIMIT) != 0;
}

bool record_diagnose_is_due(struct record_diagnose *diagnose, uint64_t key, const char *reason,
			    double now_s)
{
	struct diagnose_asked *added, *asked = NULL;

	for (const char *at = reason; *at; at++)
		key = hash_mix(key ^ (unsigned char)*at);
	for (size_t i = 0; i < diagnose->asked.count && !asked; i++) {
		if (diagnose->asked.items[i].key == key)
			asked = &diagnose->asked.items[i];
	}
	if ((asked && now_s < asked->at_s + RECORD_DIAGNOSE_AGAIN_S) ||
	    waits(diagnose, reason, now_s))
		return false;
	added = asked ? asked : vec_push(&diagnose->asked);
	if (!added)
		return false;
	*added = (struct diagnose_asked){key, now_s};
	diagnose->last_s = now_s;
	return true;
}

/* A process of either kind of report. */
struct recorded {
	pid_t pid;
	uint64_t key;
	const char *comm;
};

static void start(struct record_diagnose *diagnose, const struct recorded *process,
		  const char *reason)
{
	const struct stored_diagnosis words = {.reason = reason};
	int error;

	if (!record_diagnose_is_due(diagnose, process->key, reason, monotonic_s()))
		return;
	snprintf(diagnose->comm, sizeof(diagnose->comm), "%s", process->comm);
	error = diagnose_child_start(&diagnose->child, process->pid, reason);
	if (error)
		log_warning("PID %d: it cannot be diagnosed: %s", (int)process->pid,
			    strerror(-error));
	else
		log_info("PID %d: diagnosing it for a minute, because %s", (int)process->pid,
			 stored_diagnosis_reason(&words));
}

/* Returns false if none can be started now. */
static bool is_free(const struct record_diagnose *diagnose)
{
	return diagnose->path && !diagnose->child.child;
}

static void consider(struct record_diagnose *diagnose, const struct recorded *process, bool leaks)
{
	uint64_t limit, used;

	if (cgroup_memory_limit(process->pid, &limit, &used) &&
	    (double)used >= NEAR_SHARE * (double)limit)
		start(diagnose, process, DIAGNOSED_FOR_LIMIT);
	if (leaks && is_free(diagnose))
		start(diagnose, process, DIAGNOSED_FOR_LEAK);
}

static bool is_leaking(const struct report *report, const struct report_process *process)
{
	for (size_t i = 0; report->history && i < MIN(process->sites.count, SITES_MAX); i++) {
		const struct report_site *site = &process->sites.items[i];
		struct site_trend trend;

		if (!site->series)
			continue;
		site_trend_of(&trend, report->history, site->series);
		if (trend.verdict == TREND_LEAKING)
			return true;
	}
	return false;
}

void record_diagnose_report(struct record_diagnose *diagnose, const struct report *report)
{
	take_answer(diagnose);
	for (size_t i = 0; i < MIN(report->processes.count, PROCESSES_MAX) && is_free(diagnose);
	     i++) {
		const struct report_process *process = &report->processes.items[i];
		const struct recorded recorded = {.pid = (pid_t)process->process->pid,
						  .key = process->process->key,
						  .comm = process->process->comm};

		if (!process->process->exited && recorded.pid > 0)
			consider(diagnose, &recorded, is_leaking(report, process));
	}
}

static bool is_leaking_profile(const struct profile_report_process *process)
{
	for (size_t i = 0; i < process->sites.count; i++) {
		if (process->sites.items[i].judgement.verdict == PROFILE_LEAKING)
			return true;
	}
	return false;
}

void record_diagnose_profile(struct record_diagnose *diagnose, const struct profile_report *report)
{
	take_answer(diagnose);
	for (size_t i = 0; i < MIN(report->processes.count, PROCESSES_MAX) && is_free(diagnose);
	     i++) {
		const struct profile_report_process *process = &report->processes.items[i];
		const struct recorded recorded = {
			.pid = (pid_t)process->pid, .key = process->pid, .comm = process->comm};

		if (!process->exited && recorded.pid > 0)
			consider(diagnose, &recorded, is_leaking_profile(process));
	}
}
