// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The text format, for people, and for scripts that read memleak: its two lines, "[HH:MM:SS] Top N
 * stacks with outstanding allocations:" and "B bytes in K allocations from stack", are separate
 * lines.
 */
#include "output/text/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "report/family.h"
#include "report/fleet.h"
#include "report/history.h"
#include "report/analyze/site_trend.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/units.h"
#include "output/output.h"
#include "process/proc/container.h"
#include "process/symbol/site_label.h"

/* -------- the call stacks of a process that hold most */

/* A sparkline with fewer points is not meaningful. */
#define SPARKLINE_POINTS 3
#define SPARKLINE_WIDTH 24

static void trend_write(FILE *out, const struct report *report, const struct report_site *site)
{
	char sparkline[SPARKLINE_SIZE], evidence[EVIDENCE_SIZE];
	struct site_trend trend;

	if (!report->history || !site->series || report->history->times.count < SPARKLINE_POINTS)
		return;
	history_sparkline(report->history, &site->series->series, SPARKLINE_WIDTH, sparkline);
	site_trend_of(&trend, report->history, site->series);
	fprintf(out, "\t\t%s", sparkline);
	if (trend.verdict != TREND_TOO_EARLY || trend.early.grows)
		fprintf(out, " %s: %s", trend_verdict_name(trend.verdict),
			site_trend_evidence(&trend, evidence));
	fputc('\n', out);
}

#define NS_PER_S UINT64_C(1000000000)

/* Writes an age, truncated, not rounded: "60.0 s" would be a minute. */
static void age_write(FILE *out, uint64_t age_ns)
{
	static const struct {
		uint64_t below_ns, unit_ns;
		const char *unit;
	} scales[] = {
		{60 * NS_PER_S, NS_PER_S, "s"},
		{3600 * NS_PER_S, 60 * NS_PER_S, "min"},
		{48 * 3600 * NS_PER_S, 3600 * NS_PER_S, "h"},
		{UINT64_MAX, 24 * 3600 * NS_PER_S, "d"},
	};
	size_t i = 0;

	if (age_ns < NS_PER_S) {
		fprintf(out, "%" PRIu64 " ms", age_ns / (NS_PER_S / 1000));
		return;
	}
	while (i < ARRAY_SIZE(scales) - 1 && age_ns >= scales[i].below_ns)
		i++;
	fprintf(out, "%" PRIu64 ".%" PRIu64 " %s", age_ns / scales[i].unit_ns,
		age_ns / (scales[i].unit_ns / 10) % 10, scales[i].unit);
}

static void blocks_write(FILE *out, const struct report_site *ranked, bool has_ages)
{
	for (size_t i = 0; i < ranked->blocks.count; i++) {
		const struct block *block = &ranked->blocks.items[i];

		fprintf(out, "\taddr = %" PRIx64 " size = %" PRIu64, block->address, block->size);
		if (has_ages) {
			fputs(" age = ", out);
			age_write(out, block->age_ns);
		}
		if (block->by_dead)
			fputs(" by a thread that has ended", out);
		fputc('\n', out);
	}
}

static void kind_write(FILE *out, const struct site *site)
{
	if (!kind_name(site->kind))
		return;
	fputs(kind_name(site->kind), out);
	if (site->patterns) {
		fputs(" (", out);
		text_print_inert(out, site->patterns);
		fputc(')', out);
	}
	if (kind_note(site->kind))
		fprintf(out, " (%s)", kind_note(site->kind));
	fputs("; ", out);
}

/* Writes the estimate of a process that samples itself. */
static void estimate_write(FILE *out, const struct estimate *estimate)
{
	char low[16], high[16];

	fprintf(out, "estimated from %.0f samples: 95%%: %s to %s", estimate->samples,
		units_bytes(low, estimate->bytes.low, ""),
		units_bytes(high, estimate->bytes.high, ""));
	if (estimate->count.high > 0)
		fprintf(out, ", %.0f to %.0f blocks", estimate->count.low, estimate->count.high);
	fputc('\n', out);
}

