// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/mapping_owner.h"

#include <string.h>

#include "arch/machine.h"
#include "base/cleanup.h"
#include "heap/pages.h"

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* What tmpfs-backed mappings are called that no path leads to. */
static bool is_shared_memory(const struct mapping *mapping)
{
	static const char *const deleted[] = {"/memfd:", "/SYSV", "/dev/zero"};

	if (begins(mapping->path, "/dev/shm/") || begins(mapping->path, "[anon_shmem:"))
		return true;
	for (size_t i = 0; mapping->deleted && i < ARRAY_SIZE(deleted); i++) {
		if (begins(mapping->path, deleted[i]))
			return true;
	}
	return false;
}

/* The kernel puts it right behind the last segment with contents. */
static bool is_module_data(const struct smaps *smaps, size_t i)
{
	const struct mapping *mapping = &smaps->list.items[i].mapping, *before;

	if (!i || mapping->path[0] || !mapping->writable)
		return false;
	before = &smaps->list.items[i - 1].mapping;
	return before->end == mapping->start && before->inode && !before->shared &&
	       before->writable;
}

enum memory_part mapping_owner(const struct smaps *smaps, size_t i)
{
	const struct mapping *mapping = &smaps->list.items[i].mapping;

	if (is_shared_memory(mapping))
		return MEMORY_SHARED;
	if (mapping->inode || mapping->path[0] == '/')
		return MEMORY_FILES;
	if (strcmp(mapping->path, "[stack]") == 0)
		return MEMORY_STACKS;
	if (begins(mapping->path, "[anon:"))
		return MEMORY_NAMED;
	if (begins(mapping->path, "[v") || strcmp(mapping->path, "[uprobes]") == 0)
		return MEMORY_KERNEL;
	if (mapping->executable)
		return MEMORY_CODE;
	return is_module_data(smaps, i) ? MEMORY_MODULE_DATA : MEMORY_ANONYMOUS;
}

static enum thread_stack stack_by_tid(int32_t tid, int32_t main_tid)
{
	if (tid > 0)
		return tid == main_tid ? STACK_NONE : STACK_LIVE;
	return tid == 0 ? STACK_ENDED : tid == -1 ? STACK_JOINED : STACK_NONE;
}

/* Where a descriptor may begin, seen from the end: the last two pages, for it is aligned. */
#define SEARCH_PAGES 2

static enum thread_stack stack_in_page(struct peek *peek, uint64_t page, uint64_t end,
				       int32_t main_tid)
{
	for (uint64_t at = page; at < page + MEMORY_PAGE && at + MACHINE_THREAD_TID_AT + 8 <= end;
	     at += 16) {
		uint64_t own, self, tid;

		if (peek_words(peek, at, &own, 1))
			return STACK_NONE;
		if (own == at && !peek_words(peek, at + MACHINE_THREAD_SELF_AT, &self, 1) &&
		    self == at && !peek_words(peek, at + MACHINE_THREAD_TID_AT, &tid, 1))
			return stack_by_tid((int32_t)tid, main_tid);
	}
	return STACK_NONE;
}

enum thread_stack thread_stack_at(struct peek *peek, const struct mapping *mapping,
				  int32_t main_tid)
{
	enum thread_stack stack = STACK_NONE;

	for (uint64_t i = 1; stack == STACK_NONE && i <= SEARCH_PAGES &&
			     mapping->end - mapping->start >= i * MEMORY_PAGE;
	     i++)
		stack = stack_in_page(peek, mapping->end - i * MEMORY_PAGE, mapping->end, main_tid);
	return stack;
}
