// SPDX-License-Identifier: GPL-2.0-or-later
/* The figures of triage: see triage_report.h. */
#include "base/cleanup.h"
#include "report/figures.h"
#include "report/triage_report.h"

static const char *kind_name(unsigned kind)
{
	return growth_kind_name((enum quantity)kind);
}

#define KIND(at) FIGURE("kind", NULL, NAME, at, .name = kind_name, .names = QUANTITY_MAX_)

/* -------- processes and groups */

#define ENTRY(member) offsetof(struct triage_entry, member)
#define NOW(quantity) ENTRY(now.values[QUANTITY_##quantity])
static const struct figure entry_figures[] = {
	FIGURE("memory_bytes", NULL, WHOLE, NOW(HEAP)),
	FIGURE("alive", NULL, WHOLE, NOW(THREADS), .section = "threads"),
	FIGURE("file_count", NULL, WHOLE, NOW(FILES)),
	FIGURE("mapping_count", NULL, WHOLE, NOW(MAPPING)),
};
const struct figures triage_entry_figures = FIGURES(entry_figures);

static const struct figure charge_figures[] = {
	FIGURE("charged_bytes", NULL, WHOLE, NOW(CHARGED)),
};
const struct figures triage_charge_figures = FIGURES(charge_figures);

static const char *verdict_of(const void *entry)
{
	return triage_entry_verdict(entry);
}

/* Only before a verdict. */
static bool has_early(const void *entry)
{
	return ((const struct triage_entry *)entry)->growth.early.readings;
}

#define EARLY .section = "early", .shown = has_early, .left_out = true
static const struct figure growth_figures[] = {
	KIND(ENTRY(growth.kind)),
	FIGURE("bytes_per_s", NULL, REAL, ENTRY(growth.memory_per_s)),
	FIGURE("confidence", NULL, REAL, ENTRY(growth.confidence)),
	FIGURE("verdict", NULL, CALL, 0, .text = verdict_of),
	FIGURE("per_s", NULL, REAL, ENTRY(growth.per_s)),
	FIGURE("low_per_s", NULL, REAL, ENTRY(growth.low_per_s)),
	FIGURE("high_per_s", NULL, REAL, ENTRY(growth.high_per_s)),
	FIGURE("window_s", NULL, REAL, ENTRY(growth.evidence.span_s)),
	FIGURE("points", NULL, NUMBER, ENTRY(growth.evidence.points)),
	FIGURE("p", NULL, REAL, ENTRY(growth.evidence.p)),
	FIGURE("r_squared", NULL, REAL, ENTRY(growth.evidence.r_squared)),
	FIGURE("recent", NULL, REAL, ENTRY(growth.evidence.recent)),
	FIGURE("consistency", NULL, REAL, ENTRY(growth.evidence.consistency)),
	FIGURE("grows", NULL, FLAG, ENTRY(growth.early.grows), EARLY),
	FIGURE("per_s", NULL, REAL, ENTRY(growth.early.per_s), EARLY),
	FIGURE("readings", NULL, NUMBER, ENTRY(growth.early.readings), EARLY),
	FIGURE("span_s", NULL, REAL, ENTRY(growth.early.span_s), EARLY),
	FIGURE("warming_up", NULL, FLAG, ENTRY(growth.warms_up)),
	FIGURE("age_s", NULL, REAL, ENTRY(growth.age_s)),
};
const struct figures triage_growth_figures = FIGURES(growth_figures);

#define CAUSE(member) offsetof(struct triage_cause, member)
static const struct figure cause_figures[] = {
	FIGURE("verdict", NULL, TEXT, CAUSE(verdict)),
	FIGURE("no_leak", NULL, FLAG, CAUSE(no_leak)),
	FIGURE("unproven", NULL, FLAG, CAUSE(unproven)),
	FIGURE("text", NULL, TEXT, CAUSE(text)),
	FIGURE("since_s", NULL, REAL, CAUSE(since_s)),
	FIGURE("growth_bytes", NULL, SIGNED, CAUSE(grown)),
	FIGURE("live_bytes", NULL, SIGNED, CAUSE(live)),
};
const struct figures triage_cause_figures = FIGURES(cause_figures);

