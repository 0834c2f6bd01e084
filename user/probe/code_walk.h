/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every instruction that a function can reach without leaving its file: through direct jumps, tail
 * calls included, and past calls, but not into them.
 *
 * A walk stays inside functions whose extent is known (an FDE of .eh_frame, else a sized symbol),
 * so what it visits is an instruction and never data or padding between functions.
 */
#ifndef LEAKMON_PROBE_CODE_WALK_H
#define LEAKMON_PROBE_CODE_WALK_H

#include <capstone/capstone.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"

#define CODE_WALK_MAX_INSTRUCTIONS 16384

struct code_range {
	uint64_t start, end; /* virtual addresses in the file's own numbering */
};

/* The functions of a file. */
struct code_bounds {
	VEC(struct code_range) fdes, symbols; /* ascending start */
};

/* 0, -ENOMEM or -EIO. A file without usable .eh_frame has only what its symbols say. */
int code_bounds_read(const struct elf_file *file, const struct elf_symbols *symbols,
		     struct code_bounds *bounds);
void code_bounds_free(struct code_bounds *bounds);

/*
 * Called once for each instruction, with details. `decoder` for cs_insn_group() and its like.
 * Return 0 to go on, -errno to end the walk with it.
 */
typedef int (*code_visit)(csh decoder, const cs_insn *instruction, void *context);

/*
 * 0: everything was visited; -EOPNOTSUPP: not everything could be (an indirect jump, code of
 * unknown extent, too much of it), but what was visited stands; -errno.
 */
int code_walk(const struct elf_file *file, const struct code_bounds *bounds, uint64_t entry,
	      code_visit visit, void *context);

/* Whether it is a direct call or jump, and whereto. */
bool code_is_call(csh decoder, const cs_insn *instruction, uint64_t *target);
bool code_is_jump(csh decoder, const cs_insn *instruction, uint64_t *target);

#endif
