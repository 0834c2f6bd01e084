/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions that a function may run, with what follows each. */
#ifndef LEAKMON_ARCH_CONTROL_FLOW_H
#define LEAKMON_ARCH_CONTROL_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "binary/arch/results.h"

enum step_kind {
	STEP_PLAIN,
	STEP_BRANCH, /* conditional: falls through, or to `target` */
	STEP_JUMP,   /* to `target` */
	STEP_CALL,
	STEP_RETURN,
	STEP_END, /* goes nowhere: ud2, a call that never returns, one that was not followed */
};

struct step {
	uint64_t vaddr, target; /* target: 0: none */
	uint8_t size;
	uint8_t kind; /* enum step_kind */
	bool falls;   /* to the next instruction */
};

struct control_flow {
	VEC(struct step) steps;
	uint32_t *index;   /* hash table of steps, by address */
	bool returns;	   /* some step is a return */
	char stopped[112]; /* why it could not be followed; "" */
};

/*
 * Follows every path from request->entry. With `through` false paths end at calls of functions that
 * are probed themselves. 0, also when it could not be followed to the end (see `stopped`); -ENOMEM.
 */
int control_flow_follow(struct code *code, const struct results_request *request, bool through,
			struct control_flow *flow);
void control_flow_free(struct control_flow *flow);

/* Whether a call of this external symbol never returns: abort, __cxa_throw, ... */
bool control_flow_never_returns(const char *symbol);

#endif
