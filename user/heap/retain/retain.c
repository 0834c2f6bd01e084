// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/retain.h"
#include "heap/retain/referrers.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "heap/runtime/runtime.h"
#include "process/proc/core.h"
#include "process/proc/process_list.h"
#include "process/target/process.h"
#include "trace/probe/held_words.h"

static struct path_maker maker_of(const struct retain *retain)
{
	return (struct path_maker){&retain->graph, &retain->groups, &retain->classes,
				   &retain->retention, &retain->costs.retention};
}

static uint64_t leak_bytes(const struct retain_leak *leak)
{
	return leak->direct.bytes + leak->indirect.bytes;
}

static int compare_leaks(const void *left_pointer, const void *right_pointer)
{
	const struct retain_leak *left = left_pointer, *right = right_pointer;

	if (leak_bytes(left) != leak_bytes(right))
		return leak_bytes(left) > leak_bytes(right) ? -1 : 1;
	return left->example < right->example ? -1 : left->example > right->example;
}

/* Returns the row of leaks for the site, else the class, of direct leaks. */
static struct retain_leak *leak_of(struct retain *retain, struct hash *rows, uint32_t block)
{
	uint32_t class = retain->classes.of_blocks[block];
	uint32_t site = retain->graph.sites ? retain->graph.sites[block] : 0;
	uint64_t *row = hash_put(rows, site ? (uint64_t)site << 32 : class, NULL);
	struct retain_leak *leak;

	if (!row)
		return NULL;
	if (!*row) {
		leak = vec_push(&retain->leaks);
		if (!leak)
			return NULL;
		*leak = (struct retain_leak){.site = site, .class = class, .example = block};
		*row = retain->leaks.count;
	}
	return &retain->leaks.items[*row - 1];
}

static int add_to_leaks(struct retain *retain, struct hash *rows)
{
	for (uint32_t i = 0; i < retain->graph.blocks; i++) {
		uint32_t owner = retain->retention.owners[i];
		struct retention_total *total;
		struct retain_leak *leak;

		if (retain->retention.verdicts[i] != VERDICT_LOST)
			continue;
		leak = leak_of(retain, rows, owner);
		if (!leak)
			return -ENOMEM;
		total = owner == i ? &leak->direct : &leak->indirect;
		total->blocks++;
		total->bytes += retain->graph.sizes[i];
	}
	return 0;
}

static int list_leaks(struct retain *retain)
{
	struct hash rows = {0};
	int error;

	retain->leaks.count = 0;
	error = add_to_leaks(retain, &rows);
	hash_free(&rows);
	if (!error && retain->leaks.count)
		qsort(retain->leaks.items, retain->leaks.count, sizeof(*retain->leaks.items),
		      compare_leaks);
	return error;
}

int retain_count_again(struct retain *retain)
{
	int error = classes_count(&retain->classes, &retain->graph, &retain->retention);

	return error ? error : list_leaks(retain);
}

static int name_roots(struct retain *retain, const struct retain_sources *sources)
{
	struct root_sources roots = {.heap_image = &retain->heap_image,
				     .modules = &retain->modules,
				     .locals = &retain->locals,
				     .frames = &retain->frames,
				     .held = &retain->held,
				     .functions = &retain->functions,
				     .complete = sources->complete};
	struct process *process;
	int error = stack_frames_find(&retain->heap_image, sources->worker, &retain->frames);

	/* If it is gone meanwhile, functions stay without names. */
	process_table_refresh(sources->processes, retain->pid, &process);
	if (process)
		symbolizer_refresh(sources->symbolizer, (uint64_t)retain->pid, process);
	retain->functions = (struct root_functions){.symbolizer = sources->symbolizer,
						    .process = (uint64_t)retain->pid,
						    .intern = &retain->intern};
	return error ? error
		     : root_groups_add(&roots, &retain->intern, &retain->graph, &retain->groups);
}

/* The large tables that resolve pointers are no longer needed. */
static void drop_words(struct retain *retain)
{
	free(retain->heap_image.pages.found.items);
	retain->heap_image.pages.found = (struct found_words){0};
	page_copies_free(TAKE_PTR(retain->heap_image.pages.copies));
	free(retain->heap_image.pages.pages);
	retain->heap_image.pages.pages = NULL;
	for (size_t i = 0; i < retain->heap_image.heaps.list.count; i++)
		heap_drop_blocks(&retain->heap_image.heaps.list.items[i]);
}

