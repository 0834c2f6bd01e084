// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/history.h"

#include <errno.h>

#include "base/cleanup.h"
#include "report/family.h"

/* Limits of a history. When it is full, sites and processes that hold nothing are evicted. */

#define DEFAULT_MAX_SITES 4096
/* The default limit of a machine's processes (kernel.pid_max). */
#define DEFAULT_MAX_PROCESSES 32768

static size_t history_max_sites(const struct history *history)
{
	return history->limits.max_sites ? history->limits.max_sites : DEFAULT_MAX_SITES;
}

static size_t history_max_processes(const struct history *history)
{
	return history->limits.max_processes ? history->limits.max_processes
					     : DEFAULT_MAX_PROCESSES;
}

/* Returns the key in process_positions. A target that has not allocated yet has no key. */
static uint64_t history_process_key(lm_process_key process, uint32_t pid)
{
	return process ? process : ~(uint64_t)pid;
}

/* Returns the key in site_positions. Two sites may share one. */
static uint64_t history_site_key(lm_process_key process, enum family_id family, uint32_t index)
{
	return hash_mix(process) ^ hash_mix(~((uint64_t)family << 32 | index));
}

static bool history_site_is(const struct history_site *site, lm_process_key process,
			    const struct site *seen)
{
	return site->process == process && site->family == seen->family &&
	       site->index == seen->index;
}

const struct history_site *history_site_find(const struct history *history, lm_process_key process,
					     const struct site *site)
{
	const uint64_t *position = hash_get(&history->site_positions,
					    history_site_key(process, site->family, site->index));
	const struct history_site *found;

	if (!position)
		return NULL;
	found = &history->sites.items[*position];
	/* Of two sites with one hash, the second one is not tracked. */
	return history_site_is(found, process, site) ? found : NULL;
}

static bool holds_nothing(const struct history_series *series)
{
	return !series->points.count || !series->points.items[series->points.count - 1].count;
}

static void history_site_free(struct history_site *site)
{
	vec_free(&site->frames.list);
	vec_free(&site->series.points);
}

static void merged_free(struct history *history)
{
	for (size_t i = 0; i < history->merged.count; i++)
		history_site_free(&history->merged.items[i].site);
	vec_free(&history->merged);
}

static int site_positions_rebuild(struct history *history)
{
	hash_free(&history->site_positions);
	for (size_t i = 0; i < history->sites.count; i++) {
		const struct history_site *site = &history->sites.items[i];
		uint64_t *position =
			hash_put(&history->site_positions,
				 history_site_key(site->process, site->family, site->index), NULL);

		if (!position)
			return -ENOMEM;
		*position = i;
	}
	return 0;
}

/* Makes room. A site that returns after this starts over. */
static int sites_drop_empty(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->sites.count; i++) {
		struct history_site *site = &history->sites.items[i];

		if (holds_nothing(&site->series))
			history_site_free(site);
		else
			history->sites.items[kept++] = *site;
	}
	history->sites.count = kept;
	return site_positions_rebuild(history);
}

static void process_free(struct history_process *process)
{
	free(process->container);
	vec_free(&process->series.points);
	vec_free(&process->live);
}

static int process_positions_rebuild(struct history *history)
{
	hash_free(&history->process_positions);
	for (size_t i = 0; i < history->processes.count; i++) {
		const struct history_process *process = &history->processes.items[i];
		uint64_t *position =
			hash_put(&history->process_positions,
				 history_process_key(process->key, process->pid), NULL);

		if (!position)
			return -ENOMEM;
		*position = i;
	}
	return 0;
}

static int processes_drop_empty(struct history *history)
{
	size_t kept = 0;

	for (size_t i = 0; i < history->processes.count; i++) {
		struct history_process *process = &history->processes.items[i];

		if (holds_nothing(&process->series) && !process->has_sites)
			process_free(process);
		else
			history->processes.items[kept++] = *process;
	}
	history->processes.count = kept;
	return process_positions_rebuild(history);
}

