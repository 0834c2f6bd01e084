// SPDX-License-Identifier: GPL-2.0-or-later
#include "memory/huge_pages.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "proc/process_memory.h"

#define HUGE_PAGE (2ull << 20)
#define SMALL_PAGES (HUGE_PAGE / MEMORY_PAGE)
#define CHECK_MAX (256ull << 20)

struct checking {
	struct memory_source source;
	int pagemap;
	uint64_t step; /* one huge page in so many is read */
	uint64_t seen;
	uint64_t *words; /* of one huge page */
	struct memory_huge *huge;
};

/* A huge page is resident as a whole. Small ones that happen to fill such a place are taken for
 * one: they are no worse. */
static bool is_whole(const struct checking *checking, uint64_t address)
{
	uint64_t entries[SMALL_PAGES];

	pagemap_read(checking->pagemap, address, entries, SMALL_PAGES);
	for (size_t i = 0; i < SMALL_PAGES; i++) {
		if (!pagemap_is_present(entries[i]) || pagemap_is_shared(entries[i]))
			return false;
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
	if (!is_whole(checking, address) || checking->seen++ % checking->step ||
	    memory_read_exact(checking->source, address, checking->words, HUGE_PAGE))
		return;
	checking->huge->checked += HUGE_PAGE;
	for (size_t i = 0; i < SMALL_PAGES; i++) {
		if (is_zero(checking->words + i * (MEMORY_PAGE / 8)))
			checking->huge->zero += MEMORY_PAGE;
	}
}

int huge_pages_check(const struct smaps *smaps, struct memory_source source, int pagemap,
		     struct memory_huge *huge)
{
	_cleanup_free_ uint64_t *words = NULL;
	struct checking checking = {.source = source, .pagemap = pagemap, .huge = huge};

	*huge = (struct memory_huge){.bytes = smaps_sum(smaps).anon_huge};
	/* Without pagemap a page that is absent would be faulted in. */
	if (!huge->bytes || pagemap < 0)
		return 0;
	words = checking.words = malloc(HUGE_PAGE);
	if (!words)
		return -ENOMEM;
	checking.step = (huge->bytes + CHECK_MAX - 1) / CHECK_MAX;
	for (size_t i = 0; i < smaps->list.count; i++) {
		const struct smaps_entry *entry = &smaps->list.items[i];
		uint64_t at = (entry->mapping.start + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);

		for (; entry->figures.anon_huge && at + HUGE_PAGE <= entry->mapping.end;
		     at += HUGE_PAGE)
			check_one(&checking, at);
	}
	return 0;
}
