// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/witness.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/search.h"
#include "heap/retain/retain.h"
#include "process/proc/process_memory.h"

/* Limits of a block's size, and of all blocks read in one scan. */
#define BLOCK_MAX (1u << 20)
#define LOOK_MAX (64u << 20)

#define NS_PER_S 1000000000ull

/* -------- two scans */

static const struct witness_block *find(const struct witness_look *look, uint64_t address)
{
	size_t at = SORTED_BEFORE(block, look->blocks.items, look->blocks.count,
				  block->address < address);

	return at < look->blocks.count && look->blocks.items[at].address == address
		       ? &look->blocks.items[at]
		       : NULL;
}

static bool is_untouched(const struct witness_block *before, const struct witness_block *now)
{
	return now && now->size == before->size && now->kind == before->kind && now->hash &&
	       now->hash == before->hash;
}

/* The content was not read, now or before: the block was too large, or the limit was reached. */
static bool is_unknown(const struct witness_block *before, const struct witness_block *now)
{
	return now && now->size == before->size && now->kind == before->kind &&
	       (!before->hash || !now->hash);
}

static struct witness_kind *kind_put(struct witness_kinds *kinds, struct hash *places,
				     uint64_t kind)
{
	bool fresh;
	uint64_t *place = hash_put(places, kind, &fresh);
	struct witness_kind *added;

	if (!place)
		return NULL;
	if (!fresh)
		return &kinds->list.items[*place];
	*place = kinds->list.count;
	added = vec_push(&kinds->list);
	if (added)
		*added = (struct witness_kind){.kind = kind};
	return added;
}

static int by_kind(const void *left_pointer, const void *right_pointer)
{
	const struct witness_kind *left = left_pointer, *right = right_pointer;

	return left->kind < right->kind ? -1 : left->kind > right->kind;
}

/* Without enough others, or if these stay as well, a lasting block proves nothing. */
static void keep_convincing(struct witness_kinds *kinds)
{
	size_t kept = 0;

	for (size_t i = 0; i < kinds->list.count; i++) {
		const struct witness_kind *kind = &kinds->list.items[i];

		if (kind->probable.blocks && kind->others >= WITNESS_OTHERS &&
		    (double)kind->gone >= WITNESS_GONE * (double)kind->others)
			kinds->list.items[kept++] = *kind;
	}
	kinds->list.count = kept;
	if (kept)
		qsort(kinds->list.items, kept, sizeof(*kinds->list.items), by_kind);
}

int witness_compare(const struct witness_look *first, const struct witness_look *now,
		    struct witness_kinds *kinds)
{
	_cleanup_(hash_free) struct hash places = {0};

	for (size_t i = 0; i < first->blocks.count; i++) {
		const struct witness_block *before = &first->blocks.items[i];
		const struct witness_block *after = find(now, before->address);
		struct witness_kind *kind = kind_put(kinds, &places, before->kind);
		bool untouched = is_untouched(before, after);

		if (!kind)
			return -ENOMEM;
		if (is_unknown(before, after))
			continue;
		if (before->weak && untouched && after->weak) {
			kind->probable.blocks++;
			kind->probable.bytes += before->size;
		} else {
			kind->others++;
			kind->gone += !untouched;
		}
	}
	keep_convincing(kinds);
	return 0;
}

/* -------- one scan */

static bool is_weak(const struct retain *retain, const uint32_t *roots, uint32_t block)
{
	enum verdict verdict = retain->retention.verdicts[block];
	uint32_t root = roots[block];

	/* Not every reference to a runtime's memory is known. */
	if (verdict == VERDICT_LOST || root == ROOT_NONE ||
	    heap_graph_what(&retain->graph, block) != NODE_PLAIN)
		return false;
	switch (retain->groups.list.items[root].kind) {
	case ROOT_STACK:
	case ROOT_REGISTER:
		return retention_is_passing(&retain->retention, block);
	case ROOT_STALE:
		return true;
	case ROOT_UNTRACKED: /* unless a proper root leads there */
		return !retain->groups.list.items[root].holder;
	default:
		return false;
	}
}

