/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer harness of a walker of managed heaps: a small handmade heap, in which the input changes
 * words. The result of the walk must be consistent. A fuzzer includes the walker's fixture
 * (tests/unit/NAME_fixture.h), then this.
 *
 * Input: see forged_input.h. Seeds: not needed.
 */
#ifndef LEAKMON_FUZZ_FORGED_HEAP_H
#define LEAKMON_FUZZ_FORGED_HEAP_H

#include "fuzz/forged_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	forged_memory_fuzz(&forged_input(data, size)->memory);
	return 0;
}

#endif
