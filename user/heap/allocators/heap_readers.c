// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/heap_reader.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "binary/arch/machine.h"

extern const struct heap_reader heap_reader_glibc, heap_reader_musl, heap_reader_jemalloc,
	heap_reader_tcmalloc, heap_reader_mimalloc3, heap_reader_mimalloc;

static const struct heap_reader *const readers[] = {
	&heap_reader_glibc,    &heap_reader_musl,      &heap_reader_jemalloc,
	&heap_reader_tcmalloc, &heap_reader_mimalloc3, &heap_reader_mimalloc,
};
_Static_assert(ARRAY_SIZE(readers) <= HEAP_READERS_MAX, "room for a state of each");

const struct heap_reader *heap_reader_at(size_t n)
{
	return n < ARRAY_SIZE(readers) ? readers[n] : NULL;
}

const struct heap_reader *heap_reader_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		if (!strncmp(name, readers[i]->name, strlen(readers[i]->name)))
			return readers[i];
	}
	return NULL;
}

const char *heap_readers_why_not(const struct maps *maps)
{
	for (size_t i = 0; i < maps->list.count; i++) {
		const char *slash = strrchr(maps->list.items[i].path, '/');

		for (size_t j = 0; slash && j < ARRAY_SIZE(readers); j++) {
			const char *library = readers[j]->library;

			if (library && !strncmp(slash + 1, library, strlen(library)))
				return readers[j]->why_not;
		}
	}
	return NULL;
}

bool heap_readers_find_mapped(uint64_t page, const uint64_t *words, uint64_t end,
			      struct mapped_block *block)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		if (!readers[i]->find_mapped || !readers[i]->find_mapped(page, words, end, block))
			continue;
		block->reader = readers[i];
		return true;
	}
	return false;
}

/* Limit of a module's data searched. */
#define MAX_DATA_BYTES (64ull << 20)

/*
 * Searches one module. Returns 0; -EAGAIN: one was found that is just changing; errors as find().
 */
static int find_in(struct heap_finds *finds, const struct heap_view *view, uint64_t start,
		   uint64_t end, bool found[HEAP_READERS_MAX])
{
	bool again = false;

	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		int error;

		if (found[i] && !readers[i]->several)
			continue;
		error = readers[i]->find(finds->states[i], view, start, end);
		if (error && error != -ENOENT && error != -EAGAIN)
			return error;
		found[i] |= error != -ENOENT;
		again |= error == -EAGAIN;
	}
	return again ? -EAGAIN : 0;
}

static int find_all(struct heap_finds *finds, const struct heap_view *view,
		    bool found[HEAP_READERS_MAX])
{
	const struct maps *maps = view->maps;
	bool again = false;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		int error;

		if (!mapping->inode || !mapping->writable || mapping->shared)
			continue;
		error = find_in(finds, view, mapping->start,
				MIN(maps_data_end(maps, i), mapping->start + MAX_DATA_BYTES),
				found);
		if (error && error != -EAGAIN)
			return error;
		again |= error == -EAGAIN;
	}
	return again ? -EAGAIN : 0;
}

static void drop_state(struct heap_finds *finds, size_t i)
{
	if (finds->states[i] && readers[i]->release)
		readers[i]->release(finds->states[i]);
	free(finds->states[i]);
	finds->states[i] = NULL;
}

/*
 * The data of real programs takes less than a second; data made to resemble an allocator's
 * everywhere took hours.
 */
#define FIND_NS (120 * UINT64_C(1000000000))

static int find_in_time(struct heap_finds *finds, const struct heap_view *view,
			bool found[HEAP_READERS_MAX])
{
	struct deadline limit = {.at_ns = monotonic_ns() + FIND_NS}, *own = view->peek->deadline;
	char target[32] = "the core file";
	int error;

	if (own && own->at_ns)
		return find_all(finds, view, found);
	view->peek->deadline = &limit;
	error = find_all(finds, view, found);
	view->peek->deadline = own;
	if (error != -ETIMEDOUT)
		return error;
	if (!view->peek->source.core)
		snprintf(target, sizeof(target), "process %d", view->peek->source.task);
	log_warning(
		"%s: the search for allocators was ended after %d s (too many lookalikes): blocks of others are unknown",
		target, (int)(FIND_NS / 1000000000));
	return 0;
}

int heap_finds_make(struct heap_finds *finds, const struct heap_view *view)
{
	bool found[HEAP_READERS_MAX] = {false};
	int error;

	heap_finds_free(finds);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		finds->states[i] = calloc(1, readers[i]->state_size);
		if (!finds->states[i])
			return -ENOMEM;
	}
	error = find_in_time(finds, view, found);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		if (!found[i])
			drop_state(finds, i);
	}
	return error;
}

void heap_finds_free(struct heap_finds *finds)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		drop_state(finds, i);
}

int heap_finds_walk_begin(struct heap_finds *finds, const struct heap_view *view)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(readers); i++) {
		if (finds->states[i] && readers[i]->walk_begin)
			error = readers[i]->walk_begin(finds->states[i], view);
	}
	return error;
}

int heap_finds_walk_feed(struct heap_finds *finds, uint64_t address, const uint64_t *words,
			 size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(readers); i++) {
		if (finds->states[i] && readers[i]->walk_feed)
			error = readers[i]->walk_feed(finds->states[i], address, words, count);
	}
	return error;
}

int heap_finds_walk_end(struct heap_finds *finds, const struct heap_view *view)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(readers); i++) {
		if (finds->states[i] && readers[i]->walk_end)
			error = readers[i]->walk_end(finds->states[i], view);
	}
	return error;
}

/* For readers. */

#define AHEAD_PAGES 512

