// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * .NET 8 to 10 (CoreCLR): libcoreclr.so, or a single-file program, recognised by the file of its
 * code mappings. The heap is in the widest reservation: all regions, or twice the limit.
 *
 * Objects lie one after the other in regions; each begins with its MethodTable's address, which
 * gives its size. The collector's structures are found through GcDacVars, to which the runtime's
 * table for debuggers leads; nothing is read while a collection moves objects.
 */
#include "heap/runtime/dotnet/dotnet.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/runtime/class_origin.h"
#include "heap/runtime/dotnet/reader.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

#define KEY "dotnet"
#define HEAPS_MAX 1024
#define SEGMENTS_MAX (1u << 20)
#define GROWTH_MAX (1ull << 30)
#define THREADS_MIN (1u << 16)
#define BYTES_PER_THREAD 512 /* lower bound of the runtime's own bytes per thread */
#define DAC_ENTRIES 128
#define THREAD_IS_DEAD 0x800u /* Thread::TS_Dead */
#define LOOKED_AT_MAX (1u << 23)

/* GcDacVars: after versions, the size of a generation and their number, addresses of variables. */
#define COLLECTOR_GENERATION_SIZE 8
#define COLLECTOR_GENERATIONS 16
#define COLLECTOR_VARIABLES 24
/* Indices in those arrays. */
#define HEAP_ALLOCATED 0
#define HEAP_EPHEMERAL 1
#define HEAP_QUEUE 2
#define HEAP_TABLE 18
#define GENERATION_SEGMENT 1

/* heap_segment */
#define SEGMENT_ALLOCATED 0
#define SEGMENT_COMMITTED 8
#define SEGMENT_MEMORY 32
#define SEGMENT_FLAGS 40
#define SEGMENT_NEXT 48
#define SEGMENT_IS_FROZEN 1u

#define STREAM_BYTES (256u << 10)

/* Parts of the heap: generations, and objects that are never freed. */
#define PART_FROZEN DOTNET_GENERATIONS
static const char *const part_names[] = {"generation 0",  "generation 1",   "generation 2",
					 "large objects", "pinned objects", "frozen objects"};
_Static_assert(ARRAY_SIZE(part_names) == PART_FROZEN + 1, "a name for each");
_Static_assert(ARRAY_SIZE(part_names) <= HEAP_PARTS_MAX, "there is room for all");

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libcoreclr.so", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names)) ||
	       !strncmp(mapping->path, "/memfd:doublemapper", 19);
}

/* Returns whether a module is a single-file program, for core files without names of generated
 * code's mappings. */
static bool detect_module(const struct data_module *module)
{
	return target_variable(module, "g_dacTable");
}

static void survey(void *state, const struct mapping *mapping)
{
	widest_reservation_add(state, mapping);
}

static bool owns(const void *state, const struct mapping *mapping)
{
	const struct largest_reservation *largest = state;

	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       reservation_has(&largest->best, mapping);
}

/* Finding the runtime and its collector. */

/* Returns a variable whose address is in GcDacVars. */
uint64_t dotnet_collector_place(struct dotnet *dotnet, enum collector_variable variable)
{
	return target_word(dotnet->memory,
			   dotnet->collector + COLLECTOR_VARIABLES + variable * 8ull);
}

uint64_t dotnet_collector_word(struct dotnet *dotnet, enum collector_variable variable)
{
	return target_word(dotnet->memory, dotnet_collector_place(dotnet, variable));
}

static uint32_t collector_number(struct dotnet *dotnet, enum collector_variable variable)
{
	return (uint32_t)dotnet_collector_word(dotnet, variable);
}

