// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Roots outside the heap: static fields, handles, objects with pending finalisers. Stacks,
 * registers and thread-locals are read as memory of the process, word by word.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/dotnet/dotnet.h"

#define KEY "dotnet"

/* Limit of the offset of an AppDomain's list of assemblies, which is recognised by its items. */
#define DOMAIN_BYTES 2048
#define LIST_NEXT 8 /* ArrayListBase: a count, then a block: the next one, its size, items */
#define BLOCK_SIZE 8
#define BLOCK_ITEMS 16
#define ASSEMBLY_WORDS 10

/* DynamicStaticsInfo, before MethodTableAuxiliaryData */
#define STATICS_REFERENCES 24 /* bytes before MethodTableAuxiliaryData */
#define STATICS_TABLE 8
#define STATICS_TAG 1ull
/* ThreadStaticsInfo, before that: index of a class's own array in a thread's. */
#define STATICS_INDEX 36
#define INDEX_KIND(index) ((index) >> 24)	    /* 0: lives as long as the process */
#define INDEX_PLACE(index) (((index)&0xffffff) - 2) /* no array has the first two */

/* Thread: one of its first words leads to its ThreadLocalData, which leads back. */
#define THREAD_WORDS 192
#define LOCAL_COUNT 0
#define LOCAL_STATICS 8
#define LOCAL_THREAD 24
#define ARRAY_ITEMS 16

#define CHUNK 128 /* words read at once */

/* Most bytes between consecutive blocks of malloc's. */
#define BLOCK_GAP 64

/* DacEnumerableHashTable, of types with type arguments: its module, then a heap, buckets, a count.
 * Buckets: their number, two other words, then lists, each ended by an odd number. */
#define MODULE_WORDS 160
#define HASH_BUCKETS 16
#define BUCKETS_FIRST 3
#define BUCKETS_MAX (1u << 22) /* limit of a valid table */
#define ENTRY_NEXT 8
#define ENTRY_TAGS 3ull

/* Modules. */

