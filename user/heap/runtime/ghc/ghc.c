// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * GHC: the closures of Haskell programs. The heap consists of megablocks of one reservation at a
 * fixed address; each begins with descriptors of its blocks, and closures are adjacent in groups of
 * blocks. Checks: a group's descriptor has the group's address, and leads to a generation of that
 * number; a closure's first word leads to code behind an info table; a nursery has as many blocks
 * as it counts.
 *
 * A collection moves closures: memory is copied first, and again if a collection ran meanwhile.
 */
#include "heap/runtime/ghc/ghc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/runtime/class_origin.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

/* Block.h: bdescr. */
#define BLOCKS_PER_MEGABLOCK (GHC_MEGABLOCK / GHC_BLOCK)
#define ABSENT_MAX (64ull << 20) /* untouched bytes of groups larger than a megablock */
#define FLAG_LARGE 2
#define FLAG_PINNED 4
#define FLAG_COMPACT 512
#define FLAG_NON_MOVING 1024

/* GC.h: generation; at its end, the lists that a collection moves closures from. */
#define GENERATION_WORDS 24 /* words in its blocks without large objects, since its collection */
#define GENERATION_TO 120
#define GENERATION_COLLECTIONS 128
#define GENERATION_OLD_BLOCKS 80
#define GENERATION_OLD_THREADS 16
#define GENERATION_BYTES_MAX 1024
#define WORDS_MORE (16 * GHC_BLOCK / GHC_WORD)
#define LOOKED_AT_MEGABLOCKS 64

static bool detect(const struct mapping *mapping)
{
	return mapping->start == GHC_HEAP && mapping_is_anonymous(mapping);
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping->start >= GHC_HEAP && mapping->end <= GHC_HEAP + GHC_HEAP_BYTES &&
	       mapping_is_anonymous(mapping);
}

static bool detect_module(const struct data_module *module)
{
	return target_variable(module, "MainCapability") &&
	       target_variable(module, "mblock_address_space");
}

uint64_t ghc_symbol(const struct ghc *ghc, const char *name)
{
	for (size_t i = 0; ghc->module && i < ghc->symbols->count; i++) {
		if (!strcmp(ghc->symbols->names + ghc->symbols->symbols[i].name, name))
			return ghc->module->bias + ghc->symbols->symbols[i].address;
	}
	return 0;
}

/* Copied memory. */

const uint64_t *ghc_copied(const struct ghc *ghc, uint64_t address, size_t *count)
{
	const struct ghc_span *span = RANGE_AT(ghc->spans.items, ghc->spans.count, address);

	if (!span || address % GHC_WORD || address - span->start >= span->copied)
		return NULL;
	*count = (span->copied - (address - span->start)) / GHC_WORD;
	return (const uint64_t *)(const void *)(span->bytes + (address - span->start));
}

static void forget(struct ghc *ghc)
{
	for (size_t i = 0; i < ghc->copies.count; i++)
		free(ghc->copies.items[i]);
	ghc->copies.count = 0;
	ghc->spans.count = 0;
	hash_free(&ghc->nurseries);
	hash_free(&ghc->unused);
	hash_free(&ghc->listed);
	memset(ghc->words, 0, sizeof(ghc->words));
	ghc->heap_bytes = ghc->nonsense = 0;
	ghc->non_moving = ghc->unbalanced = false;
}

/* Adds a copy buffer; NULL: out of memory. */
static void *add_copy(struct ghc *ghc, size_t size)
{
	void **added = vec_push(&ghc->copies);

	if (!added)
		return NULL;
	*added = malloc(size);
	return *added;
}

/* Groups of blocks. */

struct copying {
	struct ghc *ghc;
	unsigned char *megablock; /* copy of its memory */
	uint64_t address;
	uint64_t end;	 /* end of its mapping */
	uint64_t budget; /* present bytes not copied yet: zeros cost nothing */
	uint64_t absent; /* copied bytes that were never written */
};