/* Finds the collector by the debuggers' table; GcDacVars must have five generations. */
static uint64_t find_collector(struct dotnet *dotnet, const struct data_module *module)
{
	uint64_t table = target_variable(module, "g_dacTable");

	for (uint32_t i = 0; table && i < DAC_ENTRIES; i++) {
		uint64_t place = target_word(dotnet->memory, table + i * 8ull);
		uint64_t collector = target_word(dotnet->memory, place), size;

		size = target_word(dotnet->memory, collector + COLLECTOR_GENERATION_SIZE);
		if (!collector || size < 32 || size > 65536 ||
		    target_word(dotnet->memory, collector + COLLECTOR_GENERATIONS) !=
			    DOTNET_GENERATIONS)
			continue;
		dotnet->collector = collector;
		dotnet->generation_size = size;
		return table + i * 8ull;
	}
	return 0;
}

/* Reads the layout from the runtime's module, or takes that of its version. -ESRCH: another module
 * may have it. */
static int read_layout(struct dotnet *dotnet, const char **why)
{
	uint64_t descriptor = target_variable(dotnet->module, "DotNetRuntimeContractDescriptor");
	uint64_t place = find_collector(dotnet, dotnet->module);
	int error = 0;

	*why = "its collector is not found, or has not started";
	if (descriptor) {
		dotnet->layout = dotnet_layout_base();
		error = dotnet_descriptor_read(dotnet->memory, descriptor, &dotnet->layout,
					       &dotnet->variables);
		if (error == -EBADMSG && dotnet->memory->maps->source.core)
			*why = "the core file lacks the runtime's own data: take one of all "
			       "memory (createdump --full)";
		if (dotnet->layout.context_inner)
			dotnet->layout.version = 10;
		return error || place ? error : -ENOENT;
	}
	if (place && dotnet_layout_find(dotnet->memory, place, &dotnet->layout, &dotnet->variables))
		return 0;
	if (place || !dotnet->memory->maps->source.core)
		*why = "it is not .NET 8, nor describes its structures as 9 and 10 do";
	return -ESRCH;
}

int dotnet_find(struct dotnet *dotnet, char version[24], const char **why)
{
	const struct data_modules *modules = dotnet->memory->modules;
	int error = -ENOENT;

	*why = "no program or library with the variable g_dacTable is mapped";
	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (!target_variable(module, "g_dacTable"))
			continue;
		dotnet->module = module;
		error = read_layout(dotnet, why);
		if (!error)
			snprintf(version, 24, "%u", dotnet->layout.version);
		if (error != -ESRCH)
			break;
	}
	return error;
}

/* Allocation contexts of threads. */

static int compare_contexts(const void *left_pointer, const void *right_pointer)
{
	const struct dotnet_context *left = left_pointer, *right = right_pointer;

	return left->pointer < right->pointer ? -1 : left->pointer > right->pointer;
}

static int add_context(struct dotnet *dotnet, uint64_t thread)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	uint64_t locals = layout->version == 8
				  ? thread
				  : target_word(dotnet->memory, thread + layout->thread_locals);
	uint64_t at = locals + layout->locals_context + layout->context_inner;
	uint64_t pointer = target_word(dotnet->memory, at + layout->context_pointer);
	uint64_t limit = target_word(dotnet->memory, at + layout->context_limit);
	struct dotnet_context *context;

	if (!locals || !pointer || pointer > limit || limit >> MACHINE_USER_BITS)
		return 0;
	context = vec_push(&dotnet->contexts);
	if (!context)
		return -ENOMEM;
	*context = (struct dotnet_context){pointer, limit};
	return 0;
}

/* Notes the object of an ended thread, which keeps the rest of the thread alive. */
static int note_ended(struct dotnet *dotnet, uint64_t thread)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	uint64_t state = target_word(dotnet->memory, thread + layout->thread_state), handle;
	uint64_t *place;

	if (!layout->thread_object || !(state & THREAD_IS_DEAD))
		return 0;
	handle = target_word(dotnet->memory, thread + layout->thread_object);
	place = hash_put(&dotnet->ended, target_word(dotnet->memory, handle), NULL);
	if (!place)
		return -ENOMEM;
	*place = thread;
	return 0;
}

