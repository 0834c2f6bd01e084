// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/runtime.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fatal_signal.h"
#include "heap/allocators/data_modules.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"
#include "report/memory_report.h"
#include "report/thread_report.h"

/* Most repeated walks of a running process. */
#define WALKS_MAX 10
#define WAIT_NS 2000000

extern const struct runtime runtime_hotspot, runtime_v8, runtime_go, runtime_mono, runtime_dotnet,
	runtime_cpython, runtime_ruby, runtime_ocaml, runtime_ghc, runtime_php, runtime_jsc;

static const struct runtime *const runtimes[] = {
	&runtime_hotspot, &runtime_v8,	    &runtime_go,   &runtime_mono,
	&runtime_dotnet,  &runtime_cpython, &runtime_ruby, &runtime_ocaml,
	&runtime_ghc,	  &runtime_php,	    &runtime_jsc,
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

double runtime_heap_share(const struct runtime_heap *heap, const struct mapping *mapping,
			  struct peek *peek)
{
	const struct runtime *runtime = heap->runtime;

	if (!runtime || !runtime->owns(heap->state, mapping))
		return 0;
	return runtime->share ? runtime->share(heap->state, mapping, peek) : 1;
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

const struct program_reader *runtime_program(const struct maps *maps)
{
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (runtimes[i]->program && runtimes[i]->program->is_program(maps))
			return runtimes[i]->program;
	}
	return NULL;
}

bool runtime_program_is_alone(const struct maps *maps)
{
	const struct program_reader *program = runtime_program(maps);

	return program && program->is_alone(maps);
}

static bool is_wanted(const struct runtime *runtime, const struct maps *maps,
		      const struct runtime *shown, bool named)
{
	if (!runtime->memory)
		return false;
	return runtime->memory->wanted ? runtime->memory->wanted(maps, shown, named)
				       : runtime == shown;
}

static int add_memory(const struct memory_reader *reader, const struct maps *maps,
		      struct runtime_heap *heap, struct memory_process *process)
{
	struct runtime_memory *memory = vec_push(&process->runtimes);
	int error;

	if (!memory)
		return -ENOMEM;
	memory->figures.view = reader->view;
	memory->figures.figures = calloc(1, reader->view->size);
	if (!memory->figures.figures)
		return -ENOMEM;
	error = reader->read(maps, memory->figures.figures);
	if (!error && reader->count)
		reader->count(memory->figures.figures, memory);
	if (!error && reader->find_heap && !heap->runtime)
		error = reader->find_heap(maps, memory->figures.figures, heap);
	return error;
}

int runtime_memory_read(const struct maps *maps, bool named, struct runtime_heap *heap,
			struct memory_process *process)
{
	const struct runtime *shown = heap->runtime;
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(runtimes); i++) {
		const struct runtime *runtime = runtimes[i];

		if (!is_wanted(runtime, maps, shown, named))
			continue;
		process->no_malloc |= runtime->program && runtime->program->is_alone(maps);
		error = add_memory(runtime->memory, maps, heap, process);
	}
	return error;
}

static int add_threads(const struct thread_reader *reader, struct worker *worker,
		       struct dso_cache *dsos, struct thread_census *census)
{
	struct runtime_figures *added = vec_push(&census->runtimes);
	struct task_report *tasks = calloc(1, sizeof(*tasks));
	int error = added && tasks ? 0 : -ENOMEM;

	if (!error) {
		added->view = reader->view;
		added->figures = calloc(1, reader->view->size);
		error = added->figures ? reader->read((pid_t)census->pid, worker, dsos,
						      added->figures, tasks)
				       : -ENOMEM;
	}
	if (tasks && tasks->version[0] && !census->virtual_threads) {
		census->virtual_threads = tasks;
		return error;
	}
	if (tasks)
		task_report_free(tasks);
	free(tasks);
	return error;
}

int runtime_threads_read(struct worker *worker, struct dso_cache *dsos,
			 struct thread_census *census)
{
	_cleanup_(maps_free) struct maps maps = {0};
	int error = 0;

	if (maps_read((pid_t)census->pid, MAPS_ALL, &maps))
		return 0;
	for (size_t i = 0; !error && i < ARRAY_SIZE(runtimes); i++) {
		if (runtimes[i]->threads && is_detected(runtimes[i], maps.list.items,
							maps.list.count, sizeof(*maps.list.items)))
			error = add_threads(runtimes[i]->threads, worker, dsos, census);
	}
	return error;
}

struct heap_floor runtime_floor_read(const struct runtime *runtime, pid_t pid)
{
	_cleanup_(maps_free) struct maps maps = {0};

	if (!runtime || !runtime->floor || maps_read(pid, MAPS_ALL, &maps))
		return (struct heap_floor){0};
	return runtime->floor(&maps);
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
	void *state; /* NULL: nothing to walk */
	uint32_t first_class, classes;
};

static void wait_a_moment(void)
{
	nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
}

/* Walks a heap; repeats the walk of a running process until no collection intervenes. */
static int walk(struct walking *walking, struct target_memory *memory, struct heap_sink *sink,
		struct walk_report *report)
{
	const struct heap_sink_mark mark = heap_sink_mark(sink);
	int error = -EAGAIN;

