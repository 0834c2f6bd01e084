// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/control_flow.h"

#include <errno.h>
#include <string.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "binary/arch/decoder.h"

/* A power of two, and never more than half full. */
#define INDEX_SIZE (RESULTS_MAX_STEPS * 2)

struct follower {
	struct code *code;
	const struct results_request *request;
	struct control_flow *flow;
	bool through;
	VEC(uint64_t) waiting; /* targets still to follow */
};

bool control_flow_never_returns(const char *symbol)
{
	/* libstdc++'s std::__throw_*, and std::terminate */
	static const char *const beginnings[] = {"_ZSt17__throw_", "_ZSt20__throw_",
						 "_ZSt9terminate"};
	static const char *const names[] = {"abort",	      "__cxa_throw",	  "__cxa_rethrow",
					    "_Unwind_Resume", "__stack_chk_fail", "__assert_fail"};

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++) {
		if (!strncmp(symbol, beginnings[i], strlen(beginnings[i])))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(symbol, names[i]))
			return true;
	}
	return false;
}

static uint32_t *index_slot(struct control_flow *flow, uint64_t vaddr)
{
	uint32_t slot = (uint32_t)((vaddr * 0x9e3779b97f4a7c15ull) >> 40) % INDEX_SIZE;

	while (flow->index[slot] && flow->steps.items[flow->index[slot] - 1].vaddr != vaddr)
		slot = (slot + 1) % INDEX_SIZE;
	return &flow->index[slot];
}

/* Only the first reason is kept. */
static void stop(struct follower *follower, uint64_t vaddr, const char *why, const char *name)
{
	struct control_flow *flow = follower->flow;

	if (!*flow->stopped)
		snprintf(flow->stopped, sizeof(flow->stopped), "0x%" PRIx64 " %s%.60s", vaddr, why,
			 name);
}

static int wait_for(struct follower *follower, uint64_t vaddr)
{
	uint64_t *waiting = vec_push(&follower->waiting);

	if (!waiting)
		return -ENOMEM;
	*waiting = vaddr;
	return 0;
}

static bool comes_back(const struct follower *follower, const struct code_target *target)
{
	return !follower->through &&
	       follower->request->is_probed(target, follower->request->context);
}

/* A jump out of the function is a tail call: the other function returns in its place. */
static int take_jump(struct follower *follower, struct step *step)
{
	struct code_target target;

	code_follow(follower->code, step->target, &target);
	step->target = 0;
	if (comes_back(follower, &target)) {
		step->kind = STEP_END;
		return 0;
	}
	if (target.vaddr) {
		step->target = target.vaddr;
		return wait_for(follower, target.vaddr);
	}
	step->kind = STEP_END;
	if (!control_flow_never_returns(target.name))
		stop(follower, step->vaddr, "goes on to ",
		     *target.name ? target.name : "another file");
	return 0;
}

static void take_call(struct follower *follower, struct step *step, bool direct)
{
	struct code_target target = {0};

	step->falls = true;
	if (!direct)
		return;
	code_follow(follower->code, step->target, &target);
	step->target = 0;
	if (!comes_back(follower, &target) &&
	    (target.vaddr || !control_flow_never_returns(target.name)))
		return;
	step->kind = STEP_END;
	step->falls = false;
}

/* Determines the successors of the decoded instruction. */
static int take_step(struct follower *follower, struct step *step)
{
	bool direct = code_direct_target(follower->code, &step->target);

	switch (step->kind) {
	case STEP_JUMP:
		if (direct)
			return take_jump(follower, step);
		stop(follower, step->vaddr, "is a computed jump", "");
		break;
	case STEP_BRANCH:
		step->falls = true;
		return wait_for(follower, step->target);
	case STEP_CALL:
		take_call(follower, step, direct);
		break;
	case STEP_RETURN:
		follower->flow->returns = true;
		if (!decoder_is_plain_return(follower->code))
			stop(follower, step->vaddr, "is no plain return", "");
		break;
	case STEP_PLAIN:
		step->falls = true;
		break;
	}
	if (step->kind != STEP_BRANCH && step->kind != STEP_JUMP)
		step->target = 0;
	return 0;
}

/* Follows one instruction; sets *next to its fall-through successor, or 0. */
static int follow_step(struct follower *follower, uint64_t vaddr, uint64_t end, uint64_t *next)
{
	struct control_flow *flow = follower->flow;
	struct step step = {.vaddr = vaddr};
	struct step *kept;
	int error;

	*next = 0;
	if (code_decode(follower->code, vaddr)) {
		stop(follower, vaddr, "cannot be decoded", "");
		return 0;
	}
	step.size = (uint8_t)follower->code->instruction->size;
	step.kind = (uint8_t)decoder_step_kind(follower->code);
	error = take_step(follower, &step);
	if (error)
		return error;
	if (step.falls && vaddr + step.size >= end) {
		/* A call at the end of a function never returns. */
		if (step.kind != STEP_CALL)
			stop(follower, vaddr, "runs off the end of its function", "");
		step.falls = false;
		step.kind = STEP_END;
	}
	kept = vec_push(&flow->steps);
	if (!kept)
		return -ENOMEM;
	*kept = step;
	*index_slot(flow, vaddr) = (uint32_t)flow->steps.count;
	if (step.falls)
		*next = vaddr + step.size;
	return 0;
}

/* Follows straight code from `vaddr` up to instructions already known. */
static int follow_run(struct follower *follower, uint64_t vaddr)
{
	uint64_t end = code_function_end(follower->code, vaddr);
	int error = 0;

	if (!end)
		stop(follower, vaddr, "is in no function with a known end", "");
	while (vaddr && !error && !*follower->flow->stopped &&
	       !*index_slot(follower->flow, vaddr)) {
		if (follower->flow->steps.count == RESULTS_MAX_STEPS)
			stop(follower, vaddr, "is reached after too much code", "");
		else
			error = follow_step(follower, vaddr, end, &vaddr);
	}
	return error;
}

int control_flow_follow(struct code *code, const struct results_request *request, bool through,
			struct control_flow *flow)
{
	struct follower follower = {
		.code = code, .request = request, .flow = flow, .through = through};
	int error;

	memset(flow, 0, sizeof(*flow));
	flow->index = calloc(INDEX_SIZE, sizeof(*flow->index));
	error = flow->index ? follow_run(&follower, request->entry) : -ENOMEM;
	while (!error && follower.waiting.count && !*flow->stopped)
		error = follow_run(&follower, follower.waiting.items[--follower.waiting.count]);
	vec_free(&follower.waiting);
	if (error)
		control_flow_free(flow);
	return error;
}

void control_flow_free(struct control_flow *flow)
{
	vec_free(&flow->steps);
	free(flow->index);
	flow->index = NULL;
}
