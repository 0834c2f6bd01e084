// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/heap_walk.h"

#include <errno.h>

#include "base/cleanup.h"

#define CHUNK_PREVIOUS_IN_USE 1ull
#define CHUNK_IS_MAPPED 2ull
#define CHUNK_NOT_MAIN 4ull
#define CHUNK_FLAGS 7ull
#define CHUNK_MIN 32
/* The two fence posts at the end of a heap that is used no more. */
#define FENCE_BYTES 48

static int push(struct heap_span *span, uint64_t size_word)
{
	uint32_t *chunk = vec_push(&span->chunks);

	if (!chunk)
		return -ENOMEM;
	*chunk = chunk_pack(span->next - span->start, size_word & CHUNK_PREVIOUS_IN_USE);
	return 0;
}

/* In a thread's heap only chunks in use are marked as not the main one's: glibc makes free ones
 * anew without the mark (malloc.c, _int_free() and _int_malloc(): set_head() of the remainder). */
static bool is_chunk(const struct heap_span *span, uint64_t size_word)
{
	uint64_t size = size_word & ~CHUNK_FLAGS;
	uint64_t limit = span->top > span->next ? span->top : span->end;

	return size >= CHUNK_MIN && size % 16 == 0 && size <= limit - span->next &&
	       !(size_word & CHUNK_IS_MAPPED) && !(span->main && size_word & CHUNK_NOT_MAIN);
}

int heap_span_step(struct heap_span *span, uint64_t size_word)
{
	uint64_t size = size_word & ~CHUNK_FLAGS;
	bool fence = !span->top && size < CHUNK_MIN && span->end - span->next <= FENCE_BYTES;

	if (span->next == span->top || fence) {
		span->done = true;
		return push(span, size_word);
	}
	if (!is_chunk(span, size_word)) {
		span->broken = span->done = true;
		return 0;
	}
	if (push(span, size_word))
		return -ENOMEM;
	span->next += size;
	if (span->next >= span->end || span->next - span->start >= SPAN_MAX_BYTES)
		span->broken = span->done = true;
	return 0;
}

int heap_span_feed(struct heap_span *span, uint64_t address, const uint64_t *words, size_t count)
{
	uint64_t end = address + count * 8;
	int err = 0;

	while (!err && !span->done && span->next >= address && span->next + 16 <= end)
		err = heap_span_step(span, words[(span->next - address) / 8 + 1]);
	return err;
}

int heap_span_finish(struct heap_span *span, struct peek *peek)
{
	int err = 0;

	while (!err && !span->done) {
		uint64_t header[2];
		int missing = peek_words(peek, span->next, header, 2);

		if (missing == -ETIMEDOUT)
			err = missing;
		else if (missing)
			span->broken = span->done = true;
		else
			err = heap_span_step(span, header[1]);
	}
	return err;
}
