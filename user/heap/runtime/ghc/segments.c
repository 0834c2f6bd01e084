// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Segments of GHC's non-moving collector (+RTS -xn), which manages the oldest generation: blocks of
 * one size, one closure each, behind a byte for each block. Source: rts/sm/NonMoving.h, 8.10 to
 * 9.12.
 *
 * A block is in use if its byte is not 0, because it lived at the last marking; or if it precedes
 * the next free block, because it was allocated since. Freed segments have neither.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/runtime/ghc/ghc.h"

/* NonMoving.h: struct NonmovingSegment. */
#define SEGMENT_NEXT_FREE 16
#define SEGMENT_MARKS 18
#define SEGMENT_HEAD 24
#define BLOCK_MIN_BITS 3
#define BLOCK_MAX_BITS 14
/* Since 9.8 sizes are in a table of allocators, the smallest first. */
#define ALLOCATOR_BYTES 32
#define ALLOCATOR_SIZE 24
#define ALLOCATOR_COUNT 26
#define ALLOCATOR_ASIDE 8
#define ALLOCATORS_MAX 256
#define OLD_ALLOCATORS 12

/* struct NonmovingHeap: offsets of the list of segments to be swept, up to 9.6 and since 9.8; at
 * the other offsets no word is the address of a segment. */
static const uint8_t sweep_lists[] = {112, 24, 32};

struct segment {
	uint32_t blocks, first; /* first: offset of the first block */
	uint16_t next_free;
	const unsigned char *marks;
};

static uint32_t blocks_of(uint32_t block_bytes)
{
	return (GHC_SEGMENT - SEGMENT_HEAD) / (block_bytes + 1);
}

static struct segment segment_of(const unsigned char *bytes, uint32_t block_bytes)
{
	struct segment segment = {.blocks = blocks_of(block_bytes), .marks = bytes + SEGMENT_MARKS};

	segment.first = (SEGMENT_HEAD + segment.blocks + GHC_WORD - 1) / GHC_WORD * GHC_WORD;
	memcpy(&segment.next_free, bytes + SEGMENT_NEXT_FREE, sizeof(segment.next_free));
	return segment;
}

static bool is_used(const struct segment *segment, uint32_t block)
{
	return block < segment->next_free || segment->marks[block];
}

/* Returns the block size of an allocator; 0: no allocator. */
static uint32_t allocator_size(const struct ghc *ghc, uint64_t allocator)
{
	uint16_t size, count;

	if (allocator % GHC_WORD ||
	    target_read(ghc->memory, allocator + ALLOCATOR_SIZE, &size, sizeof(size)) ||
	    target_read(ghc->memory, allocator + ALLOCATOR_COUNT, &count, sizeof(count)) ||
	    size < GHC_WORD || size > 1 << BLOCK_MAX_BITS || size % GHC_WORD ||
	    count != blocks_of(size))
		return 0;
	return size;
}

static int find_allocators(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;

	(void)address;
	if (!ghc->allocators && !(word >> MACHINE_USER_BITS) && word >= MEMORY_PAGE &&
	    allocator_size(ghc, word) == GHC_WORD && allocator_size(ghc, word + ALLOCATOR_BYTES))
		ghc->allocators = word;
	return 0;
}

/* Finds the table by its unique shape, in stripped programs, too. */
int ghc_find_allocators(struct ghc *ghc)
{
	if (ghc->knows_allocators)
		return 0;
	ghc->knows_allocators = true;
	return ghc_visit_data(ghc, find_allocators, ghc);
}

uint32_t ghc_segment_block_bytes(const struct ghc *ghc, uint64_t said)
{
	uint8_t bits = (uint8_t)said;

	if (ghc->allocators)
		return allocator_size(ghc, ghc->allocators + (said & UINT16_MAX) * ALLOCATOR_BYTES);
	return bits >= BLOCK_MIN_BITS && bits <= BLOCK_MAX_BITS ? 1u << bits : 0;
}

uint64_t ghc_segment_used(const unsigned char *bytes, uint32_t block_bytes)
{
	struct segment segment = segment_of(bytes, block_bytes);
	uint32_t used = segment.blocks;

	while (used && !is_used(&segment, used - 1))
		used--;
	return used ? segment.first + (uint64_t)used * block_bytes : 0;
}

static int walk_block(struct ghc *ghc, struct heap_sink *sink, const struct ghc_span *span,
		      uint64_t at)
{
	const uint64_t *words = (const uint64_t *)(const void *)(span->bytes + at);
	uint64_t count = MIN(span->copied - at, span->block_bytes) / GHC_WORD, size;
	const struct ghc_info *info;
	int error = ghc_info_at(ghc, sink, words[0], &info);

	if (error == -ENOMEM)
		return error;
	size = error ? 0 : ghc_closure_words(info, words, MIN(count, GHC_HEAD_WORDS));
	if (!size || size > count) {
		ghc->nonsense++;
		return 0;
	}
	return heap_sink_add(sink, span->start + at, size * GHC_WORD, info->class | NODE_OBJECT);
}

int ghc_walk_segment(struct ghc *ghc, struct heap_sink *sink, const struct ghc_span *span)
{
	struct segment segment = segment_of(span->bytes, span->block_bytes);
	int error = 0;

	for (uint32_t i = 0; !error && i < segment.blocks; i++) {
		uint64_t at = segment.first + (uint64_t)i * span->block_bytes;

		if (at + span->block_bytes > span->copied)
			break;
		if (is_used(&segment, i))
			error = walk_block(ghc, sink, span, at);
	}
	return error;
}

/* Returns the address of the lists of segments of one size; 0: no more sizes. */
static uint64_t allocator_at(const struct ghc *ghc, uint64_t heap, uint64_t place)
{
	uint64_t allocator = ghc->allocators + place * ALLOCATOR_BYTES;

	if (ghc->allocators)
		return allocator_size(ghc, allocator) ? allocator : 0;
	return place < OLD_ALLOCATORS ? target_word(ghc->memory, heap + place * GHC_WORD) : 0;
}

/*
 * Returns whether marking has begun, when lists of full segments are set aside, to be swept later.
 */
static bool has_put_aside(const struct ghc *ghc, uint64_t heap)
{
	bool full = false, aside = false;
	uint64_t allocator;

	for (uint64_t i = 0; i < ALLOCATORS_MAX && (allocator = allocator_at(ghc, heap, i)); i++) {
		full |= target_word(ghc->memory, allocator) != 0;
		aside |= target_word(ghc->memory, allocator + ALLOCATOR_ASIDE) != 0;
	}
	return aside && !full;
}

static bool is_sweeping(const struct ghc *ghc, uint64_t heap)
{
	bool sweeping = false;

	for (size_t i = 0; i < ARRAY_SIZE(sweep_lists); i++) {
		uint64_t segment = target_word(ghc->memory, heap + sweep_lists[i]);

		sweeping |= segment > ghc->heap_start && segment < ghc->heap_end &&
			    segment % GHC_SEGMENT == 0;
	}
	return sweeping;
}

bool ghc_is_marking(const struct ghc *ghc)
{
	uint64_t heap = ghc_symbol(ghc, "nonmovingHeap");
	uint64_t thread = ghc_symbol(ghc, "concurrent_coll_running");
	uint8_t running = 0;

	if (!ghc->non_moving || !heap)
		return false;
	if (thread && target_read(ghc->memory, thread, &running, sizeof(running)))
		running = 0;
	return running || is_sweeping(ghc, heap) || has_put_aside(ghc, heap);
}
