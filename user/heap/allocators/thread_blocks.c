// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/thread_blocks.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"
#include "binary/elf/tls_layout.h"
#include "process/proc/core.h"
#include "process/proc/process_list.h"

/* Shared by the parts of thread_blocks.c. */

#define USER_ADDRESSES (1ull << MACHINE_USER_BITS)

struct thread_finder {
	const struct heap_image *heap_image;
	const struct data_modules *modules;
	const struct data_module *library; /* with glibc's descriptors, or NULL */
	struct peek *peek;
	struct thread_blocks *blocks;
	size_t slots;	  /* seen so far */
	bool has_program; /* the program's own thread-locals were found */
};

/* A module in glibc's list. */
struct thread_slot {
	size_t number;
	uint64_t generation, map; /* struct link_map; 0: it is free */
};

static int thread_finder_add_threads(struct thread_finder *finder);
static int thread_finder_add_slots(struct thread_finder *finder, const struct data_module *program);

/* Limit per thread; no known program has more modules with thread-locals. */
#define MAX_ENTRIES 1024

/* Limit over all threads: the length is the target's, which may lie. */
#define MAX_ALL_ENTRIES (4u << 20)
#define WORDS_PER_ENTRY (TLS_VECTOR_ENTRY / 8)

/* Returns the number of entries after the first; 0: it is no vector. */
static size_t entries_of(struct peek *peek, uint64_t vector)
{
	uint64_t length;

	if (!vector || vector % 8 || vector < TLS_VECTOR_ENTRY ||
	    peek_words(peek, vector - TLS_VECTOR_ENTRY, &length, 1))
		return 0;
	return (size_t)MIN(length, MAX_ENTRIES);
}

static int read_vector(struct heap_image_thread *thread, struct peek *peek, size_t *left)
{
	struct thread_vector read = {0};
	uint64_t words[WORDS_PER_ENTRY];

	if (peek_words(peek, machine_thread_pointer(&thread->registers) + machine_abi.tls.vector_at,
		       &read.address, 1))
		return 0;
	read.count = entries_of(peek, read.address);
	if (!read.count || read.count > *left ||
	    peek_words(peek, read.address, &read.generation, 1))
		return 0;
	read.blocks = calloc(read.count, sizeof(*read.blocks));
	if (!read.blocks)
		return -ENOMEM;
	*left -= read.count;
	for (size_t i = 0; i < read.count; i++) {
		if (peek_words(peek, read.address + (i + 1) * TLS_VECTOR_ENTRY, words,
			       ARRAY_SIZE(words)))
			break;
		read.blocks[i] = words[0];
	}
	thread->vector = read;
	return 0;
}

int thread_vectors_read(struct heap_image *heap_image, struct peek *peek)
{
	size_t left = MAX_ALL_ENTRIES;
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->threads.count; i++) {
		if (deadline_has_passed(peek->deadline))
			break;
		if (machine_thread_pointer(&heap_image->threads.items[i].registers))
			error = read_vector(&heap_image->threads.items[i], peek, &left);
	}
	return error;
}

#define MAX_BLOCKS (4u << 20)

static bool is_memory(const struct heap_image *heap_image, uint64_t start, uint64_t end)
{
	const struct mapping *mapping = maps_find(&heap_image->maps, start);

	return mapping && mapping->writable && !mapping->shared && end <= mapping->end;
}

/* Leaves out a block outside writable memory. Returns 0 or -ENOMEM. */
static int thread_finder_add(struct thread_finder *finder, const struct thread_block *block)
{
	struct thread_block *added;

	if (block->start >= block->end || block->end > USER_ADDRESSES ||
	    finder->blocks->list.count == MAX_BLOCKS ||
	    !is_memory(finder->heap_image, block->start, block->end))
		return 0;
	added = vec_push(&finder->blocks->list);
	if (!added)
		return -ENOMEM;
	*added = *block;
	return 0;
}

/* Returns 0 if the thread has none yet, or it is unknown. */
static uint64_t block_in_vector(const struct thread_vector *vector, const struct thread_slot *slot)
{
	/* The vector is older than the module, or the module is newer than the heap image. */
	if (!slot->number || slot->number > vector->count || slot->generation > vector->generation)
		return 0;
	/* All bits set: not allocated yet. */
	return vector->blocks[slot->number - 1] < USER_ADDRESSES ? vector->blocks[slot->number - 1]
								 : 0;
}

/*
 * Adds each thread's block of a module. `distance` from the thread pointer; 0: from the vectors, by
 * the module's slot. Returns 0 or -ENOMEM.
 */
