// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/elf_numbers.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"

#define CHUNK_WORDS 8192
#define BYTES_MAX (64ull << 20) /* per segment */
#define VALUE_MIN (1u << 16)	/* nothing is mapped below it */

struct reading {
	const struct elf_file *file;
	struct elf_numbers *numbers;
};

/* A program at fixed addresses contains addresses of its own variables. */
static bool is_own(const struct elf_file *file, uint64_t value)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];

		if (value - segment->vaddr < segment->memory_size)
			return true;
	}
	return false;
}

static int take_words(struct reading *reading, uint64_t vaddr, const uint64_t *words, size_t count)
{
	struct elf_numbers *numbers = reading->numbers;

	for (size_t i = 0; i < count && numbers->count < ELF_NUMBERS_MAX; i++) {
		struct elf_number *number;

		if (words[i] < VALUE_MIN || words[i] > UINT32_MAX || vaddr + i * 8 > UINT32_MAX ||
		    is_own(reading->file, words[i]))
			continue;
		number = vec_push(numbers);
		if (!number)
			return -ENOMEM;
		*number = (struct elf_number){(uint32_t)(vaddr + i * 8), (uint32_t)words[i]};
	}
	return 0;
}

static int take_segment(struct reading *reading, const struct elf_segment *segment)
{
	_cleanup_free_ uint64_t *words = malloc(CHUNK_WORDS * sizeof(*words));
	uint64_t skipped = -segment->vaddr & 7, at = skipped;
	uint64_t end = MIN(segment->file_size, BYTES_MAX);
	int error = words ? 0 : -ENOMEM;

	while (!error && at + 8 <= end) {
		size_t size = (size_t)MIN(end - at, CHUNK_WORDS * sizeof(*words)) & ~7ul;
		ssize_t got = elf_file_read(reading->file, segment->offset + at, words, size);

		if (got < 8)
			return got < 0 ? -EIO : 0;
		error = take_words(reading, segment->vaddr + at, words, (size_t)got / 8);
		at += (size_t)got & ~7ul;
	}
	return error;
}

static int compare_numbers(const void *left_pointer, const void *right_pointer)
{
	const struct elf_number *left = left_pointer, *right = right_pointer;

	return left->vaddr < right->vaddr ? -1 : left->vaddr > right->vaddr;
}

int elf_numbers_read(const struct elf_file *file, struct elf_numbers *numbers)
{
	struct elf_numbers read = {0};
	struct reading reading = {file, &read};
	int error = 0;

	for (size_t i = 0; !error && i < file->segments.count; i++) {
		if (file->segments.items[i].writable && read.count < ELF_NUMBERS_MAX)
			error = take_segment(&reading, &file->segments.items[i]);
	}
	if (error) {
		vec_free(&read);
		return error;
	}
	if (read.count)
		qsort(read.items, read.count, sizeof(*read.items), compare_numbers);
	*numbers = read;
	return 0;
}

bool elf_numbers_have(const struct elf_numbers *numbers, uint64_t vaddr, uint64_t value)
{
	size_t at = SORTED_BEFORE(number, numbers->items, numbers->count, number->vaddr < vaddr);

	return at < numbers->count && numbers->items[at].vaddr == vaddr &&
	       numbers->items[at].value == value;
}
