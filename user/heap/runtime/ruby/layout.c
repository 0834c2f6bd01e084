// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the interpreter by its shape: in stripped libraries only few variables have names. A layout
 * is believed if all that it says fits together: a word of the interpreter's variables leads to
 * rb_vm_t, this to the heap and to threads that lead back; each page's memory leads back to the
 * page; symbols, shapes and class names lead to the name of the class Object.
 */
#include "heap/runtime/ruby/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"

#define WINDOW_WORDS 512
#define PAGES_MAX (1ull << 24)

/* The same in all of them. rb_vm_t, rb_thread_t */
#define VM_RACTORS 8
#define THREAD_RACTOR 24
#define THREAD_MACHINE 32
/* struct heap_page */
#define PAGE_SLOT_BYTES 0
#define PAGE_SLOTS 2
/* A darray: size, capacity, data. */
#define DARRAY_DATA 16
#define FLAGS_COMPACTING (1u << 6)
#define FLAGS_UPDATING (1u << 7) /* from 3.3 on */

static const struct ruby_layout layouts[] = {
	{.version = 0x0304,
	 .vm_objspace = 1296,
	 .vm_objects = 520,
	 .vm_words_end = 1336,
	 .vm_weak_tables = {1320, 1336, 1352, 1360},
	 .vm_weak_id_table = 1344,
	 .flags = 20,
	 .mark_stack = 784,
	 .sorted = 832,
	 .sorted_array = true,
	 .finalizers = 896,
	 .id_tables = 2184,
	 .page_start = 40,
	 .mark_bits = 280,
	 .page_bytes = 65536,
	 .ractor_node = 432,
	 .ractor_threads = 256,
	 .thread_ec = 48,
	 .thread_status = 240,
	 .thread_root_fiber = 424,
	 .thread_bytes = 464,
	 .ec_bytes = 144,
	 .frame_bytes = 56,
	 .local_table = 144,
	 .local_count = 232,
	 .fiber_first_proc = 656,
	 .fiber_stack_pointer = 688,
	 .fiber_stack = 704,
	 .shared = RUBY_USER(0),
	 .singleton = RUBY_USER(1),
	 .shapes = true,
	 .undefined = 0x24},
	{.version = 0x0303,
	 .vm_objspace = 1304,
	 .vm_words_end = 1344,
	 .vm_weak_tables = {1320, 1344, 1360, 0},
	 .vm_weak_id_table = 1352,
	 .flags = 16,
	 .mark_stack = 1160,
	 .sorted = 1208,
	 .finalizers = 1280,
	 .global_list = 1464,
	 .id_tables = 2576,
	 .page_start = 32,
	 .mark_bits = 272,
	 .page_bytes = 65536,
	 .ractor_node = 432,
	 .ractor_threads = 256,
	 .thread_ec = 48,
	 .thread_status = 240,
	 .thread_root_fiber = 408,
	 .thread_bytes = 448,
	 .ec_bytes = 152,
	 .frame_bytes = 56,
	 .local_table = 144,
	 .local_count = 232,
	 .fiber_first_proc = 672,
	 .fiber_stack_pointer = 704,
	 .fiber_stack = 720,
	 .shared = RUBY_USER(2),
	 .singleton = RUBY_USER(0),
	 .shapes = true,
	 .undefined = 0x24},
	{.version = 0x0301,
	 .vm_objspace = 1104,
	 .vm_words_end = 1144,
	 .vm_weak_tables = {1120, 1152, 0, 0},
	 .vm_weak_id_table = 1144,
	 .flags = 16,
	 .mark_stack = 208,
	 .sorted = 256,
	 .finalizers = 328,
	 .global_list = 496,
	 .id_tables = 1104,
	 .page_start = 32,
	 .mark_bits = 120,
	 .page_bytes = 16384,
	 .ractor_node = 568,
	 .ractor_threads = 304,
	 .thread_ec = 40,
	 .thread_status = 92,
	 .thread_root_fiber = 328,
	 .thread_bytes = 360,
	 .ec_bytes = 144,
	 .frame_bytes = 64,
	 .local_table = 152,
	 .local_count = 240,
	 .fiber_first_proc = 504,
	 .fiber_stack_pointer = 536,
	 .fiber_stack = 552,
	 .shared = RUBY_USER(2),
	 .singleton = RUBY_USER(0),
	 .undefined = 0x34},
};

