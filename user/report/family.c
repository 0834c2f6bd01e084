// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/family.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *name, *note;
} kinds[] = {
	[KIND_NONE] = {NULL, NULL},
	[KIND_MAPPING] = {"mapping", NULL},
	[KIND_FILE] = {"file", NULL},
	[KIND_RESERVATION] = {"reservation", "addresses without memory when they were mapped"},
	[KIND_THREAD_STACK] = {"thread stack", NULL},
	[KIND_ARENA] = {"allocator arena", "its blocks are in the heap's rows"},
	[KIND_BRK] = {"brk", NULL},
	[KIND_KMALLOC] = {"kmalloc", NULL},
	[KIND_CACHE] = {"slab cache", NULL},
	[KIND_PAGES] = {"pages", NULL},
	[KIND_SLAB_PAGES] = {"slab pages", "their objects are in the rows of kmalloc and caches"},
	[KIND_DEVICE] = {"device", NULL},
	[KIND_SOCKET] = {"socket", NULL},
	[KIND_PIPE] = {"pipe", NULL},
	[KIND_MEMFD] = {"memfd", NULL},
	[KIND_ANONYMOUS] = {"anonymous inode", NULL},
};
_Static_assert(ARRAY_SIZE(kinds) == KIND_MAX_, "a row for every kind");

const char *kind_name(unsigned kind)
{
	return kinds[kind].name;
}

const char *kind_note(enum site_kind kind)
{
	return kinds[kind].note;
}

struct purpose {
	const char *name;
	bool prefix; /* any suffix */
	enum site_kind kind;
};

static const struct purpose purposes[] = {
	{"pthread_create", true, KIND_THREAD_STACK}, /* with or without a symbol version */
	{"__pthread_create", true, KIND_THREAD_STACK},
	{"malloc", false, KIND_ARENA},
	{"calloc", false, KIND_ARENA},
	{"realloc", false, KIND_ARENA},
	{"free", false, KIND_ARENA},
	{"__libc_malloc", false, KIND_ARENA},
	{"__libc_calloc", false, KIND_ARENA},
	{"__libc_realloc", false, KIND_ARENA},
	{"__libc_free", false, KIND_ARENA},
	{"__GI___libc_malloc", false, KIND_ARENA},
	{"je_", true, KIND_ARENA}, /* jemalloc */
	{"_rjem_je_", true, KIND_ARENA},
	{"mi_", true, KIND_ARENA}, /* mimalloc */
	{"_mi_", true, KIND_ARENA},
	{"tcmalloc::", true, KIND_ARENA},
	{"TCMalloc", true, KIND_ARENA},
	{"operator new", true, KIND_ARENA},
	{"operator delete", true, KIND_ARENA},
};

static const struct purpose *purpose_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(purposes); i++) {
		const struct purpose *purpose = &purposes[i];
		size_t length = strlen(purpose->name);

		if (!strncmp(function, purpose->name, length) &&
		    (purpose->prefix || !function[length]))
			return purpose;
	}
	return NULL;
}

enum site_kind mapping_purpose(const struct frames *frames, enum site_kind kind)
{
	if (kind != KIND_MAPPING && kind != KIND_RESERVATION && kind != KIND_BRK)
		return kind;
	/* Innermost first: an allocator may create a thread, and a thread's start may allocate. */
	for (size_t i = 0; i < frames->list.count; i++) {
		const char *function = frames->list.items[i].function;
		const struct purpose *purpose = function ? purpose_of(function) : NULL;

		if (purpose)
			return purpose->kind;
	}
	return kind;
}

