// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/memory_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/page.h"
#include "base/search.h"
#include "base/text.h"
#include "binary/arch/machine.h"
#include "heap/memory/heap_shares.h"
#include "heap/memory/residency.h"
#include "heap/memory/thread_stacks.h"
#include "heap/runtime/runtime.h"
#include "process/pause/hold.h"
#include "process/proc/core.h"
#include "process/proc/process_list.h"
#include "process/proc/process_memory.h"

/* Returns whether a mapping without a path is backed by tmpfs, by its name. */
static bool is_shared_memory(const struct mapping *mapping)
{
	static const char *const deleted[] = {"/memfd:", "/SYSV", "/dev/zero"};

	if (text_begins(mapping->path, "/dev/shm/") || text_begins(mapping->path, "[anon_shmem:"))
		return true;
	for (size_t i = 0; mapping->deleted && i < ARRAY_SIZE(deleted); i++) {
		if (text_begins(mapping->path, deleted[i]))
			return true;
	}
	return false;
}

/* Returns whether it is a module's zeroed data, which the kernel puts right behind the last segment
 * with contents. */
static bool is_module_data(const struct smaps *smaps, size_t i)
{
	const struct mapping *mapping = &smaps->list.items[i].mapping, *before;

	if (!i || mapping->path[0] || !mapping->writable)
		return false;
	before = &smaps->list.items[i - 1].mapping;
	return before->end == mapping->start && before->inode && !before->shared &&
	       before->writable;
}

enum memory_part mapping_owner(const struct smaps *smaps, size_t i)
{
	const struct mapping *mapping = &smaps->list.items[i].mapping;

	if (is_shared_memory(mapping))
		return MEMORY_SHARED;
	if (mapping->inode || mapping->path[0] == '/')
		return MEMORY_FILES;
	if (strcmp(mapping->path, "[stack]") == 0)
		return MEMORY_STACKS;
	if (text_begins(mapping->path, "[anon:"))
		return MEMORY_NAMED;
	if (text_begins(mapping->path, "[v") || strcmp(mapping->path, "[uprobes]") == 0)
		return MEMORY_KERNEL;
	if (mapping->executable)
		return MEMORY_CODE;
	return is_module_data(smaps, i) ? MEMORY_MODULE_DATA : MEMORY_ANONYMOUS;
}

struct splitting {
	struct memory_process *process;
	struct maps maps;
	struct smaps smaps;
	struct runtime_heap runtime;
	int pagemap;
	struct peek peek;
	struct heap_shares shares;
	const struct pause_options *pause; /* NULL: no stop permitted */
	/* Of mappings that contain heaps. */
	uint64_t heap_rss, heap_pss;
};

static void add_share(struct memory_share *sum, const struct memory_share *share)
{
	sum->size += share->size;
	sum->resident += share->resident;
	sum->swapped += share->swapped;
	sum->pss += share->pss;
}

/* Adds a named item; equal names are joined at the end. */
static int add_item(struct memory_process *process, enum memory_part part, const char *name,
		    const struct memory_share *share)
{
	struct memory_item *item = vec_push(&process->items);

	if (!item)
		return -ENOMEM;
	*item = (struct memory_item){part, strdup(name), *share};
	if (item->name)
		return 0;
	process->items.count--;
	return -ENOMEM;
}

static int by_name(const void *left_pointer, const void *right_pointer)
{
	const struct memory_item *left = left_pointer, *right = right_pointer;

	return left->part != right->part ? (int)left->part - (int)right->part
					 : strcmp(left->name, right->name);
}

static int by_resident(const void *left_pointer, const void *right_pointer)
{
	const struct memory_item *left = left_pointer, *right = right_pointer;

	if (left->share.resident != right->share.resident)
		return left->share.resident > right->share.resident ? -1 : 1;
	return by_name(left, right);
}

static void join_items(struct memory_process *process)
{
	struct memory_item *items = process->items.items;
	size_t kept = 0;

	if (!process->items.count)
		return;
	qsort(items, process->items.count, sizeof(*items), by_name);
	for (size_t i = 1; i < process->items.count; i++) {
		if (by_name(&items[kept], &items[i])) {
			items[++kept] = items[i];
			continue;
		}
		add_share(&items[kept].share, &items[i].share);
		free(items[i].name);
	}
	process->items.count = kept + 1;
	qsort(items, process->items.count, sizeof(*items), by_resident);
}

