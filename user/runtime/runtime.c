// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/data_modules.h"
#include "runtime/heap_sink.h"
#include "runtime/target_memory.h"

extern const struct runtime runtime_hotspot, runtime_v8, runtime_go, runtime_mono, runtime_dotnet,
	runtime_cpython, runtime_ocaml, runtime_ghc;

static const struct runtime *const runtimes[] = {
	&runtime_hotspot, &runtime_v8,	    &runtime_go,    &runtime_mono,
	&runtime_dotnet,  &runtime_cpython, &runtime_ocaml, &runtime_ghc,
};

const struct runtime *runtime_at(size_t n)
{
	return n < ARRAY_SIZE(runtimes) ? runtimes[n] : NULL;
}

const struct runtime *runtime_find(const char *key)
{
	for (size_t i = 0; key && i < ARRAY_SIZE(runtimes); i++) {
		if (!strcmp(runtimes[i]->key, key))
			return runtimes[i];
	}
	return NULL;
}

static const struct mapping *mapping_at(const struct mapping *first, size_t stride, size_t i)
{
	return (const struct mapping *)((const char *)first + i * stride);
}

static bool is_detected(const struct runtime *runtime, const struct mapping *first, size_t count,
			size_t stride)
{
	for (size_t i = 0; runtime->detect && i < count; i++) {
		if (runtime->detect(mapping_at(first, stride, i)))
			return true;
	}
	return false;
}

static const struct runtime *detect(const struct mapping *first, size_t count, size_t stride)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (runtimes[i]->owns && is_detected(runtimes[i], first, count, stride))
			return runtimes[i];
	}
	return NULL;
}

int runtime_heap_find(const struct mapping *first, size_t count, size_t stride,
		      struct runtime_heap *heap)
{
	const struct runtime *runtime = detect(first, count, stride);
	void *state = NULL;

	if (runtime && runtime->survey) {
		state = calloc(1, runtime->state_size);
		if (!state)
			return -ENOMEM;
		for (size_t i = 0; i < count; i++)
			runtime->survey(state, mapping_at(first, stride, i));
	}
	*heap = (struct runtime_heap){runtime, state};
	return 0;
}

bool runtime_heap_owns(const struct runtime_heap *heap, const struct mapping *mapping)
{
	return heap->runtime && heap->runtime->owns(heap->state, mapping);
}

void runtime_heap_free(struct runtime_heap *heap)
{
	free(heap->state);
	*heap = (struct runtime_heap){0};
}

const struct runtime *runtime_of_process(pid_t pid)
{
	_cleanup_(maps_free) struct maps maps = {0};

	if (maps_read(pid, MAPS_ALL, &maps))
		return NULL;
	return detect(maps.list.items, maps.list.count, sizeof(*maps.list.items));
}

static bool is_detected_in(const struct runtime *runtime, const struct data_modules *modules)
{
	for (size_t i = 0; runtime->detect_module && i < modules->list.count; i++) {
		if (runtime->detect_module(&modules->list.items[i]))
			return true;
	}
	return false;
}

/* A walk, from its nodes to its references. */
struct walking {
	const struct runtime *runtime;
	void *state; /* NULL: there is nothing to walk */
	uint32_t first_class, classes;
};

static int begin(struct walking *walking, struct target_memory *memory, struct heap_sink *sink)
{
	struct walk_report *report = heap_sink_report(sink, walking->runtime->key);
	uint64_t unread = memory->unread_bytes;
	int error;

	if (!report)
		return -ENOMEM;
	walking->first_class = (uint32_t)sink->classes.count;
	error = walking->runtime->walker->walk(memory, sink, report, &walking->state);
	walking->classes = (uint32_t)sink->classes.count - walking->first_class;
	report->unread_bytes = memory->unread_bytes - unread;
	if (error && error != -ENOMEM && !report->why)
		report->why = "it cannot be read";
	return error == -ENOMEM ? error : 0;
}

/* Of an object, which its own runtime knows. */
static int refer(const struct walking *walking, size_t count, struct heap_sink *sink, uint32_t node)
{
	uint32_t class = sink->whats[node] & NODE_CLASS;

	for (size_t i = 0; i < count; i++) {
		if (walking[i].state && class >= walking[i].first_class &&
		    class - walking[i].first_class < walking[i].classes)
			return walking[i].runtime->walker->refer(walking[i].state, sink, node);
	}
	return 0;
}

static void sum_up(const struct walking *walking, struct heap_sink *sink,
		   struct walk_report *report)
{
	report->objects = report->bytes = 0;
	for (uint32_t i = 0; i < sink->count; i++) {
		uint32_t class = sink->whats[i] & NODE_CLASS;

		if (!node_has_class(sink->whats[i]) || class < walking->first_class ||
		    class - walking->first_class >= walking->classes)
			continue;
		report->objects += !(sink->whats[i] & NODE_PART);
		report->bytes += sink->sizes[i];
	}
}

static int finish(struct walking *walking, size_t count, struct heap_sink *sink)
{
	uint64_t nonsense = 0;
	int error = heap_sink_settle(sink, &nonsense);

	for (size_t i = 0; !error && i < count; i++) {
		if (walking[i].state)
			error = walking[i].runtime->walker->roots(walking[i].state, sink);
	}
	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (node_has_class(sink->whats[i]) && !(sink->whats[i] & NODE_PART))
			error = refer(walking, count, sink, i);
	}
	for (size_t i = 0; !error && i < count; i++)
		sum_up(&walking[i], sink, &sink->reports.items[i]);
	if (!error && count)
		sink->reports.items[0].nonsense += nonsense;
	return error ? error : heap_sink_finish(sink);
}

int runtime_walk_heaps(const struct maps *maps, const struct data_modules *modules,
		       struct heap_sink *sink)
{
	struct walking walking[ARRAY_SIZE(runtimes)] = {0};
	struct target_memory memory = {.pagemap = -1};
	size_t count = 0;
	int error = target_memory_open(maps, modules, &memory);

	for (size_t i = 0; !error && i < ARRAY_SIZE(runtimes); i++) {
		if (!runtimes[i]->walker ||
		    (!is_detected(runtimes[i], maps->list.items, maps->list.count,
				  sizeof(*maps->list.items)) &&
		     !is_detected_in(runtimes[i], modules)))
			continue;
		walking[count].runtime = runtimes[i];
		error = begin(&walking[count++], &memory, sink);
	}
	if (!error)
		error = finish(walking, count, sink);
	for (size_t i = 0; i < count; i++) {
		if (walking[i].state)
			walking[i].runtime->walker->end(walking[i].state);
	}
	target_memory_close(&memory);
	return error;
}

const char *runtime_name(const char *key)
{
	const struct runtime *runtime = runtime_find(key);

	return runtime ? runtime->name : "runtime";
}

struct runtime_label runtime_label_of(const struct runtime *runtime)
{
	if (!runtime)
		return (struct runtime_label){0};
	return (struct runtime_label){runtime->key, runtime->name, runtime->tool};
}

char *runtime_tool(const char *key, pid_t pid, char text[RUNTIME_TOOL_SIZE])
{
	const struct runtime_label label = runtime_label_of(runtime_find(key));

	return runtime_label_tool(&label, pid, text);
}
