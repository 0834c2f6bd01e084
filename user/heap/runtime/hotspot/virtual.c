// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Virtual threads: objects of the class java.lang.VirtualThread (since 21), grouped by where they
 * wait. No list contains all of them, so the heap is searched. Unmounted threads have their frames
 * in the heap, mounted ones in their carrier thread. The numbers of their states differ between
 * releases: the class has them in static fields.
 *
 * They are read while the program runs. If a collection moves objects, all are read again. A thread
 * whose state changes during the read is in no group.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/text.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/hotspot/reader.h"

#define ATTEMPTS 4
#define PAUSE_NS 20000000 /* after a collection that was under way */
#define GROUPS_MAX 16384

static const struct {
	const char *field, *name;
} states[] = {
	{"NEW", "new"},
	{"STARTED", "started"},
	{"RUNNABLE", "runnable"},
	{"RUNNING", "running"},
	{"PARKING", "parking"},
	{"PARKED", "parked"},
	{"PINNED", "pinned"},
	{"YIELDING", "yielding"},
	{"YIELDED", "yielded"},
	{"TIMED_PARKING", "parking with timeout"},
	{"TIMED_PARKED", "parked with timeout"},
	{"TIMED_PINNED", "pinned with timeout"},
	{"UNPARKED", "unparked"},
	{"BLOCKING", "blocking"},
	{"BLOCKED", "blocked"},
	{"UNBLOCKED", "unblocked"},
	{"WAITING", "beginning to wait"},
	{"WAIT", "waiting"},
	{"TIMED_WAITING", "beginning to wait with timeout"},
	{"TIMED_WAIT", "waiting with timeout"},
	{"TERMINATED", "ended"},
};
_Static_assert(ARRAY_SIZE(states) <= HOTSPOT_STATES_MAX, "there is room for all of them");

/* -------- the class */

struct describing {
	struct hotspot *hotspot;
	uint64_t mirror;
	bool used; /* its initialiser has run */
};

static int take_static(void *context, const struct hotspot_declared *field)
{
	struct describing *describing = context;
	struct hotspot_virtual_fields *fields = &describing->hotspot->virtual_fields;
	uint32_t number;

	if (field->is_static && field->type == 'L' &&
	    hotspot_oop(describing->hotspot, describing->mirror + field->offset))
		describing->used = true;
	if (!field->is_static || field->type != 'I')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (strcmp(states[i].field, field->name) != 0 ||
		    fields->state_count == HOTSPOT_STATES_MAX)
			continue;
		number = hotspot_number(describing->hotspot, describing->mirror + field->offset);
		fields->states[fields->state_count].number = number;
		fields->states[fields->state_count++].name = states[i].name;
		if (!strcmp(field->name, "TERMINATED"))
			fields->terminated = number;
	}
	return 0;
}

void hotspot_describe_virtual(struct hotspot *hotspot, const struct hotspot_class *class)
{
	struct describing describing = {hotspot, class->mirror, false};
	uint64_t klass = class->address;

	hotspot->virtual_fields = (struct hotspot_virtual_fields){
		.state = hotspot_field_offset(hotspot, klass, "state"),
		.continuation = hotspot_field_offset(hotspot, klass, "cont"),
		.carrier = hotspot_field_offset(hotspot, klass, "carrierThread"),
		.number = hotspot_field_offset(hotspot, klass, "tid"),
	};
	if (class->mirror)
		hotspot_each_field(hotspot, klass, take_static, &describing);
	hotspot->virtual_fields.used = describing.used;
}

bool hotspot_virtual_ended(struct hotspot *hotspot, uint64_t object)
{
	const struct hotspot_virtual_fields *fields = &hotspot->virtual_fields;

	return fields->state && fields->terminated &&
	       hotspot_number(hotspot, object + fields->state) == fields->terminated;
}

/* Returns whether java.lang.VirtualThread, a class of the VM's own loader, is in use. */
static bool is_used(struct hotspot *hotspot)
{
	for (size_t i = 0; i < hotspot->loaders.count; i++) {
		uint64_t loader = hotspot->loaders.items[i].address, klass;
		struct loop loop = {0};

		if (hotspot->loaders.items[i].owner)
			continue;
		klass = hotspot_member(hotspot, loader, HOTSPOT_LOADER_KLASSES);
		while (klass && !loop_found(&loop, klass)) {
			const struct hotspot_class *class = hotspot_class_at(hotspot, klass);

			if (class && class->is_virtual)
				return hotspot->virtual_fields.used;
			klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_NEXT);
		}
	}
	return false;
}

/* -------- threads */

