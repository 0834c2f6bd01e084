/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kept part of a process's memory: per page a hash of its contents and its possible pointers.
 * The contents themselves are read through a window and dropped; or they are kept, for walks of
 * managed heaps (pages_keep()), and the words are found in them.
 *
 * Memory is read twice: first while the process runs, which takes long; then during the stop, when
 * only changes are reread. The kernel shows changed pages if it has soft-dirty bits; else every
 * page is read and its hash compared. If that would take longer than the process may be stopped,
 * pages without recent changes are read a third time after the resume: one that is still unchanged
 * was the same at the stop.
 */
#ifndef LEAKMON_HEAP_PAGES_H
#define LEAKMON_HEAP_PAGES_H

#include "base/vec.h"
#include "heap/allocators/heap.h"
#include "heap/allocators/page_copies.h"
#include "heap/allocators/pointer_filter.h"
#include "process/proc/process_memory.h"

#define PAGE_WORDS (MEMORY_PAGE / 8)
#define WINDOW_PAGES 64u

/* A word that may be a pointer, and its index in its page. */
#define WORD_PLACE_BITS 9

static inline uint64_t found_pack(uint64_t value, size_t place)
{
	return value << WORD_PLACE_BITS | place;
}

static inline uint64_t found_value(uint64_t found)
{
	return found >> WORD_PLACE_BITS;
}

static inline size_t found_place(uint64_t found)
{
	return found & (PAGE_WORDS - 1);
}

struct found_words {
	uint64_t *items;
	size_t count, capacity;
};

enum page_flags {
	PAGE_WAS_READ = 1,
	PAGE_SWAPPED = 2,
	PAGE_CHANGED = 4,   /* between the first and the second reading, or new since */
	PAGE_UNCHECKED = 8, /* there was no time to reread it */
	PAGE_LATE = 16,	    /* has its words both from before and after the stop */
	PAGE_KEPT = 32,	    /* its contents are kept: `first` is the number of the copy */
};

struct page {
	uint64_t hash;
	uint32_t first; /* in found_words */
	uint16_t count;
	uint16_t flags;
};

/* A memory range to read. */
struct page_range {
	uint64_t start, end;
	size_t first;	  /* in pages */
	bool file;	  /* of a private file mapping: only written pages count */
	bool unseen;	  /* not read at all: unused parts of stacks */
	uint32_t mapping; /* index in struct maps */
	/*
	 * End of the private anonymous memory that begins here, regardless of protections: one
	 * block that mprotect(2) has split extends there. Less than `end`: no such memory.
	 */
	uint64_t reach;
};

/* Words of a page with kept contents, from after the stop: see PAGE_LATE. */
struct late_words {
	size_t page;
	uint32_t first; /* in found_words */
	uint16_t count;
};

struct page_table {
	VEC(struct page_range) ranges; /* ascending */
	struct page *pages;
	size_t count;
	struct found_words found;
	struct page_copies *copies;	 /* NULL: no contents are kept */
	VEC(struct late_words) late;	 /* by page */
	VEC(struct mapped_block) mapped; /* by their headers: not yet certain */
	uint64_t swapped;		 /* pages */
};

/* Called with windows of consecutive present pages in ascending order. */
typedef void page_visitor(void *context, uint64_t address, const uint64_t *words, size_t count);

struct page_scan {
	struct memory_source source;
	int pagemap; /* -1: none */
	const struct filter *filter;
	/*
	 * Returns whether a block with its own mapping begins in a page, see heap_reader.h; or
	 * NULL.
	 */
	bool (*find_mapped)(uint64_t page, const uint64_t *words, uint64_t end,
			    struct mapped_block *block);
	page_visitor *visit; /* may be NULL */
	void *context;
	uint64_t deadline_ns; /* for pages_check(): CLOCK_MONOTONIC */
	/*
	 * for pages_check(): pages without recent changes are left PAGE_UNCHECKED from then on; 0:
	 * never
	 */
	uint64_t patience_ns;
	bool late;	 /* only pages that are PAGE_UNCHECKED: the process runs again */
	bool soft_dirty; /* the kernel knows the pages changed since the first reading */
	unsigned int threads;
};

/* Allocates the pages of the ranges. Returns 0 or -ENOMEM. */
int pages_prepare(struct page_table *table);

/*
 * From now on keeps contents of pages, of at most `pages`. Without memory, or beyond that, they are
 * not kept.
 */
void pages_keep(struct page_table *table, uint64_t pages);

/* Makes the first reading. Returns 0; -ESRCH; -ENOMEM; -EPERM. */
int pages_read(struct page_table *table, const struct page_scan *scan);

/*
 * Takes over the data of pages that are in both tables; before pages_check(). Returns 0 or -ENOMEM.
 */
int pages_inherit(struct page_table *table, struct page_table *older);

/*
 * Makes the next reading: *checked gets the number of pages compared. Returns 0; -ETIMEDOUT: not
 * finished by the deadline (the data of a page are then of this reading or the previous one);
 * errors as above.
 */
int pages_check(struct page_table *table, const struct page_scan *scan, size_t *checked);

/* Returns the range that contains address, or NULL. */
const struct page_range *pages_range_of(const struct page_table *table, uint64_t address);

/*
 * Returns whether the last reading saw this page present, which says nothing of other pages. For a
 * process stopped since then.
 */
bool page_is_surely_present(const struct page_table *table, uint64_t address);

/* Returns the page at a page's address, or NULL. */
struct page *pages_find(const struct page_table *table, uint64_t address);

/* Returns the contents of a page; NULL: not kept. */
const unsigned char *page_contents(const struct page_table *table, const struct page *page);

/* Returns the possible pointers of a page, by ascending index, in `room` if necessary. */
#define PAGE_WORDS_ROOM (3 * PAGE_WORDS)
const uint64_t *page_words(const struct page_table *table, const struct filter *filter,
			   const struct page *page, uint64_t room[PAGE_WORDS_ROOM], size_t *count);
void pages_free(struct page_table *table);

/* Returns the hash of one page: for tests. */
uint64_t page_hash(const uint64_t *words);

#endif
