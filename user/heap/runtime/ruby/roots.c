// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Roots of Ruby's objects (gc.c: mark_roots()): constants and variables of classes that have a
 * name, global variables, threads and their frames, finalizers, variables of C extensions. Weak
 * tables, and what the collector keeps for itself, hold nothing.
 */
#include "heap/runtime/ruby/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/text.h"

#define ROOT_BYTES (2 * RUBY_NAME_BYTES + 32)
#define THREADS_MAX 100000
#define PROVED 8 /* entries of a table that is known by its shape */
#define ENTRIES_LOOKED_AT 1024
#define GLOBALS_MIN 8

/* rb_vm_t, rb_ractor_t, rb_thread_t */
#define VM_RACTORS 8
#define THREAD_SELF 16
/* mark_stack_t: two lists of chunks */
#define CHUNK_NEXT 4000
#define CHUNKS_MAX (1u << 20)
#define TRANSIENT_ARENA (32ull << 20)
#define TRANSIENT_BLOCK 32768u
#define TRANSIENT_LISTS 3
#define LISTS_BEFORE 56
#define PROMOTED_BEFORE 16
/* struct rb_global_entry; struct rb_global_variable */
#define GLOBAL_ID 8
#define GLOBAL_DATA 8

/* Constants. */

struct constants {
	struct ruby *ruby;
	struct heap_sink *sink;
	char path[RUBY_NAME_BYTES]; /* of the class; "" for Object's */
	VEC(uint64_t) classes;	    /* still to be read */
};

static int add_class(struct constants *constants, const char *name, uint64_t class)
{
	char path[RUBY_NAME_BYTES];
	bool fresh = false;
	uint64_t *added;

	/* Other names of a class are variables that hold it. */
	if (!ruby_class_path(constants->ruby, class, path))
		return heap_sink_root(constants->sink, RUBY_KEY, name, class);
	if (!hash_put(&constants->ruby->named, class, &fresh))
		return -ENOMEM;
	if (!fresh)
		return 0;
	added = vec_push(&constants->classes);
	if (!added)
		return -ENOMEM;
	*added = class;
	return heap_sink_own_root(constants->sink, RUBY_KEY, path, class);
}

static int add_constant(void *context, const char *name, uint64_t value)
{
	struct constants *constants = context;
	char root[ROOT_BYTES];
	uint64_t flags;

	if (!ruby_object(constants->ruby, value, &flags))
		return 0;
	snprintf(root, sizeof(root), "%s%s%s", constants->path, constants->path[0] ? "::" : "",
		 name);
	if (RUBY_TYPE(flags) == RUBY_CLASS || RUBY_TYPE(flags) == RUBY_MODULE)
		return add_class(constants, root, value);
	return heap_sink_root(constants->sink, RUBY_KEY, root, value);
}

/* "Store@@all", "Store@registry" would read like other things: a dot stands between. */
static int add_class_variable(void *context, const char *name, uint64_t value)
{
	struct constants *constants = context;
	char root[ROOT_BYTES];
	uint64_t flags;

	if (name[0] != '@' || !ruby_object(constants->ruby, value, &flags))
		return 0;
	snprintf(root, sizeof(root), "%s.%s", constants->path[0] ? constants->path : "Object",
		 name);
	return heap_sink_root(constants->sink, RUBY_KEY, root, value);
}

static int read_class(struct constants *constants, uint64_t class)
{
	struct ruby *ruby = constants->ruby;
	int error = heap_sink_namespace(constants->sink, heap_sink_node(constants->sink, class));

	if (class == ruby->object_class || !ruby_class_path(ruby, class, constants->path))
		constants->path[0] = '\0';
	if (!error)
		error = ruby_class_constants(ruby, class, add_constant, constants);
	return error ? error : ruby_class_variables(ruby, class, add_class_variable, constants);
}

static int add_constants(struct ruby *ruby, struct heap_sink *sink)
{
	struct constants constants = {.ruby = ruby, .sink = sink};
	int error = add_class(&constants, "Object", ruby->object_class);

	for (size_t i = 0; !error && i < constants.classes.count; i++) {
		if (target_memory_overworked(ruby->memory))
			break;
		error = read_class(&constants, constants.classes.items[i]);
	}
	vec_free(&constants.classes);
	return error;
}

/* Claims blocks of the interpreter's own: objects that their words lead to are not held. */

struct claiming {
	const struct ruby *ruby;
	struct heap_sink *sink;
};

static int claim_own(struct heap_sink *sink, uint64_t address)
{
	uint32_t node = heap_sink_node(sink, address);

	if (!address || node == BLOCK_NONE || node_has_class(sink->whats[node]))
		return 0;
	return heap_sink_claim(sink, sink->starts[node], sink->sizes[node], true);
}

