/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of kept pages, by number. They never move: several threads may add some at a time, while
 * the process is stopped.
 */
#ifndef LEAKMON_HEAP_PAGE_COPIES_H
#define LEAKMON_HEAP_PAGE_COPIES_H

#include <stdint.h>

struct page_copies;

/* Returns a store for at most `pages` pages; memory is taken on demand. NULL: out of memory. */
struct page_copies *page_copies_new(uint64_t pages);
void page_copies_free(struct page_copies *copies);

/*
 * Allocates memory for `pages` more in advance: the first touch of a page costs ten times a copy.
 * May fail.
 */
void page_copies_warm(struct page_copies *copies, uint64_t pages);
/* Returns memory taken in advance and not needed. */
void page_copies_trim(struct page_copies *copies);

/* Returns the address for a new page, and its number. NULL: no room, or out of memory. */
unsigned char *page_copies_add(struct page_copies *copies, uint32_t *number);
unsigned char *page_copies_at(const struct page_copies *copies, uint32_t number);

/* Marks a page as no longer used: the memory of many such ones is returned. */
void page_copies_release(struct page_copies *copies, uint32_t number);

#endif