/* A site's process stays as long as the site. */
static void processes_index(struct history *history)
{
	for (size_t i = 0; i < history->processes.count; i++)
		history->processes.items[i].has_sites = false;
	for (size_t i = 0; i < history->sites.count; i++) {
		struct history_site *site = &history->sites.items[i];

		site->process_index = *hash_get(&history->process_positions,
						history_process_key(site->process, site->pid));
		history->processes.items[site->process_index].has_sites = true;
	}
}

static size_t history_new_processes(const struct history *history, const struct snapshot *snapshot)
{
	size_t fresh = 0;

	for (size_t i = 0; i < snapshot->processes.count; i++)
		fresh += !history_process_find(history, snapshot->processes.items[i].key,
					       snapshot->processes.items[i].pid);
	return fresh;
}

static size_t history_new_sites(const struct history *history, const struct snapshot *snapshot)
{
	size_t fresh = 0;

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		const struct snapshot_process *process = &snapshot->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++)
			fresh +=
				!history_site_find(history, process->key, &process->sites.items[j]);
	}
	return fresh;
}

/*
 * Drops sites and processes that hold nothing, if new ones of the snapshot find no room: a storm of
 * short processes must not fill the history with ended ones. Returns 0 or -ENOMEM.
 */
static int history_make_room(struct history *history, const struct snapshot *snapshot)
{
	bool processes_full = history->processes.count + history_new_processes(history, snapshot) >
			      history_max_processes(history);
	int error = 0;

	if (processes_full || history->sites.count + history_new_sites(history, snapshot) >
				      history_max_sites(history))
		error = sites_drop_empty(history);
	if (error || !processes_full)
		return error;
	processes_index(history);
	return processes_drop_empty(history);
}

void history_free(struct history *history)
{
	for (size_t i = 0; i < history->times.count; i++)
		free(history->times.items[i].label);
	for (size_t i = 0; i < history->processes.count; i++)
		process_free(&history->processes.items[i]);
	for (size_t i = 0; i < history->sites.count; i++)
		history_site_free(&history->sites.items[i]);
	vec_free(&history->times);
	vec_free(&history->processes);
	vec_free(&history->sites);
	merged_free(history);
	hash_free(&history->site_positions);
	hash_free(&history->process_positions);
	*history = (struct history){.limits = history->limits};
}

#define DEFAULT_MAX_TIMES 240
#define NS_PER_S 1e9

static size_t max_times(const struct history *history)
{
	return history->limits.max_times ? MAX(history->limits.max_times, 4) : DEFAULT_MAX_TIMES;
}

struct history_point history_point_at(const struct history_series *series, size_t time)
{
	if (time < series->first || time - series->first >= series->points.count)
		return (struct history_point){0};
	return series->points.items[time - series->first];
}

int64_t history_live_at(const struct history_process *process, size_t time)
{
	if (time < process->series.first || time - process->series.first >= process->live.count)
		return 0;
	return process->live.items[time - process->series.first];
}

/* Returns whether time `i` stays when the others make room. */
static bool time_stays(const struct history *history, size_t i)
{
	return i % 2 == 0 || history->times.items[i].label || i + 1 == history->times.count;
}

static void series_thin(const struct history *history, struct history_series *series)
{
	size_t kept = 0, before = 0;

	for (size_t i = 0; i < series->first; i++)
		before += time_stays(history, i);
	for (size_t i = 0; i < series->points.count; i++) {
		if (time_stays(history, series->first + i))
			series->points.items[kept++] = series->points.items[i];
	}
	series->first = before;
	series->points.count = kept;
}

static void process_thin(const struct history *history, struct history_process *process)
{
	size_t kept = 0;

	for (size_t i = 0; i < process->live.count; i++) {
		if (time_stays(history, process->series.first + i))
			process->live.items[kept++] = process->live.items[i];
	}
	process->live.count = kept;
	series_thin(history, &process->series);
}

