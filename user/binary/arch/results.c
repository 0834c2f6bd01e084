// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/results.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/control_flow.h"
#include "binary/arch/decoder.h"
#include "binary/arch/effects.h"
#include "binary/arch/trap.h"
#include "leakmon_abi.h"

/* Steps searched back from a `ret`. */
#define MAX_DEPTH 48

struct search {
	struct code *code;
	const struct control_flow *flow;
	uint64_t entry;
	VEC(struct result_site) found; /* of one return */
};

/* The state before a step: the result's register, and the distance up to the return address. */
struct trail {
	int number;
	int words;
	unsigned depth;
};

/* Steps back over straight code. Returns false if it does not determine the result's place. */
static bool pass_back(const struct search *search, struct trail *trail)
{
	const cs_insn *instruction = search->code->instruction;
	int popped = effect_words_popped(instruction), from, to;
	uint32_t written;

	if (effect_of(instruction) == EFFECT_UNKNOWN ||
	    !effect_writes(search->code->decoder, instruction, &written))
		return false;
	if (effect_is_move(instruction, &from, &to) && to == trail->number &&
	    from != effect_stack_pointer && to != effect_stack_pointer) {
		trail->number = from;
		return true;
	}
	if (written & 1u << trail->number || (written & 1u << effect_stack_pointer && !popped))
		return false;
	trail->words += popped;
	return trail->words <= RESULTS_MAX_WORDS;
}

static bool add_site(struct search *search, const struct result_site *wanted)
{
	struct result_site *site;

	for (size_t i = 0; i < search->found.count; i++) {
		if (search->found.items[i].vaddr == wanted->vaddr)
			return false; /* either side of a branch may lead here */
	}
	site = vec_push(&search->found);
	if (site)
		*site = *wanted;
	return site != NULL;
}

/* The kernel emulates the decoded step: a probe may be placed here. `taken`: by its jump. */
static bool stop_at(struct search *search, const struct step *step, bool taken,
		    const struct trail *trail)
{
	const cs_insn *instruction = search->code->instruction;
	struct result_site site = {.vaddr = step->vaddr,
				   .number = (uint8_t)trail->number,
				   .words = (uint16_t)trail->words,
				   .emulated = true};

	if (step->kind == STEP_CALL)
		return false; /* it produces the result */
	if (step->kind == STEP_BRANCH) {
		/* Both sides of a branch to the next instruction are the same. */
		if (step->target == step->vaddr + step->size)
			return false;
		site.condition = effect_condition(instruction, taken);
	}
	if (effect_pushes(instruction)) {
		if (!trail->words)
			return false;
		site.words--; /* the push is still to come */
	}
	return add_site(search, &site);
}

static bool search_back(struct search *search, uint64_t vaddr, struct trail trail);

/* Searches one predecessor of a step. */
static bool search_step(struct search *search, const struct step *step, bool taken,
			struct trail trail)
{
	const cs_insn *instruction = search->code->instruction;

	if (code_decode(search->code, step->vaddr))
		return false;
	if (trap_classify(instruction->bytes, instruction->size) == TRAP_EMULATED)
		return stop_at(search, step, taken, &trail);
	if (step->kind != STEP_PLAIN || !pass_back(search, &trail))
		return false;
	return search_back(search, step->vaddr, trail);
}

/* Searches all predecessors of `vaddr`. Returns true if each has its place. */
static bool search_back(struct search *search, uint64_t vaddr, struct trail trail)
{
	bool complete = vaddr != search->entry && ++trail.depth <= MAX_DEPTH, any = false;

	for (size_t i = 0; i < search->flow->steps.count && complete; i++) {
		const struct step *step = &search->flow->steps.items[i];

		if (step->falls && step->vaddr + step->size == vaddr) {
			complete = search_step(search, step, false, trail);
			any = true;
		}
		if (complete && step->target == vaddr) {
			complete = search_step(search, step, true, trail);
			any = true;
		}
	}
	return complete && any;
}

static bool is_new(const struct results *results, const struct result_site *site)
{
	for (size_t i = 0; i < results->sites.count; i++) {
		if (results->sites.items[i].vaddr == site->vaddr)
			return false;
	}
	return true;
}

static bool is_emulated(const struct search *search, const struct step *step)
{
	const cs_insn *instruction = search->code->instruction;

	return !code_decode(search->code, step->vaddr) &&
	       trap_classify(instruction->bytes, instruction->size) == TRAP_EMULATED;
}

/*
 * Adds the places of one return, or the `ret` itself if the kernel emulates it, which is optimal.
 */
static int take_return(struct search *search, const struct step *step, struct results *results)
{
	const struct result_site at_return = {.vaddr = step->vaddr,
					      .number = effect_result,
					      .emulated = is_emulated(search, step)};
	struct trail trail = {.number = effect_result};
	bool complete;

	search->found.count = 0;
	complete = !at_return.emulated && search_back(search, step->vaddr, trail);
	for (size_t i = 0; i < search->found.count; i++)
		complete &= is_new(results, &search->found.items[i]);
	if (!complete) {
		search->found.count = 0;
		if (!add_site(search, &at_return))
			return -ENOMEM;
	}
	for (size_t i = 0; i < search->found.count; i++) {
		struct result_site *site = vec_push(&results->sites);

		if (!site)
			return -ENOMEM;
		*site = search->found.items[i];
	}
	return 0;
}

static void give_up(struct results *results, const char *why)
{
	results->kind = RESULTS_UNKNOWN;
	results->sites.count = 0;
	snprintf(results->reason, sizeof(results->reason), "%s", why);
}

static int find_sites(struct code *code, const struct results_request *request,
		      const struct control_flow *flow, struct results *results)
{
	struct search search = {.code = code, .flow = flow, .entry = request->entry};
	int error = 0;

	for (size_t i = 0; i < flow->steps.count && !error; i++) {
		if (flow->steps.items[i].kind == STEP_RETURN)
			error = take_return(&search, &flow->steps.items[i], results);
	}
	vec_free(&search.found);
	if (results->sites.count > RESULTS_MAX_SITES)
		give_up(results, "it returns from too many places");
	else if (!results->sites.count)
		give_up(results, "it returns nowhere");
	return error;
}

int results_find(struct code *code, const struct results_request *request, struct results *results)
{
	_cleanup_(control_flow_free) struct control_flow direct = {0}, whole = {0};
	int error = control_flow_follow(code, request, false, &direct);

	memset(results, 0, sizeof(*results));
	if (error)
		return error;
	if (!*direct.stopped && !direct.returns) {
		results->kind = RESULTS_COME_BACK;
		snprintf(results->reason, sizeof(results->reason),
			 "gets its blocks from functions that are probed");
		return 0;
	}
	error = control_flow_follow(code, request, true, &whole);
	if (error)
		return error;
	if (*whole.stopped) {
		give_up(results, whole.stopped);
		return 0;
	}
	error = find_sites(code, request, &whole, results);
	if (error)
		results_free(results);
	return error;
}

void results_free(struct results *results)
{
	vec_free(&results->sites);
}

uint64_t result_cookie(const struct result_site *site)
{
	return (uint64_t)site->number << LM_COOKIE_REGISTER_SHIFT |
	       (uint64_t)site->condition << LM_COOKIE_CONDITION_SHIFT |
	       (uint64_t)site->words << LM_COOKIE_WORDS_SHIFT;
}