static bool is_generation(struct ghc *ghc, const struct ghc_descriptor *group)
{
	uint64_t *known;
	uint32_t number;

	if (group->generation_number >= GHC_GENERATIONS_MAX || !group->generation)
		return false;
	known = &ghc->generations[group->generation_number];
	if (*known == group->generation)
		return true;
	if (target_read(ghc->memory, group->generation, &number, sizeof(number)) ||
	    number != group->generation_number)
		return false;
	*known = group->generation;
	return true;
}

/* Returns the bytes to copy: the beginning of a byte array suffices. */
static uint64_t wanted_bytes(struct copying *copying, const struct ghc_descriptor *group,
			     uint64_t used)
{
	uint32_t type;
	uint64_t code;

	if (!(group->flags & FLAG_LARGE))
		return used;
	if (group->flags & (FLAG_PINNED | FLAG_COMPACT))
		return 0;
	memcpy(&code, copying->megablock + group->start % GHC_MEGABLOCK, sizeof(code));
	if (ghc_is_code(copying->ghc, code) &&
	    !target_read(copying->ghc->memory, code - 8, &type, sizeof(type)) &&
	    type == GHC_ARR_WORDS)
		return MIN(used, 2 * GHC_WORD);
	return used;
}

/* Copies a group larger than a megablock, as far as it is present. */
static void copy_large(struct copying *copying, uint64_t start, unsigned char *bytes, uint64_t size)
{
	struct target_memory *memory = copying->ghc->memory;
	uint64_t unread = memory->unread_bytes;
	uint64_t there = target_read_pages(memory, start, bytes, size);

	copying->budget += there;
	copying->absent += size - MIN(size, there + memory->unread_bytes - unread);
}

static int add_span(struct copying *copying, const struct ghc_descriptor *group, uint64_t used,
		    uint32_t block_bytes)
{
	struct ghc *ghc = copying->ghc;
	uint64_t wanted = wanted_bytes(copying, group, used), offset = group->start % GHC_MEGABLOCK;
	uint64_t whole = align_up(wanted, MEMORY_PAGE);
	bool large = offset + whole > GHC_MEGABLOCK;
	struct ghc_span *span = vec_push(&ghc->spans);
	const unsigned char *kept;
	unsigned char *bytes;

	if (!span)
		return -ENOMEM;
	*span = (struct ghc_span){group->start, group->start + used, 0, NULL, block_bytes};
	if (!wanted)
		return 0;
	if (whole > ghc->memory->occupied + ABSENT_MAX ||
	    (large ? copying->absent > ABSENT_MAX : whole > copying->budget)) {
		ghc->spans.count--;
		ghc->nonsense++;
		return 0;
	}
	kept = target_kept(ghc->memory, group->start, wanted);
	if (kept) {
		span->bytes = kept;
		span->copied = wanted / GHC_WORD * GHC_WORD;
		return 0;
	}
	bytes = add_copy(ghc, whole);
	if (!bytes)
		return -ENOMEM;
	if (large)
		copy_large(copying, group->start, bytes, whole);
	else
		memcpy(bytes, copying->megablock + offset, whole);
	copying->budget -= MIN(copying->budget, whole);
	span->bytes = bytes;
	span->copied = wanted / GHC_WORD * GHC_WORD;
	return 0;
}

int ghc_add_listed(struct ghc *ghc, uint64_t word)
{
	if (word % GHC_WORD || word < MEMORY_PAGE || word >> MACHINE_USER_BITS ||
	    (word >= ghc->heap_start && word < ghc->heap_end) ||
	    !data_modules_at(ghc->memory->modules, word))
		return 0;
	return hash_put(&ghc->listed, word, NULL) ? 0 : -ENOMEM;
}

/* Adds a list of mutable objects (Storage.c, newCAF): recently evaluated CAFs are in one until the
 * next full collection. */
static int add_list(struct copying *copying, const struct ghc_descriptor *group)
{
	uint64_t offset = group->start % GHC_MEGABLOCK;
	int error = 0;

	if (group->generation || group->flags || group->blocks != 1 || group->free < group->start ||
	    group->free - group->start > GHC_BLOCK)
		return 0;
	for (uint64_t at = 0; !error && at < group->free - group->start; at += GHC_WORD) {
		uint64_t word;

		memcpy(&word, copying->megablock + offset + at, sizeof(word));
		error = ghc_add_listed(copying->ghc, word);
	}
	return error;
}