/* Drops every second time. */
static void history_thin(struct history *history)
{
	size_t kept = 0, count = history->times.count;

	for (size_t i = 0; i < history->sites.count; i++)
		series_thin(history, &history->sites.items[i].series);
	for (size_t i = 0; i < history->processes.count; i++)
		process_thin(history, &history->processes.items[i]);
	for (size_t i = 0; i < count; i++) {
		struct history_time time = history->times.items[i];

		if (time_stays(history, i))
			history->times.items[kept++] = time;
		else
			free(time.label);
	}
	history->times.count = kept;
}

/* Labels alone could fill the room: then the oldest of them are dropped, too. */
static void make_room_for_time(struct history *history)
{
	size_t limit = max_times(history);

	if (history->times.count < limit)
		return;
	history_thin(history);
	if (history->times.count < limit)
		return;
	for (size_t i = 1; i + 1 < history->times.count; i++) {
		free(history->times.items[i].label);
		history->times.items[i].label = NULL;
	}
	history_thin(history);
}

/* Adds the snapshot's time; first drops every second one if full. */
static int history_time_add(struct history *history, const struct snapshot *snapshot,
			    const char *label)
{
	_cleanup_free_ char *copy = label ? strdup(label) : NULL;
	struct history_time *time;

	if (label && !copy)
		return -ENOMEM;
	make_room_for_time(history);
	time = vec_push(&history->times);
	if (!time)
		return -ENOMEM;
	*time = (struct history_time){.sequence = snapshot->sequence,
				      .time = snapshot->time,
				      .monotonic_ns = snapshot->monotonic_ns,
				      .label = TAKE_PTR(copy)};
	return 0;
}

/* Returns the seconds between the latest two snapshots. */
static double latest_step_s(const struct history *history)
{
	size_t count = history->times.count;
	uint64_t from, to;

	if (count < 2)
		return 0;
	from = history->times.items[count - 2].monotonic_ns;
	to = history->times.items[count - 1].monotonic_ns;
	return to > from ? (double)(to - from) / NS_PER_S : 0;
}

/* Adds the series' point at the latest time. */
static int history_series_add(const struct history *history, struct history_series *series,
			      struct history_point point)
{
	size_t now = history->times.count - 1;
	struct history_point before = history_point_at(series, now ? now - 1 : 0), *place;

	if (!series->points.count) {
		series->first = now;
		before = (struct history_point){0};
	}
	if (now)
		series->integral_byte_s +=
			((double)before.bytes + (double)point.bytes) / 2 * latest_step_s(history);
	place = vec_push(&series->points);
	if (!place)
		return -ENOMEM;
	*place = point;
	return 0;
}

/* Sites that have gone count as freed. */
static struct history_point gone_after(const struct history_series *series)
{
	struct history_point point = series->points.items[series->points.count - 1];

	point.bytes = point.count = point.oldest_ns = 0;
	point.freed_bytes = point.allocated_bytes;
	point.freed_count = point.allocated_count;
	return point;
}

/* Extends a series that the snapshot did not mention up to the latest time. */
static int history_series_catch_up(const struct history *history, struct history_series *series)
{
	if (!series->points.count || series->first + series->points.count == history->times.count)
		return 0;
	return history_series_add(history, series, gone_after(series));
}

const struct history_process *history_process_find(const struct history *history,
						   lm_process_key process, uint32_t pid)
{
	const uint64_t *position =
		hash_get(&history->process_positions, history_process_key(process, pid));
	const struct history_process *found =
		position ? &history->processes.items[*position] : NULL;

	/* Of two processes with one key, the second one is not tracked. */
	return found && found->key == process && found->pid == pid ? found : NULL;
}