/* Logs the time of each part, for benchmarks. */
static void log_step(const char *what, uint64_t *since_ns)
{
	uint64_t now_ns = monotonic_ns();

	log_debug("%s: %llu ms", what, (unsigned long long)(now_ns - *since_ns) / 1000000);
	*since_ns = now_ns;
}

static int compute_retention(struct retain *retain)
{
	struct retention_nodes nodes = {.blocks = retain->graph.blocks,
					.strong = retain->groups.strong,
					.weak = retain->groups.weak,
					.lasting = retain->groups.lasting,
					.staying = retain->groups.staying,
					.through = retain->groups.through,
					.stale = retain->groups.stale,
					.costs = &retain->costs.retention};
	int error =
		path_costs_find(&retain->graph, &retain->groups, &retain->classes, &retain->costs);

	return error ? error
		     : retention_compute(&retain->graph.graph, retain->graph.sizes, &nodes,
					 &retain->retention);
}

static void count_unreached(struct heap_graph *graph, uint32_t node)
{
	struct heap_sink *managed = &graph->managed;
	uint32_t what = heap_graph_what(graph, node);
	const char *runtime;

	if (!node_has_class(what) || what & NODE_PART)
		return;
	runtime = managed->classes.items[what & NODE_CLASS].runtime;
	for (size_t i = 0; i < managed->reports.count; i++) {
		if (strcmp(managed->reports.items[i].runtime, runtime) != 0)
			continue;
		managed->reports.items[i].unreached++;
		managed->reports.items[i].unreached_bytes += graph->sizes[node];
	}
}

/* A heap changed whenever it was read: its missing part may lead to malloc blocks. */
static bool is_partly_read(const struct heap_sink *managed)
{
	for (size_t i = 0; i < managed->reports.count; i++) {
		const struct walk_report *report = &managed->reports.items[i];

		if (report->why && report->retries && report->objects)
			return true;
	}
	return false;
}

/* The walk over nodes without known references to them. */
struct counted {
	const struct heap_graph *graph;
	const uint8_t *verdicts;
	uint32_t *met;	 /* references from such nodes */
	uint32_t *alive; /* a queue; nodes in it have UINT32_MAX in `met` */
	uint32_t count;
};

static bool is_lost(const struct counted *counted, uint32_t node)
{
	return counted->verdicts[node] == VERDICT_LOST;
}

static void keep(struct counted *counted, uint32_t node)
{
	if (is_lost(counted, node) && counted->met[node] != UINT32_MAX) {
		counted->met[node] = UINT32_MAX;
		counted->alive[counted->count++] = node;
	}
}

/*
 * If references are counted, an object with more of them than come from unreached objects is held
 * by an unknown reference, and so is everything it leads to: CPython's own collector finds garbage
 * in this way (Modules/gcmodule.c, subtract_refs() and move_unreachable()).
 */
static void keep_counted(struct counted *counted)
{
	const struct graph *edges = &counted->graph->graph;
	const uint32_t *counts = counted->graph->managed.counts;
	uint32_t blocks = counted->graph->blocks;

	for (uint32_t i = 0; i < blocks; i++) {
		for (uint32_t j = edges->first[i]; is_lost(counted, i) && j < edges->first[i + 1];
		     j++)
			counted->met[edges->targets[j]]++;
	}
	for (uint32_t i = 0; i < blocks; i++) {
		if (counts[i] > counted->met[i])
			keep(counted, i);
	}
	for (uint32_t done = 0; done < counted->count; done++) {
		uint32_t from = counted->alive[done];

		for (uint32_t j = edges->first[from]; j < edges->first[from + 1]; j++)
			keep(counted, edges->targets[j]);
	}
}

/* Counts the garbage among nodes without known references to them. Returns 0 or -ENOMEM. */
static int count_garbage(struct retain *retain)
{
	struct heap_graph *graph = &retain->graph;
	bool has_counts = graph->managed.counts;
	_cleanup_free_ uint32_t *met = calloc(graph->blocks + 1, sizeof(*met));
	_cleanup_free_ uint32_t *alive = calloc(has_counts ? graph->blocks + 1 : 1, sizeof(*alive));
	struct counted counted = {graph, retain->retention.verdicts, met, alive, 0};

	if (!met || !alive)
		return -ENOMEM;
	if (has_counts)
		keep_counted(&counted);
	for (uint32_t i = 0; i < graph->blocks; i++) {
		if (!is_lost(&counted, i) || met[i] == UINT32_MAX)
			continue;
		count_unreached(graph, i);
		if (has_counts)
			graph->managed.counts[i] = COUNT_OF_GARBAGE;
	}
	return 0;
}

