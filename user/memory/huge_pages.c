// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/huge_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "proc/process_memory.h"

/* A huge page is read in parts: with pages of 64 KiB it has 512 MiB. */
#define PART_BYTES (2ull << 20)
#define PART_PAGES (PART_BYTES / MEMORY_PAGE)
#define CHECK_MAX (256ull << 20)

struct checking {
	struct memory_source source;
	int pagemap;
	uint64_t step; /* one huge page in so many is read */
	uint64_t seen;
	uint64_t *words; /* of one part */
	struct memory_huge *huge;
};

/* A huge page is resident as a whole. Small ones that happen to fill such a place are taken for
 * one: they are no worse. */
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

int huge_pages_check(const struct smaps *smaps, struct memory_source source, int pagemap,
		     struct memory_huge *huge)
{
	_cleanup_free_ uint64_t *words = NULL;
	struct checking checking = {.source = source, .pagemap = pagemap, .huge = huge};
	const uint64_t huge_bytes = page_huge_size();

	*huge = (struct memory_huge){.bytes = smaps_sum(smaps).anon_huge};
	/* Without pagemap a page that is absent would be faulted in. */
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