/* Returns NULL if there is no room, or out of memory (*error). */
static struct history_process *process_put(struct history *history,
					   const struct snapshot_process *seen, int *error)
{
	uint64_t key = history_process_key(seen->key, seen->pid), *position;
	struct history_process *process;

	if (hash_get(&history->process_positions, key))
		return (struct history_process *)history_process_find(history, seen->key,
								      seen->pid);
	if (history->processes.count >= history_max_processes(history))
		return NULL;
	position = hash_put(&history->process_positions, key, NULL);
	process = position ? vec_push(&history->processes) : NULL;
	if (!process) {
		*error = -ENOMEM;
		return NULL;
	}
	*position = history->processes.count - 1;
	process->key = seen->key;
	process->pid = seen->pid;
	return process;
}

static int64_t live_of(const struct ledger *ledger)
{
	uint64_t come = ledger->outstanding + ledger->filtered + ledger->unsampled;

	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		come += ledger->dropped[i];
	return (int64_t)(come - ledger->untracked_frees);
}

static int live_add(struct history_process *process, int64_t blocks)
{
	int64_t *place = vec_push(&process->live);

	if (!place)
		return -ENOMEM;
	*place = blocks;
	return 0;
}

/* Works like history_series_catch_up(). */
static int process_catch_up(const struct history *history, struct history_process *process)
{
	size_t count = process->live.count;
	int error = history_series_catch_up(history, &process->series);

	if (error || count == process->series.points.count)
		return error;
	return live_add(process, process->live.items[count - 1]);
}

static int process_add(struct history *history, struct history_process *process,
		       const struct snapshot_process *seen)
{
	struct history_point point = {.bytes = seen->outstanding_bytes,
				      .count = seen->outstanding_count};
	int error;

	memcpy(process->comm, seen->comm, sizeof(process->comm));
	process->exited = seen->exited;
	process->age_ns = seen->age_ns;
	for (size_t i = 0; i < seen->sites.count; i++) {
		const struct site *site = &seen->sites.items[i];

		if (family_get(site->family)->overlaps)
			continue;
		point.allocated_bytes += site->allocated_bytes;
		point.allocated_count += site->allocated_count;
		point.freed_bytes += site->freed_bytes;
		point.freed_count += site->freed_count;
		point.oldest_ns = MAX(point.oldest_ns, site->oldest_ns);
	}
	error = history_series_add(history, &process->series, point);
	return error ? error : live_add(process, live_of(&seen->ledger));
}

/* Returns NULL if there is no room (counted) or out of memory (*error). */
static struct history_site *site_put(struct history *history,
				     const struct snapshot_process *process,
				     const struct site *seen, int *error)
{
	uint64_t key = history_site_key(process->key, seen->family, seen->index);
	const uint64_t *known = hash_get(&history->site_positions, key);
	struct history_site *site;
	uint64_t *position;

	if (known) {
		site = &history->sites.items[*known];
		if (history_site_is(site, process->key, seen))
			return site;
	}
	if (known || history->sites.count >= history_max_sites(history)) {
		history->untracked_sites++;
		return NULL;
	}
	position = hash_put(&history->site_positions, key, NULL);
	site = position ? vec_push(&history->sites) : NULL;
	if (!site) {
		*error = -ENOMEM;
		return NULL;
	}
	*position = history->sites.count - 1;
	site->process = process->key;
	site->pid = process->pid;
	site->index = seen->index;
	site->family = seen->family;
	site->kind = seen->kind;
	return site;
}

static int site_add(struct history *history, const struct snapshot_process *process,
		    const struct site *seen)
{
	int error = 0;
	struct history_site *site = site_put(history, process, seen, &error);

	if (!site)
		return error;
	site->lost = seen->lost;
	memcpy(site->ages, seen->ages, sizeof(site->ages));
	site->hit_bytes = seen->hit_bytes;
	if (seen->native) /* of an ended process: no names */
		site->native = seen->native;
	return history_series_add(history, &site->series,
				  (struct history_point){.bytes = seen->bytes,
							 .count = seen->count,
							 .allocated_bytes = seen->allocated_bytes,
							 .allocated_count = seen->allocated_count,
							 .freed_bytes = seen->freed_bytes,
							 .freed_count = seen->freed_count,
							 .oldest_ns = seen->oldest_ns});
}

