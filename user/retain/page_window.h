/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pages.c and pages_check.c share. */
#ifndef LEAKMON_RETAIN_PAGE_WINDOW_H
#define LEAKMON_RETAIN_PAGE_WINDOW_H

#include "retain/pages.h"

struct page_window {
	uint64_t words[WINDOW_PAGES * PAGE_WORDS];
	uint64_t entries[WINDOW_PAGES];
};

/* Room for `more` further words. 0 or -ENOMEM. */
int found_reserve(struct found_words *found, size_t more);

/* Whether a page with this pagemap entry is there to be read, and can have been written. */
bool page_is_wanted(const struct page_range *range, uint64_t entry);

#endif
