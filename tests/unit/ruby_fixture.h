/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small Ruby program: a constant CACHE with sessions, a global $list, a thread that
 * runs and one that has ended, a finalizer, a weak map, a string with a variable, one slot that
 * awaits the sweep. The layout is the n-th of the reader's.
 */
#ifndef LEAKMON_UNIT_RUBY_FIXTURE_H
#define LEAKMON_UNIT_RUBY_FIXTURE_H

#include "heap/runtime/ruby/ruby.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_DATA 0x10000u
#define FORGED_MALLOC 0x20000u
#define FORGED_HEAP 0x40000u
#define FORGED_LARGE 0x50000u /* a page with room for classes */
#define FORGED_BYTES 0x60000u
#define FORGED_SLOTS 200u
#define FORGED_LARGE_BYTES 320u
#define FORGED_LARGE_SLOTS 20u
#define FORGED_CACHED 3
#define FORGED_GLOBALS 8
#define FORGED_SERIAL 520u
#define FORGED_SERIALS 600u

enum forged_version { FORGED_3_4, FORGED_3_3, FORGED_3_1 };

struct forged {
	struct forged_memory memory;
	const struct ruby_layout *layout;
	uint64_t next, next_large, next_text; /* slots, and where the next text comes */
	uint32_t next_serial;
	uint64_t class, object, string, array, hash, session, thread_class, weak_class;
	uint64_t symbols, names; /* the second array of names */
	uint64_t vm, objspace, pages[2], ec, stack;
	uint64_t cached[FORGED_CACHED], cache, list, local, listed, finalizer, weak, only_weak;
	uint64_t held, variable, garbage, garbage_block, thread, ended, noted;
};

static inline uint64_t forged_slot(struct forged *forged, uint64_t flags, uint64_t class)
{
	uint64_t slot = forged->next;

	forged->next += RUBY_SLOT_BYTES;
	forged_put(slot, flags);
	forged_put(slot + 8, class);
	return slot;
}

static inline uint64_t forged_text(struct forged *forged, const char *text)
{
	uint64_t place = forged->next_text;

	forged_put_text(place, text);
	forged->next_text += (strlen(text) + 16) / 16 * 16;
	return place;
}

/* One whose letters are in the program's data. */
static inline uint64_t forged_string(struct forged *forged, const char *text)
{
	uint64_t slot = forged_slot(forged, RUBY_STRING | RUBY_USER(1), forged->string);

	forged_put(slot + 16, strlen(text));
	forged_put(slot + 24, forged_text(forged, text));
	return slot;
}

/* Returns the ID. */
static inline uint64_t forged_name(struct forged *forged, const char *text)
{
	uint32_t serial = forged->next_serial++;

	forged_put(forged->names + (serial % 512) * 16ull, forged_string(forged, text));
	return (uint64_t)serial << 4 | 8;
}

/* `count` elements at `items`. */
static inline uint64_t forged_array_of(struct forged *forged, uint64_t items, uint64_t count)
{
	uint64_t slot = forged_slot(forged, RUBY_ARRAY, forged->array);

	forged_put(slot + 16, count);
	forged_put(slot + 24, count);
	forged_put(slot + 32, items);
	return slot;
}

static inline uint64_t forged_id_table(struct forged *forged, uint32_t capacity)
{
	uint64_t table = forged_memory_malloc(&forged->memory, 24);

	forged_put(table, capacity);
	forged_put(table + 16, forged_memory_malloc(&forged->memory, capacity * 16ull));
	return table;
}

static inline void forged_id_item(uint64_t table, uint64_t id, uint64_t value)
{
	uint64_t count = forged_word(table) >> 32, items = forged_word(table + 16);

	forged_put(items + count * 16, id >> 4);
	forged_put(items + count * 16 + 8, value);
	forged_put(table, (forged_word(table) & UINT32_MAX) | (count + 1) << 32);
}

/* One with one entry. */
static inline uint64_t forged_table(struct forged *forged, uint64_t key, uint64_t value)
{
	uint64_t table = forged_memory_malloc(&forged->memory, 56);
	uint64_t entries = forged_memory_malloc(&forged->memory, 2 * RUBY_TABLE_ENTRY);

	forged_put(table, 1);
	forged_put(table + 16, 1);
	forged_put(table + 40, 1);
	forged_put(table + 48, entries);
	forged_put(entries, 7);
	forged_put(entries + 8, key);
	forged_put(entries + 16, value);
	return table;
}

/* Without a name yet. */
static inline uint64_t forged_class(struct forged *forged)
{
	uint64_t slot = forged->next_large;

	if (!forged->layout->shapes) {
		slot = forged_slot(forged, RUBY_CLASS, forged->class);
		forged_put(slot + 24, forged_memory_malloc(&forged->memory, 112));
		return slot;
	}
	forged->next_large += FORGED_LARGE_BYTES;
	forged_put(slot, RUBY_CLASS);
	forged_put(slot + 8, forged->class);
	return slot;
}

