// SPDX-License-Identifier: GPL-2.0-or-later
/* From samples to what a report shows: what is still there, by stack, named. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "command/sampling_state.h"
#include "triage/process_reading.h"
#include "triage/weigh.h"

#define STACKS_SHOWN 5
#define FILE_KINDS_SHOWN 5
/* Looking at all descriptors takes milliseconds. */
#define FILES_PAUSE_S 5.0
/* A handful of samples makes no shares. */
#define SAMPLES_MIN 8
/* Nor do seconds in which next to nothing grew. */
#define WINDOW_MIN_S 1.0

static int weigh(struct sampled *sampled, const struct maps *maps)
{
	if (sampled->kind == QUANTITY_HEAP)
		return weigh_pages(&sampled->samples, sampled->pid);
	if (sampled->kind == QUANTITY_THREADS) {
		weigh_threads(&sampled->samples, sampled->pid);
		return 0;
	}
	return weigh_mappings(&sampled->samples, maps);
}

/* Copies a stack out of the map: site and stack were written before the sample was sent. */
static int site_fill(struct site *site, const struct suspect_side *side, uint32_t index)
{
	const struct lm_site *from;
	size_t depth;

	*site = (struct site){.index = index};
	if (index == LM_SITE_LOST || index >= side->bpf.max_sites) {
		site->lost = LM_LOST_SITES_FULL;
		return 0;
	}
	from = &side->bpf.sites[index];
	depth = MIN(from->depth, (uint32_t)LM_MAX_FRAMES);
	site->end = from->end < LM_WALK_MAX_ ? from->end : LM_WALK_ROOT;
	site->addresses = calloc(MAX(depth, (size_t)1), sizeof(*site->addresses));
	if (!site->addresses)
		return -ENOMEM;
	memcpy(site->addresses, side->bpf.stacks[index].frames, depth * sizeof(*site->addresses));
	site->depth = depth;
	return 0;
}

static int stack_add(struct triage_samples *result, struct sampling *sampling, pid_t pid,
		     const struct sample_sum *sum)
{
	struct triage_stack *stack = vec_push(&result->stacks);
	int error;

	if (!stack)
		return -ENOMEM;
	stack->units = sum->units;
	stack->samples = sum->samples;
	stack->share = result->added > 0 ? sum->units / result->added : 0;
	error = site_fill(&stack->site, &sampling->side, sum->site);
	if (!error && stack->site.depth)
		error = symbolizer_name(sampling->symbolizer, (uint64_t)pid, stack->site.addresses,
					stack->site.depth, LINES_KNOWN, &stack->named.frames);
	if (!error)
		stack->named.id = symbolizer_stack_id(&stack->named.frames);
	return error;
}

static int fill_stacks(struct triage_samples *result, struct sampling *sampling,
		       struct sampled *sampled, const struct maps *maps)
{
	_cleanup_(sample_sums_free) struct sample_sums sums = {0};
	int error = weigh(sampled, maps);

	if (!error)
		error = samples_prune(&sampled->samples);
	if (!error)
		error = samples_sum(&sampled->samples, &sums);
	if (error)
		return error;
	symbolizer_refresh(sampling->symbolizer, (uint64_t)sampled->pid, sampled->pid);
	result->taken = sampled->samples.taken;
	result->lost = *sampling->side.samples_lost - sampled->lost_before;
	result->missed = sampled->faults.missed;
	result->share = result->added > 0 ? sums.units / result->added : 0;
	result->stacks_total = sums.list.count;
	if (result->taken < SAMPLES_MIN || result->window_s < WINDOW_MIN_S) {
		result->why = "too little has come so far";
		return 0;
	}
	for (size_t i = 0; i < MIN(sums.list.count, (size_t)STACKS_SHOWN) && !error; i++)
		error = stack_add(result, sampling, sampled->pid, &sums.list.items[i]);
	/* In place from here on. */
	for (size_t i = 0; i < result->stacks.count; i++)
		result->stacks.items[i].named.site = &result->stacks.items[i].site;
	return error;
}

