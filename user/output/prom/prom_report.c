// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prometheus' text format 0.0.4 (prometheus.io, "Exposition formats"), for node-exporter's textfile
 * collector: no timestamps, HELP and TYPE for all, samples of one metric in one group. Few series:
 * processes of one name and container are combined, and only the top sites are shown.
 */
#include "output/prom/prom.h"
#include "report/analyze/trend.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>

#include "report/analyze/fleet_build.h"
#include "report/family.h"
#include "report/fleet.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/text.h"
#include "output/output.h"
#include "process/symbol/site_label.h"

#define NS_PER_S 1e9

void prom_header(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP leakmon_%s %s\n# TYPE leakmon_%s %s\n", name, help, name, type);
}

void prom_values_write(FILE *out, const struct prom_value *values, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		prom_header(out, values[i].name, values[i].type, values[i].help);
		fprintf(out, "leakmon_%s %.13g\n", values[i].name, values[i].value);
	}
}

void prom_monitor_write(FILE *out, double cpu_s, uint64_t rss_bytes, const struct timespec *time)
{
	const struct prom_value values[] = {
		{"cpu_seconds_total", "counter", "CPU time of the monitor itself.", cpu_s},
		{"resident_memory_bytes", "gauge", "Resident memory of the monitor itself.",
		 (double)rss_bytes},
		{"snapshot_timestamp_seconds", "gauge", "When this was measured.",
		 (double)time->tv_sec + (double)time->tv_nsec / NS_PER_S},
	};

	prom_values_write(out, values, ARRAY_SIZE(values));
}

void prom_time_write(FILE *out, const struct timespec *time)
{
	prom_header(out, "snapshot_timestamp_seconds", "gauge", "When this was measured.");
	fprintf(out, "leakmon_snapshot_timestamp_seconds %lld.%03ld\n", (long long)time->tv_sec,
		time->tv_nsec / 1000000);
}

/* Writes a label; inert first, so that no control character or invalid UTF-8 reaches the reader. */
void prom_label(FILE *out, const char *key, const char *value, const char *before)
{
	_cleanup_free_ char *inert = text_inert(value ? value : "");

	fprintf(out, "%s%s=\"", before, key);
	for (const char *c = inert ? inert : ""; *c; c++) {
		if (*c == '\\' || *c == '"')
			fputc('\\', out);
		fputc(*c, out);
	}
	fputc('"', out);
}

void prom_build_info_write(FILE *out)
{
	prom_header(out, "build_info", "gauge", "1, labelled with the version of leakmon.");
	fputs("leakmon_build_info", out);
	prom_label(out, "version", LEAKMON_VERSION, "{");
	fputs("} 1\n", out);
}

void prom_function_label(FILE *out, const char *function)
{
	_cleanup_free_ char *collapsed = function ? site_label_collapse(function) : NULL;

	prom_label(out, "function", collapsed ? collapsed : function, ",");
}

void prom_container_labels(FILE *out, const struct container *container)
{
	if (!container || !container_proven_id(container))
		return;
	if (container->namespace)
		prom_label(out, "namespace", container->namespace, ",");
	if (container->pod)
		prom_label(out, "pod", container->pod, ",");
	prom_label(out, "container", container->name ? container->name : container->id, ",");
}

void prom_lost_reports_write(FILE *out, uint64_t count)
{
	prom_header(out, "lost_reports_total", "counter",
		    "Reports of this run that could not be written.");
	fprintf(out, "leakmon_lost_reports_total %" PRIu64 "\n", count);
}

void prom_pushed_write(FILE *out, const struct pushed *pushed)
{
	const struct {
		const char *name;
		const struct pushed_lane *lane;
	} lanes[] = {{"profile", &pushed->profiles},
		     {"event", &pushed->events},
		     {"metrics", &pushed->metrics},
		     {"log", &pushed->logs}};
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++)
		any |= lanes[i].lane->on;
	if (!any)
		return;
	prom_header(out, "pushed_total", "counter",
		    "Documents (--push, --webhook, --otlp) of this run that reached their "
		    "server, or are lost.");
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		if (!lanes[i].lane->on)
			continue;
		fprintf(out,
			"leakmon_pushed_total{kind=\"%s\",result=\"delivered\"} %" PRIu64 "\n"
			"leakmon_pushed_total{kind=\"%s\",result=\"lost\"} %" PRIu64 "\n",
			lanes[i].name, lanes[i].lane->delivered, lanes[i].name,
			lanes[i].lane->lost);
	}
	prom_header(out, "push_queue", "gauge", "Documents that wait for their server.");
	for (size_t i = 0; i < ARRAY_SIZE(lanes); i++) {
		if (lanes[i].lane->on)
			fprintf(out, "leakmon_push_queue{kind=\"%s\"} %" PRIu64 "\n", lanes[i].name,
				lanes[i].lane->waiting);
	}
}