/* Adds a segment, all of which its generation counts. */
static int add_segment(struct copying *copying, const struct ghc_descriptor *group)
{
	struct ghc *ghc = copying->ghc;
	uint64_t offset = group->start % GHC_MEGABLOCK, used;
	int error = ghc_find_allocators(ghc);
	uint32_t block_bytes = error ? 0 : ghc_segment_block_bytes(ghc, group->free);

	if (error || !is_generation(ghc, group))
		return error;
	ghc->non_moving = true;
	if (!block_bytes || group->blocks * GHC_BLOCK != GHC_SEGMENT || offset % GHC_SEGMENT ||
	    group->start + GHC_SEGMENT > copying->end) {
		ghc->nonsense++;
		return 0;
	}
	ghc->words[group->generation_number] += GHC_SEGMENT / GHC_WORD;
	used = ghc_segment_used(copying->megablock + offset, block_bytes);
	return used ? add_span(copying, group, used, block_bytes) : 0;
}

/* Adds a group in use. */
static int add_group(struct copying *copying, uint64_t address, const struct ghc_descriptor *group)
{
	uint64_t bytes = group->blocks * GHC_BLOCK, used;

	if (group->flags & FLAG_NON_MOVING && !(group->flags & (FLAG_LARGE | FLAG_COMPACT)))
		return add_segment(copying, group);
	if (!group->generation)
		return add_list(copying, group);
	if (!is_generation(copying->ghc, group) || group->free < group->start ||
	    group->free - group->start > bytes || hash_get(&copying->ghc->unused, address))
		return 0;
	used = MIN(group->free, copying->end) - group->start;
	if (!(group->flags & (FLAG_LARGE | FLAG_COMPACT)))
		copying->ghc->words[group->generation_number] += used / GHC_WORD;
	return used && group->free > group->start ? add_span(copying, group, used, 0) : 0;
}

/* Returns the number of megablocks of a group: only the first one has descriptors. */
static uint64_t megablocks_of(uint64_t blocks)
{
	uint64_t first = BLOCKS_PER_MEGABLOCK - GHC_FIRST_BLOCK;

	return blocks <= first
		       ? 1
		       : 1 + (blocks - first + BLOCKS_PER_MEGABLOCK - 1) / BLOCKS_PER_MEGABLOCK;
}

/* Returns whether a descriptor's group ends within its limits. */
static bool is_group(const struct copying *copying, uint64_t block,
		     const struct ghc_descriptor *group)
{
	return group->start == copying->address + block * GHC_BLOCK && group->blocks &&
	       group->blocks <=
		       (block == GHC_FIRST_BLOCK ? GHC_BLOCKS_MAX : BLOCKS_PER_MEGABLOCK - block);
}

/* Copies a megablock; *megablocks: how many were handled. */
static int copy_megablock(struct copying *copying, uint64_t *megablocks)
{
	uint64_t block = GHC_FIRST_BLOCK;
	unsigned char peeked;
	int error = 0;

	*megablocks = 1;
	if (target_read(copying->ghc->memory, copying->address + GHC_FIRST_BLOCK * GHC_DESCRIPTOR,
			&peeked, 1))
		return 0;
	copying->budget += target_read_pages(copying->ghc->memory, copying->address,
					     copying->megablock, GHC_MEGABLOCK);
	while (!error && block < BLOCKS_PER_MEGABLOCK) {
		uint64_t address = copying->address + block * GHC_DESCRIPTOR;
		struct ghc_descriptor group;

		memcpy(&group, copying->megablock + block * GHC_DESCRIPTOR, sizeof(group));
		if (!is_group(copying, block, &group)) {
			block++;
			continue;
		}
		/* A free group may have shrunk since: only the megablocks of a group in use are
		 * skipped. */
		if (group.free != UINT64_MAX) {
			error = add_group(copying, address, &group);
			if (block == GHC_FIRST_BLOCK)
				*megablocks = megablocks_of(group.blocks);
		}
		block += group.blocks;
	}
	return error;
}