static struct memory_share share_of(const struct smaps_figures *figures)
{
	return (struct memory_share){figures->size, figures->rss, figures->swap, figures->pss};
}

/* Adds a named item, also to the sum of its part. */
static int add_named(struct memory_process *process, enum memory_part part, const char *name,
		     const struct memory_share *share)
{
	add_share(&process->parts[part], share);
	return add_item(process, part, name, share);
}

/* Bytes of [start, end) that belong to heaps and to mapped blocks, by residency. */
struct claims {
	struct memory_share all, heap, blocks;
	bool has_heap, has_blocks;
	bool is_block; /* the whole mapping is one block */
};

static void add_claim(struct memory_share *share, const struct residency *residency, uint64_t start,
		      uint64_t end)
{
	start = MAX(start, residency->start);
	end = MIN(end, residency->end);
	if (start >= end)
		return;
	share->size += end - start;
	share->resident += residency_bytes(residency, start, end, RESIDENT);
	share->swapped += residency_bytes(residency, start, end, IN_SWAP);
}

/* Index of the first extent that ends behind an address. */
#define FIRST_BEHIND(list, address)                                                                \
	SORTED_BEFORE(extent_, (list)->items, (list)->count, extent_->end <= (address))

/* Most bytes of a mapping at once: one byte is kept for each page. */
#define SPLIT_BYTES (64ull << 30)

static void add_claims(const struct heap_shares *shares, const struct residency *residency,
		       struct claims *claims)
{
	size_t extent = FIRST_BEHIND(&shares->extents, residency->start);
	size_t block = FIRST_BEHIND(&shares->mapped, residency->start);

	add_claim(&claims->all, residency, residency->start, residency->end);
	for (;
	     extent < shares->extents.count && shares->extents.items[extent].start < residency->end;
	     extent++)
		add_claim(&claims->heap, residency, shares->extents.items[extent].start,
			  shares->extents.items[extent].end);
	for (; block < shares->mapped.count && shares->mapped.items[block].start < residency->end;
	     block++)
		add_claim(&claims->blocks, residency, shares->mapped.items[block].start,
			  shares->mapped.items[block].end);
}

/* Splits a mapping into heaps, mapped blocks and the rest. 0 or -ENOMEM. */
static int claim_parts(const struct splitting *splitting, const struct mapping *mapping,
		       struct claims *claims)
{
	for (uint64_t start = mapping->start, end; start < mapping->end; start = end) {
		_cleanup_(residency_free) struct residency residency = {0};

		end = MIN(start + SPLIT_BYTES, mapping->end);
		if (residency_read(&residency, splitting->maps.source, splitting->pagemap, start,
				   end))
			return -ENOMEM;
		add_claims(&splitting->shares, &residency, claims);
	}
	return 0;
}

/* The part of a mapping in heaps and mapped blocks. 0 or -ENOMEM. */
static int claim(struct splitting *splitting, const struct mapping *mapping, struct claims *claims)
{
	const struct heap_shares *shares = &splitting->shares;
	size_t extent = FIRST_BEHIND(&shares->extents, mapping->start);
	size_t block = FIRST_BEHIND(&shares->mapped, mapping->start);
	bool in_extent = extent < shares->extents.count &&
			 shares->extents.items[extent].start < mapping->end;
	bool in_block =
		block < shares->mapped.count && shares->mapped.items[block].start < mapping->end;

	/* One block that fills the mapping: the figures of smaps suffice. */
	claims->is_block = !in_extent && in_block &&
			   shares->mapped.items[block].start == mapping->start &&
			   shares->mapped.items[block].end >= mapping->end;
	if (claims->is_block || (!in_extent && !in_block))
		return 0;
	claims->has_heap = in_extent;
	claims->has_blocks = in_block;
	return claim_parts(splitting, mapping, claims);
}

/*
 * Adds the mapping of a file. Written pages of a private one belong to the process. musl gives
 * malloc the unused rest behind a module's data (donate.c).
 */