static int thread_finder_add_module(struct thread_finder *finder, const struct data_module *module,
				    uint64_t distance, const struct thread_slot *slot)
{
	const struct heap_image *heap_image = finder->heap_image;
	uint64_t size = module->image->file.thread_locals.size;
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->threads.count; i++) {
		uint64_t pointer = machine_thread_pointer(&heap_image->threads.items[i].registers),
			 start;

		start = distance ? tls_block(&machine_abi.tls, pointer, distance, size)
				 : block_in_vector(&heap_image->threads.items[i].vector, slot);
		if (start)
			error = thread_finder_add(finder,
						  &(struct thread_block){start, start + size,
									 THREAD_BLOCK_MODULE,
									 (uint32_t)i, module});
	}
	return error;
}

/* Returns the entry point, which is in the program itself. 0: unknown. */
static uint64_t read_entry(struct memory_source source)
{
	return source.core ? core_entry(source.core) : process_auxiliary(source.task, AT_ENTRY);
}

static int add_program(struct thread_finder *finder, const struct data_module *program)
{
	uint64_t distance =
		tls_program_distance(&machine_abi.tls, &program->image->file.thread_locals);

	return distance ? thread_finder_add_module(finder, program, distance, NULL) : 0;
}

static int compare_blocks(const void *left_pointer, const void *right_pointer)
{
	const struct thread_block *left = left_pointer, *right = right_pointer;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->end != right->end)
		return left->end < right->end ? -1 : 1;
	return left->thread < right->thread ? -1 : left->thread > right->thread;
}

static void sort(struct thread_blocks *blocks)
{
	size_t kept = 0;

	if (blocks->list.count)
		qsort(blocks->list.items, blocks->list.count, sizeof(*blocks->list.items),
		      compare_blocks);
	/* Nothing overlaps, unless the target lies. */
	for (size_t i = 0; i < blocks->list.count; i++) {
		if (!kept || blocks->list.items[kept - 1].end <= blocks->list.items[i].start)
			blocks->list.items[kept++] = blocks->list.items[i];
	}
	blocks->list.count = kept;
}

static const struct data_module *find_library(const struct data_modules *modules)
{
	for (size_t i = 0; i < modules->list.count; i++) {
		if (modules->list.items[i].image->tls_layout.heads_at)
			return &modules->list.items[i];
	}
	return NULL;
}

static int find(struct thread_finder *finder)
{
	const struct data_module *program =
		data_modules_at(finder->modules, read_entry(finder->heap_image->maps.source));
	int error = 0;

	if (finder->library)
		error = thread_finder_add_slots(finder, program);
	if (!error && finder->library)
		error = thread_finder_add_threads(finder);
	if (!error && program && !finder->has_program && program->image->file.thread_locals.size)
		error = add_program(finder, program);
	return error;
}

int thread_blocks_find(const struct heap_image *heap_image, const struct data_modules *modules,
		       struct thread_blocks *blocks)
{
	_cleanup_(thread_blocks_free) struct thread_blocks found = {0};
	_cleanup_close_ int pagemap = pagemap_open(heap_image->maps.source);
	struct thread_finder finder = {.heap_image = heap_image,
				       .modules = modules,
				       .library = find_library(modules),
				       .peek = calloc(1, sizeof(struct peek)),
				       .blocks = &found};
	int error = -ENOMEM;

	if (finder.peek) {
		finder.peek->source = heap_image->maps.source;
		finder.peek->pagemap = pagemap;
		peek_forget(finder.peek);
		error = find(&finder);
		peek_free(finder.peek);
		free(finder.peek);
	}
	if (error)
		return error;
	sort(&found);
	*blocks = found;
	found = (struct thread_blocks){0};
	return 0;
}

void thread_blocks_free(struct thread_blocks *blocks)
{
	vec_free(&blocks->list);
}

const struct thread_block *thread_blocks_at(const struct thread_blocks *blocks, uint64_t address)
{
	return RANGE_AT(blocks->list.items, blocks->list.count, address);
}

/* Threads' blocks by glibc's own structures. */

/* All of this is the target's, which may lie. */
#define MAX_SLOTS 4096
#define MAX_LISTS 256

/* struct link_map: l_addr comes first (<link.h>). */
#define MAP_BIAS_AT 0

/* l_tls_offset of a module without a distance from thread pointers. */
#define OFFSET_NONE 0
#define OFFSET_FORCED_DYNAMIC UINT64_MAX

/* Number of threads examined to find their keys. */
#define KEYS_TRIES 16

static uint64_t descriptor_of(const struct thread_finder *finder,
			      const struct heap_image_thread *thread)
{
	return tls_descriptor(&machine_abi.tls, machine_thread_pointer(&thread->registers),
			      finder->library->image->tls_layout.thread_size);
}

static bool peek_word(const struct thread_finder *finder, uint64_t address, uint64_t *word)
{
	return address < USER_ADDRESSES && !peek_words(finder->peek, address, word, 1);
}

