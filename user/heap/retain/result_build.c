// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/result_build.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "report/report.h"
#include "report/analyze/retention.h"
#include "base/cleanup.h"
#include "process/proc/core.h"
#include "heap/retain/retain.h"
#include "heap/runtime/runtime.h"

/* Blocks counted by the root that their shortest path begins at. */

/* Roots and classes, the greatest first. */

static int push_number(struct ranking *ranking, uint32_t number)
{
	uint32_t *slot = vec_push(&ranking->list);

	if (!slot)
		return -ENOMEM;
	*slot = number;
	return 0;
}

/* Where others hold most of what it leads to, that says more than what it holds alone. */
static uint64_t root_bytes(const struct retention *retention, uint32_t root)
{
	return MAX(retention->led[root].bytes, retention->retained[root]);
}

/* By the greater of what they lead to and what they alone hold; then by the latter. */
static int compare_roots(const void *left_pointer, const void *right_pointer, void *context)
{
	const struct retention *retention = context;
	uint32_t left = *(const uint32_t *)left_pointer, right = *(const uint32_t *)right_pointer;

	if (root_bytes(retention, left) != root_bytes(retention, right))
		return root_bytes(retention, left) > root_bytes(retention, right) ? -1 : 1;
	if (retention->retained[left] != retention->retained[right])
		return retention->retained[left] > retention->retained[right] ? -1 : 1;
	return left < right ? -1 : left > right;
}

static int compare_classes(const void *left_pointer, const void *right_pointer, void *context)
{
	const struct classes *classes = context;
	uint32_t left = *(const uint32_t *)left_pointer, right = *(const uint32_t *)right_pointer;

	if (classes->list.items[left].bytes != classes->list.items[right].bytes)
		return classes->list.items[left].bytes > classes->list.items[right].bytes ? -1 : 1;
	return left < right ? -1 : left > right;
}

int retain_rank(struct retain *retain)
{
	uint32_t groups = retain->retention.strong + retain->retention.weak;
	int error = 0;

	for (uint32_t i = 0; !error && i < groups; i++) {
		/* A root may have nothing of its own where others lead to its blocks, too. */
		if (retain->retention.led[i].blocks || retain->retention.retained_blocks[i])
			error = push_number(&retain->ranked_roots, i);
	}
	for (uint32_t i = 0; !error && i < retain->classes.list.count; i++)
		error = push_number(&retain->ranked_classes, i);
	if (error)
		return error;
	if (retain->ranked_roots.list.count)
		qsort_r(retain->ranked_roots.list.items, retain->ranked_roots.list.count,
			sizeof(uint32_t), compare_roots, &retain->retention);
	if (retain->ranked_classes.list.count)
		qsort_r(retain->ranked_classes.list.items, retain->ranked_classes.list.count,
			sizeof(uint32_t), compare_classes, &retain->classes);
	return 0;
}

static uint64_t key_of(const struct retained_sample *sample)
{
	return hash_mix(hash_mix((uint64_t)sample->root << 32 | sample->class) ^
			hash_mix((uint64_t)sample->verdict << 32 | sample->site));
}

static int count_block(struct retain_result *result, struct hash *index,
		       const struct retained_sample *fresh, uint64_t bytes, bool counts)
{
	uint64_t *slot = hash_put(index, key_of(fresh), NULL);
	struct retained_sample *sample;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		sample = vec_push(&result->samples);
		if (!sample)
			return -ENOMEM;
		*sample = *fresh;
		*slot = result->samples.count;
	}
	sample = &result->samples.items[*slot - 1];
	sample->total.blocks += counts;
	sample->total.bytes += bytes;
	return 0;
}

static int compare(const void *left_pointer, const void *right_pointer)
{
	const struct retained_sample *left = left_pointer, *right = right_pointer;

	if (left->total.bytes != right->total.bytes)
		return left->total.bytes > right->total.bytes ? -1 : 1;
	if (left->root != right->root)
		return left->root < right->root ? -1 : 1;
	if (left->class != right->class)
		return left->class < right->class ? -1 : 1;
	return left->site < right->site ? -1 : left->site > right->site;
}

static int count_all(const struct retain *retain, const uint32_t *class_places,
		     const uint32_t *root_places, const uint32_t *groups,
		     struct retain_result *result)
{
	_cleanup_(hash_free) struct hash index = {0};
	int error = 0;

