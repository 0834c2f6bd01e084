// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads of a running JVM, from its list: name, group, state, and the Java frames of threads
 * outside Java. A thread that runs meanwhile is counted without frames.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/runtime.h"
#include "report/figures.h"
#include "report/runtime_figures.h"

#define ATTEMPTS 4

/* JVMTI_THREAD_STATE_*: the first bit that is set counts. */
static const struct {
	uint32_t bit;
	const char *name;
} states[] = {
	{0x400, "blocked"}, {0x40, "sleeping"},	 {0x200, "parked"},
	{0x100, "waiting"}, {0x80, "suspended"}, {0x4, "runnable"},
};

static const char *state_name(uint32_t status)
{
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		if (status & states[i].bit)
			return states[i].name;
	}
	return "unknown";
}

struct reading {
	struct hotspot *hotspot;
	struct java_thread_report *report;
	struct hotspot_frames frames;
	struct hash index; /* id of a group -> its place plus 1 */
};

/* Reads a thread's anchor, which is the same before and after if the thread does not run. */
static void read_anchor(struct hotspot *hotspot, uint64_t thread, uint64_t words[3])
{
	memset(words, 0, 3 * sizeof(*words));
	target_read_now(hotspot->memory, thread + hotspot_place(hotspot, HOTSPOT_THREAD_ANCHOR),
			words, 3 * sizeof(*words));
}

static int walk_frames(struct hotspot *hotspot, uint64_t thread, struct hotspot_frames *frames)
{
	uint64_t before[3], after[3];
	int error;

	frames->list.count = 0;
	frames->cut = false;
	if (!hotspot_has(hotspot, HOTSPOT_THREAD_ANCHOR))
		return 0;
	read_anchor(hotspot, thread, before);
	error = hotspot_walk_frames(hotspot, thread, frames);
	read_anchor(hotspot, thread, after);
	if (memcmp(before, after, sizeof(before)) != 0) {
		frames->list.count = 0;
		frames->cut = false;
	}
	return error;
}

int hotspot_walk_carrier(struct hotspot *hotspot, uint64_t object, struct hotspot_frames *frames)
{
	uint64_t thread = hotspot_thread_of(hotspot, object);

	return thread && hash_get(&hotspot->thread_index, thread)
		       ? walk_frames(hotspot, thread, frames)
		       : 0;
}

int java_frame_add(struct hotspot *hotspot, struct intern *strings,
		   const struct hotspot_frame *frame, struct frames *stack)
{
	struct hotspot_code_place place;
	struct frame *added;

	hotspot_name_frame(hotspot, frame, &place);
	added = vec_push(&stack->list);
	if (!added)
		return -ENOMEM;
	*added = (struct frame){.line = place.line, .inlined = frame->inlined};
	if (place.function[0])
		added->function = intern_string(strings, place.function);
	else
		added->why = "a method that cannot be read";
	if (place.file[0])
		added->file = intern_string(strings, place.file);
	return (place.function[0] && !added->function) || (place.file[0] && !added->file) ? -ENOMEM
											  : 0;
}

int java_frames_end(const struct hotspot_frames *frames, struct frames *stack)
{
	return frames->cut ? frames_add_rest(stack) : 0;
}

/* Fills a group from its first thread. */
static int fill_group(struct reading *reading, const struct hotspot_thread *thread,
		      struct java_thread_group *group)
{
	struct intern *strings = &reading->report->strings;
	int error = 0;

	group->name = intern_string(strings, thread->name);
	group->of = intern_string(strings, thread->group);
	group->state = state_name(thread->status);
	group->daemon = thread->daemon;
	if (!group->name || !group->of)
		return -ENOMEM;
	for (size_t i = 0; !error && i < reading->frames.list.count; i++)
		error = java_frame_add(reading->hotspot, strings, &reading->frames.list.items[i],
				       &group->stack);
	return error ? error : java_frames_end(&reading->frames, &group->stack);
}