static int claim_table(const struct ruby *ruby, struct heap_sink *sink, uint64_t address)
{
	struct ruby_table table;
	int error = claim_own(sink, address);

	if (error || !ruby_table_open(ruby, address, &table))
		return error;
	error = claim_own(sink, table.bins);
	return error ? error : claim_own(sink, table.entries);
}

static int claim_id_table(const struct ruby *ruby, struct heap_sink *sink, uint64_t address)
{
	struct ruby_id_table table;
	int error = claim_own(sink, address);

	return error || !ruby_id_table_open(ruby, address, &table) ? error
								   : claim_own(sink, table.items);
}

/* Objects to be marked, and those still to be visited. */
static int claim_mark_stack(const struct ruby *ruby, struct heap_sink *sink)
{
	uint64_t place = ruby->objspace + ruby->layout->mark_stack;
	int error = 0;

	for (int list = 0; !error && list < 2; list++) {
		uint64_t at = target_word(ruby->memory, place + (uint64_t)list * 8);
		struct loop loop = {0};

		for (unsigned i = 0; !error && at && i < CHUNKS_MAX && !loop_found(&loop, at);
		     i++) {
			error = claim_own(sink, at);
			at = target_word(ruby->memory, at + CHUNK_NEXT);
		}
	}
	return error;
}

/* 3.1, transient_heap.c: struct transient_heap has three lists of blocks, a list of objects to be
 * moved out of them, and the arena that all blocks are in; words of objects that have left it stay
 * there. */
static int claim_arena(void *context, uint64_t address, uint64_t word)
{
	const struct claiming *claiming = context;
	struct target_memory *memory = claiming->ruby->memory;
	uint64_t lists[TRANSIENT_LISTS];

	if (word % TRANSIENT_BLOCK ||
	    target_room(memory, word, TRANSIENT_ARENA) != TRANSIENT_ARENA ||
	    target_read(memory, address - LISTS_BEFORE, lists, sizeof(lists)) || !lists[0])
		return 0;
	for (size_t i = 0; i < TRANSIENT_LISTS; i++) {
		if (lists[i] && (lists[i] % TRANSIENT_BLOCK || lists[i] - word >= TRANSIENT_ARENA))
			return 0;
	}
	if (heap_sink_claim(claiming->sink, word, TRANSIENT_ARENA, false))
		return -ENOMEM;
	return claim_own(claiming->sink, target_word(memory, address - PROMOTED_BEFORE));
}

/* Pages lead to their first slots. */
static int claim_heap(const struct ruby *ruby, struct heap_sink *sink)
{
	const struct ruby_layout *layout = ruby->layout;
	struct claiming claiming = {ruby, sink};
	int error = claim_own(sink, ruby->objspace);

	if (!error)
		error = claim_own(sink, target_word(ruby->memory, ruby->objspace + layout->sorted));
	for (size_t i = 0; !error && i < ruby->pages.count; i++)
		error = claim_own(sink, ruby->pages.items[i].address);
	if (!error)
		error = claim_mark_stack(ruby, sink);
	for (uint64_t i = 0; !error && i < 2; i++)
		error = claim_table(
			ruby, sink,
			target_word(ruby->memory, ruby->objspace + layout->id_tables + i * 8));
	return error || layout->shapes ? error : ruby_visit_variables(ruby, claim_arena, &claiming);
}

static int claim_variables(const struct ruby *ruby, struct heap_sink *sink)
{
	const struct maps *maps = ruby->memory->maps;
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t end = MIN(mapping->end, ruby->module->end);

		if (mapping->writable && mapping->start >= ruby->module->start &&
		    mapping->start < end)
			error = heap_sink_claim(sink, mapping->start, end - mapping->start, true);
	}
	return error;
}

static int claim_machine(const struct ruby *ruby, struct heap_sink *sink)
{
	const struct ruby_layout *layout = ruby->layout;
	int error = claim_own(sink, ruby->vm);

	for (size_t i = 0; !error && i < ARRAY_SIZE(layout->vm_weak_tables); i++) {
		if (layout->vm_weak_tables[i])
			error = claim_table(
				ruby, sink,
				target_word(ruby->memory, ruby->vm + layout->vm_weak_tables[i]));
	}
	if (!error)
		error = claim_id_table(
			ruby, sink, target_word(ruby->memory, ruby->vm + layout->vm_weak_id_table));
	return error ? error : claim_table(ruby, sink, ruby->symbol_table);
}

/* Global variables, and variables of objects without room for them: tables by their shapes. */

struct finding {
	struct ruby *ruby;
	struct heap_sink *sink;
	int error;
};