	for (uint32_t i = 0; !error && i < retain->graph.blocks; i++) {
		struct retained_sample sample = {
			.verdict = retain->retention.verdicts[i],
			.root = RESULT_NONE,
			.class = class_places[retain->classes.of_blocks[i]],
			.site = retain->graph.sites ? retain->graph.sites[i] : 0,
		};

		if (sample.verdict != VERDICT_LOST && groups[i] != ROOT_NONE)
			sample.root = root_places[groups[i]];
		if (sample.site > result->sites.count)
			sample.site = 0;
		error = count_block(result, &index, &sample, retain->graph.sizes[i],
				    heap_graph_counts(&retain->graph, i));
	}
	return error;
}

/*
 * Adds result->samples, by root, class and site, the greatest first. The two arrays give places in
 * the result for numbers of classes and root groups. 0 or -ENOMEM.
 */
static int retained_samples_add(const struct retain *retain, const uint32_t *class_places,
				const uint32_t *root_places, struct retain_result *result)
{
	_cleanup_free_ uint32_t *groups = retention_roots(&retain->retention);
	int error = groups ? count_all(retain, class_places, root_places, groups, result) : -ENOMEM;

	if (!error && result->samples.count)
		qsort(result->samples.items, result->samples.count, sizeof(*result->samples.items),
		      compare);
	return error;
}

/* What only stacks and registers lead to, by class. */
static void count_passing(const struct retain *retain, const uint32_t *class_places,
			  struct retain_result *result)
{
	for (uint32_t i = 0; i < retain->graph.blocks; i++) {
		uint32_t class = class_places[retain->classes.of_blocks[i]];
		struct retention_total *passing = &result->classes.items[class].passing;

		if (!retention_is_passing(&retain->retention, i))
			continue;
		passing->blocks += heap_graph_counts(&retain->graph, i);
		passing->bytes += retain->graph.sizes[i];
		result->passing.blocks++;
		result->passing.bytes += retain->graph.sizes[i];
	}
}

/* From a heap image and what was concluded from it to plain rows. */

struct building {
	const struct retain *retain;
	const struct retain_result_sources *sources;
	struct retain_result *result;
	uint32_t *class_places, *root_places; /* from numbers of `retain` to places in the result */
};

/* The result's own copy; *error on failure. */
static const char *text(struct building *building, const char *string, int *error)
{
	const char *kept = intern_string(&building->result->strings, string);

	if (string && !kept)
		*error = -ENOMEM;
	return kept;
}

static int add_frames(struct building *building, const struct frames *frames, struct frames *copy)
{
	int error = 0;

	for (size_t i = 0; !error && i < frames->list.count; i++) {
		struct frame *frame = vec_push(&copy->list);

		if (!frame)
			return -ENOMEM;
		*frame = frames->list.items[i];
		frame->function = text(building, frame->function, &error);
		frame->module = text(building, frame->module, &error);
		frame->build_id = text(building, frame->build_id, &error);
		frame->file = text(building, frame->file, &error);
		frame->why = text(building, frame->why, &error);
	}
	return error;
}

static int add_sites(struct building *building)
{
	int error = 0;

	for (size_t i = 0; !error && i < building->sources->site_count; i++) {
		const struct report_site *site = building->sources->sites[i];
		struct retained_site *added = vec_push(&building->result->sites);

		if (!added)
			return -ENOMEM;
		added->id = site->id;
		error = add_frames(building, &site->frames, &added->frames);
	}
	return error;
}

static uint32_t site_place(const struct building *building, uint32_t site)
{
	return site <= building->result->sites.count ? site : 0;
}

static int add_class(struct building *building, const struct block_class *class)
{
	struct retained_class *added = vec_push(&building->result->classes);
	int error = 0;

	if (!added)
		return -ENOMEM;
	added->kind = class->kind;
	added->name = text(building, class->name, &error);
	added->module = text(building, class->module, &error);
	added->offset = class->kind == CLASS_OPS ? class->offset : 0;
	added->size = class->kind == CLASS_SIZE ? class->size : 0;
	added->site = class->kind == CLASS_SITE ? site_place(building, class->site) : 0;
	added->distance = class->distance;
	added->total = (struct retention_total){class->count, class->bytes};
	memcpy(added->verdicts, class->verdicts, sizeof(added->verdicts));
	added->garbage = class->garbage;
	return error;
}

static int add_classes(struct building *building)
{
	const struct retain *retain = building->retain;
	int error = 0;

	for (size_t i = 0; !error && i < retain->ranked_classes.list.count; i++) {
		uint32_t number = retain->ranked_classes.list.items[i];

		building->class_places[number] = (uint32_t)i;
		error = add_class(building, &retain->classes.list.items[number]);
	}
	return error;
}

