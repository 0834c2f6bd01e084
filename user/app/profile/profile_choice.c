// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profile_choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/profile/window_scheduler.h"
#include "app/triage/triage.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/units.h"

/* The default of triage's --near-limit. */
#define NEAR_LIMIT 0.9

struct profile_choice {
	const struct profile_options *options;
	struct triage own, *triage;
	struct profile_slots slots;
	double charged_s, charged_before_s; /* CPU time already in the triage's budget */
};

static int open_own(struct profile_choice *choice)
{
	uint64_t interval_ns = choice->options->session.schedule.interval_ns;
	double poll_s = (double)MIN(interval_ns, TRIAGE_POLL_NS) / 1e9;
	int error = triage_open(&choice->own, poll_s, choice->options->overhead);

	if (error)
		return error;
	choice->own.limits.near_share = NEAR_LIMIT;
	choice->triage = &choice->own;
	log_info(
		"no target: profiling what grows on this machine, %zu processes at most; first verdicts in about %.3g s",
		choice->slots.limit, GROWTH_READINGS_MIN * poll_s);
	return 0;
}

/* Includes time that others have charged since the last call. */
static void note_charged(struct profile_choice *choice)
{
	choice->charged_s = triage_cpu_s();
	choice->charged_before_s = choice->triage->escalation_cpu_s;
}

/* Charges our time as escalation, so that windows and reports never make the triage shed work. */
static void charge(struct profile_choice *choice)
{
	double others_s = choice->triage->escalation_cpu_s - choice->charged_before_s;

	choice->triage->escalation_cpu_s += triage_cpu_s() - choice->charged_s - others_s;
	note_charged(choice);
}

size_t profile_choice_places(const struct profile_options *options)
{
	return options->places ? options->places : PROFILE_SLOTS;
}

struct profile_choice *profile_choice_new(const struct profile_options *options)
{
	struct profile_choice *choice = calloc(1, sizeof(*choice));

	if (!choice)
		return NULL;
	choice->options = options;
	choice->triage = options->triage;
	choice->slots.limit = profile_choice_places(options);
	if (!choice->triage && open_own(choice)) {
		free(choice);
		return NULL;
	}
	/* Time spent on loading does not count against the triage. */
	choice->triage->escalation_cpu_s = triage_cpu_s();
	note_charged(choice);
	return choice;
}

void profile_choice_free(struct profile_choice *choice)
{
	if (!choice)
		return;
	if (choice->triage == &choice->own)
		triage_close(&choice->own);
	vec_free(&choice->slots.list);
	free(choice);
}

static void leave(struct profile_choice *choice, struct session *session, struct profile_slot *slot)
{
	struct tracked *tracked = targets_find(session, slot->pid);

	log_info("PID %d is no longer profiled: another one grows, or is close to a memory limit",
		 slot->pid);
	if (tracked && tracked->start_ticks == slot->start_ticks)
		targets_end(session, tracked);
	profile_slots_release(&choice->slots, slot);
}

static bool is_alive(const struct profile_slot *slot, void *context)
{
	const struct profile_choice *choice = context;

	return population_find_same(&choice->triage->population, slot->pid, slot->start_ticks);
}

static void say_joined(const struct profile_slot *chosen)
{
	char rate[16];

	if (chosen->near_limit)
		log_info("PID %d is profiled: it is close to a memory limit", chosen->pid);
	else
		log_info("PID %d is profiled: its heap grows by %s/s, at a confidence of %.2f",
			 chosen->pid, units_bytes(rate, chosen->per_s, ""), chosen->confidence);
}