static uint64_t identify(const struct reading *reading, const struct hotspot_thread *thread)
{
	uint64_t id = hash_mix(intern_hash(thread->name) ^ hash_mix(intern_hash(thread->group)));

	id = hash_mix(id ^ thread->status) + thread->daemon;
	for (size_t i = 0; i < reading->frames.list.count; i++)
		id = hash_mix(id ^ reading->frames.list.items[i].method) +
		     (uint32_t)reading->frames.list.items[i].bytecode;
	return id;
}

static int add_thread(struct reading *reading, uint64_t address)
{
	struct hotspot_thread thread;
	struct java_thread_group *group;
	uint64_t *slot;
	int error;

	if (!hotspot_read_thread(reading->hotspot, address, &thread))
		return 0;
	text_collapse_digits(thread.name);
	error = walk_frames(reading->hotspot, address, &reading->frames);
	slot = error ? NULL : hash_put(&reading->index, identify(reading, &thread), NULL);
	if (!slot)
		return -ENOMEM;
	reading->report->count++;
	reading->report->daemons += thread.daemon;
	if (*slot) {
		reading->report->groups.items[*slot - 1].count++;
		return 0;
	}
	group = vec_push(&reading->report->groups);
	if (!group)
		return -ENOMEM;
	*group = (struct java_thread_group){.count = 1};
	*slot = reading->report->groups.count;
	return fill_group(reading, &thread, group);
}

/* ThreadLocals of threads that ran during the read may be incomplete; all others are complete. */
static int read_locals(struct hotspot *hotspot, struct java_thread_report *report)
{
	uint32_t collections = hotspot_collections(hotspot);
	int error = 0;

	for (size_t i = 0; !error && i < hotspot->threads.count; i++) {
		uint64_t address = hotspot->threads.items[i];
		struct hotspot_thread thread;

		if (!hotspot_read_thread(hotspot, address, &thread))
			continue;
		text_collapse_digits(thread.name);
		error = hotspot_gone_locals(hotspot, thread.object, thread.name, report);
	}
	if (!report->why)
		report->why = target_memory_overworked(hotspot->memory);
	return error || !hotspot_has_moved(hotspot, collections) ? error : -EAGAIN;
}

/* Reads them again after a collection, which moves them. */
static int read_gone(struct hotspot *hotspot, struct java_thread_report *report)
{
	int error = -EAGAIN;

	for (unsigned i = 0; error == -EAGAIN && i < ATTEMPTS; i++) {
		hotspot_forget_locals(report, false);
		error = read_locals(hotspot, report);
		if (error == -EAGAIN)
			target_memory_forget(hotspot->memory);
	}
	if (error == -EAGAIN)
		hotspot_forget_locals(report, false);
	return error == -ENOMEM ? error : 0;
}

static int by_values(const void *left_pointer, const void *right_pointer)
{
	const struct java_gone_local *left = left_pointer, *right = right_pointer;
	int named;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	named = strcmp(left->class, right->class);
	return named ? named : strcmp(left->thread, right->thread);
}

static int by_count(const void *left_pointer, const void *right_pointer)
{
	const struct java_thread_group *left = left_pointer, *right = right_pointer;
	int named;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	named = strcmp(left->name, right->name);
	return named ? named : strcmp(left->state, right->state);
}

static int read_all(struct hotspot *hotspot, struct java_thread_report *report)
{
	struct reading reading = {.hotspot = hotspot, .report = report};
	int error = hotspot_read_threads(hotspot);

	for (size_t i = 0; !error && i < hotspot->threads.count; i++)
		error = add_thread(&reading, hotspot->threads.items[i]);
	vec_free(&reading.frames.list);
	hash_free(&reading.index);
	if (!error && report->groups.count)
		qsort(report->groups.items, report->groups.count, sizeof(*report->groups.items),
		      by_count);
	return error;
}

/* Computes ended threads from two counters, as java.lang.management.ThreadMXBean does: one may
 * change in between. */