/*
 * Not every word that can refer to an object of a runtime is known: if nothing leads to one, or
 * only a stale word, that proves nothing.
 */
static int take_back_managed(struct retain *retain)
{
	struct heap_graph *graph = &retain->graph;
	_cleanup_free_ uint32_t *doubtful = NULL;
	bool partly = is_partly_read(&graph->managed);
	uint32_t count = 0;

	if (!graph->managed.whats)
		return 0;
	doubtful = malloc(((size_t)graph->blocks + 1) * sizeof(*doubtful));
	if (!doubtful || count_garbage(retain))
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		if ((heap_graph_what(graph, i) == NODE_PLAIN && !partly) ||
		    retain->retention.verdicts[i] == VERDICT_HELD)
			continue;
		doubtful[count++] = i;
	}
	return retention_take_back(&graph->graph, graph->sizes, doubtful, count,
				   &retain->retention);
}

/*
 * Shares of the whole work completed: measured with ten million blocks of a C program, and with as
 * many objects of a JVM, Python and Node, which deviate by up to a tenth.
 */
#define SHARE_READ 0.15
#define SHARE_GRAPH 0.5
#define SHARE_CLASSES 0.65
#define SHARE_RETENTION 0.95

static int analyze(struct retain *retain, const struct retain_sources *sources)
{
	struct heap_graph *graph = &retain->graph;
	const struct graph_sources graph_sources = {.heap_image = &retain->heap_image,
						    .modules = &retain->modules,
						    .locals = &retain->locals,
						    .tracked = sources->tracked,
						    .tracked_count = sources->tracked_count,
						    .walk = runtime_walk_heaps,
						    .strings = &retain->intern,
						    .progress = sources->progress,
						    .from = SHARE_READ,
						    .to = SHARE_GRAPH};
	uint64_t since_ns = monotonic_ns();
	int error = data_modules_read(&retain->heap_image, sources->worker,
				      &sources->processes->dsos, &retain->modules);

	log_step("modules", &since_ns);
	if (!error)
		error = thread_blocks_find(&retain->heap_image, &retain->modules, &retain->locals);
	if (!error)
		error = heap_graph_build(&graph_sources, graph);
	drop_words(retain);
	log_step("graph", &since_ns);
	if (!error)
		error = name_roots(retain, sources);
	log_step("roots", &since_ns);
	if (!error)
		error = classes_find(&retain->heap_image, &retain->modules, graph, &sources->types,
				     &retain->intern, &retain->classes);
	free(TAKE_PTR(graph->types));
	log_step("classes", &since_ns);
	progress_at(sources->progress, "searching paths from roots", SHARE_CLASSES);
	if (!error)
		error = compute_retention(retain);
	if (!error)
		error = take_back_managed(retain);
	if (!error)
		error = retain_take_back_uncertain(retain);
	log_step("retention", &since_ns);
	progress_at(sources->progress, "ranking what holds most", SHARE_RETENTION);
	if (!error)
		error = retain_rank(retain);
	return error ? error : retain_count_again(retain);
}

static void read_comm(struct retain *retain, const struct core *core)
{
	if (core)
		memcpy(retain->comm, core_layout(core)->comm, sizeof(retain->comm));
	else
		process_read_comm(retain->pid, 0, retain->comm, sizeof(retain->comm));
}

static void sum_up(struct retain *retain)
{
	const struct core *core = retain->heap_image.maps.source.core;
	struct rusage usage;

	retain->allocator = heap_image_allocator(&retain->heap_image);
	retain->settled = retain->heap_image.stopped && (!core || core_is_complete(core));
	if (!getrusage(RUSAGE_SELF, &usage))
		retain->rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
}

/* A reading of the kernel's references: 0, or why there is none. */
struct held_reading {
	struct held_words *held; /* NULL: unavailable */
	int error;
};

static void read_held(void *context)
{
	struct held_reading *reading = context;

	reading->error = held_words_read(reading->held);
}

