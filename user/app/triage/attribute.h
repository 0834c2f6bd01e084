/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of what was sampled is still there: sets the units of every sample. What a process has
 * given back explains no growth.
 */
#ifndef LEAKMON_TRIAGE_ATTRIBUTE_H
#define LEAKMON_TRIAGE_ATTRIBUTE_H

#include <sys/types.h>

#include "app/triage/samples.h"
#include "process/proc/maps.h"

/*
 * Bytes of anonymous memory at the addresses, resident or swapped out: a page, or a huge one where
 * the kernel put that (admin-guide/mm/pagemap.rst). A page that was there before and only faulted
 * again (balancing between NUMA nodes, coming back from swap, a copy after a fork) is not known
 * apart. 0; -ESRCH; -errno of opening pagemap.
 */
int attribute_pages(struct samples *samples, pid_t pid);

/* Mappings that begin inside the room that was found for them; the latest to find it has them. */
int attribute_mappings(struct samples *samples, const struct maps *maps);

/* 1 for a thread that lives. */
void attribute_threads(struct samples *samples, pid_t pid);

/* Results of attribute_pages() for a page: exposed for the tests. */
#define PAGE_ABSENT 0.0
struct page_state {
	uint64_t pagemap; /* its entry in /proc/PID/pagemap */
	uint64_t flags;	  /* its entry in /proc/kpageflags; 0: not to be had */
	bool alone;	  /* no other sample is in the same huge page */
};
double attribute_page(const struct page_state *state);

#endif