static void oom_site_write(FILE *out, const struct oom_last *last, const char *name,
			   const struct oom_site *site, double value)
{
	char text[32];

	fprintf(out, "leakmon_%s", name);
	prom_label(out, "comm", last->comm, "{");
	prom_container_labels(out, last->container);
	snprintf(text, sizeof(text), "%016" PRIx64, site->id);
	prom_label(out, "site", text, ",");
	prom_function_label(out, site->function);
	prom_label(out, "module", site->module, ",");
	prom_label(out, "file", site->file, ",");
	snprintf(text, sizeof(text), "%" PRIu32, site->line);
	prom_label(out, "line", text, ",");
	fprintf(out, "} %.15g\n", value);
}

/* Returns whether an earlier site has the same id: it would make a duplicate series. */
static bool is_repeated(const struct oom_last *last, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (last->sites.items[j].id == last->sites.items[i].id)
			return true;
	}
	return false;
}

static void oom_last_write(FILE *out, const struct oom_last *last)
{
	static const struct {
		const char *name, *help;
		bool profiled;
	} metrics[] = {
		{"oom_last_site_bytes", "Bytes held at its end by the latest OOM-killed process.",
		 false},
		{"oom_last_site_blocks", "Blocks that it held.", false},
		{"oom_last_site_growth_bytes_per_second",
		 "Growth of the latest OOM-killed process.", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics) && last->sites.count; i++) {
		if (metrics[i].profiled != last->profiled)
			continue;
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < last->sites.count; j++) {
			const struct oom_site *site = &last->sites.items[j];
			const double values[] = {(double)site->bytes, (double)site->count,
						 site->growth_bytes_per_s};

			if (!is_repeated(last, j))
				oom_site_write(out, last, metrics[i].name, site, values[i]);
		}
	}
}

void prom_kills_write(FILE *out, const struct oom_kills *kills)
{
	if (!kills || !kills->totals.count)
		return;
	oom_last_write(out, &kills->last);
	prom_header(out, "oom_kills_total", "counter", "OOM-killed processes under observation.");
	for (size_t i = 0; i < kills->totals.count; i++) {
		const struct oom_total *total = &kills->totals.items[i];

		fputs("leakmon_oom_kills_total", out);
		prom_label(out, "comm", total->comm, "{");
		prom_container_labels(out, total->container);
		fprintf(out, "} %" PRIu64 "\n", total->kills);
	}
}

/* A gauge outside of all families: the offset of its field, a uint64_t, in a struct. */
struct metric {
	const char *name, *help;
	size_t offset;
};

/*
 * Processes of one name in one container share a series: write its labels, up to the closing brace,
 * and compute its key. NULL: the rest without their own series.
 */
static void process_labels(FILE *out, const struct snapshot_process *process)
{
	prom_label(out, "comm", process ? process->comm : "other", "{");
	prom_container_labels(out, process ? process->container : NULL);
}

static uint64_t process_key(const struct snapshot_process *process)
{
	const char *container = container_proven_id(process->container);
	uint64_t key = hash_text(process->comm);

	return container ? hash_mix(key) ^ hash_text(container) : key;
}

/* -------- bytes held by programs, by name and container */

/* Beyond these, programs share the label comm="other". */
#define TOP_GROUPS 20

/* All processes of one name in one container. */
struct group {
	const struct snapshot_process *process; /* one of them, for the labels; NULL: "other" */
	uint64_t bytes, count, processes, warming_up;
	/* By family, if known for any process. */
	uint64_t figures[FAMILY_MAX_][FAMILY_FIGURES_MAX];
	bool known[FAMILY_MAX_][FAMILY_FIGURES_MAX];
};

struct groups {
	struct group *items;
	size_t count, capacity;
};

