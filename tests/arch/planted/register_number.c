// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include <sys/reg.h>

int planted(void)
{
	return RIP;
}
