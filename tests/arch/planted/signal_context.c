// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include <signal.h>
#include <ucontext.h>

long planted(const ucontext_t *context)
{
	return context->uc_mcontext.gregs[REG_RIP];
}
