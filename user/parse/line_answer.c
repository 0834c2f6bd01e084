// SPDX-License-Identifier: GPL-2.0-or-later
#include "parse/line_answer.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "sandbox/bytes.h"

/* Files whose line information stays open between requests. Each takes up to two descriptors. */
#define MAX_OPEN_LINES 32
/* What does not fit any more has no line. */
#define MAX_STRINGS_BYTES (1u << 20)

struct open_lines {
	uint64_t key;
	struct lines *lines;
};

struct kept_lines {
	struct open_lines open[MAX_OPEN_LINES];
	size_t oldest; /* the slot that is used next */
};

int line_answer_allocate(struct line_answer *answer, size_t ranges, size_t frames)
{
	answer->ranges = calloc(ranges + 1, sizeof(*answer->ranges));
	answer->frames = calloc(frames + 1, sizeof(*answer->frames));
	return answer->ranges && answer->frames ? 0 : -ENOMEM;
}

void line_answer_free(struct line_answer *answer)
{
	free(answer->ranges);
	free(answer->frames);
	free(answer->strings);
	*answer = (struct line_answer){0};
}

/* Neighbours mostly share their file: `last` is where that string was put. */
static int add_string(struct line_encoder *encoder, const char *text, uint32_t last,
		      uint32_t *place)
{
	size_t size = text ? strnlen(text, WIRE_MAX_STRING) + 1 : 0;

	*place = WIRE_NO_STRING;
	if (!text || size > WIRE_MAX_STRING)
		return 0;
	if (last != WIRE_NO_STRING && !strcmp((char *)encoder->strings.data + last, text)) {
		*place = last;
		return 0;
	}
	if (size > MAX_STRINGS_BYTES - encoder->strings.size)
		return 0;
	*place = (uint32_t)encoder->strings.size;
	return bytes_append(&encoder->strings, text, size);
}

static int add_frame(struct line_encoder *encoder, const struct line_frame *frame)
{
	struct wire_frame last = {.function = WIRE_NO_STRING, .file = WIRE_NO_STRING}, *wire;
	int error;

	if (encoder->frames.count)
		last = encoder->frames.items[encoder->frames.count - 1];
	wire = vec_push(&encoder->frames);
	if (!wire)
		return -ENOMEM;
	wire->line = frame->line;
	error = add_string(encoder, frame->function, last.function, &wire->function);
	return error ? error : add_string(encoder, frame->file, last.file, &wire->file);
}

int line_encoder_add(struct line_encoder *encoder, const struct line_frame *frames, size_t count)
{
	int error = 0;

	if (encoder->address_count == WIRE_MAX_ADDRESSES || count > WIRE_MAX_FRAMES)
		return -EINVAL;
	for (size_t i = 0; !error && i < count; i++)
		error = add_frame(encoder, &frames[i]);
	encoder->counts[encoder->address_count++] = (uint32_t)count;
	return error;
}

int line_encoder_finish(const struct line_encoder *encoder, struct bytes *body)
{
	struct wire_lines wire = {
		.address_count = encoder->address_count,
		.frame_count = (uint32_t)encoder->frames.count,
		.strings_size = (uint32_t)encoder->strings.size,
	};
	int error = bytes_append(body, &wire, sizeof(wire));

	if (!error)
		error = bytes_append(body, encoder->counts,
				     encoder->address_count * sizeof(encoder->counts[0]));
	if (!error)
		error = bytes_append(body, encoder->frames.items,
				     encoder->frames.count * sizeof(*encoder->frames.items));
	return error ? error : bytes_append(body, encoder->strings.data, encoder->strings.size);
}

void line_encoder_free(struct line_encoder *encoder)
{
	vec_free(&encoder->frames);
	bytes_free(&encoder->strings);
}

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
	int error = 0;

	for (size_t i = 0; !error && i < wire->frame_count; i++) {
		struct line_frame *frame = &answer->frames[i];
		struct wire_frame read;

		memcpy(&read, (const char *)wire_frames + i * sizeof(read), sizeof(read));
		error = find_string(answer->strings, wire->strings_size, read.function,
				    &frame->function);
		if (!error)
			error = find_string(answer->strings, wire->strings_size, read.file,
					    &frame->file);
		frame->line = read.line;
	}
	return error;
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
	int error = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (error || wire.address_count != addresses)
		return -EPROTO;
	counts = cursor_take(&cursor, wire.address_count, sizeof(uint32_t));
	frames = counts ? cursor_take(&cursor, wire.frame_count, sizeof(struct wire_frame)) : NULL;
	if (!frames)
		return -EPROTO;
	error = line_answer_allocate(&read, wire.address_count, wire.frame_count);
	if (!error)
		error = cursor_take_copy(&cursor, wire.strings_size, 1, (void **)&read.strings);
	if (error)
		return error;
	if (cursor.left || decode_ranges(counts, &wire, &read) ||
	    decode_frames(frames, &wire, &read))
		return -EPROTO;
	*answer = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

static void close_all_lines(struct kept_lines *kept)
{
	for (size_t i = 0; i < MAX_OPEN_LINES; i++)
		lines_close(kept->open[i].lines);
	memset(kept, 0, sizeof(*kept));
	/* libdw's many small pieces would otherwise stay with us as free heap. */
	malloc_trim(0);
}

static void release(void *state)
{
	close_all_lines(state);
	free(state);
}

static int find_or_open_lines(struct kept_lines *kept, const struct parse_input *input,
			      uint64_t key, struct lines **lines)
{
	int alternate = input->file_count > 1 ? input->files[1] : -1;
	struct open_lines *slot;
	int error;

	for (size_t i = 0; i < MAX_OPEN_LINES; i++) {
		slot = &kept->open[i];
		if (slot->lines && slot->key == key) {
			*lines = slot->lines;
			return 0;
		}
	}
	error = lines_open(input->files[0], alternate, lines);
	if (error == -ENOMEM) {
		/* Perhaps what is open already takes it all. */
		close_all_lines(kept);
		error = lines_open(input->files[0], alternate, lines);
	}
	if (error)
		return error;
	slot = &kept->open[kept->oldest];
	kept->oldest = (kept->oldest + 1) % MAX_OPEN_LINES;
	lines_close(slot->lines);
	*slot = (struct open_lines){key, *lines};
	return 0;
}

static size_t addresses_in(size_t question_size)
{
	return (question_size - offsetof(struct wire_lines_question, addresses)) / sizeof(uint64_t);
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(line_encoder_free) struct line_encoder encoder = {0};
	const struct wire_lines_question *question = input->question;
	struct line_frame frames[WIRE_MAX_FRAMES];
	struct lines *lines = NULL;
	int error;

	if (!*input->state)
		*input->state = calloc(1, sizeof(struct kept_lines));
	error = *input->state ? find_or_open_lines(*input->state, input, question->key, &lines)
			      : -ENOMEM;
	for (size_t i = 0; !error && i < addresses_in(input->question_size); i++) {
		size_t count = lines_find(lines, question->addresses[i], frames, WIRE_MAX_FRAMES);

		error = line_encoder_add(&encoder, frames, count);
	}
	return error ? error : line_encoder_finish(&encoder, body);
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	return decode_lines(body, addresses_in(origin->question_size), out);
}

const struct parse_kind lines_kind = {
	.name = "lines",
	.lane = WORKER_LANE_BACKGROUND,
	.max_files = 2,
	.min_question = offsetof(struct wire_lines_question, addresses),
	.max_question = sizeof(struct wire_lines_question),
	.parse = parse,
	.decode = decode,
	.release = release,
};