static inline void forged_class_path(struct forged *forged, uint64_t class, const char *name,
				     uint64_t classpath_id)
{
	uint64_t path = forged_string(forged, name);

	if (forged->layout->shapes)
		forged_put(class + 152, path);
	else
		forged_put(forged_word(class + 24) + 8, forged_table(forged, classpath_id, path));
}

static inline void forged_page(struct forged *forged, unsigned number, uint64_t body,
			       uint32_t slot_bytes, uint32_t slots)
{
	const struct ruby_layout *layout = forged->layout;
	uint64_t page = forged_memory_malloc(&forged->memory, 1800);

	forged->pages[number] = page;
	forged_put(page, slot_bytes | slots << 16);
	forged_put(page + layout->page_start, body + slot_bytes);
	forged_put(body, page);
}

static inline void forged_heap(struct forged *forged)
{
	const struct ruby_layout *layout = forged->layout;
	struct forged_memory *memory = &forged->memory;
	uint64_t sorted, data, count = layout->shapes ? 2 : 1;

	forged->vm = forged_memory_malloc(memory, 1400);
	forged->objspace = forged_memory_malloc(memory, 2700);
	forged_put(memory->base + 0x300, forged->vm);
	forged_put(forged->vm + layout->vm_objspace, forged->objspace);
	forged_page(forged, 0, memory->base + FORGED_HEAP, RUBY_SLOT_BYTES, FORGED_SLOTS);
	if (layout->shapes)
		forged_page(forged, 1, memory->base + FORGED_LARGE, FORGED_LARGE_BYTES,
			    FORGED_LARGE_SLOTS);
	sorted = forged_memory_malloc(memory, 32);
	data = layout->sorted_array ? sorted + 16 : sorted;
	forged_put(data, forged->pages[0]);
	forged_put(data + 8, forged->pages[1]);
	forged_put(forged->objspace + layout->sorted, sorted);
	forged_put(layout->sorted_array ? sorted : forged->objspace + layout->sorted + 8, count);
	forged->next = memory->base + FORGED_HEAP + RUBY_SLOT_BYTES;
	forged->next_large = memory->base + FORGED_LARGE + FORGED_LARGE_BYTES;
}

/* symbol.c: global_symbols */
static inline void forged_symbol_names(struct forged *forged)
{
	uint64_t variables = forged->memory.base + 0x400, arrays;

	forged->names = forged_memory_malloc(&forged->memory, 64 * 16);
	arrays = forged_memory_malloc(&forged->memory, 16);
	forged_put(arrays, forged_slot(forged, RUBY_ARRAY | RUBY_USER(1), 0));
	forged_put(arrays + 8, forged_array_of(forged, forged->names, 1024));
	forged_put(variables, FORGED_SERIALS);
	forged->symbols = forged_table(forged, 0, 0);
	forged_put(variables + 8, forged->symbols);
	forged_put(variables + 16, forged_array_of(forged, arrays, 2));
	forged_put(variables + 24, forged_slot(forged, RUBY_HASH, 0));
	forged->next_serial = FORGED_SERIAL;
}

static inline void forged_classes(struct forged *forged)
{
	uint64_t *const classes[] = {&forged->class,	    &forged->object,	&forged->string,
				     &forged->array,	    &forged->hash,	&forged->session,
				     &forged->thread_class, &forged->weak_class};
	static const char *const names[] = {"Class", "Object",	"String", "Array",
					    "Hash",  "Session", "Thread", "WeakMap"};
	uint64_t id = 0;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		*classes[i] = forged_class(forged);
	forged_put(forged->class + 8, forged->class);
	forged_symbol_names(forged);
	if (!forged->layout->shapes)
		id = forged_name(forged, "__classpath__");
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		forged_class_path(forged, *classes[i], names[i], id);
}

/* Sessions have one variable, @held: 3.1 by their class, later ones by shape 6. */
static inline void forged_shapes(struct forged *forged)
{
	uint64_t id = forged_name(forged, "@held"), tree, list, place;

	if (!forged->layout->shapes) {
		place = forged_memory_malloc(&forged->memory, 16);
		forged_put(forged_word(forged->session + 24), forged_table(forged, id, place));
		return;
	}
	tree = forged_memory_malloc(&forged->memory, 40);
	list = forged_memory_malloc(&forged->memory, 8 * 40);
	forged_put(list + 24, (uint64_t)UINT32_MAX << 32);
	forged_put(list + 6 * 40 + 8, id);
	forged_put(list + 6 * 40 + 16, 1);
	forged_put(list + 6 * 40 + 24, 1);
	forged_put(tree, list);
	forged_put(tree + 8, list);
	forged_put(tree + 16, 7);
	forged_put(forged->memory.base + 0x500, tree);
}

