// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timers by the function that they will call, and pending promises by the function that created
 * them, or that waits for them.
 *
 * A timer of node has its function in `_onTimeout` or `_onImmediate` (lib/internal/timers.js). A
 * pending promise has a list of reactions (src/objects/promise.tq, js-promise.tq); if `await`
 * created a reaction, its function has a context that contains the awaiting call
 * (builtins/builtins-async-gen.cc). The call of an async function has the promise that it returned
 * (js-generator.tq).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/runtime/v8/v8.h"

/* Behind the header of an object. */
#define PROMISE_REACTIONS 24
#define PROMISE_FLAGS 32
#define PROMISE_STATUS 3u /* status bits of the flags; 0: pending */
#define REACTION_BYTES 48
#define CALL_PROMISE 80
#define CONTEXT_EXTENSION 2 /* index of the word in the context */

/* Returns the function that a timer will call; 0: no timer, or cleared. */
static uint64_t timer_function(struct v8 *v8, struct heap_sink *sink, uint64_t object, int *error)
{
	size_t place = (size_t)(v8_map_of(v8, object) - v8->maps.items);
	struct v8_property timer;

	*error = v8_describe(v8, sink, place);
	timer = v8->maps.items[place].timer;
	return timer.label ? v8_shared_of(v8, v8_property_at(v8, object, &timer)) : 0;
}

static int note_timer(struct v8 *v8, struct heap_sink *sink, uint64_t object, uint32_t *number)
{
	int error;
	struct v8_code_place place = {.base = *number,
				      .kind = V8_OF_TIMER,
				      .shared = timer_function(v8, sink, object, &error)};

	return error || !place.shared ? error : v8_add_place(v8, sink, &place, number);
}

/* Promises. */

static int note_promise(struct v8 *v8, uint64_t object, uint32_t number)
{
	struct v8_promise *added;

	if (v8_number(v8_field(v8, object, PROMISE_FLAGS)) & PROMISE_STATUS)
		return 0;
	added = vec_push(&v8->promises);
	if (!added)
		return -ENOMEM;
	*added = (struct v8_promise){object, number, number};
	return 0;
}

static int note_maker(struct v8 *v8, uint64_t call)
{
	uint64_t promise = v8_field(v8, call, CALL_PROMISE), shared = v8_call_shared(v8, call),
		 *slot;

	if (!shared || !v8_is_type(v8, v8_map_of(v8, promise), V8_TYPE_PROMISE))
		return 0;
	slot = hash_put(&v8->makers, promise, NULL);
	if (!slot)
		return -ENOMEM;
	*slot = shared;
	return 0;
}

int v8_note_pending(struct v8 *v8, struct heap_sink *sink, uint64_t object, uint32_t *number)
{
	const struct v8_map *map = v8_map_of(v8, object);

	if (!map || !map->is_receiver || !v8_place(v8, V8_SHARED_SCRIPT) ||
	    !v8_place(v8, V8_TYPE_PROMISE))
		return 0;
	if (v8_is_type(v8, map, V8_TYPE_PROMISE))
		return note_promise(v8, object, *number);
	if (v8_is_type(v8, map, V8_TYPE_CALL))
		return note_maker(v8, object);
	return map->is_dictionary || map->is_prototype || map->is_function
		       ? 0
		       : note_timer(v8, sink, object, number);
}

/* Returns the last function among the words of a reaction, whose order depends on the version: the
 * handler for success follows the one for errors. */
static uint64_t reaction_function(struct v8 *v8, uint64_t reaction)
{
	uint64_t function = 0;

	for (uint64_t at = 8; at < REACTION_BYTES; at += 8) {
		uint64_t word = v8_field(v8, reaction, at);

		if (v8_shared_of(v8, word))
			function = word;
	}
	return function;
}

/* Returns the place of an awaiting call, or of the function passed to then(). */
static struct v8_code_place reaction_place(struct v8 *v8, uint64_t reaction)
{
	uint64_t function = reaction_function(v8, reaction);
	uint64_t context = v8_field(v8, function, v8_place(v8, V8_FUNCTION_CONTEXT));
	uint64_t call = v8_call_shared(
		v8, v8_field(v8, context, v8_place(v8, V8_ARRAY_DATA) + 8 * CONTEXT_EXTENSION));

	return call ? (struct v8_code_place){.shared = call, .kind = V8_OF_AWAITED}
		    : (struct v8_code_place){.shared = v8_shared_of(v8, function),
					     .kind = V8_OF_THEN};
}

static int place_promise(struct v8 *v8, struct heap_sink *sink, struct v8_promise *promise)
{
	const uint64_t *maker = hash_get(&v8->makers, promise->object);
	uint64_t reaction = v8_field(v8, promise->object, PROMISE_REACTIONS);
	struct v8_code_place place = {.kind = V8_OF_PROMISE};

	if (maker)
		place.shared = *maker;
	else if (v8_is_type(v8, v8_map_of(v8, reaction), V8_TYPE_REACTION))
		place = reaction_place(v8, reaction);
	place.base = promise->base;
	return place.shared ? v8_add_place(v8, sink, &place, &promise->number) : 0;
}

int v8_place_promises(struct v8 *v8, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < v8->promises.count; i++)
		error = place_promise(v8, sink, &v8->promises.items[i]);
	return error;
}

void v8_settle_promises(const struct v8 *v8, struct heap_sink *sink)
{
	for (size_t i = 0; i < v8->promises.count; i++) {
		const struct v8_promise *promise = &v8->promises.items[i];
		uint32_t node = heap_sink_node(sink, promise->object - V8_TAG);

		if (promise->number != promise->base && node != BLOCK_NONE &&
		    sink->starts[node] == promise->object - V8_TAG &&
		    node_has_class(sink->whats[node]) &&
		    (sink->whats[node] & NODE_CLASS) == promise->base)
			sink->whats[node] = (sink->whats[node] & ~NODE_CLASS) | promise->number;
	}
}
