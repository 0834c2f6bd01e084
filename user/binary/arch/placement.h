/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where to put a probe on a function: not always on its first byte.
 *
 * The kernel emulates some instructions under a uprobe breakpoint and single-steps all others out
 * of line, which costs a second trap. Which, trap.h says: branches on every processor. What is
 * emulated by newer kernels only (some nops) is taken only where nothing better is found.
 *
 * Rule: decode from the entry through straight-line code and take the first emulated instruction
 *   - that every call with a non-trivial argument reaches: only fall-through, and a conditional
 *     branch may be passed only where the shape says that the taken side is trivial
 *     (free: `test rdi, rdi; je` or `cbz x0` skips NULL);
 *   - up to which no argument register of the shape was written; or, where the program can learn
 *     another register (`movable`), up to which each argument is still in some register;
 *   - for functions with a probed return, too: up to which the stack pointer was not moved, and
 *     the return address is where the call put it, on the stack or in a register (effects.h);
 *   - that no jump from later code in the given bytes leads back to (a loop head, or a loop
 *     around it: one call would fire the probe more than once);
 *   - that is not a 5-byte nop: kernels that optimise it can kill a forked child.
 * Only instructions with known effects (a list) are passed. No proof, no move: the entry is
 * used, with the reason. An entry that must not be probed (5-byte nop) or that some kernel refuses
 * to probe (segment or lock prefix, 66 90, VEX) gives way to the first provable instruction even
 * if that one is single-stepped.
 */
#ifndef LEAKMON_ARCH_PLACEMENT_H
#define LEAKMON_ARCH_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct placement_request {
	const uint8_t *code;  /* the function's first bytes, from the file */
	size_t size;	      /* never beyond the function; best all of it, for the jumps back */
	unsigned arguments;   /* how many, from the first on, must be intact */
	bool returns;	      /* the return is probed too */
	bool null_is_trivial; /* a call with 0 as first argument need not be seen */
	bool movable;	      /* an argument may have gone to another register meanwhile */
};

#define PLACEMENT_ARGUMENTS 4

struct placement {
	uint32_t offset; /* from the function's first byte */
	bool emulated;	 /* the kernel emulates the instruction there */
	bool refused;	 /* no safe place at all (5-byte nop at an entry that cannot be passed) */
	bool needless;	 /* what it does is seen elsewhere: no probe */
	bool moved;	 /* some argument is elsewhere than it came in: see `registers` */
	uint8_t registers[PLACEMENT_ARGUMENTS]; /* where each is there, by its number */
	/* For -v and doctor, Intel syntax: "`push rbp` at +9: emulated, NULL already filtered". */
	char reason[128];
};

void placement_choose(const struct placement_request *request, struct placement *placement);

#endif