/* Returns the distance of the first keys' values from the descriptor; 0: unknown. */
static uint64_t find_keys(const struct thread_finder *finder)
{
	const struct tls_layout *layout = &finder->library->image->tls_layout;

	for (size_t i = 0; i < MIN(finder->heap_image->threads.count, KEYS_TRIES); i++) {
		uint64_t thread = descriptor_of(finder, &finder->heap_image->threads.items[i]),
			 keys;

		if (thread && peek_word(finder, thread + layout->keys_at, &keys) && keys > thread &&
		    keys % 8 == 0 &&
		    keys - thread <= layout->thread_size - TLS_KEYS * TLS_KEY_BYTES)
			return keys - thread;
	}
	return 0;
}

static int add_thread(struct thread_finder *finder, uint32_t number, uint64_t keys)
{
	const struct heap_image_thread *thread = &finder->heap_image->threads.items[number];
	uint64_t start = descriptor_of(finder, thread), at = start + keys;
	uint64_t end = start + finder->library->image->tls_layout.thread_size;
	uint64_t keys_end = keys ? at + TLS_KEYS * TLS_KEY_BYTES : start;
	const struct thread_block parts[] = {
		{start, at, THREAD_BLOCK_THREAD, number, finder->library},
		{at, keys_end, THREAD_BLOCK_KEYS, number, finder->library},
		{keys_end, end, THREAD_BLOCK_THREAD, number, finder->library},
		{thread->vector.address - TLS_VECTOR_ENTRY,
		 thread->vector.address + (thread->vector.count + 1) * TLS_VECTOR_ENTRY,
		 THREAD_BLOCK_VECTOR, number, finder->library},
	};
	int error = 0;

	if (!start || start >= USER_ADDRESSES)
		return 0;
	for (size_t i = 0; !error && i < ARRAY_SIZE(parts); i++) {
		if (parts[i].kind != THREAD_BLOCK_VECTOR || thread->vector.count)
			error = thread_finder_add(finder, &parts[i]);
	}
	return error;
}

/*
 * Adds, from finder->library, glibc's data of each thread, and all modules' blocks. Returns 0 or
 * -ENOMEM.
 */
static int thread_finder_add_threads(struct thread_finder *finder)
{
	uint64_t keys = find_keys(finder);
	int error = 0;

	for (size_t i = 0; !error && i < finder->heap_image->threads.count; i++)
		error = add_thread(finder, (uint32_t)i, keys);
	return error;
}

static const struct data_module *module_at_bias(const struct data_modules *modules, uint64_t bias)
{
	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (module->bias == bias && module->image->file.thread_locals.size)
			return module;
	}
	return NULL;
}

static int add_slot(struct thread_finder *finder, const struct thread_slot *slot,
		    const struct data_module *program)
{
	const struct tls_layout *layout = &finder->library->image->tls_layout;
	const struct data_module *module;
	uint64_t bias, distance;

	if (!slot->map || !peek_word(finder, slot->map + MAP_BIAS_AT, &bias) ||
	    !peek_word(finder, slot->map + layout->map_offset_at, &distance))
		return 0;
	module = module_at_bias(finder->modules, bias);
	if (!module)
		return 0;
	finder->has_program |= module == program;
	if (distance == OFFSET_FORCED_DYNAMIC)
		distance = OFFSET_NONE;
	return thread_finder_add_module(finder, module, distance, slot);
}

static int add_list(struct thread_finder *finder, uint64_t list, size_t length,
		    const struct data_module *program)
{
	const struct tls_layout *layout = &finder->library->image->tls_layout;
	int error = 0;

	for (size_t i = 0; !error && i < length && finder->slots < MAX_SLOTS; i++) {
		uint64_t at = list + layout->list_slots_at + i * TLS_LAYOUT_SLOT_BYTES;
		struct thread_slot slot = {.number = finder->slots++};

		if (!peek_word(finder, at + layout->slot_generation_at, &slot.generation) ||
		    !peek_word(finder, at + layout->slot_map_at, &slot.map))
			return 0;
		error = add_slot(finder, &slot, program);
	}
	return error;
}

static int thread_finder_add_slots(struct thread_finder *finder, const struct data_module *program)
{
	const struct tls_layout *layout = &finder->library->image->tls_layout;
	uint64_t global, list, length;
	int error = 0;

	if (!peek_word(finder, finder->library->bias + layout->heads_at, &global) ||
	    !peek_word(finder, global + layout->slots_at, &list))
		return 0;
	for (size_t i = 0; !error && list && i < MAX_LISTS; i++) {
		if (!peek_word(finder, list + layout->list_length_at, &length))
			return 0;
		error = add_list(finder, list, (size_t)MIN(length, MAX_SLOTS), program);
		if (!peek_word(finder, list + layout->list_next_at, &list))
			return error;
	}
	return error;
}