/* An ID table whose values repeat the key, with names of global variables. */
static bool is_globals(const struct ruby *ruby, const struct ruby_id_table *table)
{
	uint64_t serial, entry, seen = 0;
	char name[RUBY_NAME_BYTES];

	for (uint64_t i = 0; i < MIN(table->capacity, (uint64_t)ENTRIES_LOOKED_AT) && seen < PROVED;
	     i++) {
		uint64_t id;

		if (!ruby_id_table_item(ruby, table, i, &serial, &entry))
			continue;
		id = target_word(ruby->memory, entry + GLOBAL_ID);
		if (id >> 4 != serial || !ruby_serial_name(ruby, serial, name) || name[0] != '$')
			return false;
		seen++;
	}
	return seen == PROVED;
}

/* Its value; or where that is. */
static uint64_t global_value(const struct ruby *ruby, uint64_t entry)
{
	uint64_t variable = target_word(ruby->memory, entry);
	uint64_t data = target_word(ruby->memory, variable + GLOBAL_DATA), flags;

	if (ruby_object(ruby, data, &flags) || data % 8)
		return data;
	return target_word(ruby->memory, data);
}

static int add_globals(void *context, uint64_t address, uint64_t word)
{
	struct finding *finding = context;
	struct ruby *ruby = finding->ruby;
	struct ruby_id_table table;
	uint64_t serial, entry;

	(void)address;
	if (!ruby_id_table_open(ruby, word, &table) || table.count < GLOBALS_MIN ||
	    !is_globals(ruby, &table))
		return 0;
	for (uint64_t i = 0; !finding->error && i < table.capacity; i++) {
		char name[RUBY_NAME_BYTES];

		if (target_memory_overworked(ruby->memory))
			break;
		if (ruby_id_table_item(ruby, &table, i, &serial, &entry) &&
		    ruby_serial_name(ruby, serial, name))
			finding->error = heap_sink_root(finding->sink, RUBY_KEY, name,
							global_value(ruby, entry));
	}
	if (!finding->error)
		finding->error = claim_id_table(ruby, finding->sink, word);
	return 1;
}

static bool is_generic(const struct ruby *ruby, const struct ruby_table *table)
{
	uint64_t key, value, seen = 0;

	for (uint64_t i = table->first;
	     i < MIN(table->bound, table->first + ENTRIES_LOOKED_AT) && seen < PROVED; i++) {
		uint64_t flags;

		if (!ruby_table_entry(ruby, table, i, &key, &value))
			continue;
		if (!ruby_object(ruby, key, &flags) || !(flags & RUBY_EXIVAR) || value % 8 ||
		    !value)
			return false;
		seen++;
	}
	return seen > 0;
}

static int add_generic(void *context, uint64_t address, uint64_t word)
{
	struct finding *finding = context;
	struct ruby *ruby = finding->ruby;
	struct ruby_table table;
	uint64_t key, value;

	(void)address;
	if (!ruby_table_open(ruby, word, &table) || !is_generic(ruby, &table))
		return 0;
	for (uint64_t i = table.first; !finding->error && i < table.bound; i++) {
		uint64_t *added;

		if (target_memory_overworked(ruby->memory))
			break;
		if (!ruby_table_entry(ruby, &table, i, &key, &value))
			continue;
		added = hash_put(&ruby->generic, key, NULL);
		finding->error = added ? 0 : -ENOMEM;
		if (added)
			*added = value;
	}
	if (!finding->error)
		finding->error = claim_table(ruby, finding->sink, word);
	return 1;
}

static int add_tables(struct ruby *ruby, struct heap_sink *sink)
{
	struct finding finding = {ruby, sink, 0};

	ruby_visit_variables(ruby, add_globals, &finding);
	if (!finding.error)
		ruby_visit_variables(ruby, add_generic, &finding);
	return finding.error;
}

/* Threads. */

/* What a context has on its stack; a thread's first one belongs to no object. */
static int add_context(struct ruby *ruby, struct heap_sink *sink, uint64_t ec)
{
	const struct ruby_context context = {ruby, sink, ec, BLOCK_NONE, NULL};
	int error = claim_own(sink, ec);

	return error ? error : ruby_context_refer(&context);
}

static int add_thread(struct ruby *ruby, struct heap_sink *sink, uint64_t thread, unsigned number)
{
	const struct ruby_layout *layout = ruby->layout;
	uint64_t ec = target_word(ruby->memory, thread + layout->thread_ec);
	uint64_t first = target_word(ruby->memory, thread + layout->thread_root_fiber);
	char name[32];
	int error;

	snprintf(name, sizeof(name), number ? "thread %u" : "main thread", number + 1);
	error = heap_sink_root(sink, RUBY_KEY, name,
			       target_word(ruby->memory, thread + THREAD_SELF));
	if (!error && ec)
		error = add_context(ruby, sink, ec);
	if (!error && first && first + RUBY_FIBER_EC != ec)
		error = add_context(ruby, sink, first + RUBY_FIBER_EC);
	return error;
}

