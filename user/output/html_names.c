// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/html_names.h"

#include <inttypes.h>
#include <string.h>

#include "symbol/intern.h"

static uint32_t string_number(struct html_names *names, const char *text)
{
	uint64_t *number;
	bool fresh;

	if (!text)
		return 0;
	number = hash_put(&names->string_numbers, intern_hash(text), &fresh);
	/* Two texts with one hash: the second one is written again and again. */
	if (number && !fresh && !strcmp(names->strings.items[*number - 1], text))
		return (uint32_t)*number;
	if (!number || !vec_push(&names->strings)) {
		names->failed = true;
		return 0;
	}
	names->strings.items[names->strings.count - 1] = text;
	if (fresh)
		*number = names->strings.count;
	return (uint32_t)names->strings.count;
}

static uint64_t frame_hash(const struct html_frame *frame)
{
	const uint64_t values[] = {frame->function, frame->module, frame->build_id,
				   frame->file,	    frame->why,	   frame->line,
				   frame->offset,   frame->place,  frame->inlined};
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hash = hash_mix(hash ^ hash_mix(values[i] + i));
	return hash;
}

static bool frame_is(const struct html_frame *a, const struct html_frame *b)
{
	return a->function == b->function && a->module == b->module && a->build_id == b->build_id &&
	       a->file == b->file && a->why == b->why && a->line == b->line &&
	       a->offset == b->offset && a->place == b->place && a->inlined == b->inlined;
}

static size_t frame_number(struct html_names *names, const struct frame *frame)
{
	struct html_frame wanted = {
		.function = string_number(names, frame->function),
		.module = string_number(names, frame->module),
		.build_id = string_number(names, frame->build_id),
		.file = string_number(names, frame->file),
		.why = frame->function ? 0 : string_number(names, frame->why),
		.line = frame->line,
		.offset = frame->offset,
		.place = frame->module ? frame->module_offset : frame->address,
		.inlined = frame->inlined,
	};
	struct html_frame *made;
	bool fresh;
	uint64_t *number = hash_put(&names->frame_numbers, frame_hash(&wanted), &fresh);

	if (number && !fresh && frame_is(&names->frames.items[*number], &wanted))
		return *number;
	made = number ? vec_push(&names->frames) : NULL;
	if (!made) {
		names->failed = true;
		return 0;
	}
	*made = wanted;
	if (fresh)
		*number = names->frames.count - 1;
	return names->frames.count - 1;
}

void html_stack_write(struct json_writer *json, struct html_names *names,
		      const struct report_site *site)
{
	json_open(json, "stack", '[');
	for (size_t i = 0; i < site->frames.list.count; i++)
		json_put_number(json, NULL, frame_number(names, &site->frames.list.items[i]));
	for (size_t i = 0; !site->frames.list.count && i < site->site->depth; i++) {
		const struct frame frame = {.address = LM_FRAME_ADDRESS(site->site->addresses[i]),
					    .why = "not looked up"};

		json_put_number(json, NULL, frame_number(names, &frame));
	}
	json_close(json, ']');
}

/* In hexadecimal: JavaScript's numbers end at 2^53. */
static void place_write(struct json_writer *json, uint64_t place)
{
	char text[17];

	snprintf(text, sizeof(text), "%" PRIx64, place);
	json_put_string(json, NULL, text);
}

static void frame_write(struct json_writer *json, const struct html_frame *frame)
{
	json_open(json, NULL, '[');
	json_put_number(json, NULL, frame->function);
	json_put_number(json, NULL, frame->offset);
	json_put_number(json, NULL, frame->module);
	place_write(json, frame->place);
	json_put_number(json, NULL, frame->file);
	json_put_number(json, NULL, frame->line);
	json_put_number(json, NULL, frame->inlined);
	json_put_number(json, NULL, frame->why);
	json_put_number(json, NULL, frame->build_id);
	json_close(json, ']');
}

void html_names_write(struct json_writer *json, const struct html_names *names)
{
	json_open(json, "frames", '[');
	for (size_t i = 0; i < names->frames.count; i++)
		frame_write(json, &names->frames.items[i]);
	json_close(json, ']');
	json_open(json, "strings", '[');
	json_put_null(json, NULL);
	for (size_t i = 0; i < names->strings.count; i++)
		json_put_string(json, NULL, names->strings.items[i]);
	json_close(json, ']');
}

void html_names_free(struct html_names *names)
{
	hash_free(&names->string_numbers);
	hash_free(&names->frame_numbers);
	vec_free(&names->strings);
	vec_free(&names->frames);
}