static void figures_add(struct group *group, enum family_id id,
			const struct snapshot_process *process)
{
	const struct family *family = family_get(id);
	const void *figures = family_of_process(family, process);

	for (size_t i = 0; figures && i < family->figures.count; i++) {
		group->figures[id][i] += figure_value(&family->figures.items[i], figures);
		group->known[id][i] |= figure_is_known(&family->figures.items[i], figures);
	}
}

static void group_add(struct group *group, const struct snapshot_process *process)
{
	group->bytes += process->outstanding_bytes;
	group->count += process->outstanding_count;
	group->processes++;
	group->warming_up += process->age_ns && (double)process->age_ns < TREND_WARM_UP_S * 1e9;
	for (size_t id = 0; id < FAMILY_MAX_; id++)
		figures_add(group, id, process);
}

static void group_absorb(struct group *other, const struct group *group)
{
	other->bytes += group->bytes;
	other->count += group->count;
	other->processes += group->processes;
	other->warming_up += group->warming_up;
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		for (size_t i = 0; i < FAMILY_FIGURES_MAX; i++) {
			other->figures[id][i] += group->figures[id][i];
			other->known[id][i] |= group->known[id][i];
		}
	}
}

static int groups_collect(struct groups *groups, const struct report *report)
{
	_cleanup_(hash_free) struct hash positions = {0};

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		bool fresh;
		uint64_t *position = hash_put(&positions, process_key(process), &fresh);
		struct group *group;

		if (!position)
			return -ENOMEM;
		if (fresh)
			*position = groups->count;
		group = fresh ? vec_push(groups) : &groups->items[*position];
		if (!group)
			return -ENOMEM;
		group->process = fresh ? process : group->process;
		group_add(group, process);
	}
	return 0;
}