static inline uint64_t forged_session(struct forged *forged, uint64_t held)
{
	uint64_t shape = forged->layout->shapes ? 6ull << 32 : 0;
	uint64_t slot = forged_slot(forged, RUBY_OBJECT | RUBY_USER(1) | shape, forged->session);

	forged_put(slot + 16, held);
	if (!forged->layout->shapes) {
		forged_put(slot + 24, forged->layout->undefined);
		forged_put(slot + 32, forged->layout->undefined);
	}
	return slot;
}

static inline void forged_constants(struct forged *forged)
{
	uint64_t table = forged_id_table(forged, 4), items, entry, extension;

	items = forged_memory_malloc(&forged->memory, FORGED_CACHED * 8);
	forged->held = forged_string(forged, "contents");
	for (size_t i = 0; i < FORGED_CACHED; i++) {
		forged->cached[i] = forged_session(forged, forged->held);
		forged_put(items + i * 8, forged->cached[i]);
	}
	forged->cache = forged_array_of(forged, items, FORGED_CACHED);
	entry = forged_memory_malloc(&forged->memory, 24);
	forged_put(entry + 8, forged->cache);
	forged_id_item(table, forged_name(forged, "CACHE"), entry);
	entry = forged_memory_malloc(&forged->memory, 24);
	forged_put(entry + 8, forged->session);
	forged_id_item(table, forged_name(forged, "Session"), entry);
	extension = forged->layout->shapes ? forged->object + 40
					   : forged_word(forged->object + 24) + 24;
	forged_put(extension, table);
	forged_put(forged->memory.base + 0x200, forged->object);
}

/* $list is a hash with a symbol for a key; the others are nil. */
static inline void forged_globals(struct forged *forged)
{
	uint64_t table = forged_id_table(forged, FORGED_GLOBALS), key, pairs, flags;
	uint64_t place = forged->memory.base + 0x700;

	key = forged_name(forged, "entry");
	forged->listed = forged_session(forged, forged->held);
	flags = RUBY_HASH | 1ull << (12 + 4) | 1ull << (12 + 8);
	forged->list = forged_slot(forged, flags, forged->hash);
	if (forged->layout->shapes) {
		/* A hash takes a larger slot. */
		forged_put(forged->list, 0);
		forged->list = forged->next_large;
		forged->next_large += FORGED_LARGE_BYTES;
		forged_put(forged->list, flags);
		forged_put(forged->list + 8, forged->hash);
		pairs = forged->list + 32;
	} else {
		pairs = forged_memory_malloc(&forged->memory, 128);
		forged_put(forged->list + 16, pairs);
	}
	forged_put(pairs, key << 8 | 0x0c);
	forged_put(pairs + 8, forged->listed);
	forged_put(place, forged->list);
	for (unsigned i = 0; i < FORGED_GLOBALS; i++) {
		uint64_t entry = forged_text(forged, "entry of a table, 40 bytes or more are here");
		uint64_t variable = entry + 24, id;
		char name[8] = "$list";

		if (i)
			snprintf(name, sizeof(name), "$g%u", i);
		id = forged_name(forged, name);
		memset(forged_memory_place(entry), 0, 40);
		forged_put(entry, variable);
		forged_put(entry + 8, id);
		forged_put(variable + 8, i ? place + 8 : place);
		forged_id_item(table, id, entry);
	}
	forged_put(forged->memory.base + 0x600, table);
}

static inline uint64_t forged_data(struct forged *forged, uint64_t class, const char *kind,
				   uint64_t data)
{
	uint64_t slot = forged_slot(forged, RUBY_DATA, class);
	uint64_t type = forged_text(forged, "a word");

	forged_put(type, forged_text(forged, kind));
	forged_put(slot + 16, type);
	forged_put(slot + 24, 1);
	forged_put(slot + 32, data);
	return slot;
}

/* A method with one local variable, which is all that its stack has. */
static inline void forged_frame(struct forged *forged)
{
	const struct ruby_layout *layout = forged->layout;
	uint64_t body = forged_memory_malloc(&forged->memory, 320), end = forged->stack + 512;
	uint64_t locals = forged_memory_malloc(&forged->memory, 8), frame, scope;
	uint64_t code = forged_slot(forged, RUBY_IMEMO | (uint64_t)IMEMO_ISEQ << 12, 0);

	forged->local = forged_session(forged, forged->held);
	forged_put(locals, forged_name(forged, "mine"));
	forged_put(body + 72, forged_string(forged, "work"));
	forged_put(body + layout->local_table, locals);
	forged_put(body + layout->local_count, 1);
	forged_put(code + 16, body);
	frame = end - layout->frame_bytes;
	scope = forged->stack + 5 * 8;
	forged_put(scope - 3 * 8, forged->local);
	forged_put(scope, 2);
	forged_put(frame + 8, scope + 8);
	forged_put(frame + 16, code);
	forged_put(frame + 24, forged->session);
	forged_put(frame + 32, scope);
	forged_put(forged->ec, forged->stack);
	forged_put(forged->ec + 8, 512 / 8);
	forged_put(forged->ec + 16, frame);
}

