// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nurseries of Haskell's closures, one for each capability. Blocks behind the one being filled
 * contain stale closures.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/runtime/ghc/ghc.h"

#define CAPABILITY_WORDS 160 /* words before its nursery */

/* Returns whether an address may be a group's descriptor: in the first blocks of a megablock. */
static bool is_descriptor(const struct ghc *ghc, uint64_t address)
{
	return address >= ghc->heap_start && address < ghc->heap_end &&
	       address % GHC_DESCRIPTOR == 0 &&
	       address % GHC_MEGABLOCK >= (uint64_t)GHC_FIRST_BLOCK * GHC_DESCRIPTOR &&
	       address % GHC_MEGABLOCK < GHC_FIRST_BLOCK * GHC_BLOCK;
}

static uint64_t described_block(uint64_t descriptor)
{
	return (descriptor & ~(GHC_MEGABLOCK - 1)) +
	       descriptor % GHC_MEGABLOCK / GHC_DESCRIPTOR * GHC_BLOCK;
}

bool ghc_read_descriptor(const struct ghc *ghc, uint64_t address, struct ghc_descriptor *read)
{
	return is_descriptor(ghc, address) &&
	       !target_read(ghc->memory, address, read, sizeof(*read)) &&
	       read->start == described_block(address) && read->blocks &&
	       read->blocks < GHC_BLOCKS_MAX;
}

/* Returns whether a chain has the given number of blocks, with `current` among them. */
static bool is_nursery(const struct ghc *ghc, uint64_t first, uint64_t blocks, uint64_t current)
{
	uint64_t at = first, previous = 0, sum = 0;
	bool found = false;
	struct ghc_descriptor read;

	while (at && sum < blocks) {
		if (!ghc_read_descriptor(ghc, at, &read) || read.back != previous ||
		    read.generation_number)
			return false;
		found |= at == current;
		sum += read.blocks;
		previous = at;
		at = read.link;
	}
	return !at && sum == blocks && found;
}

/* Adds a nursery, whose blocks behind `current` are unused. The chain ends at a block found before.
 * 0 or -ENOMEM. */
static int add_nursery(struct ghc *ghc, uint64_t blocks, uint64_t current)
{
	struct ghc_descriptor read;
	bool behind = false, fresh = true;

	if (!hash_put(&ghc->nurseries, blocks, NULL))
		return -ENOMEM;
	for (uint64_t at = blocks; fresh && ghc_read_descriptor(ghc, at, &read); at = read.link) {
		if (behind && !hash_put(&ghc->unused, at, &fresh))
			return -ENOMEM;
		behind |= at == current;
	}
	return 0;
}

/* Finds a nursery (Capability.h, StgRegTable): rNursery leads to it, followed by rCurrentNursery.
 * Other capabilities are elsewhere. */
static int find_nursery(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;
	uint64_t blocks, current;

	if (ghc->nurseries.count || word % GHC_WORD || word >> MACHINE_USER_BITS)
		return 0;
	current = target_word(ghc->memory, address + GHC_WORD);
	if (!is_descriptor(ghc, current))
		return 0;
	blocks = target_word(ghc->memory, word);
	if (!is_descriptor(ghc, blocks) ||
	    !is_nursery(ghc, blocks, target_word(ghc->memory, word + GHC_WORD), current))
		return 0;
	return add_nursery(ghc, blocks, current);
}

/* Returns whether a capability may be there: it begins with addresses of code, and is in malloc's
 * memory. */
static bool is_capability(const struct ghc *ghc, uint64_t address)
{
	return address % GHC_WORD == 0 && address >= MEMORY_PAGE &&
	       !(address >> MACHINE_USER_BITS) &&
	       (address < ghc->heap_start || address >= ghc->heap_end) &&
	       !data_modules_at(ghc->memory->modules, address) &&
	       ghc_is_code(ghc, target_word(ghc->memory, address));
}

/* Searches a capability for the words that find_nursery() recognises. */
static bool add_capability(struct ghc *ghc, uint64_t address, int *error)
{
	uint64_t words[CAPABILITY_WORDS];

	if (!is_capability(ghc, address) || *error ||
	    target_read(ghc->memory, address, words, sizeof(words)))
		return false;
	for (size_t i = 0; i + 1 < CAPABILITY_WORDS; i++) {
		uint64_t nursery = words[i], current = words[i + 1], blocks;

		if (!is_descriptor(ghc, current) || nursery % GHC_WORD ||
		    nursery >> MACHINE_USER_BITS)
			continue;
		blocks = target_word(ghc->memory, nursery);
		if (!is_descriptor(ghc, blocks))
			continue;
		if (hash_get(&ghc->nurseries, blocks))
			return true;
		if (!is_nursery(ghc, blocks, target_word(ghc->memory, nursery + GHC_WORD), current))
			continue;
		*error = add_nursery(ghc, blocks, current);
		return true;
	}
	return false;
}

/* Finds capabilities (Capability.c): a program with several (-N) has a table of them, since 9.2 in
 * its data; the capabilities themselves are elsewhere. */
static int find_capabilities(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;
	int error = 0;

	(void)address;
	if (word % GHC_WORD || word < MEMORY_PAGE || word >> MACHINE_USER_BITS ||
	    add_capability(ghc, word, &error))
		return error;
	while (add_capability(ghc, target_word(ghc->memory, word), &error))
		word += GHC_WORD;
	return error;
}

int ghc_find_nurseries(struct ghc *ghc)
{
	int error;

	error = ghc_visit_data(ghc, find_nursery, ghc);
	if (!error && !ghc->nurseries.count)
		error = ghc_visit_data(ghc, find_capabilities, ghc);
	return error;
}
