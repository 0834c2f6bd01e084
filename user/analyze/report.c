// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/report.h"

#include <errno.h>

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

/* The site index last: equal sites keep their order from one report to the next. */
static int site_compare_bytes(const void *left, const void *right)
{
	const struct site *a = *(const struct site *const *)left;
	const struct site *b = *(const struct site *const *)right;

	return first_of(descending(a->bytes, b->bytes),
			first_of(descending(a->count, b->count), descending(b->index, a->index)));
}

static int site_compare_count(const void *left, const void *right)
{
	const struct site *a = *(const struct site *const *)left;
	const struct site *b = *(const struct site *const *)right;

	return first_of(descending(a->count, b->count), site_compare_bytes(left, right));
}

static const struct {
	const char *name;
	int (*compare)(const void *left, const void *right);
} sort_keys[] = {
	[SORT_BYTES] = {"bytes", site_compare_bytes},
	[SORT_COUNT] = {"count", site_compare_count},
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

/* malloc(0) is outstanding without a byte; a site without a block is no retainer. */
static bool site_is_retainer(const struct site *site)
{
	return site->count || site->bytes;
}

static int sites_build(struct report_process *process, const struct report_options *options)
{
	size_t total = 0, candidates = process->process->sites.count;
	_cleanup_free_ const struct site **ranked = calloc(candidates + 1, sizeof(*ranked));

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < candidates; i++) {
		const struct site *site = &process->process->sites.items[i];

		if (site_is_retainer(site))
			ranked[total++] = site;
	}
	qsort(ranked, total, sizeof(*ranked), sort_keys[options->sort].compare);
	process->sites_total = total;
	for (size_t i = 0; i < total && (!options->top || i < options->top); i++) {
		struct report_site *site = vec_push(&process->sites);

		if (!site)
			return -ENOMEM;
		site->site = ranked[i];
	}
	return 0;
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
			continue; /* its site fell to the cut */
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

static int process_build(struct report_process *process, const struct report_options *options)
{
	int error = sites_build(process, options);

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

static void report_process_free(struct report_process *process)
{
	for (size_t i = 0; i < process->sites.count; i++) {
		vec_free(&process->sites.items[i].frames.list);
		vec_free(&process->sites.items[i].blocks);
	}
	vec_free(&process->sites);
}

void report_free(struct report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		report_process_free(&report->processes.items[i]);
	free(report->processes.items);
	*report = (struct report){0};
}
