/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a linked list that another process has comes to where it was (R. P. Brent, An improved
 * Monte Carlo factorization algorithm, BIT 20 (1980) 176-184). A loop is found within three times
 * as many links as it and what leads to it have.
 */
#ifndef LEAKMON_BASE_LOOP_H
#define LEAKMON_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise. */
struct loop {
	uint64_t passed, links;
};

/* With each element's address in turn, which is not 0. */
static inline bool loop_found(struct loop *loop, uint64_t at)
{
	if (at == loop->passed)
		return true;
	if (!(loop->links & (loop->links - 1)))
		loop->passed = at;
	loop->links++;
	return false;
}

#endif
