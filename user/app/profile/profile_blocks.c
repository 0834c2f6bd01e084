// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profile_blocks.h"

#include <errno.h>
#include <stdlib.h>

#include "app/profile/profile_target.h"
#include "base/cleanup.h"

static int by_address(const void *left, const void *right)
{
	const struct profile_block *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

/*
 * Skip blocks older than the attach: they are left over from windows, and their frees may have been
 * missed.
 */
static int list_tracked(const struct exact_tracking *exact, lm_process_key key,
			struct profile_blocks *blocks)
{
	struct outstanding_list outstanding = {0};
	int error = window_blocks_read(exact->window.bpf, key, &outstanding);

	blocks->exact = true;
	blocks->since_ns = exact->window.open_ns;
	for (size_t i = 0; i < outstanding.list.count && !error; i++) {
		const struct outstanding *known = &outstanding.list.items[i];
		struct profile_block *block;

		if (known->born_ns < blocks->since_ns)
			continue;
		block = vec_push(&blocks->list);
		if (block)
			*block = (struct profile_block){.address = known->address,
							.size = known->size,
							.born_ns = known->born_ns,
							.site = known->site,
							.weight = 1,
							.untouched = true};
		else
			error = -ENOMEM;
	}
	vec_free(&outstanding.list);
	return error;
}

static int list_followed(const struct profiled *profiled, struct profile_blocks *blocks)
{
	for (size_t i = 0; i < profiled->windows.count; i++) {
		const struct sample_window *window = &profiled->windows.items[i];

		for (size_t j = 0; j < window->samples.count; j++) {
			const struct profile_sample *sample = &window->samples.items[j];
			struct profile_block *block;

			if (sample->state == SAMPLE_DEAD || sample->seen_dead)
				continue;
			block = vec_push(&blocks->list);
			if (!block)
				return -ENOMEM;
			if (!blocks->since_ns || sample->born_ns < blocks->since_ns)
				blocks->since_ns = sample->born_ns;
			*block = (struct profile_block){
				.address = sample->address,
				.size = sample->size,
				.born_ns = sample->born_ns,
				.site = profiled->sites.items[sample->site]->index,
				.weight = sample->weight,
				.untouched = sample->state == SAMPLE_UNTOUCHED};
		}
	}
	return 0;
}

int profile_blocks_read(const struct profile_report_process *process, uint64_t since_ns,
			struct profile_blocks *blocks)
{
	const struct profile_target *target = process->target;
	int error = 0;

	*blocks = (struct profile_blocks){0};
	if (!target)
		return 0;
	if (target->exact.open && !target->exact.thinned && target->key &&
	    target->exact.window.open_ns <= since_ns)
		error = list_tracked(&target->exact, target->key, blocks);
	else
		error = list_followed(&target->profiled, blocks);
	if (error)
		blocks->list.count = 0;
	else if (blocks->list.count)
		qsort(blocks->list.items, blocks->list.count, sizeof(*blocks->list.items),
		      by_address);
	return error;
}