static int add_root(struct building *building, uint32_t number)
{
	const struct retain *retain = building->retain;
	const struct root_group *group = &retain->groups.list.items[number];
	struct retained_root *added = vec_push(&building->result->roots);
	int error = 0;

	if (!added)
		return -ENOMEM;
	building->root_places[number] = (uint32_t)building->result->roots.count - 1;
	added->words = group->words;
	added->through = group->holder;
	if (group->holder)
		group = &retain->groups.list.items[group->holder - 1];
	added->kind = group->kind;
	added->name = text(building, group->name, &error);
	added->module =
		text(building, group->module && group->module[0] ? group->module : NULL, &error);
	added->address = group->address;
	added->offset = group->offset;
	added->tid = group->tid;
	memcpy(added->comm, group->comm, sizeof(added->comm));
	added->threads = group->threads;
	added->led = retain->retention.led[number];
	added->retained = (struct retention_total){retain->retention.retained_blocks[number],
						   retain->retention.retained[number]};
	return error;
}

/* Those that retain something by themselves, ranked; then the others. */
static int add_roots(struct building *building)
{
	const struct retain *retain = building->retain;
	size_t groups = retain->groups.list.count;
	int error = 0;

	memset(building->root_places, 0xff, (groups + 1) * sizeof(*building->root_places));
	for (size_t i = 0; !error && i < retain->ranked_roots.list.count; i++)
		error = add_root(building, retain->ranked_roots.list.items[i]);
	building->result->retaining = building->result->roots.count;
	for (size_t i = 0; !error && i < groups; i++) {
		if (building->root_places[i] == RESULT_NONE)
			error = add_root(building, (uint32_t)i);
	}
	return error;
}

static int add_leaks(struct building *building)
{
	const struct retain *retain = building->retain;

	for (size_t i = 0; i < retain->leaks.count; i++) {
		const struct retain_leak *leak = &retain->leaks.items[i];
		struct retained_leak *added = vec_push(&building->result->leaks);

		if (!added)
			return -ENOMEM;
		*added = (struct retained_leak){.class = building->class_places[leak->class],
						.site = site_place(building, leak->site),
						.direct = leak->direct,
						.indirect = leak->indirect,
						.example = retain->graph.starts[leak->example]};
	}
	return 0;
}

/* A runtime's name of a reference. */
static const char *step_label(struct building *building, uint32_t label, int *error)
{
	const char *name = heap_sink_label_name(&building->retain->graph.managed, label);
	char written[32];
	_cleanup_free_ char *attribute = NULL;

	if (label_kind(label) == LABEL_INDEX) {
		snprintf(written, sizeof(written), "[%" PRIu32 "]", label & LABEL_VALUE);
		return text(building, written, error);
	}
	/* A symbol of JavaScript has brackets. */
	if (name && asprintf(&attribute, "%s%s", name[0] == '[' ? "" : ".", name) < 0) {
		attribute = NULL;
		*error = -ENOMEM;
	}
	return text(building, attribute, error);
}

static int add_referrers(const struct building *building, const struct referrer_tree *tree,
			 struct referrer_tree *copy)
{
	copy->held = tree->held;
	copy->sampled = tree->sampled;
	for (size_t i = 0; i < tree->rows.count; i++) {
		struct retained_referrer *row = vec_push(&copy->rows);

		if (!row)
			return -ENOMEM;
		*row = tree->rows.items[i];
		if (row->root != RESULT_NONE)
			row->root = building->root_places[row->root];
		for (uint32_t j = 0; j < row->period; j++)
			row->classes[j] = building->class_places[row->classes[j]];
	}
	return 0;
}

static struct retained_pile pile_of(const struct building *building,
				    const struct retained_pile *pile)
{
	struct retained_pile copy = *pile;

	for (uint32_t i = 0; i < pile->count; i++)
		copy.classes[i] = building->class_places[pile->classes[i]];
	if (pile->many && pile->root != RESULT_NONE)
		copy.root = building->root_places[pile->root];
	return copy;
}

static void add_branches(struct building *building, const struct path_step *step,
			 struct retained_step *copy, int *error)
{
	copy->branches = step->branches;
	for (uint32_t i = 0; i < step->branches; i++) {
		copy->fields[i].offset = step->fields[i].offset;
		copy->fields[i].label = step_label(building, step->fields[i].label, error);
	}
}

