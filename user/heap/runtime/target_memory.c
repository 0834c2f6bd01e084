// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/target_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/allocators/pages.h"

#define SLOT_PAGES 4
#define WINDOW (SLOT_PAGES * MEMORY_PAGE)
#define WINDOWS 1024
#define PAGES_AT_ONCE 256
#define PAGE_PRESENT (1ull << 63) /* as pagemap_is_present() */

/*
 * Walks of real heaps read each word 0.1 to 0.5 times, one by one (Java, Node, Python, Go, .NET,
 * Haskell, OCaml; 4 to 600 MiB). The minimum covers searches in the data of files.
 */
#define WORK_PER_WORD 16
#define WORK_MIN (1ll << 28)
/* Prices: of loading a window, of a page in a bulk read, of BYTES_PER_WORK bytes. */
#define WINDOW_WORK 64
#define PAGE_WORK 8
#define BYTES_PER_WORK 256

/* Cache of whole windows, direct-mapped by the hash of their address. */
struct memory_windows {
	struct {
		uint64_t address; /* plus 1; 0: empty */
		bool present[SLOT_PAGES];
		unsigned char *bytes;
	} slots[WINDOWS];
};

static uint64_t machine_bytes(void)
{
	struct sysinfo info;

	return sysinfo(&info) ? UINT64_MAX
			      : ((uint64_t)info.totalram + info.totalswap) * info.mem_unit;
}

static uint64_t writable_bytes(const struct maps *maps)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		bytes += mapping->writable ? mapping->end - mapping->start : 0;
	}
	return bytes;
}

/*
 * Returns the bytes of a process in memory or in swap (proc_pid_status(5)); for a core file, or an
 * ended process, those of writable mappings. At most the machine's memory: a page mapped several
 * times counts each time.
 */
static uint64_t occupied_bytes(const struct maps *maps)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[32], line[256];
	uint64_t kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/status", maps->source.task);
	if (!maps->source.core)
		file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		uint64_t number;

		if (sscanf(line, "VmRSS: %" SCNu64, &number) == 1 ||
		    sscanf(line, "VmSwap: %" SCNu64, &number) == 1 ||
		    sscanf(line, "HugetlbPages: %" SCNu64, &number) == 1)
			kib += number;
	}
	return MIN(kib ? kib * 1024 : writable_bytes(maps), machine_bytes());
}

const char *target_memory_overworked(const struct target_memory *memory)
{
	return memory->work_left < 0 ? "its memory leads to the same again and again, as if made "
				       "for that: not all of it was read"
				     : NULL;
}

bool target_memory_work(struct target_memory *memory, uint64_t units)
{
	if (memory->work_left >= 0)
		memory->work_left -= (int64_t)units;
	return memory->work_left >= 0;
}

void target_memory_exhaust(struct target_memory *memory)
{
	memory->work_left = -1;
}

int target_memory_open(const struct maps *maps, const struct data_modules *modules,
		       const struct page_table *kept, struct target_memory *memory)
{
	struct memory_windows *windows = calloc(1, sizeof(*windows));

	if (!windows)
		return -ENOMEM;
	*memory = (struct target_memory){.maps = maps,
					 .modules = modules,
					 .kept = kept && kept->copies ? kept : NULL,
					 .pagemap = pagemap_open(maps->source),
					 .windows = windows};
	memory->changes = !memory->kept && !maps->source.core;
	memory->occupied = MIN(occupied_bytes(maps), 1ull << 48);
	memory->work_most = WORK_MIN + (int64_t)(memory->occupied / 8 * WORK_PER_WORD);
	memory->work_left = memory->work_most;
	return 0;
}

void target_memory_close(struct target_memory *memory)
{
	for (size_t i = 0; memory->windows && i < WINDOWS; i++)
		free(memory->windows->slots[i].bytes);
	free(memory->windows);
	if (memory->pagemap >= 0)
		cleanup_close(&memory->pagemap);
	*memory = (struct target_memory){.pagemap = -1};
}

void target_memory_forget(struct target_memory *memory)
{
	memory->forgotten++;
	memory->work_left = memory->work_most;
	for (size_t i = 0; i < WINDOWS; i++)
		memory->windows->slots[i].address = 0;
}

void target_memory_read_anew(struct target_memory *memory)
{
	int64_t left = memory->work_left;

	target_memory_forget(memory);
	memory->work_left = left;
}

void target_memory_release(struct target_memory *memory)
{
	memory->forgotten++;
	memory->work_left = memory->work_most;
	for (size_t i = 0; i < WINDOWS; i++) {
		free(memory->windows->slots[i].bytes);
		memory->windows->slots[i].bytes = NULL;
		memory->windows->slots[i].address = 0;
	}
}

