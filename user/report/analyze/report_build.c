// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/report_build.h"

#include <errno.h>

#include "report/history.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "base/hash.h"

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int first_of(int order, int fallback)
{
	return order ? order : fallback;
}

struct ranked {
	const struct site *site;
	double weight; /* value of a key that needs the history */
};

/* The site index last: equal sites keep their order from one report to the next. */
static int site_compare_bytes(const void *left, const void *right)
{
	const struct site *a = ((const struct ranked *)left)->site;
	const struct site *b = ((const struct ranked *)right)->site;

	/* If frees are not reported, by total allocations. */
	double hits = snapshot_hits(b).sum - snapshot_hits(a).sum;
	int by_bytes = first_of(descending(a->bytes, b->bytes), (hits > 0) - (hits < 0));

	return first_of(by_bytes,
			first_of(descending(a->count, b->count), descending(b->index, a->index)));
}

static int site_compare_count(const void *left, const void *right)
{
	const struct site *a = ((const struct ranked *)left)->site;
	const struct site *b = ((const struct ranked *)right)->site;

	return first_of(descending(a->count, b->count), site_compare_bytes(left, right));
}

/* By the oldest block. */
static int site_compare_age(const void *left, const void *right)
{
	const struct site *a = ((const struct ranked *)left)->site;
	const struct site *b = ((const struct ranked *)right)->site;

	return first_of(descending(a->oldest_ns, b->oldest_ns), site_compare_bytes(left, right));
}

static int site_compare_weight(const void *left, const void *right)
{
	double a = ((const struct ranked *)left)->weight,
	       b = ((const struct ranked *)right)->weight;

	return first_of((a < b) - (a > b), site_compare_bytes(left, right));
}

static double growth_of(const struct history *history, const struct history_site *site)
{
	struct site_trend trend;

	site_trend_of(&trend, history, site);
	return site_trend_growth(&trend);
}

static double integral_of(const struct history *history, const struct history_site *site)
{
	(void)history;
	return site->series.integral_byte_s;
}

static const struct {
	const char *name;
	int (*compare)(const void *left, const void *right);
	double (*weight)(const struct history *history, const struct history_site *site);
} sort_keys[] = {
	[SORT_BYTES] = {"bytes", site_compare_bytes, NULL},
	[SORT_COUNT] = {"count", site_compare_count, NULL},
	[SORT_GROWTH] = {"growth", site_compare_weight, growth_of},
	[SORT_INTEGRAL] = {"integral", site_compare_weight, integral_of},
	[SORT_AGE] = {"age", site_compare_age, NULL},
};
_Static_assert(ARRAY_SIZE(sort_keys) == SORT_MAX_, "a row for every sort key");