static int add_path(struct building *building, const struct retain_path *shown)
{
	const struct heap_graph *graph = &building->retain->graph;
	const struct path *path = &shown->path;
	struct retained_path *added = vec_push(&building->result->paths);
	int error = 0;

	if (!added)
		return -ENOMEM;
	added->class = building->class_places[shown->class];
	added->root = building->root_places[path->group];
	added->sharing = path->sharing;
	added->sampled = path->sampled;
	added->chain = path->chain;
	added->chain_exact = path->chain_exact;
	added->tree = path->tree;
	added->pile = pile_of(building, &path->pile);
	added->awaited = path->awaited ? building->class_places[path->awaited - 1] + 1 : 0;
	added->also = shown->also;
	for (size_t i = 0; i < path->steps.count; i++) {
		const struct path_step *step = &path->steps.items[i];
		struct retained_step *copy = vec_push(&added->steps);

		if (!copy)
			return -ENOMEM;
		*copy = (struct retained_step){.offset = step->offset,
					       .label = step_label(building, step->label, &error),
					       .address = graph->starts[step->block],
					       .size = graph->sizes[step->block],
					       .class = building->class_places[step->class],
					       .width = step->width,
					       .repeated = step->repeated,
					       .turn = step->turn,
					       .turns = step->turns,
					       .skipped = step->skipped};
		add_branches(building, step, copy, &error);
	}
	return error ? error : add_referrers(building, &path->referrers, &added->referrers);
}

static int add_paths(struct building *building)
{
	int error = 0;

	for (size_t i = 0; !error && i < building->retain->paths.count; i++)
		error = add_path(building, &building->retain->paths.items[i]);
	return error;
}

static void set_numbers(const struct retain *retain, uint64_t numbers[RETAINED_NUMBER_MAX_])
{
	const struct heap_image *heap_image = &retain->heap_image;

	numbers[NUMBER_PAUSE_NS] = heap_image->pause_ns;
	numbers[NUMBER_MAX_PAUSE_NS] = heap_image->max_pause_ns;
	numbers[NUMBER_STOPS] = heap_image->pause_ns ? heap_image->stops_repeated + 1 : 0;
	numbers[NUMBER_READ_NS] = heap_image->read_ns;
	numbers[NUMBER_TOTAL_NS] = retain->total_ns;
	numbers[NUMBER_OWN_PEAK_BYTES] = retain->rss_bytes;
	numbers[NUMBER_WRITABLE_BYTES] = heap_image->writable_bytes;
	numbers[NUMBER_READ_BYTES] = heap_image->read_bytes;
	numbers[NUMBER_SWAPPED_BYTES] = heap_image->swapped_bytes;
	numbers[NUMBER_PAGES_CHECKED] = heap_image->pages_checked;
	numbers[NUMBER_PAGES_CHANGED] = heap_image->pages_changed;
	numbers[NUMBER_BLOCKS] = retain->graph.blocks;
	numbers[NUMBER_WALKED] = retain->graph.census_blocks;
	numbers[NUMBER_TRACKED] = retain->graph.tracked_blocks;
	numbers[NUMBER_ARENAS] = heap_image->arenas;
	numbers[NUMBER_BROKEN] = heap_image->broken_spans;
	numbers[NUMBER_BROKEN_AT] = heap_image->broken_spans ? heap_image->broken_address : 0;
	numbers[NUMBER_BROKEN_FREE_LISTS] = heap_image->broken_lists;
}

static int set_head(struct building *building)
{
	const struct retain *retain = building->retain;
	struct retain_result *result = building->result;
	int error = 0;

	result->time = retain->time;
	result->pid = retain->pid;
	memcpy(result->comm, retain->comm, sizeof(result->comm));
	if (retain->heap_image.maps.source.core)
		result->core =
			text(building, core_path(retain->heap_image.maps.source.core), &error);
	result->allocator = text(building, retain->allocator, &error);
	result->why_not_walked = text(building, retain->heap_image.why_not_walked, &error);
	result->why_broken = text(building, retain->heap_image.why_broken, &error);
	result->why_not_stopped = text(building, retain->heap_image.why_not_stopped, &error);
	result->why_kernel_unread = text(building, retain->held.why_unread, &error);
	result->why_kernel_uncertain = text(building, retain->held.why_uncertain, &error);
	result->settled = retain->settled && !retain->held.why_uncertain;
	result->stopped = retain->heap_image.stopped;
	result->soft_dirty = retain->heap_image.soft_dirty;
	result->pagemap = retain->heap_image.pagemap_readable;
	memcpy(result->totals, retain->retention.totals, sizeof(result->totals));
	result->direct = retain->retention.direct;
	result->indirect = retain->retention.indirect;
	result->through = retain->retention.through;
	set_numbers(retain, result->numbers);
	result->numbers[NUMBER_DROPPED] = building->sources->dropped;
	return error;
}

