/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kept part of a process's memory: per page a hash of its contents and the words in it that may
 * be pointers. The contents themselves are read through a window and forgotten; or they are kept,
 * for walks of managed heaps (pages_keep()), and the words are found in them.
 *
 * Memory is read twice: first while the process runs, which takes long; then while it stands, where
 * only what changed is looked at again. The kernel shows which pages changed where it keeps
 * soft-dirty bits; elsewhere every page is read and its hash compared. Where that would take longer
 * than the process may stand, pages that have not changed lately are read a third time when it runs
 * again: one that has not changed by then was at the stop what it was before and after.
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

/* A word that may be a pointer, and where it stands in its page. */
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
	PAGE_UNCHECKED = 8, /* there was no time to look again */
	PAGE_LATE = 16,	    /* has both its words from before the stop and those from after it */
	PAGE_KEPT = 32,	    /* its contents are kept: `first` is the number of the copy */
};

struct page {
	uint64_t hash;
	uint32_t first; /* in found_words */
	uint16_t count;
	uint16_t flags;
};

/* A stretch of memory that is read. */
struct page_range {
	uint64_t start, end;
	size_t first;	  /* in pages */
	bool file;	  /* of a private file mapping: only pages that were written count */
	bool unseen;	  /* nothing of it is read: unused parts of stacks */
	uint32_t mapping; /* which one of struct maps */
	/* Where private anonymous memory ends that begins here, whatever may be done with its
	 * parts: one block that mprotect(2) has split goes on there. Less than `end`: nowhere
	 * else. */
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

/* Sees windows of consecutive present pages in ascending order. */
typedef void page_visitor(void *context, uint64_t address, const uint64_t *words, size_t count);

struct page_scan {
	struct memory_source source;
	int pagemap; /* -1: none */
	const struct filter *filter;
	/* Whether a block with a mapping of its own begins in a page, see heap_reader.h; or
	 * NULL. */
	bool (*find_mapped)(uint64_t page, const uint64_t *words, uint64_t end,
			    struct mapped_block *block);
	page_visitor *visit; /* may be NULL */
	void *context;
	uint64_t deadline_ns; /* for pages_check(): CLOCK_MONOTONIC */
	uint64_t patience_ns; /* likewise: pages that did not change lately are left
			       * PAGE_UNCHECKED from then on; 0: they are not */
	bool late;	      /* only pages that are PAGE_UNCHECKED: the process runs again */
	bool soft_dirty;      /* the kernel knows which pages changed since the first reading */
	unsigned int threads;
};

/* Makes room for the pages of the ranges. 0 or -ENOMEM. */
int pages_prepare(struct page_table *table);

/* Contents of pages are kept from now on, those of so many at most. Without memory, or beyond that,
 * they are not. */
void pages_keep(struct page_table *table, uint64_t pages);

/* The first reading. 0; -ESRCH; -ENOMEM; -EPERM. */
int pages_read(struct page_table *table, const struct page_scan *scan);

/* Takes over what is known of pages that are in both tables; before pages_check(). 0 or -ENOMEM. */
int pages_inherit(struct page_table *table, struct page_table *older);

/* The next reading: *checked gets how many pages were compared. 0; -ETIMEDOUT: it was not done by
 * the deadline (what is known of a page is then of this reading or the one before); errors as
 * above. */
int pages_check(struct page_table *table, const struct page_scan *scan, size_t *checked);

/* The range that holds address, or NULL. */
const struct page_range *pages_range_of(const struct page_table *table, uint64_t address);

/* Whether the last reading has seen that a page is there: nothing is said of others. Of a process
 * that has stood since. */
bool page_is_surely_present(const struct page_table *table, uint64_t address);

/* The page at a page's address, or NULL. */
struct page *pages_find(const struct page_table *table, uint64_t address);

/* The contents of a page; NULL: they are not kept. */
const unsigned char *page_contents(const struct page_table *table, const struct page *page);

/* The words of a page that may be pointers, by ascending place. `room` may have to hold them. */
#define PAGE_WORDS_ROOM (3 * PAGE_WORDS)
const uint64_t *page_words(const struct page_table *table, const struct filter *filter,
			   const struct page *page, uint64_t room[PAGE_WORDS_ROOM], size_t *count);
void pages_free(struct page_table *table);

/* For one page: for tests. */
uint64_t page_hash(const uint64_t *words);

#endif
