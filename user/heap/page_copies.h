/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents of pages that are kept, by number. They stay where they are: several threads may add
 * some at a time, while the process stands that they are of.
 */
#ifndef LEAKMON_HEAP_PAGE_COPIES_H
#define LEAKMON_HEAP_PAGE_COPIES_H

#include <stdint.h>

struct page_copies;

/* Room for so many pages at most; memory is taken when they come. NULL: no memory. */
struct page_copies *page_copies_new(uint64_t pages);
void page_copies_free(struct page_copies *copies);

/*
 * Takes the memory of so many more in advance: a page that is touched for the first time costs ten
 * times what copying one does. It need not succeed.
 */
void page_copies_warm(struct page_copies *copies, uint64_t pages);

/* Where a new one is to be written, and its number. NULL: there is no room, or no memory. */
unsigned char *page_copies_add(struct page_copies *copies, uint32_t *number);
unsigned char *page_copies_at(const struct page_copies *copies, uint32_t number);

/* How much memory they take, in bytes. */
uint64_t page_copies_bytes(const struct page_copies *copies);

#endif
