// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/kernel_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "output/output.h"
#include "process/symbol/kernel_symbols.h"
#include "report/analyze/report_build.h"
#include "report/family.h"
#include "trace/collect/collect.h"
#include "trace/collect/kernel_owners.h"
#include "trace/probe/kernel_loader.h"

struct kernel_run {
	const struct kernel_options *options;
	struct emitter emitter;
	struct kernel_side side;
	struct collect_options collect_options;
	struct collector *collector;
	struct kernel_symbols *symbols;
	uint64_t outstanding_bytes; /* of the latest report, for --fail-over */
};

_Static_assert(KIND_PAGES - KIND_KMALLOC == (int)LM_KERNEL_PAGES, "kinds stand in the same order");

static int open_names(struct kernel_run *run)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/kallsyms", "re");

	if (!file) {
		log_error("cannot read /proc/kallsyms: %s", strerror(errno));
		return -errno;
	}
	run->symbols = kernel_symbols_read(file);
	if (!run->symbols) {
		log_error("out of memory");
		return -ENOMEM;
	}
	if (kernel_symbols_hidden(run->symbols))
		log_warning(
			"the kernel hides its functions' addresses: stacks have no names; run with CAP_SYSLOG, and with `sysctl kernel.kptr_restrict=1` or 0");
	return 0;
}

static int open_ledgers(struct kernel_run *run)
{
	const struct tracking_options *options = &run->options->tracking;
	struct loader_config config = {
		.min_size = options->min_size,
		.max_size = options->max_size,
		.sample_rate = options->sample_rate,
		.sample_bytes = options->sample_bytes,
		.max_blocks = options->max_blocks,
		.max_sites = (uint32_t)options->max_sites,
	};
	int error = kernel_loader_open(&run->side, &config);

	if (error)
		return error;
	run->collect_options = (struct collect_options){
		.older_ns = options->older_ns,
		.combined_only = options->combined_only,
		.keep_blocks = run->options->output.report.show_allocs,
		.sample_rate = options->sample_rate,
		.sample_bytes = options->sample_bytes,
	};
	run->collector = collector_new(&run->side.bpf, &run->collect_options);
	if (run->collector)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

/* Opens the output, loads and attaches. Returns 0, or -errno after an error message. */
static int kernel_run_open(struct kernel_run *run, const struct kernel_options *options)
{
	int error;

	*run = (struct kernel_run){.options = options};
	error = emitter_open(&run->emitter, &options->output, EMIT_REPEATED);
	if (!error)
		error = open_names(run);
	return error ? error : open_ledgers(run);
}

static void kernel_run_close(struct kernel_run *run)
{
	collector_free(run->collector);
	kernel_loader_close(&run->side);
	kernel_symbols_free(run->symbols);
	emitter_close(&run->emitter);
}

/*
 * Labels each site with the kernel's allocator, and notes whether its bytes also count in other
 * rows.
 */
static int sites_label(const struct kernel_run *run, struct snapshot_process *process)
{
	int error = 0;

	for (size_t i = 0; i < process->sites.count && !error; i++) {
		struct site *site = &process->sites.items[i];
		struct frames frames = {0};
		const char *allocator;

		site->family = FAMILY_KERNEL;
		if (site->lost || run->side.bpf.sites[site->index].kind >= LM_KERNEL_MAX_)
			continue;
		site->kind = KIND_KMALLOC + run->side.bpf.sites[site->index].kind;
		if (site->kind != KIND_PAGES)
			continue;
		error = kernel_symbols_name(run->symbols, site->addresses, site->depth, &frames,
					    &allocator);
		if (!error)
			site->kind = kernel_page_kind(&frames, allocator);
		vec_free(&frames.list);
	}
	return error;
}

static int sites_name(const struct kernel_run *run, const struct kernel_owners *owners,
		      struct report_process *process)
{
	int error = 0;

	for (size_t i = 0; i < process->sites.count && !error; i++) {
		struct report_site *site = &process->sites.items[i];
		const char *allocator;

		error = kernel_symbols_name(run->symbols, site->site->addresses, site->site->depth,
					    &site->frames, &allocator);
		site->id = symbolizer_stack_id(&site->frames);
		if (!error)
			error = kernel_owners_fill(owners, site->site->index, site);
	}
	return error;
}

/* Logs the kernel's own count of missed events. */
static void say_misses(const struct kernel_run *run, struct snapshot *snapshot)
{
	uint64_t births, deaths, unowned = kernel_loader_unowned(&run->side);

	if (unowned)
		log_warning(
			"%llu allocations are not shown with their processes: there are more than %d pairs of call stack and process",
			(unsigned long long)unowned, LM_KERNEL_OWNERS_MAX);
	kernel_loader_misses(&run->side, &births, &deaths);
	if (!births && !deaths)
		return;
	log_warning(
		"%llu allocations and %llu frees of interrupts were not seen: they came while leakmon was counting on the same CPU",
		(unsigned long long)births, (unsigned long long)deaths);
	for (size_t i = 0; i < snapshot->processes.count; i++)
		snapshot_mark_inexact(&snapshot->processes.items[i], INEXACT_MISSED);
}

static int write_report(struct kernel_run *run, struct snapshot *snapshot, bool last)
{
	_cleanup_(kernel_owners_free) struct kernel_owners owners = {0};
	const struct tracking_options *tracking = &run->options->tracking;
	struct report report = {0};
	int error = kernel_owners_read(
		&run->side, tracking->sample_rate > 1 || tracking->sample_bytes, &owners);

	for (size_t i = 0; i < snapshot->processes.count && !error; i++)
		error = sites_label(run, &snapshot->processes.items[i]);
	if (!error)
		error = report_build(&report, snapshot, &run->options->output.report);
	for (size_t i = 0; i < report.processes.count && !error; i++)
		error = sites_name(run, &owners, &report.processes.items[i]);
	report.form = emit_form(&run->options->output);
	report.cost = emit_cost();
	report.lost_reports = run->emitter.lost;
	if (error)
		log_error("out of memory");
	else
		error = emit(&run->emitter, OUTPUT_REPORT, &report, last);
	report_free(&report);
	return error;
}

/* Takes a snapshot, names it and writes it. Returns 0, or -errno after an error message. */
static int kernel_run_report(struct kernel_run *run, bool last)
{
	struct snapshot snapshot = {0};
	int error = collector_purge(run->collector);

	if (!error)
		error = collector_read(run->collector, &snapshot);
	if (error) {
		log_error("cannot read the maps: %s", strerror(-error));
		return error;
	}
	if (last)
		say_misses(run, &snapshot);
	run->outstanding_bytes = snapshot.ledger.outstanding_bytes;
	error = write_report(run, &snapshot, last);
	snapshot_free(&snapshot);
	return error;
}

static int make_report(void *context, enum report_cause cause)
{
	return kernel_run_report(context, cause == REPORT_LAST);
}

int kernel_run(const struct kernel_options *options)
{
	struct report_loop loop = REPORT_LOOP_CLOSED;
	struct kernel_run run = {0};
	int code, error = report_loop_open(&loop, &options->schedule, false);

	interrupt_ends(true); /* loading takes time, and needs no cleanup */
	if (!error)
		error = kernel_run_open(&run, options);
	interrupt_ends(false);
	if (!error) {
		log_info("attached to the kernel's allocators");
		error = report_loop_run(
			&loop, &(struct run_hooks){.context = &run, .report = make_report});
	}
	code = emitter_finish(&run.emitter, &options->output, error, run.outstanding_bytes);
	kernel_run_close(&run);
	report_loop_close(&loop);
	return code;
}
