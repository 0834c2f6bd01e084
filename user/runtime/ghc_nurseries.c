// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nurseries of Haskell's closures, one of each capability. Of their blocks, those behind the one
 * that is being filled have old closures.
 */
#include <errno.h>

#include "arch/machine.h"
#include "base/cleanup.h"
#include "runtime/ghc.h"

/* rts/sm/Storage.h: struct nursery. */
#define NURSERY_BYTES 16
#define NURSERY_BLOCKS_MAX (1u << 24)
#define CAPABILITY_WORDS 160 /* until its nursery */

/* Where the descriptor of a group may be: in the first blocks of a megablock. */
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

/* Whether a chain has as many blocks as is said, with `current` among them, unless that is 0. */
static bool is_nursery(const struct ghc *ghc, uint64_t first, uint64_t blocks, uint64_t current)
{
	uint64_t at = first, previous = 0, sum = 0;
	bool found = !current;
	struct ghc_descriptor read;

	if (blocks > NURSERY_BLOCKS_MAX)
		return false;
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

/* Capability.h, StgRegTable: rNursery leads to the nursery, and rCurrentNursery is next. The other
 * nurseries stand behind the first one, those of other capabilities elsewhere. */
static int find_nursery(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;
	uint64_t blocks, current;

	if (ghc->nursery_count || word % GHC_WORD || word >> MACHINE_USER_BITS)
		return 0;
	current = target_word(ghc->memory, address + GHC_WORD);
	if (!is_descriptor(ghc, current))
		return 0;
	blocks = target_word(ghc->memory, word);
	if (!is_descriptor(ghc, blocks) ||
	    !is_nursery(ghc, blocks, target_word(ghc->memory, word + GHC_WORD), current))
		return 0;
	ghc->nurseries[ghc->nursery_count++] = (struct ghc_nursery){blocks, current};
	for (uint64_t at = word + NURSERY_BYTES; ghc->nursery_count < GHC_NURSERIES_MAX;
	     at += NURSERY_BYTES) {
		blocks = target_word(ghc->memory, at);
		if (!is_descriptor(ghc, blocks) ||
		    !is_nursery(ghc, blocks, target_word(ghc->memory, at + GHC_WORD), 0))
			break;
		ghc->nurseries[ghc->nursery_count++] = (struct ghc_nursery){blocks, 0};
	}
	return 0;
}

/* Whether a capability may be there, which begins with addresses of code: it is in malloc's memory.
 */
static bool is_capability(const struct ghc *ghc, uint64_t address)
{
	return address % GHC_WORD == 0 && address >= MEMORY_PAGE &&
	       !(address >> MACHINE_USER_BITS) &&
	       (address < ghc->heap_start || address >= ghc->heap_end) &&
	       !data_modules_at(ghc->memory->modules, address) &&
	       ghc_is_code(ghc, target_word(ghc->memory, address));
}

static bool knows_nursery(const struct ghc *ghc, uint64_t blocks)
{
	for (size_t i = 0; i < ghc->nursery_count; i++) {
		if (ghc->nurseries[i].blocks == blocks)
			return true;
	}
	return false;
}

/* It has such words as find_nursery() looks for. */
static bool add_capability(struct ghc *ghc, uint64_t address)
{
	uint64_t words[CAPABILITY_WORDS];

	if (!is_capability(ghc, address) || ghc->nursery_count == GHC_NURSERIES_MAX ||
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
		if (knows_nursery(ghc, blocks))
			return true;
		if (!is_nursery(ghc, blocks, target_word(ghc->memory, nursery + GHC_WORD), current))
			continue;
		ghc->nurseries[ghc->nursery_count++] = (struct ghc_nursery){blocks, current};
		return true;
	}
	return false;
}

/* Capability.c: a program with several (-N) has a table of them, from 9.2 on in its data, and none
 * of them is in its data. */
static int find_capabilities(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;

	(void)address;
	if (word % GHC_WORD || word < MEMORY_PAGE || word >> MACHINE_USER_BITS ||
	    add_capability(ghc, word))
		return 0;
	for (uint64_t i = 0; i < GHC_NURSERIES_MAX; i++) {
		if (!add_capability(ghc, target_word(ghc->memory, word + i * GHC_WORD)))
			break;
	}
	return 0;
}

static int mark_unused(struct ghc *ghc, const struct ghc_nursery *nursery)
{
	uint64_t at = nursery->blocks;
	bool behind = false;
	struct ghc_descriptor read;

	for (uint32_t i = 0; i < NURSERY_BLOCKS_MAX && ghc_read_descriptor(ghc, at, &read); i++) {
		if (behind && !hash_put(&ghc->unused, at, NULL))
			return -ENOMEM;
		behind |= at == nursery->current;
		at = read.link;
	}
	return 0;
}

int ghc_find_nurseries(struct ghc *ghc)
{
	int error;

	ghc->nursery_count = 0;
	error = ghc_visit_data(ghc, find_nursery, ghc);
	if (!error && !ghc->nursery_count)
		error = ghc_visit_data(ghc, find_capabilities, ghc);
	for (size_t i = 0; !error && i < ghc->nursery_count; i++)
		error = mark_unused(ghc, &ghc->nurseries[i]);
	return error;
}
