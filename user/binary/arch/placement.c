// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/placement.h"

#include <capstone/capstone.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/decoder.h"
#include "binary/arch/effects.h"
#include "binary/arch/trap.h"

/* How far beyond a NULL check a place is sought that NULL does not reach. */
#define AFTER_NULL_CHECK 4

/* A place that has been proven. */
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
	bool null_filtered;   /* NULL has left through a branch */
	unsigned since_filter;
	/* The registers that hold each argument, a bit for each number. */
	uint32_t holders[EFFECT_MAX_ARGUMENTS];
	struct spot emulated; /* best: costs one trap everywhere */
	struct spot nop;      /* one trap on newer kernels, two on older ones */
	struct spot usable;   /* the first place that the kernel accepts and that does no harm */
	char stopped[80];     /* why the walk went no further */
};

/* Whether NULL leaves by the current instruction. */
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
 * Whether later code jumps back to `offset` or before it, so that one call can pass it twice. A
 * jump to the entry itself is a new call in effect: it would fire a probe at the entry as well.
 * Data between instructions can only make up jumps, which keeps the probe where it is.
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

/* Always false. The first reason is the one that counts. */
static bool stop(struct walk *walk, const char *why)
{
	char text[32];

	instruction_text(walk->instruction, text, sizeof(text));
	if (!*walk->stopped)
		snprintf(walk->stopped, sizeof(walk->stopped), "`%s` at +%u %s", text,
			 (unsigned)walk->instruction->address, why);
	return false;
}

/* Keeps the current instruction, which has been reached with everything intact, if it serves. */
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

/* Effect of the current instruction on the arguments; why it loses one, or NULL. */
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

/* Goes past the current instruction; false when nothing can be proven beyond it. */
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

/* An emulated place is final, but for the NULL check itself: right behind it NULL costs nothing. */
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

/* Where the arguments are there: in their own registers if they can be. */
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

/* From what the walk found to an answer: emulated, else a nop, else the entry, else anything. */
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
