// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/glibc_arenas.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"

/* Of the largest layout. */
#define STATE_MAX_WORDS (2200 / 8)
#define CHUNK_ALIGN 16
/* 0: free; 1: locked; 2: with waiters (nptl/lowlevellock.h). */
#define LOCK_MAX 2
/* This many self-referring bins occur only in an arena. */
#define RESEMBLANCE_BINS 8
/* One of the first bins of an arena refers to itself. */
#define RESEMBLANCE_AMONG 32
/* Limit of an arena damaged by its program. */
#define RESEMBLANCE_ASTRAY 8
/* Limit of unclosed rings, each of maximum length. */
#define UNCLOSED_RINGS 16

/* The smallest first. */
static const struct malloc_layout layouts[] = {
	{"glibc 2.43", .top = 8, .bins = 24, .next = 2072, .system_mem = 2096, .size = 2112},
	{"glibc 2.27 to 2.42", .fastbins = 16, .top = 96, .bins = 112, .next = 2160,
	 .system_mem = 2184, .size = 2200},
	{"glibc 2.26 and before", .fastbins = 8, .top = 88, .bins = 104, .next = 2152,
	 .system_mem = 2176, .size = 2192},
};

static uint64_t word_at(const uint64_t *state, uint32_t offset)
{
	return state[offset / 8];
}

static bool is_chunk(const struct filter *heaps, uint64_t address)
{
	return address % CHUNK_ALIGN == 0 && filter_has(heaps, address);
}

/*
 * Returns the address of a bin as a chunk, with its pointers as list fields (malloc.c, bin_at()).
 */
static uint64_t bin_at(const struct malloc_layout *layout, uint64_t address, uint32_t bin)
{
	return address + layout->bins + bin * 16 - 16;
}

/*
 * Checks the forward and backward pointer of every bin separately: a thread stopped within malloc
 * may have set only one of them.
 */
static bool bins_hold(const uint64_t *state, const struct malloc_layout *layout, uint64_t address,
		      const struct filter *heaps)
{
	for (uint32_t i = 0; i < 2 * (MALLOC_BINS - 1); i++) {
		uint64_t pointer = word_at(state, layout->bins + i * 8);

		if (pointer != bin_at(layout, address, i / 2) && !is_chunk(heaps, pointer))
			return false;
	}
	return true;
}

/*
 * Many bins are empty, and the others contain pointers, even in an arena that is in use or has
 * grown since `heaps` was read. Python's size classes (obmalloc.c, usedpools) and tcmalloc's lists
 * of spans refer to themselves like bins, but are fewer, and are followed by other data.
 * Consecutively freed 16-byte slots (PHP's zend_alloc.c) point to their predecessor, like an empty
 * bin, but only once each. Returns the number of empty bins, or 0.
 */
static uint32_t resemblance(const uint64_t *state, const struct malloc_layout *layout,
			    uint64_t address)
{
	uint32_t empty = 0, astray = 0;

	for (uint32_t i = 0; i < MALLOC_BINS - 1 && (empty || i < RESEMBLANCE_AMONG); i++) {
		uint64_t forward = word_at(state, layout->bins + i * 16);
		uint64_t backward = word_at(state, layout->bins + i * 16 + 8);

		if (forward == bin_at(layout, address, i) && backward == forward)
			empty++;
		else if (forward < MEMORY_PAGE || forward % CHUNK_ALIGN ||
			 forward >> MACHINE_USER_BITS)
			astray++;
	}
	return empty >= RESEMBLANCE_BINS && astray <= RESEMBLANCE_ASTRAY ? empty : 0;
}

static bool sizes_hold(const uint64_t *state, const struct malloc_layout *layout)
{
	uint64_t now = word_at(state, layout->system_mem);
	uint64_t most = word_at(state, layout->system_mem + 8);

	return now <= most && most < 1ull << MACHINE_USER_BITS;
}

/* Returns the check that an arena fails, as text; NULL: none. */
static const char *state_fault(const uint64_t *state, const struct malloc_layout *layout,
			       uint64_t address, const struct filter *heaps)
{
	uint64_t top = word_at(state, layout->top);

	if ((uint32_t)state[0] > LOCK_MAX)
		return "its lock is in no state that a lock has";
	/* Before the first allocation the top is a bin. */
	if (top != address + layout->top && !is_chunk(heaps, top))
		return "its top chunk is not in anonymous memory";
	if (!sizes_hold(state, layout))
		return "its sizes contradict each other";
	if (!bins_hold(state, layout, address, heaps))
		return "a bin leads out of anonymous memory";
	return NULL;
}

