/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64: the layout of frames. The kernel side includes this header, too. */
#ifndef LEAKMON_ARCH_ARM64_FRAME_H
#define LEAKMON_ARCH_ARM64_FRAME_H

#include "leakmon_abi.h"

/*
 * struct rt_sigframe at the handler's return: a siginfo of 128 bytes, then struct ucontext; its
 * mcontext is aligned to 16 bytes: the fault's address, x0 to x30, sp, pc
 * (arch/arm64/kernel/signal.c, include/uapi/asm/{ucontext,sigcontext}.h).
 */
#define FRAME_SIGNAL_X0 (128 + 176 + 8)
#define FRAME_SIGNAL_SP (FRAME_SIGNAL_X0 + 31 * 8)

/*
 * A call leaves the return address in x30. If signed, it has its signature above bit 47
 * (Documentation/arm64/pointer-authentication.rst); programs run at higher addresses only on
 * request.
 */
static const struct lm_frame_abi machine_frame = {
	.code_mask = (1ull << 48) - 1,
	.signal_fp = FRAME_SIGNAL_X0 + 29 * 8,
	.signal_sp = FRAME_SIGNAL_SP,
	.signal_link = FRAME_SIGNAL_X0 + 30 * 8,
};

#endif
