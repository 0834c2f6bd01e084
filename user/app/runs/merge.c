// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/merge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "report/analyze/report_build.h"
#include "report/store/recorder_state.h"
#include "report/store/recording_state.h"

#define NS_PER_S INT64_C(1000000000)
/* Digits of a boot id to show. */
#define BOOT_DIGITS 8
#define NO_HOST UINT64_MAX

struct source {
	const char *path;
	struct recording *recording;
	size_t host;	 /* host of all its processes without one; index into merge.hosts */
	size_t position; /* index of the snapshot below */
	bool loaded;
	struct snapshot snapshot;
	struct report report;
};

struct fleet_host {
	char *name;    /* owned; as shown */
	char *boot_id; /* owned; "": unknown */
	char *kernel;  /* owned; or NULL */
	uint64_t snapshots, first_ns, last_ns;
};

struct merge {
	VEC(struct source) sources;
	VEC(struct fleet_host) hosts;
	VEC(uint64_t) times; /* of the fleet's snapshots, ascending */
	/* Indexes into hosts, by the name shown; and by the recorded name without and with the boot
	 * id. */
	struct hash shown, by_name, by_boot;
	struct hash owners; /* key of a process in the fleet -> index in sources */
};

static uint64_t time_ns_of(const struct recording_snapshot *snapshot)
{
	int64_t ns = (int64_t)timespec_ns(&snapshot->time);

	return ns > 0 ? (uint64_t)ns : 0;
}

static int out_of_memory(void)
{
	log_error("out of memory");
	return -ENOMEM;
}

/* -------- hosts */

static uint64_t host_key(const char *name, const char *boot_id)
{
	return hash_mix(hash_text(name)) ^ hash_text(boot_id);
}

/*
 * Finds a host. If either side lacks a boot id, the name alone decides, for the first such host.
 * Returns NO_HOST if there is none.
 */
static uint64_t host_find(const struct merge *merge, const char *name, const char *boot_id)
{
	const uint64_t *same = *boot_id ? hash_get(&merge->by_boot, host_key(name, boot_id))
					: hash_get(&merge->by_name, hash_text(name));
	const uint64_t *any = *boot_id ? hash_get(&merge->by_boot, host_key(name, "")) : NULL;

	return MIN(same ? *same : NO_HOST, any ? *any : NO_HOST);
}

/*
 * Returns its own name, or one with the boot id if another host has that name. NULL: out of memory.
 */
static char *name_for(const struct merge *merge, const char *recorded, const char *boot_id)
{
	char *name;

	if (!hash_get(&merge->shown, hash_text(recorded)))
		return strdup(recorded);
	return asprintf(&name, "%s (%.*s)", recorded, BOOT_DIGITS, boot_id) < 0 ? NULL : name;
}

/* Adds a place; the first of a key stays. Returns false when out of memory. */
static bool place_put(struct hash *places, uint64_t key, uint64_t place)
{
	bool fresh;
	uint64_t *slot = hash_put(places, key, &fresh);

	if (slot && fresh)
		*slot = place;
	return slot;
}

/* Returns NULL when out of memory. */
static struct fleet_host *host_make(struct merge *merge, const struct report_host *recorded,
				    const char *boot_id)
{
	uint64_t place = merge->hosts.count;
	struct fleet_host *host = vec_push(&merge->hosts);

	if (!host)
		return NULL;
	host->name = name_for(merge, recorded->name, boot_id);
	host->boot_id = strdup(boot_id);
	host->kernel = recorded->kernel ? strdup(recorded->kernel) : NULL;
	host->first_ns = UINT64_MAX;
	return host->name && host->boot_id &&
			       place_put(&merge->shown, hash_text(host->name), place) &&
			       place_put(&merge->by_name, hash_text(recorded->name), place) &&
			       place_put(&merge->by_boot, host_key(recorded->name, boot_id), place)
		       ? host
		       : NULL;
}

static int host_add(struct merge *merge, const struct report_host *recorded, size_t *place)
{
	const char *boot_id = recorded->boot_id ? recorded->boot_id : "";
	uint64_t found = host_find(merge, recorded->name, boot_id);
	struct fleet_host *host =
		found == NO_HOST ? host_make(merge, recorded, boot_id) : &merge->hosts.items[found];

	if (!host)
		return out_of_memory();
	host->snapshots += recorded->snapshots;
	host->first_ns = MIN(host->first_ns, recorded->first_ns);
	host->last_ns = MAX(host->last_ns, recorded->last_ns);
	*place = (size_t)(host - merge->hosts.items);
	return 0;
}