struct reading {
	struct hotspot *hotspot;
	struct java_thread_report *java;
	struct task_report *report;
	struct hotspot_frames frames;
	struct hash numbers; /* of threads already read: a moved thread may appear twice */
	struct hash stacks;  /* a state and frames -> the place of their group plus 1 */
	struct hash groups;  /* id of a group -> its place plus 1 */
};

static const char *state_name(const struct hotspot *hotspot, uint32_t state)
{
	const struct hotspot_virtual_fields *fields = &hotspot->virtual_fields;

	for (size_t i = 0; i < fields->state_count; i++) {
		if (fields->states[i].number == state)
			return fields->states[i].name;
	}
	return NULL;
}

static uint32_t state_now(const struct reading *reading, uint64_t thread)
{
	struct hotspot *hotspot = reading->hotspot;
	uint32_t state = UINT32_MAX;

	target_read_now(hotspot->memory, thread + hotspot->virtual_fields.state, &state,
			sizeof(state));
	return state;
}

static uint64_t chunk_of(struct hotspot *hotspot, uint64_t thread)
{
	struct hotspot_virtual_fields *fields = &hotspot->virtual_fields;
	uint64_t continuation = hotspot_oop(hotspot, thread + fields->continuation);

	if (continuation && !fields->chunk)
		fields->chunk = hotspot_field_offset(
			hotspot, hotspot_klass_of(hotspot, continuation), "tail");
	return continuation && fields->chunk ? hotspot_oop(hotspot, continuation + fields->chunk)
					     : 0;
}

/* Walks the frames of a thread, innermost first; once it was mounted, they may lie in several
 * chunks. */
static int walk_chunks(struct reading *reading, uint64_t thread)
{
	struct hotspot *hotspot = reading->hotspot;
	uint64_t object = chunk_of(hotspot, thread);
	struct hotspot_chunk chunk;
	struct loop loop = {0};
	int error = 0;

	while (!error && object && !loop_found(&loop, object) &&
	       hotspot_chunk_read(hotspot, object, &chunk)) {
		reading->report->stack_bytes += chunk.stack.end - chunk.stack.start;
		error = hotspot_walk_chunk(hotspot, &chunk, &reading->frames);
		object = chunk.parent;
	}
	return error;
}

static int walk_frames(struct reading *reading, uint64_t thread)
{
	struct hotspot *hotspot = reading->hotspot;
	uint64_t carrier = hotspot_oop(hotspot, thread + hotspot->virtual_fields.carrier);

	reading->frames.list.count = 0;
	reading->frames.cut = false;
	return carrier ? hotspot_walk_carrier(hotspot, carrier, &reading->frames)
		       : walk_chunks(reading, thread);
}

/* -------- groups */

static uint64_t identify(const struct reading *reading, uint32_t state)
{
	uint64_t id = hash_mix(state + 1ull);

	for (size_t i = 0; i < reading->frames.list.count; i++)
		id = hash_mix(id ^ reading->frames.list.items[i].method) +
		     (uint32_t)reading->frames.list.items[i].bytecode;
	return id;
}

/* Returns an id that is the same in every run. */
static uint64_t group_id(const struct task_group *group)
{
	uint64_t id = hash_mix(intern_hash(group->state));

	for (size_t i = 0; i < group->stack.list.count; i++) {
		const struct frame *frame = &group->stack.list.items[i];

		id = hash_mix(id ^ (frame->function ? intern_hash(frame->function) : 0)) +
		     frame->line;
	}
	return id;
}

/* Returns whether the VM hides a function in its own dumps. */
static bool is_hidden(const char *function)
{
	static const char *const hidden[] = {"jdk.internal.vm.Continuation.",
					     "java.lang.VirtualThread$VThreadContinuation",
					     "java.lang.VirtualThread.yieldContinuation",
					     "java.lang.VirtualThread.runContinuation"};

	return text_begins_with_any(function, hidden, ARRAY_SIZE(hidden));
}

static int name_stack(struct reading *reading, struct task_group *group)
{
	int error = 0;

	for (size_t i = 0; !error && i < reading->frames.list.count; i++) {
		const char *function;

		error = java_frame_add(reading->hotspot, &reading->report->strings,
				       &reading->frames.list.items[i], &group->stack);
		function = error ? NULL
				 : group->stack.list.items[group->stack.list.count - 1].function;
		if (function && is_hidden(function))
			group->stack.list.count--;
	}
	return error ? error : java_frames_end(&reading->frames, &group->stack);
}