/* Adds a thread, if the process has memory for that many. */
static struct dotnet_thread *add_thread(struct dotnet *dotnet)
{
	if (dotnet->threads.count >= THREADS_MIN + dotnet->memory->occupied / BYTES_PER_THREAD)
		target_memory_exhaust(dotnet->memory);
	return vec_push(&dotnet->threads);
}

static int read_threads(struct dotnet *dotnet)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	uint64_t store = target_word(dotnet->memory, dotnet->variables.thread_store);
	uint64_t link = store ? target_word(dotnet->memory, store + layout->store_first) : 0;
	struct loop loop = {0};
	int error = 0;

	dotnet->contexts.count = dotnet->threads.count = 0;
	hash_free(&dotnet->ended);
	while (!error && link && !loop_found(&loop, link)) {
		struct dotnet_thread *thread = add_thread(dotnet);

		if (!thread)
			return -ENOMEM;
		*thread = (struct dotnet_thread){.address = link - layout->thread_next};
		error = add_context(dotnet, thread->address);
		if (!error)
			error = note_ended(dotnet, thread->address);
		link = target_word(dotnet->memory, link);
	}
	if (dotnet->contexts.count)
		qsort(dotnet->contexts.items, dotnet->contexts.count,
		      sizeof(*dotnet->contexts.items), compare_contexts);
	return error;
}

/* Returns the end of the allocation context at `address`; `address` if there is none. */
static uint64_t skip_contexts(const struct dotnet *dotnet, uint64_t address)
{
	size_t low = SORTED_BEFORE(context, dotnet->contexts.items, dotnet->contexts.count,
				   context->pointer < address);

	if (low == dotnet->contexts.count || dotnet->contexts.items[low].pointer != address)
		return address;
	return dotnet->contexts.items[low].limit + OBJECT_BYTES_MIN;
}

/* Objects in regions. */

struct walk {
	struct dotnet *dotnet;
	struct heap_sink *sink;
	struct walk_report *report;
	unsigned char *bytes; /* STREAM_BYTES, whole pages, from `at` on */
	uint64_t at;
	struct hash segments; /* segments already walked */
	uint64_t bytes_left;  /* limit of further reading */
	uint64_t objects;
	uint64_t signature;
	bool only_signs;	/* computes the signature only */
	struct heap_part *part; /* current part of the report */
	uint32_t first_segment; /* in a generation */
};

struct head {
	uint64_t table;
	uint32_t count, padding;
};

/* Reads the first two words of a possible object, which may cross pages. */
static struct head read_head(struct walk *walk, uint64_t address, uint64_t end)
{
	struct head head = {0};

	if (address < walk->at || address + sizeof(head) > walk->at + STREAM_BYTES) {
		uint64_t start = address & ~(MEMORY_PAGE - 1);
		size_t size =
			(size_t)MIN((uint64_t)STREAM_BYTES, align_up(end - start, MEMORY_PAGE));

		memset(walk->bytes, 0, STREAM_BYTES);
		target_read_pages(walk->dotnet->memory, start, walk->bytes, size);
		walk->at = start;
	}
	memcpy(&head, walk->bytes + (address - walk->at), sizeof(head));
	return head;
}

/* Returns the address of the next nonzero word, or the end of the bytes read. */
static uint64_t skip_zeros(const struct walk *walk, uint64_t address, uint64_t end)
{
	uint64_t last = MIN(end, walk->at + STREAM_BYTES), word = 0;

	/* All further reads fail. */
	if (target_memory_overworked(walk->dotnet->memory))
		return end;
	for (; !word && address + 8 <= last; address += word ? 0 : 8)
		memcpy(&word, walk->bytes + (address - walk->at), sizeof(word));
	return address;
}

static int give_class(struct walk *walk, size_t place, const char *more, uint32_t *number)
{
	struct dotnet *dotnet = walk->dotnet;
	char name[DOTNET_NAME_BYTES + 16];
	struct managed_class class = {.name = name, .runtime = KEY};
	uint32_t *added;
	int error;

	dotnet_type_name(dotnet, dotnet->types.items[place].address, name);
	strcat(name, more);
	error = heap_sink_class(walk->sink, &class, number);
	added = error ? NULL : vec_push(&dotnet->class_types);
	if (!added)
		return error ? error : -ENOMEM;
	*added = (uint32_t)place;
	return 0;
}

