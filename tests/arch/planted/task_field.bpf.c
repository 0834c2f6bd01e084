// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include "kernel.h"

u64 planted(const struct task_struct *task)
{
	return ((const struct task_struct___x86 *)task)->thread.fsbase;
}
