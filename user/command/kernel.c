// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon --kernel: what the kernel holds, at intervals, until interrupted. */
#include "base/interrupt.h"
#include "base/log.h"
#include "command/command.h"
#include "command/emit.h"
#include "command/kernel_report.h"
#include "command/report_loop.h"

static int make_report(void *context, enum report_cause cause)
{
	return kernel_run_report(context, cause == REPORT_LAST);
}

int command_kernel(const struct options *options)
{
	struct report_loop loop = REPORT_LOOP_CLOSED;
	struct kernel_run run = {0};
	int code, error = report_loop_open(&loop, options, false);

	interrupt_ends(true); /* loading takes its time, and leaves nothing behind */
	if (!error)
		error = kernel_run_open(&run, options);
	interrupt_ends(false);
	if (!error) {
		log_info("attached to the kernel's allocators");
		error = report_loop_run(&loop,
					&(struct reporter){.context = &run, .report = make_report});
	}
	code = emit_finish(options, error, run.outstanding_bytes);
	kernel_run_close(&run);
	report_loop_close(&loop);
	return code;
}