/* Why a walk did not read all there is, or not of one moment; NULL: it did. */
static const char *why_not_exact(const struct retain *retain, const struct walk_report *report)
{
	const struct heap_image *heap_image = &retain->heap_image;

	if (!report->why && heap_image->stopped && heap_image->unready)
		return "it collected whenever it was stopped: objects may be missing or doubled";
	if (report->why || heap_image->stopped || heap_image->maps.source.core)
		return report->why;
	return "it was read while it ran: objects may be missing or doubled";
}

static void add_copies(struct building *building, const struct walk_report *report,
		       struct retained_runtime *added, int *error)
{
	added->copied_classes = report->copied_classes;
	for (size_t i = 0; i < CLASS_COPIES_MAX && report->copies[i].name; i++)
		added->copies[i] = (struct class_copies){
			.name = text(building, report->copies[i].name, error),
			.loader = text(building, report->copies[i].loader, error),
			.copies = report->copies[i].copies};
}

static void add_crowds(struct building *building, const struct walk_report *report,
		       struct retained_runtime *added, int *error)
{
	added->crowded_events = report->crowded_events;
	for (size_t i = 0; i < LISTENER_CROWDS_MAX && report->crowds[i].event; i++) {
		added->crowds[i] = report->crowds[i];
		added->crowds[i].event = text(building, report->crowds[i].event, error);
		added->crowds[i].emitter = text(building, report->crowds[i].emitter, error);
		added->crowds[i].handler = text(building, report->crowds[i].handler, error);
	}
}

static int add_bounded(struct building *building)
{
	const struct heap_sink *managed = &building->retain->graph.managed;

	for (size_t i = 0; i < managed->bounded.count; i++) {
		struct bounded_container *added = vec_push(&building->result->bounded);

		if (!added)
			return -ENOMEM;
		*added = managed->bounded.items[i];
	}
	return 0;
}

static int add_runtimes(struct building *building)
{
	const struct heap_sink *managed = &building->retain->graph.managed;
	uint64_t repeated = building->retain->heap_image.stops_repeated;
	int error = 0;

	for (size_t i = 0; !error && i < managed->reports.count; i++) {
		const struct walk_report *report = &managed->reports.items[i];
		struct retained_runtime *added = vec_push(&building->result->runtimes);

		if (!added)
			return -ENOMEM;
		*added = (struct retained_runtime){.key = report->runtime,
						   .name = runtime_name(report->runtime),
						   .untested = report->untested,
						   .why = why_not_exact(building->retain, report),
						   .objects = report->objects,
						   .bytes = report->bytes,
						   .heap_bytes = report->heap_bytes,
						   .free_bytes = report->free_bytes,
						   .unread_bytes = report->unread_bytes,
						   .nonsense = report->nonsense,
						   .retries = report->retries + repeated,
						   .all_roots = report->all_roots,
						   .counted = report->counted,
						   .unreached = report->unreached,
						   .unreached_bytes = report->unreached_bytes,
						   .collector_off = report->collector_off,
						   .frozen = report->frozen,
						   .frozen_bytes = report->frozen_bytes,
						   .finalizable = report->finalizable,
						   .isolates = report->isolates};
		added->version = text(building, report->version, &error);
		memcpy(added->parts, report->parts, sizeof(added->parts));
		add_copies(building, report, added, &error);
		add_crowds(building, report, added, &error);
	}
	return error;
}

static int build(struct building *building)
{
	int error = set_head(building);

	if (!error)
		error = add_runtimes(building);
	if (!error)
		error = add_bounded(building);
	if (!error)
		error = add_sites(building);
	if (!error)
		error = add_classes(building);
	if (!error)
		count_passing(building->retain, building->class_places, building->result);
	if (!error)
		error = add_roots(building);
	if (!error)
		error = add_leaks(building);
	if (!error)
		error = add_paths(building);
	if (!error && building->sources->samples)
		error = retained_samples_add(building->retain, building->class_places,
					     building->root_places, building->result);
	retain_result_identify(building->result);
	return error;
}

int retain_result_build(const struct retain *retain, const struct retain_result_sources *sources,
			struct retain_result *result)
{
	struct retain_result made = {0};
	_cleanup_free_ uint32_t *class_places =
		calloc(retain->classes.list.count + 1, sizeof(*class_places));
	_cleanup_free_ uint32_t *root_places =
		calloc(retain->groups.list.count + 1, sizeof(*root_places));
	struct building building = {.retain = retain,
				    .sources = sources,
				    .result = &made,
				    .class_places = class_places,
				    .root_places = root_places};
	int error = class_places && root_places ? build(&building) : -ENOMEM;

	if (error)
		retain_result_free(&made);
	else
		*result = made;
	return error;
}