const struct ruby_layout *ruby_layout_at(size_t n)
{
	return n < ARRAY_SIZE(layouts) ? &layouts[n] : NULL;
}

const struct data_module *ruby_find_module(const struct target_memory *memory)
{
	const struct data_modules *modules = memory->modules;

	for (size_t i = 0; modules && i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (target_variable(module, "ruby_api_version") &&
		    target_variable(module, "rb_cObject"))
			return module;
	}
	return NULL;
}

static int visit_words(const struct ruby *ruby, uint64_t start, uint64_t end,
		       ruby_visit_word *visit, void *context)
{
	uint64_t words[WINDOW_WORDS];
	int error = 0;

	for (uint64_t at = start; !error && at < end; at += sizeof(words)) {
		size_t count = (size_t)MIN((end - at) / 8, (uint64_t)WINDOW_WORDS);

		if (target_read(ruby->memory, at, words, count * 8))
			continue;
		for (size_t i = 0; !error && i < count; i++) {
			if (words[i])
				error = visit(context, at + i * 8, words[i]);
		}
	}
	return error;
}

int ruby_visit_variables(const struct ruby *ruby, ruby_visit_word *visit, void *context)
{
	const struct maps *maps = ruby->memory->maps;
	const struct data_module *module = ruby->module;
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t end = MIN(mapping->end, module->end);

		if (mapping->writable && !mapping->shared && mapping->start >= module->start &&
		    mapping->start < end)
			error = visit_words(ruby, mapping->start, end, visit, context);
	}
	return error;
}

/* The heap's pages. */

static bool page_at(const struct ruby *ruby, uint64_t address, struct ruby_page *page)
{
	const struct ruby_layout *layout = ruby->layout;
	uint64_t mask = layout->page_bytes - 1;
	uint16_t head[2];

	*page = (struct ruby_page){.address = address};
	if (address % 8 || target_read(ruby->memory, address, head, sizeof(head)))
		return false;
	page->slot_bytes = head[PAGE_SLOT_BYTES / 2];
	page->slots = head[PAGE_SLOTS / 2];
	page->first = target_word(ruby->memory, address + layout->page_start);
	page->body = page->first & ~mask;
	return page->first % 8 == 0 && page->slot_bytes % RUBY_SLOT_BYTES == 0 &&
	       page->slot_bytes && page->slot_bytes <= RUBY_SLOT_MAX && page->slots &&
	       (page->first & mask) + (uint64_t)page->slots * page->slot_bytes <= mask + 1 &&
	       target_word(ruby->memory, page->body) == address;
}

static uint64_t page_list(const struct ruby *ruby, uint64_t *count)
{
	const struct ruby_layout *layout = ruby->layout;
	uint64_t sorted = target_word(ruby->memory, ruby->objspace + layout->sorted);

	*count = target_word(ruby->memory,
			     layout->sorted_array ? sorted : ruby->objspace + layout->sorted + 8);
	return layout->sorted_array ? sorted + DARRAY_DATA : sorted;
}

static bool has_pages(const struct ruby *ruby)
{
	struct ruby_page page;
	uint64_t count, list = page_list(ruby, &count);

	if (!list || list % 8 || !count || count > PAGES_MAX)
		return false;
	return page_at(ruby, target_word(ruby->memory, list), &page) &&
	       page_at(ruby, target_word(ruby->memory, list + count / 2 * 8), &page) &&
	       page_at(ruby, target_word(ruby->memory, list + (count - 1) * 8), &page);
}

