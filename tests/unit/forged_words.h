/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of a memory made by hand in this process, and changes to them by the input of a fuzzer.
 * Used by unit tests and fuzzers, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_FORGED_WORDS_H
#define LEAKMON_UNIT_FORGED_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct forged_words {
	uint64_t base, size;
	const uint32_t *places; /* where changes matter: words that are not 0 */
	uint32_t place_count;
};

/* A change: the place, the number of further words, the meaning of the word, and the word. */
struct forged_change {
	uint16_t place;
	uint8_t behind, meaning;
	uint64_t word;
} __attribute__((packed));

/* At an address that is the same on every run, as the inputs of a fuzzer need it. */
static inline void *forged_memory_place(uint64_t base)
{
	return (void *)(uintptr_t)base; /* NOLINT(performance-no-int-to-ptr) */
}

static inline void forged_put(uint64_t address, uint64_t word)
{
	memcpy(forged_memory_place(address), &word, sizeof(word));
}

static inline uint64_t forged_word(uint64_t address)
{
	uint64_t word;

	memcpy(&word, forged_memory_place(address), sizeof(word));
	return word;
}

static inline uint64_t forged_changed_word(const struct forged_words *words,
					   const struct forged_change *change)
{
	uint64_t place = words->places[change->word % words->place_count] * 8ull;

	switch (change->meaning % 4) {
	case 1:
		return words->base + change->word % words->size;
	case 2: /* another word */
		return forged_word(words->base + place);
	case 3:
		return words->base + place;
	default:
		return change->word;
	}
}

/* The next change of an input, from `at` on, and the address that it is about. False: no more. */
static inline bool forged_words_next(const struct forged_words *words, const uint8_t *data,
				     size_t size, size_t *at, struct forged_change *change,
				     uint64_t *address)
{
	uint64_t place;

	if (size - *at < sizeof(*change))
		return false;
	memcpy(change, data + *at, sizeof(*change));
	*at += sizeof(*change);
	place = words->places[change->place % words->place_count] + change->behind % 8;
	*address = words->base + place % (words->size / 8) * 8;
	return true;
}

static inline void forged_words_change(const struct forged_words *words, const uint8_t *data,
				       size_t size)
{
	struct forged_change change;
	uint64_t address;

	for (size_t at = 0; forged_words_next(words, data, size, &at, &change, &address);)
		forged_put(address, forged_changed_word(words, &change));
}

#endif
