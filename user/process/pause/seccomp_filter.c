// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/pause/seccomp_filter.h"

#include <stdint.h>
#include <string.h>

struct machine {
	uint32_t a, x;
	uint32_t memory[BPF_MEMWORDS];
	const struct seccomp_data *call;
};

/*
 * Gets the value to load into A. Returns false for an instruction that seccomp lacks, or out of
 * bounds.
 */
static bool load(const struct machine *machine, const struct sock_filter *at, uint32_t *value)
{
	switch (at->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		if (at->k % sizeof(*value) || at->k >= sizeof(*machine->call))
			return false;
		memcpy(value, (const char *)machine->call + at->k, sizeof(*value));
		return true;
	case BPF_LD | BPF_W | BPF_LEN:
	case BPF_LDX | BPF_W | BPF_LEN:
		*value = sizeof(*machine->call);
		return true;
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
		*value = at->k;
		return true;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		if (at->k >= BPF_MEMWORDS)
			return false;
		*value = machine->memory[at->k];
		return true;
	default:
		return false;
	}
}

/* Returns false for a division by zero, which ends a program with 0, or an unknown operation. */
static bool calculate(struct machine *machine, const struct sock_filter *at)
{
	uint32_t with = BPF_SRC(at->code) == BPF_X ? machine->x : at->k;

	switch (BPF_OP(at->code)) {
	case BPF_ADD:
		machine->a += with;
		return true;
	case BPF_SUB:
		machine->a -= with;
		return true;
	case BPF_MUL:
		machine->a *= with;
		return true;
	case BPF_DIV:
		machine->a /= with ? with : 1;
		return with;
	case BPF_AND:
		machine->a &= with;
		return true;
	case BPF_OR:
		machine->a |= with;
		return true;
	case BPF_XOR:
		machine->a ^= with;
		return true;
	case BPF_LSH:
		machine->a <<= with & 31;
		return true;
	case BPF_RSH:
		machine->a >>= with & 31;
		return true;
	case BPF_NEG:
		machine->a = -machine->a;
		return true;
	default:
		return false;
	}
}

/* Sets *skip to the number of instructions to skip. */
static bool jump(const struct machine *machine, const struct sock_filter *at, uint32_t *skip)
{
	uint32_t with = BPF_SRC(at->code) == BPF_X ? machine->x : at->k;
	bool taken;

	switch (BPF_OP(at->code)) {
	case BPF_JA:
		*skip = at->k;
		return true;
	case BPF_JEQ:
		taken = machine->a == with;
		break;
	case BPF_JGT:
		taken = machine->a > with;
		break;
	case BPF_JGE:
		taken = machine->a >= with;
		break;
	case BPF_JSET:
		taken = machine->a & with;
		break;
	default:
		return false;
	}
	*skip = taken ? at->jt : at->jf;
	return true;
}

static bool step(struct machine *machine, const struct sock_filter *at, uint32_t *skip)
{
	switch (BPF_CLASS(at->code)) {
	case BPF_LD:
		return load(machine, at, &machine->a);
	case BPF_LDX:
		return load(machine, at, &machine->x);
	case BPF_ST:
	case BPF_STX:
		if (at->k >= BPF_MEMWORDS)
			return false;
		machine->memory[at->k] = BPF_CLASS(at->code) == BPF_ST ? machine->a : machine->x;
		return true;
	case BPF_ALU:
		return calculate(machine, at);
	case BPF_JMP:
		return jump(machine, at, skip);
	case BPF_MISC:
		if (BPF_MISCOP(at->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		return true;
	default:
		return false;
	}
}

/* Jumps lead only forwards, so it terminates. */
bool seccomp_filter_allows(const struct sock_filter *program, size_t count,
			   const struct seccomp_data *call)
{
	struct machine machine = {.call = call};

	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *at = &program[i];
		uint32_t skip = 0, answer = BPF_RVAL(at->code) == BPF_A ? machine.a : at->k;

		if (BPF_CLASS(at->code) == BPF_RET)
			return (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW ||
			       (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_LOG;
		if (!step(&machine, at, &skip))
			return false;
		i += skip;
	}
	return false;
}
