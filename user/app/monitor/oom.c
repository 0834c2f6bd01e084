// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/monitor/oom.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/units.h"
#include "process/proc/cgroup.h"
#include "process/proc/container.h"
#include "process/symbol/site_label.h"

/* Kills in one report; further ones are logged only. */
#define KILLS_MAX 256
/* Names by container; further kills go into one more total, without a name. */
#define TOTALS_MAX 256
#define LABEL "oom"
#define LABEL_MAX 160

static int place_copy(struct cgroup_place *copy, const struct cgroup_place *place)
{
	*copy = *place;
	copy->path = place->path ? strdup(place->path) : NULL;
	return place->path && !copy->path ? -ENOMEM : 0;
}

void oom_kills_note(struct oom_kills *kills, pid_t pid, const struct cgroup_place *before)
{
	_cleanup_(cgroup_place_free) struct cgroup_place place = {0};
	struct oom_kill kill = {.pid = pid, .limit_bytes = CGROUP_NOT_KNOWN}, *noted;
	char limit[16] = "not known";

	if (before && place_copy(&place, before))
		place = (struct cgroup_place){0};
	cgroup_place_read(&place, pid);
	if (place.known && place.limit != CGROUP_NOT_KNOWN) {
		kill.limit_bytes = place.limit;
		kill.limit_length = place.limit_length;
		units_bytes(limit, (double)kill.limit_bytes, "");
	}
	kill.cgroup = TAKE_PTR(place.path);
	log_warning("PID %d was OOM-killed (control group %s, limit %s)", (int)pid,
		    kill.cgroup ? kill.cgroup : "not known", limit);
	noted = kills->list.count < KILLS_MAX ? vec_push(&kills->list) : NULL;
	if (noted)
		*noted = kill;
	else
		free(kill.cgroup);
}

static const struct snapshot_process *process_of(const struct snapshot *snapshot, pid_t pid)
{
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		if (snapshot->processes.items[i].pid == (uint32_t)pid)
			return &snapshot->processes.items[i];
	}
	return NULL;
}

static bool is_of(const struct oom_total *total, const char *comm, const char *container)
{
	const char *own = container_proven_id(total->container);

	return !strcmp(total->comm, comm) &&
	       (own && container ? !strcmp(own, container) : own == container);
}

/* Returns NULL if there is no such total. */
static struct oom_total *total_find(struct oom_kills *kills, const char *comm,
				    const char *container)
{
	for (size_t i = 0; i < kills->totals.count; i++) {
		if (is_of(&kills->totals.items[i], comm, container))
			return &kills->totals.items[i];
	}
	return NULL;
}

int oom_kills_count_one(struct oom_kills *kills, struct oom_kill *kill, const char *comm,
			const struct container *container)
{
	struct oom_total *total;

	kill->container = container_copy(container);
	if (container && !kill->container)
		return -ENOMEM;
	total = total_find(kills, comm, container_proven_id(container));
	if (!total && kills->totals.count >= TOTALS_MAX) {
		comm = "";
		container = NULL;
		total = total_find(kills, comm, NULL);
	}
	if (total) {
		total->kills++;
		return 0;
	}
	total = vec_push(&kills->totals);
	if (!total)
		return -ENOMEM;
	total->kills = 1;
	snprintf(total->comm, sizeof(total->comm), "%s", comm);
	total->container = container_copy(container);
	return container && !total->container ? -ENOMEM : 0;
}

int oom_kills_count(struct oom_kills *kills, const struct snapshot *snapshot)
{
	int error = 0;

	for (size_t i = 0; i < kills->list.count && !error; i++) {
		const struct snapshot_process *process =
			process_of(snapshot, kills->list.items[i].pid);

		error = oom_kills_count_one(kills, &kills->list.items[i],
					    process ? process->comm : "",
					    process ? process->container : NULL);
	}
	return error;
}