static int own_host_add(struct merge *merge, struct source *source)
{
	const struct recording *recording = source->recording;
	const struct recording_snapshot *all = recording->snapshots.items;
	size_t count = recording->snapshots.count;
	const struct report_host recorded = {
		.name = *recording_host(recording) ? recording_host(recording) : "(unknown host)",
		.boot_id = recording->boot_id,
		.kernel = recording->kernel,
		.snapshots = count,
		.first_ns = time_ns_of(&all[0]),
		.last_ns = MAX(time_ns_of(&all[count - 1]), time_ns_of(&all[0])),
	};

	return host_add(merge, &recorded, &source->host);
}

/* Adds the hosts of a recording. Those of a fleet keep their names, which are already distinct. */
static int hosts_add(struct merge *merge, struct source *source)
{
	size_t place;
	int error = 0;

	if (!source->recording->hosts.count)
		return own_host_add(merge, source);
	for (size_t i = 0; i < source->recording->hosts.count && !error; i++)
		error = host_add(merge, &source->recording->hosts.items[i], &place);
	return error;
}

static int source_add(struct merge *merge, const char *path)
{
	struct source *source = vec_push(&merge->sources);
	int error;

	if (!source)
		return out_of_memory();
	source->path = path;
	error = recording_open(&source->recording, path);
	if (error)
		return error;
	if (!source->recording->snapshots.count) {
		log_error(
			"%s has no snapshots, and only those are merged: name a recording of `leakmon record -o FILE`",
			path);
		return -ENODATA;
	}
	return hosts_add(merge, source);
}

/* -------- times */

static int by_time(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

static int times_collect(struct merge *merge)
{
	for (size_t i = 0; i < merge->sources.count; i++) {
		const struct recording *recording = merge->sources.items[i].recording;

		for (size_t j = 0; j < recording->snapshots.count; j++) {
			uint64_t *time = vec_push(&merge->times);

			if (!time)
				return out_of_memory();
			*time = time_ns_of(&recording->snapshots.items[j]);
		}
	}
	return 0;
}

/* Chooses distinct times, evenly spaced, with the first and the last; at least two. */
static int times_choose(struct merge *merge)
{
	uint64_t *times;
	size_t kept = 0, count;
	int error = times_collect(merge);

	if (error || !merge->times.count)
		return error;
	times = merge->times.items;
	qsort(times, merge->times.count, sizeof(*times), by_time);
	for (size_t i = 0; i < merge->times.count; i++) {
		if (!kept || times[i] != times[kept - 1])
			times[kept++] = times[i];
	}
	count = MIN(kept, (size_t)MERGE_SNAPSHOTS_MAX);
	for (size_t i = 0; i < count; i++)
		times[i] = times[count > 1 ? i * (kept - 1) / (count - 1) : 0];
	merge->times.count = count;
	return 0;
}

int merge_open(struct merge **merge, const char *const *paths, size_t count)
{
	struct merge *made = calloc(1, sizeof(*made));
	int error = made ? 0 : out_of_memory();

	descriptors_raise_limit();
	for (size_t i = 0; i < count && !error; i++)
		error = source_add(made, paths[i]);
	if (!error)
		error = times_choose(made);
	if (error)
		merge_free(made);
	else
		*merge = made;
	return error;
}

static void unload(struct source *source)
{
	report_free(&source->report);
	snapshot_free(&source->snapshot);
	source->loaded = false;
}

void merge_free(struct merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->sources.count; i++) {
		unload(&merge->sources.items[i]);
		recording_close(merge->sources.items[i].recording);
	}
	for (size_t i = 0; i < merge->hosts.count; i++) {
		free(merge->hosts.items[i].name);
		free(merge->hosts.items[i].boot_id);
		free(merge->hosts.items[i].kernel);
	}
	vec_free(&merge->sources);
	vec_free(&merge->hosts);
	vec_free(&merge->times);
	hash_free(&merge->owners);
	hash_free(&merge->shown);
	hash_free(&merge->by_name);
	hash_free(&merge->by_boot);
	free(merge);
}

size_t merge_hosts(const struct merge *merge)
{
	return merge->hosts.count;
}

/* -------- contents of a recording at a time */

static int counts_twice(const struct source *source, const struct snapshot_process *process,
			const struct source *other)
{
	log_error("%s and %s both have process %u of %s, which would count twice: name one of them",
		  other->path, source->path, process->pid, process->host);
	return -EEXIST;
}

/*
 * Sets the host of a process, and a key unique among all hosts. A process of a fleet already has
 * both, so a recording contained in a fleet is not counted twice.
 */
static int process_adopt(struct merge *merge, struct source *source,
			 struct snapshot_process *process)
{
	uint64_t place = (uint64_t)(source - merge->sources.items), *owner;
	bool fresh;