	for (unsigned i = 0;
	     error == -EAGAIN && i <= WALKS_MAX && !target_memory_overworked(memory); i++) {
		if (i)
			wait_a_moment();
		heap_sink_rewind(sink, mark);
		target_memory_forget(memory);
		memory->again = memory->changes && i < WALKS_MAX;
		*report = (struct walk_report){.runtime = report->runtime, .retries = i};
		error = walking->runtime->walker->walk(memory, sink, report, &walking->state);
		if (error && walking->state) {
			walking->runtime->walker->end(walking->state);
			walking->state = NULL;
		}
	}
	if (target_memory_overworked(memory)) {
		report->why = target_memory_overworked(memory);
		error = error == -EAGAIN ? -ENOENT : error;
	}
	if (error == -EAGAIN) {
		report->objects = 0;
		report->why = "it collects too often to be read: look again";
	}
	return error;
}

static int begin(struct walking *walking, struct target_memory *memory, struct heap_sink *sink)
{
	struct walk_report *report = heap_sink_report(sink, walking->runtime->key);
	uint64_t unread = memory->unread_bytes;
	int error;

	if (!report)
		return -ENOMEM;
	walking->first_class = (uint32_t)sink->classes.count;
	error = walk(walking, memory, sink, report);
	walking->classes = (uint32_t)sink->classes.count - walking->first_class;
	report->unread_bytes = memory->unread_bytes - unread;
	if (error && error != -ENOMEM && !report->why)
		report->why = "it cannot be read";
	if (!report->why && memory->uncertain)
		report->why = "part of it was read while it ran: a longer --max-pause, or more "
			      "memory for leakmon, would do";
	return error == -ENOMEM ? error : 0;
}

/* Asks the runtime of an object for its references. */
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
	sink->referring = true;
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

static bool can_be_walked(const struct runtime *runtime, const struct maps *maps,
			  const struct data_modules *modules)
{
	return runtime->walker && (is_detected(runtime, maps->list.items, maps->list.count,
					       sizeof(*maps->list.items)) ||
				   is_detected_in(runtime, modules) ||
				   (runtime->detect_memory && runtime->detect_memory(maps)));
}

int runtime_walk_heaps(const struct maps *maps, const struct heap_image *kept,
		       const struct data_modules *modules, struct heap_sink *sink)
{
	FATAL_SIGNAL_PHASE("it walks the heap of a runtime");
	struct walking walking[ARRAY_SIZE(runtimes)] = {0};
	struct target_memory memory = {.pagemap = -1};
	size_t count = 0;
	int error = target_memory_open(maps, modules, kept ? &kept->pages : NULL, &memory);

	memory.image = kept;
	sink->memory = &memory;
	for (size_t i = 0; !error && i < ARRAY_SIZE(runtimes); i++) {
		if (!can_be_walked(runtimes[i], maps, modules))
			continue;
		walking[count].runtime = runtimes[i];
		error = begin(&walking[count++], &memory, sink);
	}
	if (!error)
		error = finish(walking, count, sink);
	for (size_t i = 0; i < sink->reports.count && target_memory_overworked(&memory); i++) {
		struct walk_report *report = &sink->reports.items[i];

		report->all_roots = false;
		report->why = report->why ? report->why : target_memory_overworked(&memory);
	}
	for (size_t i = 0; i < count; i++) {
		if (walking[i].state)
			walking[i].runtime->walker->end(walking[i].state);
	}
	sink->memory = NULL;
	target_memory_close(&memory);
	return error;
}

/* The current state of a process with walkers for its heaps. */
struct now {
	struct heap_image image; /* only its mappings */
	struct data_modules modules;
	struct target_memory memory;
	const struct heap_walker *walkers[ARRAY_SIZE(runtimes)];
	size_t count; /* 0: no such heap, or unknown */
};

static void now_free(struct now *now)
{
	target_memory_close(&now->memory);
	data_modules_free(&now->modules);
	maps_free(&now->image.maps);
}

static void look_now(struct now *now, pid_t pid, struct worker *worker, struct dso_cache *dsos)
{
	*now = (struct now){.image.pid = pid, .memory.pagemap = -1};
	if (maps_read(pid, MAPS_ALL, &now->image.maps) ||
	    data_modules_read(&now->image, worker, dsos, &now->modules) ||
	    target_memory_open(&now->image.maps, &now->modules, NULL, &now->memory))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(runtimes); i++) {
		if (can_be_walked(runtimes[i], &now->image.maps, &now->modules))
			now->walkers[now->count++] = runtimes[i]->walker;
	}
}

/* Returns whether no collection is moving objects. */
static bool is_ready(void *context)
{
	struct now *now = context;

	target_memory_forget(&now->memory);
	for (size_t i = 0; i < now->count; i++) {
		if (now->walkers[i]->moves && now->walkers[i]->moves(&now->memory))
			return false;
	}
	return true;
}

int runtime_take_image(pid_t pid, const struct heap_image_options *options, struct worker *worker,
		       struct dso_cache *dsos, struct heap_image *heap_image)
{
	struct heap_image_options keeping = *options;
	struct now now;
	int error;

	if (options->no_stop || options->core)
		return heap_image_take(pid, options, heap_image);
	look_now(&now, pid, worker, dsos);
	keeping.keep = now.count > 0;
	keeping.is_ready = is_ready;
	keeping.context = &now;
	error = heap_image_take(pid, &keeping, heap_image);
	now_free(&now);
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
	return (struct runtime_label){runtime->key, runtime->name, runtime->tool,
				      runtime->collects};
}

struct runtime_label runtime_label_in(const struct runtime *runtime, const struct maps *maps)
{
	struct runtime_label label = runtime_label_of(runtime);

	if (runtime && runtime->refusal && runtime->refusal(maps))
		label.tool = runtime->other_tool;
	return label;
}

char *runtime_tool(const char *key, pid_t pid, char text[RUNTIME_TOOL_SIZE])
{
	const struct runtime_label label = runtime_label_of(runtime_find(key));

	return runtime_label_tool(&label, pid, text);
}
