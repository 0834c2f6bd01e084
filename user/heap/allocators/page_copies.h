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
/* Gives back what was taken in advance, and is not needed. */
void page_copies_trim(struct page_copies *copies);

/* Where a new one is to be written, and its number. NULL: there is no room, or no memory. */
unsigned char *page_copies_add(struct page_copies *copies, uint32_t *number);
unsigned char *page_copies_at(const struct page_copies *copies, uint32_t number);

/* A page is not looked at any more: memory of many such ones is given back. */
void page_copies_release(struct page_copies *copies, uint32_t number);

#endif