static double managed_since(const void *figures)
{
	const struct managed_growth *managed = figures;

	return managed->last_s - managed->first_s;
}

#define MANAGED(member) offsetof(struct managed_growth, member)
static const struct figure managed_figures[] = {
	FIGURE("runtime", NULL, TEXT, MANAGED(runtime.key)),
	FIGURE("heap_bytes", NULL, NUMBER, MANAGED(heap)),
	FIGURE("anonymous_bytes", NULL, NUMBER, MANAGED(all)),
	FIGURE("since_s", NULL, MADE, 0, .real = managed_since),
	FIGURE("heap_growth_bytes", NULL, SIGNED, MANAGED(heap_grown)),
	FIGURE("growth_bytes", NULL, SIGNED, MANAGED(all_grown)),
};
const struct figures triage_managed_figures = FIGURES(managed_figures);

#define PART(member) offsetof(struct triage_part, member)
static const struct figure part_figures[] = {
	FIGURE("part", NULL, TEXT, PART(name)),
	FIGURE("bytes", NULL, REAL, PART(bytes)),
	FIGURE("growth_bytes", NULL, REAL, PART(grown)),
};
const struct figures triage_part_figures = FIGURES(part_figures);

/* -------- tracking and sampling of suspects */

#define SITES(member) offsetof(struct triage_sites, member)
static const struct figure sites_figures[] = {
	KIND(SITES(kind)),
	FIGURE("window_s", NULL, REAL, SITES(window_s)),
	FIGURE("growth_per_s", NULL, REAL, SITES(growth_per_s)),
	FIGURE("refused", NULL, TEXT, SITES(refusal)),
};
const struct figures triage_sites_figures = FIGURES(sites_figures);

static const char *sampled_event(const void *samples)
{
	return triage_samples_event(((const struct triage_samples *)samples)->kind);
}

#define SAMPLES(member) offsetof(struct triage_samples, member)
static const struct figure samples_figures[] = {
	KIND(SAMPLES(kind)),
	FIGURE("event", NULL, CALL, 0, .text = sampled_event),
	FIGURE("window_s", NULL, REAL, SAMPLES(window_s)),
	FIGURE("added", NULL, REAL, SAMPLES(added)),
	FIGURE("explained", NULL, REAL, SAMPLES(share)),
	FIGURE("samples", NULL, NUMBER, SAMPLES(taken)),
	FIGURE("samples_lost", NULL, NUMBER, SAMPLES(lost)),
	FIGURE("threads_missed", NULL, NUMBER, SAMPLES(missed)),
	FIGURE("ago_s", NULL, REAL, SAMPLES(ago_s)),
	FIGURE("refused", NULL, TEXT, SAMPLES(why)),
	FIGURE("stacks_total", NULL, NUMBER, SAMPLES(stacks_total)),
};
const struct figures triage_samples_figures = FIGURES(samples_figures);

static const struct figure orphan_figures[] = {
	FIGURE("dead_threads", NULL, REAL, SAMPLES(orphans)),
	FIGURE("dead_threads_added", NULL, REAL, SAMPLES(orphans_added)),
};
const struct figures triage_orphan_figures = FIGURES(orphan_figures);

#define STACK(member) offsetof(struct triage_stack, member)
static const struct figure stack_figures[] = {
	FIGURE("id", NULL, ID, STACK(named.id)),
	FIGURE("units", NULL, REAL, STACK(units)),
	FIGURE("explained", NULL, REAL, STACK(share)),
	FIGURE("samples", NULL, NUMBER, STACK(samples)),
};
const struct figures triage_stack_figures = FIGURES(stack_figures);

#define FILE_KIND(member) offsetof(struct triage_file_kind, member)
static const struct figure file_figures[] = {
	FIGURE("kind", NULL, TEXT, FILE_KIND(name)),
	FIGURE("open", NULL, REAL, FILE_KIND(open)),
	FIGURE("added", NULL, REAL, FILE_KIND(added)),
};
const struct figures triage_file_figures = FIGURES(file_figures);

