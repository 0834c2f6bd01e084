// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/ended_stacks.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_abi.h"
#include "binary/parse/thread_library.h"

/* glibc aligns descriptors to 64 bytes; no psABI allows less than this. */
#define DESCRIPTOR_ALIGNMENT 16
#define USER_ADDRESSES (1ull << MACHINE_USER_BITS)

/*
 * After _dl_stack_user, a list_t, come _dl_stack_cache, another one, and _dl_stack_cache_actsize.
 */
#define LIST_BYTES 16

/* struct pthread: stackblock, stackblock_size, guardsize. */
enum { BLOCK_START, BLOCK_SIZE, BLOCK_GUARD, BLOCK_WORDS };

/* A possible offset of these in struct pthread, and the resulting sum of the cached sizes. */
struct candidate {
	uint32_t at;
	uint64_t sum;
};

struct ended_thread {
	uint64_t descriptor;
	bool cached;
};

struct finder {
	struct heap_image *heap_image;
	const struct tls_layout *layout;
	struct peek *peek;
	uint64_t *descriptor; /* layout->thread_size bytes */
	VEC(uint64_t) live;   /* stack pointers and thread pointers, ascending */
	VEC(struct ended_thread) threads;
	VEC(struct candidate) candidates;
	bool compared; /* the candidates fit at least one thread */
	bool chosen;   /* the first one is certain */
	size_t walked;
};

static int compare_addresses(const void *left_pointer, const void *right_pointer)
{
	uint64_t left = *(const uint64_t *)left_pointer, right = *(const uint64_t *)right_pointer;

	return left < right ? -1 : left > right;
}

static int list_live(struct finder *finder, const struct stop *stop)
{
	for (size_t i = 0; i < stop->threads.count; i++) {
		const struct machine_registers *registers = &stop->threads.items[i].registers;
		uint64_t *sp = vec_push(&finder->live), *pointer;

		if (!sp)
			return -ENOMEM;
		*sp = machine_sp(registers);
		pointer = vec_push(&finder->live);
		if (!pointer)
			return -ENOMEM;
		*pointer = machine_thread_pointer(registers);
	}
	if (finder->live.count)
		qsort(finder->live.items, finder->live.count, sizeof(*finder->live.items),
		      compare_addresses);
	return 0;
}

/* Returns whether a live thread is in [start, end). */
static bool is_live(const struct finder *finder, uint64_t start, uint64_t end)
{
	size_t at = SORTED_BEFORE(live, finder->live.items, finder->live.count, *live < start);

	return at < finder->live.count && finder->live.items[at] < end;
}

/* Unreadable words count as an inconsistency. */
static int read_words(const struct finder *finder, uint64_t address, uint64_t *words, size_t count)
{
	int error;

	if (address % 8 || address < MEMORY_PAGE || address >= USER_ADDRESSES - TLS_LAYOUT_MAX)
		return -EBADMSG;
	error = peek_words(finder->peek, address, words, count);
	return error == -EFAULT ? -EBADMSG : error;
}

static int read_half_word(const struct finder *finder, uint64_t address, uint32_t *half)
{
	uint64_t word = 0;
	int error = read_words(finder, address & ~7ull, &word, 1);

	*half = (uint32_t)(address % 8 ? word >> 32 : word);
	return error;
}

static int read_links(const struct finder *finder, uint64_t node, uint64_t *next, uint64_t *prev)
{
	uint64_t words[2] = {0};
	int error = read_words(finder, node, words, 2);

	*next = words[finder->layout->next_at / 8];
	*prev = words[finder->layout->prev_at / 8];
	return error;
}

/* In variant I these follow the descriptor: at most a default stack's reserve. */
#define THREAD_LOCALS_BYTES (1u << 20)

/*
 * Returns whether it is a stack of whole pages with its guard at the bottom and the descriptor at
 * the top.
 */
