/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of prom.c. */
#ifndef LEAKMON_OUTPUT_PROM_PARTS_H
#define LEAKMON_OUTPUT_PROM_PARTS_H

#include <stdio.h>

#include "analyze/report.h"

/* A line of a table of metrics: which field of a struct it shows, a uint64_t. */
struct prom_metric {
	const char *name, *help;
	size_t offset;
};

uint64_t prom_value(const void *object, const struct prom_metric *metric);

/* Processes of one name in one container are one series: its labels, up to the closing brace, and
 * what makes it one. NULL: of all that have no series of their own. */
void prom_process_labels(FILE *out, const struct snapshot_process *process);
uint64_t prom_process_key(const struct snapshot_process *process);

/* Gauges of programs by container; of the call stacks that hold most. 0 or -ENOMEM. */
int prom_groups_write(FILE *out, const struct report *report);
int prom_sites_write(FILE *out, const struct report *report);

#endif
