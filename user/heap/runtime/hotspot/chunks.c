// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of unmounted virtual threads, and of other continuations, in the heap: objects of the
 * class jdk.internal.vm.StackChunk contain them behind their fields (instanceStackChunkKlass.hpp).
 * A stack is followed by a bitmap with one bit for each possible reference.
 *
 * Words are recognised as references by their values, as in other stacks: see stacks.c. Once a
 * collector has processed a chunk, they have the format of references in objects.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"

#define CHUNK_WORDS_MAX ((uint32_t)INT32_MAX) /* Java's int */
#define SAVED_BYTES 16 /* below sp: the return address and the frame pointer */
#define READ_BYTES 1024

void hotspot_describe_chunks(struct hotspot *hotspot, uint64_t klass)
{
	hotspot->chunk_fields = (struct hotspot_chunk_fields){
		.size = hotspot_field_offset(hotspot, klass, "size"),
		.sp = hotspot_field_offset(hotspot, klass, "sp"),
		.parent = hotspot_field_offset(hotspot, klass, "parent"),
		.bottom = hotspot_field_offset(hotspot, klass, "bottom"),
		.arguments = hotspot_field_offset(hotspot, klass, "argsize"),
	};
}

static uint32_t field(struct hotspot *hotspot, uint64_t object, uint32_t offset)
{
	return offset ? hotspot_number(hotspot, object + offset) : 0;
}

uint64_t hotspot_chunk_bytes(struct hotspot *hotspot, const struct hotspot_class *class,
			     uint64_t object)
{
	uint64_t words = field(hotspot, object, hotspot->chunk_fields.size);
	uint64_t references = words * 8 / hotspot_oop_bytes(hotspot);
	uint64_t alignment = hotspot->layout.flags[HOTSPOT_ALIGNMENT];

	if (words > CHUNK_WORDS_MAX)
		return 0;
	if (alignment < 8 || alignment > 256 || alignment & (alignment - 1))
		alignment = 8;
	return align_up(((uint32_t) class->layout & ~7u) + words * 8 + align_up(references, 64) / 8,
			alignment);
}

bool hotspot_chunk_read(struct hotspot *hotspot, uint64_t object, struct hotspot_chunk *chunk)
{
	const struct hotspot_chunk_fields *fields = &hotspot->chunk_fields;
	const struct hotspot_class *class =
		object && !(object & 7)
			? hotspot_class_at(hotspot, hotspot_klass_of(hotspot, object))
			: NULL;
	uint32_t size, sp, bottom;

	if (!class || class->kind != HOTSPOT_CHUNK || !fields->size || !fields->sp ||
	    (!fields->bottom && !fields->arguments))
		return false;
	size = field(hotspot, object, fields->size);
	sp = field(hotspot, object, fields->sp);
	bottom = fields->bottom ? field(hotspot, object, fields->bottom)
				: size - field(hotspot, object, fields->arguments);
	if (size > CHUNK_WORDS_MAX || bottom > size || sp >= bottom)
		return false;
	chunk->stack.start = object + ((uint32_t) class->layout & ~7u);
	chunk->stack.end = chunk->stack.start + bottom * 8ull;
	chunk->sp = chunk->stack.start + sp * 8ull;
	chunk->parent = fields->parent ? hotspot_oop(hotspot, object + fields->parent) : 0;
	return true;
}

/* State of adding the references of a chunk. */

struct referrer {
	struct hotspot *hotspot;
	struct heap_sink *sink;
	uint32_t node;
	uint32_t label;
	struct hotspot_frames frames;
	size_t frame,
		/* frame of `label`, plus 1; 0: none */
		labelled;
};

static uint32_t make_label(struct referrer *referrer, const struct hotspot_frame *frame)
{
	char name[sizeof(struct hotspot_code_place) + 32];
	struct hotspot_code_place place;

	hotspot_name_frame(referrer->hotspot, frame, &place);
	if (!place.function[0])
		return heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, "<stack>");
	if (place.file[0] && place.line)
		snprintf(name, sizeof(name), "<stack, %s %s:%u>", place.function, place.file,
			 place.line);
	else
		snprintf(name, sizeof(name), "<stack, %s>", place.function);
	return heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, name);
}

