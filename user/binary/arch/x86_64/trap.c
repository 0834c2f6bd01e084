// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/trap.h"

#include <string.h>

#include "binary/arch/machine.h"

#define BREAKPOINT 0xcc /* int3 */

struct prefixes {
	size_t length;
	bool operand_size; /* 66 */
	bool refused;	   /* the kernel refuses probes on instructions with this prefix */
	bool other;	   /* any but the `bnd` (f2) that compilers put before branches */
};

static struct prefixes prefixes_read(const uint8_t *code, size_t length)
{
	struct prefixes prefixes = {0};

	for (; prefixes.length < length; prefixes.length++) {
		uint8_t byte = code[prefixes.length];

		if (byte == 0x66)
			prefixes.operand_size = true;
		else if (byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e ||
			 byte == 0xf0)
			prefixes.refused = true;
		else if ((byte & 0xf0) == 0x40 || byte == 0x64 || byte == 0x65 || byte == 0x67 ||
			 byte == 0xf3)
			prefixes.other = true;
		else if (byte != 0xf2)
			break;
	}
	return prefixes;
}

static bool is_push(const uint8_t *code, size_t length)
{
	if (length == 2 && code[0] == 0x41)
		return (code[1] & 0xf8) == 0x50;
	return length == 1 && (code[0] & 0xf8) == 0x50;
}

/* jmp, jcc and call with a relative operand. */
static bool is_branch(const uint8_t *opcode, size_t length)
{
	if (opcode[0] == 0x0f)
		return length > 1 && (opcode[1] & 0xf0) == 0x80;
	return opcode[0] == 0xeb || opcode[0] == 0xe9 || opcode[0] == 0xe8 ||
	       (opcode[0] & 0xf0) == 0x70;
}

static bool is_long_nop(const uint8_t *opcode, size_t length)
{
	return length > 2 && opcode[0] == 0x0f && opcode[1] == 0x1f && !(opcode[2] & 0x38);
}

/* VEX and EVEX: kernels look them up in tables for other opcodes. */
static bool is_vex(uint8_t opcode)
{
	return opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62;
}

enum trap_kind trap_classify(const uint8_t *code, size_t length)
{
	const struct prefixes prefixes = prefixes_read(code, length);
	const uint8_t *opcode = code + prefixes.length;
	size_t left = length - prefixes.length;
	bool one_byte_nop, branch;

	if (!left || prefixes.refused || is_vex(opcode[0]) || opcode[0] == BREAKPOINT)
		return TRAP_REFUSED;
	one_byte_nop = opcode[0] == 0x90 && left == 1;
	branch = is_branch(opcode, left);
	if (length == 5 && (one_byte_nop || is_long_nop(opcode, left)))
		return TRAP_HARMFUL;
	/* Word-sized branches and nops are refused (250bbd12c2fe), the nops up to 6.2. */
	if (prefixes.operand_size && (one_byte_nop || branch))
		return TRAP_REFUSED;
	if (is_push(code, length) || (one_byte_nop && length == 1) || (branch && !prefixes.other))
		return TRAP_EMULATED;
	return is_long_nop(opcode, left) ? TRAP_NOP : TRAP_STEPPED;
}

bool trap_is_breakpoint(const uint8_t code[MACHINE_BREAKPOINT_BYTES])
{
	return code[0] == BREAKPOINT;
}

/* Kernels turn a probe on a five-byte nop into a call. */
struct trap_patch trap_patch_at(const uint8_t *memory, const uint8_t *file, size_t size)
{
	static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	int32_t distance;

	if (memory[0] == file[0] || memory[0] == BREAKPOINT)
		return (struct trap_patch){.size = 1};
	if (size < sizeof(nop) || memory[0] != 0xe8 || memcmp(file, nop, sizeof(nop)) != 0)
		return (struct trap_patch){0};
	memcpy(&distance, memory + 1, sizeof(distance));
	return (struct trap_patch){.size = sizeof(nop),
				   .calls = true,
				   .distance = sizeof(nop) + (uint64_t)(int64_t)distance};
}

size_t trap_instruction_size(const uint8_t *code, size_t size)
{
	size_t at = size > 1 && code[0] == 0x41; /* REX.B of push */

	if ((code[at] & 0xf8) == 0x50) /* push %reg */
		return at + 1;
	if (code[0] == 0x90 || code[0] == 0xc3) /* nop, ret */
		return 1;
	if ((code[0] & 0xf0) == 0x70 || code[0] == 0xeb) /* jcc rel8, jmp rel8 */
		return 2;
	if (code[0] == 0xe8 || code[0] == 0xe9) /* call, jmp rel32 */
		return 5;
	if (size > 1 && code[0] == 0x0f && (code[1] & 0xf0) == 0x80) /* jcc rel32 */
		return 6;
	return MACHINE_INSTRUCTION_MAX;
}