static int add_ractor(struct ruby *ruby, struct heap_sink *sink, uint64_t ractor, unsigned *number)
{
	uint64_t head = ractor + ruby->layout->ractor_threads;
	uint64_t at = target_word(ruby->memory, head);
	struct loop loop = {0};
	int error = 0;

	for (; !error && at && at != head && *number < THREADS_MAX && !loop_found(&loop, at);
	     at = target_word(ruby->memory, at)) {
		if (target_memory_overworked(ruby->memory))
			break;
		error = add_thread(ruby, sink, at, (*number)++);
	}
	return error;
}

static int add_ractors(struct ruby *ruby, struct heap_sink *sink)
{
	uint64_t head = ruby->vm + VM_RACTORS, at = target_word(ruby->memory, head);
	struct loop loop = {0};
	unsigned number = 0;
	int error = 0;

	for (; !error && at && at != head && !loop_found(&loop, at);
	     at = target_word(ruby->memory, at))
		error = add_ractor(ruby, sink, at - ruby->layout->ractor_node, &number);
	return error;
}

/* The machine's own. */

static int add_machine(struct ruby *ruby, struct heap_sink *sink)
{
	int error = 0;

	for (uint64_t at = 0; !error && at < ruby->layout->vm_words_end; at += 8) {
		uint64_t value = target_word(ruby->memory, ruby->vm + at), flags;

		if (ruby_object(ruby, value, &flags))
			error = heap_sink_own_root(sink, RUBY_KEY, "Ruby itself", value);
	}
	return error;
}

/* gc.c: rb_gc_register_address(). {address, next} */
static int add_registered(struct ruby *ruby, struct heap_sink *sink)
{
	const struct ruby_layout *layout = ruby->layout;
	uint64_t at = target_word(ruby->memory, layout->vm_objects
							? ruby->vm + layout->vm_objects
							: ruby->objspace + layout->global_list);
	struct loop loop = {0};
	int error = 0;

	for (; !error && at && !loop_found(&loop, at); at = target_word(ruby->memory, at + 8)) {
		uint64_t place = target_word(ruby->memory, at);
		uint64_t value = target_word(ruby->memory, place);
		const struct data_module *module = data_modules_at(ruby->memory->modules, place);
		char name[ROOT_BYTES];

		if (module == ruby->module) {
			error = heap_sink_own_root(sink, RUBY_KEY, "Ruby itself", value);
			continue;
		}
		snprintf(name, sizeof(name), "variable of %.200s",
			 module ? text_path_base(module->path) : "a C extension");
		error = heap_sink_root(sink, RUBY_KEY, name, value);
	}
	return error;
}

/* The table leads from objects, which it does not hold, to lists of their finalizers. */
static int add_finalizers(struct ruby *ruby, struct heap_sink *sink)
{
	uint64_t address = target_word(ruby->memory, ruby->objspace + ruby->layout->finalizers);
	struct ruby_table table;
	uint64_t key, value;
	int error = 0;

	if (!ruby_table_open(ruby, address, &table))
		return 0;
	for (uint64_t i = table.first; !error && i < table.bound; i++) {
		if (target_memory_overworked(ruby->memory))
			break;
		if (ruby_table_entry(ruby, &table, i, &key, &value))
			error = heap_sink_root(sink, RUBY_KEY, "finalizers", value);
	}
	return error ? error : claim_table(ruby, sink, address);
}

/* They wait for the sweep with the blocks that they have. */
static int add_garbage(struct ruby *ruby, struct heap_sink *sink)
{
	const uint64_t *class = hash_get(&ruby->classes, RUBY_KEY_GARBAGE);
	int error = 0;

	for (uint32_t i = 0; class && !error && i < sink->count; i++) {
		if (node_has_class(sink->whats[i]) && !(sink->whats[i] & NODE_PART) &&
		    (sink->whats[i] & NODE_CLASS) == *class - 1)
			error = heap_sink_waiting_root(
				sink, RUBY_KEY, "garbage that awaits the sweep", sink->starts[i]);
	}
	return error;
}

int ruby_roots(void *state, struct heap_sink *sink)
{
	static int (*const steps[])(struct ruby * ruby, struct heap_sink * sink) = {
		add_constants,	add_tables,	add_ractors, add_machine,
		add_registered, add_finalizers, add_garbage,
	};
	static int (*const claims[])(const struct ruby *ruby, struct heap_sink *sink) = {
		claim_heap, claim_machine, claim_variables};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(steps); i++)
		error = steps[i](state, sink);
	for (size_t i = 0; !error && i < ARRAY_SIZE(claims); i++)
		error = claims[i](state, sink);
	return error;
}