/*
 * Rereads one arena. Returns 0; -EBADMSG: it is not one (any more); -EFAULT. *arena is then
 * untouched.
 */
static int malloc_arena_read(struct peek *peek, const struct filter *heaps, uint64_t address,
			     const struct malloc_layout *layout, struct malloc_arena *arena)
{
	uint64_t state[STATE_MAX_WORDS];
	int error = address % 8 ? -EBADMSG : peek_words(peek, address, state, layout->size / 8);

	if (error)
		return error;
	if (state_fault(state, layout, address, heaps))
		return -EBADMSG;
	*arena = (struct malloc_arena){
		.address = address,
		.top = word_at(state, layout->top),
		.system_mem = word_at(state, layout->system_mem),
		.next = word_at(state, layout->next),
		.layout = layout,
	};
	if (layout->fastbins)
		memcpy(arena->fastbins, state + layout->fastbins / 8, sizeof(arena->fastbins));
	return 0;
}

/* Appends `first` and the others of its ring; on failure the list is unchanged. */
static int add_ring(struct peek *peek, const struct filter *heaps, struct malloc_arena first,
		    struct malloc_arenas *arenas)
{
	size_t before = arenas->list.count;
	struct malloc_arena arena = first;
	int error = 0;

	arena.main = true;
	for (size_t i = 0; !error && i < MALLOC_MAX_ARENAS; i++) {
		struct malloc_arena *kept = vec_push(&arenas->list);

		if (!kept)
			return -ENOMEM;
		*kept = arena;
		if (arena.next == first.address)
			return 0;
		error = malloc_arena_read(peek, heaps, arena.next, first.layout, &arena);
		arena.main = false;
	}
	arenas->unclosed += arenas->list.count - before;
	arenas->list.count = before;
	return error ? error : -EBADMSG;
}

/* Data can be full of rings, and of paths into one that do not return: then the search ends. */
static bool are_enough(const struct malloc_arenas *arenas)
{
	return arenas->list.count >= MALLOC_MAX_ARENAS ||
	       arenas->unclosed >= UNCLOSED_RINGS * MALLOC_MAX_ARENAS;
}

static bool is_known(const struct malloc_arenas *arenas, uint64_t address)
{
	for (size_t i = 0; i < arenas->list.count; i++) {
		if (arenas->list.items[i].address == address)
			return true;
	}
	return false;
}

#define PAGE_WORDS (MEMORY_PAGE / 8)

/* Two pages, because a state may cross from one into the next. */
struct window {
	uint64_t words[2 * PAGE_WORDS];
};
_Static_assert(STATE_MAX_WORDS <= PAGE_WORDS, "and no further");

/* Advances by a page. An absent page reads as zeros, which is no state. */
static void window_move(struct window *window, struct peek *peek, uint64_t second)
{
	memcpy(window->words, window->words + PAGE_WORDS, MEMORY_PAGE);
	if (peek_words(peek, second, window->words + PAGE_WORDS, PAGE_WORDS))
		memset(window->words + PAGE_WORDS, 0, MEMORY_PAGE);
}

/* A cheap first check: the lock, and the address of the next arena. */
static bool may_be_state(const uint64_t *words, const struct malloc_layout *layout)
{
	uint64_t next = word_at(words, layout->next);

	return (uint32_t)words[0] <= LOCK_MAX && next && next % 8 == 0 &&
	       next < 1ull << MACHINE_USER_BITS;
}

/*
 * A thread's arena is in the first page of a heap, which may follow a module's data without a gap.
 * `address` is that arena's, or a similar one nearby.
 */
static bool is_in_heap(struct peek *peek, uint64_t address)
{
	uint64_t page = address & ~(MEMORY_PAGE - 1), owner;

	return !peek_words(peek, page, &owner, 1) && owner > page && owner - page < MEMORY_PAGE;
}

/* Tries one address and layout. Returns 0; -EAGAIN: it resembles an arena in use; -ENOMEM. */
static int try_arena(const uint64_t *words, struct peek *peek, const struct filter *heaps,
		     uint64_t address, const struct malloc_layout *layout,
		     struct malloc_arenas *arenas)
{
	uint32_t alike;
	struct malloc_arena arena;
	const char *fault;
	int error;

