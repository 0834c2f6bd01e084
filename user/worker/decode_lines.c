// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/decode.h"

#include <errno.h>

#include "base/cleanup.h"
#include "worker/cursor.h"
#include "worker/decode_text.h"
#include "worker/protocol.h"

/* *text stays NULL for WIRE_NO_STRING. */
static int find_string(const char *strings, size_t size, uint32_t place, const char **text)
{
	if (place == WIRE_NO_STRING)
		return 0;
	if (place >= size || !is_terminated(strings + place, MIN(size - place, WIRE_MAX_STRING)))
		return -EPROTO;
	*text = strings + place;
	return 0;
}

static int decode_frames(const void *wire_frames, const struct wire_lines *wire,
			 struct line_answer *answer)
{
	int err = 0;

	for (size_t i = 0; !err && i < wire->frame_count; i++) {
		struct line_frame *frame = &answer->frames[i];
		struct wire_frame read;

		memcpy(&read, (const char *)wire_frames + i * sizeof(read), sizeof(read));
		err = find_string(answer->strings, wire->strings_size, read.function,
				  &frame->function);
		if (!err)
			err = find_string(answer->strings, wire->strings_size, read.file,
					  &frame->file);
		frame->line = read.line;
	}
	return err;
}

static int decode_ranges(const void *counts, const struct wire_lines *wire,
			 struct line_answer *answer)
{
	uint32_t first = 0;

	for (size_t i = 0; i < wire->address_count; i++) {
		uint32_t count;

		memcpy(&count, (const char *)counts + i * sizeof(count), sizeof(count));
		if (count > WIRE_MAX_FRAMES || count > wire->frame_count - first)
			return -EPROTO;
		answer->ranges[i] = (struct line_range){first, count};
		first += count;
	}
	answer->count = wire->address_count;
	return first == wire->frame_count ? 0 : -EPROTO;
}

int decode_lines(const struct bytes *body, size_t addresses, struct line_answer *answer)
{
	_cleanup_(line_answer_free) struct line_answer read = {0};
	struct cursor cursor = {body->data, body->size};
	const void *counts, *frames;
	struct wire_lines wire;
	int err = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (err || wire.address_count != addresses)
		return -EPROTO;
	counts = cursor_take(&cursor, wire.address_count, sizeof(uint32_t));
	frames = counts ? cursor_take(&cursor, wire.frame_count, sizeof(struct wire_frame)) : NULL;
	if (!frames)
		return -EPROTO;
	err = line_answer_allocate(&read, wire.address_count, wire.frame_count);
	if (!err)
		err = cursor_take_copy(&cursor, wire.strings_size, 1, (void **)&read.strings);
	if (err)
		return err;
	if (cursor.left || decode_ranges(counts, &wire, &read) ||
	    decode_frames(frames, &wire, &read))
		return -EPROTO;
	*answer = read;
	memset(&read, 0, sizeof(read));
	return 0;
}