static void owners_write(FILE *out, const struct report *report, const struct report_site *ranked)
{
	char bytes[TEXT_BYTES_SIZE];

	if (!ranked->owners.count)
		return;
	fputs("\t\tfor ", out);
	for (size_t i = 0; i < ranked->owners.count; i++) {
		const struct site_owner *owner = &ranked->owners.items[i];

		fputs(i ? ", " : "", out);
		if (owner->pid) {
			text_print_inert(out, owner->comm);
			fprintf(out, " (PID %" PRIu32 "%s%s", owner->pid,
				owner->cgroup ? "" : ", ended",
				owner->cgroup && owner->cgroup[1] ? ", " : "");
			if (owner->cgroup && owner->cgroup[1])
				text_print_inert(out, owner->cgroup);
			fputc(')', out);
		} else {
			fputs("interrupts of idle CPUs", out);
		}
		fprintf(out, " %s in %" PRIu64, text_bytes(bytes, &report->form, owner->bytes),
			owner->count);
	}
	if (ranked->owners_total > ranked->owners.count)
		fprintf(out, ", and %zu others", ranked->owners_total - ranked->owners.count);
	fputc('\n', out);
}

void text_site_write(FILE *out, const struct report *report, const struct report_site *ranked)
{
	const struct site *site = ranked->site;
	const struct family *family = family_get(site->family);
	bool has_ages = report->snapshot->has_ages;
	char bytes[TEXT_BYTES_SIZE];

	if (report->show_allocs)
		blocks_write(out, ranked, has_ages);
	fputc('\t', out);
	if (!family->counted[0])
		fprintf(out, "%s in ", text_bytes(bytes, &report->form, site->bytes));
	fprintf(out, "%" PRIu64 " %s from stack\n\t\t", site->count, family->noun);
	kind_write(out, site);
	if (has_ages) {
		fputs("oldest ", out);
		age_write(out, site->oldest_ns);
		fputs("; ", out);
	}
	if (family->taken)
		fprintf(out, "%s %s in %" PRIu64 " calls since attach\n", family->taken,
			text_bytes(bytes, &report->form, site->allocated_bytes),
			site->allocated_count);
	else if (!site->count && site->allocated_count)
		fprintf(out, "allocated about %s in %" PRIu64 " blocks since attach\n",
			text_bytes(bytes, &report->form, site->allocated_bytes),
			site->allocated_count);
	else if (site->lost && family->counted[0])
		fputs("not opened under a call stack\n", out);
	else
		fprintf(out, "%s %" PRIu64 ", %s %" PRIu64 " since attach\n",
			family->counted[0] ? family->counted[0] : "allocated",
			site->allocated_count, family->counted[1] ? family->counted[1] : "freed",
			site->freed_count);
	if (snapshot_hits(site).sum > 0) {
		struct estimate estimate = snapshot_estimate_site(site);

		fputs("\t\t", out);
		estimate_write(out, &estimate);
	}
	if (site->by_dead_count)
		fprintf(out, "\t\t%s in %" PRIu64 " of them by threads that have ended\n",
			text_bytes(bytes, &report->form, site->by_dead_bytes), site->by_dead_count);
	owners_write(out, report, ranked);
	trend_write(out, report, ranked);
	text_stack_write(out, &report->form, ranked);
}

/* Sums up the rows that were cut. */
static void rest_write(FILE *out, const struct text_form *form, const struct report_process *ranked,
		       enum family_id family, size_t shown)
{
	char text[TEXT_BYTES_SIZE];
	uint64_t bytes = 0;

	if (shown == ranked->family_totals[family])
		return;
	for (size_t i = 0; i < ranked->process->sites.count; i++) {
		if (ranked->process->sites.items[i].family == family)
			bytes += ranked->process->sites.items[i].bytes;
	}
	for (size_t i = 0; i < ranked->sites.count; i++) {
		if (ranked->sites.items[i].site->family == family)
			bytes -= ranked->sites.items[i].site->bytes;
	}
	for (size_t i = 0; i < ranked->suppressed.count; i++) {
		if (ranked->suppressed.items[i].site->family == family)
			bytes -= ranked->suppressed.items[i].site->bytes;
	}
	fprintf(out, "\t… and %zu more stacks (%s)\n", ranked->family_totals[family] - shown,
		text_bytes(text, form, bytes));
}

