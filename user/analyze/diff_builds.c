// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/diff_builds.h"

#include <errno.h>
#include <string.h>

#include "symbol/intern.h"

/* As symbolizer_stack_id() tells files apart; 0: code in no file. */
static uint64_t build_of(const struct frame *frame)
{
	if (frame->build_id)
		return intern_hash(frame->build_id);
	return frame->module ? intern_hash(frame->module) : 0;
}

static int stack_builds(struct hash *builds, const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++) {
		uint64_t build = build_of(&frames->list.items[i]);

		if (build && !hash_put(builds, build, NULL))
			return -ENOMEM;
	}
	return 0;
}

int diff_builds_of(struct hash *builds, const struct report *report)
{
	int error = 0;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = stack_builds(builds, &process->sites.items[j].frames);
	}
	return error;
}

static bool is_foreign(const struct hash *builds_of_other, const struct frames *frames)
{
	for (size_t i = 0; i < frames->list.count; i++) {
		uint64_t build = build_of(&frames->list.items[i]);

		if (build && !hash_get(builds_of_other, build))
			return true;
	}
	return false;
}

static uint64_t name_hash(const struct frame *frame)
{
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;

	if (frame->function)
		return intern_hash(frame->function);
	/* Without a name, an address of one build says nothing of another. */
	return frame->module ? intern_hash(slash ? slash : frame->module) : 1;
}

uint64_t diff_stack_id(const struct hash *builds_of_other, const struct report_site *site)
{
	uint64_t hash = 0x6e616d6573; /* no stack's number is meant */

	if (!is_foreign(builds_of_other, &site->frames))
		return site->id;
	for (size_t i = 0; i < site->frames.list.count; i++) {
		const struct frame *frame = &site->frames.list.items[i];

		/* What is inlined is the compiler's choice in each build. */
		if (!frame->inlined)
			hash = hash_mix(hash ^ name_hash(frame));
	}
	return hash;
}
