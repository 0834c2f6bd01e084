// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/diagnose/mappings.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* The minimum share of the growth in new mappings for their call stacks to be its cause. */
#define NEW_SHARE 0.5
/* The minimum share of that for a call stack to be an answer. */
#define MAPPER_SHARE 0.1

/*
 * Call stacks through the same functions: a loop's first iteration and the others differ only in
 * offsets.
 */
struct like {
	struct diagnosed_mapper is;
	uint64_t largest; /* resident bytes of is.site */
};

struct likes {
	VEC(struct like) list;
	struct hash places; /* hash of the functions -> index in `list` */
};

static void likes_free(struct likes *likes)
{
	vec_free(&likes->list);
	hash_free(&likes->places);
}

static uint64_t hash_on(uint64_t hash, const char *text)
{
	return text ? hash_bytes(hash, text, strlen(text) + 1) : hash_mix(hash);
}

static uint64_t functions_hash(const struct frames *frames)
{
	uint64_t hash = HASH_BYTES_BEGIN;

	for (size_t i = 0; i < frames->list.count; i++)
		hash = hash_on(hash_on(hash, frames->list.items[i].function),
			       frames->list.items[i].module);
	return hash;
}

static struct like *like_of(struct likes *likes, const struct report_site *row)
{
	bool fresh;
	uint64_t *place = hash_put(&likes->places, functions_hash(&row->frames), &fresh);
	struct like *like;

	if (!place)
		return NULL;
	if (!fresh)
		return &likes->list.items[*place];
	*place = likes->list.count;
	like = vec_push(&likes->list);
	if (like)
		*like = (struct like){.is.site = row};
	return like;
}

/* Returns whether the memory was mapped by neither an allocator nor a thread. */
static bool is_plain(const struct report_site *row, enum memory_group group)
{
	return row->site->family == FAMILY_MAPPING &&
	       row->site->kind == (group == GROUP_FILES ? KIND_FILE : KIND_MAPPING);
}

static int add_row(struct likes *likes, const struct report_site *row, uint64_t resident)
{
	struct like *like = like_of(likes, row);

	if (!like)
		return -1;
	if (resident > like->largest) {
		like->largest = resident;
		like->is.site = row;
	}
	like->is.bytes += row->site->bytes;
	like->is.count += row->site->count;
	like->is.resident += resident;
	return 0;
}

bool mappings_judge(const struct mapped_evidence *mapped, enum memory_group group,
		    struct diagnosed_mapper *mapper)
{
	uint64_t growth = group == GROUP_FILES ? mapped->written_growth : mapped->growth;
	_cleanup_(likes_free) struct likes likes = {0};
	const struct report_process *process;
	const struct like *most = NULL;
	uint64_t all = 0;

	if (!mapped->report || mapped->report->processes.count != 1 || !growth)
		return false;
	process = &mapped->report->processes.items[0];
	for (size_t i = 0; i < process->sites.count; i++) {
		const struct report_site *row = &process->sites.items[i];

		if (!is_plain(row, group))
			continue;
		all += mapped->resident[i];
		if (!row->site->lost && add_row(&likes, row, mapped->resident[i]))
			return false;
	}
	for (size_t i = 0; i < likes.list.count; i++) {
		if (!most || likes.list.items[i].is.resident > most->is.resident)
			most = &likes.list.items[i];
	}
	if (!most || (double)all < (double)growth * NEW_SHARE)
		return false;
	*mapper = most->is;
	mapper->share = (double)most->is.resident / (double)MAX(all, growth);
	return mapper->share >= MAPPER_SHARE;
}