static void count_ended(struct hotspot *hotspot, struct java_thread_report *report)
{
	uint64_t live = hotspot_counter(hotspot, "java.threads.live");
	uint64_t started = hotspot_counter(hotspot, "java.threads.started");

	report->has_ended = live && started;
	report->ended = started > live ? started - live : 0;
}

int java_threads_of(struct target_memory *memory, struct java_thread_report *report,
		    struct task_report *virtual)
{
	struct hotspot *hotspot = hotspot_open(memory);
	int error;

	if (!hotspot)
		return -ENOMEM;
	error = hotspot_find(hotspot, report->version, &report->why);
	if (!error) {
		report->why = NULL;
		count_ended(hotspot, report);
		error = read_all(hotspot, report);
		if (!error)
			error = read_gone(hotspot, report);
		if (!error)
			error = hotspot_read_virtual(hotspot, report, virtual);
		report->gone_unlisted = report->gone_count;
		for (size_t i = 0; i < report->gone.count; i++)
			report->gone_unlisted -= report->gone.items[i].count;
		if (report->gone.count)
			qsort(report->gone.items, report->gone.count, sizeof(*report->gone.items),
			      by_values);
	}
	hotspot_close(hotspot);
	return error == -ENOMEM ? error : 0;
}

int java_threads_read(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		      struct java_thread_report *report, struct task_report *virtual)
{
	struct heap_image image = {.pid = pid}; /* only its mappings */
	struct data_modules modules = {0};
	struct target_memory memory = {.pagemap = -1};
	int error = maps_read(pid, MAPS_ALL, &image.maps);

	if (!error)
		error = data_modules_read(&image, worker, dsos, &modules);
	if (!error)
		error = target_memory_open(&image.maps, &modules, NULL, &memory);
	if (error)
		report->why = "its memory cannot be read";
	else
		error = java_threads_of(&memory, report, virtual);
	target_memory_close(&memory);
	data_modules_free(&modules);
	maps_free(&image.maps);
	return error == -ENOMEM ? error : 0;
}

/* -------- as reports have them */

void java_thread_report_free(struct java_thread_report *report)
{
	for (size_t i = 0; i < report->groups.count; i++)
		vec_free(&report->groups.items[i].stack.list);
	vec_free(&report->groups);
	vec_free(&report->gone);
	intern_free(&report->strings);
}

static bool thread_group_is_named(const void *group)
{
	return ((const struct java_thread_group *)group)->of[0];
}

static bool is_of_a_thread(const void *local)
{
	return !((const struct java_gone_local *)local)->is_virtual;
}

#define GROUP(member) offsetof(struct java_thread_group, member)
static const struct figure group_rows[] = {
	FIGURE("name", NULL, TEXT, GROUP(name)),
	FIGURE("group", NULL, TEXT, GROUP(of), .shown = thread_group_is_named),
	FIGURE("state", NULL, TEXT, GROUP(state)),
	FIGURE("daemon", NULL, FLAG, GROUP(daemon)),
	FIGURE("count", NULL, NUMBER, GROUP(count)),
	FIGURE("stack", NULL, STACK, GROUP(stack), .place = java_thread_place),
};
static const struct figures group_figures = FIGURES(group_rows);

#define LOCAL(member) offsetof(struct java_gone_local, member)
static const struct figure local_rows[] = {
	FIGURE("class", NULL, TEXT, LOCAL(class)),
	FIGURE("thread", NULL, TEXT, LOCAL(thread), .shown = is_of_a_thread),
	FIGURE("virtual", NULL, FLAG, LOCAL(is_virtual)),
	FIGURE("count", NULL, NUMBER, LOCAL(count)),
};
static const struct figures local_figures = FIGURES(local_rows);

