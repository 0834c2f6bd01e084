// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/fleet_build.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "report/history.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "base/hash.h"

struct builder {
	struct fleet fleet;
	const struct report *report;
	struct hash builds; /* comm and build-id -> index */
	struct hash sites;  /* a build's key, family and stack -> index */
	struct hash hosts;  /* name -> index among the report's hosts */
};

const char *fleet_build_id(const char *exe, const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];
		bool is_program = exe ? frame->module && !strcmp(frame->module, exe)
				      : frame->function && !strcmp(frame->function, "_start");

		if (is_program && frame->build_id)
			return frame->build_id;
	}
	return NULL;
}

static const char *process_build_id(const struct report_process *process)
{
	const char *found = NULL;

	for (size_t i = 0; i < process->sites.count && !found; i++)
		found = fleet_build_id(process->process->exe, &process->sites.items[i].frames);
	return found;
}

/* -------- one host's part of a series */

/* Finds the times at which the host was recorded: elsewhere its series is only constant. */
static void times_of_host(const struct history *history, const struct report_host *host,
			  size_t *from, size_t *to)
{
	size_t count = history->times.count;

	*from = 0;
	*to = count;
	while (host && *from + 1 < count &&
	       timespec_ns(&history->times.items[*from].time) < host->first_ns)
		++*from;
	while (host && *to > *from + 1 &&
	       timespec_ns(&history->times.items[*to - 1].time) > host->last_ns)
		--*to;
}

/* Clips it to its points at `count` times from `from` on. */
static void series_clip(struct history_series *series, size_t from, size_t count)
{
	size_t skipped = from > series->first ? from - series->first : 0;

	skipped = MIN(skipped, series->points.count);
	series->first = series->first > from ? series->first - from : 0;
	series->points.items += skipped;
	series->points.count -= skipped;
	series->points.count = MIN(series->points.count, count - MIN(count, series->first));
}

/* Computes the trend of a site within its host's times, as views of the arrays. */
static void trend_on_host(struct site_trend *trend, const struct history *history,
			  const struct history_site *site, const struct report_host *host)
{
	struct history view = *history;
	struct history_site seen = *site;
	struct history_merged merged;
	size_t from, to;

	times_of_host(history, host, &from, &to);
	/* Before its process existed, the site had no value, not zero. */
	from = MAX(from, history->processes.items[site->process_index].series.first);
	from = MIN(from, to - 1);
	*trend = (struct site_trend){0};
	view.times.items += from;
	view.times.count = to - from;
	series_clip(&seen.series, from, view.times.count);
	if (!seen.series.points.count)
		return;
	if (site->merged) {
		merged = history->merged.items[site->merged - 1];
		series_clip(&merged.site.series, from, view.times.count);
		view.merged.items = &merged;
		seen.merged = 1;
	}
	site_trend_of(trend, &view, &seen);
}

/* -------- sums */

static const struct report_host *host_of(const struct builder *builder,
					 const struct snapshot_process *process, size_t *place)
{
	const uint64_t *found =
		process->host ? hash_get(&builder->hosts, hash_text(process->host)) : NULL;

	/* Without a fleet there is a single host. */
	*place = found ? *found + 1 : 1;
	return found ? &builder->report->hosts[*found] : NULL;
}

static int hosts_index(struct builder *builder)
{
	for (size_t i = 0; i < builder->report->host_count; i++) {
		uint64_t *place =
			hash_put(&builder->hosts, hash_text(builder->report->hosts[i].name), NULL);

		if (!place)
			return -ENOMEM;
		*place = i;
	}
	return 0;
}

static uint64_t build_key(const struct report_process *process, const char *build_id)
{
	return hash_mix(hash_text(process->process->comm) ^
			hash_mix(hash_text(build_id ? build_id : "")));
}

static struct fleet_build *build_of(struct builder *builder, const struct report_process *process,
				    const char *build_id, uint64_t key)
{
	bool fresh;
	uint64_t *place = hash_put(&builder->builds, key, &fresh);
	struct fleet_build *build;

	if (!place)
		return NULL;
	if (!fresh)
		return &builder->fleet.builds.items[*place];
	*place = builder->fleet.builds.count;
	build = vec_push(&builder->fleet.builds);
	if (!build)
		return NULL;
	build->comm = process->process->comm;
	build->exe = process->process->exe;
	build->build_id = build_id;
	return build;
}

