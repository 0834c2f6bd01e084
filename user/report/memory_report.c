// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/memory_report.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "report/figures.h"

static const struct {
	const char *name, *words;
} part_texts[] = {
	[MEMORY_LIVE] = {"live_blocks", "live blocks of malloc"},
	[MEMORY_CACHED] = {"thread_caches", "free in malloc: caches of threads (tcache)"},
	[MEMORY_FAST] = {"fast_bins", "free in malloc: fast bins"},
	[MEMORY_BINS] = {"bins", "free in malloc: bins, between live blocks"},
	[MEMORY_TOP] = {"tops", "free in malloc: top of the arenas"},
	[MEMORY_DIRTY] = {"dirty_pages", "free in malloc: whole pages, given back later"},
	[MEMORY_MALLOC_OWN] = {"malloc_own", "malloc's own records"},
	[MEMORY_HEAP_UNKNOWN] = {"heap_unknown", "heap that could not be walked"},
	[MEMORY_MAPPED_BLOCKS] = {"mapped_blocks", "live blocks with own mappings (mmap)"},
	[MEMORY_STACKS] = {"stacks", "stacks of threads"},
	[MEMORY_ENDED_STACKS] = {"ended_stacks", "stacks of threads that have ended"},
	[MEMORY_FILES] = {"files", "mapped files"},
	[MEMORY_FILES_WRITTEN] = {"files_written", "file mappings, private dirty"},
	[MEMORY_MODULE_DATA] = {"module_data", "data of modules"},
	[MEMORY_SHARED] = {"shared", "shared memory"},
	[MEMORY_CODE] = {"generated_code", "generated code"},
	[MEMORY_MANAGED] = {"managed_heap", "garbage-collected heap"},
	[MEMORY_NAMED] = {"named", "anonymous, named by the program"},
	[MEMORY_ANONYMOUS] = {"anonymous", "anonymous, of unknown owner"},
	[MEMORY_KERNEL] = {"kernel", "the kernel's own mappings"},
	[MEMORY_PAGE_TABLES] = {"page_tables", "page tables (no part of Rss)"},
};
_Static_assert(ARRAY_SIZE(part_texts) == MEMORY_PART_MAX_, "a row for every part");

const char *memory_part_name(enum memory_part part)
{
	return part_texts[part].name;
}

const char *memory_part_words(enum memory_part part)
{
	return part_texts[part].words;
}

static const struct {
	const char *name, *words;
} groups[] = {
	[GROUP_LIVE] = {"live", "live blocks"},
	[GROUP_FREE] = {"free", "free inside malloc"},
	[GROUP_MALLOC] = {"malloc", "malloc's records and what could not be walked"},
	[GROUP_STACKS] = {"stacks", "stacks"},
	[GROUP_FILES] = {"files", "mapped files"},
	[GROUP_SHARED] = {"shared", "shared memory"},
	[GROUP_MANAGED] = {"managed", "garbage-collected heap"},
	[GROUP_OTHER] = {"other", "other anonymous memory"},
	[GROUP_PAGE_TABLES] = {"page-tables", "page tables"},
	[GROUP_UNSHARED] = {"unshared", "pages shared by fork that became private"},
};
_Static_assert(ARRAY_SIZE(groups) == GROUP_MAX_, "a row for every group");

static const enum memory_group group_of_part[] = {
	[MEMORY_LIVE] = GROUP_LIVE,
	[MEMORY_CACHED] = GROUP_FREE,
	[MEMORY_FAST] = GROUP_FREE,
	[MEMORY_BINS] = GROUP_FREE,
	[MEMORY_TOP] = GROUP_FREE,
	[MEMORY_DIRTY] = GROUP_FREE,
	[MEMORY_MALLOC_OWN] = GROUP_MALLOC,
	[MEMORY_HEAP_UNKNOWN] = GROUP_MALLOC,
	[MEMORY_MAPPED_BLOCKS] = GROUP_LIVE,
	[MEMORY_STACKS] = GROUP_STACKS,
	[MEMORY_ENDED_STACKS] = GROUP_STACKS,
	[MEMORY_FILES] = GROUP_FILES,
	[MEMORY_FILES_WRITTEN] = GROUP_FILES,
	[MEMORY_MODULE_DATA] = GROUP_OTHER,
	[MEMORY_SHARED] = GROUP_SHARED,
	[MEMORY_CODE] = GROUP_OTHER,
	[MEMORY_MANAGED] = GROUP_MANAGED,
	[MEMORY_NAMED] = GROUP_OTHER,
	[MEMORY_ANONYMOUS] = GROUP_OTHER,
	[MEMORY_KERNEL] = GROUP_OTHER,
	[MEMORY_PAGE_TABLES] = GROUP_PAGE_TABLES,
};
_Static_assert(ARRAY_SIZE(group_of_part) == MEMORY_PART_MAX_, "a group for every part");

