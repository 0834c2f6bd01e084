// SPDX-License-Identifier: GPL-2.0-or-later
/* Stacks, and the modules, mappings and frames that they are made of: each row is written once. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/recorder_state.h"

/* Eight bytes at a time: each frame of each new stack has four texts. */
uint64_t recorder_text_hash(const char *text)
{
	size_t length = text ? strlen(text) : 0;
	uint64_t hash = text ? length : UINT64_MAX, word;

	for (; length >= sizeof(word); length -= sizeof(word), text += sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = hash_mix(hash ^ word);
	}
	word = 0;
	if (length)
		memcpy(&word, text, length);
	return hash_mix(hash ^ word);
}

/* 0 in *row for a frame in no file. */
static int put_module(struct recorder *recorder, const struct frame *frame, int64_t *row)
{
	uint64_t *known;
	bool fresh;
	int error;

	*row = 0;
	if (!frame->module)
		return 0;
	known = hash_put(&recorder->module_rows,
			 recorder_mix(recorder_text_hash(frame->module),
				      recorder_text_hash(frame->build_id)),
			 &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh) {
		error = database_do(recorder->statements[PUT_MODULE], "itt",
				    (int64_t)recorder->counts.modules + 1, frame->module,
				    frame->build_id);
		if (error)
			return error;
		*known = ++recorder->counts.modules;
	}
	*row = (int64_t)*known;
	return 0;
}

static int put_mapping(struct recorder *recorder, int64_t process, int64_t module, uint64_t bias)
{
	bool fresh;
	uint64_t *known = hash_put(
		&recorder->mapping_rows,
		recorder_mix(recorder_mix((uint64_t)process, (uint64_t)module), bias), &fresh);

	if (!known)
		return -ENOMEM;
	if (!fresh)
		return 0;
	*known = ++recorder->counts.mappings;
	return database_do(recorder->statements[PUT_MAPPING], "iii", process, module,
			   (int64_t)bias);
}

static uint64_t frame_hash(const struct frame *frame, int64_t module, uint64_t offset)
{
	uint64_t hash = recorder_mix(recorder_mix((uint64_t)module, offset), frame->offset);

	hash = recorder_mix(recorder_mix(hash, recorder_text_hash(frame->function)),
			    recorder_text_hash(frame->file));
	return recorder_mix(recorder_mix(hash, frame->line), frame->inlined);
}

int recorder_put_frame(struct recorder *recorder, int64_t process, const struct frame *frame,
		       int64_t *row)
{
	uint64_t offset = frame->module ? frame->module_offset : frame->address, *known;
	int64_t module;
	bool fresh;
	int error = put_module(recorder, frame, &module);

	if (!error && module)
		error = put_mapping(recorder, process, module,
				    frame->address - frame->module_offset);
	if (error)
		return error;
	known = hash_put(&recorder->frame_rows, frame_hash(frame, module, offset), &fresh);
	if (!known)
		return -ENOMEM;
	if (fresh) {
		*known = ++recorder->counts.frames;
		error = database_do(recorder->statements[PUT_FRAME], "iiititiit", (int64_t)*known,
				    module, (int64_t)offset, frame->function,
				    (int64_t)frame->offset, frame->file, (int64_t)frame->line,
				    (int64_t)frame->inlined, frame->why);
	}
	*row = (int64_t)*known;
	return error;
}

/* Names and lines come late: the same addresses may get more frames. */
uint64_t recorder_stack_hash(const struct frames *frames)
{
	uint64_t hash = frames->list.count;

	for (size_t i = 0; i < frames->list.count; i++) {
		const struct frame *frame = &frames->list.items[i];

		/* Strings are interned: a pointer stands for its text. */
		hash = recorder_mix(recorder_mix(hash, frame->address),
				    (uint64_t)(uintptr_t)frame->function);
		hash = recorder_mix(recorder_mix(hash, (uint64_t)(uintptr_t)frame->file),
				    frame->line);
	}
	return hash | 1;
}

static int put_frames(struct recorder *recorder, int64_t process, int64_t site,
		      const struct frames *frames, size_t first)
{
	sqlite3_stmt *statement = recorder->statements[PUT_STACK];
	size_t count = MIN(frames->list.count - first, RECORDER_FRAMES_AT_ONCE);
	int error = database_bind(statement, "ii", site, (int64_t)first);

	for (size_t i = 0; i < count && !error; i++) {
		int64_t frame;

		error = recorder_put_frame(recorder, process, &frames->list.items[first + i],
					   &frame);
		if (!error)
			error = database_errno(sqlite3_bind_int64(statement, (int)i + 3, frame));
	}
	if (!error)
		error = database_next(statement);
	sqlite3_clear_bindings(statement);
	return error;
}

int recorder_put_stack(struct recorder *recorder, int64_t process, int64_t site,
		       const struct frames *frames)
{
	int error = 0;

	if ((uint64_t)site <= recorder->committed.sites)
		error = database_do(recorder->statements[CLEAR_STACK], "i", site);
	for (size_t i = 0; i < frames->list.count && !error; i += RECORDER_FRAMES_AT_ONCE)
		error = put_frames(recorder, process, site, frames, i);
	return error;
}
