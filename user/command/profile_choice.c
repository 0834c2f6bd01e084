// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/profile_choice.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/units.h"
#include "triage/triage.h"

/* Who is no suspect any more goes on for so long: what a profile has learnt by then is worth it. */
#define STAY_S 900.0
/* Who could not be probed is asked again after so long. */
#define REFUSED_S 600.0

struct chosen {
	pid_t pid;
	uint64_t start_ticks;
	double suspect_s; /* when it was one last */
	double per_s, confidence;
	bool refused; /* not profiled: it keeps no place */
};

struct profile_choice {
	struct triage triage;
	VEC(struct chosen) list;
	double charged_s; /* CPU time that the triage's budget knows of */
};

struct profile_choice *profile_choice_new(double interval_s, double budget)
{
	struct profile_choice *choice = calloc(1, sizeof(*choice));
	double poll_s = fmin(interval_s, (double)TRIAGE_POLL_NS / 1e9);

	if (!choice || triage_open(&choice->triage, poll_s, budget)) {
		free(choice);
		return NULL;
	}
	/* What was spent until now is not the triage's. */
	choice->charged_s = choice->triage.escalation_cpu_s = triage_cpu_s();
	log_info("no target: profiling what grows on this machine, %d processes at most; first "
		 "verdicts in about %.3g s",
		 PROFILE_PLACES, GROWTH_READINGS_MIN * poll_s);
	return choice;
}

void profile_choice_free(struct profile_choice *choice)
{
	if (!choice)
		return;
	triage_close(&choice->triage);
	vec_free(&choice->list);
	free(choice);
}

static struct chosen *find(const struct profile_choice *choice, pid_t pid, uint64_t start_ticks)
{
	for (size_t i = 0; i < choice->list.count; i++) {
		struct chosen *chosen = &choice->list.items[i];

		if (chosen->pid == pid && chosen->start_ticks == start_ticks)
			return chosen;
	}
	return NULL;
}

static size_t places_taken(const struct profile_choice *choice)
{
	size_t taken = 0;

	for (size_t i = 0; i < choice->list.count; i++)
		taken += !choice->list.items[i].refused;
	return taken;
}

/* Of those that are profiled, whoever has been no suspect for longest, if that is long enough. */
static struct chosen *who_leaves(const struct profile_choice *choice, double now_s, pid_t busy)
{
	struct chosen *found = NULL;

	for (size_t i = 0; i < choice->list.count; i++) {
		struct chosen *chosen = &choice->list.items[i];

		if (!chosen->refused && chosen->pid != busy && now_s - chosen->suspect_s > STAY_S &&
		    (!found || chosen->suspect_s < found->suspect_s))
			found = chosen;
	}
	return found;
}

static void leave(struct profile_choice *choice, struct session *session, struct chosen *chosen)
{
	struct tracked *tracked = targets_find(session, chosen->pid);

	log_info("PID %d is not profiled any longer: it has stopped growing, and another one grows",
		 chosen->pid);
	if (tracked && tracked->start_ticks == chosen->start_ticks)
		targets_end(session, tracked);
	*chosen = choice->list.items[--choice->list.count];
}

/* Those that have ended, and refusals that are long ago. */
static void forget(struct profile_choice *choice, double now_s)
{
	for (size_t i = choice->list.count; i-- > 0;) {
		struct chosen *chosen = &choice->list.items[i];
		bool old = chosen->refused && now_s - chosen->suspect_s > REFUSED_S;

		if (old || !population_find_same(&choice->triage.population, chosen->pid,
						 chosen->start_ticks))
			*chosen = choice->list.items[--choice->list.count];
	}
}

static int join(struct profile_choice *choice, struct session *session,
		const struct triage_entry *entry, uint64_t start_ticks)
{
	struct chosen *chosen = vec_push(&choice->list);
	char rate[16], name[32];
	int error;

	if (!chosen)
		return -ENOMEM;
	*chosen = (struct chosen){.pid = entry->pid,
				  .start_ticks = start_ticks,
				  .suspect_s = triage_now(&choice->triage),
				  .per_s = entry->growth.per_s,
				  .confidence = entry->growth.confidence};
	error = target_check(entry->pid, &session->target_config, false);
	if (!error) {
		error = targets_probe(session, entry->pid, NULL, false);
		snprintf(name, sizeof(name), "(%s)", entry->comm);
		if (error && error != -ESRCH && error != -EINTR)
			targets_explain_refusal(session, name, entry->pid, error);
	}
	chosen->refused = error != 0;
	if (error)
		session_forget(session, entry->pid);
	else
		log_info("PID %d is profiled: its heap grows by %s/s, at a confidence of %.2f",
			 entry->pid, units_bytes(rate, chosen->per_s, ""), chosen->confidence);
	return error == -ENOMEM ? error : 0;
}

/* A suspect, in order of rank: it goes on, or joins if there is a place. */
static int consider(struct profile_choice *choice, struct session *session,
		    const struct triage_entry *entry, pid_t busy)
{
	const struct member *member = population_find(&choice->triage.population, entry->pid);
	double now_s = triage_now(&choice->triage);
	struct chosen *chosen, *leaving;

	if (!member || entry->pid == getpid() || entry->growth.kind != QUANTITY_HEAP ||
	    !growth_is_worth_probes(&entry->growth))
		return 0;
	chosen = find(choice, entry->pid, member->reading.start_ticks);
	if (chosen && !chosen->refused && !targets_find(session, entry->pid)) {
		/* It has become another program. */
		*chosen = choice->list.items[--choice->list.count];
		chosen = NULL;
	}
	if (chosen && !chosen->refused) {
		chosen->suspect_s = now_s;
		chosen->per_s = entry->growth.per_s;
		chosen->confidence = entry->growth.confidence;
	}
	if (chosen)
		return 0;
	leaving = who_leaves(choice, now_s, busy);
	if (places_taken(choice) >= PROFILE_PLACES) {
		if (!leaving)
			return 0;
		leave(choice, session, leaving);
	}
	return join(choice, session, entry, member->reading.start_ticks);
}

static int choose(struct profile_choice *choice, struct session *session, pid_t busy)
{
	struct triage_report report = {0};
	int error = triage_report(&choice->triage, 0, &report);

	forget(choice, triage_now(&choice->triage));
	for (size_t i = 0; i < report.processes.count && !error; i++)
		error = consider(choice, session, &report.processes.items[i], busy);
	triage_report_free(&report);
	if (error)
		log_error("no choice of processes: %s", strerror(-error));
	return error;
}

int profile_choice_tend(struct profile_choice *choice, struct session *session, pid_t busy)
{
	double now_s;
	int error;

	if (triage_pause_s(&choice->triage) > 0)
		return 0;
	/* Windows and reports are no reason for the triage to shed anything. */
	now_s = triage_cpu_s();
	choice->triage.escalation_cpu_s += now_s - choice->charged_s;
	error = triage_poll(&choice->triage);
	choice->charged_s = triage_cpu_s();
	return error ? error : choose(choice, session, busy);
}

void profile_choice_explain(const struct profile_choice *choice, struct profile_report *report)
{
	report->watched = choice->triage.population.members.count;
	report->choosing = true;
	for (size_t i = 0; i < report->processes.count; i++) {
		struct profile_report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < choice->list.count; j++) {
			const struct chosen *chosen = &choice->list.items[j];

			if (chosen->pid != (pid_t)process->pid || chosen->refused)
				continue;
			process->chosen_per_s = chosen->per_s;
			process->chosen_confidence = chosen->confidence;
		}
	}
}
