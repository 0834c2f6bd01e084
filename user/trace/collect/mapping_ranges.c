// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/mapping_ranges.h"

#include <errno.h>

#include "base/cleanup.h"

bool mapping_is_counted(const struct range *range)
{
	return range->tag.kind != KIND_BEFORE;
}

static int add_bytes(const struct range *range, void *context)
{
	uint64_t *bytes = context;

	if (mapping_is_counted(range))
		*bytes += range->end - range->start;
	return 0;
}

uint64_t mapping_bytes(const struct ranges *ranges)
{
	uint64_t bytes = 0;

	ranges_walk(ranges, add_bytes, &bytes);
	return bytes;
}

static struct mapping_call *call_find(struct mapping_process *process, uint32_t tid)
{
	for (size_t i = 0; i < process->calls.count; i++) {
		if (process->calls.items[i].tid == tid)
			return &process->calls.items[i];
	}
	return NULL;
}

static void call_end(struct mapping_process *process, struct mapping_call *call)
{
	ranges_free(&call->removed);
	ranges_free(&call->lifted);
	*call = process->calls.items[--process->calls.count];
}

/* Takes a range off the set, to be restored if the call fails. */
static int take(struct mapping_process *process, const struct lm_mapping_event *event)
{
	struct mapping_call *call = call_find(process, event->tid);
	struct ranges taken;
	int error;

	if (!call) {
		call = vec_push(&process->calls);
		if (!call)
			return -ENOMEM;
		call->tid = event->tid;
	}
	error = ranges_cut(&process->ranges, event->start, event->start + event->length, &taken);
	if (error)
		return error;
	process->ledger.unmapped += mapping_bytes(&taken);
	ranges_absorb(event->op == LM_MAPPING_LIFT ? &call->lifted : &call->removed, &taken);
	return 0;
}

int mapping_give_up(struct mapping_process *process, uint64_t start, uint64_t end, uint64_t *loss)
{
	struct ranges taken;
	uint64_t bytes;
	int error = ranges_cut(&process->ranges, start, end, &taken);

	if (error)
		return error;
	bytes = mapping_bytes(&taken);
	process->ledger.unmapped += bytes;
	*loss += bytes;
	process->inexact |= bytes > 0;
	ranges_free(&taken);
	return 0;
}

/* Clears ranges for a new mapping: the event of their removal is missing. */
static int clear(struct mapping_process *process, uint64_t start, uint64_t end)
{
	return mapping_give_up(process, start, end, &process->ledger.missed);
}

static int clear_one(const struct range *range, void *context)
{
	return clear(context, range->start, range->end);
}

/* Restores the ranges that a call took, in place or elsewhere. */
static int give_back(struct mapping_process *process, struct ranges *taken)
{
	int error = ranges_walk(taken, clear_one, process);

	if (error)
		return error;
	process->ledger.unmapped -= mapping_bytes(taken);
	ranges_absorb(&process->ranges, taken);
	return 0;
}

static struct mapping_site *site_of(struct mapping_process *process, const struct range_tag *tag)
{
	struct mapping_site *site;
	bool fresh;
	uint64_t *place =
		hash_put(&process->site_index, MAPPING_SITE_KEY(tag->site, tag->kind), &fresh);

	if (!place)
		return NULL;
	if (!fresh)
		return &process->sites.items[*place];
	*place = process->sites.count;
	site = vec_push(&process->sites);
	if (!site) {
		hash_remove(&process->site_index, MAPPING_SITE_KEY(tag->site, tag->kind));
		return NULL;
	}
	site->site = tag->site;
	site->kind = tag->kind;
	return site;
}

int mapping_place(struct mapping_process *process, uint64_t start, uint64_t end,
		  const struct range_tag *tag)
{
	struct mapping_site *site;
	int error;

	if (start >= end || tag->kind >= LM_KIND_MAX_)
		return 0; /* no kernel does that */
	site = site_of(process, tag);
	if (!site)
		return -ENOMEM;
	error = clear(process, start, end);
	if (!error)
		error = ranges_insert(&process->ranges, start, end, tag);
	if (error)
		return error;
	process->ledger.mapped += end - start;
	site->mapped_bytes += end - start;
	site->mapped_calls++;
	return 0;
}

/*
 * mremap moved, grew or shrank the lifted range: it stays with the call stack that mapped it. Only
 * the added part belongs to the caller of mremap, with the same purpose.
 */
static int move(struct mapping_process *process, struct mapping_call *call,
		const struct lm_mapping_event *event, struct range_tag *tag)
{
	uint64_t old_end = event->old_start + event->old_length;
	uint64_t kept = MIN(event->old_length, event->length);
	const struct range *last;
	struct ranges tail;
	int error = 0;

	if (call) {
		error = ranges_cut(&call->lifted, event->old_start + kept, old_end, &tail);
		if (error)
			return error;
		ranges_free(&tail); /* unmapped; the lift has counted that */
		last = ranges_last(&call->lifted);
		if (last && mapping_is_counted(last))
			tag->kind = last->tag.kind;
		ranges_shift(&call->lifted, event->start - event->old_start);
		error = give_back(process, &call->lifted);
	}
	if (error || event->length <= event->old_length)
		return error;
	return mapping_place(process, event->start + event->old_length,
			     event->start + event->length, tag);
}

static int call_failed(struct mapping_process *process, struct mapping_call *call)
{
	int error;

	if (!call)
		return 0;
	error = give_back(process, &call->lifted);
	return error ? error : give_back(process, &call->removed);
}

static int settle(struct mapping_process *process, const struct lm_mapping_event *event)
{
	struct mapping_call *call = call_find(process, event->tid);
	struct range_tag tag = {
		.born_ns = event->time_ns, .site = event->site, .kind = event->kind};
	int error = 0;

	if (event->op == LM_MAPPING_FAILED)
		error = call_failed(process, call);
	else if (event->op == LM_MAPPING_MOVE)
		error = move(process, call, event, &tag);
	else if (event->op == LM_MAPPING_COPY && call)
		error = give_back(process, &call->lifted);
	if (!error && (event->op == LM_MAPPING_INSERT || event->op == LM_MAPPING_COPY))
		error = mapping_place(process, event->start, event->start + event->length, &tag);
	if (call)
		call_end(process, call);
	return error;
}

int mapping_process_apply(struct mapping_process *process, const struct lm_mapping_event *event)
{
	if (event->op == LM_MAPPING_REMOVE || event->op == LM_MAPPING_LIFT)
		return take(process, event);
	if (event->op == LM_MAPPING_UNTOLD) {
		process->ledger.events_lost++;
		process->inexact = process->untold = true;
		return 0;
	}
	return settle(process, event);
}

void mapping_process_free(struct mapping_process *process)
{
	while (process->calls.count)
		call_end(process, &process->calls.items[0]);
	vec_free(&process->calls);
	vec_free(&process->sites);
	hash_free(&process->site_index);
	ranges_free(&process->ranges);
}