static int add_file(struct splitting *splitting, const struct smaps_entry *entry)
{
	struct memory_process *process = splitting->process;
	struct memory_share clean = share_of(&entry->figures), written = {0};
	struct claims claims = {0};
	int error = 0;

	if (!entry->mapping.shared) {
		error = claim(splitting, &entry->mapping, &claims);
		written.resident = MIN(entry->figures.anonymous, clean.resident);
		written.swapped = clean.swapped;
		written.pss = MIN(written.resident, clean.pss);
		clean.resident -= written.resident;
		clean.pss -= written.pss;
		clean.swapped = 0;
		written.resident -= MIN(claims.heap.resident, written.resident);
		written.swapped -= MIN(claims.heap.swapped, written.swapped);
		written.pss -= MIN(claims.heap.resident, written.pss);
		splitting->heap_rss += claims.heap.resident;
		splitting->heap_pss += claims.heap.resident;
	}
	if (!error && (written.resident || written.swapped))
		error = add_named(process, MEMORY_FILES_WRITTEN, entry->mapping.path, &written);
	return error ? error : add_named(process, MEMORY_FILES, entry->mapping.path, &clean);
}

static uint64_t part_of_pss(uint64_t resident, uint64_t rss, uint64_t pss)
{
	return rss ? (uint64_t)((double)pss * ((double)resident / (double)rss)) : 0;
}

static bool is_managed(struct splitting *splitting, const struct mapping *mapping)
{
	return runtime_heap_share(&splitting->runtime, mapping, &splitting->peek) >= 0.5;
}

/* Returns the part of a mapping's rest besides malloc's memory: the kernel merges neighbours, so
 * that a block may share a mapping with a runtime's heap. */
static enum memory_part rest_part(struct splitting *splitting, const struct mapping *mapping,
				  const struct claims *claims)
{
	if (is_managed(splitting, mapping))
		return MEMORY_MANAGED;
	/* Memory around heaps contains their records. */
	return claims->has_heap ? MEMORY_MALLOC_OWN : MEMORY_ANONYMOUS;
}

/* Adds a mapping that contains heaps or mapped blocks, and the rest. */
static void add_claimed(struct splitting *splitting, const struct smaps_entry *entry,
			struct claims *claims)
{
	const struct smaps_figures *figures = &entry->figures;
	struct memory_share all = claims->all, *parts = splitting->process->parts;

	all.size -= MIN(claims->heap.size + claims->blocks.size, all.size);
	all.resident -= MIN(claims->heap.resident + claims->blocks.resident, all.resident);
	all.swapped -= MIN(claims->heap.swapped + claims->blocks.swapped, all.swapped);
	claims->blocks.pss = part_of_pss(claims->blocks.resident, figures->rss, figures->pss);
	all.pss = part_of_pss(all.resident, figures->rss, figures->pss);
	add_share(&parts[MEMORY_MAPPED_BLOCKS], &claims->blocks);
	add_share(&parts[rest_part(splitting, &entry->mapping, claims)], &all);
	if (claims->has_heap) {
		splitting->heap_rss += figures->rss;
		splitting->heap_pss += figures->pss;
	}
}

/* Adds stacks of live and of ended threads, by residency if a mapping has both. */
static int add_stacks(struct splitting *splitting, const struct smaps_entry *entry,
		      const struct thread_stacks *stacks)
{
	_cleanup_(residency_free) struct residency residency = {0};
	struct memory_share *parts = splitting->process->parts;
	struct memory_share live = share_of(&entry->figures), ended = {0};

	if (!stacks->live) {
		add_share(&parts[MEMORY_ENDED_STACKS], &live);
		return 0;
	}
	if (stacks->ranges.count &&
	    residency_read(&residency, splitting->maps.source, splitting->pagemap,
			   entry->mapping.start, entry->mapping.end))
		return -ENOMEM;
	for (size_t i = 0; i < stacks->ranges.count; i++)
		add_claim(&ended, &residency, stacks->ranges.items[i].start,
			  stacks->ranges.items[i].end);
	ended.resident = MIN(ended.resident, live.resident);
	ended.swapped = MIN(ended.swapped, live.swapped);
	ended.pss = part_of_pss(ended.resident, live.resident, live.pss);
	live.size -= MIN(ended.size, live.size);
	live.resident -= ended.resident;
	live.swapped -= ended.swapped;
	live.pss -= MIN(ended.pss, live.pss);
	add_share(&parts[MEMORY_STACKS], &live);
	add_share(&parts[MEMORY_ENDED_STACKS], &ended);
	return 0;
}

