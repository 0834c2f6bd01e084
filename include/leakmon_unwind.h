/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What frames look like in memory, and how an unwind row is applied to one. */
#ifndef LEAKMON_UNWIND_H
#define LEAKMON_UNWIND_H

#include "leakmon_abi.h"

/* What calls and signals of one processor leave in memory. The arch room has the row: frame.h. */
struct lm_frame_abi {
	__s8 return_words; /* from the CFA to where a call puts the return address, in words; 0: a
			      call leaves it in a register (link) */
	__u8 padding_;
	/* In the kernel's signal frame, from the stack pointer at the handler's return: where the
	 * interrupted registers are saved. The instruction pointer follows the stack pointer. */
	__u16 signal_fp, signal_sp;
	__u16 signal_link; /* 0: there is no such register */
};

_Static_assert(sizeof(struct lm_frame_abi) == 8, "ABI");

#endif