enum memory_group memory_part_group(enum memory_part part)
{
	return group_of_part[part];
}

uint64_t memory_group_resident(const struct memory_process *process, enum memory_group group)
{
	uint64_t sum = 0;

	for (size_t part = 0; part < MEMORY_PART_MAX_; part++) {
		if (group_of_part[part] == group)
			sum += process->parts[part].resident;
	}
	return sum;
}

const char *memory_group_name(enum memory_group group)
{
	return groups[group].name;
}

const char *memory_group_words(enum memory_group group)
{
	return groups[group].words;
}

const char *memory_verdict_name(enum memory_verdict verdict)
{
	static const char *const names[] = {
		[MEMORY_STEADY] = "steady",
		[MEMORY_LIVE_GROWS] = "live",
		[MEMORY_RETAINED] = "retained",
		[MEMORY_FRAGMENTATION] = "fragmentation",
		[MEMORY_ARENAS] = "arenas",
		[MEMORY_THREAD_CACHES] = "thread-caches",
		[MEMORY_HUGE_PAGES] = "huge-pages",
		[MEMORY_STACKS_GROW] = "stacks",
		[MEMORY_PAGE_CACHE] = "files",
		[MEMORY_SHARED_GROWS] = "shared-memory",
		[MEMORY_MANAGED_GROWS] = "managed",
		[MEMORY_OTHER_GROWS] = "unknown",
		[MEMORY_PAGE_TABLES_GROW] = "page-tables",
		[MEMORY_UNSHARED_GROWS] = "copy-on-write",
		[MEMORY_FILLS] = "fills",
		[MEMORY_MIXED] = "mixed",
	};

	_Static_assert(ARRAY_SIZE(names) == MEMORY_VERDICT_MAX_, "a name for every verdict");
	return names[verdict];
}

void memory_process_free(struct memory_process *process)
{
	for (size_t i = 0; i < process->items.count; i++)
		free(process->items.items[i].name);
	vec_free(&process->items);
	allocator_reports_free(&process->allocators);
	container_free(process->container);
	for (size_t i = 0; i < process->runtimes.count; i++)
		runtime_figures_free(&process->runtimes.items[i].figures);
	vec_free(&process->runtimes);
}

static bool has_unknown_blocks(const struct allocator_reports *reports)
{
	for (size_t i = 0; i < reports->list.count; i++) {
		if (reports->list.items[i].figures[ALLOCATOR_MAPPED_BYTES] == ALLOCATOR_NOT_KNOWN)
			return true;
	}
	return false;
}

size_t memory_gaps(const struct memory_process *process, struct memory_gap gaps[MEMORY_GAPS_MAX])
{
	const struct memory_huge *huge = &process->huge;
	const struct {
		bool is_gap;
		struct memory_gap gap;
	} all[] = {
		{process->why, {"allocator", process->why, MEMORY_GAP_UNKNOWN}},
		{!process->pagemap_readable,
		 {"stacks", "/proc/PID/pagemap cannot be read: threads' stacks count as anonymous",
		  MEMORY_GAP_UNKNOWN}},
		{process->parts[MEMORY_HEAP_UNKNOWN].resident,
		 {"heap", "a heap could not be walked further, or changed while it was read",
		  process->parts[MEMORY_HEAP_UNKNOWN].resident}},
		{has_unknown_blocks(&process->allocators),
		 {"mapped-blocks", "malloc's own sum of blocks with own mappings was not found",
		  MEMORY_GAP_UNKNOWN}},
		{huge->checked < huge->bytes,
		 {"huge-pages", "of huge pages, only as many are read as give the share of zeros",
		  huge->bytes - huge->checked}},
		{process->difference,
		 {"difference", "the process went on between two looks at it",
		  (uint64_t)llabs(process->difference)}},
		{process->core,
		 {"kernel", "a core file has nothing of swap, page tables and locked pages",
		  MEMORY_GAP_UNKNOWN}},
	};
	size_t count = 0;

	_Static_assert(ARRAY_SIZE(all) <= MEMORY_GAPS_MAX, "room for all");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].is_gap)
			gaps[count++] = all[i].gap;
	}
	return count;
}

