// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * For people, and for scripts that read memleak: its two lines, "[HH:MM:SS] Top N stacks with
 * outstanding allocations:" and "B bytes in K allocations from stack", stand alone on their lines.
 */
#include <inttypes.h>

#include "base/text.h"
#include "output/finish.h"
#include "output/formats.h"
#include "output/text_parts.h"
#include "proc/container.h"

/* container NAME (pod NAMESPACE/POD) ID [(unproven)] */
static void container_write(FILE *out, const struct container *container)
{
	const struct container_claims *claims = &container->claims;
	bool doubted = container->doubt != CONTAINER_PROVEN;
	const char *name = doubted ? claims->name : container->name;
	const char *pod = doubted ? claims->pod : container->pod;
	const char *namespace = doubted ? claims->namespace : container->namespace;

	fputs("container ", out);
	if (name)
		text_print_inert(out, name);
	if (pod) {
		fputs(name ? " (pod " : "(pod ", out);
		text_print_inert(out, namespace ? namespace : "?");
		fputc('/', out);
		text_print_inert(out, pod);
		fputc(')', out);
	}
	fprintf(out, "%s%.12s%s\n", name || pod ? " " : "", container->id,
		doubted ? " (unproven)" : "");
}

/* The ledger below has the causes that come with a number. */
static void inexact_write(FILE *out, const struct snapshot_process *process)
{
	for (size_t i = 0; i < INEXACT_MAX_; i++) {
		if (!(process->inexact & 1u << i) || !inexact_advice(i))
			continue;
		fprintf(out, "inexact: %s", inexact_advice(i));
		if (i == INEXACT_SHARED_MEMORY)
			fprintf(out, " (%" PRIu32 "; the latest was PID %" PRIu32 ")",
				process->hidden_tasks, process->hidden_pid);
		fputc('\n', out);
	}
}

static void process_write(FILE *out, const struct report *report,
			  const struct report_process *ranked)
{
	const struct snapshot_process *process = ranked->process;

	fprintf(out, "process %" PRIu32 " ", process->pid);
	text_print_inert(out, process->comm);
	if (process->exited)
		fputs(" (exited)", out);
	if (!process->exact)
		fputs(report->snapshot->sampled ? " (estimated)" : " (inexact)", out);
	fprintf(out, ": %" PRIu64 " bytes in %" PRIu64 " blocks outstanding\n",
		process->outstanding_bytes, process->outstanding_count);
	inexact_write(out, process);
	if (process->container)
		container_write(out, process->container);
	output_text_threads_write(out, ranked);
	for (size_t family = 0; family < FAMILY_MAX_; family++) {
		/* Of a user process the heap is always there, if only to say that it holds nothing.
		 */
		if (ranked->family_totals[family] || (family == FAMILY_HEAP && process->pid))
			text_family_write(out, report, ranked, family);
	}
}

int output_text_write(FILE *out, const struct report *report)
{
	for (size_t i = 0; i < report->processes.count; i++)
		process_write(out, report, &report->processes.items[i]);
	if (!report->processes.count)
		text_heading_write(out, report, FAMILY_HEAP, 0);
	text_ledger_write(out, report->snapshot);
	fputc('\n', out);
	return output_finish(out);
}
