/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reachable instructions of a function, and the successors of each. */
#ifndef LEAKMON_ARCH_CONTROL_FLOW_H
#define LEAKMON_ARCH_CONTROL_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/arch/results.h"

enum step_kind {
	STEP_PLAIN,
	STEP_BRANCH, /* conditional: continues with the next instruction, or at `target` */
	STEP_JUMP,   /* continues at `target` */
	STEP_CALL,
	STEP_RETURN,
	STEP_END, /* no successor: ud2, a call that never returns, or one not followed */
};

struct step {
	uint64_t vaddr, target; /* target 0: none */
	uint8_t size;
	uint8_t kind; /* enum step_kind */
	bool falls;   /* continues with the next instruction */
};

struct control_flow {
	VEC(struct step) steps;
	uint32_t *index;   /* hash table of steps, by address */
	bool returns;	   /* some step is a return */
	char stopped[112]; /* why following failed; "" */
};

/*
 * Follows every path from request->entry. With `through` false, paths end at calls of probed
 * functions. Returns 0, also if a path could not be followed to its end (see `stopped`); -ENOMEM.
 */
int control_flow_follow(struct code *code, const struct results_request *request, bool through,
			struct control_flow *flow);
void control_flow_free(struct control_flow *flow);

/* Returns whether this external function never returns: abort, __cxa_throw, ... */
bool control_flow_never_returns(const char *symbol);

#endif
