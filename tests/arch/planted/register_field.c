// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include "binary/arch/machine.h"

uint64_t planted(const struct machine_registers *registers)
{
	return registers->general.rdi;
}