/* Returns the class id of each entry of retain->classes; 0: missing in the result. */
static uint64_t *class_ids(const struct retain *retain, const struct retain_result *result)
{
	uint64_t *ids = calloc(retain->classes.list.count + 1, sizeof(*ids));
	size_t count = MIN(result->classes.count, retain->ranked_classes.list.count);

	for (size_t i = 0; ids && i < count; i++)
		ids[retain->ranked_classes.list.items[i]] = result->classes.items[i].id;
	return ids;
}

static bool *classes_with_weak(const struct retain *retain, const uint32_t *roots)
{
	bool *has = calloc(retain->classes.list.count + 1, sizeof(*has));

	for (uint32_t i = 0; has && i < retain->graph.blocks; i++)
		has[retain->classes.of_blocks[i]] |= is_weak(retain, roots, i);
	return has;
}

static uint64_t hash_contents(pid_t task, const struct witness_block *block, uint64_t *room,
			      unsigned char *window)
{
	uint64_t hash;

	if (block->size > BLOCK_MAX || block->size > *room ||
	    memory_read_exact(live_memory(task), block->address, window, block->size))
		return 0;
	*room -= block->size;
	hash = hash_bytes(1, window, block->size);
	return hash ? hash : 1;
}

static int note_blocks(const struct retain *retain, const uint32_t *roots, const uint64_t *ids,
		       const bool *has_weak, struct witness_look *look)
{
	_cleanup_free_ unsigned char *window = malloc(BLOCK_MAX);
	uint64_t room = LOOK_MAX;

	for (uint32_t i = 0; window && i < retain->graph.blocks; i++) {
		uint32_t class = retain->classes.of_blocks[i];
		struct witness_block *block;

		if (!has_weak[class] || !ids[class] ||
		    retain->retention.verdicts[i] == VERDICT_LOST)
			continue;
		block = vec_push(&look->blocks);
		if (!block)
			return -ENOMEM;
		*block = (struct witness_block){
			.address = retain->graph.starts[i],
			.size = retain->graph.sizes[i],
			.kind = ids[class],
			.weak = is_weak(retain, roots, i),
		};
		block->hash =
			hash_contents(retain->heap_image.maps.source.task, block, &room, window);
	}
	return window ? 0 : -ENOMEM;
}

/* Records the present blocks; `result` is that of `retain`. Returns 0 or -ENOMEM. */
static int witness_take(const struct retain *retain, const struct retain_result *result,
			struct witness_look *look)
{
	_cleanup_free_ uint32_t *roots = retention_roots(&retain->retention);
	_cleanup_free_ uint64_t *ids = class_ids(retain, result);
	_cleanup_free_ bool *has_weak = roots ? classes_with_weak(retain, roots) : NULL;

	if (!roots || !ids || !has_weak)
		return -ENOMEM;
	look->time_ns = monotonic_ns();
	return note_blocks(retain, roots, ids, has_weak, look);
}

void witness_look_free(struct witness_look *look)
{
	vec_free(&look->blocks);
	*look = (struct witness_look){0};
}

static void kinds_free(struct witness_kinds *kinds)
{
	vec_free(&kinds->list);
}

static int add_probable(const struct witness_kinds *kinds, struct retain_result *result)
{
	for (uint32_t i = 0; i < result->classes.count; i++) {
		const struct witness_kind wanted = {.kind = result->classes.items[i].id};
		const struct witness_kind *kind =
			kinds->list.count ? bsearch(&wanted, kinds->list.items, kinds->list.count,
						    sizeof(wanted), by_kind)
					  : NULL;
		struct retained_probable *added;

		if (!kind)
			continue;
		added = vec_push(&result->probable);
		if (!added)
			return -ENOMEM;
		*added = (struct retained_probable){.class = i,
						    .total = kind->probable,
						    .others = kind->others,
						    .gone = kind->gone};
	}
	return 0;
}

int witness_confirm_stale(const struct retain *retain, struct witness_look *before,
			  struct retain_result *result)
{
	_cleanup_(witness_look_free) struct witness_look now = {0};
	_cleanup_(kinds_free) struct witness_kinds kinds = {0};
	int error = witness_take(retain, result, &now);

	if (error || (before->time_ns && now.time_ns - before->time_ns < WITNESS_S * NS_PER_S))
		return error;
	if (before->time_ns) {
		result->witness_ns = now.time_ns - before->time_ns;
		error = witness_compare(before, &now, &kinds);
		if (!error)
			error = add_probable(&kinds, result);
	}
	SWAP(*before, now);
	return error;
}