static uint32_t label_of(struct referrer *referrer, const struct hotspot_frame *frame)
{
	struct hash *labels = &referrer->hotspot->chunk_labels;
	uint64_t key = hash_mix(frame->method) + (uint32_t)frame->bytecode;
	uint64_t *label = hash_get(labels, key);

	if (label)
		return (uint32_t)*label;
	label = hash_put(labels, key, NULL);
	if (!label)
		return 0;
	*label = make_label(referrer, frame);
	return (uint32_t)*label;
}

/* Returns the label of a word's method; a word of an inlined method gets the outer one's. */
static uint32_t label_at(struct referrer *referrer, uint64_t at)
{
	size_t count = referrer->frames.list.count;

	/* The frame was not read. */
	if (referrer->frames.cut && at >= referrer->frames.end)
		return heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, "<stack>");
	while (referrer->frame + 1 < count &&
	       referrer->frames.list.items[referrer->frame + 1].sp <= at)
		referrer->frame++;
	if (referrer->frame < count && referrer->labelled != referrer->frame + 1) {
		referrer->label = label_of(referrer, &referrer->frames.list.items[referrer->frame]);
		referrer->labelled = referrer->frame + 1;
	}
	return referrer->label;
}

static int refer_to(struct referrer *referrer, uint64_t at, uint64_t object)
{
	struct heap_sink *sink = referrer->sink;
	uint32_t node = object && !(object & 7) ? heap_sink_node(sink, object) : BLOCK_NONE;

	if (node == BLOCK_NONE || node == referrer->node || sink->starts[node] != object ||
	    !node_has_class(sink->whats[node]))
		return 0;
	return heap_sink_reference(sink, referrer->node, object, label_at(referrer, at));
}

/* A word may be one reference, or two. */
static int refer_word(struct referrer *referrer, uint64_t at, uint64_t word)
{
	struct hotspot *hotspot = referrer->hotspot;
	uint64_t object = hotspot_z_address(hotspot, word);
	int error = refer_to(referrer, at, object);

	if (!error && hotspot->z.used) {
		if (object)
			error = refer_to(referrer, at, hotspot_z_moved(hotspot, object));
		return error ? error : refer_to(referrer, at, hotspot_decode(hotspot, word));
	}
	if (error || hotspot_oop_bytes(hotspot) != 4)
		return error;
	if ((uint32_t)word)
		error = refer_to(referrer, at, hotspot_decode(hotspot, (uint32_t)word));
	return error || !(word >> 32) ? error
				      : refer_to(referrer, at, hotspot_decode(hotspot, word >> 32));
}

static int refer_words(struct referrer *referrer, uint64_t at, uint64_t end)
{
	uint64_t words[READ_BYTES / 8];
	int error = 0;

	while (!error && at < end && !target_memory_overworked(referrer->hotspot->memory)) {
		size_t size = (size_t)MIN(end - at, (uint64_t)READ_BYTES);

		if (target_read(referrer->hotspot->memory, at, words, size))
			memset(words, 0, size);
		for (size_t i = 0; !error && i < size / 8; i++) {
			if (words[i])
				error = refer_word(referrer, at + i * 8, words[i]);
		}
		at += size;
	}
	return error;
}

int hotspot_refer_chunk(struct hotspot *hotspot, struct heap_sink *sink, uint32_t node)
{
	struct referrer referrer = {.hotspot = hotspot, .sink = sink, .node = node};
	struct hotspot_chunk chunk;
	uint64_t end = sink->starts[node] + sink->sizes[node];
	int error;

	if (!hotspot_chunk_read(hotspot, sink->starts[node], &chunk) || chunk.stack.end > end)
		return 0;
	error = hotspot_walk_chunk(hotspot, &chunk, &referrer.frames);
	if (!error)
		error = refer_words(&referrer, MAX(chunk.sp - SAVED_BYTES, chunk.stack.start),
				    chunk.stack.end);
	vec_free(&referrer.frames.list);
	return error;
}