static struct fleet_site *site_of(struct builder *builder, struct fleet_build *build, uint64_t key,
				  const struct report_site *site)
{
	uint64_t kind = (uint64_t)site->site->family << 8 | site->site->kind;
	bool fresh;
	uint64_t *place = hash_put(&builder->sites,
				   hash_mix(key ^ hash_mix(site->id ^ hash_mix(kind))), &fresh);

	if (!place)
		return NULL;
	if (!fresh)
		return &build->sites.items[*place];
	*place = build->sites.count;
	return vec_push(&build->sites);
}

/* Processes come host by host: see hosts_in_order(). */
static void count_host(size_t *hosts, size_t *last, size_t host)
{
	*hosts += *last != host;
	*last = host;
}

static int site_add(struct builder *builder, struct fleet_build *build, uint64_t key,
		    const struct report_process *process, const struct report_site *ranked)
{
	struct fleet_site *site = site_of(builder, build, key, ranked);
	struct site_trend trend = {0};
	const struct report_host *host;
	double per_s;
	size_t place;

	if (!site)
		return -ENOMEM;
	if (!site->site || ranked->site->bytes > site->site->site->bytes)
		site->site = ranked;
	site->bytes += ranked->site->bytes;
	site->count += ranked->site->count;
	host = host_of(builder, process->process, &place);
	count_host(&site->hosts, &site->last_host, place);
	if (builder->report->history && ranked->series)
		trend_on_host(&trend, builder->report->history, ranked->series, host);
	if (!trend_is_suspect(trend.verdict))
		return 0;
	per_s = site_trend_growth(&trend);
	count_host(&site->growing_hosts, &site->last_growing, place);
	count_host(&build->growing_hosts, &build->last_growing, place);
	site->bytes_per_s += per_s;
	build->bytes_per_s += per_s;
	if (trend.verdict == TREND_LEAKING) {
		site->leak_bytes_per_s += per_s;
		build->leak_bytes_per_s += per_s;
	}
	return 0;
}

static void note_since(const struct builder *builder, struct fleet_build *build,
		       const struct report_process *process)
{
	const struct history *history = builder->report->history;
	const struct history_process *seen =
		history ? history_process_find(history, process->process->key,
					       process->process->pid)
			: NULL;
	const struct report_host *host;
	size_t place;
	uint64_t since;

	if (!seen || seen->series.first >= history->times.count)
		return;
	host = host_of(builder, process->process, &place);
	since = timespec_ns(&history->times.items[seen->series.first].time);
	/* Before its recording began, a host counts with its first values. */
	since = host ? MAX(since, host->first_ns) : since;
	if (!build->since_ns || since < build->since_ns)
		build->since_ns = since;
}

static int process_add(struct builder *builder, const struct report_process *process)
{
	const char *build_id = process_build_id(process);
	uint64_t key = build_key(process, build_id);
	struct fleet_build *build = build_of(builder, process, build_id, key);
	size_t place;
	int error = 0;

	if (!build)
		return -ENOMEM;
	host_of(builder, process->process, &place);
	count_host(&build->hosts, &build->last_host, place);
	build->processes++;
	build->bytes += process->process->outstanding_bytes;
	build->count += process->process->outstanding_count;
	note_since(builder, build, process);
	for (size_t i = 0; i < process->sites.count && !error; i++)
		error = site_add(builder, build, key, process, &process->sites.items[i]);
	return error;
}

static int by_host(const void *left, const void *right)
{
	const struct report_process *a = *(const struct report_process *const *)left;
	const struct report_process *b = *(const struct report_process *const *)right;
	const char *x = a->process->host, *y = b->process->host;
	int order = strcmp(x ? x : "", y ? y : "");

	return order ? order
		     : (a->process->key > b->process->key) - (a->process->key < b->process->key);
}