/* Adds a mapping of thread stacks. 1: added; 0: no thread stacks; -ENOMEM. */
static int try_stacks(struct splitting *splitting, const struct smaps_entry *entry)
{
	struct memory_process *process = splitting->process;
	struct thread_stacks stacks = {0};
	int error = thread_stacks_find(&splitting->peek, &entry->mapping, process->status.own_pid,
				       &stacks);
	bool found = stacks.live || stacks.ranges.count;

	if (!error && found)
		error = add_stacks(splitting, entry, &stacks);
	vec_free(&stacks.ranges);
	process->live_stacks += stacks.live;
	process->ended_stacks += stacks.ended;
	process->joined_stacks += stacks.joined;
	return error ? error : found;
}

/* Smaller mappings explain nothing. */
#define FILLABLE_MIN (UINT64_C(1) << 20)

static bool is_fillable(const struct mapping *mapping)
{
	/* The kernel extends the data segment in place. */
	return (mapping->shared || mapping->writable) &&
	       mapping->end - mapping->start >= FILLABLE_MIN &&
	       strcmp(mapping->path, "[heap]") != 0;
}

/* Keeps the largest ones, in descending order. */
static void note_fillable(struct splitting *splitting, const struct smaps_entry *entry,
			  enum memory_part part)
{
	const struct mapping *mapping = &entry->mapping;
	struct memory_process *process = splitting->process;
	struct memory_fillable *list = process->fillable;
	uint64_t size = mapping->end - mapping->start;
	size_t at = process->fillable_count;

	if (!is_fillable(mapping))
		return;
	while (at && list[at - 1].size < size)
		at--;
	if (at == MEMORY_FILLABLE_MAX)
		return;
	process->fillable_count = MIN(process->fillable_count + 1, (size_t)MEMORY_FILLABLE_MAX);
	memmove(&list[at + 1], &list[at], (process->fillable_count - at - 1) * sizeof(*list));
	list[at] = (struct memory_fillable){mapping->start, size,
					    entry->figures.rss + entry->figures.swap, part,
					    mapping->shared};
}

static int add_anonymous(struct splitting *splitting, size_t i, enum memory_part part)
{
	const struct smaps_entry *entry = &splitting->smaps.list.items[i];
	struct memory_share share = share_of(&entry->figures);
	struct claims claims = {0};
	int error = claim(splitting, &entry->mapping, &claims);

	if (error)
		return error;
	if (claims.has_heap || claims.has_blocks) {
		add_claimed(splitting, entry, &claims);
		return 0;
	}
	if (claims.is_block) {
		note_fillable(splitting, entry, MEMORY_MAPPED_BLOCKS);
		add_share(&splitting->process->parts[MEMORY_MAPPED_BLOCKS], &share);
		return 0;
	}
	if (splitting->pagemap >= 0 && entry->mapping.writable && part != MEMORY_MODULE_DATA) {
		error = try_stacks(splitting, entry);
		if (error)
			return MIN(error, 0);
	}
	if ((part == MEMORY_ANONYMOUS || part == MEMORY_NAMED) &&
	    is_managed(splitting, &entry->mapping))
		part = MEMORY_MANAGED;
	if (part == MEMORY_ANONYMOUS || part == MEMORY_NAMED)
		note_fillable(splitting, entry, part);
	if (part == MEMORY_NAMED)
		return add_named(splitting->process, part, entry->mapping.path, &share);
	add_share(&splitting->process->parts[part], &share);
	return 0;
}

static int add_mapping(struct splitting *splitting, size_t i)
{
	const struct smaps_entry *entry = &splitting->smaps.list.items[i];
	enum memory_part part = mapping_owner(&splitting->smaps, i);
	struct memory_share share = share_of(&entry->figures);

	/* Rss excludes hugetlbfs pages: they are counted separately. */
	if (entry->figures.hugetlb)
		return 0;
	switch (part) {
	case MEMORY_FILES:
		return add_file(splitting, entry);
	case MEMORY_SHARED:
		if (is_managed(splitting, &entry->mapping))
			part = MEMORY_MANAGED;
		else
			note_fillable(splitting, entry, part);
		return add_named(splitting->process, part, entry->mapping.path, &share);
	case MEMORY_STACKS:
		splitting->process->live_stacks++;
		/* fallthrough */
	case MEMORY_KERNEL:
		add_share(&splitting->process->parts[part], &share);
		return 0;
	default:
		return add_anonymous(splitting, i, part);
	}
}