/* Reads consecutive present pages. Returns how many could be read. */
static size_t read_run(const struct target_memory *memory, uint64_t address, unsigned char *bytes,
		       size_t pages)
{
	ssize_t got = memory_read_present(memory->maps->source, address, bytes,
					  pages * (size_t)MEMORY_PAGE);

	return got > 0 ? (size_t)got / MEMORY_PAGE : 0;
}

/* Reads `pages` pages from `address` on; marks readable ones in present[], and zeros the others.
 * Continues after an unreadable page, such as a guard. */
static void read_present(const struct target_memory *memory, uint64_t address,
			 const uint64_t *entries, unsigned char *bytes, bool *present, size_t pages)
{
	for (size_t i = 0; i < pages;) {
		size_t run = 0, got;

		while (i + run < pages && pagemap_is_present(entries[i + run]))
			run++;
		got = run ? read_run(memory, address + i * MEMORY_PAGE, bytes + i * MEMORY_PAGE,
				     run)
			  : 0;
		memset(present + i, true, got);
		i += got;
		if (run && got == run)
			continue;
		present[i] = false;
		memset(bytes + i * MEMORY_PAGE, 0, MEMORY_PAGE);
		i++;
	}
}

static size_t slot_of(uint64_t window)
{
	return hash_mix(window / WINDOW) % WINDOWS;
}

/* Marks unmodified pages of files as present: they have the file's contents. */
static void find_files(const struct target_memory *memory, uint64_t address, uint64_t *entries,
		       size_t pages)
{
	for (size_t i = 0; i < pages; i++) {
		const struct mapping *mapping;

		if (pagemap_is_present(entries[i]) || pagemap_is_swapped(entries[i]))
			continue;
		mapping = maps_find(memory->maps, address + i * MEMORY_PAGE);
		if (mapping && mapping->inode && !mapping->shared)
			entries[i] = PAGE_PRESENT;
	}
}

/*
 * Returns the current bytes of the process from `address` on, or NULL if its page cannot be read.
 */
static const unsigned char *page_now(struct target_memory *memory, uint64_t address)
{
	uint64_t window = address & ~(WINDOW - 1), entries[SLOT_PAGES];
	size_t place = slot_of(window), page = (address - window) / MEMORY_PAGE;
	__typeof__(&memory->windows->slots[0]) slot = &memory->windows->slots[place];

	if (slot->address != window + 1) {
		if (!slot->bytes)
			slot->bytes = malloc(WINDOW);
		if (!slot->bytes || !target_memory_work(memory, WINDOW_WORK))
			return NULL;
		pagemap_read(memory->maps->source, memory->pagemap, window, entries, SLOT_PAGES);
		find_files(memory, window, entries, SLOT_PAGES);
		read_present(memory, window, entries, slot->bytes, slot->present, SLOT_PAGES);
		slot->address = window + 1;
	}
	return slot->present[page] ? slot->bytes + (address - window) : NULL;
}

/* Returns a page of the heap image, or NULL if the image does not have it. */
static const struct page *kept_page(struct target_memory *memory, uint64_t address)
{
	const struct page_range *range = memory->range;

	if (!memory->kept)
		return NULL;
	if (!range || address < range->start || address >= range->end)
		range = pages_range_of(memory->kept, address);
	memory->range = range;
	if (!range || range->unseen)
		return NULL;
	return &memory->kept->pages[range->first + (address - range->start) / MEMORY_PAGE];
}

/* Returns whether a page is known without a read of the process; *contents is NULL if it cannot be
 * read. */
static bool is_kept(struct target_memory *memory, uint64_t address, const unsigned char **contents)
{
	const struct page *page = kept_page(memory, address);

	if (!page)
		return false;
	*contents = page_contents(memory->kept, page);
	memory->uncertain |= page->flags & PAGE_LATE || (page->flags & PAGE_WAS_READ && !*contents);
	if (*contents || page->flags & PAGE_WAS_READ)
		return *contents != NULL;
	/* An unmodified page: its contents are in the file. */
	return !memory->range->file;
}

static const unsigned char *page_in_view(struct target_memory *memory, uint64_t address)
{
	const unsigned char *contents;

	if (is_kept(memory, address, &contents))
		return contents ? contents + address % MEMORY_PAGE : NULL;
	if (memory->kept && !maps_find(memory->maps, address))
		return NULL;
	return page_now(memory, address);
}

static bool has_views(const struct target_memory *memory, uint64_t address)
{
	uint64_t view = memory->view_shift ? address >> memory->view_shift : 0;

	return view == 1 || view == 2 || view == 4;
}

/* Returns the page from the first view that has it; among kept ones, preferably one read at the
 * stop: the kernel reports a change only in the view that was written. */
static const unsigned char *page_of_views(struct target_memory *memory, uint64_t address)
{
	uint64_t offset = address & ((1ull << memory->view_shift) - 1);
	const unsigned char *first = NULL;

	for (uint32_t i = 0; i < 3; i++) {
		uint64_t at = offset | 1ull << (memory->view_shift + i);
		const unsigned char *contents = page_in_view(memory, at);
		const struct page *page = contents ? kept_page(memory, at) : NULL;

		if (contents && (!page || page->flags & (PAGE_CHANGED | PAGE_LATE)))
			return contents;
		first = first ? first : contents;
	}
	return first;
}

