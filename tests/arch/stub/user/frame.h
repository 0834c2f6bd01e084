/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The made-up processor's frames: a call leaves the return address in a register. */
#ifndef LEAKMON_TESTS_ARCH_STUB_FRAME_H
#define LEAKMON_TESTS_ARCH_STUB_FRAME_H

#include "leakmon_abi.h"

static const struct lm_frame_abi machine_frame = {
	.code_mask = (1ull << 52) - 1,
	.signal_fp = 16,
	.signal_sp = 24,
	.signal_link = 8,
};

#endif