/* Takes the heap image, and the kernel's references of the same moment. */
static int take(struct retain *retain, const struct heap_image_options *options,
		const struct retain_sources *sources)
{
	_cleanup_(held_words_closep) struct held_words *own = NULL;
	struct held_words **held = sources->held ? sources->held : &own;
	struct held_reading reading = {0};
	struct heap_image_options with_held = *options;
	int error;

	if (!options->core && !*held)
		reading.error = held_words_open(held);
	if (!options->core && !reading.error)
		reading.error = held_words_aim(*held, retain->pid);
	reading.held = reading.error ? NULL : *held;
	if (reading.held) {
		with_held.at_stop = read_held;
		with_held.at_stop_context = &reading;
	}
	error = runtime_take_image(retain->pid, &with_held, sources->worker,
				   &sources->processes->dsos, &retain->heap_image);
	if (error || options->core)
		return error;
	if (reading.held && !retain->heap_image.stopped)
		read_held(&reading);
	return kernel_roots_read(retain->pid, &retain->heap_image.maps,
				 reading.error ? NULL : reading.held, reading.error, &retain->held);
}

int retain_begin(pid_t pid, const struct heap_image_options *options,
		 const struct retain_sources *sources, struct retain *retain)
{
	uint64_t began_ns = monotonic_ns();
	int error;

	*retain = (struct retain){.pid = pid};
	clock_gettime(CLOCK_REALTIME, &retain->time);
	if (options->core)
		retain->time = core_time(options->core);
	read_comm(retain, options->core);
	error = take(retain, options, sources);
	retain->total_ns = monotonic_ns() - began_ns;
	return error;
}

int retain_finish(struct retain *retain, const struct retain_sources *sources)
{
	uint64_t began_ns = monotonic_ns();
	int error = analyze(retain, sources);

	sum_up(retain);
	retain->total_ns += monotonic_ns() - began_ns;
	return error;
}

static int add_path(struct retain *retain, uint32_t class, struct path *path, bool also)
{
	struct retain_path *added = vec_push(&retain->paths);

	if (!added) {
		path_free(path);
		return -ENOMEM;
	}
	*added = (struct retain_path){class, *path, also};
	return 0;
}

/* Adds the path, and one from another root that is nearly as cheap, if any. */
static int add_both(struct retain *retain, uint32_t class, struct path *path)
{
	struct path_maker maker = maker_of(retain);
	uint32_t block = path->steps.items[path->steps.count - 1].block;
	struct path other = {0};
	int error = add_path(retain, class, path, false);

	if (!error)
		error = path_find_other(&maker, block, &other);
	if (error)
		return error == -ENOENT ? 0 : error;
	return add_path(retain, class, &other, true);
}

int retain_add_address_path(struct retain *retain, uint64_t address)
{
	struct path_maker maker = maker_of(retain);
	uint32_t block = block_index_find(&retain->graph.index, address);
	struct path path = {0};
	int error = block == BLOCK_NONE ? -ENOENT : path_find(&maker, block, &path);

	return error ? error : add_path(retain, retain->classes.of_blocks[block], &path, false);
}

int retain_add_class_path(struct retain *retain, uint32_t class)
{
	struct path_maker maker = maker_of(retain);
	struct path path = {0};
	int error = path_find_typical(&maker, class, &path);

	if (!error)
		error = referrers_find(&maker, class, &path.referrers);
	return error ? error : add_both(retain, class, &path);
}

int retain_add_top_paths(struct retain *retain, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < MIN(count, retain->ranked_classes.list.count); i++) {
		error = retain_add_class_path(retain, retain->ranked_classes.list.items[i]);
		if (error == -ENOENT)
			error = 0;
	}
	return error;
}

void retain_free(struct retain *retain)
{
	for (size_t i = 0; i < retain->paths.count; i++)
		path_free(&retain->paths.items[i].path);
	vec_free(&retain->paths);
	free(retain->lost_hashes);
	vec_free(&retain->leaks);
	vec_free(&retain->ranked_roots.list);
	vec_free(&retain->ranked_classes.list);
	retention_free(&retain->retention);
	path_costs_free(&retain->costs);
	classes_free(&retain->classes);
	root_groups_free(&retain->groups);
	root_functions_free(&retain->functions);
	intern_free(&retain->intern);
	kernel_roots_free(&retain->held);
	stack_frames_free(&retain->frames);
	thread_blocks_free(&retain->locals);
	data_modules_free(&retain->modules);
	heap_graph_free(&retain->graph);
	heap_image_free(&retain->heap_image);
	*retain = (struct retain){0};
}