static int by_added(const void *a, const void *b)
{
	const struct triage_file_kind *one = a, *other = b;
	int order = (one->added < other->added) - (one->added > other->added);

	return order ? order : (one->open < other->open) - (one->open > other->open);
}

static int fill_files(struct triage_samples *result, struct sampled *sampled, double now)
{
	_cleanup_(file_kinds_free) struct file_kinds kinds = {0};
	int error = file_kinds_read(&kinds, sampled->pid, now);

	for (size_t i = 0; i < kinds.list.count && !error; i++) {
		struct triage_file_kind *kind = vec_push(&result->files);

		if (!kind)
			return -ENOMEM;
		kind->name = TAKE_PTR(kinds.list.items[i].name);
		kind->open = kinds.list.items[i].open;
		kind->added = kind->open - file_kinds_open(&sampled->files_before, kind->name);
	}
	if (result->files.count)
		qsort(result->files.items, result->files.count, sizeof(*result->files.items),
		      by_added);
	/* What grew; if nothing did yet, what there is most of. */
	while (result->files.count > FILE_KINDS_SHOWN ||
	       (result->files.count > 1 && result->files.items[0].added > 0 &&
		result->files.items[result->files.count - 1].added <= 0))
		free(result->files.items[--result->files.count].name);
	return error;
}

/* Whether a suspect is looked at by its mappings. */
static bool needs_maps(const struct sampled *sampled)
{
	return sampled->kind == QUANTITY_HEAP || sampled->kind == QUANTITY_MAPPING;
}

int sampled_count(const struct sampled *sampled, const struct member *member,
		  struct sampled_count *count, struct maps *maps)
{
	int error = needs_maps(sampled) ? maps_read(sampled->pid, MAPS_ALL, maps) : 0;
	bool has_maps = needs_maps(sampled) && !error;

	count->value = has_maps && sampled->kind == QUANTITY_MAPPING
			       ? (double)maps->list.count
			       : member_value_now(member, sampled->kind);
	count->orphans =
		has_maps ? thread_stacks_orphaned(maps, member_value_now(member, QUANTITY_THREADS))
			 : (double)NAN;
	return error;
}

/* Memory and mappings grow by threads that ended and were never joined, too. */
static void fill_orphans(struct triage_samples *result, const struct sampled *sampled,
			 const struct sampled_count *now)
{
	if (isnan(sampled->before.orphans) || isnan(now->orphans))
		return;
	result->orphans = now->orphans;
	result->orphans_added = now->orphans - sampled->before.orphans;
}

int sampled_examine(struct sampling *sampling, struct sampled *sampled, const struct member *member)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct sampled_count now;
	int error = 0, unreadable = sampled_count(sampled, member, &now, &maps);
	double now_s = triage_now(sampling->triage), added = now.value - sampled->before.value;
	struct triage_samples result = {
		.kind = sampled->kind,
		.window_s = now_s - sampled->begin_s,
		.added = isnan(added) ? 0 : added,
		.why = sampled->followed ? NULL : sampled->result.why,
	};

	fill_orphans(&result, sampled, &now);
	if (sampled->kind == QUANTITY_FILES) {
		if (sampled->result.files.count && now_s - sampled->files_read_s < FILES_PAUSE_S)
			return 0;
		sampled->files_read_s = now_s;
		error = fill_files(&result, sampled, now.value);
	} else if (sampled->followed) {
		error = sampled->kind == QUANTITY_MAPPING ? unreadable : 0;
		if (!error)
			error = fill_stacks(&result, sampling, sampled, &maps);
	}
	if (error) {
		triage_samples_free(&result);
		return error;
	}
	triage_samples_free(&sampled->result);
	sampled->result = result;
	return 0;
}