	if (!may_be_state(words, layout) || are_enough(arenas) || is_known(arenas, address))
		return 0;
	fault = state_fault(words, layout, address, heaps);
	alike = resemblance(words, layout, address);
	if ((fault && !alike) || is_in_heap(peek, address))
		return 0;
	if (!fault) {
		error = malloc_arena_read(peek, heaps, address, layout, &arena);
		if (!error)
			error = add_ring(peek, heaps, arena, arenas);
		if (!error || error == -ENOMEM)
			return error;
		fault = "the ring of arenas that it leads to does not close";
	}
	if (alike > arenas->faulty_bins) {
		arenas->faulty_bins = alike;
		arenas->faulty = address;
		arenas->fault = fault;
	}
	return alike ? -EAGAIN : 0;
}

/* Searches the window's first page. Returns 0; -ENOMEM; *again: one is in use. */
static int try_page(const struct window *window, struct peek *peek, const struct filter *heaps,
		    uint64_t page, uint64_t end, struct malloc_arenas *arenas, bool *again)
{
	for (size_t i = 0; i < PAGE_WORDS; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(layouts); j++) {
			int error;

			if (page + 8 * i + layouts[j].size > end)
				continue;
			error = try_arena(window->words + i, peek, heaps, page + 8 * i, &layouts[j],
					  arenas);

			if (error == -ENOMEM)
				return error;
			*again |= error == -EAGAIN;
		}
	}
	return 0;
}

int malloc_arenas_find(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		       struct malloc_arenas *arenas)
{
	size_t before = arenas->list.count;
	struct window window;
	bool again = false;

	start &= ~(MEMORY_PAGE - 1);
	window_move(&window, peek, start);
	for (; start + layouts[0].size <= end; start += MEMORY_PAGE) {
		int error;

		window_move(&window, peek, start + MEMORY_PAGE);
		if (peek->deadline && deadline_has_passed(peek->deadline))
			return -ETIMEDOUT;
		error = try_page(&window, peek, heaps, start, end, arenas, &again);
		if (error)
			return error;
	}
	/* At an offset of 16 bytes, or in another layout, an arena resembles one, too. */
	return again && arenas->list.count == before ? -EAGAIN : 0;
}

int malloc_arenas_refresh(struct peek *peek, const struct filter *heaps,
			  struct malloc_arenas *arenas)
{
	struct malloc_arenas fresh = {0};
	int error = 0;

	for (size_t i = 0; !error && i < arenas->list.count; i++) {
		const struct malloc_arena *known = &arenas->list.items[i];
		struct malloc_arena arena;

		if (!known->main)
			continue;
		error = malloc_arena_read(peek, heaps, known->address, known->layout, &arena);
		if (!error)
			error = add_ring(peek, heaps, arena, &fresh);
	}
	if (error) {
		vec_free(&fresh.list);
		arenas->fault = "an arena, or the ring that it leads to, holds no longer";
		return error;
	}
	vec_free(&arenas->list);
	*arenas = fresh;
	return 0;
}

#define CACHE_BINS 64
/* The limit of glibc.malloc.tcache_max, from 2.42 on. */
#define CACHE_MAX_BYTES (4u << 20)

/* Whole pages up to 2.42; 2.43 omits a header whenever mremap(2) moves a block. */
static bool par_holds(const struct malloc_par_tail *tail, const struct filter *heaps)
{
	return tail->cache_max_bytes <= CACHE_MAX_BYTES && tail->cache_count <= UINT16_MAX &&
	       tail->mapped_bytes <= tail->mapped_bytes_most &&
	       tail->mapped_bytes % CHUNK_ALIGN == 0 && filter_has(heaps, tail->heap_start);
}

int malloc_par_find(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		    struct malloc_par_tail *tail)
{
	for (uint64_t at = start; at + sizeof(*tail) <= end; at += 8) {
		uint64_t words[sizeof(*tail) / 8];
		struct malloc_par_tail read;

		if (deadline_step(peek->deadline))
			return -ETIMEDOUT;
		if (peek_words(peek, at + offsetof(struct malloc_par_tail, cache_bins), words, 1) ||
		    words[0] != CACHE_BINS || peek_words(peek, at, words, ARRAY_SIZE(words)))
			continue;
		memcpy(&read, words, sizeof(read));
		if (!par_holds(&read, heaps))
			continue;
		*tail = read;
		return 0;
	}
	return -ENOENT;
}