/* Returns the bytes from `address` to the end of its page, or NULL if unreadable. */
static const unsigned char *page_at(struct target_memory *memory, uint64_t address)
{
	return has_views(memory, address) ? page_of_views(memory, address)
					  : page_in_view(memory, address);
}

int target_read(struct target_memory *memory, uint64_t address, void *buffer, size_t size)
{
	unsigned char *to = buffer;

	if (!target_memory_work(memory, 1 + size / BYTES_PER_WORK))
		return -EFAULT;
	while (size) {
		size_t here = MIN(size, MEMORY_PAGE - address % MEMORY_PAGE);
		const unsigned char *from = page_at(memory, address);

		if (!from || address + here < address)
			return -EFAULT;
		memcpy(to, from, here);
		to += here;
		address += here;
		size -= here;
	}
	return 0;
}

uint64_t target_room(struct target_memory *memory, uint64_t address, uint64_t size)
{
	const struct mapping *mapping = maps_find(memory->maps, address);
	uint64_t end = address;

	while (mapping && end - address < size && target_memory_work(memory, PAGE_WORK)) {
		end = mapping->end;
		mapping = maps_find(memory->maps, end);
	}
	return MIN(end - address, size);
}

uint64_t target_word(struct target_memory *memory, uint64_t address)
{
	uint64_t word;

	return target_read(memory, address, &word, sizeof(word)) ? 0 : word;
}

/* Copies a kept page, or zeros. Returns the number of bytes that were present. */
static uint64_t copy_page(struct target_memory *memory, uint64_t address, unsigned char *bytes)
{
	const struct page *page = kept_page(memory, address);
	const unsigned char *contents = page_at(memory, address);

	if (contents)
		memcpy(bytes, contents, MEMORY_PAGE);
	else
		memset(bytes, 0, MEMORY_PAGE);
	memory->unread_bytes += page && page->flags & PAGE_SWAPPED ? MEMORY_PAGE : 0;
	return contents ? MEMORY_PAGE : 0;
}

uint64_t target_read_pages(struct target_memory *memory, uint64_t address, void *buffer,
			   size_t size)
{
	unsigned char *bytes = buffer;
	bool by_page = memory->kept || has_views(memory, address);
	uint64_t there = 0;

	if (!target_memory_work(memory, size / MEMORY_PAGE * PAGE_WORK)) {
		memset(bytes, 0, size);
		return 0;
	}
	for (size_t done = 0; by_page && done + MEMORY_PAGE <= size; done += MEMORY_PAGE)
		there += copy_page(memory, address + done, bytes + done);
	if (by_page)
		return there;
	for (size_t done = 0; done < size / MEMORY_PAGE; done += PAGES_AT_ONCE) {
		size_t pages = MIN(size / MEMORY_PAGE - done, PAGES_AT_ONCE);
		uint64_t entries[PAGES_AT_ONCE], at = address + done * MEMORY_PAGE;
		bool present[PAGES_AT_ONCE];

		pagemap_read(memory->maps->source, memory->pagemap, at, entries, pages);
		read_present(memory, at, entries, bytes + done * MEMORY_PAGE, present, pages);
		for (size_t i = 0; i < pages; i++) {
			there += present[i] ? MEMORY_PAGE : 0;
			if (!present[i] &&
			    (pagemap_is_swapped(entries[i]) || pagemap_is_present(entries[i])))
				memory->unread_bytes += MEMORY_PAGE;
		}
	}
	return there;
}

const unsigned char *target_kept(struct target_memory *memory, uint64_t address, uint64_t size)
{
	uint64_t offset = address % MEMORY_PAGE;
	const unsigned char *first = NULL, *contents;

	for (uint64_t done = 0; memory->kept && done < offset + size; done += MEMORY_PAGE) {
		if (!is_kept(memory, address - offset + done, &contents) || !contents ||
		    (first && contents != first + done))
			return NULL;
		first = first ? first : contents;
	}
	return first ? first + offset : NULL;
}

int target_read_now(struct target_memory *memory, uint64_t address, void *buffer, size_t size)
{
	if (!memory->changes)
		return target_read(memory, address, buffer, size);
	if (!target_memory_work(memory, WINDOW_WORK + size / BYTES_PER_WORK))
		return -EFAULT;
	return memory_read_exact(memory->maps->source, address, buffer, size) ? -EFAULT : 0;
}

uint64_t target_variable(const struct data_module *module, const char *name)
{
	const struct symbol_table *table = &module->image->table;

	for (size_t i = 0; i < table->count; i++) {
		if (!strcmp(table->names + table->symbols[i].name, name))
			return module->bias + table->symbols[i].address;
	}
	return 0;
}