static bool is_block(const struct finder *finder, uint64_t descriptor, const uint64_t *words)
{
	uint64_t start = words[BLOCK_START], size = words[BLOCK_SIZE], guard = words[BLOCK_GUARD];
	uint64_t end = descriptor + finder->layout->thread_size;
	uint64_t thread_locals = machine_abi.tls.is_variant_1 ? THREAD_LOCALS_BYTES : 0;

	return start && start < descriptor && !((start | size | guard) % MEMORY_PAGE) &&
	       size < USER_ADDRESSES && guard < size && descriptor - start > guard &&
	       start + size >= end && start + size - end < MEMORY_PAGE + thread_locals;
}

static int add_candidates(struct finder *finder, uint64_t descriptor)
{
	size_t words = finder->layout->thread_size / 8;

	for (size_t i = 0; i + BLOCK_WORDS <= words; i++) {
		struct candidate *candidate;

		if (!is_block(finder, descriptor, finder->descriptor + i))
			continue;
		candidate = vec_push(&finder->candidates);
		if (!candidate)
			return -ENOMEM;
		*candidate = (struct candidate){.at = (uint32_t)i};
	}
	finder->compared = true;
	return 0;
}

/* Keeps the candidates that fit every thread. */
static int compare(struct finder *finder, uint64_t descriptor, bool cached)
{
	/* With many threads, reading all would take long. */
	bool narrowed = finder->candidates.count == 1;
	uint32_t from = narrowed ? finder->candidates.items[0].at : 0;
	size_t kept = 0, wanted = narrowed ? BLOCK_WORDS : finder->layout->thread_size / 8;
	int error = read_words(finder, descriptor + from * 8ull, finder->descriptor + from, wanted);

	if (!error && !finder->compared)
		error = add_candidates(finder, descriptor);
	for (size_t i = 0; !error && i < finder->candidates.count; i++) {
		struct candidate candidate = finder->candidates.items[i];
		const uint64_t *words = finder->descriptor + candidate.at;

		if (!is_block(finder, descriptor, words))
			continue;
		candidate.sum += cached ? words[BLOCK_SIZE] : 0;
		finder->candidates.items[kept++] = candidate;
	}
	finder->candidates.count = error ? finder->candidates.count : kept;
	return error;
}

/* An ended thread's stack contains no live thread, and is in memory of one kind. */
static int add(struct finder *finder, const struct ended_thread *thread)
{
	struct heap_image *heap_image = finder->heap_image;
	uint64_t words[BLOCK_WORDS], start, end;
	const struct mapping *mapping;
	struct ended_stack *stack;
	int error = read_words(finder, thread->descriptor + finder->candidates.items[0].at * 8ull,
			       words, BLOCK_WORDS);

	if (error || !is_block(finder, thread->descriptor, words))
		return error;
	start = words[BLOCK_START] + words[BLOCK_GUARD];
	end = words[BLOCK_START] + words[BLOCK_SIZE];
	mapping = maps_find(&heap_image->maps, start);
	if (!mapping || !mapping->writable || mapping->shared || mapping->inode ||
	    end > mapping->end || is_live(finder, start, end))
		return 0;
	stack = vec_push(&heap_image->ended);
	if (!stack)
		return -ENOMEM;
	*stack = (struct ended_stack){start, end, thread->descriptor, finder->layout->vector_at,
				      thread->cached};
	return 0;
}

/*
 * Chooses the one offset that fits all threads so far, and the sum; then adds what depends on it.
 */
static int choose(struct finder *finder, uint64_t sum)
{
	size_t kept = 0;
	int error = 0;

	for (size_t i = 0; i < finder->candidates.count; i++) {
		if (finder->candidates.items[i].sum == sum)
			finder->candidates.items[kept++] = finder->candidates.items[i];
	}
	finder->candidates.count = kept;
	finder->chosen = kept == 1;
	if (!finder->chosen)
		return finder->compared || sum ? -EBADMSG : 0;
	for (size_t i = 0; !error && i < finder->threads.count; i++)
		error = add(finder, &finder->threads.items[i]);
	finder->threads.count = 0;
	return error;
}