/* Finds the class of an object; ended threads have a separate class. */
static int class_of(struct walk *walk, size_t place, uint64_t address, uint32_t *class)
{
	struct dotnet *dotnet = walk->dotnet;
	bool ended = dotnet->ended.count && hash_get(&dotnet->ended, address);
	uint32_t *number = ended ? &dotnet->ended_class : &dotnet->types.items[place].class;
	int error = 0;

	if (*number == UINT32_MAX) {
		error = give_class(walk, place, ended ? RUNTIME_ENDED : "", class);
		/* Naming it may have reallocated the list of types. */
		number = ended ? &dotnet->ended_class : &dotnet->types.items[place].class;
		if (!error)
			*number = *class;
	}
	*class = *number;
	return error;
}

static uint64_t object_bytes(const struct dotnet_type *type, uint32_t count)
{
	uint64_t size = type->base_size;

	if (type->flags & TABLE_COMPONENTS)
		size += (uint64_t)count * (type->flags & 0xffff);
	return (size + 7) & ~7ull;
}

static int add_object(struct walk *walk, size_t place, uint64_t address, uint64_t size)
{
	uint32_t class;
	int error;

	if (walk->dotnet->types.items[place].is_free) {
		walk->report->free_bytes += size;
		walk->part->free_bytes += size;
		return 0;
	}
	walk->part->objects++;
	walk->part->bytes += size;
	error = class_of(walk, place, address, &class);
	walk->objects++;
	walk->dotnet->last_object = MAX(walk->dotnet->last_object, address);
	return error ? error : heap_sink_add(walk->sink, address, size, class | NODE_OBJECT);
}

/* Visits the objects of a range; after invalid data, it resynchronises at the next plausible
 * object. */
static int walk_objects(struct walk *walk, uint64_t address, uint64_t end)
{
	bool lost = false;
	int error = 0;

	while (!error && address + OBJECT_BYTES_MIN <= end) {
		struct head head = read_head(walk, address, end);
		const struct dotnet_type *type;
		uint64_t next = skip_contexts(walk->dotnet, address), size;

		if (next == address && !head.table)
			next = skip_zeros(walk, address, end);
		if (next != address) {
			address = next;
			continue;
		}
		/* The collector marks objects in the lowest bits. */
		type = dotnet_type_at(walk->dotnet, head.table & ~7ull);
		size = type ? object_bytes(type, head.count) : 0;
		if (!type || type->base_size < OBJECT_BYTES_MIN - 8 ||
		    size > end - address + OBJECT_HEADER) {
			walk->report->nonsense += !lost;
			lost = true;
			address += 8;
			continue;
		}
		lost = false;
		error = add_object(walk, (size_t)(type - walk->dotnet->types.items), address, size);
		address += size;
	}
	return error;
}

/* Returns the end of the memory mapped from `start` on, which may have been only reserved when maps
 * were read; data behind it are not believed. */
static uint64_t mapped_until(const struct walk *walk, uint64_t start, uint64_t end)
{
	uint64_t at = start;

	while (at < end) {
		const struct mapping *mapping = maps_find(walk->dotnet->memory->maps, at);

		if (!mapping)
			break;
		at = mapping->end;
	}
	return MIN(at, end);
}

struct managed_heap {
	uint64_t table; /* of generations */
	uint64_t queue; /* queue of objects with finalisers */
	uint64_t ephemeral, allocated;
};

static bool is_frozen(const struct walk *walk, uint64_t segment)
{
	return target_word(walk->dotnet->memory, segment + SEGMENT_FLAGS) & SEGMENT_IS_FROZEN;
}