static void heading_write(FILE *out, const struct report *report, enum family_id family,
			  size_t sites)
{
	const struct text_style *style = &text_styles[report->form.colour];
	char clock[TEXT_TIME_SIZE];

	text_clock(clock, report->snapshot->time.tv_sec);
	fprintf(out, "%s[%s] Top %zu stacks with outstanding %s:%s\n", style->bold, clock, sites,
		family_get(family)->noun, style->plain);
}

static void family_write(FILE *out, const struct report *report,
			 const struct report_process *ranked, enum family_id family)
{
	size_t shown = 0;

	for (size_t i = 0; i < ranked->sites.count; i++)
		shown += ranked->sites.items[i].site->family == family;
	heading_write(out, report, family, shown);
	for (size_t i = 0; i < ranked->sites.count; i++) {
		if (ranked->sites.items[i].site->family == family)
			text_site_write(out, report, &ranked->sites.items[i]);
	}
	rest_write(out, &report->form, ranked, family, shown);
}

/* -------- the threads of one process, in a few lines: `leakmon threads` has whole stacks */

/* Creators of dead threads to show. */
#define TOP_CREATORS 3

static void creator_write(FILE *out, const struct text_form *form, const struct report_dead *dead)
{
	char bytes[TEXT_BYTES_SIZE];
	const struct dead_group *group = dead->group;

	fprintf(out, "\t%" PRIu64 " dead: created by ", group->count);
	if (group->depth)
		text_place_write(out, &dead->stack, LM_FRAME_ADDRESS(group->addresses[0]));
	else
		fputs("an unknown stack", out);
	if (group->start_routine) {
		fputs(", ran ", out);
		text_place_write(out, &dead->start, group->start_routine);
	}
	if (group->heap_count)
		fprintf(out, "; %s in %" PRIu64 " blocks are theirs",
			text_bytes(bytes, form, group->heap_bytes), group->heap_count);
	fputc('\n', out);
}

static void threads_write(FILE *out, const struct text_form *form,
			  const struct report_process *ranked)
{
	const struct thread_figures *threads = &ranked->process->threads;
	char mapped[16], resident[16];
	uint64_t shown = 0;

	if (threads->why[0]) {
		fprintf(out, "threads: %" PRIu64 " alive; dead ones unknown: ", threads->alive);
		text_print_inert(out, threads->why);
		fputc('\n', out);
	}
	if (!threads->followed || (!form->verbose && threads->exact && !threads->dead))
		return;
	fprintf(out, "threads: %" PRIu64 " alive, %" PRIu64 " dead and not joined", threads->alive,
		threads->dead);
	if (threads->dead)
		fprintf(out, " (stacks: %s mapped, %s resident)",
			units_bytes(mapped, (double)threads->dead_stack_bytes, ""),
			units_bytes(resident, (double)threads->dead_resident_bytes, ""));
	if (!threads->exact)
		fputs(" (inexact)", out);
	if (threads->untold)
		fprintf(out, "; %" PRIu64 " from before the attach have ended, joined or not",
			threads->untold);
	fputc('\n', out);
	for (size_t i = 0; i < MIN(ranked->dead.count, TOP_CREATORS); i++) {
		creator_write(out, form, &ranked->dead.items[i]);
		shown += ranked->dead.items[i].group->count;
	}
	if (ranked->dead.count > TOP_CREATORS)
		fprintf(out, "\t… and %" PRIu64 " dead of %zu more creators\n",
			threads->dead - shown, ranked->dead.count - TOP_CREATORS);
}

/* -------- the balance of the ledgers below a report, and its gaps */

void text_balance_write(FILE *out, const struct text_form *form, const struct family *family,
			const void *figures, enum figure_term last)
{
	static const char *const before[] = {
		[TERM_SUM] = " ",    [TERM_ADDED] = " + ", [TERM_FIRST] = " = ",
		[TERM_PART] = " + ", [TERM_BESIDE] = "; ", [TERM_UNLESS_ZERO] = ", ",
	};

	for (size_t i = 0; i < family->figures.count; i++) {
		const struct figure *figure = &family->figures.items[i];
		uint64_t value = figure_value(figure, figures);

		if (figure->term && figure->term <= last &&
		    (value || figure->term < (form->verbose ? TERM_UNLESS_ZERO : TERM_PART)))
			fprintf(out, "%s%" PRIu64 " %s", before[figure->term], value,
				figure->label);
	}
}

