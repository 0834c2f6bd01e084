// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/triage.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"

static double monotonic_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

double triage_cpu_s(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	double sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(whose); i++) {
		struct rusage usage = {0};

		getrusage(whose[i], &usage);
		sum += seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
	}
	return sum;
}

int triage_open(struct triage *triage, double poll_interval_s, double budget)
{
	*triage = (struct triage){
		.poll_interval_s = poll_interval_s,
		.budget = {.limit = budget, .pause_s = poll_interval_s},
		.begin_s = monotonic_s(),
		.polled_s = -1,
		.random = (uint64_t)getpid(),
	};
	population_init(&triage->population);
	if (!groups_init(&triage->groups))
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

void triage_close(struct triage *triage)
{
	population_free(&triage->population);
	groups_free(&triage->groups);
}

double triage_now(const struct triage *triage)
{
	return monotonic_s() - triage->begin_s;
}

double triage_pause_s(const struct triage *triage)
{
	return MAX(triage->due_s - triage_now(triage), 0.0);
}

/* 0.8 to 1.2; the state walks through Weyl's sequence. */
static double next_variation(struct triage *triage)
{
	triage->random += 0x9e3779b97f4a7c15u;
	return 0.8 + 0.4 * (double)(hash_mix(triage->random) >> 11) / 9007199254740992.0;
}

double triage_credit_s(const struct triage *triage)
{
	return MAX(triage->budget.credit_s, 0.0);
}

static void log_step(const struct triage *triage)
{
	const struct budget *budget = &triage->budget;

	log_info("triage used %.2g %% of a core of the %.3g %% of --budget: polling every %.3g "
		 "s%s%s",
		 100 * budget->used, 100 * budget->limit, budget->pause_s * budget_stretch(budget),
		 budget_counts_mappings(budget) ? "" : ", not counting mappings",
		 budget_counts_files(budget) ? "" : ", nor open files");
}

static struct budget_cost cost_now(const struct triage *triage)
{
	return (struct budget_cost){
		.polling_s = triage_cpu_s() - triage->escalation_cpu_s,
		.escalation_s = triage->escalation_cpu_s + triage->probe_s + triage->sampling_s,
	};
}

int triage_poll(struct triage *triage)
{
	struct reading_effort effort = {
		.files = budget_counts_files(&triage->budget),
		.mappings = budget_counts_mappings(&triage->budget),
		.admission_s = budget_admission_s(&triage->budget),
	};
	double now_s = triage_now(triage);
	struct budget_cost cost;
	int error;

	if (triage->polled_s < 0) {
		cost = cost_now(triage);
		budget_begin(&triage->budget, now_s, &cost);
	}
	error = population_poll(&triage->population, now_s, &effort);

	if (!error)
		error = groups_poll(&triage->groups, &triage->population, now_s);
	if (error) {
		log_error("cannot poll /proc: %s%s", strerror(-error),
			  error == -ENOMEM ? "" : "; is it mounted?");
		return error;
	}
	if (triage->polled_s < 0 && triage->population.hidden)
		log_warning("/proc hides processes of other users (hidepid): they are not judged; "
			    "run leakmon as root, or in the group that /proc is mounted with");
	triage->polled_s = now_s;
	cost = cost_now(triage);
	if (budget_account(&triage->budget, triage_now(triage), &cost))
		log_step(triage);
	triage->due_s = now_s + budget_pause_s(&triage->budget) * next_variation(triage);
	return 0;
}
