// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/perf_map.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "binary/parse/image.h"

/* The limit of names in symbol_table.c. */
#define MAX_NAME_BYTES 4096

struct entry {
	uint64_t start, end;
	uint32_t name, name_length; /* in the file's text */
	uint32_t line;
	bool gone;
};

struct listing {
	char *text;
	size_t size;
	VEC(struct entry) entries;
};

static void listing_free(struct listing *listing)
{
	free(listing->text);
	vec_free(&listing->entries);
}

static int read_text(int fd, struct listing *listing)
{
	struct stat status;
	size_t size;

	if (fstat(fd, &status) < 0)
		return -EIO;
	size = MIN((uint64_t)MAX(status.st_size, 0), PERF_MAP_MAX_BYTES);
	listing->text = malloc(size + 1);
	if (!listing->text)
		return -ENOMEM;
	while (listing->size < size) {
		ssize_t got = pread(fd, listing->text + listing->size, size - listing->size,
				    (off_t)listing->size);

		if (got < 0 && errno != EINTR)
			return -EIO;
		if (got == 0)
			break;
		listing->size += got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int hex_digit(char character)
{
	if (character >= '0' && character <= '9')
		return character - '0';
	character |= 0x20;
	return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* Parses up to 16 digits and the blank after them. Returns the end, or NULL. */
static const char *take_hex(const char *at, const char *end, uint64_t *number)
{
	uint64_t value = 0;
	const char *digits;

	if (end - at > 2 && at[0] == '0' && (at[1] | 0x20) == 'x')
		at += 2;
	for (digits = at; at < end && at - digits < 16 && hex_digit(*at) >= 0; at++)
		value = value << 4 | (uint64_t)hex_digit(*at);
	if (at == digits || at == end || *at != ' ')
		return NULL;
	*number = value;
	return at + 1;
}

/* Parses [at, end), a line of `text` without its newline. */
static bool parse_line(const char *text, const char *at, const char *end, struct entry *entry)
{
	uint64_t size;

	at = take_hex(at, end, &entry->start);
	at = at ? take_hex(at, end, &size) : NULL;
	if (!at || !size || __builtin_add_overflow(entry->start, size, &entry->end))
		return false;
	entry->name = (uint32_t)(at - text);
	entry->name_length = (uint32_t)strnlen(at, MIN((size_t)(end - at), MAX_NAME_BYTES));
	return entry->name_length > 0;
}

static int parse_lines(struct listing *listing)
{
	const char *at = listing->text, *end = listing->text + listing->size, *newline;

	for (uint32_t line = 0; line < PERF_MAP_MAX_LINES; line++, at = newline + 1) {
		struct entry entry = {.line = line}, *kept;

		newline = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		if (!newline)
			break;
		if (!parse_line(listing->text, at, newline, &entry))
			continue;
		kept = vec_push(&listing->entries);
		if (!kept)
			return -ENOMEM;
		*kept = entry;
	}
	return 0;
}

static int compare_entries(const void *left_pointer, const void *right_pointer)
{
	const struct entry *left = left_pointer, *right = right_pointer;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->line < right->line) - (left->line > right->line);
}

/* A heap of entries by line number, the latest on top. */
struct heap {
	struct entry **entries;
	size_t count;
};

static void heap_swap(struct heap *heap, size_t left, size_t right)
{
	struct entry *moved = heap->entries[left];

	heap->entries[left] = heap->entries[right];
	heap->entries[right] = moved;
}

static void heap_push(struct heap *heap, struct entry *entry)
{
	size_t i = heap->count++;

	heap->entries[i] = entry;
	for (; i && heap->entries[(i - 1) / 2]->line < heap->entries[i]->line; i = (i - 1) / 2)
		heap_swap(heap, i, (i - 1) / 2);
}

static void heap_pop(struct heap *heap)
{
	size_t i = 0, child;

	heap->entries[0] = heap->entries[--heap->count];
	for (; (child = 2 * i + 1) < heap->count; i = child) {
		if (child + 1 < heap->count &&
		    heap->entries[child]->line < heap->entries[child + 1]->line)
			child++;
		if (heap->entries[i]->line >= heap->entries[child]->line)
			return;
		heap_swap(heap, i, child);
	}
}

/*
 * Code that starts within newer code is gone. Older code around newer code stays: the table finds
 * the inner entry first.
 */
static int mark_gone(struct listing *listing)
{
	size_t count = listing->entries.count;
	_cleanup_free_ struct entry **room = calloc(count + 1, sizeof(*room));
	struct heap heap = {.entries = room};

	if (!room)
		return -ENOMEM;
	if (count)
		qsort(listing->entries.items, count, sizeof(*listing->entries.items),
		      compare_entries);
	for (size_t i = 0; i < count; i++) {
		struct entry *entry = &listing->entries.items[i];

		while (heap.count && heap.entries[0]->end <= entry->start)
			heap_pop(&heap);
		entry->gone = heap.count && heap.entries[0]->line > entry->line;
		heap_push(&heap, entry);
	}
	return 0;
}

static int build_table(const struct listing *listing, struct symbol_table *table)
{
	_cleanup_(symbol_table_free) struct symbol_table built = {0};
	size_t used = 0;

	built.symbols = calloc(listing->entries.count + 1, sizeof(*built.symbols));
	/* The blank before each name makes room for its NUL. */
	built.names = calloc(listing->size + 1, 1);
	if (!built.symbols || !built.names)
		return -ENOMEM;
	for (size_t i = 0; i < listing->entries.count; i++) {
		const struct entry *entry = &listing->entries.items[i];

		if (entry->gone)
			continue;
		built.symbols[built.count++] = (struct symbol){
			.address = entry->start,
			.size = (uint32_t)MIN(entry->end - entry->start, UINT32_MAX),
			.name = (uint32_t)used,
		};
		memcpy(built.names + used, listing->text + entry->name, entry->name_length);
		used += entry->name_length + 1;
	}
	*table = built;
	built = (struct symbol_table){0};
	return 0;
}

int perf_map_read(int fd, struct symbol_table *table)
{
	_cleanup_(listing_free) struct listing listing = {0};
	int error = read_text(fd, &listing);

	if (!error)
		error = parse_lines(&listing);
	if (!error)
		error = mark_gone(&listing);
	return error ? error : build_table(&listing, table);
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	int error = perf_map_read(input->files[0], &image.table);

	return error ? error : encode_image(&image, body);
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	struct image image = {.file.fd = -1};
	struct symbol_table *table = out;
	int error = decode_image(body, &image);

	(void)origin;
	if (error)
		return error;
	*table = image.table;
	image.table = (struct symbol_table){0};
	image_free(&image);
	return 0;
}

const struct parse_kind perf_map_kind = {
	.name = "perf map",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};