int sort_key_parse(const char *text, enum sort_key *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(sort_keys); i++) {
		if (!strcmp(text, sort_keys[i].name)) {
			*key = i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *sort_key_name(enum sort_key key)
{
	return sort_keys[key].name;
}

static int block_compare(const void *left, const void *right)
{
	const struct block *a = left, *b = right;

	return first_of(descending(a->age_ns, b->age_ns), descending(b->address, a->address));
}

static int process_compare(const void *left, const void *right)
{
	const struct snapshot_process *a = ((const struct report_process *)left)->process;
	const struct snapshot_process *b = ((const struct report_process *)right)->process;
	int size = first_of(descending(a->outstanding_bytes, b->outstanding_bytes),
			    descending(a->outstanding_count, b->outstanding_count));

	return first_of(size, descending(b->key, a->key));
}

/*
 * malloc(0) is outstanding without a byte; a site without a block retains nothing, but if frees are
 * not reported, total allocations are shown.
 */
static bool site_is_retainer(const struct site *site)
{
	return site->count || site->bytes || snapshot_hits(site).sum > 0;
}

static double weight_of(const struct snapshot_process *process, const struct site *site,
			const struct report_options *options)
{
	const struct history_site *series;

	if (!options->history || !sort_keys[options->sort].weight)
		return 0;
	series = history_site_find(options->history, process->key, site);
	return series ? sort_keys[options->sort].weight(options->history, series) : 0;
}

/* Families are ranked and cut separately: `ranked` has room for all sites. */
static int family_build(struct report_process *process, enum family_id family,
			const struct report_options *options, struct ranked *ranked)
{
	size_t total = 0;

	for (size_t i = 0; i < process->process->sites.count; i++) {
		const struct site *site = &process->process->sites.items[i];

		if (site->family == family && site_is_retainer(site))
			ranked[total++] =
				(struct ranked){site, weight_of(process->process, site, options)};
	}
	qsort(ranked, total, sizeof(*ranked), sort_keys[options->sort].compare);
	process->family_totals[family] = total;
	process->sites_total += total;
	for (size_t i = 0; i < total && (!options->top || i < options->top); i++) {
		struct report_site *site = vec_push(&process->sites);

		if (!site)
			return -ENOMEM;
		site->site = ranked[i].site;
		if (options->history)
			site->series = history_site_find(options->history, process->process->key,
							 site->site);
	}
	return 0;
}

static int sites_build(struct report_process *process, const struct report_options *options)
{
	size_t candidates = process->process->sites.count;
	_cleanup_free_ struct ranked *ranked = calloc(candidates + 1, sizeof(*ranked));
	int error = 0;

	if (!ranked)
		return -ENOMEM;
	for (size_t family = 0; family < FAMILY_MAX_ && !error; family++)
		error = family_build(process, family, options, ranked);
	return error;
}

static int blocks_distribute(struct report_process *process, struct hash *positions)
{
	for (size_t i = 0; i < process->sites.count; i++) {
		uint64_t *position = hash_put(positions, process->sites.items[i].site->index, NULL);

		if (!position)
			return -ENOMEM;
		*position = i;
	}
	for (size_t i = 0; i < process->process->blocks.count; i++) {
		const struct block *block = &process->process->blocks.items[i];
		const uint64_t *position = hash_get(positions, block->site);
		struct block *copy;

		if (!position)
			continue; /* its site was cut */
		copy = vec_push(&process->sites.items[*position].blocks);
		if (!copy)
			return -ENOMEM;
		*copy = *block;
	}
	return 0;
}

static int blocks_build(struct report_process *process)
{
	_cleanup_(hash_free) struct hash positions = {0};
	int error = blocks_distribute(process, &positions);

	if (error)
		return error;
	for (size_t i = 0; i < process->sites.count; i++) {
		struct report_site *site = &process->sites.items[i];

		if (site->blocks.count)
			qsort(site->blocks.items, site->blocks.count, sizeof(*site->blocks.items),
			      block_compare);
	}
	return 0;
}

static int dead_build(struct report_process *process)
{
	for (size_t i = 0; i < process->process->threads.groups.count; i++) {
		struct report_dead *dead = vec_push(&process->dead);

		if (!dead)
			return -ENOMEM;
		dead->group = &process->process->threads.groups.items[i];
	}
	return 0;
}

static int process_build(struct report_process *process, const struct report_options *options)
{
	int error = sites_build(process, options);

	if (!error)
		error = dead_build(process);
	if (!error && options->show_allocs)
		error = blocks_build(process);
	return error;
}

int report_build(struct report *report, const struct snapshot *snapshot,
		 const struct report_options *options)
{
	_cleanup_(report_free) struct report built = {
		.snapshot = snapshot,
		.show_allocs = options->show_allocs,
		.history = options->history,
	};

	for (size_t i = 0; i < snapshot->processes.count; i++) {
		struct report_process *process = vec_push(&built.processes);

		if (!process)
			return -ENOMEM;
		process->process = &snapshot->processes.items[i];
		if (process_build(process, options))
			return -ENOMEM;
	}
	if (built.processes.count)
		qsort(built.processes.items, built.processes.count, sizeof(*built.processes.items),
		      process_compare);
	*report = built;
	built = (struct report){0};
	return 0;
}