/* Returns the module of an assembly, which leads back to it; 0: no assembly. */
static uint64_t module_of(struct dotnet *dotnet, uint64_t assembly)
{
	uint64_t words[ASSEMBLY_WORDS];

	if (!assembly || target_read(dotnet->memory, assembly, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < ASSEMBLY_WORDS; i++) {
		uint64_t module = words[i];

		if (module && !(module & 7) &&
		    target_word(dotnet->memory, module + dotnet->layout.module_assembly) ==
			    assembly)
			return module;
	}
	return 0;
}

/* Returns the module of an assembly, or of a DomainAssembly, which contains one. */
static uint64_t module_of_item(struct dotnet *dotnet, uint64_t item)
{
	uint64_t words[ASSEMBLY_WORDS], module = module_of(dotnet, item);

	if (module || !item || target_read(dotnet->memory, item, words, sizeof(words)))
		return module;
	for (size_t i = 0; !module && i < ASSEMBLY_WORDS; i++)
		module = words[i] & 7 ? 0 : module_of(dotnet, words[i]);
	return module;
}

static int add_module(struct dotnet *dotnet, uint64_t module)
{
	bool fresh = false;
	uint64_t *added;

	if (!hash_put(&dotnet->module_index, module, &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	added = vec_push(&dotnet->modules);
	if (!added)
		return -ENOMEM;
	*added = module;
	return 0;
}

/* Reads the modules in the list of assemblies at `list`. */
static int read_assemblies(struct dotnet *dotnet, uint64_t list)
{
	struct target_memory *memory = dotnet->memory;
	uint32_t count = (uint32_t)target_word(memory, list), seen = 0;
	uint64_t block = list + LIST_NEXT;
	int error = 0;

	while (!error && block && seen < count && !target_memory_overworked(memory)) {
		uint32_t size = (uint32_t)target_word(memory, block + BLOCK_SIZE);

		if (!size)
			break;
		for (uint32_t i = 0;
		     !error && i < size && seen < count && !target_memory_overworked(memory);
		     i++, seen++) {
			uint64_t item = target_word(memory, block + BLOCK_ITEMS + i * 8ull);
			uint64_t module = module_of_item(dotnet, item);

			error = module ? add_module(dotnet, module) : 0;
		}
		block = target_word(memory, block);
	}
	return error;
}

static int find_modules(struct dotnet *dotnet)
{
	uint64_t domain = target_word(dotnet->memory, dotnet->variables.domain);
	int error = 0;

	for (uint64_t at = 0; domain && !error && at < DOMAIN_BYTES; at += 8) {
		uint64_t list = domain + at;
		uint32_t count = (uint32_t)target_word(dotnet->memory, list);
		uint64_t first = target_word(dotnet->memory, list + LIST_NEXT + BLOCK_ITEMS);

		if (count && module_of_item(dotnet, first)) {
			error = read_assemblies(dotnet, list);
			break;
		}
	}
	/* If the list is not found, use the modules of classes with objects. */
	for (size_t i = 0; !error && i < dotnet->types.count; i++) {
		uint64_t module = dotnet_type_module(dotnet, dotnet->types.items[i].address);

		if (module)
			error = add_module(dotnet, module);
	}
	return error;
}

/* Static fields. */

static bool has_statics(struct dotnet *dotnet, uint64_t table)
{
	uint64_t auxiliary;

	if (dotnet->layout.version == 8)
		return true;
	auxiliary = target_word(dotnet->memory, table + dotnet->layout.table_auxiliary);

	return auxiliary && target_word(dotnet->memory, auxiliary - STATICS_TABLE) == table;
}

/* Returns the address of a class's static references; 0: none, or not initialised. */
static uint64_t find_statics(struct dotnet *dotnet, uint64_t table)
{
	uint64_t auxiliary;

	if (dotnet->layout.version == 8)
		return dotnet_8_statics(dotnet, table);
	auxiliary = target_word(dotnet->memory, table + dotnet->layout.table_auxiliary);

	return target_word(dotnet->memory, auxiliary - STATICS_REFERENCES) & ~STATICS_TAG;
}

/* Adds a static field at `address` as a root; `thread` NULL: shared by all threads. */
static int add_static(struct dotnet *dotnet, struct heap_sink *sink, const struct dotnet_type *type,
		      const struct dotnet_thread *thread, uint64_t address, uint64_t field)
{
	uint64_t value = target_word(dotnet->memory, address), *slot;
	char class[DOTNET_NAME_BYTES], name[DOTNET_NAME_BYTES];
	char root[2 * DOTNET_NAME_BYTES + DOTNET_THREAD_NAME_BYTES + 32];

	if (heap_sink_node(sink, value) == BLOCK_NONE)
		return 0;
	slot = vec_push(&dotnet->slots);
	if (!slot)
		return -ENOMEM;
	*slot = address;
	dotnet_type_name(dotnet, type->address, class);
	dotnet_field_name(dotnet, dotnet_type_module(dotnet, type->address), field, name);
	snprintf(root, sizeof(root), "%sstatic %s.%s", thread ? "thread " : "", class,
		 name[0] ? name : "?");
	if (thread && thread->name[0])
		snprintf(root + strlen(root), sizeof(root) - strlen(root), " (thread %s)",
			 thread->name);
	return heap_sink_root(sink, KEY, root, value);
}

/* Returns the address of a thread's static references of a class; 0: none. */
static uint64_t find_thread_statics(struct dotnet *dotnet, const struct dotnet_thread *thread,
				    uint64_t table)
{
	uint64_t auxiliary;
	uint32_t index;

	if (dotnet->layout.version == 8)
		return dotnet_8_thread_statics(dotnet, thread->address, table);
	auxiliary = target_word(dotnet->memory, table + dotnet->layout.table_auxiliary);
	index = (uint32_t)target_word(dotnet->memory, auxiliary - STATICS_INDEX);
	if (INDEX_KIND(index) || INDEX_PLACE(index) >= thread->classes)
		return 0;
	return target_word(dotnet->memory,
			   thread->statics + ARRAY_ITEMS + INDEX_PLACE(index) * 8ull);
}

/* Adds one thread-static field in every thread. */
static int add_thread_static(struct dotnet *dotnet, struct heap_sink *sink,
			     const struct dotnet_type *type, uint64_t field)
{
	int error = 0;

	for (size_t i = 0; !error && i < dotnet->threads.count; i++) {
		const struct dotnet_thread *thread = &dotnet->threads.items[i];
		uint64_t statics = find_thread_statics(dotnet, thread, type->address);

		if (statics)
			error = add_static(dotnet, sink, type, thread,
					   statics + FIELD_OFFSET(field), field);
	}
	return error;
}

/* Adds a static field of an initialised class. */
static int add_field(struct dotnet *dotnet, struct heap_sink *sink, const struct dotnet_type *type,
		     uint64_t field)
{
	uint64_t statics;

	if (!FIELD_IS_STATIC(field) || FIELD_IS_IN_IMAGE(field) ||
	    (FIELD_TYPE(field) != ELEMENT_STRUCTURE && FIELD_TYPE(field) != ELEMENT_CLASS))
		return 0;
	if (FIELD_IS_OF_THREAD(field))
		return add_thread_static(dotnet, sink, type, field);
	statics = find_statics(dotnet, type->address);
	return statics ? add_static(dotnet, sink, type, NULL, statics + FIELD_OFFSET(field), field)
		       : 0;
}

/* Adds the static fields, which follow the instance fields. */
static int add_statics(struct dotnet *dotnet, struct heap_sink *sink, uint64_t table)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	const struct dotnet_type *found = dotnet_type_at(dotnet, table);
	struct dotnet_type type;
	uint64_t list;
	uint32_t fields, own;
	bool fresh = false;
	int error = 0;

	if (!found || !found->class_address || !hash_put(&dotnet->statics, table, &fresh) || !fresh)
		return 0;
	type = *found;
	fields = dotnet_fields(dotnet, type.class_address, true);
	list = target_word(dotnet->memory, type.class_address + layout->class_fields);
	if (!has_statics(dotnet, table) || !fields || !list)
		return 0;
	own = dotnet_own_fields(dotnet, &type);
	for (uint32_t i = own; !error && i < own + fields; i++) {
		uint64_t word = target_word(dotnet->memory, list + i * (uint64_t)FIELD_BYTES + 8);

		error = add_field(dotnet, sink, &type, word);
	}
	return error;
}

/* Adds the static fields of the types in a table, much of which may be untouched memory. */
static int add_table_statics(struct dotnet *dotnet, struct heap_sink *sink, uint64_t table,
			     uint32_t count)
{
	uint64_t words[CHUNK];
	uint32_t part;
	int error = 0;

	for (; !error && count && maps_find(dotnet->memory->maps, table); count -= part) {
		part = MIN(count, (uint32_t)CHUNK);
		if (target_read(dotnet->memory, table, words, part * 8ull))
			memset(words, 0, sizeof(words));
		table += part * 8ull;
		for (uint32_t i = 0; !error && i < part; i++)
			error = words[i] & ~7ull ? add_statics(dotnet, sink, words[i] & ~7ull) : 0;
	}
	return error;
}

/* Adds the static fields of the loaded classes that a module defines. */
static int add_module_statics(struct dotnet *dotnet, struct heap_sink *sink, uint64_t module)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	struct target_memory *memory = dotnet->memory;
	uint64_t map = module + layout->module_types;
	struct loop loop = {0};
	int error = 0;

	while (!error && map && !loop_found(&loop, map)) {
		uint64_t table = target_word(memory, map + layout->map_table);
		uint32_t count = (uint32_t)target_word(memory, map + layout->map_count);

		if (table)
			error = add_table_statics(dotnet, sink, table, count);
		map = target_word(memory, map);
	}
	return error;
}

/* Adds the static fields of the types in a module's hash table. */
static int add_hashed_statics(struct dotnet *dotnet, struct heap_sink *sink, uint64_t table)
{
	struct target_memory *memory = dotnet->memory;
	uint64_t buckets = target_word(memory, table + HASH_BUCKETS);
	uint64_t count = target_word(memory, buckets);
	int error = 0;

	for (uint64_t i = 0; !error && count <= BUCKETS_MAX && i < count; i++) {
		uint64_t entry = target_word(memory, buckets + (BUCKETS_FIRST + i) * 8);
		struct loop loop = {0};

		while (!error && entry && !(entry & 1) && !loop_found(&loop, entry)) {
			uint64_t type = target_word(memory, entry);

			if (!(type & 2))
				error = add_statics(dotnet, sink, type & ~ENTRY_TAGS);
			entry = target_word(memory, entry + ENTRY_NEXT);
		}
	}
	return error;
}

/* Adds the static fields of types with arguments, which are separate. Their table begins with its
 * module's address. */
static int add_generic_statics(struct dotnet *dotnet, struct heap_sink *sink, uint64_t module)
{
	int error = 0;

	for (uint64_t i = 0; !error && i < MODULE_WORDS; i++) {
		uint64_t table = target_word(dotnet->memory, module + i * 8);

		if (table && !(table & 7) && target_word(dotnet->memory, table) == module)
			error = add_hashed_statics(dotnet, sink, table);
	}
	return error;
}

/* Finds the arrays of threads' static fields. */
static void find_thread_arrays(struct dotnet *dotnet)
{
	for (size_t i = 0; dotnet->layout.version != 8 && i < dotnet->threads.count; i++) {
		struct dotnet_thread *thread = &dotnet->threads.items[i];

		for (uint64_t j = 0; j < THREAD_WORDS; j++) {
			uint64_t local = target_word(dotnet->memory, thread->address + j * 8);

			if (!local || local & 7 ||
			    target_word(dotnet->memory, local + LOCAL_THREAD) != thread->address)
				continue;
			thread->statics = target_word(dotnet->memory, local + LOCAL_STATICS);
			thread->classes =
				(uint32_t)target_word(dotnet->memory, local + LOCAL_COUNT);
			break;
		}
	}
}

static int add_all_statics(struct dotnet *dotnet, struct heap_sink *sink)
{
	size_t types = dotnet->types.count;
	int error = find_modules(dotnet);

	find_thread_arrays(dotnet);
	for (size_t i = 0; i < dotnet->threads.count; i++)
		dotnet_thread_name(dotnet, dotnet->threads.items[i].address,
				   dotnet->threads.items[i].name);
	if (!error && dotnet->layout.version == 8)
		error = dotnet_8_read_instances(dotnet);
	for (size_t i = 0; !error && i < dotnet->modules.count; i++)
		error = add_module_statics(dotnet, sink, dotnet->modules.items[i]);
	for (size_t i = 0; !error && i < dotnet->modules.count; i++)
		error = add_generic_statics(dotnet, sink, dotnet->modules.items[i]);
	/* In case of another kind of table. */
	for (size_t i = 0; !error && i < types; i++)
		error = add_statics(dotnet, sink, dotnet->types.items[i].address);
	return error;
}

static int compare_slots(const void *left_pointer, const void *right_pointer)
{
	uint64_t left = *(const uint64_t *)left_pointer, right = *(const uint64_t *)right_pointer;

	return left < right ? -1 : left > right;
}

/* The arrays themselves. */
static int add_thread_arrays(struct dotnet *dotnet, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < dotnet->threads.count; i++)
		error = heap_sink_root(sink, KEY, "thread statics",
				       dotnet->threads.items[i].statics);
	return error;
}

