// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/thread_vectors.h"

#include <errno.h>

#include "base/cleanup.h"
#include "elf/tls_layout.h"

/* Of one thread; a program with more modules that have thread-locals has not been seen. */
#define MAX_ENTRIES 1024
/* Of all: the length stands in the target, which may lie. */
#define MAX_ALL_ENTRIES (4u << 20)
#define WORDS_PER_ENTRY (TLS_VECTOR_ENTRY / 8)

/* How many entries follow the first; 0: it is no vector. */
static size_t entries_of(struct peek *peek, uint64_t vector)
{
	uint64_t length;

	if (!vector || vector % 8 || vector < TLS_VECTOR_ENTRY ||
	    peek_words(peek, vector - TLS_VECTOR_ENTRY, &length, 1))
		return 0;
	return (size_t)MIN(length, MAX_ENTRIES);
}

static int read_vector(struct picture_thread *thread, struct peek *peek, size_t *left)
{
	struct thread_vector read = {0};
	uint64_t words[WORDS_PER_ENTRY];

	if (peek_words(peek, thread->registers.fs_base + TLS_VECTOR_AT, &read.address, 1))
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

int thread_vectors_read(struct picture *picture, struct peek *peek)
{
	size_t left = MAX_ALL_ENTRIES;
	int err = 0;

	for (size_t i = 0; !err && i < picture->threads.count; i++) {
		if (deadline_has_passed(peek->deadline))
			break;
		if (picture->threads.items[i].registers.fs_base)
			err = read_vector(&picture->threads.items[i], peek, &left);
	}
	return err;
}