/* Callers in mm/slub.c and mm/slab_common.c, from 6.1 on. */
static bool is_of_slabs(const char *function)
{
	static const char *const prefixes[] = {
		"allocate_slab", "new_slab",	   "alloc_slab_page",  "___slab_alloc",
		"__slab_alloc",	 "refill_objects", "___kmalloc_large", "__kmalloc_large",
		"kmalloc_large", "kmalloc_order",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		if (!strncmp(function, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

enum site_kind kernel_page_kind(const struct frames *frames, const char *allocator)
{
	if (allocator && is_of_slabs(allocator))
		return KIND_SLAB_PAGES;
	/* The slab allocator's own functions come right after the page allocator's. */
	for (size_t i = 0; i < frames->list.count && i < 4; i++) {
		const char *function = frames->list.items[i].function;

		if (function && is_of_slabs(function))
			return KIND_SLAB_PAGES;
	}
	return KIND_PAGES;
}

static const struct causes dropped = {
	.count = LM_DROP_MAX_,
	.name = drop_name,
	.advice = drop_advice,
	.recorded = "dropped",
	.line = "inexact",
	.what = "allocations dropped",
	.label = "allocations dropped",
};

static const struct causes lost_stacks = {
	.first = LM_LOST_NONE + 1,
	.count = LM_LOST_BEFORE, /* later ones are no loss */
	.name = lost_name,
	.advice = lost_advice,
	.recorded = "lost_stack",
	.line = "inexact",
	.what = "allocations without a stack",
	.label = "allocations without a stack",
};

/* Bytes and counts are correct nevertheless: no inexactness. */
static const struct causes walk_ends = {
	.first = LM_WALK_ROOT + 1,
	.count = LM_WALK_MAX_,
	.name = walk_end_name,
	.advice = walk_end_advice,
	.recorded = "walk_end",
	.line = "stacks",
	.what = "ended early",
	.label = "stacks that end early",
};

#define METRIC(kind, name, text) .metric = METRIC_##kind, .metric_name = (name), .help = (text)
#define TERM(place, text) .term = TERM_##place, .label = (text)

#define LEDGER(member) offsetof(struct ledger, member)
#define MAPPING(member) offsetof(struct mapping_ledger, member)
#define DESCRIPTORS(member) offsetof(struct descriptor_ledger, member)
#define THREADS(member) offsetof(struct thread_figures, member)

/* `known` is 0 for figures that are always known. */
_Static_assert(THREADS(counted) && THREADS(followed), "no flag stands first");

static const struct figure heap_figures[] = {
	{"allocations", .offset = LEDGER(allocations), TERM(SUM, "allocations"),
	 METRIC(COUNTER, "allocations_total", "Allocations seen.")},
	{"frees", .offset = LEDGER(frees), TERM(FIRST, "frees"),
	 METRIC(COUNTER, "frees_total", "Frees that ended an allocation seen.")},
	{"outstanding", .offset = LEDGER(outstanding), TERM(PART, "outstanding")},
	{"purged", .offset = LEDGER(purged), TERM(PART, "purged"),
	 METRIC(COUNTER, "purged_total",
		"Blocks given up because their process ended or replaced itself.")},
	{"dropped", .offset = LEDGER(dropped), .causes = &dropped, TERM(PART, "dropped"),
	 METRIC(COUNTER, "dropped_allocations_total",
		"Allocations that could not be tracked, by cause.")},
	{"untracked_frees", .offset = LEDGER(untracked_frees),
	 TERM(BESIDE, "frees of untracked blocks"),
	 METRIC(COUNTER, "untracked_frees_total", "Frees of blocks from before the attach.")},
	{"outstanding_bytes", .offset = LEDGER(outstanding_bytes)},
	{"inherited_frees", .offset = LEDGER(inherited_frees),
	 TERM(UNLESS_ZERO, "frees of inherited blocks")},
	{"filtered", .offset = LEDGER(filtered),
	 TERM(UNLESS_ZERO, "allocations outside --min-size and --max-size")},
	{"unsampled", .offset = LEDGER(unsampled), TERM(UNLESS_ZERO, "allocations not sampled")},
	{"failed", .offset = LEDGER(failed), TERM(UNLESS_ZERO, "allocations failed")},
	{"abandoned", .offset = LEDGER(abandoned), TERM(UNLESS_ZERO, "calls never returned")},
	{"lost_stacks", .offset = LEDGER(lost_stacks), .causes = &lost_stacks,
	 METRIC(COUNTER, "lost_stacks_total", "Allocations kept without a stack, by cause.")},
	{"walk_ends", .offset = LEDGER(walk_ends), .causes = &walk_ends,
	 METRIC(COUNTER, "short_stacks_total", "Stacks that end before the root, by cause.")},
	{"scanned", .offset = LEDGER(scanned), .conditional = true}, /* else there was no scan */
	{"moved", .offset = LEDGER(moved)},
};

#define FOLLOWED .known = THREADS(followed)

static const struct figure thread_figures[] = {
	{"alive", .offset = THREADS(alive), .known = THREADS(counted),
	 METRIC(GAUGE, "threads_alive", "Threads alive.")},
	{"dead", .offset = THREADS(dead), FOLLOWED,
	 METRIC(GAUGE, "threads_dead",
		"Threads that have ended and were neither joined nor detached.")},
	{"dead_stack_bytes", .offset = THREADS(dead_stack_bytes), FOLLOWED,
	 METRIC(GAUGE, "threads_dead_stack_bytes",
		"Bytes of stacks that dead threads keep mapped.")},
	{"cannot_tell", "why", THREADS(why), FIGURE_NOTE,
	 .size = sizeof(((struct thread_figures *)0)->why)},
	{"exact", NULL, THREADS(exact), FIGURE_FLAG, FOLLOWED, .left_out = true},
	{"untold", .offset = THREADS(untold), FOLLOWED, .left_out = true},
	{"dead_resident_bytes", .offset = THREADS(dead_resident_bytes), FOLLOWED, .left_out = true},
	{"dead_heap_bytes", .offset = THREADS(dead_heap_bytes), FOLLOWED, .left_out = true},
	{"dead_heap_count", .offset = THREADS(dead_heap_count), FOLLOWED, .left_out = true},
	{"created", .offset = THREADS(created), FOLLOWED, .left_out = true},
	{"joined", .offset = THREADS(joined), FOLLOWED, .left_out = true},
	{"detached", .offset = THREADS(detached), FOLLOWED, .left_out = true},
};

static const struct figure mapping_figures[] = {
	{"mapped_bytes", "mapped", MAPPING(mapped), TERM(SUM, "bytes mapped"),
	 METRIC(COUNTER, "mapping_mapped_bytes_total", "Bytes that were mapped.")},
	{"unmapped_bytes", "unmapped", MAPPING(unmapped), TERM(FIRST, "unmapped"),
	 METRIC(COUNTER, "mapping_unmapped_bytes_total", "Bytes that were unmapped again.")},
	{"outstanding_bytes", "outstanding", MAPPING(outstanding), TERM(PART, "outstanding"),
	 METRIC(GAUGE, "mapping_outstanding_bytes",
		"Bytes mapped and not unmapped since the attach.")},
	{"purged_bytes", "purged", MAPPING(purged), TERM(PART, "purged"),
	 METRIC(COUNTER, "mapping_purged_bytes_total",
		"Bytes given up because their process ended or replaced itself.")},
	{"ranges", .offset = MAPPING(ranges), TERM(BESIDE, "ranges"),
	 METRIC(GAUGE, "mapping_outstanding_ranges",
		"Ranges mapped and not unmapped since the attach.")},
	{"events_lost", .offset = MAPPING(events_lost),
	 METRIC(COUNTER, "mapping_events_lost_total", "Mapping calls that were not seen."),
	 .inexact = "mapping calls were not seen (too many at once, or 32-bit ones)",
	 .mended = "/proc/PID/maps mended", .mended_bytes = MAPPING(healed)},
	{"missed_bytes", "missed", MAPPING(missed),
	 .inexact = "bytes were mapped again before leakmon saw them go"},
	{"healed_bytes", "healed", .offset = MAPPING(healed)},
};

static const struct figure descriptor_figures[] = {
	{"opened", .offset = DESCRIPTORS(opened), TERM(SUM, "opened"),
	 METRIC(COUNTER, "descriptors_opened_total", "Descriptors opened since the attach.")},
	{"open_before", .offset = DESCRIPTORS(before), TERM(ADDED, "open before")},
	{"closed", .offset = DESCRIPTORS(closed), TERM(FIRST, "closed"),
	 METRIC(COUNTER, "descriptors_closed_total", "Descriptors closed since the attach.")},
	{"outstanding", .offset = DESCRIPTORS(outstanding), TERM(PART, "outstanding"),
	 METRIC(GAUGE, "descriptors_outstanding", "Descriptors that are open.")},
	{"purged", .offset = DESCRIPTORS(purged), TERM(PART, "purged"),
	 METRIC(COUNTER, "descriptors_purged_total",
		"Descriptors that were open when their process ended.")},
	{"dropped", .offset = DESCRIPTORS(dropped), TERM(PART, "dropped"),
	 METRIC(COUNTER, "descriptors_dropped_total", "Descriptors that there was no room for."),
	 .inexact = "descriptors dropped: 1048576 are open, or the kernel has no memory left"},
	{"adopted", .offset = DESCRIPTORS(adopted),
	 .inexact = "descriptors found open in /proc/PID/fd, never seen opened"},
	{"given_up", .offset = DESCRIPTORS(given_up),
	 .inexact = "descriptors gone from /proc/PID/fd, never seen closed"},
	{"missed", .offset = DESCRIPTORS(missed),
	 .inexact = "programs left out by the kernel while one was running on that CPU"},
	{"foreign_calls", .offset = DESCRIPTORS(foreign),
	 .inexact = "calls of threads with a descriptor table of their own: not counted"},
};

_Static_assert(ARRAY_SIZE(descriptor_figures) <= FAMILY_FIGURES_MAX, "room for the longest");
_Static_assert(ARRAY_SIZE(heap_figures) <= FAMILY_FIGURES_MAX, "room for the longest");
_Static_assert(ARRAY_SIZE(thread_figures) <= FAMILY_FIGURES_MAX, "room for the longest");
_Static_assert(ARRAY_SIZE(mapping_figures) <= FAMILY_FIGURES_MAX, "room for the longest");

static const struct family families[] = {
	[FAMILY_HEAP] = {.name = "heap",
			 .title = "Heap",
			 .noun = "allocations",
			 .unit = "blocks",
			 .section = "ledger",
			 .balance = "ledger",
			 .table = "ledgers",
			 .of_snapshot = offsetof(struct snapshot, ledger),
			 .figures = FIGURES(heap_figures)},
	[FAMILY_THREADS] = {.name = "threads",
			    .title = "Threads",
			    .noun = "threads",
			    .unit = "threads",
			    .section = "threads",
			    .table = "threads",
			    .of_process = offsetof(struct snapshot_process, threads),
			    .size = sizeof(struct thread_figures),
			    .figures = FIGURES(thread_figures)},
	[FAMILY_MAPPING] = {.name = "mapping",
			    .title = "Mappings",
			    .noun = "mappings",
			    .unit = "mappings",
			    .taken = "mapped",
			    .overlaps = true, /* blocks are in mappings */
			    .sample_types = {"mapped_ranges", "mapped_space"},
			    .section = "mappings",
			    .balance = "mappings",
			    .table = "mapping_ledgers",
			    .of_snapshot = offsetof(struct snapshot, mapping),
			    .present = offsetof(struct snapshot, has_mappings),
			    .of_process = offsetof(struct snapshot_process, mapping),
			    .size = sizeof(struct mapping_ledger),
			    .figures = FIGURES(mapping_figures)},
	[FAMILY_KERNEL] = {.name = "kernel",
			   .title = "Kernel",
			   .noun = "allocations",
			   .unit = "blocks"},
	[FAMILY_DESCRIPTORS] = {.name = "descriptors",
				.title = "Descriptors",
				.noun = "descriptors",
				.unit = "descriptors",
				.counted = {"opened", "closed"},
				.overlaps = true, /* not blocks */
				.sample_types = {"open_descriptors"},
				.section = "descriptors",
				.balance = "descriptors",
				.table = "descriptor_ledgers",
				.of_snapshot = offsetof(struct snapshot, descriptors),
				.present = offsetof(struct snapshot, has_descriptors),
				.of_process = offsetof(struct snapshot_process, descriptors),
				.size = sizeof(struct descriptor_ledger),
				.figures = FIGURES(descriptor_figures)},
};
_Static_assert(ARRAY_SIZE(families) == FAMILY_MAX_, "a row for every family");

const struct family *family_get(enum family_id id)
{
	return &families[id];
}

const char *family_name(unsigned id)
{
	return families[id].name;
}

bool family_is_present(const struct family *family, const struct snapshot *snapshot)
{
	return !family->present || *((const bool *)snapshot + family->present);
}

const void *family_total(const struct family *family, const struct snapshot *snapshot)
{
	return family->of_snapshot ? (const char *)snapshot + family->of_snapshot : NULL;
}

const void *family_of_process(const struct family *family, const struct snapshot_process *process)
{
	return family->of_process ? (const char *)process + family->of_process : NULL;
}
