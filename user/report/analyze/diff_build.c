// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/analyze/diff_build.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/analyze/fleet_build.h"
#include "report/analyze/report_build.h"
#include "process/symbol/site_label.h"
#include "report/family.h"
#include "report/fleet.h"
#include "report/analyze/site_trend.h"
#include "report/report.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "process/proc/container.h"

/*
 * Matches the call stacks of two snapshots. A stack's number is derived from build-ids and
 * addresses, so it is the same on every run and host, but not after a rebuild. Stacks through a
 * file of which the other side has another build are compared by the names of their functions (and
 * of their program, unless each side has only one). If several stacks of one build have the same
 * names (calls from several lines of one function), they are paired in the order of their
 * addresses, which a rebuild normally preserves; if the other build has another number of them, all
 * of these stacks are one row.
 */

struct diff_match {
	struct hash keys; /* key of a site in one build -> common key */
};

/* A site of a build that the other side lacks. */
struct candidate {
	uint64_t names; /* hash of the part that a rebuild preserves */
	uint64_t key;
	const struct frames *frames;
};

struct candidates {
	struct candidate *items;
	size_t count, capacity;
};

/* Hashes the program, the kind of block, and why there is no stack. */
static uint64_t kinds_key(const char *program, enum family_id family, enum site_kind kind,
			  enum lm_lost lost)
{
	uint64_t kinds = (uint64_t)family << 16 | (uint64_t)kind << 8 | (uint64_t)lost;

	return hash_mix(hash_text(program) ^ hash_mix(kinds));
}

static uint64_t kind_key(const char *program, const struct report_site *site)
{
	return kinds_key(program, site->site->family, site->site->kind, site->site->lost);
}

static uint64_t site_key(const struct snapshot_process *process, const struct report_site *site)
{
	return hash_mix(kind_key(process->comm, site) ^ hash_mix(site->id));
}

/* Hashes a site that held nothing when the snapshot was taken. */
static uint64_t absent_key(const char *program, const struct history_site *site)
{
	return hash_mix(kinds_key(program, site->family, site->kind, site->lost) ^
			hash_mix(site->id));
}

/*
 * Skips inlined frames: the same stack may come with and without them. File names are not compared:
 * they may contain a version.
 */
static uint64_t names_key(const char *program, const struct report_site *site)
{
	uint64_t key = kind_key(program, site);

	for (size_t i = 0; i < site->frames.list.count; i++) {
		const struct frame *frame = &site->frames.list.items[i];
		const char *name = frame->function ? frame->function : frame->module;

		if (!frame->inlined)
			key = hash_mix(key ^ hash_text(name ? name : ""));
	}
	return key;
}