bool ghc_is_heap(const struct ghc *ghc, const struct mapping *mapping)
{
	return mapping->writable && mapping->start >= ghc->heap_start &&
	       mapping->end <= ghc->heap_end && mapping_is_anonymous(mapping);
}

/* Copies all megablocks in a mapping. */
static int copy_mapping(struct copying *copying, const struct mapping *mapping)
{
	uint64_t at = align_up(mapping->start, GHC_MEGABLOCK), done;
	int error = 0;

	copying->end = mapping->end;
	for (; !error && at < mapping->end && mapping->end - at >= GHC_MEGABLOCK;
	     at += done * GHC_MEGABLOCK) {
		copying->address = at;
		error = copy_megablock(copying, &done);
	}
	copying->ghc->heap_bytes += mapping->end - mapping->start;
	return error;
}

static int copy_heap(struct ghc *ghc)
{
	const struct maps *maps = ghc->memory->maps;
	struct copying copying = {.ghc = ghc, .megablock = malloc(GHC_MEGABLOCK)};
	int error = copying.megablock ? ghc_find_nurseries(ghc) : -ENOMEM;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (ghc_is_heap(ghc, mapping))
			error = copy_mapping(&copying, mapping);
	}
	free(copying.megablock);
	return error;
}

/* Closures. */

static int add_closure(struct heap_sink *sink, const struct ghc_span *span, size_t at,
		       uint64_t words, const struct ghc_info *info)
{
	return heap_sink_add(sink, span->start + at * GHC_WORD, words * GHC_WORD,
			     info->class | NODE_OBJECT);
}

/* Adds blocks with one object, or with several byte arrays. */
static int add_bytes(struct ghc *ghc, struct heap_sink *sink, const struct ghc_span *span)
{
	struct managed_class made = {.name = intern_string(sink->strings, "ARR_WORDS"),
				     .runtime = GHC_KEY};
	uint64_t *place =
		made.name ? hash_put(&ghc->classes, (uint64_t)(uintptr_t)made.name, NULL) : NULL;
	uint32_t class;
	int error;

	if (!place)
		return -ENOMEM;
	if (!*place) {
		error = heap_sink_class(sink, &made, &class);
		if (error)
			return error;
		*place = (uint64_t) class + 1;
	}
	return heap_sink_add(sink, span->start, span->end - span->start,
			     ((uint32_t)*place - 1) | NODE_PRECISE);
}

/* Returns whether closures may have been larger before, or are in other versions. */
static bool leaves_slop(const struct ghc_info *info)
{
	return info->shape == SHAPE_INDIRECTION || info->shape == SHAPE_BYTES ||
	       info->shape == SHAPE_SMALL_ARRAY || info->shape == SHAPE_TSO ||
	       info->shape == SHAPE_RECORD;
}

/* Returns whether a word is a forwarding mark left by a collection (Storage.h). */
static bool was_moved(const struct ghc *ghc, uint64_t word)
{
	return word & 1 && word >= ghc->heap_start && word < ghc->heap_end;
}

/* Walks a span; stale words behind closures are usually no info tables. */
static int walk_span(struct ghc *ghc, struct heap_sink *sink, const struct ghc_span *span)
{
	const uint64_t *words = (const uint64_t *)(const void *)span->bytes;
	size_t count = span->copied / GHC_WORD, at = 0;
	uint64_t in_all = (span->end - span->start) / GHC_WORD;
	bool slop = true;
	int error = 0;

	while (!error && at < count) {
		const struct ghc_info *info;
		uint64_t size;

		error = ghc_info_at(ghc, sink, words[at], &info);
		if (error == -ENOENT || (!error && info->shape == SHAPE_NONE)) {
			ghc->nonsense +=
				(!slop && words[at] && at) || (!at && was_moved(ghc, *words));
			slop = true;
			error = ghc_add_listed(ghc, words[at]);
			at++;
			continue;
		}
		size = error ? 0
			     : ghc_closure_words(info, words + at, MIN(count - at, GHC_HEAD_WORDS));
		if (error || !size || size > in_all - at) {
			ghc->nonsense += !error;
			break;
		}
		error = add_closure(sink, span, at, size, info);
		slop = leaves_slop(info);
		at += size;
	}
	return error;
}