static void balance_write(FILE *out, const struct text_form *form, const struct family *family,
			  const void *figures)
{
	fprintf(out, "%s:", family->balance);
	text_balance_write(out, form, family, figures, TERM_UNLESS_ZERO);
	fputc('\n', out);
	for (size_t i = 0; i < family->figures.count; i++) {
		const struct figure *figure = &family->figures.items[i];
		uint64_t value = figure_value(figure, figures);

		if (!figure->inexact || !value)
			continue;
		fprintf(out, "inexact: %" PRIu64 " %s", value, figure->inexact);
		if (figure->mended)
			fprintf(out, "; %s %" PRIu64 " bytes", figure->mended,
				figure_number(figures, figure->mended_bytes));
		fputc('\n', out);
	}
}

static void causes_write(FILE *out, const struct figure *figure, const void *figures)
{
	const struct causes *causes = figure->causes;

	for (unsigned i = causes->first; i < causes->count; i++) {
		uint64_t count = figure_by_cause(figure, figures, i);

		if (count)
			fprintf(out, "%s: %" PRIu64 " %s: %s\n", causes->line, count, causes->what,
				causes->advice(i));
	}
}

static void checks_write(FILE *out, const struct snapshot *snapshot)
{
	const struct ledger *ledger = &snapshot->ledger;

	if (!ledger_agrees(snapshot, ledger))
		fprintf(out,
			"inexact: the live set holds %" PRIu64 " blocks, the ledger says %" PRIu64
			"\n",
			ledger->scanned, ledger->outstanding);
	if (snapshot->sampled)
		fputs("estimated from a sample: bytes and counts by stack; "
		      "the ledger counts the sampled blocks\n",
		      out);
}

/* Writes the blocks not listed; without them the stacks would seem to contradict the ledger. */
static void young_write(FILE *out, const struct snapshot *snapshot)
{
	uint64_t young = 0;

	if (!snapshot->has_ages || snapshot->sampled)
		return;
	if (snapshot->only_by_dead) {
		fputs("not listed: blocks of live threads, and of processes that have ended\n",
		      out);
		return;
	}
	for (size_t i = 0; i < snapshot->processes.count; i++) {
		const struct snapshot_process *process = &snapshot->processes.items[i];

		if (process->ledger.scanned > process->outstanding_count)
			young += process->ledger.scanned - process->outstanding_count;
	}
	if (young)
		fprintf(out, "not listed: %" PRIu64 " blocks younger than --older\n", young);
}

static void ledgers_write(FILE *out, const struct text_form *form, const struct snapshot *snapshot)
{
	const struct family *heap = family_get(FAMILY_HEAP);

	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		if (family->balance && family_is_present(family, snapshot))
			balance_write(out, form, family, family_total(family, snapshot));
	}
	young_write(out, snapshot);
	for (size_t i = 0; i < heap->figures.count; i++) {
		if (heap->figures.items[i].causes)
			causes_write(out, &heap->figures.items[i], &snapshot->ledger);
	}
	checks_write(out, snapshot);
}

/* -------- the report */

/* Writes container NAME (pod NAMESPACE/POD) ID [(unproven)]. */
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
	if (!container_is_named_by_id(container))
		fprintf(out, "%s%.12s", name || pod ? " " : "", container->id);
	fputs(doubted ? " (unproven)\n" : "\n", out);
}

/* Writes causes without a number; the ledger below has the others. */
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

/* Writes the number of accepted sites (--suppress), which are not listed. */
static void suppressed_write(FILE *out, const struct text_form *form,
			     const struct report_process *ranked)
{
	char bytes[TEXT_BYTES_SIZE];
	struct suppressed_total total = report_suppressed(ranked);

	if (!ranked->suppressed.count)
		return;
	fprintf(out,
		"suppressed: %s in %" PRIu64 " allocations from %zu stacks that --suppress "
		"accepts\n",
		text_bytes(bytes, form, total.bytes), total.blocks, ranked->suppressed.count);
}

