/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer harness of a walker of managed heaps: a small heap made by hand, in which the input
 * changes words. What the walk finds must be sound. A fuzzer includes the walker's fixture
 * (tests/unit/NAME_fixture.h), then this.
 *
 * Input: changes of 12 bytes each, see forged_memory.h.
 *
 * Seeds: none are needed.
 */
#ifndef LEAKMON_FUZZ_FORGED_HEAP_H
#define LEAKMON_FUZZ_FORGED_HEAP_H

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Nothing here changes: no retry needs to wait. */
int nanosleep(const struct timespec *requested, struct timespec *left)
{
	(void)requested;
	(void)left;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct forged forged;
	static unsigned char *kept;

	if (!kept) {
		kept = malloc(FORGED_BYTES);
		if (!kept || !forged_make(&forged))
			abort();
		memcpy(kept, forged.memory.bytes, FORGED_BYTES);
	}
	forged_memory_fuzz(&forged.memory, kept, data, size);
	return 0;
}

#endif