/* Adds frozen objects: code contains their addresses. */
static int add_frozen(struct dotnet *dotnet, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; i < dotnet->frozen.count; i++) {
		const struct dotnet_range *range = &dotnet->frozen.items[i];

		for (uint32_t node = heap_sink_first(sink, range->start);
		     !error && node < sink->count && sink->starts[node] < range->end &&
		     !target_memory_overworked(dotnet->memory);
		     node++)
			error = heap_sink_root(sink, KEY, "frozen object", sink->starts[node]);
	}
	return error;
}

/*
 * Native code holds objects by handles only. Other words with an object's address, outside stacks,
 * belong to the collector: lists of finalizable objects, marks, memory for new objects.
 */
static int claim_native(struct dotnet *dotnet, struct heap_sink *sink)
{
	const struct data_module *module = dotnet->module;
	uint64_t start = module->start, end = module->end;
	int error = 0;

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (node_has_class(sink->whats[i]))
			continue;
		if (sink->starts[i] < end || sink->starts[i] - end > BLOCK_GAP) {
			error = heap_sink_claim(sink, start, end - start, true);
			start = sink->starts[i];
		}
		end = sink->starts[i] + sink->sizes[i];
	}
	return error ? error : heap_sink_claim(sink, start, end - start, true);
}

int dotnet_roots(void *state, struct heap_sink *sink)
{
	struct dotnet *dotnet = state;
	int error = add_all_statics(dotnet, sink);

	sink->reports.items[dotnet->report].all_roots = true;
	if (dotnet->slots.count)
		qsort(dotnet->slots.items, dotnet->slots.count, sizeof(*dotnet->slots.items),
		      compare_slots);
	if (!error)
		error = add_thread_arrays(dotnet, sink);
	if (!error)
		error = dotnet_add_handles(dotnet, sink);
	if (!error)
		error = add_frozen(dotnet, sink);
	return error ? error : claim_native(dotnet, sink);
}