static int all_catch_up(struct history *history)
{
	int error = 0;

	for (size_t i = 0; i < history->sites.count && !error; i++) {
		struct history_site *site = &history->sites.items[i];

		if (site->series.first + site->series.points.count < history->times.count)
			memset(site->ages, 0, sizeof(site->ages));
		error = history_series_catch_up(history, &site->series);
	}
	for (size_t i = 0; i < history->processes.count && !error; i++)
		error = process_catch_up(history, &history->processes.items[i]);
	return error;
}

/* Sums over sites of one call. */

static int merged_count(struct history *history)
{
	_cleanup_(hash_free) struct hash places = {0};

	for (size_t i = 0; i < history->sites.count; i++) {
		struct history_site *site = &history->sites.items[i];
		uint64_t key = hash_mix(site->native ^ hash_mix(site->process ^ site->family));
		uint64_t *place;
		bool fresh;

		site->merged = 0;
		if (!site->native)
			continue;
		place = hash_put(&places, key, &fresh);
		if (!place)
			return -ENOMEM;
		if (fresh)
			*place = history->merged.count;
		if (fresh && !vec_push(&history->merged))
			return -ENOMEM;
		history->merged.items[*place].stacks++;
		site->merged = *place + 1;
	}
	return 0;
}

/* Begins when its process did, as a series that held nothing at first. */
static int merged_begin(const struct history *history, struct history_merged *merged,
			const struct history_site *site)
{
	size_t first = history->processes.items[site->process_index].series.first;
	struct history_series *sum = &merged->site.series;

	merged->site = (struct history_site){
		.process = site->process,
		.process_index = site->process_index,
		.family = site->family,
		.kind = site->kind,
		.native = site->native,
		.hit_bytes = site->hit_bytes,
	};
	sum->first = MIN(first, site->series.first);
	sum->points.count = sum->points.capacity = history->times.count - sum->first;
	sum->points.items = calloc(sum->points.count, sizeof(*sum->points.items));
	return sum->points.items ? 0 : -ENOMEM;
}

static void merged_add(struct history_site *sum, const struct history_site *site)
{
	for (size_t i = 0; i < SITE_AGES_MAX_; i++)
		sum->ages[i] += site->ages[i];
	sum->series.integral_byte_s += site->series.integral_byte_s;
	for (size_t time = MAX(sum->series.first, site->series.first);
	     time - sum->series.first < sum->series.points.count; time++) {
		struct history_point *total = &sum->series.points.items[time - sum->series.first];
		struct history_point part = history_point_at(&site->series, time);

		total->bytes += part.bytes;
		total->count += part.count;
		total->allocated_bytes += part.allocated_bytes;
		total->allocated_count += part.allocated_count;
		total->freed_bytes += part.freed_bytes;
		total->freed_count += part.freed_count;
		total->oldest_ns = MAX(total->oldest_ns, part.oldest_ns);
	}
}

int history_merge(struct history *history)
{
	int error;

	merged_free(history);
	error = merged_count(history);
	for (size_t i = 0; i < history->sites.count && !error; i++) {
		struct history_site *site = &history->sites.items[i];
		struct history_merged *merged =
			site->merged ? &history->merged.items[site->merged - 1] : NULL;

		if (merged && merged->stacks < 2)
			site->merged = 0;
		if (!site->merged)
			continue;
		if (!merged->site.series.points.items)
			error = merged_begin(history, merged, site);
		if (!error)
			merged_add(&merged->site, site);
	}
	return error;
}

