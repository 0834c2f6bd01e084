/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --kernel: from the maps to a named report. */
#ifndef LEAKMON_COMMAND_KERNEL_REPORT_H
#define LEAKMON_COMMAND_KERNEL_REPORT_H

#include <stdio.h>

#include "collect/collect.h"
#include "command/command.h"
#include "output/output.h"
#include "probe/kernel_loader.h"
#include "symbol/kernel_symbols.h"

struct kernel_run {
	const struct kernel_options *options;
	const struct output_format *format;
	FILE *out;
	struct kernel_side side;
	struct collect_options collect_options;
	struct collector *collector;
	struct kernel_symbols *symbols;
	uint64_t outstanding_bytes; /* of the latest report, for --fail-over */
};

/* Opens the output, loads, attaches. 0, or -errno after an error message. */
int kernel_run_open(struct kernel_run *run, const struct kernel_options *options);
void kernel_run_close(struct kernel_run *run);

/* Takes a snapshot, names it and writes it. 0, or -errno after an error message. */
int kernel_run_report(struct kernel_run *run, bool last);

#endif
