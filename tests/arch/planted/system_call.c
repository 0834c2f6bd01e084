// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include <sys/syscall.h>
#include <unistd.h>

long planted(const char *path)
{
	return syscall(SYS_open, path, 0);
}