static inline void forged_threads(struct forged *forged)
{
	const struct ruby_layout *layout = forged->layout;
	struct forged_memory *memory = &forged->memory;
	uint64_t ractor = forged_memory_malloc(memory, 700), thread, other;

	thread = forged_memory_malloc(memory, 480);
	other = forged_memory_malloc(memory, 480);
	forged->ec = forged_memory_malloc(memory, 400);
	forged->stack = forged_memory_malloc(memory, 512);
	forged_put(forged->vm + 8, ractor + layout->ractor_node);
	forged_put(ractor + layout->ractor_node, forged->vm + 8);
	forged_put(ractor + layout->ractor_threads, thread);
	forged_put(thread, ractor + layout->ractor_threads);
	forged_put(thread + 24, ractor);
	forged_put(thread + 32, forged->vm);
	forged_put(thread + layout->thread_ec, forged->ec);
	forged->thread = forged_data(forged, forged->thread_class, "VM/thread", thread);
	forged_put(thread + 16, forged->thread);
	forged_put(other + layout->thread_status / 8 * 8, 3ull << layout->thread_status % 8 * 8);
	forged->ended = forged_data(forged, forged->thread_class, "VM/thread", other);
	forged_frame(forged);
}

/* Only the table of finalizers leads to the finalizer; nothing leads to the object. */
static inline void forged_others(struct forged *forged)
{
	const struct ruby_layout *layout = forged->layout;
	struct forged_memory *memory = &forged->memory;
	uint64_t weak = forged_memory_malloc(memory, 24), table, values;

	forged->finalizer = forged_array_of(forged, forged_memory_malloc(memory, 16), 1);
	forged_put(forged_word(forged->finalizer + 32), forged->ended);
	forged->only_weak = forged_session(forged, forged->held);
	forged_put(forged->objspace + layout->finalizers,
		   forged_table(forged, forged->only_weak, forged->finalizer));
	table = forged_table(forged, forged->only_weak, forged->only_weak);
	forged_put(weak, table);
	forged->weak = forged_data(forged, forged->weak_class, "weakmap", weak);
	forged_put(forged->listed + 16, forged->weak);
	/* A string with @held, in a table of the interpreter's. */
	forged->noted = forged_string(forged, "noted");
	forged_put(forged->noted,
		   forged_word(forged->noted) | RUBY_EXIVAR | (layout->shapes ? 6ull << 32 : 0));
	values = forged_memory_malloc(memory, 16);
	forged->variable = forged_session(forged, forged->held);
	forged_put(values, 1);
	forged_put(values + 8, forged->variable);
	forged_put(memory->base + 0x608, forged_table(forged, forged->noted, values));
	forged_put(forged->cached[0] + 16, forged->noted);
}

/* Of the first page everything is marked but one array. */
static inline void forged_garbage(struct forged *forged)
{
	uint64_t page = forged->pages[0], bit, place;

	forged->garbage_block = forged_memory_malloc(&forged->memory, 64);
	forged->garbage = forged_array_of(forged, forged->garbage_block, 8);
	forged_put(page + 8, 1ull << 32);
	bit = (forged->garbage & (forged->layout->page_bytes - 1)) / RUBY_SLOT_BYTES;
	place = page + forged->layout->mark_bits;
	memset(forged_memory_place(place), 0xff, 56);
	forged_put(place + bit / 64 * 8, ~(1ull << bit % 64));
}

static inline bool forged_make_version(struct forged *forged, enum forged_version version)
{
	uint64_t numbers;

	*forged = (struct forged){.layout = ruby_layout_at(version)};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_MALLOC))
		return false;
	forged->next_text = FORGED_BASE + 0x1000;
	numbers = forged_memory_symbol(&forged->memory, "ruby_api_version", 0x100, 12);
	forged_put(numbers, (forged->layout->version >> 8) |
				    (uint64_t)(forged->layout->version & 0xff) << 32);
	forged_memory_symbol(&forged->memory, "rb_cObject", 0x200, 8);
	forged_heap(forged);
	forged_classes(forged);
	forged_shapes(forged);
	forged_constants(forged);
	forged_globals(forged);
	forged_threads(forged);
	forged_others(forged);
	forged_garbage(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

static inline bool forged_make(struct forged *forged)
{
	return forged_make_version(forged, FORGED_3_3);
}

#endif
