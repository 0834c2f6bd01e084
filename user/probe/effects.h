/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one x86-64 instruction does to the things that a probe behind it would need. */
#ifndef LEAKMON_PROBE_EFFECTS_H
#define LEAKMON_PROBE_EFFECTS_H

#include <capstone/capstone.h>

#include "probe/placement.h"

enum effect {
	EFFECT_UNKNOWN,	  /* not on the list: not even the next one need follow */
	EFFECT_REGISTERS, /* registers or memory, never the flags */
	EFFECT_FLAGS,	  /* the flags too */
};

enum effect effect_of(const cs_insn *instruction);

/*
 * Why a probe behind this instruction would miss something ("writes an argument"), or NULL. A write
 * to a part of a register counts as one to the whole. Only for instructions of known effect,
 * decoded with CS_OPT_DETAIL.
 */
const char *effect_destroys(csh decoder, const cs_insn *instruction,
			    const struct placement_request *request);

#endif