static void samples_write(FILE *out, const struct snapshot_process *process)
{
	struct estimate estimate = snapshot_estimate_process(process);
	char interval[16] = "";

	if (!process->samples_itself)
		return;
	fputs("samples itself (otel_memory)", out);
	if (process->sample_interval)
		fprintf(out, ", every %s",
			units_bytes(interval, (double)process->sample_interval, ""));
	if (process->without_free)
		fputs(", and reports no free: an allocation profile, nothing is known to be "
		      "outstanding",
		      out);
	fputs(estimate.bytes.high > 0 ? "; " : "\n", out);
	if (estimate.bytes.high > 0)
		estimate_write(out, &estimate);
}

static void process_write(FILE *out, const struct report *report,
			  const struct report_process *ranked)
{
	const struct snapshot_process *process = ranked->process;
	char bytes[TEXT_BYTES_SIZE];

	fprintf(out, "process %" PRIu32 " ", process->pid);
	text_print_inert(out, process->comm);
	if (process->host) {
		fputs(" on ", out);
		text_print_inert(out, process->host);
	}
	if (process->exited)
		fputs(" (exited)", out);
	if (!process->exact)
		fputs(report->snapshot->sampled ? " (estimated)" : " (inexact)", out);
	fprintf(out, ": %s in %" PRIu64 " blocks outstanding\n",
		text_bytes(bytes, &report->form, process->outstanding_bytes),
		process->outstanding_count);
	text_managed_share_write(out, (pid_t)process->pid, &process->managed);
	inexact_write(out, process);
	samples_write(out, process);
	if (process->container)
		container_write(out, process->container);
	threads_write(out, &report->form, ranked);
	text_split_write(out, memory_series_of(report, process));
	for (size_t family = 0; family < FAMILY_MAX_; family++) {
		/* A user process always has a heap section, even for an empty heap. */
		if (ranked->family_totals[family] || (family == FAMILY_HEAP && process->pid))
			family_write(out, report, ranked, family);
	}
	suppressed_write(out, &report->form, ranked);
}

void text_lost_reports_write(FILE *out, uint64_t count)
{
	if (count)
		fprintf(out, "lost: %" PRIu64 " report%s could not be written\n", count,
			count == 1 ? "" : "s");
}

void text_kill_limit_write(FILE *out, const struct oom_kill *kill)
{
	_cleanup_free_ char *group = NULL;
	char limit[16];

	if (kill->limit_bytes == UINT64_MAX)
		return;
	fprintf(out, ", limit %s", units_bytes(limit, (double)kill->limit_bytes, ""));
	if (!kill->cgroup || !kill->cgroup[kill->limit_length])
		return;
	group = oom_kill_limit_group(kill);
	fputs(" of control group ", out);
	text_print_inert(out, group ? group : "?");
}

void text_kills_write(FILE *out, const struct oom_kills *kills)
{
	for (size_t i = 0; kills && i < kills->list.count; i++) {
		const struct oom_kill *kill = &kills->list.items[i];

		fprintf(out, "OOM-killed: process %d", (int)kill->pid);
		if (kill->cgroup) {
			fputs(", control group ", out);
			text_print_inert(out, kill->cgroup);
		}
		if (kill->container) {
			fputs(", container ", out);
			container_print_name(out, kill->container);
		}
		text_kill_limit_write(out, kill);
		fputs("; what it held at its end follows\n", out);
	}
}

/* A fleet by build, with growing call stacks. --host shows one host's processes. */

#define FLEET_SITES 3

static void date_write(FILE *out, uint64_t time_ns)
{
	char date[TEXT_TIME_SIZE];

	fputs(text_date(date, (time_t)(time_ns / NS_PER_S)), out);
}

