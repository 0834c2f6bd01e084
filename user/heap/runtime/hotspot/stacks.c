// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * References from stacks and registers of Java threads, by the Java method in which each word lies.
 * Only the compiler knows which words are references: each word, of 8 bytes or of 4, with the
 * address of an object counts as one. The walk begins at the registers of a stopped thread, else
 * where the thread left Java. While native code runs or waits, it holds objects by handles, because
 * a collection may move them: other words of its frames are stale. Frames of the VM's functions are
 * read by retain/, except for addresses that only ZGC can decode.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/hotspot/hotspot.h"

struct scan {
	struct hotspot *hotspot;
	struct heap_sink *sink;
	const char *called;
	struct hotspot_frames frames;
	size_t frame; /* frame of the next word, or one before it */
	struct hotspot_range stack;
	size_t named; /* the frame, plus 1, of the next roots; 0: none */
	char name[HOTSPOT_THREAD_NAME_BYTES + sizeof(struct hotspot_code_place)];
};

/* Names the next roots "stack of thread worker-1, shop.Cart.add Cart.java:7"; a word of an inlined
 * method gets the outer one's name. */
static void name_roots(struct scan *scan, size_t named)
{
	size_t size = sizeof(scan->name), length;
	struct hotspot_code_place place;

	scan->named = named;
	snprintf(scan->name, size, "stack of thread %s", scan->called);
	if (!named)
		return;
	hotspot_name_frame(scan->hotspot, &scan->frames.list.items[named - 1], &place);
	length = strlen(scan->name);
	if (place.function[0])
		snprintf(scan->name + length, size - length, ", %s", place.function);
	length = strlen(scan->name);
	if (place.function[0] && place.file[0] && place.line)
		snprintf(scan->name + length, size - length, " %s:%u", place.file, place.line);
}

static void name_word(struct scan *scan, uint64_t at)
{
	size_t named;

	while (scan->frame + 1 < scan->frames.list.count &&
	       scan->frames.list.items[scan->frame + 1].sp <= at)
		scan->frame++;
	named = at < scan->frames.end && scan->frame < scan->frames.list.count &&
				scan->frames.list.items[scan->frame].sp <= at
			? scan->frame + 1
			: 0;
	if (!scan->name[0] || named != scan->named)
		name_roots(scan, named);
}

static int add_object(struct scan *scan, uint64_t at, uint64_t object)
{
	uint32_t node = object && !(object & 7) ? heap_sink_node(scan->sink, object) : BLOCK_NONE;

	if (node == BLOCK_NONE || scan->sink->starts[node] != object ||
	    !node_has_class(scan->sink->whats[node]))
		return 0;
	name_word(scan, at);
	return heap_sink_passing_root(scan->sink, HOTSPOT_KEY, scan->name, object);
}

static int add_narrow(struct scan *scan, uint64_t at, uint32_t reference)
{
	return hotspot_oop_bytes(scan->hotspot) == 4 && reference
		       ? add_object(scan, at, hotspot_decode(scan->hotspot, reference))
		       : 0;
}

/* An address in a stack may predate the move of its object. */
static int add_word(struct scan *scan, uint64_t at, uint64_t word)
{
	uint64_t object = hotspot_z_address(scan->hotspot, word);
	int error = add_object(scan, at, object);

	if (!error && object && scan->hotspot->z.used)
		error = add_object(scan, at, hotspot_z_moved(scan->hotspot, object));
	if (!error)
		error = add_narrow(scan, at, (uint32_t)word);
	return error ? error : add_narrow(scan, at, (uint32_t)(word >> 32));
}