static int note_frozen(struct walk *walk, uint64_t segment, uint64_t start, uint64_t end)
{
	struct dotnet_range *range;

	if (!is_frozen(walk, segment))
		return 0;
	range = vec_push(&walk->dotnet->frozen);
	if (!range)
		return -ENOMEM;
	*range = (struct dotnet_range){start, end};
	return 0;
}

/* Walks a segment: words outside its objects hold nothing. */
static int walk_segment(struct walk *walk, const struct managed_heap *heap, uint64_t segment,
			uint64_t generation)
{
	struct target_memory *memory = walk->dotnet->memory;
	uint64_t start = target_word(memory, segment + SEGMENT_MEMORY);
	uint64_t committed = target_word(memory, segment + SEGMENT_COMMITTED);
	uint64_t end = segment == heap->ephemeral
			       ? heap->allocated
			       : target_word(memory, segment + SEGMENT_ALLOCATED);
	int error;

	if (!start || start & 7 || start > end || end > committed ||
	    committed >> MACHINE_USER_BITS || committed - start > walk->bytes_left) {
		walk->report->nonsense++;
		return 0;
	}
	walk->bytes_left -= committed - start;
	if (mapped_until(walk, start, end) != end) {
		walk->report->nonsense++;
		return 0;
	}
	walk->part = &walk->report->parts[is_frozen(walk, segment) ? PART_FROZEN : generation];
	walk->part->free_bytes += committed - end;
	walk->report->heap_bytes += committed - start;
	walk->report->free_bytes += committed - end;
	walk->at = 0;
	error = note_frozen(walk, segment, start, end);
	if (!error)
		error = walk_objects(walk, start, end);
	return error ? error : heap_sink_claim(walk->sink, start, committed - start, false);
}

/* Adds a segment to the signature: each collection changes the regions of the older generations, or
 * their bounds. */
static void sign(struct walk *walk, uint64_t generation, uint64_t segment)
{
	struct target_memory *memory = walk->dotnet->memory;

	if (generation != 1 && generation != 2)
		return;
	walk->signature = hash_mix(walk->signature ^ generation ^ segment);
	walk->signature = hash_mix(walk->signature ^ target_word(memory, segment + SEGMENT_MEMORY));
	walk->signature =
		hash_mix(walk->signature ^ target_word(memory, segment + SEGMENT_ALLOCATED));
}

/* Walks one generation, a list of segments. */
static int walk_segments(struct walk *walk, const struct managed_heap *heap, uint64_t generation)
{
	uint64_t segment = target_word(walk->dotnet->memory,
				       heap->table + generation * walk->dotnet->generation_size +
					       walk->first_segment);
	int error = 0;

	while (!error && segment) {
		bool fresh = false;

		if (!hash_put(&walk->segments, segment, &fresh))
			return -ENOMEM;
		sign(walk, generation, segment);
		if (!fresh || walk->segments.count > SEGMENTS_MAX) {
			walk->report->nonsense++;
			break;
		}
		if (!walk->only_signs)
			error = walk_segment(walk, heap, segment, generation);
		segment = target_word(walk->dotnet->memory, segment + SEGMENT_NEXT);
	}
	return error;
}

static int walk_generations(struct walk *walk, const struct managed_heap *heap)
{
	struct dotnet *dotnet = walk->dotnet;
	uint64_t offsets = dotnet_collector_place(dotnet, COLLECTOR_GENERATION_FIELDS);
	uint64_t *queue = walk->only_signs ? NULL : vec_push(&dotnet->queues);
	int error = 0;

	if (!walk->only_signs && !queue)
		return -ENOMEM;
	if (queue)
		*queue = heap->queue;
	walk->first_segment =
		(uint32_t)target_word(dotnet->memory, offsets + GENERATION_SEGMENT * 4ull);
	if (walk->first_segment >= dotnet->generation_size)
		return -ENOENT;
	for (uint64_t i = 0; !error && i < DOTNET_GENERATIONS; i++)
		error = walk_segments(walk, heap, i);
	return error;
}