/* -------- limits and kills */

static double used_share(const void *figures)
{
	const struct limit *limit = figures;

	return limit->used / limit->bytes;
}

#define LIMIT(member) offsetof(struct limit, member)
#define IF_LEFT .known = LIMIT(left.known)
#define GAUGE(name, text) .metric = METRIC_GAUGE, .metric_name = (name), .help = (text)
static const struct figure limit_figures[] = {
	FIGURE("limit_bytes", NULL, REAL, LIMIT(bytes)),
	FIGURE("used_bytes", NULL, REAL, LIMIT(used)),
	FIGURE("used_share", NULL, MADE, 0, .real = used_share,
	       GAUGE("limit_used_ratio", "Memory in use, of a limit that is near.")),
	FIGURE("bytes_per_s", NULL, REAL, LIMIT(left.per_s), IF_LEFT),
	FIGURE("seconds_left", NULL, REAL, LIMIT(left.seconds), IF_LEFT,
	       GAUGE("limit_seconds_left", "Until it is reached at this rate.")),
	FIGURE("seconds_left_low", NULL, REAL, LIMIT(left.low), IF_LEFT,
	       GAUGE("limit_seconds_left_low", "Its lower limit, of 95 %.")),
	FIGURE("seconds_left_high", NULL, REAL, LIMIT(left.high), IF_LEFT,
	       GAUGE("limit_seconds_left_high", "Its upper limit, of 95 %.")),
	FIGURE("pressure", NULL, REAL, LIMIT(pressure)),
};
const struct figures triage_limit_figures = FIGURES(limit_figures);

static const char *noticed_by(const void *kill)
{
	return ((const struct triage_kill *)kill)->by_counter ? "counter" : "tracepoint";
}

static bool was_read(const void *kill)
{
	return ((const struct triage_kill *)kill)->entry.pid;
}

#define KILL(member) offsetof(struct triage_kill, member)
#define MEMORY .section = "memory", .known = KILL(memory.known)
static const struct figure kill_figures[] = {
	FIGURE("noticed", NULL, CALL, 0, .text = noticed_by),
	FIGURE("anonymous_bytes", NULL, NUMBER, KILL(memory.anonymous), MEMORY),
	FIGURE("file_bytes", NULL, NUMBER, KILL(memory.file), MEMORY),
	FIGURE("shared_bytes", NULL, NUMBER, KILL(memory.shared), MEMORY),
	FIGURE("swap_bytes", NULL, NUMBER, KILL(memory.swap), MEMORY),
	FIGURE("page_table_bytes", NULL, NUMBER, KILL(memory.page_tables), MEMORY),
	FIGURE("read_s", NULL, REAL, KILL(read_s), .shown = was_read),
};
const struct figures triage_kill_figures = FIGURES(kill_figures);

/* -------- the report */

#define REPORT(member) offsetof(struct triage_report, member)
static const struct figure cost_figures[] = {
	FIGURE("limit", NULL, REAL, REPORT(budget_limit),
	       GAUGE("budget_limit_ratio", "Share of one core that leakmon may use.")),
	FIGURE("used", NULL, REAL, REPORT(budget_used),
	       GAUGE("budget_used_ratio", "Share of one core that leakmon has used.")),
	FIGURE("cpu_s", NULL, REAL, REPORT(cpu_s)),
	FIGURE("probes_s", NULL, REAL, REPORT(probes_s)),
	FIGURE("running_s", NULL, REAL, REPORT(running_s)),
	FIGURE("waiting", NULL, NUMBER, REPORT(waiting)),
	FIGURE("resident_bytes", NULL, NUMBER, REPORT(resident_bytes)),
	FIGURE("poll_interval_s", NULL, REAL, REPORT(poll_interval_s)),
};
const struct figures triage_cost_figures = FIGURES(cost_figures);
