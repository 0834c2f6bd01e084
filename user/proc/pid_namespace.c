// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/pid_namespace.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/log.h"

/* PROC_PID_INIT_INO, include/linux/proc_ns.h: fixed since 3.8. */
#define INITIAL_INODE 0xeffffffcu

bool pid_namespace_is_own(void)
{
	struct stat status;

	return !stat("/proc/self/ns/pid", &status) && status.st_ino != INITIAL_INODE;
}

int pid_namespace_check(void)
{
	if (!pid_namespace_is_own())
		return 0;
	log_error("leakmon runs in a PID namespace of its own and cannot tell its processes from "
		  "the kernel's numbers; run it in the host's (docker: --pid=host, Kubernetes: "
		  "hostPID: true)");
	return -EOPNOTSUPP;
}
