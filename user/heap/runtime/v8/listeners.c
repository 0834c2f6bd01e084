// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Listeners of EventEmitters: an emitter keeps them in `_events`, by the name of the event: a
 * function, or an array of functions (lib/events.js). once() adds a bound function, whose
 * `listener` is the function passed by the program.
 *
 * If one emitter has many listeners for one event, the head of the report names them: most likely
 * they are added repeatedly, and never removed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/v8/v8.h"

#define CROWD_MIN 50	      /* node itself warns of more than ten */
#define ARRAY_OF_JS_LENGTH 24 /* JSArray::length, behind the header of an object */

/* The listeners of one emitter for one event. */
struct crowd {
	struct v8 *v8;
	struct heap_sink *sink;
	struct hash shared; /* SharedFunctionInfo, tagged -> how many functions are of it */
	uint64_t first, handler;
	uint32_t count, same; /* listeners; those with the most frequent handler */
};

static uint64_t listener_of(struct v8 *v8, uint64_t word)
{
	const struct v8_map *map = v8_map_of(v8, word);
	uint64_t passed = map && map->is_receiver ? v8_property(v8, word, "listener") : 0;

	return passed && v8_map_of(v8, passed) && v8_map_of(v8, passed)->is_function ? passed
										     : word;
}

static int add_listener(struct crowd *crowd, uint64_t word)
{
	uint64_t shared = v8_shared_of(crowd->v8, listener_of(crowd->v8, word)), *count;

	crowd->count++;
	if (!shared)
		return 0;
	count = hash_put(&crowd->shared, shared, NULL);
	if (!count)
		return -ENOMEM;
	if (++*count > crowd->same) {
		crowd->same = (uint32_t)*count;
		crowd->handler = shared;
	}
	return 0;
}

/* Keeps the largest crowds in the report. */
static int keep(struct crowd *crowd, const char *event, const char *emitter)
{
	struct walk_report *report = &crowd->sink->reports.items[crowd->v8->report];
	struct listener_crowd *crowds = report->crowds,
			      made = {.listeners = crowd->count, .same = crowd->same};
	char handler[V8_PLACE_BYTES];
	size_t at = LISTENER_CROWDS_MAX;

	report->crowded_events++;
	while (at && (!crowds[at - 1].event || crowds[at - 1].listeners < made.listeners))
		at--;
	if (at == LISTENER_CROWDS_MAX)
		return 0;
	v8_place_text(crowd->v8, crowd->handler, handler);
	made.event = intern_string(crowd->sink->strings, event);
	made.emitter = intern_string(crowd->sink->strings, emitter);
	made.handler = intern_string(crowd->sink->strings, handler);
	if (!made.event || !made.emitter || !made.handler)
		return -ENOMEM;
	memmove(&crowds[at + 1], &crowds[at], (LISTENER_CROWDS_MAX - 1 - at) * sizeof(*crowds));
	crowds[at] = made;
	return 0;
}

/* Counts the listeners in the value of an event. */
static int count_listeners(struct v8 *v8, struct heap_sink *sink, uint64_t listeners,
			   const char *event, const char *emitter)
{
	struct crowd crowd = {.v8 = v8, .sink = sink};
	uint64_t length = v8_number(v8_field(v8, listeners, ARRAY_OF_JS_LENGTH));
	uint64_t elements = v8_field(v8, listeners, v8_place(v8, V8_OBJECT_ELEMENTS));
	uint64_t room = v8_number(v8_field(v8, elements, v8_place(v8, V8_ARRAY_LENGTH)));
	const struct v8_map *map = v8_map_of(v8, listeners);
	int error = 0;

	if (!map || !map->is_receiver || map->is_function || length < CROWD_MIN || length > room)
		return 0;
	for (uint64_t i = 0; !error && i < length; i++) {
		uint64_t word = v8_field(v8, elements, v8_place(v8, V8_ARRAY_DATA) + i * 8);

		if (!v8_map_of(v8, word) || !v8_map_of(v8, word)->is_receiver) {
			crowd.count = 0;
			break;
		}
		error = add_listener(&crowd, word);
	}
	if (!error && crowd.count)
		error = keep(&crowd, event, emitter);
	hash_free(&crowd.shared);
	return error;
}

/* Counts the listeners in a dictionary, where the value follows the name. */
static int count_in_table(struct v8 *v8, struct heap_sink *sink, uint64_t events,
			  const char *emitter)
{
	uint64_t table = v8_field(v8, events, v8_place(v8, V8_OBJECT_PROPERTIES));
	uint32_t node = v8_is_object(table) ? heap_sink_node(sink, table - V8_TAG) : BLOCK_NONE;
	uint64_t words = node == BLOCK_NONE ? 0 : sink->sizes[node] / 8;
	char name[V8_NAME_BYTES] = "";
	int error = 0;

	for (uint64_t i = 0; !error && i < words && !target_memory_overworked(v8->memory); i++) {
		uint64_t word = v8_field(v8, table, v8_place(v8, V8_ARRAY_DATA) + i * 8);

		error = count_listeners(v8, sink, word, name, emitter);
		if (!v8_identifier(v8, word, name))
			name[0] = '\0';
	}
	return error;
}

static int count_in_fields(struct v8 *v8, struct heap_sink *sink, uint64_t events,
			   const char *emitter)
{
	const struct v8_map *found = v8_map_of(v8, events);
	int error = v8_describe(v8, sink, (size_t)(found - v8->maps.items));
	struct v8_map map = *v8_map_of(v8, events);

	for (size_t i = 0; !error && i < map.properties.count; i++) {
		const char *name = heap_sink_label_name(sink, map.properties.items[i].label);

		error = count_listeners(v8, sink,
					v8_property_at(v8, events, &map.properties.items[i]),
					name ? name : "", emitter);
	}
	return error;
}

static int note_events(struct v8 *v8, struct heap_sink *sink, const struct v8_map *emitter,
		       uint64_t events)
{
	const struct v8_map *map = v8_map_of(v8, events);
	char name[V8_NAME_BYTES];
	bool fresh;

	if (!hash_put(&v8->events_index, events, &fresh))
		return -ENOMEM;
	if (!fresh || !map || !map->is_receiver)
		return 0;
	v8_class_name(v8, emitter, name);
	map = v8_map_of(v8, events);
	return map->is_dictionary ? count_in_table(v8, sink, events, name)
				  : count_in_fields(v8, sink, events, name);
}

int v8_find_events(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	uint64_t object = sink->starts[node] | V8_TAG;
	const struct v8_map *map = v8_map_of(v8, object);
	struct v8_map described;
	size_t place;
	int error;

	if (!map || !map->is_receiver)
		return 0;
	place = (size_t)(map - v8->maps.items);
	error = v8_describe(v8, sink, place);
	/* The list may be reallocated while other maps are looked up. */
	described = v8->maps.items[place];
	return error || !described.events.label
		       ? error
		       : note_events(v8, sink, &described,
				     v8_property_at(v8, object, &described.events));
}
