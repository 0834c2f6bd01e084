/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of pages_check.c share. */
#ifndef LEAKMON_RETAIN_PAGE_CHECKER_H
#define LEAKMON_RETAIN_PAGE_CHECKER_H

#include <stdatomic.h>

#include "retain/page_window.h"

#define CHECK_MAX_THREADS 16

struct changed_page {
	size_t page;
	uint32_t first;
	uint16_t count;
	uint16_t flags;
	uint64_t hash;
};

/* What one thread finds; put together when all are done. */
struct checker {
	struct check *check;
	struct page_window *window;
	struct found_words found;
	VEC(struct changed_page) changed;
	VEC(struct mapped_chunk) mapped;
	size_t checked;
	int err;
};

/* Which windows are looked at first. */
enum warmth {
	WINDOW_HOT,  /* of its pages, those that have changed already, or are new */
	WINDOW_WARM, /* of a small mapping: data of a library, a stack */
	WINDOW_COLD,
	WINDOW_MAX_
};

struct check_window {
	struct page_range part; /* at most WINDOW_PAGES long; mapping: pages to the range's end */
	enum warmth warmth;
	bool all; /* of its pages, whatever they have been */
	bool done;
};

struct check {
	struct page_table *table;
	const struct page_scan *scan;
	VEC(struct check_window) windows; /* the warmer ones first */
	atomic_size_t next;
	int nice; /* of the thread that began it */
};

/* Puts together what the checkers found, and frees it. 0; -ETIMEDOUT; an error of theirs. */
int page_checkers_collect(struct check *check, struct checker *checkers, size_t count,
			  size_t *checked);

#endif
