/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the place of a probe on a function: not always its first byte.
 *
 * The kernel emulates some instructions under a uprobe breakpoint and single-steps all others out
 * of line, which costs a second trap. trap.h lists them: on every processor, branches are emulated.
 * Instructions that only newer kernels emulate (some nops) are a second choice.
 *
 * Rule: decode from the entry through straight-line code and take the first emulated instruction
 *   - that every call with a non-trivial argument reaches: only fall-through, and a conditional
 *     branch may be passed only where the shape says that the taken side is trivial
 *     (free: `test rdi, rdi; je` or `cbz x0` skips NULL);
 *   - before which no argument register of the shape is written; or, if the program can be told
 *     another register (`movable`), before which each argument is still in some register;
 *   - for functions with a probed return, too: before which the stack pointer does not move, and
 *     the return address stays where the call put it, on the stack or in a register (effects.h);
 *   - to which no jump from later code in the given bytes leads back (a loop head, or a loop
 *     around it: one call would fire the probe more than once);
 *   - that is not a 5-byte nop: kernels that optimise it can kill a forked child.
 * Only instructions with known effects (a list) are passed. Without a proof the entry is used, with
 * the reason. An entry that must not be probed (5-byte nop) or that some kernel refuses to probe
 * (segment or lock prefix, 66 90, VEX) gives way to the first provable instruction, even a
 * single-stepped one.
 */
#ifndef LEAKMON_ARCH_PLACEMENT_H
#define LEAKMON_ARCH_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct placement_request {
	const uint8_t *code;  /* the function's first bytes, from the file */
	size_t size;	      /* within the function; preferably all of it, to see backward jumps */
	unsigned arguments;   /* how many, from the first on, must be intact */
	bool returns;	      /* the return is probed, too */
	bool null_is_trivial; /* calls with a NULL first argument need not be seen */
	bool movable;	      /* an argument may have moved to another register */
};

#define PLACEMENT_ARGUMENTS 4

struct placement {
	uint32_t offset; /* from the function's first byte */
	bool emulated;	 /* the kernel emulates the instruction there */
	bool refused;	 /* no safe place (5-byte nop at an entry that cannot be passed) */
	bool needless;	 /* its effect is seen elsewhere: no probe */
	bool moved;	 /* some argument has moved: see `registers` */
	uint8_t registers[PLACEMENT_ARGUMENTS]; /* of each argument at that place, by number */
	/* For -v and doctor, Intel syntax: "`push rbp` at +9: emulated, NULL already filtered". */
	char reason[128];
};

void placement_choose(const struct placement_request *request, struct placement *placement);

#endif