/* Returns 1: the thread has ended; 0: it has not; -errno. */
static int has_ended(const struct finder *finder, uint64_t descriptor, bool cached)
{
	uint32_t tid, state;
	int error = read_half_word(finder, descriptor + finder->layout->tid_at, &tid);

	if (!error)
		error = read_half_word(finder, descriptor + finder->layout->state_at, &state);
	if (error)
		return error;
	/*
	 * A forked child has the stacks of its parent's other threads, unused: but these threads
	 * have not ended, and their blocks are no leak.
	 */
	if (!(state & THREAD_STATE_EXITING))
		return 0;
	/* Set to -1 by a join; else cleared by the kernel, or not written yet. */
	return cached ? (int32_t)tid <= 0 : !tid;
}

static int visit(struct finder *finder, uint64_t descriptor, bool cached)
{
	int ended = has_ended(finder, descriptor, cached), error = ended < 0 ? ended : 0;
	struct ended_thread *thread;

	/* The sizes of all cached ones add up. */
	if (!error && !finder->chosen && (cached || ended))
		error = compare(finder, descriptor, cached);
	if (error || !ended || is_live(finder, descriptor, descriptor + 1))
		return error;
	if (finder->chosen)
		return add(finder, &(struct ended_thread){descriptor, cached});
	thread = vec_push(&finder->threads);
	if (!thread)
		return -ENOMEM;
	*thread = (struct ended_thread){descriptor, cached};
	return 0;
}

static int walk(struct finder *finder, uint64_t head, bool cached)
{
	uint64_t before = head, node, next, prev;
	int error = read_links(finder, head, &node, &prev);

	while (!error && node != head) {
		uint64_t descriptor = node - finder->layout->node_at, self = 0;

		error = read_links(finder, node, &next, &prev);
		if (!error)
			error = read_words(finder, descriptor, &self, 1);
		if (error)
			return error;
		/* psABI: %fs:0 is the thread pointer itself. */
		if (self != descriptor || descriptor % DESCRIPTOR_ALIGNMENT || prev != before ||
		    finder->walked++ == ENDED_STACKS_MAX)
			return -EBADMSG;
		error = visit(finder, descriptor, cached);
		before = node;
		node = next;
	}
	if (!error)
		error = read_links(finder, head, &next, &prev);
	return !error && prev != before ? -EBADMSG : error;
}

/* Finds the heads of the lists. */
static int find_heads(const struct finder *finder, const struct c_library *library, uint64_t *used,
		      uint64_t *cache)
{
	uint64_t global = 0;
	int error = read_words(finder, library->bias + finder->layout->heads_at, &global, 1);

	if (error)
		return error;
	if (finder->layout->user_at != finder->layout->used_at + LIST_BYTES)
		return -EBADMSG;
	*used = global + finder->layout->used_at;
	*cache = global + finder->layout->user_at + LIST_BYTES;
	return 0;
}

static int find(struct finder *finder, const struct c_library *library)
{
	uint64_t used = 0, cache = 0, sum = 0;
	int error = find_heads(finder, library, &used, &cache);

	if (!error)
		error = read_words(finder, cache + LIST_BYTES, &sum, 1);
	if (!error)
		error = walk(finder, cache, true);
	if (!error)
		error = choose(finder, sum);
	if (!error)
		error = walk(finder, used, false);
	return error || finder->chosen ? error : choose(finder, 0);
}

static const char *why_not(int error)
{
	return error == -ETIMEDOUT ? "there was no time to find all of them"
				   : "the C library's lists of them contradict themselves, or were "
				     "just being changed";
}

int ended_stacks_find(struct heap_image *heap_image, const struct c_library *library,
		      const struct stop *stop, struct peek *peek)
{
	_cleanup_free_ uint64_t *descriptor = malloc(library->layout.thread_size + 8);
	struct finder finder = {.heap_image = heap_image,
				.layout = &library->layout,
				.peek = peek,
				.descriptor = descriptor};
	int error = descriptor ? list_live(&finder, stop) : -ENOMEM;

	if (!error)
		error = find(&finder, library);
	vec_free(&finder.live);
	vec_free(&finder.threads);
	vec_free(&finder.candidates);
	if (!error)
		return 0;
	heap_image->why_not_ended = why_not(error);
	return error == -ENOMEM ? error : 0;
}