static int walk_spans(struct ghc *ghc, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < ghc->spans.count; i++) {
		const struct ghc_span *span = &ghc->spans.items[i];

		if (!span->bytes)
			error = add_bytes(ghc, sink, span);
		else if (span->block_bytes)
			error = ghc_walk_segment(ghc, sink, span);
		else
			error = walk_span(ghc, sink, span);
	}
	return error;
}

/* Returns the number of collections. */
static uint64_t collections(const struct ghc *ghc)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < GHC_GENERATIONS_MAX; i++) {
		uint32_t count;

		if (ghc->generations[i] &&
		    !target_read_now(ghc->memory, ghc->generations[i] + GENERATION_COLLECTIONS,
				     &count, sizeof(count)))
			sum += count;
	}
	return sum;
}

/* Notes generations that a megablock's descriptors lead to. Returns the last one, or 0. */
static uint64_t look_for_generations(struct ghc *ghc, uint64_t megablock)
{
	uint64_t at = 0;

	for (uint64_t i = GHC_FIRST_BLOCK; !ghc->generations[0] && i < BLOCKS_PER_MEGABLOCK; i++) {
		struct ghc_descriptor group;

		if (ghc_read_descriptor(ghc, megablock + i * GHC_DESCRIPTOR, &group) &&
		    group.free != UINT64_MAX && is_generation(ghc, &group))
			at = group.generation;
	}
	return at;
}

/* Finds generations from descriptors in the first megablocks, and from one generation to the next.
 * Returns false if there are none. */
static bool find_generations(struct ghc *ghc)
{
	uint64_t at = 0;

	/* Nurseries lead to the youngest generation, to which no other one leads. */
	for (uint64_t i = 0; !ghc->generations[0] && i < LOOKED_AT_MEGABLOCKS; i++) {
		uint64_t found = look_for_generations(ghc, ghc->heap_start + i * GHC_MEGABLOCK);

		at = found ? found : at;
	}
	for (size_t i = 0; at && i < GHC_GENERATIONS_MAX; i++) {
		uint32_t number = 0;

		if (target_read(ghc->memory, at, &number, sizeof(number)) ||
		    number >= GHC_GENERATIONS_MAX)
			break;
		ghc->generations[number] = at;
		at = target_word(ghc->memory, at + GENERATION_TO);
	}
	return at != 0;
}

/*
 * Returns whether an old generation has about as many words in its blocks as it counts: with fewer,
 * blocks are missing; with many more, a collection is at work that has left no other trace. Blocks
 * of lists of mutable objects count as well.
 */
static bool is_balanced(const struct ghc *ghc)
{
	for (size_t i = 1; i < GHC_GENERATIONS_MAX && ghc->generations[i]; i++) {
		uint64_t words = target_word(ghc->memory, ghc->generations[i] + GENERATION_WORDS);

		if (ghc->words[i] < words || ghc->words[i] - words > words / 16 + WORDS_MORE)
			return false;
	}
	return true;
}

/* Walks all spans. -EAGAIN: a collection is under way, or intervened. */
static int walk_all(struct ghc *ghc, struct heap_sink *sink)
{
	uint64_t since = collections(ghc);
	int error = copy_heap(ghc);

	if (!error)
		error = walk_spans(ghc, sink);
	if (!error && !is_balanced(ghc))
		ghc->unbalanced = true;
	if (error || !ghc->memory->again)
		return error;
	return ghc->nonsense || ghc->unbalanced || since != collections(ghc) ? -EAGAIN : 0;
}

static void report_on(const struct ghc *ghc, const struct heap_sink *sink, size_t before,
		      struct walk_report *report)
{
	uint64_t used = 0;

	for (size_t i = before; i < sink->added.count; i++) {
		used += (uint64_t)sink->added.items[i].size_high << 32 |
			sink->added.items[i].size_low;
	}
	report->heap_bytes = ghc->heap_bytes;
	report->free_bytes = ghc->heap_bytes - MIN(used, ghc->heap_bytes);
	report->nonsense = ghc->nonsense;
	report->all_roots = !ghc->unbalanced && ghc->memory->image;
	if (ghc->unbalanced)
		report->why = "its generations have other sizes than they count: objects may be "
			      "missing or doubled";
	else if (ghc->nonsense && ghc->memory->changes)
		report->why =
			"it was collected whenever it was read: objects may be missing or doubled";
}

