/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects a loop in a linked list of another process (R. P. Brent, An improved Monte Carlo
 * factorization algorithm, BIT 20 (1980) 176-184). A loop is found within three times the number of
 * links in it and in the path to it.
 */
#ifndef LEAKMON_BASE_LOOP_H
#define LEAKMON_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialise. */
struct loop {
	uint64_t passed, links;
};

/* Call with each element's address in turn (never 0). Returns whether the list loops. */
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