static int group_compare(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Combines the groups that hold least. */
static void groups_cut(struct groups *groups)
{
	struct group other = {0};

	if (!groups->count)
		return;
	qsort(groups->items, groups->count, sizeof(other), group_compare);
	if (groups->count <= TOP_GROUPS)
		return;
	for (size_t i = TOP_GROUPS - 1; i < groups->count; i++)
		group_absorb(&other, &groups->items[i]);
	groups->items[TOP_GROUPS - 1] = other;
	groups->count = TOP_GROUPS;
}

static void totals_write(FILE *out, const struct groups *groups)
{
	static const struct metric metrics[] = {
		{"outstanding_bytes", "Bytes allocated and not freed since the attach.",
		 offsetof(struct group, bytes)},
		{"outstanding_blocks", "Blocks allocated and not freed since the attach.",
		 offsetof(struct group, count)},
		{"watched_processes", "Processes that are summed up here.",
		 offsetof(struct group, processes)},
		{"warming_up_processes", "How many of them are younger than ten minutes.",
		 offsetof(struct group, warming_up)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < groups->count; j++) {
			fprintf(out, "leakmon_%s", metrics[i].name);
			process_labels(out, groups->items[j].process);
			fprintf(out, "} %" PRIu64 "\n",
				figure_number(&groups->items[j], metrics[i].offset));
		}
	}
}

static void gauges_write(FILE *out, const struct groups *groups, enum family_id id)
{
	const struct family *family = family_get(id);

	for (size_t i = 0; i < family->figures.count; i++) {
		const struct figure *figure = &family->figures.items[i];

		if (figure->metric != METRIC_GAUGE)
			continue;
		prom_header(out, figure->metric_name, "gauge", figure->help);
		for (size_t j = 0; j < groups->count; j++) {
			const struct group *group = &groups->items[j];

			if (!group->known[id][i])
				continue;
			fprintf(out, "leakmon_%s", figure->metric_name);
			process_labels(out, group->process);
			fprintf(out, "} %" PRIu64 "\n", group->figures[id][i]);
		}
	}
}

static int groups_write(FILE *out, const struct report *report)
{
	struct groups groups = {0};
	int error = groups_collect(&groups, report);

	if (!error) {
		groups_cut(&groups);
		totals_write(out, &groups);
		for (size_t id = 0; id < FAMILY_MAX_; id++) {
			if (family_is_present(family_get(id), report->snapshot))
				gauges_write(out, &groups, id);
		}
	}
	vec_free(&groups);
	return error;
}

/* Call stacks that hold most: few, because each is a separate series. */

#define TOP_SITES 10 /* of each family */

struct ranked_site {
	const struct snapshot_process *process;
	const struct report_site *site;
};

struct ranked_sites {
	struct ranked_site *items;
	size_t count, capacity;
};

static void stack_labels(FILE *out, const struct report_site *site)
{
	const struct frames *frames = &site->frames;
	const struct frame *caller = site_label_frame(frames);
	char id[17], place[32];

	snprintf(id, sizeof(id), "%016" PRIx64, site->id);
	prom_label(out, "site", id, ",");
	prom_label(out, "family", family_name(site->site->family), ",");
	if (kind_name(site->site->kind))
		prom_label(out, "kind", kind_name(site->site->kind), ",");
	prom_function_label(out, caller ? caller->function : NULL);
	prom_label(out, "module", caller ? caller->module : NULL, ",");
	prom_label(out, "file", caller ? caller->file : NULL, ",");
	snprintf(place, sizeof(place), "%" PRIu32, caller ? caller->line : 0);
	prom_label(out, "line", place, ",");
}

static void site_labels(FILE *out, const struct ranked_site *ranked)
{
	process_labels(out, ranked->process);
	stack_labels(out, ranked->site);
}

static int site_compare(const void *left, const void *right)
{
	const struct ranked_site *a = left, *b = right;
	uint64_t a_bytes = a->site->site->bytes, b_bytes = b->site->site->bytes;

	return a_bytes == b_bytes ? (a->site->id > b->site->id) - (a->site->id < b->site->id)
				  : (a_bytes < b_bytes) - (a_bytes > b_bytes);
}

/* Returns whether both have the same labels, which would invalidate the whole file. */
static bool same_series(const struct ranked_site *a, const struct ranked_site *b)
{
	return a->site->id == b->site->id && a->site->site->family == b->site->site->family &&
	       a->site->site->kind == b->site->site->kind &&
	       process_key(a->process) == process_key(b->process);
}

static int sites_collect(struct ranked_sites *sites, const struct report *report)
{
	size_t kept = 0, of_family[FAMILY_MAX_] = {0};

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			struct ranked_site *site = vec_push(sites);

			if (!site)
				return -ENOMEM;
			site->process = process->process;
			site->site = &process->sites.items[j];
		}
	}
	if (sites->count)
		qsort(sites->items, sites->count, sizeof(*sites->items), site_compare);
	for (size_t i = 0; i < sites->count; i++) {
		enum family_id family = sites->items[i].site->site->family;
		bool known = of_family[family] == TOP_SITES;

		for (size_t j = 0; j < kept && !known; j++)
			known = same_series(&sites->items[j], &sites->items[i]);
		if (known)
			continue;
		of_family[family]++;
		sites->items[kept++] = sites->items[i];
	}
	sites->count = kept;
	return 0;
}