bool heap_data_visit(struct peek *peek, uint64_t start, uint64_t end,
		     bool (*visit)(void *context, uint64_t page, const uint64_t *words),
		     void *context)
{
	uint64_t entries[AHEAD_PAGES], words[MEMORY_PAGE / 8];
	uint64_t at = start & ~(MEMORY_PAGE - 1);

	for (; at < end; at += AHEAD_PAGES * MEMORY_PAGE) {
		size_t count = MIN((end - at + MEMORY_PAGE - 1) / MEMORY_PAGE, AHEAD_PAGES);

		pagemap_read(peek->source, peek->pagemap, at, entries, count);
		for (size_t i = 0; i < count; i++) {
			if (pagemap_is_present(entries[i]) &&
			    !peek_words(peek, at + i * MEMORY_PAGE, words, ARRAY_SIZE(words)) &&
			    visit(context, at + i * MEMORY_PAGE, words))
				return true;
		}
	}
	return false;
}

static uint64_t entry_of(const struct peek *peek, uint64_t address)
{
	uint64_t entry = UINT64_MAX;

	if (address < 1ull << MACHINE_USER_BITS)
		pagemap_read(peek->source, peek->pagemap, address & ~(MEMORY_PAGE - 1), &entry, 1);
	return entry;
}

bool heap_is_swapped(const struct peek *peek, uint64_t address)
{
	uint64_t entry = entry_of(peek, address);

	return !pagemap_is_present(entry) && pagemap_is_swapped(entry);
}

/* Reads within one page. A core has no entry for a page of zeros, nor for a missing one. */
static int words_of_page(struct peek *peek, uint64_t address, uint64_t *words, size_t count)
{
	int error = peek_words(peek, address, words, count);
	uint64_t entry;

	if (error != -EFAULT || address % 8)
		return error;
	entry = entry_of(peek, address);
	if (pagemap_is_present(entry) || pagemap_is_swapped(entry))
		return error;
	if (peek->source.core)
		return memory_read_exact(peek->source, address, words, count * sizeof(*words));
	memset(words, 0, count * sizeof(*words));
	return 0;
}

int heap_words(struct peek *peek, uint64_t address, uint64_t *words, size_t count)
{
	int error = 0;
	size_t part;

	for (; !error && count; address += part * 8, words += part, count -= part) {
		part = MIN(count, (MEMORY_PAGE - address % MEMORY_PAGE + 7) / 8);
		error = words_of_page(peek, address, words, part);
	}
	return error;
}

/* Versions. */

size_t heap_version_copy(const char *text, char version[HEAP_VERSION_MAX])
{
	size_t length = strspn(text, "0123456789.");

	if (length >= HEAP_VERSION_MAX)
		return 0;
	memcpy(version, text, length);
	version[length] = 0;
	return length;
}

/* Limit per module: more than an allocator has, or a program with a built-in one. */
#define MAX_TEXT_PAGES 4096

struct version_search {
	const struct heap_view *view;
	bool (*match)(const char *text, char version[HEAP_VERSION_MAX]);
	char *version;
	size_t pages;
};

/* Searches one page; a text may continue in the next. */
static bool search_page(struct version_search *search, uint64_t page, bool next)
{
	char text[MEMORY_PAGE + HEAP_VERSION_ROOM + 1] = {0};
	size_t size = MEMORY_PAGE + (next ? HEAP_VERSION_ROOM : 0);

	if (memory_read_exact(search->view->peek->source, page, text, size))
		return false;
	for (size_t i = 0; i < MEMORY_PAGE; i++) {
		if (search->match(text + i, search->version))
			return true;
	}
	return false;
}

static bool search_texts(struct version_search *search, const struct mapping *mapping)
{
	struct peek *peek = search->view->peek;
	uint64_t entries[AHEAD_PAGES];

	for (uint64_t at = mapping->start; at < mapping->end && search->pages < MAX_TEXT_PAGES;) {
		size_t count = MIN((mapping->end - at) / MEMORY_PAGE, AHEAD_PAGES);

		if (!count)
			break;
		pagemap_read(peek->source, peek->pagemap, at, entries, count);
		for (size_t i = 0; i < count; i++, search->pages++) {
			bool next = i + 1 < count && pagemap_is_present(entries[i + 1]);

			if (pagemap_is_present(entries[i]) &&
			    search_page(search, at + i * MEMORY_PAGE, next))
				return true;
		}
		at += count * MEMORY_PAGE;
	}
	return false;
}

void heap_version_find(const struct heap_view *view, uint64_t data,
		       bool (*match)(const char *text, char version[HEAP_VERSION_MAX]),
		       char version[HEAP_VERSION_MAX])
{
	struct version_search search = {.view = view, .match = match, .version = version};
	const struct mapping *own = maps_find(view->maps, data);

	version[0] = 0;
	for (size_t i = 0; own && i < view->maps->list.count; i++) {
		const struct mapping *mapping = &view->maps->list.items[i];

		if (mapping->inode != own->inode || mapping->major != own->major ||
		    mapping->minor != own->minor || mapping->writable || mapping->executable)
			continue;
		if (search_texts(&search, mapping))
			return;
		version[0] = 0;
	}
}

static bool is_tested(const char *version, const struct heap_version_range *tested, size_t count)
{
	unsigned int major, minor;

	if (sscanf(version, "%3u.%4u", &major, &minor) != 2)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (major == tested[i].major && minor >= tested[i].from && minor <= tested[i].to)
			return true;
	}
	return false;
}

void heap_name(struct heap *heap, const char *name, const char *version,
	       const struct heap_version_range *tested, size_t count)
{
	bool unknown = !version[0];

	snprintf(heap->name, sizeof(heap->name), "%s%s%s%s", name, unknown ? "" : " ", version,
		 unknown || is_tested(version, tested, count) ? "" : " (version not tested)");
}