/* As symbolizer_stack_id() distinguishes files; 0: code in no file. */
static uint64_t build_of(const struct frame *frame)
{
	const char *build = frame->build_id ? frame->build_id : frame->module;

	return build ? hash_text(build) : 0;
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

/* Returns whether it passes a build that is not among `builds`, every frame of which has a name. */
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

/* Returns whether all processes have one name. */
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

/* Sorts by names, then by address, from the caller of the allocator on. */
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

/* Returns how many candidates from `position` on have the same names. */
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

/* Walks both sorted lists side by side. */
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

/* Both reports must be named. Returns 0 or -ENOMEM (then *match is untouched). */
static int diff_match_build(struct diff_match *match, const struct report *before,
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

static void diff_match_free(struct diff_match *match)
{
	hash_free(&match->keys);
}

/* Returns the key of a site, the same on both sides; *by_name: matched by its names. */
static uint64_t diff_match_key(const struct diff_match *match,
			       const struct snapshot_process *process,
			       const struct report_site *site, bool *by_name)
{
	uint64_t key = site_key(process, site), *common = hash_get(&match->keys, key);

	*by_name = common != NULL;
	return common ? *common : key;
}

/* Dead threads of two snapshots, matched by program, creating stack and start routine. */

static uint64_t key_of(const struct snapshot_process *process, const struct report_dead *dead)
{
	const struct frame *start = dead->start.list.count ? dead->start.list.items : NULL;
	uint64_t ran = start ? hash_mix(start->module_offset +
					(start->module ? hash_text(start->module) : 0))
			     : 0;

	return hash_mix(hash_mix(hash_text(process->comm) ^ dead->id) ^ ran);
}

static struct diff_dead *row_of(struct diff *diff, struct hash *index,
				const struct snapshot_process *process,
				const struct report_dead *dead)
{
	uint64_t *slot = hash_put(index, key_of(process, dead), NULL);
	struct diff_dead *row;

	if (!slot)
		return NULL;
	if (*slot)
		return &diff->dead.items[*slot - 1];
	row = vec_push(&diff->dead);
	if (!row)
		return NULL;
	*slot = diff->dead.count;
	return row;
}

static int add_side(struct diff *diff, struct hash *index, const struct report *report, bool after)
{
	struct diff_amount *total = after ? &diff->dead_after : &diff->dead_before;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->dead.count; j++) {
			const struct report_dead *dead = &process->dead.items[j];
			struct diff_dead *row = row_of(diff, index, process->process, dead);
			struct diff_amount *amount;

			if (!row)
				return -ENOMEM;
			amount = after ? &row->after : &row->before;
			row->comm = process->process->comm;
			row->dead = dead;
			amount->count += dead->group->count;
			amount->bytes += dead->group->stack_bytes;
			total->count += dead->group->count;
			total->bytes += dead->group->stack_bytes;
		}
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct diff_dead *a = left, *b = right;
	int64_t one = (int64_t)(a->after.count - a->before.count);
	int64_t other = (int64_t)(b->after.count - b->before.count);

	if (one != other)
		return one > other ? -1 : 1;
	if (a->after.count != b->after.count)
		return a->after.count > b->after.count ? -1 : 1;
	return (a->dead->id > b->dead->id) - (a->dead->id < b->dead->id);
}

/* Matches the dead threads of both reports; part of diff_build(). Returns 0 or -ENOMEM. */
static int diff_dead_build(struct diff *diff)
{
	_cleanup_(hash_free) struct hash index = {0};
	int error = add_side(diff, &index, diff->before, false);

	if (!error)
		error = add_side(diff, &index, diff->after, true);
	for (size_t i = 0; i < diff->dead.count; i++)
		diff->dead.items[i].state =
			diff_state_of(&diff->dead.items[i].before, &diff->dead.items[i].after);
	if (diff->dead.count)
		qsort(diff->dead.items, diff->dead.count, sizeof(*diff->dead.items), compare);
	return error;
}

static const struct frame *caller_of(const struct report_site *site)
{
	return site_label_frame(&site->frames);
}

static char *lost_or_unknown(const struct report_site *site)
{
	char *name;

	if (!site->site->lost)
		return strdup("(unknown)");
	return asprintf(&name, "[lost: %s]", lost_name(site->site->lost)) < 0 ? NULL : name;
}

static char *function_of(const struct snapshot_process *process, const struct report_site *site)
{
	const struct frame *caller = caller_of(site);
	char *name;

	(void)process;
	if (caller && caller->function)
		return strdup(caller->function);
	if (!caller || !caller->module)
		return lost_or_unknown(site);
	return asprintf(&name, "%s+0x%" PRIx64, caller->module, caller->module_offset) < 0 ? NULL
											   : name;
}

static char *module_of(const struct snapshot_process *process, const struct report_site *site)
{
	const struct frame *caller = caller_of(site);

	(void)process;
	return caller && caller->module ? strdup(caller->module) : lost_or_unknown(site);
}

static char *file_of(const struct snapshot_process *process, const struct report_site *site)
{
	const struct frame *caller = caller_of(site);
	char *name;

	if (!caller || !caller->file)
		return function_of(process, site);
	return asprintf(&name, "%s:%" PRIu32, caller->file, caller->line) < 0 ? NULL : name;
}

static char *container_of_site(const struct snapshot_process *process,
			       const struct report_site *site)
{
	const struct container *container = process->container;
	char *name;

	(void)site;
	if (!container)
		return strdup("(no container)");
	if (container->doubt == CONTAINER_UNPROVEN)
		return strdup("(unproven container)");
	if (!container->pod)
		return strdup(container->id);
	return asprintf(&name, "%s/%s/%s", container->namespace ? container->namespace : "?",
			container->pod, container->name ? container->name : "?") < 0
		       ? NULL
		       : name;
}

static char *build_of_site(const struct snapshot_process *process, const struct report_site *site)
{
	const char *build = fleet_build_id(process->exe, &site->frames);
	char *name;

	return asprintf(&name, "%s %s", process->comm, build ? build : "(unknown build)") < 0
		       ? NULL
		       : name;
}

static char *host_of_site(const struct snapshot_process *process, const struct report_site *site)
{
	(void)site;
	return strdup(process->host ? process->host : "(no fleet)");
}

/* Sites of one name form a row. A site has no name: its stack identifies it. */
static char *(*const name_of[])(const struct snapshot_process *, const struct report_site *) = {
	[DIFF_BY_SITE] = NULL,
	[DIFF_BY_FUNCTION] = function_of,
	[DIFF_BY_MODULE] = module_of,
	[DIFF_BY_FILE] = file_of,
	[DIFF_BY_CONTAINER] = container_of_site,
	[DIFF_BY_BUILD] = build_of_site,
	[DIFF_BY_HOST] = host_of_site,
};

_Static_assert(ARRAY_SIZE(name_of) == DIFF_GROUP_MAX_, "a name function for every group");

struct builder {
	struct diff diff;
	struct diff_match match;
	struct hash rows; /* hash of a row's identity -> its index */
};

static uint64_t row_key(const struct builder *builder, const struct snapshot_process *process,
			const struct report_site *site, const char *name, bool *by_name)
{
	*by_name = false;
	if (name)
		return hash_mix(hash_text(name) ^ hash_mix(site->site->family));
	return diff_match_key(&builder->match, process, site, by_name);
}

static struct diff_row *row_put(struct builder *builder, const struct snapshot_process *process,
				const struct report_site *site)
{
	char *(*naming)(const struct snapshot_process *, const struct report_site *) =
		name_of[builder->diff.by];
	_cleanup_free_ char *name = naming ? naming(process, site) : NULL;
	uint64_t *position;
	struct diff_row *row;
	bool fresh, by_name;

	if (naming && !name)
		return NULL;
	position =
		hash_put(&builder->rows, row_key(builder, process, site, name, &by_name), &fresh);
	if (!position)
		return NULL;
	if (!fresh)
		return &builder->diff.rows.items[*position];
	*position = builder->diff.rows.count;
	row = vec_push(&builder->diff.rows);
	if (!row)
		return NULL;
	row->comm = naming ? NULL : process->comm;
	row->name = TAKE_PTR(name);
	row->by_name = by_name;
	builder->diff.by_name += by_name;
	return row;
}

static void amount_add(struct diff_amount *amount, const struct site *site)
{
	amount->bytes += site->bytes;
	amount->count += site->count;
}

/* The position of a report among the snapshots around it. */
struct surroundings {
	const struct history *history; /* NULL: unknown */
	struct level_window window;
};

static struct surroundings surroundings_of(const struct report *report)
{
	const struct history *history = report->around;
	size_t at = history ? history->times.count : 0;

	while (at && history->times.items[at - 1].sequence > report->snapshot->sequence)
		at--;
	if (!at)
		return (struct surroundings){0};
	return (struct surroundings){history, level_window(history, at - 1, report->around_span)};
}

static void level_add(struct diff_row *row, const struct level *level, bool after)
{
	struct diff_amount *stays = after ? &row->stays_after : &row->stays_before;
	struct diff_amount *low = after ? &row->low_after : &row->low_before;
	struct diff_amount *high = after ? &row->high_after : &row->high_before;

	row->grows |= level->grows;
	stays->bytes += level->bytes;
	stays->count += level->count;
	low->bytes += level->low_bytes;
	low->count += level->low_count;
	high->bytes += level->high_bytes;
	high->count += level->high_count;
}

static void row_add_level(struct diff_row *row, const struct surroundings *around,
			  const struct snapshot_process *process, const struct site *site,
			  bool after)
{
	const struct history_site *known =
		around->history ? history_site_find(around->history, process->key, site) : NULL;
	struct level level = {
		.bytes = site->bytes,
		.count = site->count,
		.low_bytes = site->bytes,
		.high_bytes = site->bytes,
		.low_count = site->count,
		.high_count = site->count,
	};

	if (known)
		level_of(&level, around->history, known, &around->window);
	level_add(row, &level, after);
}

static void hits_add(struct diff_hits *hits, const struct site *site)
{
	const struct poisson_sum held = snapshot_hits(site);
	double allocated = (double)site->allocated_bytes, freed = (double)site->freed_bytes;
	double hit = site->hit_bytes;

	if (!(held.sum > 0))
		return;
	poisson_add(&hits->held, &held);
	poisson_add(&hits->allocated, &(struct poisson_sum){allocated, allocated * hit, hit});
	poisson_add(&hits->freed, &(struct poisson_sum){freed, freed * hit, hit});
}

static void row_add(struct diff_row *row, const struct site *site, bool after)
{
	struct diff_amount *by_dead = after ? &row->by_dead_after : &row->by_dead_before;

	amount_add(after ? &row->after : &row->before, site);
	by_dead->bytes += site->by_dead_bytes;
	by_dead->count += site->by_dead_count;
	hits_add(after ? &row->hits_after : &row->hits_before, site);
	row->sites++;
}

/* The site with most bytes represents the row, from the later snapshot if present there. */
static void row_represent(struct diff_row *row, const struct report_site *site, bool after)
{
	bool is_first = !row->site || (after && row->site == row->earlier);

	if (is_first || row->site->site->bytes < site->site->bytes)
		row->site = site;
	if (!after)
		row->earlier = row->site;
}

static int side_add(struct builder *builder, const struct report *report, bool after)
{
	struct surroundings around = surroundings_of(report);
	struct diff *diff = &builder->diff;

	diff->has_levels |= around.history && around.window.first < around.window.last;
	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			const struct report_site *site = &process->sites.items[j];
			struct diff_row *row = row_put(builder, process->process, site);

			if (!row)
				return -ENOMEM;
			row_represent(row, site, after);
			row->comm = row->comm ? process->process->comm : NULL;
			row_add(row, site->site, after);
			row_add_level(row, &around, process->process, site->site, after);
			hits_add(after ? &diff->hits_after : &diff->hits_before, site->site);
			if (!family_get(site->site->family)->overlaps)
				amount_add(after ? &diff->total_after : &diff->total_before,
					   site->site);
		}
	}
	return 0;
}