/* Adds the heaps' parts, from their readers. */
static void add_heaps(struct splitting *splitting)
{
	const struct allocator_reports *reports = &splitting->process->allocators;

	for (size_t use = 0; use < HEAP_USE_MAX_; use++) {
		struct memory_share share = {0};

		for (size_t i = 0; i < reports->list.count; i++) {
			const struct heap_share *one = &reports->list.items[i].uses[use];

			share.size += one->bytes;
			share.resident += one->resident;
			share.swapped += one->swapped;
		}
		share.pss = part_of_pss(share.resident, splitting->heap_rss, splitting->heap_pss);
		add_share(&splitting->process->parts[use], &share);
	}
}

/* Completes the allocators' reports by figures of the whole process. */
static void complete_reports(struct memory_process *process)
{
	for (size_t i = 0; i < process->allocators.list.count; i++) {
		struct allocator_report *report = &process->allocators.list.items[i];

		report->figures[ALLOCATOR_PROCESS_RESIDENT] = memory_heap_resident(process);
		report->figures[ALLOCATOR_PROCESS_FREE] = memory_free_resident(process);
		report->figures[ALLOCATOR_PROCESS_TRIMMABLE] = memory_trimmable(process);
		report->fragmentation = memory_fragmentation(process);
	}
}

static int find_runtime(struct splitting *splitting)
{
	const struct smaps_entry *entries = splitting->smaps.list.items;
	size_t count = splitting->smaps.list.count;
	int error = count ? runtime_heap_find(&entries->mapping, count, sizeof(*entries),
					      &splitting->runtime)
			  : 0;

	if (!error)
		error = runtime_memory_read(&splitting->maps,
					    splitting->pause || splitting->process->core,
					    &splitting->runtime, splitting->process);
	splitting->process->runtime =
		runtime_label_in(splitting->runtime.runtime, &splitting->maps);
	return error;
}

/* A huge page is read in parts: with pages of 64 KiB it has 512 MiB. */
#define PART_BYTES (2ull << 20)
#define PART_PAGES (PART_BYTES / MEMORY_PAGE)
#define CHECK_MAX (256ull << 20)

struct checking {
	struct memory_source source;
	int pagemap;
	uint64_t step; /* one huge page in `step` is read */
	uint64_t seen;
	uint64_t *words; /* of one part */
	struct memory_huge *huge;
};

/* Returns whether a huge page is resident as a whole. Small pages that fill such a place are
 * mistaken for one, which does no harm. */
static bool is_whole(const struct checking *checking, uint64_t address)
{
	uint64_t entries[PART_PAGES], end = address + page_huge_size();

	for (uint64_t at = address; at < end; at += PART_BYTES) {
		pagemap_read(checking->source, checking->pagemap, at, entries, PART_PAGES);
		for (size_t i = 0; i < PART_PAGES; i++) {
			if (!pagemap_is_present(entries[i]) || pagemap_is_shared(entries[i]))
				return false;
		}
	}
	return true;
}

static bool is_zero(const uint64_t *words)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < MEMORY_PAGE / 8; i++)
		sum |= words[i];
	return !sum;
}

static void check_one(struct checking *checking, uint64_t address)
{
	uint64_t end = address + page_huge_size(), zero = 0;

	if (!is_whole(checking, address) || checking->seen++ % checking->step)
		return;
	for (uint64_t at = address; at < end; at += PART_BYTES) {
		if (memory_read_exact(checking->source, at, checking->words, PART_BYTES))
			return;
		for (size_t i = 0; i < PART_PAGES; i++)
			zero += is_zero(checking->words + i * (MEMORY_PAGE / 8)) ? MEMORY_PAGE : 0;
	}
	checking->huge->checked += page_huge_size();
	checking->huge->zero += zero;
}