static int read_pages(struct ruby *ruby)
{
	uint64_t count, list = page_list(ruby, &count), end = 0;

	for (uint64_t i = 0; i < MIN(count, PAGES_MAX); i++) {
		struct ruby_page page, *added;

		if (target_memory_overworked(ruby->memory))
			break;
		if (!page_at(ruby, target_word(ruby->memory, list + i * 8), &page) ||
		    page.body < end) {
			ruby->unread_pages++;
			continue;
		}
		end = page.body + ruby->layout->page_bytes;
		added = vec_push(&ruby->pages);
		if (!added)
			return -ENOMEM;
		*added = page;
	}
	return ruby->pages.count ? 0 : -ENOENT;
}

bool ruby_is_compacting(const struct ruby *ruby)
{
	uint64_t flags = target_word(ruby->memory, ruby->objspace + ruby->layout->flags);

	return flags & FLAGS_COMPACTING || (ruby->layout->shapes && flags & FLAGS_UPDATING);
}

/* The machine: a word of the variables leads to it. */

static bool has_threads(const struct ruby *ruby)
{
	const struct ruby_layout *layout = ruby->layout;
	uint64_t node = target_word(ruby->memory, ruby->vm + VM_RACTORS);
	uint64_t ractor = node - layout->ractor_node;
	uint64_t thread = target_word(ruby->memory, ractor + layout->ractor_threads);

	return node && thread && target_word(ruby->memory, thread + THREAD_RACTOR) == ractor &&
	       target_word(ruby->memory, thread + THREAD_MACHINE) == ruby->vm;
}

/* The failed check of the candidate that passed most checks. */
struct search {
	struct ruby *ruby;
	bool has_heap;
};

static int try_machine(void *context, uint64_t address, uint64_t word)
{
	struct search *search = context;
	struct ruby *ruby = search->ruby;

	(void)address;
	if (word % 8)
		return 0;
	ruby->vm = word;
	ruby->objspace = target_word(ruby->memory, word + ruby->layout->vm_objspace);
	if (!ruby->objspace || ruby->objspace % 8 || !has_pages(ruby))
		return 0;
	search->has_heap = true;
	return has_threads(ruby);
}

/* Returns NULL, or the check that failed. */
static const char *find_machine(struct ruby *ruby)
{
	struct search search = {.ruby = ruby};

	if (ruby_visit_variables(ruby, try_machine, &search))
		return NULL;
	return search.has_heap ? "its threads are not where this version has them"
			       : "its heap pages are not where this version has them: another "
				 "version, or another build of it";
}

/* symbol.c: global_symbols {last_id, str_sym, ids, dsymbol_fstr_hash}. */
static int try_symbols(void *context, uint64_t address, uint64_t word)
{
	struct ruby *ruby = context;
	uint64_t items, count, inner, inner_count;
	struct ruby_table table;

	if (!ruby_array(ruby, word, &items, &count) ||
	    !ruby_table_open(ruby, target_word(ruby->memory, address - 8), &table) ||
	    !ruby_is_type(ruby, target_word(ruby->memory, address + 8), RUBY_HASH))
		return 0;
	ruby->last_serial = (uint32_t)target_word(ruby->memory, address - 16);
	if (count < ruby->last_serial / 512 + 1 || ruby->last_serial < 512 ||
	    !ruby_array(ruby, target_word(ruby->memory, items), &inner, &inner_count))
		return 0;
	ruby->ids = word;
	ruby->symbol_table = target_word(ruby->memory, address - 8);
	return 1;
}

/* shape.h: rb_shape_tree_t {shape_list, root_shape, next_shape_id}; the root is the first one. */
static int try_shapes(void *context, uint64_t address, uint64_t word)
{
	struct ruby *ruby = context;
	uint64_t tree[3];
	uint32_t root[10];

	(void)address;
	if (word % 8 || target_read(ruby->memory, word, tree, sizeof(tree)) || !tree[0] ||
	    tree[0] % 8 || tree[0] != tree[1] || (uint32_t)tree[2] < 6 ||
	    (uint32_t)tree[2] > 1u << 19 ||
	    target_read(ruby->memory, tree[0], root, sizeof(root)) || root[4] || (root[6] & 0xff) ||
	    root[7] < 1u << 19)
		return 0;
	ruby->shape_list = tree[0];
	ruby->shape_count = (uint32_t)tree[2];
	return 1;
}