static int join(struct profile_choice *choice, struct session *session,
		const struct triage_entry *entry, uint64_t start_ticks, bool near)
{
	struct profile_slot *chosen =
		profile_slots_add(&choice->slots, &(struct profile_slot){
							  .pid = entry->pid,
							  .start_ticks = start_ticks,
							  .suspect_s = triage_now(choice->triage),
							  .per_s = entry->growth.per_s,
							  .confidence = entry->growth.confidence,
							  .near_limit = near,
						  });
	char name[32];
	int error;

	if (!chosen)
		return -ENOMEM;
	error = target_check(entry->pid, &session->target_config, false);
	if (!error) {
		error = targets_probe(session, entry->pid, NULL, false);
		snprintf(name, sizeof(name), "(%s)", entry->comm);
		if (error && error != -ESRCH && error != -EINTR)
			targets_explain_refusal(session, name, entry->pid, error);
	}
	chosen->refused = error != 0;
	if (error)
		stages_forget(&session->stages, entry->pid);
	else
		say_joined(chosen);
	return error == -ENOMEM ? error : 0;
}

/*
 * Keeps, or admits if there is a slot, a suspect, in order of rank, or a process near its memory
 * limit.
 */
static int consider(struct profile_choice *choice, struct session *session,
		    const struct triage_entry *entry, pid_t busy, bool near)
{
	const struct member *member = population_find(&choice->triage->population, entry->pid);
	double now_s = triage_now(choice->triage);
	struct profile_slot *chosen, *evicted;

	if (!member || entry->pid == getpid() ||
	    (!near &&
	     (entry->growth.kind != QUANTITY_HEAP || !growth_is_worth_probes(&entry->growth))))
		return 0;
	chosen = profile_slots_find(&choice->slots, entry->pid, member->reading.start_ticks);
	if (chosen && !chosen->refused && !targets_find(session, entry->pid)) {
		/* It has executed another program. */
		profile_slots_release(&choice->slots, chosen);
		chosen = NULL;
	}
	if (chosen && !chosen->refused) {
		chosen->suspect_s = now_s;
		chosen->near_limit |= near;
		chosen->per_s = entry->growth.per_s;
		chosen->confidence = entry->growth.confidence;
	}
	if (chosen)
		return 0;
	if (!profile_slots_has_room(&choice->slots, now_s, busy, near, &evicted))
		return 0;
	if (evicted)
		leave(choice, session, evicted);
	return join(choice, session, entry, member->reading.start_ticks, near);
}

static int choose(struct profile_choice *choice, struct session *session, pid_t busy)
{
	struct triage_report report = {0};
	int error = triage_report(choice->triage, 0, &report);

	profile_slots_expire(&choice->slots, triage_now(choice->triage), is_alive, choice);
	for (size_t i = 0; i < choice->slots.list.count; i++)
		choice->slots.list.items[i].near_limit = false;
	/* The process that will reach its limit soonest comes first. */
	for (size_t i = 0; i < report.limits.count && !error; i++)
		error = consider(choice, session, &report.limits.items[i].entry, busy, true);
	for (size_t i = 0; i < report.processes.count && !error; i++)
		error = consider(choice, session, &report.processes.items[i], busy, false);
	triage_report_free(&report);
	if (error)
		log_error("no choice of processes: %s", strerror(-error));
	return error;
}

int profile_choice_tend(struct profile_choice *choice, struct session *session, pid_t busy)
{
	int error;

	if (triage_pause_s(choice->triage) > 0)
		return 0;
	charge(choice);
	error = triage_poll(choice->triage);
	note_charged(choice);
	if (!error && choice->options->polled)
		choice->options->polled(choice->options->context);
	return error ? error : choose(choice, session, busy);
}

void profile_choice_explain(const struct profile_choice *choice, struct profile_report *report)
{
	report->watched = choice->triage->population.members.count;
	report->choosing = true;
	for (size_t i = 0; i < report->processes.count; i++) {
		struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < choice->slots.list.count; j++) {
			const struct profile_slot *chosen = &choice->slots.list.items[j];

			if (chosen->pid != (pid_t)process->pid || chosen->refused)
				continue;
			process->chosen_per_s = chosen->per_s;
			process->chosen_confidence = chosen->confidence;
			process->chosen_near = chosen->near_limit;
		}
	}
}