static void last_forget(struct oom_last *last)
{
	for (size_t i = 0; i < last->sites.count; i++) {
		free(last->sites.items[i].function);
		free(last->sites.items[i].module);
		free(last->sites.items[i].file);
	}
	vec_free(&last->sites);
	container_free(last->container);
	*last = (struct oom_last){0};
}

void oom_kills_keep_of(struct oom_kills *kills, const char *comm, const struct container *container,
		       bool profiled)
{
	struct oom_last *last = &kills->last;

	last_forget(last);
	snprintf(last->comm, sizeof(last->comm), "%s", comm);
	last->container = container_copy(container);
	last->profiled = profiled;
}

static char *text_copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

void oom_kills_keep_site(struct oom_kills *kills, uint64_t id, const struct frames *frames,
			 const struct oom_site *figures)
{
	const struct frame *caller = site_label_frame(frames);
	struct oom_site *site =
		kills->last.sites.count < OOM_SITES ? vec_push(&kills->last.sites) : NULL;

	if (!site)
		return;
	*site = *figures;
	site->id = id;
	if (!caller)
		return;
	site->function = text_copy(caller->function);
	site->module = text_copy(caller->module);
	site->file = text_copy(caller->file);
	site->line = caller->line;
}

void oom_kills_keep_sites(struct oom_kills *kills, const struct report *report)
{
	const struct report_process *last = NULL;

	for (size_t i = 0; i < report->processes.count; i++) {
		if (oom_kills_has(kills, (pid_t)report->processes.items[i].process->pid))
			last = &report->processes.items[i];
	}
	if (!last)
		return;
	oom_kills_keep_of(kills, last->process->comm, last->process->container, false);
	for (size_t i = 0; i < last->sites.count; i++) {
		const struct report_site *site = &last->sites.items[i];

		if (site->site->family == FAMILY_HEAP)
			oom_kills_keep_site(kills, site->id, &site->frames,
					    &(struct oom_site){.bytes = site->site->bytes,
							       .count = site->site->count});
	}
}

bool oom_kills_has(const struct oom_kills *kills, pid_t pid)
{
	for (size_t i = 0; i < kills->list.count; i++) {
		if (kills->list.items[i].pid == pid)
			return true;
	}
	return false;
}

int oom_kills_of_label(struct oom_kills *kills, const char *label)
{
	const char *at =
		label && !strncmp(label, LABEL " ", sizeof(LABEL)) ? label + strlen(LABEL) : "";

	/* A separator precedes each number: the space, or a comma. */
	while (*at) {
		char *end;
		long pid = strtol(at + 1, &end, 10);
		struct oom_kill *kill;

		if (pid <= 0 || pid > INT_MAX || (*end && *end != ','))
			return 0;
		kill = vec_push(&kills->list);
		if (!kill)
			return -ENOMEM;
		*kill = (struct oom_kill){.pid = (pid_t)pid, .limit_bytes = CGROUP_NOT_KNOWN};
		at = end;
	}
	return 0;
}

char *oom_kills_label(const struct oom_kills *kills)
{
	char text[LABEL_MAX] = LABEL;
	size_t used = strlen(text);

	for (size_t i = 0; i < kills->list.count && used < sizeof(text) - 16; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d", i ? "," : " ",
					 (int)kills->list.items[i].pid);
	return strdup(text);
}

static void kill_free(struct oom_kill *kill)
{
	free(kill->cgroup);
	container_free(kill->container);
}

void oom_kills_drop_last(struct oom_kills *kills)
{
	if (kills->list.count)
		kill_free(&kills->list.items[--kills->list.count]);
}

void oom_kills_reported(struct oom_kills *kills)
{
	for (size_t i = 0; i < kills->list.count; i++)
		kill_free(&kills->list.items[i]);
	kills->list.count = 0;
}

void oom_kills_free(struct oom_kills *kills)
{
	oom_kills_reported(kills);
	for (size_t i = 0; i < kills->totals.count; i++)
		container_free(kills->totals.items[i].container);
	last_forget(&kills->last);
	vec_free(&kills->list);
	vec_free(&kills->totals);
}
