// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/pid_namespace.h"

#include <sys/stat.h>

/* PROC_PID_INIT_INO, include/linux/proc_ns.h: fixed since 3.8. */
#define INITIAL_INODE 0xeffffffcu

bool pid_namespace_is_own(void)
{
	struct stat status;

	return !stat("/proc/self/ns/pid", &status) && status.st_ino != INITIAL_INODE;
}
