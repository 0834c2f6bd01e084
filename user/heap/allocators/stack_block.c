// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/stack_block.h"

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"

/* Variant I has thread-locals after the descriptor. */
#define THREAD_LOCALS_BYTES (1ull << 20)

static bool holds(const struct stack_block *block, uint64_t pointer)
{
	uint64_t rest = machine_abi.tls.is_variant_1 ? THREAD_LOCALS_BYTES
						     : THREAD_STRUCT_BYTES + MEMORY_PAGE;

	return block->start && (block->start | block->size | block->guard) % MEMORY_PAGE == 0 &&
	       block->start < pointer && block->guard < pointer - block->start &&
	       block->size > pointer - block->start &&
	       block->size - (pointer - block->start) <= rest;
}

bool stack_block_find(struct peek *peek, const struct mapping *mapping, uint64_t pointer,
		      struct stack_block *block)
{
	uint64_t at = pointer, end, words[3];

	if (pointer % 8 || pointer < mapping->start || pointer >= mapping->end)
		return false;
	if (machine_abi.tls.is_variant_1)
		at -= MIN(THREAD_STRUCT_BYTES, pointer - mapping->start);
	end = MIN(at + THREAD_STRUCT_BYTES, mapping->end);
	for (; at + sizeof(words) <= end; at += 8) {
		/* After it, the next one's guard is unreadable. */
		if (peek_words(peek, at, words, ARRAY_SIZE(words)))
			return false;
		*block = (struct stack_block){words[0], words[1], words[2]};
		if (holds(block, pointer))
			return true;
	}
	return false;
}
