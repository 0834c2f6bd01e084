// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/diff.h"

#include <errno.h>
#include <inttypes.h>

#include "analyze/diff_match.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "proc/container.h"
#include "symbol/intern.h"

static const char *const group_names[] = {
	[DIFF_BY_SITE] = "site", [DIFF_BY_FUNCTION] = "function",   [DIFF_BY_MODULE] = "module",
	[DIFF_BY_FILE] = "file", [DIFF_BY_CONTAINER] = "container",
};
_Static_assert(ARRAY_SIZE(group_names) == DIFF_GROUP_MAX_, "a name for every group");

static const char *const state_names[] = {
	[DIFF_NEW] = "new",   [DIFF_GROWN] = "grown", [DIFF_SHRUNK] = "shrunk",
	[DIFF_GONE] = "gone", [DIFF_SAME] = "same",
};
_Static_assert(ARRAY_SIZE(state_names) == DIFF_STATE_MAX_, "a name for every state");

const char *diff_group_name(enum diff_group group)
{
	return group_names[group];
}

const char *diff_state_name(enum diff_state state)
{
	return state_names[state];
}

static const struct frame *caller_of(const struct report_site *site)
{
	return site->frames.list.count ? &site->frames.list.items[0] : NULL;
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
	if (!container->pod)
		return strdup(container->id);
	return asprintf(&name, "%s/%s/%s", container->namespace ? container->namespace : "?",
			container->pod, container->name ? container->name : "?") < 0
		       ? NULL
		       : name;
}

/* Sites of one name are one row. A site has no name: its stack is what it is. */
static char *(*const name_of[])(const struct snapshot_process *, const struct report_site *) = {
	[DIFF_BY_SITE] = NULL,
	[DIFF_BY_FUNCTION] = function_of,
	[DIFF_BY_MODULE] = module_of,
	[DIFF_BY_FILE] = file_of,
	[DIFF_BY_CONTAINER] = container_of_site,
};
_Static_assert(ARRAY_SIZE(name_of) == DIFF_GROUP_MAX_, "a name function for every group");

struct builder {
	struct diff diff;
	struct diff_match match;
	struct hash rows; /* hash of what makes a row -> its position */
};

static uint64_t row_key(const struct builder *builder, const struct snapshot_process *process,
			const struct report_site *site, const char *name, bool *by_name)
{
	*by_name = false;
	if (name)
		return hash_mix(intern_hash(name) ^ hash_mix(site->site->family));
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

static void row_add(struct diff_row *row, const struct site *site, bool after)
{
	struct diff_amount *by_dead = after ? &row->by_dead_after : &row->by_dead_before;

	amount_add(after ? &row->after : &row->before, site);
	by_dead->bytes += site->by_dead_bytes;
	by_dead->count += site->by_dead_count;
	row->sites++;
}

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
	struct diff *diff = &builder->diff;

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
			/* Mappings hold the blocks: together they would count twice. */
			if (site->site->family != FAMILY_MAPPING)
				amount_add(after ? &diff->total_after : &diff->total_before,
					   site->site);
		}
	}
	return 0;
}

enum diff_state diff_state_of(const struct diff_amount *before, const struct diff_amount *after)
{
	int64_t bytes = (int64_t)(after->bytes - before->bytes);
	int64_t count = (int64_t)(after->count - before->count);

	if (!before->count && !before->bytes)
		return DIFF_NEW;
	if (!after->count && !after->bytes)
		return DIFF_GONE;
	if (bytes > 0 || (!bytes && count > 0))
		return DIFF_GROWN;
	return bytes || count ? DIFF_SHRUNK : DIFF_SAME;
}

static int descending(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

/* By the difference; rows that hold most of what stayed come before those that hold less. */
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

static void finish(struct diff *diff, enum sort_key sort)
{
	bool in_both = false;

	diff->has_owners = diff->before->snapshot->has_owners && diff->after->snapshot->has_owners;
	for (size_t i = 0; i < diff->rows.count; i++) {
		struct diff_row *row = &diff->rows.items[i];

		row->state = diff_state_of(&row->before, &row->after);
		in_both |= row->state != DIFF_NEW && row->state != DIFF_GONE;
	}
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

void diff_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->rows.count; i++)
		free(diff->rows.items[i].name);
	vec_free(&diff->rows);
	vec_free(&diff->dead);
}
