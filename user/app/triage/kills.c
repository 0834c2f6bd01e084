// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/kills.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/page.h"
#include "process/proc/cgroup.h"
#include "app/monitor/oom.h"
#include "trace/probe/victims.h"
#include "process/proc/memory_room.h"

/* Memory kept for writing a report. */
#define RESERVE_BYTES (2u << 20)

struct kills {
	struct triage *triage;
	struct victims *victims; /* NULL: the kernel does not report kills */
	struct oom_kills oom;	 /* those of `list`, in its order; and the totals */
	struct triage_kills list;
	struct memory_reserve reserve;
	uint64_t lost;
};

/* A removed container's files are gone; use the triage's readings of the limits above it. */
static void place_fill(const struct kills *kills, const struct group *group,
		       struct cgroup_place *place)
{
	const struct limits *limits = &kills->triage->limits;

	cgroup_place_set(place, group->path, kills->triage->groups.mount.unified);
	for (size_t i = 0; i < limits->list.count; i++) {
		const struct limit *limit = &limits->list.items[i]->facts;

		if (place->known || limit->kind != LIMIT_MAX || isnan(limit->bytes) ||
		    !cgroup_is_within(group->path, limit->path))
			continue;
		if (place->limit_length && place->limit <= (uint64_t)limit->bytes)
			continue;
		place->limit = (uint64_t)limit->bytes;
		place->limit_length = strlen(limit->path);
	}
	place->known |= place->limit_length > 0;
}

static struct triage_kill *kill_add(struct kills *kills, pid_t pid, const struct group *group)
{
	_cleanup_(cgroup_place_free) struct cgroup_place place = {0};
	size_t before = kills->oom.list.count;
	struct triage_kill *kill;

	if (group)
		place_fill(kills, group, &place);
	oom_kills_note(&kills->oom, pid, group ? &place : NULL);
	if (kills->oom.list.count == before)
		return NULL;
	kill = vec_push(&kills->list.list);
	if (!kill)
		oom_kills_drop_last(&kills->oom);
	return kill;
}

static void kill_describe(struct kills *kills, struct triage_kill *kill,
			  const struct member *member, const struct group *group)
{
	double now_s = triage_now(kills->triage);
	struct oom_kill *where = &kills->oom.list.items[kills->oom.list.count - 1];

	if (member) {
		triage_entry_of(&kill->entry, member, group, now_s);
		kill->read_s = now_s - member->read_s;
	}
	if (!*kill->comm && member)
		memcpy(kill->comm, member->reading.comm, sizeof(kill->comm));
	if (oom_kills_count_one(&kills->oom, where, kill->comm, group ? group->container : NULL))
		log_error("out of memory");
}

/* From 6.8 back the kernel reports a thread's PID, which may not be the main thread's. */
static pid_t process_of(uint32_t tid)
{
	char path[64], line[256];
	_cleanup_fclose_ FILE *file = NULL;
	int pid;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			return pid;
	}
	return (pid_t)tid;
}

static void memory_fill(struct triage_kill_memory *memory, const struct lm_victim *victim)
{
	uint64_t page = page_size();

	*memory = (struct triage_kill_memory){
		.known = victim->has_task,
		.anonymous = victim->anon * page,
		.file = victim->file * page,
		.shared = victim->shmem * page,
		.swap = victim->swap * page,
		.page_tables = victim->page_tables,
	};
}

static void on_victim(const struct lm_victim *victim, void *context)
{
	struct kills *kills = context;
	const struct population *population = &kills->triage->population;
	pid_t pid = victim->has_task ? (pid_t)victim->pid : process_of(victim->pid);
	struct member *member = population_find(population, pid);
	struct triage_kill *kill;

	memory_reserve_give_up(&kills->reserve);
	member = member ? member : population_find_ended(population, pid);
	/* The kernel may choose a victim more than once. */
	if (member && member->oom_told)
		return;
	if (member)
		member->oom_told = true;
	kill = kill_add(kills, pid, member ? member->group : NULL);
	if (!kill)
		return;
	memory_fill(&kill->memory, victim);
	snprintf(kill->comm, sizeof(kill->comm), "%.15s", victim->comm);
	kill_describe(kills, kill, member, member ? member->group : NULL);
}

/*
 * Takes counted kills only if the kernel does not report them itself; with reports they may arrive
 * later, after the poll.
 */
static void take_counted(struct kills *kills)
{
	struct groups *groups = &kills->triage->groups;

	for (size_t i = 0; i < groups->killed.count && !kills->victims; i++) {
		const struct group_kill *found = &groups->killed.items[i];
		struct triage_kill *kill =
			kill_add(kills, found->member->reading.pid, found->group);

		found->member->oom_told = true;
		if (!kill)
			continue;
		kill->by_counter = true;
		kill_describe(kills, kill, found->member, found->group);
	}
	groups->killed.count = 0;
}

bool kills_take(struct kills *kills)
{
	uint64_t lost;

	if (kills->victims) {
		victims_consume(kills->victims);
		lost = victims_lost(kills->victims);
		if (lost > kills->lost)
			log_warning("%" PRIu64
				    " processes were OOM-killed faster than leakmon could read",
				    lost - kills->lost);
		kills->lost = lost;
	}
	take_counted(kills);
	return kills->list.list.count > 0;
}

void kills_show(struct kills *kills, struct triage_report *report)
{
	for (size_t i = 0; i < kills->list.list.count; i++)
		kills->list.list.items[i].where = &kills->oom.list.items[i];
	report->oom = &kills->oom;
	report->kills = kills->list.list.count ? &kills->list : NULL;
}

void kills_reported(struct kills *kills)
{
	oom_kills_reported(&kills->oom);
	kills->list.list.count = 0;
	memory_reserve_hold(&kills->reserve, RESERVE_BYTES);
}

int kills_fd(const struct kills *kills)
{
	return kills->victims ? victims_fd(kills->victims) : -1;
}

struct kills *kills_new(struct triage *triage, bool use_bpf)
{
	struct kills *kills = calloc(1, sizeof(*kills));
	int error;

	if (!kills)
		return NULL;
	kills->triage = triage;
	memory_reserve_hold(&kills->reserve, RESERVE_BYTES);
	error = use_bpf ? victims_open(&kills->victims, on_victim, kills) : -EPERM;
	if (error)
		log_info("OOM kills are found by the counts of control groups, at polls%s%s",
			 use_bpf ? ": the kernel does not report them: " : "",
			 use_bpf ? strerror(-error) : "");
	return kills;
}

void kills_free(struct kills *kills)
{
	if (!kills)
		return;
	victims_close(kills->victims);
	oom_kills_free(&kills->oom);
	vec_free(&kills->list.list);
	memory_reserve_give_up(&kills->reserve);
	free(kills);
}