/* Finds the symbols of the program, or of the library with the runtime. */
static void find_symbols(struct ghc *ghc)
{
	const struct data_modules *modules = ghc->memory->modules;

	for (size_t i = 0; !ghc->module && i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		if (detect_module(module))
			ghc->module = module;
	}
	if (ghc->module)
		ghc->symbols = data_module_symbols(modules, ghc->module, &ghc->own);
}

/* Finds the heap (MBlock.c, struct mblock_address_space): it is elsewhere if the address space is
 * limited. */
static void find_heap(struct ghc *ghc)
{
	uint64_t space = ghc_symbol(ghc, "mblock_address_space");
	uint64_t start = target_word(ghc->memory, space);
	uint64_t limit = target_word(ghc->memory, space + GHC_WORD);

	ghc->heap_start = GHC_HEAP;
	ghc->heap_end = GHC_HEAP + GHC_HEAP_BYTES;
	if (start && start % GHC_MEGABLOCK == 0 && limit > start && !(limit >> MACHINE_USER_BITS)) {
		ghc->heap_start = start;
		ghc->heap_end = limit;
	}
}

/* Returns whether a collection runs: generations are one array; when none runs, each has the same
 * closure in place of the threads that wait for it. */
static bool moves(struct target_memory *memory)
{
	struct ghc ghc = {
		.memory = memory, .heap_start = GHC_HEAP, .heap_end = GHC_HEAP + GHC_HEAP_BYTES};
	uint64_t bytes, threads = 0, more;

	if (!find_generations(&ghc) || !ghc.generations[0] || !ghc.generations[1])
		return false;
	bytes = ghc.generations[1] - ghc.generations[0];
	if (bytes <= GENERATION_COLLECTIONS || bytes > GENERATION_BYTES_MAX)
		return false;
	for (size_t i = 0; i < GHC_GENERATIONS_MAX && ghc.generations[i]; i++) {
		uint64_t end = ghc.generations[i] + bytes;

		more = target_word(memory, end - GENERATION_OLD_THREADS);
		if (target_word(memory, end - GENERATION_OLD_BLOCKS) || (i && more != threads))
			return true;
		threads = more;
	}
	return false;
}

static void end(void *state)
{
	struct ghc *ghc = state;

	forget(ghc);
	vec_free(&ghc->spans);
	vec_free(&ghc->copies);
	vec_free(&ghc->infos);
	hash_free(&ghc->info_index);
	hash_free(&ghc->classes);
	ghc_forget_lines(ghc);
	vec_free(&ghc->weaks);
	hash_free(&ghc->weak_keys);
	image_free(&ghc->own);
	free(ghc);
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct ghc *ghc = calloc(1, sizeof(*ghc));
	size_t before = sink->added.count;
	int error;

	if (!ghc)
		return -ENOMEM;
	*state = ghc;
	ghc->memory = memory;
	ghc->own.file.fd = -1;
	find_symbols(ghc);
	find_heap(ghc);
	error = find_generations(ghc) ? ghc_find_lines(ghc) : -ENOENT;
	if (!error)
		error = walk_all(ghc, sink);
	if (!error)
		report_on(ghc, sink, before, report);
	else if (error == -ENOENT)
		report->why = "its blocks are not as GHC has them";
	return error;
}

static const struct heap_walker walker = {
	.moves = moves, .walk = walk_heap, .refer = ghc_refer, .roots = ghc_roots, .end = end};

/* The origin of classes, see class_origin.h. */
static const char *const library_names[] = {"ghc-prim:", "GHC.", NULL};
static const struct class_names class_names = {.libraries = library_names};

const struct runtime runtime_ghc = {
	.classes = &class_names,
	.key = GHC_KEY,
	.name = "Haskell (GHC)",
	.tool = "`leakmon retain --census -p %d` counts its objects by type and constructor",
	.collects = true,
	.detect = detect,
	.detect_module = detect_module,
	.owns = owns,
	.walker = &walker,
};
