// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/thread_stacks.h"

#include <errno.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/allocators/stack_block.h"

/*
 * Range before the end in which a descriptor may begin: the last two pages, because it is aligned.
 */
#define SEARCH_PAGES 2

enum thread_stack { STACK_NONE, STACK_LIVE, STACK_ENDED, STACK_JOINED };

static enum thread_stack stack_by_tid(int32_t tid, int32_t main_tid)
{
	if (tid > 0)
		return tid == main_tid ? STACK_NONE : STACK_LIVE;
	return tid == 0 ? STACK_ENDED : tid == -1 ? STACK_JOINED : STACK_NONE;
}

static enum thread_stack stack_in_page(struct peek *peek, uint64_t page, uint64_t end,
				       int32_t main_tid, uint64_t *descriptor)
{
	if (!MACHINE_THREAD_SELF_AT)
		return STACK_NONE;
	for (uint64_t at = page; at < page + MEMORY_PAGE && at + MACHINE_THREAD_TID_AT + 8 <= end;
	     at += 16) {
		uint64_t own, self, tid;

		if (peek_words(peek, at, &own, 1))
			return STACK_NONE;
		if (own != at || peek_words(peek, at + MACHINE_THREAD_SELF_AT, &self, 1) ||
		    self != at || peek_words(peek, at + MACHINE_THREAD_TID_AT, &tid, 1))
			continue;
		*descriptor = at;
		return stack_by_tid((int32_t)tid, main_tid);
	}
	return STACK_NONE;
}

/* Returns the state of the stack that ends at `end`. */
static enum thread_stack stack_at(struct peek *peek, uint64_t start, uint64_t end, int32_t main_tid,
				  uint64_t *descriptor)
{
	enum thread_stack stack = STACK_NONE;

	for (uint64_t i = 1;
	     stack == STACK_NONE && i <= SEARCH_PAGES && end - start >= i * MEMORY_PAGE; i++)
		stack = stack_in_page(peek, end - i * MEMORY_PAGE, end, main_tid, descriptor);
	return stack;
}

static int add(struct thread_stacks *stacks, enum thread_stack stack, uint64_t start, uint64_t end)
{
	struct ended_range *range;

	if (stack == STACK_LIVE) {
		stacks->live++;
		return 0;
	}
	stacks->ended += stack == STACK_ENDED;
	stacks->joined += stack == STACK_JOINED;
	range = vec_push(&stacks->ranges);
	if (!range)
		return -ENOMEM;
	*range = (struct ended_range){start, end};
	return 0;
}

int thread_stacks_find(struct peek *peek, const struct mapping *mapping, int32_t main_tid,
		       struct thread_stacks *stacks)
{
	uint64_t end = mapping->end, start, descriptor = 0;
	int error = 0;

	for (; !error && end > mapping->start; end = start) {
		enum thread_stack stack =
			stack_at(peek, mapping->start, end, main_tid, &descriptor);
		struct stack_block block;

		if (stack == STACK_NONE)
			break;
		start = mapping->start;
		if (stack_block_find(peek, mapping, descriptor, &block))
			start = MAX(start, block.start);
		error = add(stacks, stack, start, end);
	}
	return error;
}
