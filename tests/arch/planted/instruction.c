// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include "binary/arch/decoder.h"

bool planted(const struct code *code)
{
	return code->instruction->id == X86_INS_NOP;
}