/* Walks the heaps of the server's collector, one for each processor. */
static int walk_server(struct walk *walk, uint32_t count)
{
	struct dotnet *dotnet = walk->dotnet;
	uint64_t list = dotnet_collector_word(dotnet, COLLECTOR_HEAP_LIST);
	uint64_t fields = dotnet_collector_place(dotnet, COLLECTOR_HEAP_FIELDS);
	uint32_t offsets[HEAP_TABLE + 1];
	int error = 0;

	if (target_read(dotnet->memory, fields, offsets, sizeof(offsets)))
		return -ENOENT;
	for (uint32_t i = 0; !error && i < MIN(count, (uint32_t)HEAPS_MAX); i++) {
		uint64_t at = target_word(dotnet->memory, list + i * 8ull);
		struct managed_heap heap = {
			.table = at + offsets[HEAP_TABLE],
			.queue = target_word(dotnet->memory, at + offsets[HEAP_QUEUE]),
			.ephemeral = target_word(dotnet->memory, at + offsets[HEAP_EPHEMERAL]),
			.allocated = target_word(dotnet->memory, at + offsets[HEAP_ALLOCATED])};

		error = at ? walk_generations(walk, &heap) : 0;
	}
	return error;
}

static int walk_heaps(struct walk *walk)
{
	struct dotnet *dotnet = walk->dotnet;
	uint32_t heaps = collector_number(dotnet, COLLECTOR_HEAPS);
	struct managed_heap heap = {.table = dotnet_collector_place(dotnet, COLLECTOR_TABLE),
				    .queue = dotnet_collector_word(dotnet, COLLECTOR_QUEUE),
				    .ephemeral = dotnet_collector_word(dotnet, COLLECTOR_EPHEMERAL),
				    .allocated =
					    dotnet_collector_word(dotnet, COLLECTOR_ALLOCATED)};
	int error = heaps && dotnet_collector_place(dotnet, COLLECTOR_HEAP_LIST)
			    ? walk_server(walk, heaps)
			    : walk_generations(walk, &heap);

	hash_free(&walk->segments);
	return error;
}

/* Limits reading to the possible size of the process, whatever it claims. */
static uint64_t bytes_at_most(const struct dotnet *dotnet)
{
	const struct maps *maps = dotnet->memory->maps;
	uint64_t bytes = GROWTH_MAX;

	for (size_t i = 0; i < maps->list.count; i++) {
		if (maps->list.items[i].writable)
			bytes += maps->list.items[i].end - maps->list.items[i].start;
	}
	return bytes;
}

/* Returns the signature; 0: a collection is under way. */
static uint64_t read_signature(struct dotnet *dotnet)
{
	struct walk_report nothing = {0};
	struct walk walk = {
		.dotnet = dotnet, .report = &nothing, .signature = 1, .only_signs = true};

	target_memory_read_anew(dotnet->memory);
	if (collector_number(dotnet, COLLECTOR_INVALID) || walk_heaps(&walk))
		return 0;
	return walk.signature;
}

bool dotnet_was_collected(struct dotnet *dotnet)
{
	/* All further reads fail; the report will say so. */
	if (target_memory_overworked(dotnet->memory))
		return false;
	return read_signature(dotnet) != dotnet->signature;
}

/* Walks all heaps. -EAGAIN: a collection intervened. */
static int walk_once(struct walk *walk)
{
	struct dotnet *dotnet = walk->dotnet;
	int error;

	dotnet->signature = read_signature(dotnet);
	if (!dotnet->signature)
		return -EAGAIN;
	error = read_threads(dotnet);
	if (!error)
		error = walk_heaps(walk);
	return !error && dotnet_was_collected(dotnet) ? -EAGAIN : error;
}