uint64_t memory_own(const struct memory_process *process)
{
	return process->sum.private_clean + process->sum.private_dirty;
}

uint64_t memory_free_resident(const struct memory_process *process)
{
	const struct memory_share *parts = process->parts;

	return parts[MEMORY_CACHED].resident + parts[MEMORY_FAST].resident +
	       parts[MEMORY_BINS].resident + parts[MEMORY_TOP].resident +
	       parts[MEMORY_DIRTY].resident;
}

uint64_t memory_heap_resident(const struct memory_process *process)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < HEAP_USE_MAX_; i++)
		sum += process->parts[i].resident;
	return sum;
}

uint64_t memory_trimmable(const struct memory_process *process)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < process->allocators.list.count; i++)
		sum += process->allocators.list.items[i].figures[ALLOCATOR_TRIMMABLE];
	return sum;
}

double memory_fragmentation(const struct memory_process *process)
{
	uint64_t heap = memory_heap_resident(process), unused = memory_free_resident(process);

	if (!heap)
		return 0;
	return (double)(unused - MIN(memory_trimmable(process), unused)) / (double)heap;
}

void memory_report_free(struct memory_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		memory_process_free(&report->processes.items[i]);
	vec_free(&report->processes);
	cgroup_memories_free(&report->groups);
	sysv_report_free(&report->sysv);
}

/* -------- figures */

#define PROCESS(member) offsetof(struct memory_process, member)
static const struct figure process_figures[] = {
	FIGURE("pid", NULL, PID, PROCESS(pid)),
	FIGURE("comm", NULL, CHARS, PROCESS(comm)),
	FIGURE("core", NULL, TEXT, PROCESS(core)),
	FIGURE("rss_bytes", NULL, NUMBER, PROCESS(sum.rss)),
	FIGURE("pss_bytes", NULL, NUMBER, PROCESS(sum.pss)),
	FIGURE("private_clean_bytes", NULL, NUMBER, PROCESS(sum.private_clean)),
	FIGURE("private_dirty_bytes", NULL, NUMBER, PROCESS(sum.private_dirty)),
	FIGURE("shared_by_fork_bytes", NULL, NUMBER, PROCESS(forked.shared)),
	FIGURE("swap_bytes", NULL, NUMBER, PROCESS(sum.swap)),
	FIGURE("locked_bytes", NULL, NUMBER, PROCESS(status.locked)),
	FIGURE("page_table_bytes", NULL, NUMBER, PROCESS(status.page_tables)),
	FIGURE("hugetlb_bytes", NULL, NUMBER, PROCESS(sum.hugetlb)),
};
const struct figures memory_process_figures = FIGURES(process_figures);

#define STACKS .section = "stacks"
#define FILES .section = "files"
#define HUGE .section = "huge_pages"
static const struct figure detail_figures[] = {
	FIGURE("live", NULL, NUMBER, PROCESS(live_stacks), STACKS),
	FIGURE("ended", NULL, NUMBER, PROCESS(ended_stacks), STACKS),
	FIGURE("joined", NULL, NUMBER, PROCESS(joined_stacks), STACKS),
	FIGURE("live_resident_bytes", NULL, NUMBER, PROCESS(parts[MEMORY_STACKS].resident), STACKS),
	FIGURE("ended_resident_bytes", NULL, NUMBER, PROCESS(parts[MEMORY_ENDED_STACKS].resident),
	       STACKS),
	FIGURE("resident_bytes", NULL, NUMBER, PROCESS(parts[MEMORY_FILES].resident), FILES),
	FIGURE("written_bytes", NULL, NUMBER, PROCESS(parts[MEMORY_FILES_WRITTEN].resident), FILES),
	FIGURE("bytes", NULL, NUMBER, PROCESS(huge.bytes), HUGE),
	FIGURE("checked_bytes", NULL, NUMBER, PROCESS(huge.checked), HUGE),
	FIGURE("zero_bytes", NULL, NUMBER, PROCESS(huge.zero), HUGE),
};
const struct figures memory_detail_figures = FIGURES(detail_figures);

#define SHARE(member) offsetof(struct memory_share, member)
static const struct figure share_figures[] = {
	FIGURE("size_bytes", NULL, NUMBER, SHARE(size)),
	FIGURE("resident_bytes", NULL, NUMBER, SHARE(resident)),
	FIGURE("pss_bytes", NULL, NUMBER, SHARE(pss)),
	FIGURE("swap_bytes", NULL, NUMBER, SHARE(swapped)),
};
const struct figures memory_share_figures = FIGURES(share_figures);
