/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon kernel`: reports the memory held by the kernel's own allocators, at intervals. */
#ifndef LEAKMON_RUNS_KERNEL_RUN_H
#define LEAKMON_RUNS_KERNEL_RUN_H

#include "app/monitor/emit.h"
#include "app/monitor/report_loop.h"
#include "app/monitor/session.h"

struct kernel_options {
	struct schedule schedule;
	struct tracking_options tracking;
	struct output_options output;
	bool kernel; /* accepted, but implied by the command's name */
};

/* Runs it. Returns the exit code. */
int kernel_run(const struct kernel_options *options);

#endif