#define REPORT(member) offsetof(struct java_thread_report, member)
static const struct figure report_rows[] = {
	FIGURE("version", NULL, NOTE, REPORT(version)),
	FIGURE("cannot_tell", NULL, TEXT, REPORT(why)),
	FIGURE("count", NULL, NUMBER, REPORT(count)),
	FIGURE("daemons", NULL, NUMBER, REPORT(daemons)),
	FIGURE("ended", NULL, NUMBER, REPORT(ended), .known = REPORT(has_ended), .left_out = true),
	FIGURE("groups", NULL, LIST, REPORT(groups), .size = sizeof(struct java_thread_group),
	       .items = &group_figures),
	FIGURE("gone_local_values", NULL, NUMBER, REPORT(gone_count)),
	FIGURE(NULL, "gone_unlisted_values", NUMBER, REPORT(gone_unlisted)),
	FIGURE("gone_locals", NULL, LIST, REPORT(gone), .size = sizeof(struct java_gone_local),
	       .items = &local_figures),
};
static const struct figures report_figures = FIGURES(report_rows);

static bool are_unknown_of_version(const void *report)
{
	const struct java_thread_report *threads = report;

	return threads->why && threads->version[0];
}

static bool have_gone_values(const void *report)
{
	const struct java_thread_report *threads = report;

	return !threads->why && threads->gone.count;
}

static bool have_unlisted_values(const void *report)
{
	return have_gone_values(report) &&
	       ((const struct java_thread_report *)report)->gone_unlisted;
}

static bool are_several(const void *group)
{
	return ((const struct java_thread_group *)group)->count != 1;
}

static const struct figure_words group_words[] = {
	SAY("\t{count} thread"),
	SAY_IF(are_several, "s"),
	SAY(" {name:label} [{state}"),
	SAY_FROM(1, "daemon", ", daemon"),
	SAY("]"),
	SAY_KNOWN("group", " of group {group:label}"),
	SAY_FROM(1, "stack", ", at {stack:place}"),
	SAY("\n{stack:lines}"),
};
static const struct list_words groups_words = {.name = "groups",
					       .most = 20,
					       .all = true,
					       .more = "\tand {more} smaller groups (-v)\n",
					       FIGURE_WORDS(group_words)};

static const struct figure_words local_words[] = {
	SAY("\t\t{count} of class {class:label}"),
	SAY_FROM(1, "virtual", ", of virtual threads\n"),
	SAY_KNOWN("thread", ", of thread {thread:label}\n"),
};
static const struct list_words locals_words = {
	.name = "gone_locals",
	.most = 5,
	.all = true,
	.more = "\t\tand {more} more classes and threads (-v)\n",
	FIGURE_WORDS(local_words)};

static const struct figure_words report_words[] = {
	SAY_FROM(1, "cannot_tell", "\tJava threads: not known: "),
	SAY_IF(are_unknown_of_version, "JVM {version}: "),
	SAY_FROM(1, "cannot_tell", "{cannot_tell}\n"),
	SAY_UNLESS("cannot_tell",
		   "\t{count} Java threads in {groups} groups (JVM {version}), {daemons} of "
		   "them daemons\n"),
	{.known = "cannot_tell", .least = 1, .unless = true, .list = &groups_words},
	SAY_IF(have_gone_values,
	       "\t{gone_local_values} values of ThreadLocals that are gone: without "
	       "remove(), they live as long as their thread\n"),
	{.shown = have_gone_values, .list = &locals_words},
	SAY_IF(have_unlisted_values,
	       "\t\tand {gone_unlisted_values} more of classes and threads that "
	       "are not listed\n"),
};

static void free_report(void *figures)
{
	java_thread_report_free(figures);
}

static const struct runtime_view view = {
	.key = "java_threads",
	.figures = &report_figures,
	FIGURE_WORDS(report_words),
	.head = SAY_KNOWN("ended", ", {ended} Java threads ended since the start"),
	.size = sizeof(struct java_thread_report),
	.free = free_report};

static int read_process(pid_t pid, struct worker *worker, struct dso_cache *dsos, void *figures,
			struct task_report *tasks)
{
	return java_threads_read(pid, worker, dsos, figures, tasks);
}

const struct thread_reader java_thread_reader = {&view, read_process};
