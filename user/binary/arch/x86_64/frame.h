/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: the layout of frames. The kernel side includes this header, too. */
#ifndef LEAKMON_ARCH_X86_64_FRAME_H
#define LEAKMON_ARCH_X86_64_FRAME_H

#include "leakmon_abi.h"

/*
 * psABI, 3.2.2. struct rt_sigframe at the handler's return: offsets of the registers that a walk
 * needs in struct sigcontext (arch/x86/include/uapi/asm/sigcontext.h, after uc_flags, uc_link and
 * uc_stack).
 */
#define FRAME_SIGNAL_SP 160

static const struct lm_frame_abi machine_frame = {
	.code_mask = ~0ull,
	.return_words = -1,
	.signal_fp = 120,
	.signal_sp = FRAME_SIGNAL_SP,
};

#endif
