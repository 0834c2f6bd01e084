// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/population.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/triage/goroutine_watch.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/search.h"
#include "process/proc/process_list.h"

/* Descriptors reserved for output, cgroups and escalation. */
#define DESCRIPTORS_SPARED 256

void population_init(struct population *population)
{
	size_t allowed = descriptors_raise_limit();

	*population = (struct population){0};
	if (allowed > 2 * DESCRIPTORS_SPARED)
		population->max_descriptors = allowed - DESCRIPTORS_SPARED;
}

static void member_free(struct population *population, struct member *member)
{
	if (!member)
		return;
	population->descriptors -= member->reading.statm_fd >= 0;
	process_reading_close(&member->reading);
	series_free(&member->series);
	free(member->exe);
	goroutine_watch_free(member->goroutines);
	free(member);
}

/* Keeps an ended process's history until the next poll, to report how it ended. */
static void member_end(struct population *population, struct member *member)
{
	struct member **slot = member ? vec_push(&population->ended) : NULL;

	if (!slot) {
		member_free(population, member);
		return;
	}
	*slot = member;
	population->descriptors -= member->reading.statm_fd >= 0;
	process_reading_close(&member->reading);
}

static void forget_ended(struct population *population)
{
	for (size_t i = 0; i < population->ended.count; i++)
		member_free(population, population->ended.items[i]);
	population->ended.count = 0;
}

void population_free(struct population *population)
{
	forget_ended(population);
	vec_free(&population->ended);
	for (size_t i = 0; i < population->members.count; i++)
		member_free(population, population->members.items[i]);
	vec_free(&population->members);
}

/* Returns the present age. start_ticks are in CLOCK_BOOTTIME. */
static double process_age_s(uint64_t start_ticks)
{
	return clock_s(CLOCK_BOOTTIME) - (double)start_ticks / (double)sysconf(_SC_CLK_TCK);
}

static struct member *member_new(pid_t pid, double now_s)
{
	struct member *member = calloc(1, sizeof(*member));

	if (!member || process_reading_open(&member->reading, pid)) {
		free(member);
		return NULL;
	}
	/* Skip our own children: they work for an escalation, and the budget has their cost. */
	if (member->reading.parent == getpid()) {
		free(member);
		return NULL;
	}
	member->first_seen_s = now_s;
	member->born_s = now_s - fmax(process_age_s(member->reading.start_ticks), 0);
	member->escalated_s = -1;
	return member;
}

/* Updates the path of its program; returns true if it changed: the process has execed. */
static bool exe_changed(struct member *member)
{
	char path[40], target[PATH_MAX];
	ssize_t length;
	bool changed;

	snprintf(path, sizeof(path), "/proc/%d/exe", member->reading.pid);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return false;
	target[length] = '\0';
	if (member->exe && !strcmp(member->exe, target))
		return false;
	changed = member->exe;
	free(member->exe);
	member->exe = strdup(target);
	return changed;
}

/* Reads the process and adds to its series. Returns 0, -ESRCH or -ENOMEM. */
static int member_poll(struct population *population, struct member *member, double now_s,
		       const struct reading_effort *effort)
{
	struct process_reading *reading = &member->reading;
	bool had = reading->statm_fd >= 0, renamed;
	struct reading_effort mine = *effort;
	char comm[sizeof(reading->comm)];
	int error;

	mine.keep_descriptor = population->descriptors < population->max_descriptors;
	memcpy(comm, reading->comm, sizeof(comm));
	error = process_reading_update(reading, &mine);
	population->descriptors += !had && reading->statm_fd >= 0;
	if (error || !reading->has_memory)
		return error;
	renamed = memcmp(comm, reading->comm, sizeof(comm)) != 0;
	/* A new program starts a new history. */
	if ((renamed || process_reading_is_refresh(reading)) && exe_changed(member)) {
		series_free(&member->series);
		goroutine_watch_free(member->goroutines);
		member->goroutines = NULL;
		member->born_s = now_s;
	}
	member->read_s = now_s;
	return series_add(&member->series, now_s, &reading->quantities);
}