static int walk_all(struct dotnet *dotnet, struct heap_sink *sink, struct walk_report *report)
{
	_cleanup_free_ unsigned char *bytes = malloc(STREAM_BYTES);
	struct walk walk = {.dotnet = dotnet,
			    .sink = sink,
			    .report = report,
			    .bytes = bytes,
			    .bytes_left = bytes_at_most(dotnet)};
	int error;

	for (size_t i = 0; i < ARRAY_SIZE(part_names); i++)
		report->parts[i].name = part_names[i];
	error = bytes ? walk_once(&walk) : -ENOMEM;
	report->objects = walk.objects;
	return error;
}

void dotnet_free(struct dotnet *dotnet)
{
	for (size_t i = 0; i < dotnet->types.count; i++) {
		vec_free(&dotnet->types.items[i].series);
		vec_free(&dotnet->types.items[i].items);
		vec_free(&dotnet->types.items[i].fields);
	}
	vec_free(&dotnet->types);
	vec_free(&dotnet->class_types);
	vec_free(&dotnet->metadata);
	vec_free(&dotnet->contexts);
	vec_free(&dotnet->threads);
	vec_free(&dotnet->modules);
	vec_free(&dotnet->slots);
	vec_free(&dotnet->queues);
	vec_free(&dotnet->frozen);
	vec_free(&dotnet->dependents);
	hash_free(&dotnet->type_index);
	hash_free(&dotnet->ended);
	hash_free(&dotnet->metadata_index);
	hash_free(&dotnet->module_index);
	hash_free(&dotnet->statics);
	hash_free(&dotnet->instances);
}

/* Returns whether a collection has begun to move objects. */
static bool moves(struct target_memory *memory)
{
	struct walk_report report = {0};
	struct dotnet dotnet = {.memory = memory};
	bool moves = !dotnet_find(&dotnet, report.version, &report.why) &&
		     collector_number(&dotnet, COLLECTOR_INVALID);

	dotnet_free(&dotnet);
	return moves;
}

static void end(void *state)
{
	dotnet_free(state);
	free(state);
}

static int walk_found(struct dotnet *dotnet, struct heap_sink *sink, struct walk_report *report)
{
	int error = dotnet_find(dotnet, report->version, &report->why);

	if (error)
		return error;
	dotnet->variables.free_table = target_word(dotnet->memory, dotnet->variables.free_table);
	report->why = NULL;
	return walk_all(dotnet, sink, report);
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct dotnet *dotnet = calloc(1, sizeof(*dotnet));

	if (!dotnet)
		return -ENOMEM;
	dotnet->memory = memory;
	dotnet->fields_left = dotnet->series_left = LOOKED_AT_MAX;
	dotnet->ended_class = UINT32_MAX;
	dotnet->report = (size_t)(report - sink->reports.items);
	dotnet->first_class = (uint32_t)sink->classes.count;
	*state = dotnet;
	return walk_found(dotnet, sink, report);
}

static const struct heap_walker walker = {.moves = moves,
					  .walk = walk_heap,
					  .refer = dotnet_refer,
					  .roots = dotnet_roots,
					  .end = end};

static struct heap_floor dotnet_floor(const struct maps *maps)
{
	struct dotnet_memory dotnet;

	return dotnet_memory_read(maps, &dotnet) ? (struct heap_floor){0}
						 : dotnet_floor_of(&dotnet);
}

/* The origin of classes, see class_origin.h. */
static const char *const library_names[] = {"System.", "Microsoft.", NULL};
static const struct class_names class_names = {.libraries = library_names};

const struct runtime runtime_dotnet = {
	.classes = &class_names,
	.key = KEY,
	.name = ".NET runtime",
	.tool = "`leakmon retain --census -p %d` counts its objects by class, if it is .NET 8 "
		"to 10",
	.collects = true,
	.floor = dotnet_floor,
	.memory = &dotnet_memory_reader,
	.detect = detect,
	.detect_module = detect_module,
	.survey = survey,
	.state_size = sizeof(struct largest_reservation),
	.owns = owns,
	.walker = &walker,
	.code = &dotnet_code_reader,
	.in_program = true,
	.has_threads = true,
};