static void fleet_site_write(FILE *out, const struct report *report,
			     const struct fleet_build *build, const struct fleet_site *site)
{
	char rate[16], bytes[TEXT_BYTES_SIZE];

	fprintf(out, "\t%s in %" PRIu64 " %s from stack\n\t\t",
		text_bytes(bytes, &report->form, site->bytes), site->count,
		family_get(site->site->site->family)->noun);
	if (site->growing_hosts)
		fprintf(out, "grows on %zu of %zu hosts, %s/s together; ", site->growing_hosts,
			build->hosts, units_bytes(rate, site->bytes_per_s, ""));
	if (site->is_new)
		fputs("in no earlier build; ", out);
	fprintf(out, "on %zu of %zu hosts; site %016" PRIx64 "\n", site->hosts, build->hosts,
		site->site->id);
	text_stack_write(out, &report->form, site->site);
}

static void fleet_build_write(FILE *out, const struct report *report,
			      const struct fleet_build *build)
{
	const struct text_style *style = &text_styles[report->form.colour];
	size_t shown = MIN(build->sites.count, (size_t)FLEET_SITES);
	char rate[16], bytes[TEXT_BYTES_SIZE];

	fputs(style->bold, out);
	text_print_inert(out, build->comm);
	fputs(build->build_id ? " build " : " (build not known)", out);
	if (build->build_id)
		text_print_inert(out, build->build_id);
	fprintf(out, "%s: ", style->plain);
	if (build->growing_hosts)
		fprintf(out, "grows on %zu of %zu hosts, %s/s together; ", build->growing_hosts,
			build->hosts, units_bytes(rate, build->bytes_per_s, ""));
	else
		fprintf(out, "grows on none of %zu hosts; ", build->hosts);
	fprintf(out, "%s in %" PRIu64 " blocks of %zu process%s",
		text_bytes(bytes, &report->form, build->bytes), build->count, build->processes,
		build->processes == 1 ? "" : "es");
	if (build->since_ns) {
		fputs("; seen since ", out);
		date_write(out, build->since_ns);
	}
	fputc('\n', out);
	for (size_t i = 0; i < shown; i++)
		fleet_site_write(out, report, build, &build->sites.items[i]);
	if (shown < build->sites.count)
		fprintf(out, "\t… and %zu more stacks\n", build->sites.count - shown);
}

static void fleet_write(FILE *out, const struct report *report)
{
	char clock[TEXT_TIME_SIZE];

	text_clock(clock, report->snapshot->time.tv_sec);
	fprintf(out, "[%s] hosts: %zu; processes: %zu; builds of programs: %zu\n", clock,
		report->host_count, report->processes.count, report->fleet->builds.count);
	for (size_t i = 0; i < report->fleet->builds.count; i++)
		fleet_build_write(out, report, &report->fleet->builds.items[i]);
}

static int text_report_write(FILE *stream, const void *data)
{
	const struct report *report = data;
	struct text_page page;
	FILE *out = text_page_begin(&page, stream, &report->form);

	text_kills_write(out, report->oom);
	if (report->fleet)
		fleet_write(out, report);
	for (size_t i = 0; !report->fleet && i < report->processes.count; i++)
		process_write(out, report, &report->processes.items[i]);
	if (!report->fleet && !report->processes.count)
		heading_write(out, report, FAMILY_HEAP, 0);
	ledgers_write(out, &report->form, report->snapshot);
	text_stored_diagnoses_write(out, report->diagnoses);
	text_lost_reports_write(out, report->lost_reports);
	fputc('\n', out);
	return text_page_end(&page);
}

const struct output_format output_text = {
	.name = "text",
	.write = {[OUTPUT_REPORT] = text_report_write,
		  [OUTPUT_DIFF] = text_diff_write,
		  [OUTPUT_TRIAGE] = text_triage_write,
		  [OUTPUT_RETAIN] = text_retain_write,
		  [OUTPUT_RETAIN_DIFF] = text_retain_diff_write,
		  [OUTPUT_THREADS] = text_threads_write,
		  [OUTPUT_PROFILE] = text_profile_write,
		  [OUTPUT_PROFILE_DIFF] = text_profile_diff_write,
		  [OUTPUT_MEMORY] = text_memory_write,
		  [OUTPUT_DIAGNOSIS] = text_diagnosis_write},
	.default_top = 10,
	.retain_top = 10,
};