static int add_stack(struct scan *scan, uint64_t from)
{
	struct hotspot *hotspot = scan->hotspot;
	const struct mapping *mapping = maps_find(hotspot->memory->maps, from);
	uint64_t end = mapping ? MIN(mapping->end, scan->stack.end) : 0;
	int error = 0;

	for (uint64_t at = from & ~7ull;
	     !error && at + 8 <= end && !target_memory_overworked(hotspot->memory); at += 8)
		error = add_word(scan, at, target_word(hotspot->memory, at));
	/* All references from these words to the heap are known now, by method. */
	return error || from >= end ? error : heap_sink_claim(scan->sink, from, end - from, true);
}

/* Returns the system's thread that runs on this stack; NULL: unknown. */
static const struct heap_image_thread *find_thread(const struct scan *scan)
{
	const struct heap_image *image = scan->hotspot->memory->image;

	for (size_t i = 0; image && image->stopped && i < image->threads.count; i++) {
		uint64_t sp = machine_sp(&image->threads.items[i].registers);

		if (sp >= scan->stack.start && sp < scan->stack.end)
			return &image->threads.items[i];
	}
	return NULL;
}

static int add_registers(struct scan *scan, const struct heap_image_thread *thread)
{
	int error = 0;

	for (unsigned i = 0; !error && i < MACHINE_REGISTERS; i++)
		error = add_word(scan, machine_sp(&thread->registers),
				 machine_register(&thread->registers, i));
	return error;
}

static uint64_t left_java(struct hotspot *hotspot, uint64_t thread)
{
	return hotspot_has(hotspot, HOTSPOT_THREAD_ANCHOR)
		       ? hotspot_member(hotspot,
					thread + hotspot_place(hotspot, HOTSPOT_THREAD_ANCHOR),
					HOTSPOT_ANCHOR_SP)
		       : 0;
}

/* JavaThreadState (share/utilities/globalDefinitions.hpp). */
#define STATE_IN_NATIVE 4
#define STATE_BLOCKED 10

static bool has_handles_only(struct hotspot *hotspot, uint64_t thread)
{
	uint32_t state = hotspot_has(hotspot, HOTSPOT_THREAD_STATE)
				 ? (uint32_t)hotspot_member(hotspot, thread, HOTSPOT_THREAD_STATE)
				 : 0;

	return state == STATE_IN_NATIVE || state == STATE_BLOCKED;
}

/* Claims the part of a stack below the Java frames. */
static int claim_native(struct scan *scan, uint64_t end)
{
	return heap_sink_claim(scan->sink, scan->stack.start, end - scan->stack.start, true);
}

static int scan_thread(struct scan *scan, uint64_t thread)
{
	const struct heap_image_thread *stopped = find_thread(scan);
	uint64_t sp = left_java(scan->hotspot, thread);
	int error;

	if (sp <= scan->stack.start || sp >= scan->stack.end || sp & 7)
		sp = 0;
	if (!sp && !stopped)
		return 0;
	if (stopped && has_handles_only(scan->hotspot, thread)) {
		stopped = NULL;
		error = claim_native(scan, sp ? sp : scan->stack.end);
		if (error || !sp)
			return error;
	}
	if (sp) {
		error = hotspot_walk_frames(scan->hotspot, thread, &scan->frames);
	} else {
		const struct hotspot_position position = {machine_sp(&stopped->registers),
							  machine_fp(&stopped->registers),
							  machine_ip(&stopped->registers)};

		error = hotspot_walk_running(scan->hotspot, thread, &position, &scan->frames);
	}
	if (!error && stopped && (!sp || scan->hotspot->z.used))
		error = add_registers(scan, stopped);
	if (stopped && (!sp || scan->hotspot->z.used))
		sp = machine_sp(&stopped->registers);
	return error ? error : add_stack(scan, sp);
}

int hotspot_stack_roots(struct hotspot *hotspot, struct heap_sink *sink, uint64_t thread,
			const char *called)
{
	struct scan scan = {.hotspot = hotspot,
			    .sink = sink,
			    .called = called,
			    .stack = hotspot_stack(hotspot, thread)};
	int error = scan_thread(&scan, thread);

	vec_free(&scan.frames.list);
	return error;
}