	if (!process->host) {
		process->host = strdup(merge->hosts.items[source->host].name);
		if (!process->host)
			return out_of_memory();
		process->key = recorder_mix(recorder_mix(intern_hash(process->host), process->key),
					    process->pid) &
			       INT64_MAX;
	}
	owner = hash_put(&merge->owners, process->key, &fresh);
	if (!owner)
		return out_of_memory();
	if (fresh)
		*owner = place;
	return *owner == place ? 0 : counts_twice(source, process, &merge->sources.items[*owner]);
}

static size_t position_at(const struct recording *recording, uint64_t time_ns)
{
	size_t position = 0;

	for (size_t i = 1; i < recording->snapshots.count; i++) {
		if (time_ns_of(&recording->snapshots.items[i]) <= time_ns)
			position = i;
	}
	return position;
}

static int load(struct merge *merge, struct source *source, uint64_t time_ns)
{
	const struct report_options all = {.sort = SORT_BYTES};
	size_t position = position_at(source->recording, time_ns);
	int error;

	if (source->loaded && source->position == position)
		return 0;
	unload(source);
	error = recording_read(source->recording, position, &source->snapshot);
	if (error)
		return error;
	for (size_t i = 0; i < source->snapshot.processes.count && !error; i++) {
		if (source->snapshot.processes.items[i].key)
			error = process_adopt(merge, source, &source->snapshot.processes.items[i]);
	}
	if (error)
		return error;
	if (report_build(&source->report, &source->snapshot, &all))
		return out_of_memory();
	source->position = position;
	source->loaded = true;
	return recording_name(source->recording, &source->report);
}

/* -------- the fleet's snapshots */

static void snapshot_add(struct snapshot *sum, const struct snapshot *added, bool first)
{
	snapshot_add_ledgers(sum, added);
	sum->sampled |= added->sampled;
	sum->scan_ns += added->scan_ns;
	sum->has_ages = (first || sum->has_ages) && added->has_ages;
	sum->has_owners = (first || sum->has_owners) && added->has_owners;
	sum->only_by_dead = added->only_by_dead;
}

static int counted_otherwise(const struct source *source, const struct source *other)
{
	log_error(
		"%s was recorded %s --by-dead-threads, and %s otherwise: put together what was counted the same way",
		source->path, source->snapshot.only_by_dead ? "with" : "without", other->path);
	return -EINVAL;
}

static int processes_add(struct report *fleet, const struct report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct report_process *process;

		/* It has not allocated yet, and appears again with a key. */
		if (!report->processes.items[i].process->key)
			continue;
		process = vec_push(&fleet->processes);
		if (!process)
			return out_of_memory();
		*process = report->processes.items[i]; /* borrowed */
	}
	return 0;
}

static int append_at(struct merge *merge, struct recorder *recorder, size_t place)
{
	uint64_t time_ns = merge->times.items[place];
	struct snapshot snapshot = {.sequence = place + 1,
				    .time = {.tv_sec = (time_t)(time_ns / NS_PER_S),
					     .tv_nsec = (long)(time_ns % NS_PER_S)},
				    .monotonic_ns = time_ns};
	struct report report = {.snapshot = &snapshot};
	int error = 0;

	for (size_t i = 0; i < merge->sources.count && !error; i++) {
		struct source *source = &merge->sources.items[i];

		error = load(merge, source, time_ns);
		if (!error && i && source->snapshot.only_by_dead != snapshot.only_by_dead)
			error = counted_otherwise(source, &merge->sources.items[0]);
		if (error)
			break;
		snapshot_add(&snapshot, &source->snapshot, !i);
		error = processes_add(&report, &source->report);
	}
	if (!error)
		error = recorder_append(recorder, &report, NULL, place + 1 == merge->times.count);
	vec_free(&report.processes);
	return error;
}

static int hosts_write(const struct merge *merge, struct recorder *recorder)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = database_errno(sqlite3_prepare_v2(
		recorder->database, "INSERT INTO hosts VALUES(?,?,?,?,?,?)", -1, &statement, NULL));

	for (size_t i = 0; i < merge->hosts.count && !error; i++) {
		const struct fleet_host *host = &merge->hosts.items[i];

		error = database_do(statement, "tttiii", host->name,
				    *host->boot_id ? host->boot_id : NULL, host->kernel,
				    (int64_t)host->snapshots, (int64_t)host->first_ns,
				    (int64_t)host->last_ns);
	}
	if (error)
		log_error("cannot write the hosts into %s: %s", recorder->path, strerror(-error));
	return error;
}

int merge_write(struct merge *merge, struct recorder *recorder)
{
	int error = hosts_write(merge, recorder);

	for (size_t i = 0; i < merge->times.count && !error; i++) {
		error = append_at(merge, recorder, i);
		if (!error)
			error = interrupt_check();
	}
	return error;
}
