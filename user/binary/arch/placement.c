// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/placement.h"

#include <capstone/capstone.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/decoder.h"
#include "binary/arch/effects.h"
#include "binary/arch/trap.h"

/* Bytes after a NULL check searched for a place that NULL does not reach. */
#define AFTER_NULL_CHECK 4

/* A proven place. */
struct spot {
	bool found;
	bool null_filtered;
	uint32_t offset;
	uint32_t holders[EFFECT_MAX_ARGUMENTS];
	char text[32];
};

struct walk {
	const struct placement_request *request;
	csh decoder;
	cs_insn *instruction; /* the current one */
	bool null_tested;     /* the flags say whether the first argument is NULL */
	bool null_filtered;   /* NULL has left by a branch */
	unsigned since_filter;
	/* For each argument, the registers that hold it, a bit per number. */
	uint32_t holders[EFFECT_MAX_ARGUMENTS];
	struct spot emulated; /* best: one trap on every kernel */
	struct spot nop;      /* one trap on newer kernels, two on older ones */
	struct spot usable;   /* the first harmless place that the kernel accepts */
	char stopped[80];     /* why the walk ended */
};

/* Returns whether NULL leaves by the current instruction. */
static bool is_null_branch(const struct walk *walk)
{
	enum null_check check = effect_null_check(walk->instruction);

	return check == NULL_LEAVES_BY_FLAGS
		       ? walk->null_tested
		       : check == NULL_LEAVES && walk->request->null_is_trivial;
}

static void instruction_text(const cs_insn *instruction, char *text, size_t size)
{
	snprintf(text, size, "%.10s%s%.20s", instruction->mnemonic, *instruction->op_str ? " " : "",
		 instruction->op_str);
}

static bool decode_next(struct walk *walk, const uint8_t **code, size_t *left, uint64_t *address)
{
	return *left && cs_disasm_iter(walk->decoder, code, left, address, walk->instruction);
}

/*
 * Returns whether later code jumps back to `offset` or before it, so that one call can pass it
 * twice. A jump to the entry itself is in effect a new call: it would fire a probe at the entry as
 * well. Data between instructions can only add false jumps, which keep the probe at the entry.
 */
static bool is_in_loop(const struct walk *outer, uint32_t offset)
{
	const struct placement_request *request = outer->request;
	struct walk walk = {.request = request, .decoder = outer->decoder};
	const uint8_t *code = request->code + offset;
	size_t left = request->size - offset;
	uint64_t address = offset;
	bool found = false;
	int64_t target;

	walk.instruction = cs_malloc(walk.decoder);
	if (!walk.instruction)
		return true;
	while (left && !found) {
		if (decode_next(&walk, &code, &left, &address)) {
			found = effect_branches(walk.decoder, walk.instruction, &target) &&
				target > 0 && target <= offset;
			continue;
		}
		code++;
		left--;
		address++;
	}
	cs_free(walk.instruction, 1);
	return found;
}

static void spot_take(struct walk *walk, struct spot *spot)
{
	spot->found = true;
	spot->null_filtered = walk->null_filtered;
	spot->offset = (uint32_t)walk->instruction->address;
	memcpy(spot->holders, walk->holders, sizeof(spot->holders));
	instruction_text(walk->instruction, spot->text, sizeof(spot->text));
}

/* Always returns false. Only the first reason is kept. */
static bool stop(struct walk *walk, const char *why)
{
	char text[32];

	instruction_text(walk->instruction, text, sizeof(text));
	if (!*walk->stopped)
		snprintf(walk->stopped, sizeof(walk->stopped), "`%s` at +%u %s", text,
			 (unsigned)walk->instruction->address, why);
	return false;
}

/* Records the current instruction, reached with everything intact, if it is suitable. */
static void consider(struct walk *walk, enum trap_kind trap)
{
	uint32_t offset = (uint32_t)walk->instruction->address;

	if (trap == TRAP_REFUSED || trap == TRAP_HARMFUL)
		return;
	if (trap == TRAP_STEPPED && walk->usable.found)
		return;
	if (offset && is_in_loop(walk, offset)) {
		stop(walk, "is in a loop");
		return;
	}
	if (!walk->usable.found)
		spot_take(walk, &walk->usable);
	if (trap == TRAP_NOP && !walk->nop.found)
		spot_take(walk, &walk->nop);
	if (trap == TRAP_EMULATED)
		spot_take(walk, &walk->emulated);
}

