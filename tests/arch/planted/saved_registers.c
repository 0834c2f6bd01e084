// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include <stddef.h>
#include <sys/user.h>

size_t planted(void)
{
	return offsetof(struct user_regs_struct, orig_rax);
}