static bool has_object_class(struct ruby *ruby)
{
	char name[RUBY_NAME_BYTES];

	ruby->object_class = target_word(ruby->memory, target_variable(ruby->module, "rb_cObject"));
	return ruby_is_type(ruby, ruby->object_class, RUBY_CLASS) &&
	       ruby_class_path(ruby, ruby->object_class, name) && !strcmp(name, "Object");
}

/* All of one layout. 0; -ENOENT with *why; -ENOMEM. */
static int prove(struct ruby *ruby, const struct ruby_layout *layout, const char **why)
{
	int error;

	ruby->layout = layout;
	ruby->pages.count = 0;
	ruby->unread_pages = 0;
	ruby->classpath_id = 0;
	*why = find_machine(ruby);
	if (*why)
		return -ENOENT;
	error = read_pages(ruby);
	if (error)
		return error;
	*why = "its symbols are not where this version has them";
	if (!ruby_visit_variables(ruby, try_symbols, ruby))
		return -ENOENT;
	*why = "the shapes of its objects are not where this version has them";
	if (layout->shapes && !ruby_visit_variables(ruby, try_shapes, ruby))
		return -ENOENT;
	*why = "the names of its classes are not where this version has them";
	return has_object_class(ruby) ? 0 : -ENOENT;
}

static const struct ruby_layout *layout_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].version == version)
			return &layouts[i];
	}
	return NULL;
}

/* 3.1.2 -> 0x0301; 0: not to be read. */
static uint32_t read_version(struct ruby *ruby, char version[24])
{
	uint64_t place = target_variable(ruby->module, "ruby_api_version");
	uint32_t numbers[3];

	if (target_read(ruby->memory, place, numbers, sizeof(numbers)) || numbers[0] > 255 ||
	    numbers[1] > 255)
		return 0;
	snprintf(version, 24, "%u.%u", numbers[0], numbers[1]);
	return numbers[0] << 8 | numbers[1];
}

int ruby_open(struct target_memory *memory, struct ruby *ruby, char version[24], bool *untested,
	      const char **why)
{
	const struct ruby_layout *layout;
	uint32_t number;
	int error = -ENOENT;

	ruby->memory = memory;
	ruby->module = ruby_find_module(memory);
	*why = "its variables ruby_api_version and rb_cObject are not found";
	if (!ruby->module)
		return -ENOENT;
	number = read_version(ruby, version);
	layout = layout_of(number);
	if (layout)
		return prove(ruby, layout, why);
	*untested = true;
	for (size_t i = 0; error == -ENOENT && i < ARRAY_SIZE(layouts); i++)
		error = prove(ruby, &layouts[i], why);
	if (error == -ENOENT)
		*why = "this version has another layout than those that are known (3.1, 3.3, 3.4)";
	return error;
}

bool ruby_moves(struct target_memory *memory)
{
	struct ruby ruby = {.memory = memory, .module = ruby_find_module(memory)};
	char version[24];

	if (!ruby.module)
		return false;
	ruby.layout = layout_of(read_version(&ruby, version));
	return ruby.layout && !find_machine(&ruby) && ruby_is_compacting(&ruby);
}

void ruby_close(struct ruby *ruby)
{
	vec_free(&ruby->pages);
	vec_free(&ruby->labels);
	hash_free(&ruby->classes);
	hash_free(&ruby->data_kinds);
	hash_free(&ruby->transient);
	hash_free(&ruby->generic);
	hash_free(&ruby->shape_labels);
	hash_free(&ruby->struct_labels);
	hash_free(&ruby->named);
}