/* Applies the current instruction to the arguments. Returns why one is lost, or NULL. */
static const char *follow_arguments(struct walk *walk)
{
	const struct placement_request *request = walk->request;
	bool is_move;
	uint32_t written;
	int from, to;

	if (!effect_writes(walk->decoder, walk->instruction, &written))
		return "has unknown effects";
	is_move = effect_is_move(walk->instruction, &from, &to);
	for (unsigned i = 0; i < MIN(request->arguments, EFFECT_MAX_ARGUMENTS); i++) {
		bool copied = is_move && walk->holders[i] & 1u << from;

		walk->holders[i] &= ~written;
		if (copied)
			walk->holders[i] |= 1u << to;
		if (!walk->holders[i] ||
		    (!request->movable && !(walk->holders[i] & 1u << effect_arguments[i])))
			return "writes an argument";
	}
	return request->returns ? effect_on_return(walk->instruction, written) : NULL;
}

/* Passes the current instruction. Returns false if nothing can be proven beyond it. */
static bool pass(struct walk *walk)
{
	enum effect effect = effect_of(walk->instruction);
	const char *destroyed;

	if (is_null_branch(walk)) {
		walk->null_filtered = true;
		return true;
	}
	if (effect == EFFECT_UNKNOWN)
		return stop(walk, "ends what can be proven");
	destroyed = follow_arguments(walk);
	if (destroyed)
		return stop(walk, destroyed);
	if (walk->request->null_is_trivial && effect_null_check(walk->instruction) == NULL_TESTED)
		walk->null_tested = true;
	else if (effect == EFFECT_FLAGS)
		walk->null_tested = false;
	return true;
}

/*
 * Returns whether the search may end: at an emulated place, unless it is the NULL check itself,
 * just after which NULL costs nothing.
 */
static bool is_settled(struct walk *walk)
{
	if (!walk->emulated.found)
		return false;
	if (walk->null_filtered)
		return walk->emulated.null_filtered || ++walk->since_filter > AFTER_NULL_CHECK;
	return !is_null_branch(walk);
}

static void walk_prologue(struct walk *walk)
{
	const uint8_t *code = walk->request->code;
	size_t left = walk->request->size;
	uint64_t address = 0;

	while (decode_next(walk, &code, &left, &address)) {
		consider(walk, trap_classify(walk->instruction->bytes, walk->instruction->size));
		if (is_settled(walk) || !pass(walk))
			return;
	}
	if (!*walk->stopped)
		snprintf(walk->stopped, sizeof(walk->stopped), "%s after %zu bytes",
			 left ? "undecodable code" : "the code known ends", (size_t)address);
}

/* Reports the registers of the arguments: their own, if possible. */
static void tell_registers(const struct placement_request *request, const struct spot *spot,
			   struct placement *placement)
{
	for (unsigned i = 0; i < MIN(request->arguments, PLACEMENT_ARGUMENTS); i++) {
		uint8_t own = effect_arguments[i];

		placement->registers[i] = own;
		if (spot->holders[i] & 1u << own)
			continue;
		placement->registers[i] = (uint8_t)__builtin_ctz(spot->holders[i]);
		placement->moved = true;
	}
}

/* Chooses among the places found: an emulated one, else a nop, else the entry, else any. */
static void conclude(const struct walk *walk, struct placement *placement)
{
	const size_t room = sizeof(placement->reason);
	const struct spot *spot = &walk->emulated;

	if (spot->found) {
		placement->emulated = true;
		snprintf(placement->reason, room, "`%s` at +%u: emulated%s", spot->text,
			 spot->offset, spot->null_filtered ? ", NULL already filtered" : "");
	} else if (walk->nop.found) {
		spot = &walk->nop;
		snprintf(placement->reason, room, "`%s` at +%u: emulated by newer kernels only",
			 spot->text, spot->offset);
	} else if (walk->usable.found) {
		spot = &walk->usable;
		snprintf(placement->reason, room, "`%s` at +%u: stepped, %.72s", spot->text,
			 spot->offset, walk->stopped);
	} else {
		placement->refused = true;
		snprintf(placement->reason, room, "entry must not be probed, and %s",
			 walk->stopped);
		return;
	}
	placement->offset = spot->offset;
	tell_registers(walk->request, spot, placement);
}

void placement_choose(const struct placement_request *request, struct placement *placement)
{
	struct walk walk = {.request = request};

	for (unsigned i = 0; i < EFFECT_MAX_ARGUMENTS; i++)
		walk.holders[i] = 1u << effect_arguments[i];
	memset(placement, 0, sizeof(*placement));
	if (decoder_open(&walk.decoder)) {
		placement->refused = true;
		snprintf(placement->reason, sizeof(placement->reason), "the decoder did not start");
		return;
	}
	cs_option(walk.decoder, CS_OPT_DETAIL, CS_OPT_ON);
	walk.instruction = cs_malloc(walk.decoder);
	if (walk.instruction) {
		walk_prologue(&walk);
		cs_free(walk.instruction, 1);
	} else {
		snprintf(walk.stopped, sizeof(walk.stopped), "there is no memory to decode it");
	}
	conclude(&walk, placement);
	cs_close(&walk.decoder);
}
