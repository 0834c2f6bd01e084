/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What grew between two readings of a process, and what that means: a leak, or memory that malloc,
 * the page cache or the kernel keeps. A pure function: user/doc/memory.md has the same table.
 */
#ifndef LEAKMON_MEMORY_CONCLUSION_H
#define LEAKMON_MEMORY_CONCLUSION_H

#include <stdint.h>

struct memory_process;
struct memory_split;

/* Parts that are explained together. */
enum memory_group {
	GROUP_LIVE,   /* blocks that the program has */
	GROUP_FREE,   /* inside malloc */
	GROUP_MALLOC, /* malloc's records, and heaps that could not be walked */
	GROUP_STACKS,
	GROUP_FILES,
	GROUP_SHARED,
	GROUP_MANAGED, /* of a garbage collector */
	GROUP_OTHER,   /* anonymous memory of others than malloc */
	GROUP_MAX_
};

enum memory_verdict {
	MEMORY_STEADY,	      /* it did not grow by much */
	MEMORY_LIVE_GROWS,    /* a leak, or data */
	MEMORY_RETAINED,      /* free inside malloc, which malloc_trim() would give back */
	MEMORY_FRAGMENTATION, /* free inside malloc, between live blocks */
	MEMORY_ARENAS,	      /* free in the arenas of many threads */
	MEMORY_THREAD_CACHES, /* free in the caches of threads */
	MEMORY_HUGE_PAGES,    /* of which little was ever written to */
	MEMORY_STACKS_GROW,
	MEMORY_PAGE_CACHE, /* mapped files */
	MEMORY_SHARED_GROWS,
	MEMORY_MANAGED_GROWS, /* objects of a language with a garbage collector */
	MEMORY_OTHER_GROWS,   /* whose it is is not known */
	MEMORY_MIXED,	      /* nothing makes up half of it */
	MEMORY_VERDICT_MAX_
};

/* "fragmentation"; and of a group "free", and in words "free inside malloc". Static. */
const char *memory_verdict_name(enum memory_verdict verdict);
const char *memory_group_name(enum memory_group group);
const char *memory_group_words(enum memory_group group);
/* Of a process, resident bytes. */
uint64_t memory_group_resident(const struct memory_process *process, enum memory_group group);

/* In bytes, resident and in swap. */
struct memory_growth {
	uint64_t since_ms; /* 0 also if the clock was set back meanwhile */
	int64_t total, groups[GROUP_MAX_];
};

struct memory_conclusion {
	enum memory_verdict verdict;
	struct memory_growth growth;
	char text[1024]; /* numbers, what they mean, what to do */
};

/* Below this, and below 1 % of what there was, it is steady. */
#define MEMORY_GROWTH_MIN (1 << 20)

/* Both are of the same process. */
void memory_conclude(const struct memory_split *before, const struct memory_split *now,
		     struct memory_conclusion *conclusion);

#endif