static int snapshot_add(struct history *history, const struct snapshot *snapshot)
{
	int error = 0;

	for (size_t i = 0; i < snapshot->processes.count && !error; i++) {
		const struct snapshot_process *seen = &snapshot->processes.items[i];
		struct history_process *process = process_put(history, seen, &error);

		if (!process) {
			history->untracked_sites += seen->sites.count;
			continue;
		}
		error = process_add(history, process, seen);
		for (size_t j = 0; j < seen->sites.count && !error; j++)
			error = site_add(history, seen, &seen->sites.items[j]);
	}
	return error;
}

int history_add(struct history *history, const struct snapshot *snapshot, const char *label)
{
	int error = history_make_room(history, snapshot);

	history->untracked_sites = 0;
	if (!error)
		error = history_time_add(history, snapshot, label);
	if (!error)
		error = snapshot_add(history, snapshot);
	if (!error)
		error = all_catch_up(history);
	if (error)
		return error;
	processes_index(history);
	return history_merge(history);
}

static int site_name(struct history *history, const struct report_process *process,
		     const struct report_site *named)
{
	struct history_site *site = (struct history_site *)history_site_find(
		history, process->process->key, named->site);
	size_t count = named->frames.list.count;
	struct frame *frames;

	if (!site)
		return 0;
	site->id = named->id;
	if (!count)
		return 0;
	frames = reallocarray(site->frames.list.items, count, sizeof(*frames));
	if (!frames)
		return -ENOMEM;
	memcpy(frames, named->frames.list.items, count * sizeof(*frames));
	site->frames.list.items = frames;
	site->frames.list.count = site->frames.list.capacity = count;
	return 0;
}

int history_name(struct history *history, const struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = site_name(history, process, &process->sites.items[j]);
	}
	return error;
}

/* Sparklines. */

/* U+2581 to U+2588: eight heights; zero is a blank. */
static const char *const spark_blocks[] = {
	" ",
	"\xe2\x96\x81",
	"\xe2\x96\x82",
	"\xe2\x96\x83",
	"\xe2\x96\x84",
	"\xe2\x96\x85",
	"\xe2\x96\x86",
	"\xe2\x96\x87",
	"\xe2\x96\x88",
};

static uint64_t maximum_of(const struct history_series *series)
{
	uint64_t maximum = 0;

	for (size_t i = 0; i < series->points.count; i++)
		maximum = MAX(maximum, series->points.items[i].bytes);
	return maximum;
}

/* Returns the maximum within one cell: a spike must not fall between two samples. */
static uint64_t cell_of(const struct history_series *series, size_t from, size_t to)
{
	uint64_t most = 0;

	for (size_t i = from; i < to; i++)
		most = MAX(most, history_point_at(series, i).bytes);
	return most;
}

size_t history_heights(const struct history *history, const struct history_series *series,
		       size_t width, unsigned char heights[SPARKLINE_WIDTH_MAX])
{
	size_t times = history->times.count;
	uint64_t maximum = maximum_of(series);

	width = MIN(MIN(width, SPARKLINE_WIDTH_MAX), times);
	for (size_t i = 0; i < width; i++) {
		uint64_t cell = cell_of(series, i * times / width, (i + 1) * times / width);

		heights[i] = maximum ? (unsigned char)((double)cell / (double)maximum * 8) : 0;
		/* Draws a nonzero value at least one step high. */
		if (cell && !heights[i])
			heights[i] = 1;
	}
	return width;
}

const char *sparkline_block(unsigned char height)
{
	return spark_blocks[MIN(height, ARRAY_SIZE(spark_blocks) - 1)];
}

char *history_sparkline(const struct history *history, const struct history_series *series,
			size_t width, char text[SPARKLINE_SIZE])
{
	unsigned char heights[SPARKLINE_WIDTH_MAX];
	char *end = text;

	*text = '\0';
	width = history_heights(history, series, width, heights);
	for (size_t i = 0; i < width; i++)
		end = stpcpy(end, sparkline_block(heights[i]));
	return text;
}