/*
 * Adds sites that held nothing at that moment: they are not in the report, but may come and go.
 * Groups have no rows of one site each.
 */
static void absent_add(struct builder *builder, const struct report *report, bool after)
{
	struct surroundings around = surroundings_of(report);
	const struct history *history = around.history;

	for (size_t i = 0; history && i < history->sites.count; i++) {
		const struct history_site *site = &history->sites.items[i];
		const char *program = history->processes.items[site->process_index].comm;
		uint64_t key = absent_key(program, site), *common, *position;
		struct history_point now = history_point_at(&site->series, around.window.at);
		struct level level;

		if (now.count || now.bytes)
			continue;
		common = hash_get(&builder->match.keys, key);
		position = hash_get(&builder->rows, common ? *common : key);
		if (!position || *position >= builder->diff.rows.count)
			continue;
		level_of(&level, history, site, &around.window);
		level_add(&builder->diff.rows.items[*position], &level, after);
	}
}

static int descending(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

/* By the difference; then by the larger unchanged amount. */
static int compare_bytes(const void *left, const void *right)
{
	const struct diff_row *a = left, *b = right;
	int order = descending(diff_bytes(a), diff_bytes(b));

	if (!order)
		order = descending(diff_count(a), diff_count(b));
	if (!order)
		order = descending((int64_t)a->after.bytes, (int64_t)b->after.bytes);
	if (!order)
		order = descending((int64_t)b->site->id, (int64_t)a->site->id);
	return order;
}

static int compare_count(const void *left, const void *right)
{
	const struct diff_row *a = left, *b = right;
	int order = descending(diff_count(a), diff_count(b));

	return order ? order : compare_bytes(left, right);
}

/* A site that fluctuates within its former bounds has not changed. */
static void row_settle(struct diff_row *row)
{
	const struct diff_amount *low = &row->low_before, *high = &row->high_before;
	bool moves = low->bytes < high->bytes || low->count < high->count;
	bool moved = row->low_after.bytes < row->high_after.bytes ||
		     row->low_after.count < row->high_after.count;

	if (row->grows || !moves || !moved || row->stays_after.bytes > high->bytes ||
	    row->stays_before.bytes > row->high_after.bytes)
		return;
	if (row->stays_before.bytes < row->before.bytes ||
	    row->stays_after.bytes < row->after.bytes)
		row->stays_after = row->stays_before;
}

static void stays_add_up(struct diff *diff)
{
	for (size_t i = 0; i < diff->rows.count; i++) {
		const struct diff_row *row = &diff->rows.items[i];

		if (family_get(row->site->site->family)->overlaps)
			continue;
		diff->stays_before.bytes += row->stays_before.bytes;
		diff->stays_before.count += row->stays_before.count;
		diff->stays_after.bytes += row->stays_after.bytes;
		diff->stays_after.count += row->stays_after.count;
	}
}

static void finish(struct diff *diff, enum sort_key sort)
{
	bool in_both = false;

	diff->has_owners = diff->before->snapshot->has_owners && diff->after->snapshot->has_owners;
	for (size_t i = 0; i < diff->rows.count; i++) {
		struct diff_row *row = &diff->rows.items[i];

		row_settle(row);
		row->state = diff_state_of(&row->stays_before, &row->stays_after);
		in_both |= row->high_before.count && row->high_after.count;
	}
	stays_add_up(diff);
	diff->unrelated = !in_both && diff->total_before.count && diff->total_after.count;
	if (diff->rows.count)
		qsort(diff->rows.items, diff->rows.count, sizeof(*diff->rows.items),
		      sort == SORT_COUNT ? compare_count : compare_bytes);
}

int diff_build(struct diff *diff, const struct report *before, const struct report *after,
	       enum diff_group by, enum sort_key sort)
{
	struct builder builder = {.diff = {.before = before, .after = after, .by = by}};
	int error = diff_match_build(&builder.match, before, after);

	if (!error)
		error = side_add(&builder, before, false);
	if (!error)
		error = side_add(&builder, after, true);
	if (!error && by == DIFF_BY_SITE) {
		absent_add(&builder, before, false);
		absent_add(&builder, after, true);
	}
	diff_match_free(&builder.match);
	hash_free(&builder.rows);
	if (!error)
		error = diff_dead_build(&builder.diff);
	if (error) {
		diff_free(&builder.diff);
		return error;
	}
	finish(&builder.diff, sort);
	*diff = builder.diff;
	return 0;
}
