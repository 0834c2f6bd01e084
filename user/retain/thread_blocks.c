// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/thread_blocks.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "retain/thread_blocks_finder.h"

#define MAX_BLOCKS (4u << 20)

static bool is_memory(const struct picture *picture, uint64_t start, uint64_t end)
{
	const struct mapping *mapping = maps_find(&picture->maps, start);

	return mapping && mapping->writable && !mapping->shared && end <= mapping->end;
}

int thread_finder_add(struct thread_finder *finder, const struct thread_block *block)
{
	struct thread_block *added;

	if (block->start >= block->end || block->end > USER_ADDRESSES ||
	    finder->blocks->list.count == MAX_BLOCKS ||
	    !is_memory(finder->picture, block->start, block->end))
		return 0;
	added = vec_push(&finder->blocks->list);
	if (!added)
		return -ENOMEM;
	*added = *block;
	return 0;
}

/* 0: the thread has none yet, or it is not known. */
static uint64_t block_in_vector(const struct thread_vector *vector, const struct thread_slot *slot)
{
	/* The vector is older than the module, or the module is newer than the picture. */
	if (!slot->number || slot->number > vector->count || slot->generation > vector->generation)
		return 0;
	/* All bits set: not allocated yet. */
	return vector->blocks[slot->number - 1] < USER_ADDRESSES ? vector->blocks[slot->number - 1]
								 : 0;
}

int thread_finder_add_module(struct thread_finder *finder, const struct data_module *module,
			     uint64_t below, const struct thread_slot *slot)
{
	const struct picture *picture = finder->picture;
	uint64_t size = module->image.file.thread_locals.size;
	int err = 0;

	if (below && below < size)
		return 0;
	for (size_t i = 0; !err && i < picture->threads.count; i++) {
		uint64_t pointer = picture->threads.items[i].registers.fs_base, start;

		start = below ? pointer - MIN(below, pointer)
			      : block_in_vector(&picture->threads.items[i].vector, slot);
		if (start)
			err = thread_finder_add(finder,
						&(struct thread_block){start, start + size,
								       THREAD_BLOCK_MODULE,
								       (uint32_t)i, module});
	}
	return err;
}

/* Where the program begins to run: in the program itself. 0: not known. */
static uint64_t read_entry(pid_t task)
{
	_cleanup_close_ int fd = -1;
	Elf64_auxv_t vector[64];
	char path[64];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/auxv", task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? 0 : read(fd, vector, sizeof(vector));
	for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*vector); i++) {
		if (vector[i].a_type == AT_ENTRY)
			return vector[i].a_un.a_val;
	}
	return 0;
}

/* The linker has put it there: Drepper, 3.4.2 and 4.4.2, with PT_TLS at its own alignment. */
static int add_program(struct thread_finder *finder, const struct data_module *program)
{
	const struct elf_thread_locals *locals = &program->image.file.thread_locals;
	uint64_t first = -locals->vaddr & (locals->alignment - 1);
	uint64_t size = locals->size > first ? locals->size - first : 0;
	uint64_t below = ((size + locals->alignment - 1) & ~(locals->alignment - 1)) + first;

	return below ? thread_finder_add_module(finder, program, below, NULL) : 0;
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
		if (modules->list.items[i].image.tls_layout.heads_at)
			return &modules->list.items[i];
	}
	return NULL;
}

static int find(struct thread_finder *finder)
{
	const struct data_module *program =
		data_modules_at(finder->modules, read_entry(finder->picture->maps.task));
	int err = 0;

	if (finder->library)
		err = thread_finder_add_slots(finder, program);
	if (!err && finder->library)
		err = thread_finder_add_threads(finder);
	if (!err && program && !finder->has_program && program->image.file.thread_locals.size)
		err = add_program(finder, program);
	return err;
}

int thread_blocks_find(const struct picture *picture, const struct data_modules *modules,
		       struct thread_blocks *blocks)
{
	_cleanup_(thread_blocks_free) struct thread_blocks found = {0};
	_cleanup_close_ int pagemap = pagemap_open(picture->maps.task);
	struct thread_finder finder = {.picture = picture,
				       .modules = modules,
				       .library = find_library(modules),
				       .peek = calloc(1, sizeof(struct peek)),
				       .blocks = &found};
	int err = -ENOMEM;

	if (finder.peek) {
		finder.peek->task = picture->maps.task;
		finder.peek->pagemap = pagemap;
		peek_forget(finder.peek);
		err = find(&finder);
		peek_free(finder.peek);
		free(finder.peek);
	}
	if (err)
		return err;
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
	size_t low = 0, high = blocks->list.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (blocks->list.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < blocks->list.count && blocks->list.items[low].start <= address)
		return &blocks->list.items[low];
	return NULL;
}