/*
 * Reads anonymous huge pages and counts the small pages in them that are all zero: never written
 * to, or written with zeros only. At most 256 MiB of them are read, spread over all. 0 or -ENOMEM.
 */
static int huge_pages_check(const struct smaps *smaps, struct memory_source source, int pagemap,
			    struct memory_huge *huge)
{
	_cleanup_free_ uint64_t *words = NULL;
	struct checking checking = {.source = source, .pagemap = pagemap, .huge = huge};
	const uint64_t huge_bytes = page_huge_size();

	*huge = (struct memory_huge){.bytes = smaps_sum(smaps).anon_huge};
	/* Without pagemap, reading would fault in absent pages. */
	if (!huge->bytes || pagemap < 0)
		return 0;
	words = checking.words = malloc(PART_BYTES);
	if (!words)
		return -ENOMEM;
	checking.step = (huge->bytes + CHECK_MAX - 1) / CHECK_MAX;
	for (size_t i = 0; i < smaps->list.count; i++) {
		const struct smaps_entry *entry = &smaps->list.items[i];
		uint64_t at = align_up(entry->mapping.start, huge_bytes);

		for (; entry->figures.anon_huge && at + huge_bytes <= entry->mapping.end;
		     at += huge_bytes)
			check_one(&checking, at);
	}
	return 0;
}

/* Computes the figures of the whole process that mappings lack. */
static void sum_up(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	uint64_t faults = process->forked.faults, tables = process->status.page_tables;

	process->sum = smaps_sum(&splitting->smaps);
	process->forked = smaps_forked(&splitting->smaps);
	process->forked.faults = faults;
	process->parts[MEMORY_PAGE_TABLES] =
		(struct memory_share){.size = tables, .resident = tables, .pss = tables};
	process->difference = (int64_t)process->sum.rss;
	for (size_t i = 0; i < MEMORY_RESIDENT_PARTS; i++)
		process->difference -= (int64_t)process->parts[i].resident;
}

static int split(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	int error = find_runtime(splitting);

	for (size_t i = 0; !error && i < splitting->smaps.list.count; i++)
		error = add_mapping(splitting, i);
	if (error)
		return error;
	add_heaps(splitting);
	complete_reports(process);
	sum_up(splitting);
	join_items(process);
	return huge_pages_check(&splitting->smaps, splitting->maps.source, splitting->pagemap,
				&process->huge);
}

/* Most readings of the mappings: a heap that has grown since then extends beyond them. */
#define MAPS_TRIES 3
/* Most stops: on a busy machine, the time of a stop may not suffice. */
#define STOP_TRIES 3

/* Reads the mappings again; returns false if that fails. */
static bool read_maps_again(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	struct maps fresh;

	if (process->core || maps_read(process->pid, MAPS_ALL, &fresh))
		return false;
	maps_free(&splitting->maps);
	splitting->maps = fresh;
	peek_forget(&splitting->peek);
	return true;
}

/* Reads a constantly changing heap in a stop. If that fails, the earlier result is kept. */
static int read_heaps_stopped(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	struct heap_shares stopped = {0};
	int error = -ETIMEDOUT;

	for (int tries = 0; error == -ETIMEDOUT && tries < STOP_TRIES; tries++) {
		uint64_t before_ns = stopped.pause_ns;

		heap_shares_free(&stopped);
		stopped = (struct heap_shares){0};
		error = heap_shares_read_stopped(process->pid, &splitting->maps, splitting->pagemap,
						 splitting->pause->max_pause_ns, &stopped);
		stopped.pause_ns = MAX(stopped.pause_ns, before_ns);
	}
	process->pause_ns = stopped.pause_ns;
	if (!error)
		SWAP(splitting->shares, stopped);
	else
		process->why_not_stopped = hold_why_not(error);
	heap_shares_free(&stopped);
	return error == -ENOMEM || error == -ESRCH ? error : 0;
}

/*
 * Returns whether glibc's malloc is in use although no heap was found: it was changing. A program
 * with another allocator does not extend the data segment, and is not stopped in vain.
 */
static bool hides_heap(const struct maps *maps, const struct heap_shares *shares)
{
	bool has_libc = false, has_segment = false;

	for (size_t i = 0; !shares->reports.list.count && i < maps->list.count; i++) {
		const char *path = maps->list.items[i].path, *slash = strrchr(path, '/');

		has_libc |= slash &&
			    (text_begins(slash, "/libc.so.6") || text_begins(slash, "/libc-2."));
		has_segment |= !strcmp(path, "[heap]");
	}
	return has_libc && has_segment;
}