/*
 * Returns the member of that PID if it is still the same process, else a new one, or NULL if it has
 * ended.
 */
static struct member *member_renew(struct population *population, struct member *member, pid_t pid,
				   double now_s, const struct reading_effort *effort)
{
	if (member && member_poll(population, member, now_s, effort) != -ESRCH)
		return member;
	member_end(population, member);
	member = member_new(pid, now_s);
	if (!member)
		return NULL;
	if (member_poll(population, member, now_s, effort) != -ESRCH)
		return member;
	member_free(population, member);
	return NULL;
}

/* Admitting a process costs ten times as much as reading it again. */
struct admission {
	double end_s; /* CPU time of this thread at which admission ends */
	unsigned asked;
	bool closed;
};

/* Reading the clock costs as much as a reading of a process. */
#define ADMISSIONS_PER_LOOK 8

static bool admits(struct admission *admission)
{
	if (admission->asked++ % ADMISSIONS_PER_LOOK == 0)
		admission->closed = clock_s(CLOCK_THREAD_CPUTIME_ID) > admission->end_s;
	return !admission->closed;
}

static int merge(struct population *population, const struct pid_list *pids, double now_s,
		 const struct reading_effort *effort)
{
	__typeof__(population->members) old = population->members, merged = {0};
	struct admission admission = {.end_s = clock_s(CLOCK_THREAD_CPUTIME_ID) +
					       effort->admission_s};
	pid_t own = getpid();
	size_t next = 0;
	int error = 0;

	population->waiting = 0;
	for (size_t i = 0; i < pids->list.count; i++) {
		pid_t pid = pids->list.items[i];
		struct member *member = NULL, **slot;

		while (next < old.count && old.items[next]->reading.pid < pid)
			member_end(population, old.items[next++]);
		if (next < old.count && old.items[next]->reading.pid == pid)
			member = old.items[next++];
		if (!member && !admits(&admission)) {
			population->waiting++;
			continue;
		}
		member = pid == own ? NULL : member_renew(population, member, pid, now_s, effort);
		if (!member)
			continue;
		slot = vec_push(&merged);
		if (slot)
			*slot = member;
		else
			member_free(population, member);
		error = slot ? error : -ENOMEM;
	}
	while (next < old.count)
		member_end(population, old.items[next++]);
	vec_free(&old);
	population->members = merged;
	return error;
}

int population_poll(struct population *population, double now_s,
		    const struct reading_effort *effort)
{
	_cleanup_(pid_list_free) struct pid_list pids = {0};
	int error = pid_list_read(&pids);

	if (error)
		return error;
	forget_ended(population);
	population->hidden = pid_list_is_partial(&pids);
	return merge(population, &pids, now_s, effort);
}

struct member *population_find(const struct population *population, pid_t pid)
{
	size_t at = SORTED_BEFORE(member, population->members.items, population->members.count,
				  (*member)->reading.pid < pid);

	if (at == population->members.count || population->members.items[at]->reading.pid != pid)
		return NULL;
	return population->members.items[at];
}

struct member *population_find_ended(const struct population *population, pid_t pid)
{
	for (size_t i = 0; i < population->ended.count; i++) {
		if (population->ended.items[i]->reading.pid == pid)
			return population->ended.items[i];
	}
	return NULL;
}

struct member *population_find_same(const struct population *population, pid_t pid,
				    uint64_t start_ticks)
{
	struct member *member = population_find(population, pid);

	return member && member->reading.start_ticks == start_ticks ? member : NULL;
}

double member_value_now(const struct member *member, enum quantity kind)
{
	const struct reading_effort effort = {.mappings = kind == QUANTITY_MAPPING,
					      .files = kind == QUANTITY_FILES};
	struct process_reading reading = member->reading; /* its descriptor is borrowed */

	reading.maps_due = 0;
	reading.counted_size = 0;
	process_reading_update(&reading, &effort);
	return reading.quantities.values[kind];
}
