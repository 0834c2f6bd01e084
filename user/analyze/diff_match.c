// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/diff_match.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbol/intern.h"

/* A site of a build that the other side does not have. */
struct candidate {
	uint64_t names; /* hash of what a rebuild keeps */
	uint64_t key;
	const struct frames *frames;
};

struct candidates {
	struct candidate *items;
	size_t count, capacity;
};

/* Of the program, the kind of block, and why there is no stack. */
static uint64_t kind_key(const char *program, const struct report_site *site)
{
	uint64_t kinds = (uint64_t)site->site->family << 16 | (uint64_t)site->site->kind << 8 |
			 (uint64_t)site->site->lost;

	return hash_mix(intern_hash(program) ^ hash_mix(kinds));
}

static uint64_t site_key(const struct snapshot_process *process, const struct report_site *site)
{
	return hash_mix(kind_key(process->comm, site) ^ hash_mix(site->id));
}

/* Frames that were inlined are left out: the same stack may come with and without them. Names of
 * files are not compared: they may hold a version. */
static uint64_t names_key(const char *program, const struct report_site *site)
{
	uint64_t key = kind_key(program, site);

	for (size_t i = 0; i < site->frames.list.count; i++) {
		const struct frame *frame = &site->frames.list.items[i];
		const char *name = frame->function ? frame->function : frame->module;

		if (!frame->inlined)
			key = hash_mix(key ^ intern_hash(name ? name : ""));
	}
	return key;
}

/* As symbolizer_stack_id() tells files apart; 0: code in no file. */
static uint64_t build_of(const struct frame *frame)
{
	const char *build = frame->build_id ? frame->build_id : frame->module;

	return build ? intern_hash(build) : 0;
}

static int builds_add(struct hash *builds, const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++) {
		uint64_t build = build_of(&frames->list.items[i]);

		if (build && !hash_put(builds, build, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* Goes through a build that is not among `builds`, and all of that has names. */
static bool is_candidate(const struct report_site *site, const struct hash *builds)
{
	bool foreign = false;

	for (size_t i = 0; i < site->frames.list.count; i++) {
		const struct frame *frame = &site->frames.list.items[i];
		uint64_t build = build_of(frame);

		if (!build || hash_get(builds, build))
			continue;
		if (!frame->function)
			return false;
		foreign = true;
	}
	return foreign;
}

typedef int (*site_visitor)(void *context, const struct snapshot_process *process,
			    const struct report_site *site);

static int sites_visit(const struct report *report, site_visitor visit, void *context)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = visit(context, process->process, &process->sites.items[j]);
	}
	return error;
}

static int note_builds(void *context, const struct snapshot_process *process,
		       const struct report_site *site)
{
	(void)process;
	return builds_add(context, &site->frames);
}

/* Whether all processes have one name. */
static bool is_one_program(const struct report *report)
{
	for (size_t i = 1; i < report->processes.count; i++) {
		if (strcmp(report->processes.items[i].process->comm,
			   report->processes.items[0].process->comm) != 0)
			return false;
	}
	return true;
}

struct collection {
	const struct hash *other_builds;
	bool any_program; /* one program on each side: it may have been renamed */
	struct hash seen; /* several processes may have the same stack */
	struct candidates candidates;
};

static int collect(void *context, const struct snapshot_process *process,
		   const struct report_site *site)
{
	struct collection *collection = context;
	uint64_t key = site_key(process, site);
	struct candidate *candidate;
	bool fresh;

	if (!is_candidate(site, collection->other_builds))
		return 0;
	if (!hash_put(&collection->seen, key, &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	candidate = vec_push(&collection->candidates);
	if (!candidate)
		return -ENOMEM;
	candidate->names = names_key(collection->any_program ? "" : process->comm, site);
	candidate->key = key;
	candidate->frames = &site->frames;
	return 0;
}

/* By names, then by address, from the caller of the allocator on. */
static int candidate_compare(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	size_t depth = MIN(a->frames->list.count, b->frames->list.count);

	if (a->names != b->names)
		return a->names < b->names ? -1 : 1;
	for (size_t i = 0; i < depth; i++) {
		uint64_t x = a->frames->list.items[i].module_offset;
		uint64_t y = b->frames->list.items[i].module_offset;

		if (x != y)
			return x < y ? -1 : 1;
	}
	return 0;
}

/* How many candidates from `position` on have the same names. */
static size_t run_length(const struct candidates *candidates, size_t position)
{
	size_t end = position;

	while (end < candidates->count &&
	       candidates->items[end].names == candidates->items[position].names)
		end++;
	return end - position;
}

static int run_note(struct hash *keys, const struct candidate *run, size_t count, bool paired)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t *key = hash_put(keys, run[i].key, NULL);

		if (!key)
			return -ENOMEM;
		*key = paired ? hash_mix(run[i].names + i + 1) : run[i].names;
	}
	return 0;
}

/* Both lists are sorted: walks them side by side. */
static int pair(struct hash *keys, const struct candidates *before, const struct candidates *after)
{
	size_t i = 0, j = 0;
	int error = 0;

	while (!error && i < before->count && j < after->count) {
		const struct candidate *a = &before->items[i], *b = &after->items[j];
		size_t in_a = run_length(before, i), in_b = run_length(after, j);

		if (a->names == b->names) {
			error = run_note(keys, a, in_a, in_a == in_b);
			if (!error)
				error = run_note(keys, b, in_b, in_a == in_b);
		}
		i += a->names <= b->names ? in_a : 0;
		j += b->names <= a->names ? in_b : 0;
	}
	return error;
}

static int candidates_find(struct candidates *candidates, const struct report *report,
			   const struct hash *other_builds, bool any_program)
{
	struct collection collection = {.other_builds = other_builds, .any_program = any_program};
	int error = sites_visit(report, collect, &collection);

	hash_free(&collection.seen);
	if (error) {
		vec_free(&collection.candidates);
		return error;
	}
	if (collection.candidates.count)
		qsort(collection.candidates.items, collection.candidates.count,
		      sizeof(*collection.candidates.items), candidate_compare);
	*candidates = collection.candidates;
	return 0;
}

int diff_match_build(struct diff_match *match, const struct report *before,
		     const struct report *after)
{
	_cleanup_(hash_free) struct hash builds_before = {0}, builds_after = {0};
	struct candidates gone = {0}, come = {0};
	struct hash keys = {0};
	bool any_program = is_one_program(before) && is_one_program(after);
	int error = sites_visit(before, note_builds, &builds_before);

	if (!error)
		error = sites_visit(after, note_builds, &builds_after);
	if (!error)
		error = candidates_find(&gone, before, &builds_after, any_program);
	if (!error)
		error = candidates_find(&come, after, &builds_before, any_program);
	if (!error)
		error = pair(&keys, &gone, &come);
	vec_free(&gone);
	vec_free(&come);
	if (error)
		hash_free(&keys);
	else
		match->keys = keys;
	return error;
}

void diff_match_free(struct diff_match *match)
{
	hash_free(&match->keys);
}

uint64_t diff_match_key(const struct diff_match *match, const struct snapshot_process *process,
			const struct report_site *site, bool *by_name)
{
	uint64_t key = site_key(process, site), *common = hash_get(&match->keys, key);

	*by_name = common != NULL;
	return common ? *common : key;
}