static int read_heaps(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	struct heap_shares *shares = &splitting->shares;
	const struct pause_options *pause = splitting->pause;
	bool may_stop = pause && !pause->no_stop && !process->core;
	int error = 0;

	if (splitting->pagemap < 0) {
		process->why = "/proc/PID/pagemap cannot be read (CAP_DAC_READ_SEARCH), and "
			       "without it pages that are absent or in swap would be brought in";
		return 0;
	}
	for (int tries = 1;; tries++) {
		error = heap_shares_read(&splitting->maps, splitting->pagemap, shares);
		if (error || !shares->changed || tries == MAPS_TRIES || may_stop ||
		    !read_maps_again(splitting))
			break;
		heap_shares_free(shares);
		*shares = (struct heap_shares){0};
	}
	if (!error && may_stop && (shares->changed || hides_heap(&splitting->maps, shares)))
		error = read_heaps_stopped(splitting);
	process->allocators = shares->reports;
	shares->reports = (struct allocator_reports){0};
	process->heap_changed = shares->changed;
	process->why = shares->why;
	return error;
}

static int read_maps(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	struct process_entry entry;
	int error = process_read(process->pid, &entry);

	if (error)
		return error;
	process->start_ticks = entry.start_ticks;
	process->forked.faults = entry.minor_faults;
	memcpy(process->comm, entry.comm, sizeof(process->comm));
	return maps_read(process->pid, MAPS_ALL, &splitting->maps);
}

static int read_core_maps(struct splitting *splitting, const struct core *core)
{
	const struct core_layout *layout = core_layout(core);
	struct memory_process *process = splitting->process;

	process->core = core_path(core);
	process->pid = process->status.own_pid = layout->pid;
	process->time = core_time(core);
	memcpy(process->comm, layout->comm, sizeof(process->comm));
	return core_maps(core, MAPS_ALL, &splitting->maps);
}

/* Reads the kernel's figures; for a core, those of its pages. */
static int read_figures(struct splitting *splitting)
{
	struct memory_process *process = splitting->process;
	int error;

	if (process->core)
		return smaps_of_core(&splitting->maps, splitting->pagemap, &splitting->smaps);
	error = smaps_read(process->pid, splitting->maps.source.task, &splitting->smaps);
	return error ? error : memory_status_read(process->pid, &process->status);
}

static int read_all(struct splitting *splitting, const struct core *core)
{
	struct memory_process *process = splitting->process;
	int error = core ? read_core_maps(splitting, core) : read_maps(splitting);

	if (error)
		return error;
	splitting->pagemap = pagemap_open(splitting->maps.source);
	process->pagemap_readable = splitting->pagemap >= 0;
	splitting->peek.source = splitting->maps.source;
	splitting->peek.pagemap = splitting->pagemap;
	error = read_heaps(splitting);
	if (!error)
		error = read_figures(splitting);
	return error ? error : split(splitting);
}

static int read_process(pid_t pid, const struct core *core, const struct pause_options *pause,
			struct memory_process *process)
{
	struct memory_process made = {.pid = pid};
	struct splitting splitting = {.process = &made, .pagemap = -1, .pause = pause};
	uint64_t started_ns = monotonic_ns();
	int error;

	clock_gettime(CLOCK_REALTIME, &made.time);
	peek_forget(&splitting.peek);
	error = read_all(&splitting, core);
	peek_free(&splitting.peek);
	heap_shares_free(&splitting.shares);
	cleanup_close(&splitting.pagemap);
	maps_free(&splitting.maps);
	smaps_free(&splitting.smaps);
	runtime_heap_free(&splitting.runtime);
	made.read_ns = monotonic_ns() - started_ns;
	if (error)
		memory_process_free(&made);
	else
		*process = made;
	return error;
}

int memory_process_read(pid_t pid, const struct pause_options *pause,
			struct memory_process *process)
{
	return read_process(pid, NULL, pause, process);
}

int memory_core_read(const struct core *core, struct memory_process *process)
{
	return read_process(0, core, NULL, process);
}
