/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Determines how much of each sample still exists: sets the units of every sample. Memory that a
 * process has given back explains no growth.
 */
#ifndef LEAKMON_TRIAGE_ATTRIBUTE_H
#define LEAKMON_TRIAGE_ATTRIBUTE_H

#include <sys/types.h>

#include "app/triage/samples.h"
#include "process/proc/maps.h"

/*
 * Counts the bytes of anonymous memory at the addresses, resident or swapped out: a page, or a huge
 * one where the kernel put one (admin-guide/mm/pagemap.rst). Pages that existed before and merely
 * faulted again (NUMA balancing, return from swap, copy after a fork) cannot be told apart. Returns
 * 0, -ESRCH or -errno of opening pagemap.
 */
int attribute_pages(struct samples *samples, pid_t pid);

/*
 * Counts mappings that begin inside the range of a sample; a mapping belongs to the latest sample
 * that contains its start. Returns 0 or -ENOMEM.
 */
int attribute_mappings(struct samples *samples, const struct maps *maps);

/* Sets the units of each sampled thread: 1 if it is alive, else 0. */
void attribute_threads(struct samples *samples, pid_t pid);

/* Return values of attribute_pages() for one page: exposed for the tests. */
#define PAGE_ABSENT 0.0
struct page_state {
	uint64_t pagemap; /* its entry in /proc/PID/pagemap */
	uint64_t flags;	  /* its entry in /proc/kpageflags; 0: unavailable */
	bool alone;	  /* no other sample lies in the same huge page */
};
double attribute_page(const struct page_state *state);

#endif