/* Sorts by host, so that hosts are counted without a set per site. The caller frees the list. */
static const struct report_process **hosts_in_order(const struct report *report)
{
	const struct report_process **list = calloc(report->processes.count + 1, sizeof(*list));

	for (size_t i = 0; list && i < report->processes.count; i++)
		list[i] = &report->processes.items[i];
	if (list)
		qsort(list, report->processes.count, sizeof(*list), by_host);
	return list;
}

static int first_of(size_t a, size_t b, uint64_t c, uint64_t d)
{
	return a != b ? (a < b ? 1 : -1) : (c < d) - (c > d);
}

static int site_compare(const void *left, const void *right)
{
	const struct fleet_site *a = left, *b = right;
	int order = first_of(a->growing_hosts, b->growing_hosts, a->bytes, b->bytes);

	return order ? order : (a->site->id > b->site->id) - (a->site->id < b->site->id);
}

static int build_compare(const void *left, const void *right)
{
	const struct fleet_build *a = left, *b = right;
	int order = first_of(a->growing_hosts, b->growing_hosts, a->bytes, b->bytes);

	return order ? order
		     : strcmp(a->build_id ? a->build_id : "", b->build_id ? b->build_id : "");
}

/* Hashes a call stack's function names, which another build has, too. 0: a frame has no name. */
static uint64_t names_of(const struct frames *frames)
{
	uint64_t key = 1;

	for (size_t i = 0; i < frames->list.count; i++) {
		if (!frames->list.items[i].function)
			return 0;
		key = hash_mix(key ^ hash_text(frames->list.items[i].function));
	}
	return frames->list.count ? key : 0;
}

/*
 * With names 0, returns whether a build seen earlier is of the same program; else whether such a
 * one has a call stack with these functions, or one without names, which may match.
 */
static bool earlier_has(const struct fleet *fleet, const struct fleet_build *build, uint64_t names)
{
	for (size_t i = 0; i < fleet->builds.count; i++) {
		const struct fleet_build *other = &fleet->builds.items[i];

		if (!other->since_ns || other->since_ns >= build->since_ns ||
		    strcmp(other->comm, build->comm) != 0)
			continue;
		if (!names)
			return true;
		for (size_t j = 0; j < other->sites.count; j++) {
			uint64_t found = other->sites.items[j].names;

			if (!found || found == names)
				return true;
		}
	}
	return false;
}

static void mark_new(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->builds.count; i++) {
		struct fleet_build *build = &fleet->builds.items[i];

		for (size_t j = 0; j < build->sites.count; j++)
			build->sites.items[j].names = names_of(&build->sites.items[j].site->frames);
	}
	for (size_t i = 0; i < fleet->builds.count; i++) {
		struct fleet_build *build = &fleet->builds.items[i];

		if (!build->since_ns || !earlier_has(fleet, build, 0))
			continue;
		for (size_t j = 0; j < build->sites.count; j++) {
			struct fleet_site *site = &build->sites.items[j];

			site->is_new = site->growing_hosts && site->names &&
				       !earlier_has(fleet, build, site->names);
		}
	}
}

static void rank(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->builds.count; i++) {
		struct fleet_build *build = &fleet->builds.items[i];

		if (build->sites.count)
			qsort(build->sites.items, build->sites.count, sizeof(*build->sites.items),
			      site_compare);
	}
	if (fleet->builds.count)
		qsort(fleet->builds.items, fleet->builds.count, sizeof(*fleet->builds.items),
		      build_compare);
}

int fleet_build(struct fleet *fleet, const struct report *report)
{
	struct builder builder = {.report = report};
	_cleanup_free_ const struct report_process **list = hosts_in_order(report);
	int error = list ? hosts_index(&builder) : -ENOMEM;

	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = process_add(&builder, list[i]);
	hash_free(&builder.builds);
	hash_free(&builder.sites);
	hash_free(&builder.hosts);
	if (error) {
		fleet_free(&builder.fleet);
		return error;
	}
	if (report->host_count)
		mark_new(&builder.fleet);
	rank(&builder.fleet);
	*fleet = builder.fleet;
	return 0;
}
