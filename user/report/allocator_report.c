// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/allocator_report.h"

#include "base/cleanup.h"

static const struct allocator_figure_row libc_figures[] = {
	{"system_bytes", ALLOCATOR_SYSTEM, ALLOCATOR_NUMBER},
	{"used_bytes", ALLOCATOR_USED, ALLOCATOR_NUMBER},
	{"free_bytes", ALLOCATOR_FREE, ALLOCATOR_NUMBER},
	{"live_blocks", ALLOCATOR_LIVE_BLOCKS, ALLOCATOR_NUMBER},
	{"live_bytes", ALLOCATOR_LIVE, ALLOCATOR_NUMBER},
	{"live_header_bytes", ALLOCATOR_HEADERS, ALLOCATOR_NUMBER},
	{"mapped_blocks", ALLOCATOR_MAPPED_BLOCKS, ALLOCATOR_NUMBER},
	{"mapped_bytes", ALLOCATOR_MAPPED_BYTES, ALLOCATOR_NUMBER},
	{"cached_bytes", ALLOCATOR_CACHED, ALLOCATOR_NUMBER},
	{"fast_bytes", ALLOCATOR_FAST, ALLOCATOR_NUMBER},
	{"bins_bytes", ALLOCATOR_BINS, ALLOCATOR_NUMBER},
	{"unsorted_bytes", ALLOCATOR_UNSORTED, ALLOCATOR_NUMBER},
	{"small_bytes", ALLOCATOR_SMALL, ALLOCATOR_NUMBER},
	{"large_bytes", ALLOCATOR_LARGE, ALLOCATOR_NUMBER},
	{"top_bytes", ALLOCATOR_TOP, ALLOCATOR_NUMBER},
	{"largest_free_bytes", ALLOCATOR_LARGEST_FREE, ALLOCATOR_NUMBER},
	{"unknown_bytes", ALLOCATOR_UNKNOWN, ALLOCATOR_NUMBER},
	{"resident_bytes", ALLOCATOR_PROCESS_RESIDENT, ALLOCATOR_NUMBER},
	{"free_resident_bytes", ALLOCATOR_PROCESS_FREE, ALLOCATOR_NUMBER},
	{"trimmable_bytes", ALLOCATOR_TRIMMABLE, ALLOCATOR_NUMBER},
	{"fragmentation", ALLOCATOR_FRAGMENTATION, ALLOCATOR_REAL},
	{"broken_heaps", ALLOCATOR_BROKEN_HEAPS, ALLOCATOR_NUMBER},
	{"broken_lists", ALLOCATOR_BROKEN_LISTS, ALLOCATOR_NUMBER},
	{"arenas", ALLOCATOR_ARENAS, ALLOCATOR_NUMBER},
	{"idle_arenas", ALLOCATOR_IDLE_ARENAS, ALLOCATOR_NUMBER},
};

static const struct allocator_figure_row other_figures[] = {
	{"arenas", ALLOCATOR_ARENAS, ALLOCATOR_NUMBER},
	{"thread_caches", ALLOCATOR_CACHES, ALLOCATOR_NUMBER},
	{"live_blocks", ALLOCATOR_LIVE_BLOCKS, ALLOCATOR_NUMBER},
	{"live_bytes", ALLOCATOR_LIVE, ALLOCATOR_NUMBER},
	{"cached_bytes", ALLOCATOR_CACHED, ALLOCATOR_NUMBER},
	{"transfer_bytes", ALLOCATOR_TRANSFER, ALLOCATOR_NUMBER},
	{"own_bytes", ALLOCATOR_OWN, ALLOCATOR_NUMBER},
	{"allocated_bytes", ALLOCATOR_ALLOCATED, ALLOCATOR_NUMBER},
	{"active_bytes", ALLOCATOR_ACTIVE, ALLOCATOR_NUMBER},
	{"dirty_bytes", ALLOCATOR_DIRTY, ALLOCATOR_NUMBER},
	{"muzzy_bytes", ALLOCATOR_MUZZY, ALLOCATOR_NUMBER},
	{"retained_bytes", ALLOCATOR_RETAINED, ALLOCATOR_NUMBER},
	{"metadata_bytes", ALLOCATOR_METADATA, ALLOCATOR_NUMBER},
	{"mapped_bytes", ALLOCATOR_MAPPED, ALLOCATOR_NUMBER},
	{"free_resident_bytes", ALLOCATOR_PROCESS_FREE, ALLOCATOR_NUMBER},
	{"trimmable_bytes", ALLOCATOR_PROCESS_TRIMMABLE, ALLOCATOR_NUMBER},
	{"certain", ALLOCATOR_CERTAIN, ALLOCATOR_FLAG},
};

static const struct allocator_kind_row kinds[] = {
	[ALLOCATOR_LIBC] = {"allocator", libc_figures, ARRAY_SIZE(libc_figures), true},
	[ALLOCATOR_OTHER] = {"other_allocator", other_figures, ARRAY_SIZE(other_figures), false},
};
_Static_assert(ARRAY_SIZE(kinds) == ALLOCATOR_KIND_MAX_, "a row for every kind");

const struct allocator_kind_row *allocator_kind_row(enum allocator_kind kind)
{
	return &kinds[kind];
}

const struct allocator_report *allocator_report_of(const struct allocator_reports *reports,
						   enum allocator_kind kind)
{
	for (size_t i = 0; i < reports->list.count; i++) {
		if (reports->list.items[i].kind == kind)
			return &reports->list.items[i];
	}
	return NULL;
}

void allocator_reports_free(struct allocator_reports *reports)
{
	for (size_t i = 0; i < reports->list.count; i++)
		vec_free(&reports->list.items[i].arenas);
	vec_free(&reports->list);
}