/* Adds a group of threads with these frames. Returns its place plus 1, or 0 if out of memory. */
static uint64_t make_group(struct reading *reading, uint32_t state)
{
	struct task_report *report = reading->report;
	struct task_group group = {.state = state_name(reading->hotspot, state)};
	uint64_t *place = NULL;
	struct task_group *kept;

	if (!name_stack(reading, &group)) {
		group.id = group_id(&group);
		place = hash_put(&reading->groups, group.id, NULL);
	}
	kept = place && !*place ? vec_push(&report->groups) : NULL;
	if (!kept) {
		vec_free(&group.stack.list);
		return place ? *place : 0;
	}
	*kept = group;
	*place = report->groups.count;
	return *place;
}

static int count_thread(struct reading *reading, uint64_t number, uint32_t state)
{
	struct task_report *report = reading->report;
	uint64_t *place = hash_put(&reading->stacks, identify(reading, state), NULL);
	struct task_group *group;
	struct task *member;

	if (!place)
		return -ENOMEM;
	if (!*place && report->groups.count >= GROUPS_MAX) {
		report->unread++;
		return 0;
	}
	if (!*place)
		*place = make_group(reading, state);
	member = *place ? vec_push(&report->members) : NULL;
	if (!member)
		return -ENOMEM;
	group = &report->groups.items[*place - 1];
	group->count++;
	report->count++;
	*member = (struct task){number, group->id};
	return 0;
}

static int read_thread(struct reading *reading, uint64_t thread)
{
	struct hotspot *hotspot = reading->hotspot;
	const struct hotspot_virtual_fields *fields = &hotspot->virtual_fields;
	uint32_t state = hotspot_number(hotspot, thread + fields->state);
	uint64_t number = target_word(hotspot->memory, thread + fields->number);
	size_t known = reading->numbers.count;
	int error;

	if (!hash_put(&reading->numbers, number, NULL))
		return -ENOMEM;
	if (reading->numbers.count == known)
		return 0;
	if (state == fields->terminated) {
		reading->report->ended++;
		return 0;
	}
	error = walk_frames(reading, thread);
	if (!error)
		error = hotspot_gone_locals(hotspot, thread, NULL, reading->java);
	if (error)
		return error;
	if (!state_name(hotspot, state) || state_now(reading, thread) != state) {
		reading->report->unread++;
		return 0;
	}
	return count_thread(reading, number, state);
}

static int read_object(void *context, size_t place, uint64_t object, uint64_t size)
{
	struct reading *reading = context;

	(void)size;
	return reading->hotspot->classes.items[place].is_virtual ? read_thread(reading, object) : 0;
}

/* Reads the ranges before the allocation buffers: a buffer that a thread gets between the two reads
 * lies behind the ranges. */
static int read_heap(struct hotspot *hotspot, struct java_thread_report *java,
		     struct task_report *report)
{
	struct reading reading = {.hotspot = hotspot, .java = java, .report = report};
	struct walk_report walk = {0};
	int error;

	target_memory_forget(hotspot->memory);
	error = hotspot_find_ranges(hotspot, &walk);
	if (!error)
		error = hotspot_read_threads(hotspot);
	if (!error)
		error = hotspot_each_object(hotspot, &walk, read_object, &reading);
	vec_free(&reading.frames.list);
	hash_free(&reading.numbers);
	hash_free(&reading.stacks);
	hash_free(&reading.groups);
	return error;
}

static int read_until_still(struct hotspot *hotspot, struct java_thread_report *java,
			    struct task_report *report)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint32_t collections;
	bool moved = true;
	int error = 0;

	for (unsigned i = 0; !error && moved && i < ATTEMPTS; i++) {
		task_report_free(report);
		*report = (struct task_report){.time_ns = monotonic_ns()};
		if (hotspot_is_collecting(hotspot) && !hotspot->memory->maps->source.core)
			nanosleep(&pause, NULL);
		collections = hotspot_collections(hotspot);
		hotspot_forget_locals(java, true);
		error = read_heap(hotspot, java, report);
		moved = hotspot_has_moved(hotspot, collections);
	}
	report->moved = moved;
	task_report_sort(report);
	return error;
}

int hotspot_read_virtual(struct hotspot *hotspot, struct java_thread_report *java,
			 struct task_report *report)
{
	const struct hotspot_virtual_fields *fields = &hotspot->virtual_fields;
	bool known;
	int error = hotspot_read_loaders(hotspot);
	bool used = !error && is_used(hotspot);

	report->why = target_memory_overworked(hotspot->memory);
	if (error || (!used && !report->why))
		return error;
	known = fields->state && fields->continuation && fields->carrier && fields->number &&
		fields->terminated;
	if (!report->why && known) {
		error = read_until_still(hotspot, java, report);
		report->why = target_memory_overworked(hotspot->memory);
	} else if (!report->why)
		report->why = "the class has not the fields that are needed: another version";
	memcpy(report->version, java->version, sizeof(report->version));
	return error;
}