static void ranked_write(FILE *out, const struct ranked_sites *sites)
{
	static const struct metric metrics[] = {
		{"site_outstanding_bytes", "Bytes held by the call stacks that hold most.",
		 offsetof(struct site, bytes)},
		{"site_outstanding_blocks", "Blocks held by the call stacks that hold most.",
		 offsetof(struct site, count)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		prom_header(out, metrics[i].name, "gauge", metrics[i].help);
		for (size_t j = 0; j < sites->count; j++) {
			const struct ranked_site *ranked = &sites->items[j];

			fprintf(out, "leakmon_%s", metrics[i].name);
			site_labels(out, ranked);
			fprintf(out, "} %" PRIu64 "\n",
				figure_number(ranked->site->site, metrics[i].offset));
		}
	}
}

static int sites_write(FILE *out, const struct report *report)
{
	struct ranked_sites sites = {0};
	int error = sites_collect(&sites, report);

	if (!error)
		ranked_write(out, &sites);
	vec_free(&sites);
	return error;
}

/* Builds of programs, for rules over many hosts. They have no labels of containers, to be few. */

#define TOP_BUILDS 20
#define TOP_LEAKING_SITES 10

struct leaking_site {
	const struct fleet_build *build;
	const struct fleet_site *site;
};

struct leaking_sites {
	struct leaking_site *items;
	size_t count, capacity;
};

static void build_labels(FILE *out, const struct fleet_build *build)
{
	prom_label(out, "comm", build->comm, "{");
	prom_label(out, "build_id", build->build_id, ",");
}

/* Sorts by leak rate, then by bytes held. */
static int build_compare(const void *left, const void *right)
{
	const struct fleet_build *a = left, *b = right;
	int order = (a->leak_bytes_per_s < b->leak_bytes_per_s) -
		    (a->leak_bytes_per_s > b->leak_bytes_per_s);

	return order ? order : (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Combines the rest, whose call stacks must no longer be needed. */
static void builds_cut(struct fleet *fleet)
{
	struct fleet_build other = {.comm = "other", .build_id = "other"};

	if (fleet->builds.count)
		qsort(fleet->builds.items, fleet->builds.count, sizeof(other), build_compare);
	if (fleet->builds.count <= TOP_BUILDS)
		return;
	for (size_t i = TOP_BUILDS - 1; i < fleet->builds.count; i++) {
		struct fleet_build *build = &fleet->builds.items[i];

		other.processes += build->processes;
		other.bytes += build->bytes;
		other.leak_bytes_per_s += build->leak_bytes_per_s;
		vec_free(&build->sites);
	}
	fleet->builds.count = TOP_BUILDS;
	fleet->builds.items[TOP_BUILDS - 1] = other;
}

static void build_metric_write(FILE *out, const struct fleet *fleet, const char *name,
			       const char *help, double (*value)(const struct fleet_build *))
{
	prom_header(out, name, "gauge", help);
	for (size_t i = 0; i < fleet->builds.count; i++) {
		fprintf(out, "leakmon_%s", name);
		build_labels(out, &fleet->builds.items[i]);
		fprintf(out, "} %.15g\n", value(&fleet->builds.items[i]));
	}
}

static double build_processes(const struct fleet_build *build)
{
	return (double)build->processes;
}

static double build_bytes(const struct fleet_build *build)
{
	return (double)build->bytes;
}

static double build_leak(const struct fleet_build *build)
{
	return build->leak_bytes_per_s;
}

static int leak_compare(const void *left, const void *right)
{
	const struct leaking_site *a = left, *b = right;
	double x = a->site->leak_bytes_per_s, y = b->site->leak_bytes_per_s;

	return (x < y) - (x > y);
}

static int leaking_sites_find(struct leaking_sites *sites, const struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->builds.count; i++) {
		const struct fleet_build *build = &fleet->builds.items[i];

		for (size_t j = 0; j < build->sites.count; j++) {
			struct leaking_site *site;

			if (build->sites.items[j].leak_bytes_per_s <= 0)
				continue;
			site = vec_push(sites);
			if (!site)
				return -ENOMEM;
			*site = (struct leaking_site){build, &build->sites.items[j]};
		}
	}
	if (sites->count)
		qsort(sites->items, sites->count, sizeof(*sites->items), leak_compare);
	return 0;
}

static void leaking_sites_write(FILE *out, const struct leaking_sites *sites)
{
	prom_header(out, "site_leak_bytes_per_second", "gauge",
		    "Growth of the call stacks that leak most, for sure.");
	for (size_t i = 0; i < MIN(sites->count, (size_t)TOP_LEAKING_SITES); i++) {
		const struct fleet_site *site = sites->items[i].site;

		fputs("leakmon_site_leak_bytes_per_second", out);
		build_labels(out, sites->items[i].build);
		stack_labels(out, site->site);
		fprintf(out, "} %.10g\n", site->leak_bytes_per_s);
	}
}

static int builds_write(FILE *out, const struct report *report)
{
	struct leaking_sites sites = {0};
	struct fleet fleet = {0};
	int error = fleet_build(&fleet, report);

	if (!error)
		error = leaking_sites_find(&sites, &fleet);
	if (!error) {
		leaking_sites_write(out, &sites);
		builds_cut(&fleet);
		build_metric_write(out, &fleet, "build_processes",
				   "Processes of that build of a program.", build_processes);
		build_metric_write(out, &fleet, "build_outstanding_bytes",
				   "Bytes that they have allocated and not freed.", build_bytes);
		build_metric_write(
			out, &fleet, "build_leak_bytes_per_second",
			"Growth of their call stacks that leak for sure; 0: none does, or "
			"it is too early to tell.",
			build_leak);
	}
	vec_free(&sites);
	fleet_free(&fleet);
	return error;
}

/* -------- the report */

/* Writes every cause, also zero ones: an alert needs a series before the first loss. */
static void causes_write(FILE *out, const struct figure *figure, const void *figures)
{
	for (unsigned i = figure->causes->first; i < figure->causes->count; i++)
		fprintf(out, "leakmon_%s{cause=\"%s\"} %" PRIu64 "\n", figure->metric_name,
			figure->causes->name(i), figure_by_cause(figure, figures, i));
}

static void some_counters_write(FILE *out, const struct family *family, const void *total,
				bool by_cause)
{
	for (size_t i = 0; i < family->figures.count; i++) {
		const struct figure *figure = &family->figures.items[i];

		if (figure->metric != METRIC_COUNTER || by_cause != (figure->causes != NULL))
			continue;
		prom_header(out, figure->metric_name, "counter", figure->help);
		if (by_cause)
			causes_write(out, figure, total);
		else
			fprintf(out, "leakmon_%s %" PRIu64 "\n", figure->metric_name,
				figure_value(figure, total));
	}
}

/* Writes counters by cause last. */
static void counters_write(FILE *out, const struct snapshot *snapshot, enum family_id id)
{
	const struct family *family = family_get(id);
	const void *total = family_total(family, snapshot);

	if (!total)
		return;
	some_counters_write(out, family, total, false);
	some_counters_write(out, family, total, true);
}

/* Writes every cause, too: the other formats name the processes. */
static void inexact_write(FILE *out, const struct report *report)
{
	prom_header(out, "process_inexact", "gauge", "Processes with inexact numbers, by cause.");
	for (unsigned i = 0; i < INEXACT_MAX_; i++)
		fprintf(out, "leakmon_process_inexact{cause=\"%s\"} %zu\n", inexact_name(i),
			snapshot_count_inexact(report->snapshot, i));
}

static void snapshot_write(FILE *out, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	const struct report_cost *cost = &report->cost;

	prom_header(out, "snapshot_timestamp_seconds", "gauge", "When this was measured.");
	fprintf(out, "leakmon_snapshot_timestamp_seconds %.3f\n",
		(double)snapshot->time.tv_sec + (double)snapshot->time.tv_nsec / NS_PER_S);
	prom_header(out, "snapshot_duration_seconds", "gauge", "How long reading the maps took.");
	fprintf(out, "leakmon_snapshot_duration_seconds %.6f\n",
		(double)snapshot->scan_ns / NS_PER_S);
	prom_header(out, "sampled", "gauge", "1 if the numbers are estimates from a sample.");
	fprintf(out, "leakmon_sampled %d\n", snapshot->sampled);
	if (!cost->rss_bytes)
		return;
	prom_header(out, "cpu_seconds_total", "counter",
		    "CPU time of the monitor itself, without its probes.");
	fprintf(out, "leakmon_cpu_seconds_total %.3f\n", cost->cpu_s);
	prom_header(out, "resident_memory_bytes", "gauge",
		    "Resident memory of the monitor itself.");
	fprintf(out, "leakmon_resident_memory_bytes %" PRIu64 "\n", cost->rss_bytes);
}

static int prom_report_write(FILE *out, const void *data)
{
	const struct report *report = data;
	int error = groups_write(out, report);

	if (error)
		return error;
	for (size_t id = FAMILY_HEAP + 1; id < FAMILY_MAX_; id++) {
		if (family_is_present(family_get(id), report->snapshot))
			counters_write(out, report->snapshot, id);
	}
	error = sites_write(out, report);
	if (!error)
		error = builds_write(out, report);
	if (error)
		return error;
	counters_write(out, report->snapshot, FAMILY_HEAP);
	prom_kills_write(out, report->oom);
	prom_lost_reports_write(out, report->lost_reports);
	prom_pushed_write(out, &report->pushed);
	inexact_write(out, report);
	snapshot_write(out, report);
	prom_build_info_write(out);
	return output_finish(out);
}

const struct output_format output_prom = {
	.name = "prom",
	.write = {[OUTPUT_REPORT] = prom_report_write,
		  [OUTPUT_TRIAGE] = prom_triage_write,
		  [OUTPUT_PROFILE] = prom_profile_write,
		  [OUTPUT_THREADS] = prom_threads_write,
		  [OUTPUT_MEMORY] = prom_memory_write},
	.single = true,
};
