/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums of many words at once, with vector registers. */
#ifndef LEAKMON_ARCH_LANES_H
#define LEAKMON_ARCH_LANES_H

#include <stddef.h>
#include <stdint.h>

#define LANES 8
#define LANES_KEY_STEP 0x9fb21c651e98df25ull /* growth of a key from one word to the next */

/*
 * Lane i takes the words i, i + LANES, ...; `count` is a multiple of LANES. Each word is xored with
 * its key and its two halves are multiplied: the product and the word of the neighbouring lane (i ^
 * 1) are added to the lane's sum. Lane i begins with the key of lane (i + 4) % LANES. `keys` and
 * `sums` are aligned to 32 bytes. The result is the same on every processor.
 */
void lanes_sum(const uint64_t *words, size_t count, const uint64_t keys[LANES],
	       uint64_t sums[LANES]);

#endif
