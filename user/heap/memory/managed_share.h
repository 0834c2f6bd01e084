/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the share of a process's memory that is its runtime's heap (report/runtime_label.h). */
#ifndef LEAKMON_MEMORY_MANAGED_SHARE_H
#define LEAKMON_MEMORY_MANAGED_SHARE_H

#include <sys/types.h>

#include "report/runtime_label.h"

/*
 * Reads the share for a process, with or without a runtime. It costs the kernel a walk over all
 * resident pages. 0 or -errno; *share is untouched on error.
 */
int managed_share_read(pid_t pid, struct managed_share *share);

#endif
