/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small program made by hand, in which a libFuzzer input changes words. A fuzzer includes the
 * fixture of its reader (tests/unit/NAME_fixture.h), then this.
 *
 * Input: changes of 12 bytes each, see forged_memory.h.
 */
#ifndef LEAKMON_FUZZ_FORGED_INPUT_H
#define LEAKMON_FUZZ_FORGED_INPUT_H

/* A function with which a fuzzer extends the heap of its fixture. */
#ifndef FORGED_MORE
#define FORGED_MORE(forged) ((void)(forged))
#endif

/* Selects the heap if a fixture has several. */
#ifndef FORGED_MAKE
#define FORGED_MAKE(forged) forged_make(forged)
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing here changes: no retry needs to wait. */
int nanosleep(const struct timespec *requested, struct timespec *left)
{
	(void)requested;
	(void)left;
	return 0;
}

/* Creates the heap once, and resets it for each input. */
static inline struct forged *forged_input(const uint8_t *data, size_t size)
{
	static struct forged forged;
	static unsigned char *kept;

	if (!kept) {
		kept = malloc(FORGED_BYTES);
		if (!kept || !FORGED_MAKE(&forged))
			abort();
		FORGED_MORE(&forged);
		forged_memory_find_places(&forged.memory);
		memcpy(kept, forged.memory.bytes, FORGED_BYTES);
	}
	forged_memory_change(&forged.memory, kept, data, size);
	return &forged;
}

#endif
