// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/frames.h"

#include <errno.h>

static int append(struct frames *frames, const struct frame *frame,
		  const struct source_frame *source)
{
	struct frame *place = vec_push(&frames->list);

	if (!place)
		return -ENOMEM;
	*place = *frame;
	if (source && source->file) {
		place->file = source->file;
		place->line = source->line;
	}
	return 0;
}

static int append_inlined(struct frames *frames, const struct frame *frame,
			  const struct source_frame *source)
{
	struct frame inlined = *frame;

	/* Too many names for one answer: better one frame less than one without a name. */
	if (!source->function)
		return 0;
	inlined.function = source->function;
	inlined.offset = 0;
	inlined.inlined = true;
	inlined.why = NULL;
	return append(frames, &inlined, source);
}

int frames_append(struct frames *frames, const struct frame *frame,
		  const struct source_lines *source)
{
	uint32_t count = source ? source->count : 0;
	int err = 0;

	for (uint32_t i = 0; !err && i + 1 < count; i++)
		err = append_inlined(frames, frame, &source->frames[i]);
	return err ? err : append(frames, frame, count ? &source->frames[count - 1] : NULL);
}

uint64_t symbolizer_stack_id(const struct frames *frames)
{
	uint64_t id = 0;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];
		const char *module = frame->build_id ? frame->build_id : frame->module;

		/* Compiled code lies elsewhere in each run, and may get its name later. */
		if (module && !strcmp(module, FRAME_JIT))
			module = NULL;

		/* The same stack with and without debug information is one stack. */
		if (frame->inlined)
			continue;
		id = hash_mix(id ^ intern_hash(module ? module : ""));
		id = hash_mix(id ^ frame->module_offset);
	}
	return id;
}
